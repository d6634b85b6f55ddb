"""`NBest` refuses what breaks its rules, never changes, and its parts are those of plain lists."""

import gc
import weakref
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import lists, text_lists

from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus import NBest, Origin, Texts
from nbest.metrics import BLEU, WER
from nbest.testing import toy_lists


def good(**changes):
    fields = {
        "offsets": np.array([0, 2, 2, 3]),
        "features": np.arange(6.0).reshape(3, 2),
        "feature_names": ("lm", "tm"),
        "ids": ("a", "b", "c"),
        "texts": Texts.of(["x y", "x", "z"]),
        "references": (("x y",), ("w",), ("z", "z z")),
        "sources": ("1", "2", "3"),
        "sparse": csr_array(np.eye(3)),
        "sparse_names": ("p", "q", "r"),
        "positions": np.array([2, 0, 1]),
        "origins": {"lm": Origin(sign=-1)},
    }
    return NBest(**(fields | changes))


RULES = [
    ({"offsets": np.array([1, 2, 2, 3])}, "'offsets' of NBest must start at 0"),
    ({"offsets": np.array([0, 2, 1, 3])}, "'offsets' of NBest must start at 0 and never fall"),
    ({"offsets": np.zeros((2, 2))}, "'offsets' of NBest"),
    ({"offsets": np.zeros(0)}, "'offsets' of NBest"),
    ({"features": np.zeros((2, 2))}, r"'features' of NBest must have shape \(3, 2\), got \(2, 2\)"),
    ({"features": np.zeros(3)}, r"'features' of NBest must have shape \(3, 2\), got \(3,\)"),
    ({"features": np.zeros((3, 2), int)}, "'features' of NBest must be float32 or float64, got int64"),
    ({"features": np.array([[0, 1], [2, np.nan], [4, 5]])}, "must be finite, got nan for 'tm' in hypothesis 1"),
    ({"features": np.array([[0, 1], [2, 3], [-np.inf, 5]])}, "must be finite, got -inf for 'lm' in hypothesis 2"),
    ({"feature_names": ("lm", "lm")}, "feature names of NBest must differ, got 'lm' twice"),
    ({"ids": ("a", "b")}, "'ids' of NBest must have 3 entries, got 2"),
    ({"ids": ("a", "b", "a")}, "'ids' of NBest must differ"),
    ({"texts": Texts.of(["x"])}, "'texts' of NBest must have 3 entries, got 1"),
    ({"references": (("x",),)}, "'references' of NBest must have 3 entries, got 1"),
    ({"references": (("x",), (), ("y",))}, "every segment needs at least one reference; segment 'b' has none"),
    ({"sources": ("1",)}, "'sources' of NBest must have 3 entries, got 1"),
    ({"stats": np.zeros((2, 2)), "metric": WER()}, "'stats' of NBest must have 3 entries, got 2"),
    ({"stats": np.zeros(3), "metric": WER()}, r"'stats' of NBest must be finite numbers \[H, M\], got shape \(3,\)"),
    ({"stats": np.full((3, 2), np.nan), "metric": WER()}, r"'stats' of NBest must be finite numbers"),
    ({"positions": np.array([0])}, "'positions' of NBest must have 3 entries, got 1"),
    ({"sparse_names": ("p",)}, r"'sparse' of NBest must have shape \(3, 1\), got \(3, 3\)"),
]


@pytest.mark.parametrize(("changes", "message"), RULES)
def test_each_rule(changes, message):
    with pytest.raises(ParameterError, match=message):
        good(**changes)


def test_nothing_can_be_written():
    corpus = good(stats=np.ones((3, 2)), metric=WER())
    for name in ("offsets", "features", "stats", "positions"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(corpus, name)[0] = 1
    with pytest.raises(FrozenInstanceError):
        corpus.ids = ()
    with pytest.raises(TypeError):
        corpus.origins["x"] = Origin()
    with pytest.raises(ValueError, match="read-only"):
        corpus.select([0]).features[0] = 1


def test_single_precision_stays():
    assert good(features=np.zeros((3, 2), np.float32)).features.dtype == np.float32
    assert good(features=np.zeros((3, 2), np.float32)).column("tm").dtype == np.float64


def rows_of(corpus):
    """Everything about a corpus as plain lists, a tuple for each hypothesis."""
    sparse = None if corpus.sparse is None else corpus.sparse.toarray()
    out = []
    for i, name in enumerate(corpus.ids):
        rows = range(corpus.offsets[i], corpus.offsets[i + 1])
        out.append(
            (
                name,
                None if corpus.references is None else corpus.references[i],
                None if corpus.sources is None else corpus.sources[i],
                [
                    (
                        tuple(corpus.features[h]),
                        None if corpus.texts is None else corpus.texts[h],
                        None if sparse is None else tuple(sparse[h]),
                        None if corpus.stats is None else tuple(corpus.stats[h]),
                        None if corpus.positions is None else int(corpus.positions[h]),
                    )
                    for h in rows
                ],
            )
        )
    return out


@settings(deadline=None, max_examples=100)
@given(lists(segments=5), st.data())
def test_parts(corpus, data):
    rows = rows_of(corpus)
    chosen = data.draw(st.permutations(range(len(corpus))))[: data.draw(st.integers(0, len(corpus)))]
    assert rows_of(corpus.select(chosen)) == [rows[i] for i in chosen]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=corpus.hypotheses, max_size=corpus.hypotheses)), bool)
    kept = iter(mask)
    assert rows_of(corpus.keep(mask)) == [(*head, [h for h in hyps if next(kept)]) for *head, hyps in rows]
    turned = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(corpus.offsets, corpus.offsets[1:], strict=False)])
    assert rows_of(corpus.reorder(turned.astype(np.int64))) == [(*head, hyps[::-1]) for *head, hyps in rows]


def test_parts_keep_every_field():
    corpus = good().with_metric(WER())
    rows = rows_of(corpus)
    assert rows_of(corpus.select([2, 0])) == [rows[2], rows[0]]
    assert rows_of(corpus.select([-1])) == [rows[2]]
    assert corpus.select([0]).metric == WER()
    assert corpus.select([]).hypotheses == 0
    assert rows_of(corpus.keep(np.array([False, True, False])))[0][3] == rows[0][3][1:]
    assert corpus.keep(np.zeros(3, bool)).lengths.tolist() == [0, 0, 0]


def test_columns():
    corpus = good()
    wider = corpus.with_features(("n",), [7.0, 8.0, 9.0])
    assert wider.feature_names == ("lm", "tm", "n")
    assert wider.column("n").tolist() == [7, 8, 9]
    assert corpus.feature_names == ("lm", "tm")
    turned = wider.only_features(("n", "lm"))
    assert turned.features.tolist() == [[7, 0], [8, 2], [9, 4]]
    assert dict(turned.origins) == {"lm": Origin(sign=-1)}
    assert wider.without_features(("lm",)).feature_names == ("tm", "n")
    assert dict(wider.without_features(("lm",)).origins) == {}
    assert wider.only_features(()).features.shape == (3, 0)


@pytest.mark.parametrize("columns", [np.zeros((2, 3)), np.zeros(3), np.zeros((3, 1)), np.zeros((4, 2))])
def test_columns_of_the_wrong_shape(columns):
    with pytest.raises(ParameterError, match=r"'columns' of with_features must have shape \(3, 2\), got"):
        good().with_features(("n", "m"), columns)


def test_unknown_columns():
    with pytest.raises(ParameterError, match="no feature 'lm0' in these lists; known: lm, tm; did you mean 'lm'"):
        good().column("lm0")
    with pytest.raises(ParameterError, match="no feature 'ml' in these lists"):
        good().only_features(("lm", "ml"))
    with pytest.raises(ParameterError, match="must differ, got 'lm' twice"):
        good().with_features(("lm",), np.zeros(3))


def test_statistics():
    corpus = good().with_metric(WER())
    assert corpus.totals(np.array([0, -1, 2])).tolist() == corpus.stats[[0, 2]].sum(axis=0).tolist()
    assert corpus.score(np.array([0, -1, 2])) == 0
    assert corpus.totals(np.array([-1, -1, -1])).tolist() == [0, 0]
    other = corpus.with_metric(BLEU(), [["q"], ["q"], ["q"]])
    assert other.references == (("q",),) * 3
    assert corpus.with_references([["q"], ["q"], ["q"]]).stats is None


def test_missing_capabilities():
    bare = replace(good(), texts=None, references=None)
    with pytest.raises(CapabilityError, match="WER needs references"):
        bare.with_metric(WER())
    with pytest.raises(CapabilityError, match="WER needs the texts"):
        bare.with_metric(WER(), [["a"]] * 3)
    with pytest.raises(CapabilityError, match=r"no statistics yet; call corpus.with_metric"):
        bare.need_stats()


@settings(deadline=None, max_examples=30)
@given(text_lists(references=True))
def test_statistics_of_a_part_are_part_of_the_statistics(corpus):
    whole = corpus.with_metric(WER())
    for i in range(len(corpus)):
        part = corpus.select([i]).with_metric(WER())
        assert part.stats.tolist() == whole.select([i]).stats.tolist()


def test_the_made_up_lists_are_what_they_say():
    for seed in range(5):
        corpus = toy_lists(seed)
        assert corpus.lengths[1:3].tolist() == [0, 1]
        best = corpus.features[:, 0] + corpus.features[:, 1]
        wrong = corpus.stats[:, 0]
        for a, b in zip(corpus.offsets, corpus.offsets[1:], strict=False):
            assert b == a or wrong[a + best[a:b].argmax()] == wrong[a:b].min()


def test_lists_are_freed_when_nobody_has_them() -> None:
    corpus = toy_lists(segments_=5)
    assert corpus.shards() == [corpus]
    kept = weakref.ref(corpus)
    gc.disable()
    try:
        del corpus
        assert kept() is None
    finally:
        gc.enable()


def test_choices_may_be_plain_lists() -> None:
    lists = toy_lists(1)
    chosen = lists.oracle()
    assert lists.score(chosen.tolist()) == lists.score(tuple(chosen.tolist())) == lists.score(chosen)
    assert lists.texts_of(chosen.tolist()) == lists.texts_of(chosen)
    assert lists.select(np.arange(0)).score([]) == lists.select(np.arange(0)).score(np.zeros(0, np.int64))
