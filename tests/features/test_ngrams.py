"""Counts of n-grams against a Counter, and what the recipe keeps, refuses and restricts."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import text_lists

from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus import NBest, Texts
from nbest.features import apply_recipes, fit_recipes, ngrams, restrict_recipes
from nbest.features.ngrams.columns import count_columns, known_ngrams
from nbest.features.ngrams.counts import Shape
from nbest.features.ngrams.feature import ngrams_recipe, only_ngrams
from nbest.formats import read
from nbest.testing import toy_lists

options = st.fixed_dictionaries(
    {
        "order": st.integers(1, 4),
        "tokens": st.sampled_from(["words", "characters"]),
        "boundaries": st.booleans(),
        "minimum": st.integers(1, 3),
        "differing": st.booleans(),
    }
).flatmap(lambda o: st.integers(1, o["order"]).map(lambda lowest: o | {"lowest": lowest}))


def lists_of(*lists):
    """Lists of these texts, without features."""
    texts = [text for each in lists for text in each]
    offsets = np.cumsum([0, *map(len, lists)])
    ids = tuple(str(i) for i in range(len(lists)))
    return NBest(offsets=offsets, features=np.zeros((len(texts), 0)), feature_names=(), ids=ids, texts=Texts.of(texts))


def counted(text, order, lowest, tokens, boundaries, **rest):
    """The n-grams of one text, by name, counted in plain Python."""
    units = text.split() if tokens == "words" else list("".join(text.split()))
    start = "ngram:" if tokens == "words" else "character:"
    counts = Counter()
    for n in range(lowest, order + 1):
        padded = ["<s>", *units, "</s>"] if boundaries and n > 1 else units
        counts.update(start + " ".join(padded[k : k + n]) for k in range(len(padded) - n + 1))
    return counts


def expected_columns(corpus, minimum, differing, **how):
    """The names that are kept, as a set, and the counts of each hypothesis."""
    rows = [counted(text, **how) for text in corpus.texts]
    lists, differs = Counter(), set()
    for low, high in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
        for name in set().union(*rows[low:high]):
            lists[name] += 1
            if len({row[name] for row in rows[low:high]}) > 1:
                differs.add(name)
    return {name for name, count in lists.items() if count >= minimum and (not differing or name in differs)}, rows


@settings(deadline=None, max_examples=300)
@given(text_lists(segments=5, longest=5), options)
def test_against_a_counter(corpus, how):
    names, rows = expected_columns(corpus, **how)
    if not names:
        with pytest.raises(ParameterError, match=r"the feature 'ngrams' (keeps nothing|finds no n-gram)"):
            ngrams(corpus, **how)
        return
    found = ngrams(corpus, **how)
    assert set(found.sparse_names) == names
    assert len(found.sparse_names) == len(names)
    for h, row in enumerate(rows):
        entries = found.sparse[[h]].tocoo()
        got = {found.sparse_names[c]: v for c, v in zip(entries.col, entries.data, strict=True)}
        assert got == {name: count for name, count in row.items() if name in names}


@settings(deadline=None, max_examples=60)
@given(text_lists(segments=4), text_lists(segments=4), options)
def test_other_lists_get_the_same_columns(corpus, other, how):
    try:
        recipe = ngrams_recipe(corpus, **how)
    except ParameterError:
        return
    found = apply_recipes(other, [recipe])
    assert found.sparse_names == apply_recipes(corpus, [recipe]).sparse_names
    dense = found.sparse.toarray()
    for h, text in enumerate(other.texts):
        row = counted(text, **how)
        assert dense[h].tolist() == [row[name] for name in found.sparse_names]


@settings(deadline=None, max_examples=60)
@given(text_lists(segments=4), st.booleans(), st.data())
def test_some_columns_only(corpus, boundaries, data):
    recipe = {"kind": "ngrams", "order": 3, "boundaries": boundaries}
    try:
        (recipe,) = fit_recipes(corpus, [recipe])
    except ParameterError:
        return
    whole = apply_recipes(corpus, [recipe])
    names = data.draw(st.lists(st.sampled_from(whole.sparse_names), unique=True))
    (few,) = restrict_recipes([recipe], ["lm", *names, "other:x"])
    part = apply_recipes(corpus, [few])
    assert part.sparse_names == tuple(names)
    place = [whole.sparse_names.index(name) for name in names]
    assert np.array_equal(part.sparse.toarray(), whole.sparse.toarray()[:, place])
    again = only_ngrams({k: v for k, v in recipe.items() if k != "columns"}, names)  # names alone are enough
    assert np.array_equal(again["columns"], few["columns"])


def test_layout():
    corpus = toy_lists()
    found = ngrams(corpus, order=3)
    matrix = found.sparse
    assert (matrix.data.dtype, matrix.indices.dtype, matrix.indptr.dtype) == (np.float32, np.int32, np.int32)
    assert all((np.diff(matrix.indices[a:b]) > 0).all() for a, b in zip(matrix.indptr, matrix.indptr[1:], strict=False))
    assert (matrix.data > 0).all()
    assert found.feature_names == corpus.feature_names
    assert np.array_equal(found.features, corpus.features)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads_change_nothing(threads):
    rng = np.random.default_rng(1)
    sizes = rng.integers(0, 9, 40)
    lengths = rng.integers(0, 12, sizes.sum())
    ids = rng.integers(0, 6, lengths.sum()).astype(np.int32)
    offsets, texts = np.concatenate([[0], np.cumsum(sizes)]), np.concatenate([[0], np.cumsum(lengths)])
    trie, columns, twice = known_ngrams(np.array([0, 1, 3, 5, 6]), np.array([1, 1, 2, 2, 3, 5], np.int32))
    assert twice == -1
    parts = [count_columns(offsets, texts, ids, Shape(1, 2, -1, -1), trie, columns, t) for t in (1, threads)]
    for one, other in zip(*parts, strict=True):
        assert np.array_equal(one, other)


def test_names_and_marks():
    corpus = lists_of(["a <s> b", "a"], ["日本", ""])
    assert ngrams(corpus, order=1).sparse_names == ("ngram:a", "ngram:<s>", "ngram:b", "ngram:日本")[1:]
    bounded = ngrams(corpus, order=2, lowest=2, boundaries=True)
    assert "ngram:<s> </s>" in bounded.sparse_names  # of the empty text
    column = bounded.sparse.toarray()[:, bounded.sparse_names.index("ngram:<s> b")]
    assert column.tolist() == [1, 0, 0, 0]  # a word like a mark counts as the mark
    letters = ngrams(corpus, tokens="characters", boundaries=True, name="c").sparse_names
    assert {"c:日 本", "c:<s> 日", "c:本 </s>", "c:s >"} <= set(letters)
    both = ngrams(ngrams(corpus), tokens="characters")
    assert {"ngram:日本", "character:日 本"} <= set(both.sparse_names)
    with pytest.raises(ParameterError, match="already have a feature"):
        ngrams(ngrams(corpus))


def test_a_column_that_never_differs_can_be_kept():
    corpus = lists_of(["a b", "a c"], ["a", "a"])
    assert ngrams(corpus, order=1).sparse_names == ("ngram:b", "ngram:c")
    assert ngrams(corpus, order=1, differing=False).sparse_names == ("ngram:a", "ngram:b", "ngram:c")


def test_many_ngrams():
    """Tables grow: every text has words that no other has, in lists of very unlike sizes."""
    rng = np.random.default_rng(3)
    lists = [[" ".join(f"w{rng.integers(9000)}" for _ in range(30)) for _ in range(size)] for size in (1, 90, 2, 40)]
    corpus = lists_of(*lists)
    how = {"order": 3, "lowest": 1, "tokens": "words", "boundaries": True}
    names, rows = expected_columns(corpus, 1, False, **how)
    found = ngrams(corpus, differing=False, **how)
    assert set(found.sparse_names) == names
    assert found.sparse.sum() == sum(sum(row.values()) for row in rows)
    assert found.sparse.nnz == sum(len(row) for row in rows)


@pytest.mark.data
def test_real_lists(data):
    corpus = read(data / "nbest" / "librispeech-10best" / "dev_clean.nbest.xz").select(np.arange(300))
    for tokens, order in (("words", 3), ("characters", 4)):
        how = {"order": order, "lowest": 1, "tokens": tokens, "boundaries": True}
        names, rows = expected_columns(corpus, 2, True, **how)
        found = ngrams(corpus, minimum=2, **how)
        assert set(found.sparse_names) == names
        place = {name: c for c, name in enumerate(found.sparse_names)}
        for h, row in enumerate(rows):
            entries = found.sparse[[h]]
            got = dict(zip(entries.indices.tolist(), entries.data.tolist(), strict=True))
            assert got == {place[name]: count for name, count in row.items() if name in names}


# refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"order": 0}, "needs 1 <= lowest <= order, got lowest 1 and order 0"),
        ({"order": 2, "lowest": 3}, "got lowest 3 and order 2"),
        ({"lowest": 0}, "got lowest 0"),
        ({"order": 1.5}, "'order' of the feature 'ngrams' must be a whole number, got 1.5"),
        ({"order": True}, "must be a whole number, got True"),
        ({"minimum": 0}, "'minimum' of the feature 'ngrams' must be >= 1, got 0"),
        ({"tokens": "letters"}, "'tokens' of the feature 'ngrams' must be 'words' or 'characters', got 'letters'"),
        ({"name": 3}, "'name' of the feature 'ngrams' must be text"),
        ({"minimum": 10**6}, r"no n-gram occurs in 1000000 lists, the most common one in \d+; lower 'minimum'"),
    ],
)
def test_bad_options(how, message):
    for make in (ngrams, ngrams_recipe):
        with pytest.raises(ParameterError, match=message):
            make(toy_lists(), **how)
    with pytest.raises(ParameterError, match=message):
        fit_recipes(toy_lists(), [{"kind": "ngrams", **how}])


def test_nothing_to_count():
    with pytest.raises(CapabilityError, match="the feature 'ngrams' needs the texts"):
        ngrams(replace(toy_lists(), texts=None))
    for corpus in (lists_of(["", " "]), lists_of([]), lists_of(), lists_of(["a", "b"])):
        with pytest.raises(ParameterError, match="finds no n-gram in these lists"):
            ngrams(corpus, order=3, lowest=2)
    with pytest.raises(ParameterError, match=r"no n-gram differs between the hypotheses of any list$"):
        ngrams(lists_of(["a b"], ["b c", "b c"]))
    with pytest.raises(ParameterError, match=r"no n-gram differs .* lower it"):
        ngrams(lists_of(["a b", "a"], ["a"]), order=1, minimum=2)


def lines(text):
    return np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"columns": lines("a\nb")}, "must be lines of UTF-8"),
        ({"columns": np.zeros(3)}, "must be lines of UTF-8"),
        ({"columns": lines("\udcff\n")}, "must be UTF-8"),
        ({"columns": lines("a b c\n")}, "has n-grams of 1 to 2 tokens here, got 'a b c'"),
        ({"columns": lines("a\n\n")}, "has n-grams of 1 to 2 tokens here, got ''"),
        ({"columns": lines("a b\nc\na  b\n")}, "must differ, got 'a  b' twice"),
        ({"columns": lines("ab\n"), "tokens": "characters"}, "single characters with spaces between, got 'ab'"),
        ({"columns": lines("<s> a\n"), "tokens": "characters"}, "single characters with spaces between, got '<s>'"),
    ],
)
def test_bad_columns(how, message):
    with pytest.raises(ParameterError, match=message):
        ngrams(toy_lists(), **how)


def test_no_columns_are_legal():
    """A model may have no weight for any n-gram."""
    found = ngrams(toy_lists(), columns=lines(""))
    assert found.sparse.shape == (found.hypotheses, 0)
    for nothing in (lists_of([]), lists_of()):
        assert ngrams(nothing, columns=lines("a\n")).sparse.shape == (0, 1)


def test_names_that_are_no_ngrams():
    with pytest.raises(ParameterError, match="cannot hold the end of a line"):
        only_ngrams({"kind": "ngrams"}, ["ngram:a\nb"])


def test_names_that_the_lists_have_already_are_refused() -> None:
    from scipy.sparse import csr_array

    corpus = toy_lists(1)
    taken = corpus.with_sparse(["ngram:ant bee"], csr_array(np.ones((corpus.hypotheses, 1))))
    with pytest.raises(ParameterError, match="already have a feature 'ngram:ant bee'"):
        fit_recipes(taken, [{"kind": "ngrams"}])
    recipes = fit_recipes(taken, [{"kind": "ngrams", "name": "other"}])
    assert recipes[0]["name"] == "other"


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(ParameterError, match="has no option 'ordr'"):
        fit_recipes(toy_lists(1), [{"kind": "ngrams", "ordr": 2}])
