"""The section "Did it help?": its numbers are those of the metric and of the tests, its words are honest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbest
from nbest.decisions import first
from nbest.evaluation.significance import by_group, interval, permutation, resampled
from nbest.model.equal import equal_weights
from nbest.model.loglinear import LogLinear
from nbest.pages.helped import FLATTERING, helped
from nbest.report import Figure, Page, Table
from tests.pages.conftest import grouped, some, subject_of


def tables(page: Page) -> list[Table]:
    return [part for part in page.parts if isinstance(part, Table)]


def said(page: Page) -> str:
    return "\n".join(part for part in page.parts if isinstance(part, str))


def cells(table: Table) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Rows by the set (its name, without what is said of it) and the choice."""
    heads = [column.head for column in table.heads]
    return {(str(row[0]).partition(" (")[0], row[1]): dict(zip(heads, row, strict=True)) for row in table.rows}


def test_numbers_are_those_of_the_metric_and_the_tests(subject, models):
    found = cells(tables(helped(subject))[0])
    assert len(found) == 3 * 5
    for judged in subject.sets:
        lists, name = judged.lists, judged.name
        stats, metric = lists.need_stats()
        chosen = {model: each.predict(lists) for model, each in models.items()}
        chosen |= {"first": first(None, lists), "oracle": nbest.corpus_oracle(lists)}
        chosen["equal weights"] = equal_weights(subject.dev.lists).predict(lists)
        for way, choice in chosen.items():
            row = found[name, way]
            assert row["score"] == pytest.approx(lists.score(choice), abs=1e-12)
            assert [row["95 % from"], row["to"]] == list(interval(resampled(metric, stats[choice])))
            gain = None if way == "first" else pytest.approx(lists.score(chosen["first"]) - lists.score(choice))
            assert row["gain over first"] == gain  # errors: fewer are better
            own = None if way == "first" else permutation(metric, stats[chosen["first"]], stats[choice]).p
            assert row["p against first"] == own
        both = permutation(metric, stats[chosen["likely"]], stats[chosen["sharp"]]).p
        assert found[name, "sharp"]["p against likely"] == both
        assert found[name, "likely"]["p against likely"] is None


def test_groups_are_swapped_and_drawn_whole(models):
    test = grouped(some("test"), 6)
    page = helped(subject_of({"dev": some("tune"), "test": test}, models))
    row = cells(tables(page)[0])["test", "likely"]
    stats, metric = test.need_stats()
    own, other = (by_group(stats[c], test.groups) for c in (models["likely"].predict(test), first(None, test)))
    assert row["p against first"] == permutation(metric, other, own).p
    assert [row["95 % from"], row["to"]] == list(interval(resampled(metric, own)))
    assert "10 groups of 60 segments" in said(page)
    assert "test: segments of a group are tested together" in " ".join(tables(page)[0].notes)


def test_the_ladder_is_of_the_last_set_and_found_on_dev(subject):
    page = helped(subject)
    figure = next(part for part in page.parts if isinstance(part, Figure))
    rungs = {row["rung"]: row["score"] for row in figure.rows}
    assert list(rungs) == ["random", "first", "best single feature", "equal weights", "likely", "sharp", "oracle"]
    dev, test = subject.dev.lists, subject.sets[-1].lists
    alone = [LogLinear({name: sign}) for name in dev.feature_names for sign in (1.0, -1.0)]
    best = min(alone, key=lambda model: dev.score(model.predict(dev)))
    assert rungs["best single feature"] == test.score(best.predict(test))
    assert rungs["oracle"] == min(rungs.values())
    assert figure.picture.svg()
    assert len(tables(page)) == 1  # the figure has its numbers
    assert "A ladder has one rung for each way of choosing" in said(page)


def test_test_lists_come_first_and_dev_is_marked(subject):
    rows = tables(helped(subject))[0].rows
    assert list(dict.fromkeys(row[0] for row in rows)) == ["test", "held-out", "dev (tuned on)"]


def test_words_go_by_what_was_not_tuned_on(subject, models):
    on_test = said(helped(subject))
    assert "likely: tuning" in on_test
    assert "on test lists, 60 segments" in on_test
    assert FLATTERING not in on_test
    alone = {"likely": models["likely"]}
    on_dev = said(helped(subject_of({"dev": some("tune")}, alone)))
    assert on_dev.startswith("Whether tuning helps on other lists is not known")
    assert "tuning helped" not in on_dev
    assert FLATTERING in on_dev
    known = {"likely": nbest.validate(models["likely"], some("heldout", 40))}
    by_file = said(helped(subject_of({"dev": some("tune")}, known)))
    assert "on held-out lists, 40 segments" in by_file
    assert FLATTERING not in by_file


def test_what_is_not_as_it_should_be_is_said(models):
    other = said(helped(subject_of({"dev": some("heldout", 40)}, {"likely": models["likely"]})))
    assert "they may be other lists" in other
    leaked = said(helped(subject_of({"dev": some("tune"), "test": some("tune")}, {"likely": models["likely"]})))
    assert "60 of 60 test segments are also in dev: their scores are not honest" in leaked
    nothing = {"zero": LogLinear(dict.fromkeys(some("tune").feature_names, 0.0))}
    assert "the first hypotheses are kept" in said(
        helped(subject_of({"dev": some("tune"), "test": some("test")}, nothing))
    )


def test_empty_lists_and_names_that_are_taken(models):
    lists = some("test")
    keep = np.ones(lists.hypotheses, bool)
    keep[: lists.offsets[1]] = False
    emptied = lists.keep(keep)
    page = helped(subject_of({"dev": some("tune"), "test": emptied}, {"oracle": models["likely"]}))
    assert "1 of 60 segments have no hypotheses" in " ".join(tables(page)[0].notes)
    rows = [row[2] for row in tables(page)[0].rows if list(row[:2]) == ["test", "oracle"]]
    assert rows[0] == pytest.approx(emptied.score(models["likely"].predict(emptied)), abs=1e-12)
    assert rows[1] < rows[0]


def test_scores_of_another_metric_are_not_quoted(models):
    known = {"likely": nbest.validate(models["likely"], some("heldout", 40))}
    dev = some("tune").with_metric(nbest.BLEU())
    page = said(helped(subject_of({"dev": dev}, known)))
    assert page.startswith(
        "Whether tuning helps on other lists is not known for BLEU (the model file knows only of WER|"
    )
    assert "it has BLEU " in page
    assert "held-out lists" not in page
    assert FLATTERING in page
    same = said(helped(subject_of({"dev": some("tune")}, known)))
    assert ": WER " in same
    assert "on held-out lists, 40 segments" in same


def test_lists_that_were_tuned_on_give_no_verdict(models):
    alone, dev = {"likely": models["likely"]}, some("tune")
    page = helped(subject_of({"dev": dev, "test": dev}, alone))
    assert "tuning helped" not in said(page)
    assert "is not known for WER" in said(page)
    assert FLATTERING in said(page)
    assert tables(page)[0].rows[0][0] == "test (60 of 60 in dev)"
    held = said(helped(subject_of({"dev": dev, "held-out": some("heldout", 40), "test": dev}, alone)))
    assert "on held-out lists, 40 segments" in held
    known = {"likely": nbest.validate(models["likely"], some("heldout", 30))}
    by_file = said(helped(subject_of({"dev": dev, "test": dev}, known)))
    assert "on held-out lists, 30 segments" in by_file
    assert "As the model file says, tuning" in by_file


def test_which_model_to_use(subject, models):
    stats, metric = (test := subject.sets[-1].lists).need_stats()
    likely, sharp = (models[name].predict(test) for name in ("likely", "sharp"))
    p = permutation(metric, stats[likely], stats[sharp]).p
    both = f"likely {test.score(likely):.2f} and sharp {test.score(sharp):.2f}"
    found = said(helped(subject))
    assert f"Which to use, by WER on test: {both}: no sure difference (p {p:.4f})." in found
    bad = {"likely": models["likely"], "bad": LogLinear({n: -w for n, w in models["likely"].weights.items()})}
    for order in (["likely", "bad"], ["bad", "likely"]):
        found = said(helped(subject_of({"dev": some("tune"), "test": test}, {name: bad[name] for name in order})))
        assert "use likely, which is better (p ≤ 0.0001)" in found
    assert "Which of likely, sharp to use is not known" in said(helped(subject_of({"dev": some("tune")}, models)))


def test_of_which_features_equal_weights_are_is_told(models):
    dev = some("tune")
    longer = nbest.MaxLikelihood().fit(nbest.features.length(dev))
    for given, told in ((models, False), ({**models, "longer": longer}, True)):
        table = tables(helped(subject_of({"dev": dev}, given)))[0]
        assert ("of the features of the lists alone" in " ".join(table.notes)) == told
