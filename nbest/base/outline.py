"""What source files of nbest say, without importing them: names of families, parameters of their things.

Completion on the command line wants these within a blink, and importing what computes takes a second. Tests compare
what is read here with what is imported.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parents[2]

Place = tuple[str, str]
"""A module, and a name in it."""


def family(package: str, registry: str) -> dict[str, Place]:
    """The names of a registry that stands in the file of a package, and where what they stand for is."""
    body = _source(package).body
    imported = _imports(package)
    made = next(
        node.value
        for node in body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == registry
    )
    assert isinstance(made, ast.Call)
    things = made.args[1]
    assert isinstance(things, ast.Dict)
    return {
        str(key.value): _place(package, value, imported)
        for key, value in zip(things.keys, things.values, strict=True)
        if isinstance(key, ast.Constant)
    }


def parameters_at(place: Place) -> list[str]:
    """The parameters of a class, those of its bases first, or the keywords of a function; none where it is neither."""
    module, name = place
    for node in _source(module).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return [each.arg for each in node.args.kwonlyargs if _is_word(each.annotation)]
        if isinstance(node, ast.ClassDef) and node.name == name:
            return _of_class(module, node)
    return []


def _of_class(module: str, node: ast.ClassDef) -> list[str]:
    imported, found = _imports(module), list[str]()
    for base in reversed(node.bases):
        if isinstance(base, ast.Name):
            found += parameters_at(imported.get(base.id, (module, base.id)))
    own = [
        each.target.id
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and _is_for_users(each)
    ]
    return list(dict.fromkeys(found + own))


def _is_for_users(field: ast.AnnAssign) -> bool:
    """Whether a field is declared as a parameter, and shown."""
    made = field.value
    if not (isinstance(made, ast.Call) and isinstance(made.func, ast.Name)):
        return False
    return made.func.id in ("parameter", "same_as") and not any(each.arg == "public" for each in made.keywords)


def _is_word(annotation: ast.expr | None) -> bool:
    """Whether a keyword can be given on the command line."""
    return annotation is None or not any(kind in ast.unparse(annotation) for kind in ("Callable", "Forests"))


def _place(package: str, value: ast.expr | None, imported: dict[str, Place]) -> Place:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        module, _, name = value.value.partition(":")
        return f"{package}.{module}", name
    return imported.get(value.id, (package, value.id)) if isinstance(value, ast.Name) else (package, "")


@cache
def _source(module: str) -> ast.Module:
    path = _ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8")) if file.exists() else ast.Module([], [])


@cache
def _imports(module: str) -> dict[str, Place]:
    """Where the names that a module imports are."""
    found: dict[str, Place] = {}
    for node in _source(module).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("nbest"):
            found |= {each.asname or each.name: (node.module, each.name) for each in node.names}
    return found
