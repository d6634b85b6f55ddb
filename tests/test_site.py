"""The site of the docs: every page is in it, every public name and command in its reference; it builds by itself."""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from nbest.cli.main import COMMANDS, app
from tests.doc_blocks import ROOT

DOCS = ROOT / "docs"
PUBLIC = ("nbest", "nbest.metrics", "nbest.testing")  # packages whose names all have a section
_SECTION = re.compile(r"^## (\S+)\n\n::: (\S+)\n\n(?:<!--.*-->\n)?```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


def hook(name: str) -> ModuleType:
    """A hook of the site, which is no part of the package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / "hooks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sections() -> dict[str, str]:
    """The example of every name of the reference, by where it is imported from."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((DOCS / "reference/python").glob("*.md"))]
    assert all(text.count("\n## ") == len(_SECTION.findall(text)) for text in texts), "a section without an example"
    return {path: example for text in texts for _, path, example in _SECTION.findall(text)}


def test_every_public_name_has_its_section_with_an_example() -> None:
    found = sections()
    shown = {id(getattr(importlib.import_module(path.rpartition(".")[0]), path.rpartition(".")[2])) for path in found}
    for room in PUBLIC:
        module = importlib.import_module(room)
        for name in module.__all__:
            assert id(getattr(module, name)) in shown, f"{room}.{name} is in no page of docs/reference/python"
    for path, example in found.items():
        assert path.rpartition(".")[2] in example, f"the example of {path} does not use it"


def test_signatures_have_types() -> None:
    signature = hook("api").signature
    for path in sections():
        room, _, name = path.rpartition(".")
        value = getattr(importlib.import_module(room), name)
        if isinstance(value, type) or callable(value):
            assert "_empty" not in signature(path, value), path


def test_every_command_and_option_is_in_the_reference() -> None:
    import typer

    whole = typer.main.get_command(app)
    pages = hook("commands").pages()
    assert set(pages) == {"index", *COMMANDS}
    for name, command in whole.commands.items():  # type: ignore[attr-defined]
        text = pages[name]
        assert f"[`nbest {name}`]" in pages["index"]
        assert "```sh\nnbest" in text or "```sh\necho" in text, f"no example of {name}"
        for each in command.params:
            shown = each.name.upper() if each.param_type_name == "argument" else each.opts[0]
            assert f"`{shown}`" in text, (name, shown)


def test_the_navigation_has_every_page() -> None:
    listed = re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert set(listed) == there
    assert len(listed) == len(there)


def test_links_between_pages_lead_somewhere() -> None:
    for path in DOCS.rglob("*.md"):
        text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            assert (path.parent / link).exists() or link == "commands/index.md", f"{path.name}: {link}"


def test_the_site_builds_without_a_warning_and_asks_nobody(tmp_path: Path) -> None:
    for package in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(package, reason="needs the extra docs: pip install 'nbest[docs]'")
    made = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    start = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "images/one-list.svg" in start
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r"<(?:script|img|iframe)[^>]+src=\"?(https?:[^\" >]+)", text)
        fetched += re.findall(r"<link[^>]+rel=\"?(?:stylesheet|preconnect|icon)[^>]+href=\"?(https?:[^\" >]+)", text)
        assert not fetched, (page.name, fetched)
