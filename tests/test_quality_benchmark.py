"""The comparison of methods and peers: draws, cells that are kept, tests against the default, tables."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nbest
from benchmarks import quality
from benchmarks.quality_cells import QualityCell, Results, drawn, packed, unpacked
from benchmarks.quality_peers import GRADES, PEERS, Peer, centred, grades, standardised
from benchmarks.quality_sets import Places, QualitySet, load
from benchmarks.quality_table import compared, counts_table, set_table, write_report
from benchmarks.quality_ways import ways_of
from nbest.metrics import External


@pytest.fixture(scope="module")
def recogniser() -> QualitySet:
    """The bundled lists, and fewer of them to test on."""
    found = load("recogniser", Places())
    return QualitySet("recogniser", found.dev, found.test.select(np.arange(100)))


@pytest.fixture
def here(recogniser: QualitySet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(quality.SETS, "recogniser", lambda places: (recogniser.dev, recogniser.test))


def _run(path: Path, *more: str) -> None:
    words = ["--sets", "recogniser", "--methods", "first,equal,likelihood", "--sizes", "25", "--draws", "2"]
    quality.main([*words, "--results", str(path), *more])


def test_cells_are_done_once_and_go_on_after_a_line_that_was_cut(here: None, tmp_path: Path, capsys) -> None:
    path = tmp_path / "deep" / "results.jsonl"
    _run(path)
    whole = path.read_text()
    lines = [json.loads(line) for line in whole.splitlines()]
    assert {(line["method"], line["draw"]) for line in lines} == {
        (method, draw) for method in ("first", "equal", "likelihood") for draw in (1, 2)
    }
    assert all(line["segments"] == 25 for line in lines)
    capsys.readouterr()
    _run(path)
    assert path.read_text() == whole
    assert capsys.readouterr().out == ""
    path.write_text(whole[:-40])
    _run(path)
    assert len(capsys.readouterr().out.splitlines()) == 1
    again = Results(path)
    wanted = {(line["method"], line["draw"]): (line["score"], line["choices"]) for line in lines}
    assert {(c.method, c.draw): (v["score"], v["choices"]) for c, v in again.lines.items()} == wanted


def test_time_that_is_over_leaves_cells_for_later(here: None, tmp_path: Path, capsys) -> None:
    _run(tmp_path / "results.jsonl", "--minutes", "0")
    assert "6 cells are left" in capsys.readouterr().out
    assert not (tmp_path / "results.jsonl").exists()


def test_results_of_other_lists_do_not_count(recogniser: QualitySet, here: None, tmp_path: Path) -> None:
    _run(tmp_path / "results.jsonl")
    results, cell = Results(tmp_path / "results.jsonl"), QualityCell("recogniser", "first", "25", 1)
    assert results.has(recogniser, cell)
    others = replace(recogniser, dev=recogniser.dev.select(np.arange(200)))
    assert not results.has(others, cell)
    assert results.of(others, "first", "25") == []


def test_what_is_older_is_done_again(here: None, tmp_path: Path, capsys) -> None:
    path = tmp_path / "results.jsonl"
    _run(path)
    line = json.loads(path.read_text().splitlines()[0])
    _run(path, "--after", "2026-01-01")
    assert len(path.read_text().splitlines()) == 6
    path.write_text(json.dumps({**line, "when": "2025-12-31T23:00:00+00:00"}) + "\n")
    capsys.readouterr()
    _run(path, "--after", "2026-01-01")
    assert len(capsys.readouterr().out.splitlines()) == 6
    assert len(path.read_text().splitlines()) == 7


def test_draws_are_nested_and_of_whole_groups(recogniser: QualitySet) -> None:
    dev = replace(recogniser.dev, groups=tuple(f"speaker {i // 7}" for i in range(len(recogniser.dev))))
    few, more = (drawn(dev, size, 3) for size in ("25", "100"))
    assert set(few.ids) < set(more.ids)
    assert abs(len(few) - 25) <= 7
    outside = set(dev.ids) - set(few.ids)
    groups = dict(zip(dev.ids, dev.groups or (), strict=True))
    assert not {groups[name] for name in few.ids} & {groups[name] for name in outside}
    assert drawn(dev, "25", 4).ids != few.ids
    assert drawn(dev, "all", 4) is dev


def test_choices_are_packed_and_unpacked() -> None:
    lists = nbest.NBest(np.array([0, 2, 2, 5]), np.zeros((5, 1)), ("f",), ("a", "b", "c"))
    chosen = np.array([1, -1, 4])
    assert unpacked(packed(chosen, lists), lists).tolist() == chosen.tolist()


def test_tests_and_counts_are_those_of_a_plain_recomputation(
    recogniser: QualitySet, here: None, tmp_path: Path
) -> None:
    path = tmp_path / "results.jsonl"
    _run(path)
    results = Results(path)
    cells = {cell.method: cell for cell in compared([recogniser], results, "likelihood")}
    assert cells["likelihood"].p == 1.0
    test = recogniser.test
    for method in ("first", "equal"):
        stats = {
            name: np.stack([test.stats[unpacked(line["choices"], test)] for line in results.of(recogniser, name, "25")])
            for name in ("likelihood", method)
        }
        ahead, p = _plainly(stats["likelihood"], stats[method])
        assert cells[method].ahead == pytest.approx(-ahead)  # errors: less is better
        assert cells[method].p == pytest.approx(p, abs=0.05)
    better = [cells[method].p < 0.05 and cells[method].ahead < 0 for method in ("first", "equal")]
    worse = [cells[method].p < 0.05 and cells[method].ahead > 0 for method in ("first", "equal")]
    assert any(better)
    table = counts_table(list(cells.values()), "likelihood", "")
    assert table.rows[-1] == ["all", 2, sum(better), sum(worse), 0, 0, 0]
    shown = set_table(recogniser, list(cells.values()), "likelihood").rows
    assert [row[0] for row in shown] == ["likelihood", "first", "equal"]
    assert shown[1][1] == f"{cells['first'].scores.mean:.2f} ± 0.00" + (" ↓" if better[0] else "")


def _plainly(first: np.ndarray, second: np.ndarray, samples: int = 1000) -> tuple[float, float]:
    """Difference of mean error rates of runs [R, N, 2], and its p: segments swapped in all runs, runs drawn."""
    rng = np.random.default_rng(5)
    rates = [[100 * run[:, 0].sum() / run[:, 1].sum() for run in runs] for runs in (first, second)]
    ahead, extreme = float(np.mean(rates[1]) - np.mean(rates[0])), 0
    for _ in range(samples):
        swap = rng.random(first.shape[1]) < 0.5
        gap, runs = 0.0, rng.integers(len(first), size=len(first) - 1)
        for sign, own, other, scores in ((-1, first, second, rates[0]), (1, second, first, rates[1])):
            mixed = [np.where(swap[:, None], b, a) for a, b in zip(own, other, strict=True)]
            gap += sign * np.mean([100 * run[:, 0].sum() / run[:, 1].sum() for run in mixed])
            gap += sign * (np.array(scores)[runs].mean() - np.mean(scores))
        extreme += abs(gap) >= abs(ahead) - 1e-9
    return ahead, (extreme + 1) / (samples + 1)


def test_a_report_keeps_what_stands_around_it(recogniser: QualitySet, here: None, tmp_path: Path) -> None:
    path, page = tmp_path / "results.jsonl", tmp_path / "quality.md"
    _run(path)
    page.write_text("# Quality\n\n<!-- begin: python -m benchmarks quality --table -->\nold\n<!-- end -->\nlast\n")
    for _ in range(2):
        quality.main(["--sets", "recogniser", "--results", str(path), "--table", str(page), "--default", "likelihood"])
    text = page.read_text()
    assert text.startswith("# Quality\n\n<!-- begin")
    assert text.endswith("<!-- end -->\nlast\n")
    assert "old" not in text
    assert text.count("| likelihood |") == 1
    assert (tmp_path / "quality.svg").read_text().endswith("</svg>\n")
    with pytest.raises(SystemExit, match="nothing to compare with mert"):
        write_report([recogniser], Results(path), page, "mert")


def test_what_a_method_cannot_is_said_and_not_tried_again(here: None, tmp_path: Path, capsys) -> None:
    for _ in range(2):
        _run(tmp_path / "results.jsonl", "--methods", "lowdim", "--draws", "1")
    assert "left out" in capsys.readouterr().out
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 1


def test_words_of_tune_are_methods() -> None:
    assert ways_of(["mert --restarts 2", "first", "mert --restarts 2"]) == ["mert --restarts 2", "first"]
    with pytest.raises(nbest.ParameterError, match="nonesuch"):
        ways_of(["nonesuch --folds 2"])


def test_peers_that_are_not_installed_are_left_out(here: None, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setitem(PEERS, "absent", Peer("no_such_package", lambda columns, lists, seed: lambda rows: rows[:, 0]))
    assert quality._ready(["first", "absent"]) == ["first"]
    assert "absent (extra: peers)" in capsys.readouterr().err


def _lists() -> nbest.NBest:
    lists = nbest.NBest(np.array([0, 3, 3, 5]), np.array([[1.0], [2], [6], [5], [5]]), ("f",), ("a", "b", "c"))
    return replace(lists, gains=np.array([0.0, 1, 4, 2, 2])).with_metric(External())


def test_columns_of_peers() -> None:
    lists = _lists()
    assert centred(lists)[:, 0].tolist() == [-2, -1, 3, 0, 0]
    assert standardised(lists)[:, 0] == pytest.approx(np.array([-2, -1, 3, 0, 0]) / np.sqrt(14 / 3))
    assert grades(lists).tolist() == [0, GRADES // 4, GRADES, 0, 0]


@pytest.mark.parametrize("name", list(PEERS))
def test_peers_learn_what_is_plain(name: str) -> None:
    """The gain is one of two features, the other is noise: lists that were not seen must be chosen well of."""
    pytest.importorskip(PEERS[name].package)
    rng = np.random.default_rng(1)
    features = rng.normal(size=(40 * 8, 2))
    lists = nbest.NBest(np.arange(0, 321, 8), features, ("right", "noise"), tuple(map(str, range(40))))
    lists = replace(lists, gains=features[:, 0]).with_metric(External())
    dev, test = lists.between(0, 25), lists.between(25, 40)
    chosen = PEERS[name].fit(dev, 1)(test)
    assert test.score(chosen) > 0.8 * test.score(test.oracle())
