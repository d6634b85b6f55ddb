"""Types of the public names, as mypy (and pyright, where it is installed) sees them."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nbest

HERE = Path(__file__).parent
PAGES = ("README.md", "docs/tutorials/python.md")


def checked(folder: Path, *files: Path) -> str:
    """What mypy complains of, where nbest is not the folder one is in but installed; nothing where all is well."""
    command = [sys.executable, "-m", "mypy", "--warn-unused-ignores", "--cache-dir", str(HERE.parent / ".mypy_cache")]
    found = subprocess.run([*command, *map(str, files)], cwd=folder, capture_output=True, text=True, check=False)
    assert found.returncode in (0, 1), found.stderr
    return "" if found.returncode == 0 else found.stdout


def code_of_pages(folder: Path) -> list[Path]:
    """The Python of the pages, a file a block."""
    pages = [(HERE.parent / page).read_text(encoding="utf-8") for page in PAGES]
    blocks = [block for page in pages for block in re.findall(r"```python\n(.*?)```", page, re.S)]
    assert len(blocks) > len(PAGES)
    files = [folder / f"block{number}.py" for number in range(len(blocks))]
    for file, block in zip(files, blocks, strict=True):
        file.write_text(block, encoding="utf-8")
    return files


def test_mypy_knows_the_types_of_late_names(tmp_path: Path) -> None:
    """Of a file that asserts them, and of pages; a wrong one is found."""
    assert checked(tmp_path, HERE / "typed_names.py", *code_of_pages(tmp_path)) == ""
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import nbest\nnbest.read('dev.nbest').fit()\n")
    assert 'has no attribute "fit"' in checked(tmp_path, wrong)


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_knows_them_too(tmp_path: Path) -> None:
    """As mypy."""
    files = [HERE / "typed_names.py", *code_of_pages(tmp_path)]
    found = subprocess.run(
        ["pyright", "--pythonpath", sys.executable, *map(str, files)],
        cwd=HERE.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout


def test_what_type_checkers_read_is_what_is_imported() -> None:
    """The imports for types name the same things, of the same modules, as the late imports."""
    tree = ast.parse(Path(nbest.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {}
    for statement in block.body:
        assert isinstance(statement, ast.ImportFrom)
        seen |= {each.asname: (statement.module, each.name) for each in statement.names}
    late = {name: (f"nbest.{home}", name) for name, home in nbest._HOME.items()}
    modules = {name: (f"nbest.{place.rpartition('.')[0]}", name) for name, place in nbest._MODULES.items()}
    assert seen == late | modules
