"""1-best, oracles and minimum Bayes risk against exhaustive search and double loops."""

from dataclasses import replace
from inspect import signature
from itertools import product

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein
from strategies import lists, text_lists

from nbest.base.errors import CapabilityError, ParameterError
from nbest.compute import segments
from nbest.corpus import NBest, Texts, dedupe, prune
from nbest.decisions import DECISIONS, consensus, corpus_oracle, mbr, one_best, oracle, random_score
from nbest.decisions.arguments import normalisation_of
from nbest.decisions.mbr import gain_of, mbr_of_each
from nbest.features import apply_recipes, fit_recipes
from nbest.metrics import BLEU, METRICS, WER, make_metric
from nbest.metrics.normalise import normalised
from nbest.model.loglinear import LogLinear
from nbest.testing import in_other_order, toy_lists


def ranges(corpus):
    return [range(a, b) for a, b in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)]


def better(corpus):
    return 1.0 if corpus.metric.higher_is_better else -1.0


def test_one_best():
    corpus, model = toy_lists(), LogLinear({"first": 1.0})
    assert np.array_equal(one_best(model, corpus), model.predict(corpus))
    assert set(DECISIONS) == {"1best", "best-of-majority", "consensus", "first", "mbr", "vote"}
    starts = zip(corpus.offsets[:-1], corpus.lengths, strict=True)
    assert DECISIONS["first"](None, corpus).tolist() == [h if size else -1 for h, size in starts]


# oracles --------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=100)
@given(lists())
def test_oracle_is_the_first_of_least_loss(corpus):
    losses = corpus.metric.losses(corpus.stats)
    expected = [min(rows, key=lambda h: (losses[h], h)) if rows else -1 for rows in ranges(corpus)]
    assert oracle(corpus).tolist() == expected


@settings(deadline=None, max_examples=150)
@given(lists())
def test_corpus_oracle(corpus):
    choice = corpus_oracle(corpus)
    score = better(corpus) * corpus.score(choice)
    assert score >= better(corpus) * corpus.score(oracle(corpus)) - 1e-9
    for i, rows in enumerate(ranges(corpus)):
        assert choice[i] in rows if rows else choice[i] == -1
        for h in rows:
            neighbour = choice.copy()
            neighbour[i] = h
            assert better(corpus) * corpus.score(neighbour) <= score + 1e-9


@settings(deadline=None, max_examples=100)
@given(lists(segments=4, longest=3, metrics=("wer", "external")))
def test_corpus_oracle_is_exact_for_linear_metrics(corpus):
    stats = corpus.stats.copy()
    stats[:, 1] = 2.0  # the same number of reference words, or of counts, for every hypothesis
    corpus = replace(corpus, stats=stats)
    best = max(better(corpus) * corpus.score(np.array(c)) for c in product(*(list(r) or [-1] for r in ranges(corpus))))
    assert better(corpus) * corpus.score(corpus_oracle(corpus)) == pytest.approx(best, abs=1e-9)


def test_random_choices():
    corpus = toy_lists()
    assert random_score(corpus) == random_score(corpus)
    best, worst = corpus.score(oracle(corpus)), corpus.score(oracle(replace(corpus, metric=Reversed())))
    assert best < random_score(corpus) < worst
    single = corpus.select([1, 2])
    assert random_score(single) == single.score(np.array([-1, 0]))


class Reversed(WER):
    """Word error rate for which more errors are less loss."""

    def losses(self, stats):
        return stats[:, 0].max() - stats[:, 0]


def test_oracles_need_statistics():
    for function in (oracle, corpus_oracle, random_score):
        with pytest.raises(CapabilityError, match="no statistics"):
            function(replace(toy_lists(), stats=None, metric=None))


# minimum Bayes risk ---------------------------------------------------------------------------------------------


def sentence_bleu_loss(hypothesis, reference):
    return 100 - sacrebleu.sentence_bleu(hypothesis, [reference]).score


def word_errors(hypothesis, reference):
    return Levenshtein.distance(hypothesis.split(), reference.split())


def expected_loss(corpus, posterior, rows, loss, evidence=None):
    """Losses of the hypotheses `rows`, by a double loop over texts and distinct texts."""
    mass = {}
    for h in rows:
        mass[corpus.texts[h]] = mass.get(corpus.texts[h], 0.0) + posterior[h]
    kept = sorted(mass, key=lambda text: -mass[text])[:evidence]
    total = sum(mass[text] for text in kept)
    return [sum(mass[text] * loss(corpus.texts[h], text) for text in kept) / total for h in rows]


@settings(deadline=None, max_examples=40)
@given(
    text_lists(features=1, longest=5),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([("bleu", sentence_bleu_loss), ("wer", word_errors)]),
    st.sampled_from([None, 1, 2, 100]),
)
def test_mbr_against_a_double_loop(corpus, gamma, gain, evidence):
    model = LogLinear({"f0": 1.0})
    posterior = model.posterior(corpus, gamma)
    choice = mbr(model, corpus, gain=gain[0], gamma=gamma, evidence=evidence)
    for i, rows in enumerate(ranges(corpus)):
        if not rows:
            assert choice[i] == -1
            continue
        losses = expected_loss(corpus, posterior, rows, gain[1], evidence)
        near = [h for h, loss in zip(rows, losses, strict=True) if loss <= min(losses) + 1e-9]
        assert choice[i] in near
        if len({corpus.texts[h] for h in near}) == 1:
            assert choice[i] == near[0]


@settings(deadline=None, max_examples=30)
@given(text_lists(features=1, longest=5), st.sampled_from([None, 1, 2]))
def test_each_list_is_decided_alone(corpus, evidence):
    model = LogLinear({"f0": 0.0})  # every hypothesis equally probable: ties everywhere
    choice = mbr(model, corpus, gain="wer", evidence=evidence)
    for i, rows in enumerate(ranges(corpus)):
        alone = mbr(model, corpus.select([i]), gain="wer", evidence=evidence)[0]
        assert choice[i] == (rows.start + alone if rows else -1)


def one_list(texts, scores):
    return NBest(
        offsets=np.array([0, len(texts)]),
        features=np.array(scores, np.float64)[:, None],
        feature_names=("s",),
        ids=("0",),
        texts=Texts.of(texts),
    )


def test_a_consensus_beats_the_most_probable():
    corpus = one_list(["x y z", "a b c", "a b d", "a b e"], [1.0, 0.5, 0.4, 0.4])
    model = LogLinear({"s": 1.0})
    assert one_best(model, corpus).tolist() == [0]
    for gain in ("wer", "bleu", "chrf", make_metric("cer")):
        assert mbr(model, corpus, gain=gain).tolist() == [1]


def test_identical_texts_share_probability():
    corpus = one_list(["a b", "c d", "c d"], [0.3, 0.0, 0.0])
    assert mbr(LogLinear({"s": 1.0}), corpus, gain="wer").tolist() == [1]
    assert mbr(LogLinear({"s": 1.0}), corpus, gain="wer", evidence=1).tolist() == [1]


@pytest.mark.parametrize("gain", ["wer", "bleu"])
def test_large_gamma_gives_the_one_best(gain):
    for seed in range(3):
        corpus = dedupe(toy_lists(seed))
        model = LogLinear({"first": 1.0, "second": 0.5})
        assert np.array_equal(mbr(model, corpus, gain=gain, gamma=1e6), model.predict(corpus))


def test_ties_go_to_the_first():
    corpus = one_list(["a", "b", "c", "a"], [0, 0, 0, 0])
    assert mbr(LogLinear({"s": 1.0}), corpus, gain="wer").tolist() == [0]
    corpus = one_list(["b", "c", "a"], [0, 0, 0])
    assert mbr(LogLinear({"s": 1.0}), corpus, gain="wer").tolist() == [0]


def test_the_order_of_the_list_is_irrelevant():
    corpus = toy_lists(longest=12)
    model = LogLinear({"first": 1.0, "third": 0.3})
    turned = in_other_order(corpus)
    first, second = (mbr(model, c, gain="wer") for c in (corpus, turned))
    assert [corpus.texts[h] for h in first if h >= 0] == [turned.texts[h] for h in second if h >= 0]


def test_mbr_tells_of_progress_and_refuses_nonsense():
    corpus, model, done = toy_lists(), LogLinear({"first": 1.0}), []
    mbr(model, corpus, gain="wer", progress=done.append)
    assert sum(done) == len(corpus)
    for name, value in (("gamma", -1.0), ("gamma", np.nan), ("gamma", np.inf), ("evidence", 0), ("evidence", -3)):
        with pytest.raises(ParameterError, match=f"'{name}' of mbr must be >= .*, got {value}"):
            mbr(model, corpus, gain="wer", **{name: value})
    with pytest.raises(CapabilityError, match="mbr needs the texts"):
        mbr(model, replace(corpus, texts=None))
    with pytest.raises(ParameterError, match="unknown metric 'blue'"):
        mbr(model, corpus, gain="blue")
    assert mbr(model, corpus, gain=BLEU(tokenize="none")).shape == (len(corpus),)


def test_the_gain_of_a_model_is_its_metric_with_its_normalisation():
    said = WER(normalize="nfkc+lower").signature(1)
    assert gain_of(LogLinear({}, metric=f"WER|{said}")) == WER(normalize="nfkc+lower")
    assert gain_of(LogLinear({}, metric=f"WER|{WER().signature(1)}")) == WER()
    assert gain_of(LogLinear({}, metric="external|nrefs:1")) == gain_of(LogLinear({})) == BLEU()


@pytest.mark.parametrize("name", [name for name in METRICS if name != "external"])
def test_the_gain_of_a_model_compares_texts_as_its_metric_does(name):
    ways = [{}, {"lowercase": True}, {"case_sensitive": True}, {"tokenize": "none"}, {"normalize": "nfkc"}]
    taken = signature(METRICS[name]).parameters
    for way in ways:
        if way.keys() <= taken.keys():
            metric = make_metric(name, **way)
            said = f"{metric.name}|{metric.signature(1)}"
            assert gain_of(LogLinear({}, metric=said)) == metric
            normalised(normalisation_of(said), Texts.of(["a"]))


def test_all_sharpnesses_at_once():
    lists, model = toy_lists(3, noise=0.3), LogLinear({"first": 3.0, "second": 3.0})
    for metric in (WER(), BLEU(tokenize="none")):
        found = mbr_of_each(model, lists, (0.0, 0.5, 4.0), metric)
        for gamma, choice in zip((0.0, 0.5, 4.0), found, strict=True):
            assert np.array_equal(choice, mbr(model, lists, gain=metric, gamma=gamma, evidence=None))


@pytest.mark.parametrize("decide", [mbr, consensus])
@pytest.mark.parametrize("among", [1, 2, 4, 100])
def test_among_the_best(decide, among):
    """Of lists without all others, whose features are those of the whole lists."""
    lists = toy_lists(4, noise=0.3)
    recipes = fit_recipes(lists, [{"kind": "frequency"}])
    model = LogLinear({"first": 2.0, "second": 2.0, "frequency": 0.7}, features=recipes, gamma=0.5)
    scores = model.scores(lists)
    found = decide(model, lists, among=among)
    shorter = prune(apply_recipes(lists, recipes), among, scores)
    wanted = decide(model, shorter)
    assert [lists.texts[h] for h in found if h >= 0] == [shorter.texts[h] for h in wanted if h >= 0]
    assert np.array_equal(found >= 0, lists.lengths > 0)
    ranks = segments.ranks(scores, lists.offsets)
    assert (ranks[found[found >= 0]] < among).all()
    if among == 1:
        assert np.array_equal(found, model.predict(lists))
    if among == 100:
        assert np.array_equal(found, decide(model, lists))
    with pytest.raises(ParameterError, match=f"'among' of {decide.__name__} must be >= 1"):
        decide(model, lists, among=0)
