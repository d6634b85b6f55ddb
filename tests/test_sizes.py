"""Sizes and names of the whole package: files, functions, parameters, calls; one meaning for each name of a class."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import nbest

PACKAGE = Path(nbest.__file__).parent
MOST_LINES, MOST_IN_FUNCTION, MOST_PARAMETERS, MOST_POSITIONAL = 400, 60, 8, 5
KERNELS = ("kernel", "compiled", "fast", "overload", "intrinsic", "triton.jit")


@cache
def modules() -> dict[str, ast.Module]:
    """Every file of the package, as parsed."""
    files = sorted(PACKAGE.rglob("*.py"))
    return {str(file.relative_to(PACKAGE)): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def nodes(kind: type | tuple[type, ...]) -> Iterator[tuple[str, ast.AST]]:
    """Nodes of a kind, with the place of each."""
    for file, module in modules().items():
        for node in ast.walk(module):
            if isinstance(node, kind):
                yield f"{file}:{node.lineno}", node


def is_kernel(function: ast.FunctionDef) -> bool:
    return any(word in ast.unparse(each) for each in function.decorator_list for word in KERNELS)


def long_files(most: int = MOST_LINES) -> list[str]:
    return [file for file, module in modules().items() if module.body and module.body[-1].end_lineno > most]


def long_functions(most: int = MOST_IN_FUNCTION) -> list[str]:
    found = nodes((ast.FunctionDef, ast.AsyncFunctionDef))
    return [f"{place} {node.name}" for place, node in found if node.end_lineno - node.lineno >= most]


def options() -> set[str]:
    """Functions whose signature declares options that recipes and commands are made of: of features and of studies."""
    from nbest.features import FEATURES, FITTED
    from nbest.studies import STUDIES

    functions = [function for family in (FEATURES, FITTED, STUDIES) for function in family.values()]
    return {f"{each.__module__.removeprefix('nbest.').replace('.', '/')}.py {each.__name__}" for each in functions}


def wide_functions(most: int = MOST_PARAMETERS) -> list[str]:
    """Functions with more parameters than `most`, kernels and declared options excepted; self does not count."""
    out = []
    for place, node in nodes((ast.FunctionDef, ast.AsyncFunctionDef)):
        names = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        if len([name for name in names if name not in ("self", "cls")]) > most and not is_kernel(node):
            out.append(f"{place} {node.name}")
    declared = options()
    return [each for each in out if re.sub(r":\d+", "", each) not in declared]


def positional_calls(most: int = MOST_POSITIONAL) -> list[str]:
    """Calls with many arguments that are not named; kernels of a device take all of theirs so."""
    found = [(place, ast.unparse(node.func)) for place, node in nodes(ast.Call) if len(node.args) > most]
    launched = [("_kernels.py" in place or name.startswith("kernels.")) for place, name in found]
    return [f"{place} {name}" for (place, name), one in zip(found, launched, strict=True) if not one]


def doubled_classes() -> dict[str, list[str]]:
    """Names of classes that several files define."""
    places = defaultdict(list)
    for file, module in modules().items():
        for node in module.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(file)
    return {name: files for name, files in places.items() if len(files) > 1}


def test_no_file_is_long() -> None:
    assert long_files() == []


def test_no_function_is_long() -> None:
    assert long_functions() == []


def test_functions_have_few_parameters() -> None:
    assert wide_functions() == []


def test_calls_of_many_arguments_name_them() -> None:
    assert positional_calls() == []


def test_a_class_has_a_name_of_its_own() -> None:
    assert doubled_classes() == {}


def test_what_is_too_large_is_found() -> None:
    """With lower limits each of the checks finds what there is."""
    assert "corpus/forests.py" in long_files(200)
    assert any(place.endswith(" decode_sentence") for place in long_functions(20))
    assert any(place.startswith("decisions/") for place in wide_functions(5))
    assert len(positional_calls(3)) > 100
