"""Rooms of the package: who may import whom. `make lint` checks the same by import-linter; this counts for itself."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTRACT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
ROOMS = [layer.strip("()") for layer in reversed(CONTRACT["layers"])]  # lowest first
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "nbest").rglob("*.py")
}
DYNAMIC = {"nbest", "nbest.base.late", "nbest.base.registry", "nbest.runs.steps"}
"""Modules that may import by a name made at run time: public names; names of a package of its own; registries, which
name their own room (but one, below); steps, which look whether other packages are there."""
ABOVE = {("nbest.model.online", "nbest.decisions")}
"""A registry that names a room above: a model can be asked to choose, which decisions do."""


def imported(module: str, source: str, *, package: bool = False) -> Iterator[tuple[str, int]]:
    """Modules of nbest that some source imports, wherever in it, with the line."""
    here = module if package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((each.name, node.lineno) for each in node.names if each.name.split(".")[0] == "nbest")
        elif isinstance(node, ast.ImportFrom):
            above = here.split(".")[: len(here.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            if base.split(".")[0] == "nbest":
                for each in node.names:
                    full = f"{base}.{each.name}"
                    yield (full if full in MODULES else base), node.lineno


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def upward(module: str, source: str, *, package: bool = False) -> list[str]:
    """Imports of a module that go up, or to the right on its own level, or to the package as a whole."""
    own = ROOMS.index(room(module))
    return [
        f"{module}:{line} imports {target}"
        for target, line in imported(module, source, package=package)
        if room(target) not in ROOMS or ROOMS.index(room(target)) > own
    ]


def test_no_import_goes_up() -> None:
    wrong = []
    for module, path in MODULES.items():
        if room(module) in ROOMS:
            wrong += upward(module, path.read_text(encoding="utf-8"), package=path.name == "__init__.py")
    assert wrong == []


@pytest.mark.parametrize(
    "source",
    [
        "from nbest.trainers import MERT",
        "import nbest.trainers.dense.mert",
        "def f():\n    from nbest import trainers",
        "def f():\n    from nbest import __version__",
        "if TYPE_CHECKING:\n    from nbest.cli.main import run",
        "from ..trainers import MERT",
    ],
)
def test_an_import_that_goes_up_is_seen(source: str) -> None:
    assert upward("nbest.corpus.nbest", source)


def test_imports_that_go_down_are_not() -> None:
    assert not upward("nbest.trainers.base", "from nbest.corpus import NBest\nfrom nbest.trainers.dense import mert")


def test_registries_name_their_own_room() -> None:
    named = {
        (module, target)
        for module, path in MODULES.items()
        for target in re.findall(r'\broom="(nbest[\w.]*)"', path.read_text(encoding="utf-8"))
    }
    assert {(module, target) for module, target in named if room(module) != room(target)} == ABOVE


def test_every_room_is_in_the_contract() -> None:
    folders = {path.name for path in (ROOT / "nbest").iterdir() if (path / "__init__.py").is_file()}
    assert folders <= set(ROOMS), "a new room needs its place in the layers of pyproject.toml"
    files = {path.name for path in (ROOT / "nbest").glob("*.py")}
    assert files == {"__init__.py", "__main__.py"}


def test_the_docs_have_the_rooms_in_their_order() -> None:
    table = (ROOT / "docs" / "rooms.md").read_text(encoding="utf-8").partition("## Who")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.M) == ROOMS


def test_nothing_is_imported_by_a_name_made_at_run_time() -> None:
    found = {name for name, path in MODULES.items() if "import_module" in path.read_text(encoding="utf-8")}
    assert found <= DYNAMIC
