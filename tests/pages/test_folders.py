"""Pages of directories: a loop and a reproduction, finished and not, and what a directory's version tells."""

from __future__ import annotations

import contextlib

import pytest

import nbest
from nbest.base.errors import FormatError, ParameterError
from nbest.loop import Inputs, Loop
from nbest.pages.folders import folder_page, version_of
from nbest.papers import PAPERS
from nbest.papers.run import Run
from nbest.report import Page
from tests.loop.toy import Toy, sentences
from tests.papers.test_run import made_up


def test_unknown_directories(tmp_path):
    with pytest.raises(FormatError, match=r"reproduce \(run.json\)"):
        folder_page(tmp_path)


def test_versions_change_with_files(tmp_path):
    seen = [version_of(tmp_path)]
    for text in ("a", "bb"):
        (tmp_path / "x").write_text(text)
        seen.append(version_of(tmp_path))
    (tmp_path / "y").write_text("")
    seen.append(version_of(tmp_path))
    assert len(set(seen)) == 4
    assert version_of(tmp_path) == seen[-1]
    assert version_of(tmp_path / "nothing") == "0-0-0"


def titles(page: Page) -> list[str]:
    return [part.title for part in page.parts if isinstance(part, Page)]


def test_a_loop_round_by_round(tmp_path):
    inputs = Inputs(*sentences(12, seed=1))
    loop = Loop(Toy(), nbest.MinRisk(), nbest.WER(), tmp_path / "run", rounds=3)
    loop.run(inputs)
    page = folder_page(tmp_path / "run")
    assert page.title == "Outer loop"
    assert page.parts[0].startswith("ended: ")
    assert [figure.name for figure in page.figures()] == ["curve", "rounds", "training-1"]
    assert titles(page) == ["Training", "What was run"]
    (tmp_path / "run" / "result.json").unlink()
    assert folder_page(tmp_path / "run").parts[0].startswith("still running")


def test_a_loop_that_has_only_begun(tmp_path):
    loop = Loop(Stopping(), nbest.MinRisk(), nbest.WER(), tmp_path / "run", rounds=3)
    with pytest.raises(RuntimeError, match="stopped"):
        loop.run(Inputs(*sentences(12, seed=1)))
    assert folder_page(tmp_path / "run").parts == ["No round has been decoded yet."]


class Stopping(Toy):
    def before(self):
        raise RuntimeError("stopped")


def test_a_reproduction_finished_and_not(tmp_path, monkeypatch):
    for fail, said in (("", "all steps done"), ("bb", "1 of 3 steps done")):
        paper = made_up([], fail)
        monkeypatch.setitem(PAPERS, "made-up", paper)
        folder = tmp_path / f"run{fail}"
        with contextlib.suppress(RuntimeError):
            Run(folder, tmp_path).reproduce(paper)
        page = folder_page(folder)
        assert page.title == paper.citation
        assert said in page.parts[0]
        assert [figure.name for figure in page.figures()] == ["values"]


def test_a_reproduction_of_an_unknown_paper(tmp_path):
    Run(tmp_path / "run", tmp_path).reproduce(made_up([]))
    with pytest.raises(ParameterError, match="made-up"):
        folder_page(tmp_path / "run")
