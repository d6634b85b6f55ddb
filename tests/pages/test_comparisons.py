"""The page of a comparison: what its verdict says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbest.pages.comparisons import comparison_page
from nbest.runs.records import write_record


def row(name: str, test: float, p: float | None = None) -> dict[str, Any]:
    return {"name": name, "dev": test, "heldout": test, "test": test, "p": p, "seconds": None, "settings": {}}


def page_of(folder: Path, metric: str, scores: tuple[float, float, float], p: float | None, best: str = "m") -> str:
    """The page, of a method between the first hypotheses and the oracle."""
    first, tuned, oracle = scores
    rows = [row("first hypothesis", first), row("m", tuned, p), row("oracle", oracle)]
    said = {"format": "nbest-compare/1", "metric": metric, "best": best, "against": "m", "note": "", "below": []}
    write_record(folder / "results.json", {**said, "rows": rows})
    return comparison_page(folder).render("markdown")


@pytest.mark.parametrize(
    ("metric", "scores", "p", "said"),
    [
        ("WER|x", (30.0, 25.0, 10.0), 1e-5, "WER 25.00 against 30.00 of the first hypotheses: better, and hardly"),
        ("BLEU|x", (30.0, 25.0, 40.0), 0.01, "BLEU 25.00 against 30.00 of the first hypotheses: worse, and hardly"),
        ("BLEU|x", (30.0, 31.0, 40.0), 0.2, "no sure difference (p 0.2000)"),
        ("BLEU|x", (30.0, 31.0, 40.0), None, "no sure difference."),
    ],
)  # fmt: skip
def test_the_verdict_goes_by_the_metric_and_p(
    tmp_path: Path, metric: str, scores: tuple[float, float, float], p: float | None, said: str
) -> None:
    text = page_of(tmp_path, metric, scores, p)
    assert "Best on held-out lists: m. On test" in text
    assert said in text
    assert ("(lower is better)" if metric == "WER|x" else "(higher is better)") in text
    assert "nbest report DEV" not in text  # there is no file of the model


def test_nothing_to_compare(tmp_path: Path) -> None:
    assert "Best on held-out lists: first hypothesis." in page_of(
        tmp_path, "WER|x", (30.0, 25.0, 10.0), 0.1, best="first hypothesis"
    )
    flat = page_of(tmp_path, "WER|x", (30.0, 30.0, 30.0), 1.0)
    assert "is better)" not in flat
    assert "no sure difference (p 1.0000)" in flat
