"""The examples of README and docs, executed: every command and every Python block, or a comment says why not."""

from __future__ import annotations

import os
import re
import runpy
from pathlib import Path

import pytest

from tests.doc_blocks import ROOT, RUN, Block, blocks_of, hidden_commands, pages, run_page
from tests.doc_worlds import WORLDS, lists

NOT_RUN = 10  # blocks at most: what needs a cluster, data that nobody may ship, or hours
NEEDS = {"nbest.Ray(workers": "ray", "pandas": "pandas", "sklearn": "sklearn", "train translator": "sacremoses"}
SLOW: set[str] = set()


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.environ["PATH"])  # put back afterwards: worlds may add to it


def _marked(page: str) -> object:
    return pytest.param(page, marks=pytest.mark.slow if page in SLOW else ())


@pytest.mark.parametrize("page", [_marked(page) for page in WORLDS])
@pytest.mark.filterwarnings("ignore:::ray")
def test_page(page: str, capfd: pytest.CaptureFixture[str]) -> None:
    text = "".join(block.text for block in blocks_of(page) if block.runs)
    for part, package in NEEDS.items():
        if part in text:
            pytest.importorskip(package, reason=f"an example of {page} needs {package}")
    WORLDS[page]()
    run_page(page, capfd)


def test_every_page_is_run() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    run_elsewhere = set(re.findall(r'run_page\("(docs/[^"]+)"', tests))
    assert not run_elsewhere & set(WORLDS), "run once is enough"
    with_blocks = {page for page in pages() if any(block.runs for block in blocks_of(page))}
    assert with_blocks == run_elsewhere | set(WORLDS)


def test_what_is_not_run_says_why_and_is_little() -> None:
    marked = [block for page in pages() for block in blocks_of(page) if block.reason is not None]
    assert len(marked) <= NOT_RUN, [(block.page, block.line, block.reason) for block in marked]
    for block in marked:
        assert block.language in RUN, (block.page, block.line)
        assert len(block.reason or "") > 10, (block.page, block.line)


def test_no_command_hides() -> None:
    for page in pages():
        assert not hidden_commands(page), f"{page}: a command in a block that is not said to be bash"


def test_a_broken_block_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    monkeypatch.setattr("tests.doc_blocks.ROOT", tmp_path)
    page.write_text("```bash\nnbest inspect missing.nbest\n```\n")
    with pytest.raises(AssertionError, match=r"missing\.nbest"):
        run_page("page.md", capfd)
    page.write_text("```python\nassert 1 == 2\n```\n")
    with pytest.raises(AssertionError) as failed:
        run_page("page.md", capfd)
    assert failed.value.__notes__ == ["page.md:1"]
    page.write_text("```bash\nrm -r everything\n```\n")
    with pytest.raises(AssertionError, match="only nbest"):
        run_page("page.md", capfd)
    page.write_text("text\n\n    nbest tune dev\n\n```\nmake demo\n```\n")
    assert len(hidden_commands("page.md")) == 2
    page.write_text("<!-- not run: needs a cluster -->\n```bash\nnbest tune dev --engine ray\n```\n")
    assert blocks_of("page.md") == [Block("page.md", 2, "bash", "nbest tune dev --engine ray\n", "needs a cluster")]


def test_the_example_of_the_package(tmp_path: Path) -> None:
    import nbest

    lists()
    lines = [line[4:] for line in (nbest.__doc__ or "").splitlines() if line.startswith("    ")]
    assert len(lines) >= 4
    (tmp_path / "example.py").write_text("\n".join(["import nbest", *lines, ""]))
    found = runpy.run_path("example.py")
    assert len(found["chosen"]) == 60


def test_the_readme_is_short_and_its_links_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 150
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / link).exists(), link


def test_the_readme_has_the_words_that_people_search_for() -> None:
    text = re.sub(r"\s+", " ", (ROOT / "README.md").read_text(encoding="utf-8").lower())
    words = ("n-best rescoring", "shallow-fusion weights", "lm weight", "best-of-n", "reranking", "mert", "mbr", "qe")
    for word in words:
        assert word in text, word


def test_the_two_commands_come_first() -> None:
    first = blocks_of("README.md")[0]
    assert [line.split()[:2] for line in first.text.splitlines()] == [["make", "demo"], ["make", "test"]]


def test_every_name_of_a_family_is_in_the_docs() -> None:
    import nbest

    methods = (ROOT / "docs/methods.md").read_text(encoding="utf-8")
    for name in (*nbest.TRAINERS, *nbest.DECISIONS):
        assert f"`{name}`" in methods, name
    formats = (ROOT / "docs/formats.md").read_text(encoding="utf-8")
    for name in (*nbest.FORMATS, *nbest.FOREST_FORMATS):
        assert name in formats, name
