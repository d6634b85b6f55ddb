"""Each study against direct computation, its limits, and its files."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import nbest
from nbest.base.errors import CapabilityError, ConvergenceWarning, FormatError, KeptWarning, ParameterError
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.features import Bins, seed_weights
from nbest.forests.derivations import forests_of
from nbest.formats.bundled import lists
from nbest.model.loglinear import LogLinear
from nbest.studies import STUDIES
from nbest.studies.alpha import alpha
from nbest.studies.annealing import annealing
from nbest.studies.base import Study, counting_failures
from nbest.studies.bins import bins
from nbest.studies.budget import budget
from nbest.studies.calibration import calibration
from nbest.studies.consensus import consensus
from nbest.studies.coverage import coverage
from nbest.studies.curve import curve
from nbest.studies.curves import curves
from nbest.studies.expected import Expected
from nbest.studies.ladder import ladder
from nbest.studies.learning import learning
from nbest.studies.path import path
from nbest.studies.sharpness import sharpness
from nbest.studies.starts import starts
from nbest.studies.surface import surface
from nbest.studies.weights import weights
from nbest.testing import check_picture, toy_lists

MODEL = LogLinear({"first": 1.0, "second": 0.8, "third": -0.2})
pytestmark = pytest.mark.filterwarnings("ignore::nbest.base.errors.ConvergenceWarning")


def noisy(seed: int = 1, metric: nbest.WER | nbest.BLEU | None = None) -> NBest:
    return toy_lists(seed, noise=0.3, metric=metric)


def real(metric: str = "wer") -> NBest:
    return lists("tune").select(range(30)).with_metric(nbest.make_metric(metric))


SMALL: dict[str, Callable[[NBest], Study]] = {
    "alpha": lambda c: alpha(c, noisy(2), alphas=(0.8, 1.0), settings={"limit": 3}),
    "annealing": lambda c: annealing(c, noisy(2), t0=(1.0,), methods=("likelihood",)),
    "bins": lambda c: bins(c, noisy(2), count=4),
    "budget": lambda c: budget(c, thresholds=(0.9,), orders=2, samples=20),
    "consensus": lambda c: consensus(c, c.feature_names[0], points=5),
    "curve": lambda c: curve(c, orders=2, samples=50),
    "settings": lambda c: curves(c, noisy(2), {"variance": [0.1, 1.0]}, method="likelihood"),
    "learning": lambda c: learning(c, noisy(2), methods=("likelihood",), sizes=(10, 30), repeats=2),
    "calibration": lambda c: calibration(c, right=20.0, bins=3, samples=20),
    "coverage": lambda c: coverage(c, right=20.0, risks=(0.5, 0.9), draws=3, samples=20),
    "ladder": lambda c: ladder(c, methods=("likelihood",), folds=2, samples=20),
    "path": lambda c: path(forests_of(c.with_metric(nbest.BLEU(tokenize="none"))), k=3, rounds=2),
    "sharpness": lambda c: sharpness(c, c.feature_names[0], model=None, points=5),
    "starts": lambda c: starts(c, count=3, feature=c.feature_names[2]),
    "weights": lambda c: weights(c, folds=2, draws=2, samples=20),
    "surface": lambda c: surface(c, *c.feature_names[:2], points=4, temperature=0.01),
}


# what every study does ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_files_parse_and_are_the_same_every_time(name: str, tmp_path: Path) -> None:
    found = SMALL[name](noisy())
    data, image = found.write(tmp_path / "out")
    header, *rows = [json.loads(line) for line in Path(data).read_text().splitlines()]
    assert header["study"] == name == found.name
    assert header["metric"].startswith("BLEU|" if name == "path" else "WER|")
    assert rows == json.loads(json.dumps(found.rows, default=float))
    check_picture(Path(image).read_text())
    again = SMALL[name](noisy()).write(tmp_path / "again.svg")
    assert [Path(p).read_bytes() for p in again] == [Path(p).read_bytes() for p in (data, image)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.jsonl", "again.svg", "out.jsonl", "out.svg"]


@pytest.mark.parametrize(
    "name",
    sorted(
        set(STUDIES)
        - {"alpha", "annealing", "bins", "budget", "calibration", "coverage", "ladder", "learning", "path", "settings"}
        - {"weights"}
    ),
)
def test_names_of_features_are_escaped(name: str) -> None:
    from dataclasses import replace

    odd = '<lm&"x>'
    corpus = replace(noisy(), feature_names=(odd, "b", "c\x07"))
    svg = SMALL[name](corpus).picture().svg()
    shown = "".join(ElementTree.fromstring(svg.encode()).itertext())
    assert odd in shown or name == "starts"


def test_nothing_is_written_when_the_picture_fails(tmp_path: Path) -> None:
    class Broken(Study):
        def picture(self) -> None:  # type: ignore[override]
            raise RuntimeError

    (tmp_path / "out.jsonl").write_text("old\n")
    with pytest.raises(RuntimeError):
        Broken("WER", False, {}, ({"a": 1},)).write(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    assert (tmp_path / "out.jsonl").read_text() == "old\n"


def test_bad_outputs_are_refused(tmp_path: Path) -> None:
    found = SMALL["surface"](noisy())
    with pytest.raises(ParameterError, match="no folder"):
        found.write(tmp_path / "none" / "out")
    with pytest.raises(ParameterError, match="two files"):
        found.write("-")
    (tmp_path / "out.svg").mkdir()
    with pytest.raises(FormatError, match="directory"):
        found.write(tmp_path / "out")


# the expected metric --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
def test_expected_errors_are_exact(order: int) -> None:
    corpus, weights = noisy(3), np.array([1.0, 0.8, -0.2])
    found = Expected(corpus, order).score(Expected(corpus, order).moments(weights, 2.0))
    posterior = MODEL.posterior(corpus, 2.0)
    stats, _ = corpus.need_stats()
    errors, words = posterior @ stats
    assert found == pytest.approx(100 * errors / words, rel=1e-9)


def test_expected_bleu_agrees_with_sampling() -> None:
    corpus = noisy(4, nbest.BLEU())
    stats, metric = corpus.need_stats()
    posterior = MODEL.posterior(corpus)
    rng = np.random.default_rng(5)
    totals = np.zeros((4000, stats.shape[1]))
    for low, high in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
        if high > low:
            totals += stats[low + rng.choice(high - low, size=len(totals), p=posterior[low:high])]
    scores = metric.score(totals)
    error = scores.std() / np.sqrt(len(scores))
    weights = np.array([MODEL.weights[name] for name in corpus.feature_names])
    first, second = (Expected(corpus, order).score(Expected(corpus, 2).moments(weights, 1.0)) for order in (1, 2))
    assert abs(second - scores.mean()) < 4 * error + 0.05 * scores.std()
    assert abs(second - scores.mean()) < abs(first - scores.mean()) + 4 * error


@pytest.mark.parametrize("metric", ["wer", "bleu", "chrf", "f1"])
def test_expected_metric_becomes_the_1_best(metric: str) -> None:
    corpus = toy_lists(6, noise=0.3, metric=nbest.make_metric(metric))
    expected = Expected(corpus)
    weights = np.array([MODEL.weights[name] for name in corpus.feature_names])
    assert expected.score(expected.moments(weights, 1e7)) == pytest.approx(
        corpus.score(MODEL.predict(corpus)), abs=1e-6
    )
    uniform = expected.moments(weights, 0.0)
    assert uniform.entropy == pytest.approx(np.log(np.maximum(corpus.lengths, 1)).sum())


# surface --------------------------------------------------------------------------------------------------------


def test_cells_of_the_surface_are_scores_of_models() -> None:
    corpus = real("bleu")
    model = nbest.MaxLikelihood().fit(corpus)
    found = surface(corpus, "lm", "words", model=model, points=5, gamma=2.0, temperature=0.001)
    assert len(found.rows) == 25
    for row in found.rows[::4]:
        point = LogLinear({**model.weights, "lm": row["x"], "words": row["y"]})
        assert row["metric"] == corpus.score(point.predict(corpus))
        posterior = point.posterior(corpus, 2.0)
        logs = np.log(np.where(posterior > 0, posterior, 1.0))
        assert row["entropy"] == pytest.approx(-(posterior * logs).sum(), rel=1e-6)
        risk = nbest.objectives.Risk(corpus.metric, gamma=2.0)
        names = corpus.feature_names
        shard = nbest.objectives.Shard(corpus, np.ones(len(names)), np.zeros(corpus.hypotheses))
        value = risk.combine(risk.moments(np.array([point.weights[name] for name in names]), shard))[0]
        assert row["objective"] == pytest.approx(value - 0.001 * row["entropy"], rel=1e-9)
    x, y, values = found.grid("metric")
    assert (len(x), len(y)) == (5, 5)
    assert values[2, 2] == corpus.score(model.predict(corpus))  # the model stands in the middle
    assert values[1, 3] == next(row["metric"] for row in found.rows if (row["x"], row["y"]) == (x[3], y[1]))


def test_surface_without_a_model_holds_the_others_at_0() -> None:
    corpus = noisy()
    found = surface(corpus, "first", "second", points=3, x_range=(-1, 1), y_range=(0, 2))
    assert [row["x"] for row in found.rows[:3]] == [-1, 0, 1]
    assert found.rows[-1]["metric"] == corpus.score(LogLinear({"first": 1.0, "second": 2.0}).predict(corpus))
    assert "objective" not in found.rows[0]


def test_surface_works_with_sparse_features() -> None:
    corpus = toy_lists(1, noise=0.3, sparse=True)
    model = LogLinear({"first": 1.0, "second": 1.0, "w_cat": 2.0})
    found = surface(corpus, "first", "second", model=model, points=3, gamma=1e7)
    for row in found.rows:
        point = LogLinear({**model.weights, "first": row["x"], "second": row["y"]})
        assert row["metric"] == corpus.score(point.predict(corpus))


def test_surface_refuses_what_makes_no_sense() -> None:
    corpus = noisy()
    with pytest.raises(ParameterError, match="did you mean 'first'"):
        surface(corpus, "frist", "second")
    with pytest.raises(ParameterError, match="two different"):
        surface(corpus, "first", "first")
    with pytest.raises(ParameterError, match="low to high"):
        surface(corpus, "first", "second", x_range=(1, 0))
    with pytest.raises(ParameterError, match="gamma"):
        surface(corpus, "first", "second", gamma=-1)
    with pytest.raises(ParameterError, match="weight for 'lm'"):
        surface(corpus, "first", "second", model=LogLinear({"lm": 1.0}))
    constant = corpus.with_features(["same"], np.ones(corpus.hypotheses))
    with pytest.raises(CapabilityError, match="never differs"):
        surface(constant, "same", "first")


# sharpness ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [nbest.WER(), nbest.BLEU()])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sharp_curves_approach_the_exact_one(metric: nbest.WER | nbest.BLEU, seed: int) -> None:
    corpus = noisy(seed, metric)
    found = sharpness(corpus, "first", model=MODEL, gammas=(1.0, 100.0, 1e7), points=40)
    exact = found.chosen(kind="exact")
    assert len(exact) > 10
    cuts = np.array([row["low"] for row in exact[1:]])
    curve = np.array([row["value"] for row in exact])
    worst = []
    for gamma in found.settings["gammas"]:
        rows = [r for r in found.chosen(kind="expected", gamma=gamma) if np.abs(cuts - r["weight"]).min() > 1e-3]
        assert len(rows) > 20
        at = np.searchsorted(cuts, [row["weight"] for row in rows])
        worst.append(np.abs(curve[at] - [row["value"] for row in rows]).max())
    assert worst[0] > worst[1] > worst[2]
    assert worst[2] < 1e-6


def test_exact_intervals_are_scores_of_models() -> None:
    corpus = real()
    model = nbest.MaxLikelihood().fit(corpus)
    found = sharpness(corpus, "lm", model=model, gammas=(1.0,), points=3)
    rows = found.chosen(kind="exact")
    assert rows[0]["low"] is None
    assert rows[-1]["high"] is None
    for row in rows[1:-1:7]:
        assert row["low"] < row["high"]
        middle = (row["low"] + row["high"]) / 2
        if row["high"] - row["low"] > 1e-6:
            assert row["value"] == corpus.score(LogLinear({**model.weights, "lm": middle}).predict(corpus))
    x, y = found.steps(*found.settings["range"])
    assert x == sorted(x)
    assert [x[0], x[-1]] == found.settings["range"]
    assert set(y) <= {row["value"] for row in rows}


def test_sharpness_refuses_bad_gammas() -> None:
    for gammas in ((), (-1.0,), (float("nan"),)):
        with pytest.raises(ParameterError, match="gammas"):
            sharpness(noisy(), "first", gammas=gammas)


# annealing and learning -----------------------------------------------------------------------------------------


def test_annealing_rows_are_the_history_of_the_trainer() -> None:
    dev, held = noisy(1), noisy(2)
    found = annealing(dev, held, t0=(1.0, 4.0), methods=("mert",))
    for t0 in (1.0, 4.0):
        trainer = nbest.MinRisk(t0=t0, patience=10**9)
        trainer.fit(dev, held)
        rows = found.chosen(kind="path", t0=t0)
        assert trainer.result_ is not None
        for key in ("temperature", "gamma", "dev", "heldout"):
            assert [row[key] for row in rows] == [record[key] for record in trainer.result_.history]
        assert rows[0]["t"] == t0
        assert rows[1]["t"] == t0 / 2
        assert rows[-1]["t"] is None
    ended = nbest.MERT().fit(dev, held)
    assert found.chosen(kind="method")[0]["heldout"] == ended.scores_["heldout"]


def test_annealing_on_gamma_has_one_path_and_needs_no_heldout() -> None:
    found = annealing(noisy(1), settings={"schedule": "gamma"}, methods=())
    assert {row["t"] for row in found.rows} == {None}
    assert [row["gamma"] for row in found.rows] == sorted(row["gamma"] for row in found.rows)
    assert "heldout" not in found.rows[0]
    ElementTree.fromstring(found.picture().svg().encode())
    with pytest.raises(ParameterError, match="temperatures > 0"):
        annealing(noisy(1), t0=(0.0,))


def test_learning_rows_are_fits_on_nested_subsets() -> None:
    dev, held = noisy(1), noisy(2)
    found = learning(
        dev, held, methods=("likelihood", "mert"), sizes=(30, 12), repeats=2, settings={"mert": {"hops": 0}}
    )
    assert [(r["method"], r["segments"], r["repeat"]) for r in found.rows] == [
        (method, size, repeat) for size, repeat in ((12, 0), (12, 1), (30, 0)) for method in ("likelihood", "mert")
    ]
    whole = nbest.MaxLikelihood().fit(dev)
    last = found.chosen(method="likelihood", segments=30)[0]
    assert last["dev"] == whole.scores_["dev"]
    assert last["heldout"] == held.score(whole.predict(held))
    small = found.chosen(method="likelihood", segments=12)
    assert found.means("likelihood", "dev")[0] == pytest.approx(np.mean([row["dev"] for row in small]))


def test_default_sizes_halve_the_corpus() -> None:
    from nbest.studies.learning import _sizes

    assert _sizes(200, None) == [12, 25, 50, 100, 200]
    assert _sizes(5, None) == [5]
    for sizes in ((0, 5), (500,), ()):
        with pytest.raises(ParameterError, match="sizes"):
            _sizes(200, sizes)
    with pytest.raises(ParameterError, match="unknown method 'mart'"):
        learning(noisy(), noisy(2), methods=("mart",))


# starts ---------------------------------------------------------------------------------------------------------


def test_every_corner_is_started_from_once() -> None:
    corpus = noisy()
    found = starts(corpus, count=200)
    assert found.settings["starts"] == found.settings["corners"] == 8
    before, soft, mert = (found.chosen(method=name) for name in ("none", "softbleu", "mert"))
    assert len({tuple(row["signs"].values()) for row in before}) == 8
    scale = np.maximum(np.std(corpus.features, axis=0), nbest.features.within_scale(corpus))
    for row in before:
        weights = {name: sign / s for (name, sign), s in zip(row["signs"].items(), scale, strict=True)}
        assert row["metric"] == corpus.score(LogLinear(weights).predict(corpus))
    for start, end in zip(before, mert, strict=True):
        assert end["metric"] <= start["metric"] + 1e-9  # an exact search never loses
        assert sum(abs(share) for share in end["shares"].values()) == pytest.approx(1.0)
    assert np.mean([row["metric"] for row in soft]) < np.mean([row["metric"] for row in before])


def test_a_sample_of_corners_depends_on_the_seed_and_not_on_threads() -> None:
    corpus = noisy()
    one, two, other = (
        starts(corpus, count=4, seed=s, threads=t, methods=("mert",)) for s, t in ((1, 1), (1, 3), (2, 1))
    )
    assert one.rows == two.rows
    assert [row["signs"] for row in one.rows] != [row["signs"] for row in other.rows]
    from nbest.studies.starts import _corners

    for width in (1, 5, 30):
        drawn = _corners(width, 7, 1)
        assert set(np.unique(drawn)) <= {-1.0, 1.0}
        assert len(np.unique(drawn, axis=0)) == len(drawn) == min(7, 2**width)


def test_starts_warns_once_of_all_runs_that_did_not_converge() -> None:
    with pytest.warns(ConvergenceWarning, match="3 runs did not converge") as caught:
        starts(noisy(), count=3, methods=("softbleu",), settings={"softbleu": {"iterations": 2}})
    assert len(caught) == 1


def test_runs_that_kept_their_base_model_are_counted_apart() -> None:
    def warned() -> None:
        with counting_failures("runs"):
            for kind in (ConvergenceWarning, KeptWarning, KeptWarning):
                warnings.warn(f"a {kind.__name__}", kind, stacklevel=1)

    with pytest.warns(ConvergenceWarning) as caught:
        warned()
    assert {warning.category: str(warning.message) for warning in caught} == {
        ConvergenceWarning: "a ConvergenceWarning",
        KeptWarning: "2 runs kept their base model; the first: a KeptWarning",
    }


def test_starts_refuses_methods_without_a_start() -> None:
    with pytest.raises(CapabilityError, match="no start"):
        starts(noisy(), methods=("grid",))
    with pytest.raises(ParameterError, match="must be one of first, second, third"):
        starts(noisy(), feature="lm")


# bins -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["softbleu", "risk"])
def test_bins_start_on_the_line_of_the_linear_model(method: str) -> None:
    corpus, held = noisy(1), noisy(2)
    found = bins(corpus, held, method=method, count=5)
    trainer = nbest.TRAINERS[method]()
    linear = trainer.fit(corpus)
    weights = trainer.weights_ if method == "softbleu" else linear.weights
    recipe = Bins(5).fit(corpus)
    seeded = seed_weights(recipe, weights)
    assert found.settings["scores"]["linear"]["heldout"] == held.score(linear.predict(held))
    for name in corpus.feature_names:
        rows = found.chosen(feature=name)
        means = np.array([row["mean"] for row in rows])
        counts = np.array([row["hypotheses"] for row in rows])
        line = np.array([row["linear"] for row in rows])
        assert counts.sum() == corpus.hypotheses
        assert line @ counts == pytest.approx(0.0, abs=1e-9)
        assert np.diff(line) == pytest.approx(weights[name] * np.diff(means))
        assert np.diff(line) == pytest.approx(np.diff([seeded[f"{name}:bin{b}"] for b in range(5)]))
        values = corpus.column(name)
        for row in rows:
            low, high = (
                (-np.inf if row["low"] is None else row["low"]),
                (np.inf if row["high"] is None else row["high"]),
            )
            assert row["hypotheses"] == ((values > low) & (values <= high)).sum()


def test_trained_bins_fit_dev_better_than_they_began() -> None:
    scores = bins(real(), count=8).settings["scores"]
    assert scores["trained bins"]["dev"] < scores["as bins"]["dev"]
    assert scores["trained from 0"]["dev"] < scores["as bins"]["dev"]
    assert set(scores["linear"]) == {"dev"}


def test_bins_of_some_features_only() -> None:
    found = bins(noisy(), features=["second"], count=3)
    assert {row["feature"] for row in found.rows} == {"second"}
    with pytest.raises(CapabilityError, match="cannot start"):
        bins(noisy(), method="grid")


def test_lists_are_not_changed() -> None:
    from nbest.testing.corpora import snapshot

    corpus = noisy()
    before = snapshot(corpus)
    for study in SMALL.values():
        study(corpus)
    assert snapshot(corpus) == before
    assert segments.lengths(corpus.offsets)[1] == 0  # an empty list is among them
