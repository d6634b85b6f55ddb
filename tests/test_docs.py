"""The examples of README and docs, executed."""

from __future__ import annotations

import re
import runpy
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nbest.cli.main import main
from nbest.formats import write_forests
from tests.cli.conftest import sausages, write_lists

ROOT = Path(__file__).parent.parent


def blocks(name: str, language: str) -> list[str]:
    """The fenced blocks of one language in a document."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that the examples name."""
    write_lists(tmp_path, "dev", 60, seed=1)
    write_lists(tmp_path, "test", 60, seed=2)
    (tmp_path / "test.first").rename(tmp_path / "first.txt")
    monkeypatch.chdir(tmp_path)


def run_commands(name: str, capfd: pytest.CaptureFixture[str]) -> int:
    """Run every command of a document; how many there are."""
    ran = 0
    for line in "".join(blocks(name, "bash")).splitlines():
        words = shlex.split(line)
        assert words[0] == "nbest"
        target = words[words.index(">") + 1] if ">" in words else None
        capfd.readouterr()
        assert main(words[1 : words.index(">") if target else None]) == 0, capfd.readouterr().err
        out = capfd.readouterr().out
        if target:
            Path(target).write_text(out)
        ran += 1
    return ran


def test_commands_of_the_readme(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_commands("README.md", capfd) >= 6


def test_commands_on_forests(capfd: pytest.CaptureFixture[str]) -> None:
    for name, seed in (("lattices", 1), ("test-lattices", 2)):
        forests = sausages(seed)
        said = (np.diff(forests.symbol_offsets) > 1).astype(float)
        forests = replace(forests, feature_names=("acoustic", "lm", "x1"), own_weights={"acoustic": 1.0})
        write_forests(forests.with_features(["words"], said), name, "slf")
    Path("dev.ref").write_text("".join(f"{refs[0]}\n" for refs in sausages(1).references or ()))
    assert run_commands("docs/forests.md", capfd) >= 4


def test_commands_of_reports(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_commands("docs/report.md", capfd) >= 4
    assert Path("report.html").is_file()
    assert Path("compared.html").is_file()


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "docs/converter.md",
        "docs/extending.md",
        "docs/features.md",
        "docs/forests.md",
        "docs/low-dimensional.md",
        "docs/loop.md",
        "docs/passes.md",
        "docs/parser.md",
        "docs/report.md",
        "docs/reproduce.md",
        "docs/runs.md",
        "docs/scale.md",
        "docs/tagger.md",
        "docs/translator.md",
    ],
)
@pytest.mark.filterwarnings("ignore:::ray")
def test_python_examples(name: str, tmp_path: Path) -> None:
    found = blocks(name, "python")
    assert found
    if any("nbest.Ray" in block for block in found):
        pytest.importorskip("ray", reason="needs the extra ray: pip install 'nbest[ray]'")
    for block in found:
        (tmp_path / "example.py").write_text(block)
        runpy.run_path("example.py")


def test_the_example_of_the_package(tmp_path: Path) -> None:
    import nbest

    lines = [line[4:] for line in (nbest.__doc__ or "").splitlines() if line.startswith("    ")]
    assert len(lines) >= 4
    (tmp_path / "example.py").write_text("\n".join(["import nbest", *lines, ""]))
    found = runpy.run_path("example.py")
    assert len(found["chosen"]) == 60


def test_the_readme_is_short_and_its_links_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / link).exists(), link


def test_every_name_of_a_family_is_in_the_docs() -> None:
    import nbest

    methods = (ROOT / "docs/methods.md").read_text(encoding="utf-8")
    for name in (*nbest.TRAINERS, *nbest.DECISIONS):
        assert f"`{name}`" in methods, name
    formats = (ROOT / "docs/formats.md").read_text(encoding="utf-8")
    for name in (*nbest.FORMATS, *nbest.FOREST_FORMATS):
        assert name in formats, name
