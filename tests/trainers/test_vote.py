"""Weights learned for voting, against a plain objective over answers and another optimiser."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

import nbest
from nbest.base.errors import CapabilityError, ConvergenceWarning, ParameterError
from nbest.corpus import NBest, Texts
from nbest.corpus.ballots import ballot, pooled
from nbest.decisions.confidence import answer_probabilities
from nbest.metrics import make_metric
from nbest.model.loglinear import LogLinear
from nbest.testing.forests import toy_forests
from nbest.trainers.dense.vote import VARIANCES


def voters(seed=1, segments=60, skills=(0.9, 0.8, 0.45, 0.4, 0.35, 0.3), sparse=True):
    """Lists of the votes of some systems, of which the first are right most often; answers 0 (right) to 3."""
    rng = np.random.default_rng(seed)
    right = rng.random((segments, len(skills))) < skills
    answers = np.where(right, 0, rng.integers(1, 4, right.shape)).ravel()
    own = csr_array(np.tile(np.eye(len(skills)), (segments, 1)))
    names = tuple(f"by:{k}" for k in range(len(skills)))
    lists = NBest(
        np.arange(0, right.size + 1, len(skills)),
        (right.ravel() + rng.normal(size=right.size))[:, None], ("verifier",), tuple(map(str, range(segments))),
        texts=Texts.of(map(str, answers)), gains=right.ravel().astype(float),
        sparse=own if sparse else None, sparse_names=names if sparse else (),
    )  # fmt: skip
    return lists.with_metric(nbest.External())


def value(lists, weights, scale, variance):
    """Minus the penalised log-likelihood of right answers, by a loop over lists and answers."""
    scores = np.column_stack([lists.features, np.ones(lists.hypotheses)]) @ (weights / scale)
    total = 0.0
    for low, high in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        sums, right = {}, {}
        for h in range(low, high):
            text = lists.texts[h]
            sums[text] = sums.get(text, 0.0) + scores[h]
            right[text] = lists.gains[h]
        golden = [sums[text] for text in sums if right[text] == max(right.values())]
        total -= math.log(sum(map(math.exp, golden)) / sum(map(math.exp, sums.values())))
    return total + (weights**2).sum() / (2 * variance)


def test_the_optimum_is_that_of_another_optimiser():
    lists = voters(sparse=False)
    trainer = nbest.VoteLikelihood(variance=0.5)
    model = trainer.fit(lists)
    plain = np.array([model.weights["verifier"], model.weights["answered"]])
    scale = trainer.result_.weights / plain
    other = minimize(lambda w: value(lists, w, scale, 0.5), np.zeros(2), method="Nelder-Mead", tol=1e-10)
    assert trainer.result_.value == pytest.approx(other.fun, rel=1e-7)
    np.testing.assert_allclose(trainer.result_.weights, other.x, atol=1e-4)


def test_a_search_that_is_cut_off_is_said():
    with pytest.warns(ConvergenceWarning, match="VoteLikelihood"):
        nbest.VoteLikelihood(variance=1.0, iterations=1).fit(voters())


def test_it_learns_whom_to_believe():
    dev, test = voters(1, 200), voters(2, 200)
    model = nbest.VoteLikelihood().fit(dev.without_features(["verifier"]))
    assert model.decision == {"kind": "vote", "pool": "scores"}
    order = [model.weights[f"by:{k}"] for k in range(6)]
    assert min(order[:2]) > max(order[2:])
    learned = test.score(nbest.choose(model, test).chosen)
    assert learned > test.score(nbest.vote(None, test))
    assert learned > max(test.gains.reshape(-1, 6).mean(axis=0))
    assert model.scores_["dev"] == dev.score(nbest.choose(model, dev).chosen)  # by the vote, not by the 1-best


def test_the_prior_is_chosen_by_folds_and_pulls_to_its_centre():
    lists = voters(3)
    trainer = nbest.VoteLikelihood()
    first = trainer.fit(lists)
    assert trainer.result_.history[-1]["variance"] in VARIANCES
    assert nbest.VoteLikelihood().fit(lists).weights == first.weights
    centre = {"verifier": 2.0, "by:1": 0.7, "not there": 1.0}
    near = nbest.VoteLikelihood(variance=1e-9, centre=centre).fit(lists).weights
    assert near["verifier"] == pytest.approx(2.0, abs=1e-4)
    assert near["by:1"] == pytest.approx(0.7, abs=1e-4)
    assert near["by:2"] == pytest.approx(0.0, abs=1e-4)


def test_pooled_lists_are_sums_over_voters():
    lists = voters(4, 5)
    votes = ballot(lists)
    answers = pooled(lists, votes)
    assert answers.hypotheses == len({(h // 6, lists.texts[h]) for h in range(30)})
    for h in range(30):
        same = [k for k in range(h // 6 * 6, h // 6 * 6 + 6) if lists.texts[k] == lists.texts[h]]
        at = votes.answers[h]
        assert answers.features[at] == pytest.approx(lists.features[same].sum(axis=0))
        assert answers.sparse.toarray()[at] == pytest.approx(lists.sparse.toarray()[same].sum(axis=0))
        assert answers.losses()[at] == pytest.approx(lists.losses()[same].mean())


def test_held_out_lists_are_compared_by_the_same_answers():
    dev, heldout = (replace(voters(seed), answers=voters(seed).texts) for seed in (6, 7))
    answers = pooled(dev, ballot(dev))
    assert answers.answers is not None
    assert len(answers.texts) == answers.hypotheses
    model = nbest.VoteLikelihood(variance=0.1).fit(dev, heldout)
    assert model.scores_["heldout"] == heldout.score(nbest.choose(model, heldout).chosen)
    with pytest.raises(ParameterError, match="must be compared as those to train on"):
        nbest.VoteLikelihood(variance=0.1).fit(dev, voters(7))


def test_a_saved_model_votes_the_same(tmp_path):
    lists = voters(5)
    model = nbest.VoteLikelihood(variance=0.1).fit(lists)
    model.save(tmp_path / "m.json")
    other = nbest.load(tmp_path / "m.json")
    assert (nbest.choose(other, lists).chosen == nbest.choose(model, lists).chosen).all()
    p = answer_probabilities(other, lists, other.decision)
    assert nbest.choose(other, lists).confidence == pytest.approx(p.reshape(-1, 6).max(axis=1))


def test_what_it_refuses():
    for text in ("same", ""):
        lists = replace(voters(), texts=Texts.of([text] * voters().hypotheses))
        with pytest.raises(CapabilityError, match="needs lists with at least two answers"):
            nbest.VoteLikelihood().fit(lists)
    with pytest.raises(CapabilityError, match="votes are for answers of whole hypotheses"):
        nbest.VoteLikelihood().fit(toy_forests(2))
    with pytest.raises(CapabilityError, match="needs the texts of the hypotheses"):
        nbest.VoteLikelihood().fit(replace(voters(), texts=None))


def cased(seed=8):
    """Votes whose right answer is written in three ways, which a metric without case takes for one."""
    rng = np.random.default_rng(seed)
    texts, references = [], []
    for i in range(40):
        name = f"Town{i % 7}"
        texts += [name.lower(), name.upper(), name, "Rome", "Rome", *(["Oslo"] if i % 2 else [name.title()])]
        references.append((name,))
    lists = NBest(
        np.arange(0, 241, 6), rng.normal(size=(240, 1)), ("noise",), tuple(map(str, range(40))), texts=Texts.of(texts)
    )
    return lists.with_metric(make_metric("exact", lowercase=True), references)


def test_answers_are_the_same_where_the_metric_says_so(tmp_path):
    lists = cased()
    model = nbest.VoteLikelihood(variance=1.0).fit(lists)
    assert model.decision == {"kind": "vote", "pool": "scores", "normalize": "lower"}
    assert model.weights["answered"] > 0
    assert model.scores_["dev"] == 100
    assert lists.score(nbest.vote(None, lists)) < 100  # Rome has more votes than any way to write the right one
    assert lists.score(nbest.vote(None, lists, normalize="lower")) == 100
    model = nbest.calibrate(model, lists)
    model.save(tmp_path / "m.json")
    model = nbest.load(tmp_path / "m.json")
    batch = nbest.choose(model, lists)
    plain = nbest.choose(replace(model, decision={}), lists, "vote")
    assert plain.decision == {"kind": "vote", "normalize": "lower"}
    stopper = nbest.stopping.Stopper(model=model, at=1.0)
    for h in range(6):
        stopper.vote(lists.texts[h], float(model.scores(lists)[h]))
    assert stopper.standing.answer == "town0"
    for i in range(5):
        rows = [{"text": lists.texts[h], "noise": float(lists.features[h, 0])} for h in range(6 * i, 6 * i + 6)]
        found = model.choose(rows)
        assert found.index == batch.chosen[i] - 6 * i
        assert found.confidence == batch.confidence[i]
        assert found.calibrated
    guarded = nbest.choose(
        LogLinear({"noise": 1.0}, metric=model.metric), lists, {"kind": "best-of-majority", "share": 1.0}
    )
    assert lists.score(guarded.chosen) == 100
