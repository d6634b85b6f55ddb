"""Pairs of pieces of words and labels: against plain Python, what is kept, what is refused, and through a model."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nbest
from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus import NBest, Texts
from nbest.features import apply_recipes, fit_recipes
from nbest.features.ngrams.pairs import pairs, pairs_recipe
from nbest.metrics import METRICS


def lists(sources, texts, references=None):
    """Lists of these label sequences, a list of them for each source."""
    sizes = [len(each) for each in texts]
    corpus = NBest(
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        features=np.arange(sum(sizes), dtype=float)[:, None],
        feature_names=("base",),
        ids=tuple(f"s{i}" for i in range(len(sources))),
        texts=Texts.of([text for each in texts for text in each]),
        sources=tuple(sources),
        references=None if references is None else tuple((text,) for text in references),
    )
    return corpus if references is None else corpus.with_metric(METRICS["accuracy"]())


def plain(source, text, pieces, low, high, bigrams):
    """The pairs of one hypothesis, counted in plain Python."""
    out, before, words = Counter(), None, source.split()
    for place, (word, label) in enumerate(zip(words, text.split(), strict=True)):
        for piece in cut(words, place, word, pieces, low, high):
            out[f"{piece}/{label}"] += 1
            if bigrams and before is not None:
                out[f"{piece}/{before}_{label}"] += 1
        before = label
    return out


def cut(words, place, word, pieces, low, high):
    for n in range(low, high + 1):
        if pieces == "word":
            yield from [" ".join(words[place + 1 - n : place + 1])] if n <= place + 1 else []
        else:
            places = [len(word) - n] if pieces == "suffix" else range(len(word) - n + 1)
            yield from (word[at : at + n] for at in places if at >= 0)


words = st.text("abé日/", min_size=1, max_size=5)
labels = st.sampled_from(["N", "V", "A/B", "_", "日"])


@st.composite
def corpora(draw):
    sources, texts = [], []
    for _ in range(draw(st.integers(1, 4))):
        source = draw(st.lists(words, min_size=0, max_size=4))
        sources.append(" ".join(source))
        row = st.lists(labels, min_size=len(source), max_size=len(source)).map(" ".join)
        texts.append(draw(st.lists(row, min_size=0, max_size=4)))
    return sources, texts


@settings(max_examples=150, deadline=None)
@given(corpora(), st.sampled_from(["suffix", "character", "word"]), st.integers(1, 3), st.integers(0, 2), st.booleans(),
       st.integers(1, 2), st.booleans())  # fmt: skip
def test_against_plain_python(drawn, pieces, low, more, bigrams, minimum, differing):
    sources, texts = drawn
    corpus = lists(sources, texts)
    counts = [[plain(source, text, pieces, low, low + more, bigrams) for text in each]
              for source, each in zip(sources, texts, strict=True)]  # fmt: skip
    names = {name for each in counts for row in each for name in row}
    kept = {
        name
        for name in names
        if sum(any(row[name] for row in each) for each in counts) >= minimum
        and (not differing or any(len({row[name] for row in each}) > 1 for each in counts))
    }
    options = {"pieces": pieces, "low": low, "high": low + more, "bigrams": bigrams}
    if not kept:
        with pytest.raises(ParameterError, match="keeps nothing"):
            pairs(corpus, **options, minimum=minimum, differing=differing)
        return
    wide = pairs(corpus, **options, minimum=minimum, differing=differing)
    assert set(wide.sparse_names) == {f"{pieces}:{name}" for name in kept}
    assert len(set(wide.sparse_names)) == len(wide.sparse_names)
    expected = [[row[name.partition(":")[2]] for name in wide.sparse_names] for each in counts for row in each]
    np.testing.assert_array_equal(wide.sparse.toarray(), np.array(expected).reshape(wide.sparse.shape))


def test_the_example_of_the_paper():
    corpus = lists(["the selling pressure"], [["DT NN NN", "DT VBG NN"]])
    names = pairs(corpus, differing=False).sparse_names
    for suffix in ("ng", "ing", "ling"):
        assert {f"suffix:{suffix}/NN", f"suffix:{suffix}/DT_NN"} < set(names)
    assert pairs(corpus, differing=False, bigrams=False).sparse_names[:2] == ("suffix:he/DT", "suffix:the/DT")


def test_other_lists_get_the_columns_of_the_recipe():
    train = lists(["walking dog", "running"], [["V N", "N N"], ["V", "N"]])
    recipes = fit_recipes(train, [{"kind": "pairs"}])
    wide = apply_recipes(lists(["king"], [["V", "X"]]), recipes)
    assert wide.sparse_names == apply_recipes(train, recipes).sparse_names
    assert wide.sparse.toarray()[:, wide.sparse_names.index("suffix:ing/V")].tolist() == [1.0, 0.0]
    assert wide.sparse.toarray()[1].sum() == 0


def test_a_model_keeps_only_what_it_weighs(tmp_path):
    rng = np.random.default_rng(1)
    endings = {"ing": "V", "tion": "N", "ly": "A"}
    sources, texts, right = [], [], []
    for _ in range(80):
        chosen = rng.choice(list(endings), 4)
        sources.append(" ".join("x" * rng.integers(1, 4) + ending for ending in chosen))
        right.append(" ".join(endings[ending] for ending in chosen))
        texts.append([" ".join(rng.choice(["V", "N", "A"], 4)) for _ in range(4)] + [right[-1]])
    corpus = lists(sources, texts, right)
    wide = apply_recipes(corpus, recipes := fit_recipes(corpus, [{"kind": "pairs", "minimum": 2, "bigrams": False}]))
    model = replace(nbest.Boosting(rounds=30).fit(wide), features=recipes)
    assert corpus.score(model.predict(corpus)) > 95
    model.save(tmp_path / "model.json")
    again = nbest.load(tmp_path / "model.json")
    assert np.array_equal(again.scores(corpus), model.scores(corpus))
    assert set(again.prepare(corpus).sparse_names) <= {name for name, weight in model.weights.items() if weight}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sources": None}, "needs the input text of each segment"),
        ({"texts": None}, "needs the texts of the hypotheses"),
        ({"sources": ("one two three", "two words")}, "hypothesis 1 of segment 's0' has 2 labels and its input text 3"),
        ({"texts": Texts.of(["A B", "A B", "A B", "A"])}, "hypothesis 2 of segment 's1' has 1 labels .* 2 words"),
    ],
)
def test_lists_that_cannot_be_paired_are_refused(change, message):
    corpus = lists(["one two", "two words"], [["A B", "B A"], ["A A", "B B"]])
    with pytest.raises(CapabilityError, match=message):
        pairs(replace(corpus, **change))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pieces": "prefix"}, "'pieces' .* must be 'suffix', 'character' or 'word', got 'prefix'"),
        ({"low": 3, "high": 2}, "1 <= low <= high"),
        ({"low": 0}, "1 <= low <= high"),
        ({"high": 2.5}, "'high' .* whole number"),
        ({"minimum": 0}, "'minimum' .* >= 1"),
        ({"minimum": 9}, "keeps nothing: no pair occurs in 9 lists"),
        ({"columns": np.frombuffer(b"ing/V", np.uint8)}, "must be lines of UTF-8"),
        ({"columns": np.frombuffer(b"\xff\n", np.uint8)}, "must be lines of UTF-8"),
        ({"columns": np.frombuffer(b"a/V\na/V\n", np.uint8)}, "must differ, got 'a/V' twice"),
    ],
)
def test_wrong_options_are_refused(options, message):
    corpus = lists(["one two"], [["A B", "B A"]])
    with pytest.raises(ParameterError, match=message):
        pairs(corpus, **options)


def test_the_recipe_says_its_lengths():
    corpus = lists(["一二 三"], [["A B", "B A"]])
    recipe = pairs_recipe(corpus, pieces="character")
    assert (recipe["low"], recipe["high"]) == (1, 2)
    assert "character:一二/A" in pairs(corpus, pieces="character").sparse_names


def test_runs_of_words_and_labels():
    corpus = lists(["the selling pressure"], [["DT NN NN", "DT VBG NN"]])
    names = pairs(corpus, pieces="word", differing=False).sparse_names
    assert {"word:selling/NN", "word:selling/DT_NN", "word:the selling/VBG", "word:the selling/DT_VBG"} < set(names)
    assert pairs(corpus, pieces="word", high=1, bigrams=False, differing=False).sparse_names == (
        "word:the/DT", "word:selling/NN", "word:pressure/NN", "word:selling/VBG",
    )  # fmt: skip
