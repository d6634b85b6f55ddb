"""`--add auto`: what helps left-out lists is kept, noise is not, and what was tried is told."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import nbest
from nbest.base.errors import CapabilityError, ParameterError
from nbest.compute import segments
from nbest.corpus import Texts
from nbest.features import FEATURES, apply_recipes, fit_recipes
from nbest.features.wanted import besides_auto, files_of
from nbest.forests.derivations import as_forests
from nbest.model.loglinear import load
from nbest.testing import toy_lists
from nbest.trainers import adding
from nbest.trainers.adding import add_columns, choose_features
from nbest.trainers.targets import fit_targets, soft_targets

QUICK = nbest.MaxLikelihood


def wordy(seed, count=80, size=8, worth=0.5):
    """Lists whose gains grow with `x` and fall with the number of characters, beside chance; every word is new."""
    rng = np.random.default_rng(seed)
    x, chars = rng.normal(size=count * size), rng.integers(1, 9, count * size)
    gains = x - worth * chars + rng.normal(size=len(x))
    texts = [f"{h:06d} {'w' * n}{h:06d}" for h, n in enumerate(chars)]
    return nbest.NBest(
        offsets=np.arange(count + 1) * size, features=x[:, None], feature_names=("x",),
        ids=tuple(map(str, range(count))), texts=Texts.of(texts), gains=gains,
    ).with_metric(nbest.External())  # fmt: skip


def kept(found):
    return [each.kind for each in found.tried if each.kept]


# the quick fit ---------------------------------------------------------------------------------------------


def test_quick_fit_is_the_optimum_of_its_objective():
    rng = np.random.default_rng(1)
    offsets = np.array([0, 4, 4, 5, 11, 14])
    columns, counts = rng.normal(size=(14, 3)), np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    targets = soft_targets(rng.random(14), offsets, 0.5)

    def value(weights):
        total = weights @ weights / (2 * 0.7)
        for i, count in enumerate(counts):
            part = slice(offsets[i], offsets[i + 1])
            if offsets[i] < offsets[i + 1]:
                scores = columns[part] @ weights
                total += count * (np.log(np.exp(scores).sum()) - targets[part] @ scores)
        return total

    found = fit_targets(columns, offsets, targets, counts, variance=0.7)
    best = minimize(value, np.zeros(3), tol=1e-10)
    assert value(found) == pytest.approx(best.fun, abs=adding_precision())
    again = fit_targets(columns, offsets, targets, counts, variance=0.7, start=10 * np.ones(3))
    assert value(again) == pytest.approx(best.fun, abs=adding_precision())
    assert value(found) < value(np.zeros(3)) - adding_precision()


def adding_precision():
    return 0.011  # half of what fit_targets calls enough, and a little


def test_soft_targets():
    losses, offsets = np.array([1.0, 2.0, 4.0, 3.0, 3.0]), np.array([0, 3, 3, 5])
    near, far = (soft_targets(losses, offsets, t) for t in (1e-3, 1e3))
    assert near == pytest.approx([1, 0, 0, 0.5, 0.5])
    assert far == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.5, 0.5], abs=1e-3)
    assert soft_targets(np.ones(5), offsets, 0.5) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.5, 0.5])


def test_posteriors_are_compared_at_equal_entropy():
    offsets = np.array([0, 20, 40, 40, 45])
    scores = np.random.default_rng(2).normal(size=45)
    wanted = adding._SHARE * sum(np.log([20, 20, 5]))
    for factor in (1e-5, 1.0, 1e5):
        posterior = adding._sharpened(factor * scores, offsets)
        assert segments.sums(posterior, offsets) == pytest.approx([1, 1, 0, 1])
        entropy = -sum(p * np.log(p) for p in posterior if p > 0)
        assert entropy == pytest.approx(wanted, rel=0.01)
    assert adding._sharpened(np.zeros(45), offsets)[0] == pytest.approx(1 / 20)


# the choice ------------------------------------------------------------------------------------------------


def test_what_helps_is_kept_and_helps():
    for seed in (1, 2, 3):
        dev, test = wordy(seed), wordy(seed + 10)
        found = choose_features(dev)
        assert "length" in kept(found)
        plain = QUICK().fit(dev)
        model = nbest.Pipeline(trainer=QUICK(), add="auto").fit(dev)
        assert test.score(model.predict(test)) > test.score(plain.predict(test)) + 0.5
        row = next(each for each in found.tried if each.kind == "length")
        assert row.gain > 0.5
        assert row.p < 0.01


def test_noise_is_refused(monkeypatch):
    """Of 60 times two useless columns, none is kept; by their gain alone many would be."""
    lucky, accepted = 0, 0
    for seed in range(20):
        rng = np.random.default_rng(seed)

        def noise(corpus, width=1, rng=rng):
            names = [f"noise{d}" for d in range(width)]
            return corpus.with_features(names, rng.normal(size=(corpus.hypotheses, width)))

        kinds = ("one", "two", "four")
        for kind, width in zip(kinds, (1, 2, 4), strict=True):
            monkeypatch.setitem(FEATURES, kind, lambda corpus, width=width, noise=noise: noise(corpus, width))
        monkeypatch.setattr(adding, "CANDIDATES", kinds)
        found = choose_features(wordy(100 + seed, count=40), seed=seed)
        lucky += sum(each.gain > 0 for each in found.tried)
        accepted += len(kept(found))
    assert accepted == 0
    assert lucky >= 5


def test_a_column_that_only_repeats_another_is_refused(monkeypatch):
    """Sharper posteriors alone are not better choices."""
    monkeypatch.setitem(FEATURES, "again", lambda corpus: corpus.with_features(["again"], 3 * corpus.column("x")))
    monkeypatch.setattr(adding, "CANDIDATES", ("again",))
    assert kept(choose_features(wordy(1, worth=0.0))) == []


def test_two_that_help_are_both_kept(monkeypatch):
    dev = wordy(4)
    second = np.random.default_rng(99).normal(size=dev.hypotheses)
    dev = replace(dev, gains=dev.gains + second).with_metric(nbest.External())
    monkeypatch.setitem(FEATURES, "second", lambda corpus: corpus.with_features(["second"], second))
    monkeypatch.setattr(adding, "CANDIDATES", ("second", "rank", "length"))
    found = choose_features(dev)
    assert kept(found) == ["second", "length"]
    assert sorted(recipe["kind"] for recipe in found.recipes) == ["length", "second"]


def test_the_choice_is_the_same_again():
    assert choose_features(wordy(1)) == choose_features(wordy(1))


def test_few_groups_tell_nothing():
    dev = wordy(1)
    few = replace(dev, groups=tuple(str(i % 10) for i in range(len(dev))))
    found = choose_features(few)
    assert (found.recipes, found.tried) == ((), ())
    assert "10 groups are too few" in found.words
    assert "5 segments are too few" in choose_features(dev.select(range(5))).words
    many = choose_features(replace(dev, groups=tuple(str(i // 2) for i in range(len(dev)))))
    assert "length" in kept(many)


def test_groups_stay_together_in_folds():
    dev = wordy(1)
    grouped = replace(dev, groups=tuple(str(i // 4) for i in range(len(dev))))
    trial = adding._LeftOut.of(grouped, 1)
    assert all(len(set(fold[i : i + 4])) == 1 for fold in trial.folds for i in range(0, len(dev), 4))


# what lists allow ------------------------------------------------------------------------------------------


def test_lists_without_texts_try_the_rest():
    found = choose_features(replace(wordy(1), texts=None))
    assert {each.kind for each in found.tried if each.why} == {"length", "frequency", "agreement"}
    assert all(each.gain is None for each in found.tried if each.why)


def test_features_of_the_lists_are_never_replaced():
    dev = wordy(1).with_features(["words"], np.zeros(wordy(1).hypotheses))
    found = choose_features(dev)
    assert "length" not in kept(found)
    assert next(each for each in found.tried if each.kind == "length").why == "the lists have another 'words' already"
    same = apply_recipes(wordy(1), [{"kind": "length"}]).only_features(["x", "words"])
    assert "length" in kept(choose_features(replace(same, recipes=())))


def test_lists_without_features_get_their_order():
    dev = wordy(1).only_features([])
    assert choose_features(dev).recipes[0] == {"kind": "rank"}
    assert choose_features(dev.select(range(5))).recipes == ({"kind": "rank"},)
    model = nbest.Pipeline(trainer=QUICK(), add="auto").fit(dev)
    assert {"rank", "chars"} <= set(model.weights)


def test_sparse_features_are_left_aside():
    dev = toy_lists(segments_=60, sparse=True)
    assert dev.sparse is not None
    model = nbest.Pipeline(trainer=QUICK(), add="auto").fit(dev)
    assert set(dev.sparse_names) <= set(model.weights)
    plain, sparse = (choose_features(each) for each in (dev.without_sparse(), dev))
    assert plain.tried == sparse.tried


def test_named_features_are_added_anyway():
    dev = wordy(1)
    model = nbest.Pipeline(trainer=QUICK(), add="rank,auto", only="x,rank").fit(dev)
    assert model.features[0] == {"kind": "rank"}
    assert {"x", "rank", "words", "chars"} <= set(model.weights)
    tried = {each["feature"]: each for each in model.trainer["added"]}
    assert tried["rank"] == {"feature": "rank", "kept": False, "why": "it adds nothing new that differs within lists"}
    assert tried["length"]["kept"] is True


def test_the_model_keeps_what_was_tried(tmp_path):
    dev, test = wordy(1), wordy(2)
    model = nbest.Pipeline(trainer=QUICK(), add=[{"kind": "auto"}]).fit(dev)
    model.save(tmp_path / "m.json")
    loaded = load(tmp_path / "m.json")
    assert loaded.trainer["added"] == model.trainer["added"]
    assert np.array_equal(loaded.predict(test), model.predict(test))


def test_held_out_lists_do_not_shape_the_choice():
    dev, other = wordy(1), wordy(2, worth=-0.5)
    assert add_columns("auto", [dev, other]).added == add_columns("auto", [dev, None]).added


def test_large_lists_are_thinned(monkeypatch):
    monkeypatch.setattr(adding, "_HYPOTHESES", 400)
    dev = toy_lists(segments_=30, longest=60)
    small = adding._thinned(dev)
    most = max(adding._SHORTEST, 400 // 30)
    assert list(small.lengths) == [min(n, most) for n in dev.lengths]
    firsts = [dev.offsets[i] for i in range(30) if dev.lengths[i]]
    assert [small.texts[small.offsets[i]] for i in range(30) if dev.lengths[i]] == [dev.texts[h] for h in firsts]
    monkeypatch.setattr(adding, "_LONGEST", 11)
    assert max(adding._thinned(dev).lengths) == 11
    many = adding._thinned(toy_lists(segments_=100))
    assert len(many) == 400 // adding._SHORTEST


def test_forests_and_lists_without_metric_are_refused():
    with pytest.raises(CapabilityError, match="edges of a forest do not have"):
        choose_features(as_forests(toy_lists()))
    with pytest.raises(CapabilityError, match="these lists have none; give a metric, or name"):
        choose_features(replace(wordy(1), stats=None, metric=None))


def test_auto_as_people_write_it():
    assert besides_auto("length,auto,rank") == ("length,rank", True)
    assert besides_auto([{"kind": "auto"}, {"kind": "rank"}]) == ([{"kind": "rank"}], True)
    assert besides_auto(None)[1] is besides_auto("length")[1] is False
    assert files_of("auto,lm:path=x.nlm") == ["x.nlm"]
    with pytest.raises(ParameterError, match="'auto' has no options"):
        add_columns("auto:folds=3", [wordy(1)])


def test_recipes_are_applied_only_where_one_is_fitted_after_them(monkeypatch):
    made = []

    def count(corpus):
        made.append(1)
        return corpus.with_features(["count"], np.arange(corpus.hypotheses, dtype=float))

    monkeypatch.setitem(FEATURES, "count", count)
    dev = toy_lists()
    assert fit_recipes(dev, [{"kind": "rank"}, {"kind": "count"}]) == ({"kind": "rank"}, {"kind": "count"})
    assert made == []
    recipes = fit_recipes(dev, [{"kind": "count"}, {"kind": "places"}, {"kind": "rank"}])
    assert made == [1]
    assert "count" in recipes[1]["features"]
    assert "place:count" in apply_recipes(dev, recipes).feature_names
