"""The loop on a made-up translator: what it reaches, when it stops, and what becomes of it when it is disturbed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbest
from nbest.base.errors import CapabilityError, FormatError, ParameterError
from nbest.base.sealed import sealed
from nbest.corpus import Texts
from nbest.loop.loop import Inputs
from nbest.metrics import BLEU, WER
from nbest.trainers.dense.mert import MERT
from tests.loop.killing import outcome
from tests.loop.toy import DEV, HELD, Lattices, Toy, decoded, loop, sentences
from tests.loop.toy_program import FEATURES, candidates

quick = pytest.mark.filterwarnings("ignore::nbest.base.errors.ConvergenceWarning")


# what it reaches -------------------------------------------------------------------------------------------------


def word_error_rate(inputs: Inputs, weights: dict[str, float]) -> float:
    """Of the best candidates under some weights, of all that there are."""
    best = Texts.of(candidates(i, source, weights, 1)[0][0] for i, source in enumerate(inputs.segments))
    stats = WER().stats(best, np.arange(len(best) + 1), inputs.references)  # type: ignore[arg-type]
    return float(WER().score(stats.sum(axis=0)))


class Two(Toy):
    """Two weights, so that all directions can be tried."""

    def decode(self, weights, inputs):
        return super().decode(weights, inputs).only_features(("am", "noise"))


@pytest.mark.parametrize("seed", range(4))
def test_it_reaches_the_optimum_of_two_weights(tmp_path: Path, seed: int) -> None:
    inputs = Inputs(*sentences(12, seed))
    made = loop(tmp_path / "run", Two(k=60, start={"am": -0.1, "noise": 1.0}), MERT(restarts=10), rounds=30)
    model = made.run(inputs)
    angles = np.linspace(-np.pi, np.pi, 241)
    rates = [word_error_rate(inputs, {"am": float(np.cos(a)), "noise": float(np.sin(a))}) for a in angles]
    rows = decoded(made)
    assert len(rows) > 2
    assert rows[-1]["new"] == 0
    assert model.scores_["dev"] == pytest.approx(word_error_rate(inputs, dict(model.weights)))
    assert model.scores_["dev"] <= min(rates) + 1e-9 < rows[0]["dev"]["score"]


def test_when_nothing_is_new_training_and_decoding_agree(tmp_path: Path) -> None:
    made = loop(tmp_path / "run", Toy(k=10), rounds=30)
    model = made.run(DEV)
    result, rows = made.place.result(), decoded(made)
    assert result is not None
    assert result["reason"] == "nothing new"
    assert rows[-1]["new"] == 0
    assert all(row["new"] for row in rows[:-1])
    assert result["rounds"] == len(rows) - 1 == result["chosen"]
    trained = made.place.trained(result["rounds"])
    assert trained is not None
    assert trained["scores"]["dev"] == pytest.approx(rows[-1]["dev"]["score"])
    assert trained["pool"]["hypotheses"] == sum(row["new"] for row in rows)
    assert model.scores_ == {"dev": rows[-1]["dev"]["score"]}
    assert model.scores_["dev"] < rows[0]["dev"]["score"]


def test_the_pool_is_what_the_decoder_gave(tmp_path: Path) -> None:
    decoder = Toy(k=3)
    made = loop(tmp_path / "run", decoder)
    made.run(DEV)
    given = [Toy(k=3).decode(weights, DEV.segments) for weights in decoder.calls]
    known = nbest.merge(*given[:3]).with_metric(WER(), DEV.references)
    model = MERT(restarts=2, start=decoder.calls[2]).fit(known)
    assert dict(model.weights) == decoder.calls[3]
    assert [row["dev"]["hypotheses"] for row in decoded(made)] == [lists.hypotheses for lists in given]


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_rounds(tmp_path: Path, rounds: int) -> None:
    decoder = Toy(k=2)
    made = loop(tmp_path / "run", decoder, rounds=rounds)
    made.run(DEV)
    result = made.place.result()
    assert result is not None
    assert len(decoder.calls) == result["rounds"] + 1 <= rounds + 1
    assert result["reason"] in (f"{rounds} rounds", "nothing new")
    assert decoder.calls[0] == dict.fromkeys(FEATURES, 0.1)


def test_round_by_round_it_is_the_same(tmp_path: Path) -> None:
    whole = loop(tmp_path / "whole", Toy(k=3), rounds=3)
    model = whole.run(DEV)
    parts = loop(tmp_path / "parts", Toy(k=3), rounds=3)
    for number in (1, 2, 2, 3):
        assert parts.advance(DEV, to=number).weights == whole.place.model(number).weights
    assert len(parts.decoder.calls) == 3  # type: ignore[attr-defined]
    assert parts.place.result() is None
    assert parts.run(DEV, resume=True).weights == model.weights
    assert outcome(tmp_path / "parts") == outcome(tmp_path / "whole")


def test_rounds_go_on_when_nothing_is_new_if_asked_to(tmp_path: Path) -> None:
    for early, reason in ((True, "nothing new"), (False, "9 rounds")):
        made = loop(tmp_path / str(early), Toy(k=60), rounds=9, early=early)
        made.run(DEV)
        result = made.place.result()
        assert result is not None
        assert result["reason"] == reason
        assert (len(decoded(made)) == 10) is not early
        assert made.place.pool(result["rounds"], WER()).hypotheses == sum(row["new"] for row in decoded(made))


def test_candidates_can_be_forgotten(tmp_path: Path) -> None:
    made = loop(tmp_path / "run", rounds=2)
    model = made.run(DEV, HELD)
    made.place.forget()
    assert not list((tmp_path / "run").rglob("*.npy"))
    assert made.run(DEV, HELD, resume=True).weights == model.weights


def test_the_best_round_on_held_out_segments_is_chosen(tmp_path: Path) -> None:
    made = loop(tmp_path / "run", rounds=5)
    model = made.run(DEV, HELD)
    scores = [row["heldout"]["score"] for row in decoded(made)]
    result = made.place.result()
    assert result is not None
    assert result["chosen"] == int(np.argmin(scores))
    assert model.scores_["heldout"] == min(scores)
    if result["chosen"]:
        assert model.weights == made.place.model(result["chosen"]).weights
    assert model.weights == nbest.load(tmp_path / "run" / "model.json").weights
    assert (tmp_path / "run" / "curve.svg").read_text().count("<svg") == 1


@pytest.mark.filterwarnings("ignore::nbest.base.errors.ConvergenceWarning")  # one trial may find nothing better
def test_without_held_out_segments_the_best_round_on_dev_is_chosen(tmp_path: Path) -> None:
    made = loop(tmp_path / "run", Toy(k=2), nbest.TRAINERS["random"](trials=1), rounds=6)
    model = made.run(DEV)
    scores = [row["dev"]["score"] for row in decoded(made)]
    result = made.place.result()
    assert result is not None
    assert result["chosen"] == len(scores) - 1 - int(np.argmin(scores[::-1]))
    assert model.scores_ == {"dev": min(scores)}


class Shy(Toy):
    """Answers only where it is easy, in the second round."""

    def decode(self, weights, inputs):
        found = super().decode(weights, inputs)
        if len(self.calls) != 2:
            return found
        first = found.with_metric(WER(), DEV.references)
        easy = first.stats[first.offsets[:-1], 0] == first.stats[first.offsets[:-1], 0].min()
        return found.select(np.flatnonzero(easy))


def test_a_round_with_fewer_answers_is_not_chosen(tmp_path: Path) -> None:
    said: list[str] = []
    made = loop(tmp_path / "run", Shy(k=3), rounds=3, say=said.append)
    made.run(DEV)
    rows, result = decoded(made), made.place.result()
    assert result is not None
    assert rows[1]["dev"]["score"] == min(row["dev"]["score"] for row in rows)
    assert result["chosen"] != 1
    assert any("have no candidates in round 2" in line for line in said)


class Forgetful(Toy):
    """Finds its second-best candidates only, from the second round on."""

    def decode(self, weights, inputs):
        found = super().decode(weights, inputs)
        if len(self.calls) == 1:
            return found
        return found.keep(np.arange(found.hypotheses) != found.offsets[:-1].repeat(found.lengths))


def test_search_errors_are_counted_and_said(tmp_path: Path) -> None:
    said: list[str] = []
    start = {"am": 1.0, "lm": 1.0, "noise": 0.0, "words": 0.0}
    frozen = MERT(restarts=0, hops=0, start=start, frozen=tuple(start))  # the same weights in every round
    made = loop(tmp_path / "run", Forgetful(k=5, start=start), frozen, rounds=2, say=said.append)
    made.run(DEV)
    counts = [row["dev"]["missed"] for row in decoded(made)]
    assert counts[0] == 0
    assert counts[1] > 0.8 * len(DEV.segments)
    assert sum("search errors" in line for line in said) == 1  # once, however many rounds have them
    sound = loop(tmp_path / "sound", Toy(k=5, start=start), rounds=4)
    sound.run(DEV)
    assert [row["dev"]["missed"] for row in decoded(sound)] == [0] * len(decoded(sound))


def test_start_weights_may_be_the_best(tmp_path: Path) -> None:
    good = {"am": 1.0, "lm": 1.0, "noise": 0.0, "words": 0.0}
    made = loop(tmp_path / "run", Toy(k=2, start=good), nbest.TRAINERS["random"](trials=2), rounds=1)
    model = made.run(DEV, HELD)
    assert made.place.result() == {
        "reason": "1 rounds", "rounds": 1, "chosen": 0, "scores": dict(model.scores_)
    }  # fmt: skip
    assert dict(model.weights) == good


@quick
@pytest.mark.parametrize("method", ["mert", "risk", "pro", "mira", "likelihood", "perceptron", "softbleu"])
@pytest.mark.parametrize("metric", [BLEU(tokenize="none", max_ngram_order=2), WER()], ids=["bleu", "wer"])
def test_methods_and_metrics(tmp_path: Path, method: str, metric: Any) -> None:
    trainer = nbest.TRAINERS[method]()
    made = loop(tmp_path / "run", Toy(k=5), trainer, metric, rounds=2)
    model = made.run(DEV, HELD)
    rows = decoded(made)
    assert set(model.weights) == set(FEATURES)
    better = max if metric.higher_is_better else min
    assert model.scores_["heldout"] == better(row["heldout"]["score"] for row in rows)


@quick
def test_accuracy(tmp_path: Path) -> None:
    class Tags(Toy):
        def decode(self, weights, inputs):
            lists = super().decode(weights, inputs)
            sizes = [len(source.split()) for source in inputs]
            owners = np.repeat(np.arange(len(lists)), lists.lengths)
            return lists.keep(np.array([len(t.split()) == sizes[i] for t, i in zip(lists.texts, owners, strict=True)]))

    said: list[str] = []
    made = loop(tmp_path / "run", Tags(k=40), metric=nbest.METRICS["accuracy"](), rounds=2, say=said.append)
    made.run(DEV)
    empty = sum(row["dev"]["empty"] for row in decoded(made))
    assert any("have no candidates" in line for line in said) == bool(empty)


@quick
@pytest.mark.parametrize("trainer", [MERT(restarts=1), nbest.TRAINERS["likelihood"](), nbest.TRAINERS["pro"]()])
def test_forests(tmp_path: Path, trainer: Any) -> None:
    decoder = Lattices(k=2)
    made = loop(tmp_path / "run", decoder, trainer, BLEU(tokenize="none"), rounds=2, forests=True, early=False)
    model = made.run(DEV, HELD)
    rows = decoded(made)
    assert model.scores_["heldout"] == max(row["heldout"]["score"] for row in rows)
    trained = made.place.trained(2)
    assert trained is not None
    edges = [row["dev"]["edges"] for row in rows]
    if isinstance(trainer, MERT):
        assert trained["pool"]["edges"] == edges[0] + edges[1] + 2 * len(DEV.segments)
    else:
        assert trained["pool"]["edges"] == edges[1]
    for row, weights in zip(rows, decoder.calls[::2], strict=True):
        best = [candidates(i, source, weights, 1)[0][0] for i, source in enumerate(DEV.segments)]
        lists = Toy(k=1).decode(weights, DEV.segments).with_metric(BLEU(tokenize="none"), DEV.references)
        assert list(lists.texts) == best
        assert row["dev"]["score"] == pytest.approx(lists.score(np.arange(len(best))))


def test_lists_out_of_forests(tmp_path: Path) -> None:
    made = loop(tmp_path / "run", Lattices(k=5), k=4)
    made.run(DEV)
    assert decoded(made)[0]["dev"]["hypotheses"] == 4 * len(DEV.segments)


def test_a_grid_is_chosen_on_held_out_lists(tmp_path: Path) -> None:
    made = loop(tmp_path / "run", trainer=nbest.TRAINERS["likelihood"](), grid={"variance": [0.01, 10.0]}, rounds=1)
    with pytest.raises(ParameterError, match="held-out"):
        made.run(DEV)
    made.run(DEV, HELD)
    trained = made.place.trained(1)
    assert trained is not None
    assert len(trained["grid"]) == 2


# what goes wrong -------------------------------------------------------------------------------------------------


def test_clear_errors(tmp_path: Path) -> None:
    def fails(what: str, kind: type[Exception] = ParameterError, **options: Any) -> None:
        path = tmp_path / "".join(filter(str.isalnum, what))[:30]
        with pytest.raises(kind, match=what):
            loop(path, **options).run(DEV)

    class Nothing(Toy):
        def decode(self, weights, inputs):
            return super().decode(weights, inputs).keep(np.zeros(self.k * len(inputs), bool))

    class Odd(Toy):
        def decode(self, weights, inputs):
            return "text"

    class Other(Toy):
        def decode(self, weights, inputs):
            lists = super().decode(weights, inputs)
            return lists if len(self.calls) == 1 else lists.only_features(("lm", "am", "words"))

    fails("which weights the first round", decoder=Toy(start=None))
    fails("no hypothesis for any segment", decoder=Nothing(k=1))
    fails("must return NBest or Forests, got str", decoder=Odd())
    fails("needs a decoder that gives forests", forests=True)
    fails("'noise' is there before, not now", decoder=Other())
    fails("'rounds' and 'k' of Loop", rounds=0)
    fails("LowDim learns a score", CapabilityError, trainer=nbest.TRAINERS["lowdim"]())
    with pytest.raises(CapabilityError, match="needs references"):
        loop(tmp_path / "refs").run(Inputs(DEV.segments))
    fails("Loop needs a trainer that is a dataclass; object is none", CapabilityError, trainer=object())
    with pytest.raises(ParameterError, match="a sequence of texts a segment, got 'a b'"):
        Inputs(["x y"], ["a b"])  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="2 references are given and the decoder has 12 segments"):
        loop(tmp_path / "short").run(Inputs(DEV.segments, DEV.references[:2]))


def test_columns_in_another_order_and_lists_that_are_missing(tmp_path: Path) -> None:
    class Shuffled(Toy):
        def decode(self, weights, inputs):
            lists = super().decode(weights, inputs)
            order = np.random.default_rng(len(self.calls)).permutation(len(FEATURES))
            return lists.only_features([FEATURES[d] for d in order])

    class Missing(Toy):
        def decode(self, weights, inputs):
            lists = super().decode(weights, inputs)
            return lists if len(self.calls) == 1 else lists.select(np.arange(1, len(lists)))

    loop(tmp_path / "plain").run(DEV)
    loop(tmp_path / "shuffled", Shuffled(k=3)).run(DEV)
    weights = [nbest.load(tmp_path / name / "model.json").weights for name in ("plain", "shuffled")]
    assert weights[0] == pytest.approx(weights[1])
    said: list[str] = []
    inputs = Inputs(DEV.segments, lambda ids: [DEV.references[int(name)] for name in ids])  # type: ignore[index]
    loop(tmp_path / "missing", Missing(k=3), say=said.append).run(inputs)
    assert sum("warning: 1 segments of dev have no candidates" in line for line in said) >= 1


@pytest.mark.parametrize("kind", [Toy, Lattices])
def test_references_go_by_the_ids_of_the_first_round(tmp_path: Path, kind: type[Toy]) -> None:
    class Turned(kind):  # type: ignore[misc, valid-type]
        def decode(self, weights, inputs):
            found = super().decode(weights, inputs)
            return found if len(self.calls) == 1 else found.select(np.arange(len(found))[::-1])

    class Fewer(Turned):
        def decode(self, weights, inputs):
            found = super().decode(weights, inputs)
            return found if len(self.calls) == 1 else found.select(np.arange(2, len(found)))

    class More(kind):  # type: ignore[misc, valid-type]
        def decode(self, weights, inputs):
            found = super().decode(weights, inputs)
            return found if len(self.calls) > 1 else found.select(np.arange(2))

    forests = kind is Lattices
    plain, turned = (loop(tmp_path / one.__name__, one(k=3), forests=forests) for one in (kind, Turned))
    plain.run(DEV)
    turned.run(DEV)
    assert [row["dev"]["score"] for row in decoded(turned)] == [row["dev"]["score"] for row in decoded(plain)]
    said: list[str] = []
    loop(tmp_path / "fewer", Fewer(k=3), forests=forests, say=said.append).run(DEV)
    assert any("warning: 2 segments of dev have no candidates in round 2" in line for line in said)
    with pytest.raises(ParameterError, match=r"2 references are given .* 12 segments: '2' is there now, not"):
        loop(tmp_path / "more", More(k=3), forests=forests).run(Inputs(DEV.segments, DEV.references[:2]))


def test_before_anything_is_decoded_settings_may_change(tmp_path: Path) -> None:
    class Broken(Toy):
        def before(self) -> None:
            raise RuntimeError("no model")

    for rounds, resume in ((1, False), (2, False), (3, True)):
        with pytest.raises(RuntimeError, match="no model"):
            loop(tmp_path / "run", Broken(), rounds=rounds).run(DEV, resume=resume)
    model = loop(tmp_path / "run", rounds=1).run(DEV)
    assert json.loads((tmp_path / "run" / "loop.json").read_text())["rounds"] == 1
    assert model.weights == loop(tmp_path / "other", rounds=1).run(DEV).weights
    with pytest.raises(ParameterError, match="resume it"):
        loop(tmp_path / "run", rounds=1).run(DEV)


def test_a_directory_that_holds_something_else(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    loop(tmp_path / "run", rounds=1).run(DEV)  # an empty one will do
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("dear")
    (tmp_path / "file").write_text("")
    (tmp_path / "rest" / "rounds" / "01").mkdir(parents=True)
    for name in ("other", "file", "rest"):
        with pytest.raises(ParameterError, match="holds no run; name a new directory"):
            loop(tmp_path / name).run(DEV, resume=True)
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["letter.txt"]


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    class Second(Toy):
        def before(self) -> None:
            with pytest.raises(ParameterError, match="another process is working in"):
                loop(tmp_path / "run").run(DEV, resume=True)

    loop(tmp_path / "run", Second(k=3), rounds=1).run(DEV)


def test_a_changed_setting_is_refused_by_name(tmp_path: Path) -> None:
    loop(tmp_path / "run", rounds=1).run(DEV)
    for what, other in {
        "rounds 1, now it is 2": loop(tmp_path / "run", rounds=2),
        "k 200, now it is 7": loop(tmp_path / "run", rounds=1, k=7),
        "trainer .*restarts": loop(tmp_path / "run", trainer=MERT(restarts=3), rounds=1),
        "metric .*WER": loop(tmp_path / "run", metric=BLEU(), rounds=1),
        "start": loop(tmp_path / "run", start={"am": 1.0}, rounds=1),
        "decoder .*Toy.*Lattices": loop(tmp_path / "run", Lattices(), rounds=1),
        "warm true, now it is false": loop(tmp_path / "run", rounds=1, warm=False),
        "data null, now it is 5": loop(tmp_path / "run", rounds=1, config={"data": 5}),
    }.items():
        with pytest.raises(ParameterError, match=f"was begun with {what}"):
            other.run(DEV, resume=True)
    with pytest.raises(ParameterError, match="sets"):
        loop(tmp_path / "run", rounds=1).run(DEV, HELD, resume=True)
    with pytest.raises(ParameterError, match="resume it"):
        loop(tmp_path / "run", rounds=1).run(DEV)


def test_other_versions_are_said(tmp_path: Path) -> None:
    loop(tmp_path / "run", rounds=1).run(DEV)
    path = tmp_path / "run" / "loop.json"
    content = json.loads(path.read_text())
    del content["sha256"]
    path.write_text(json.dumps(sealed({**content, "versions": {"nbest": "0.0"}})))
    said: list[str] = []
    loop(tmp_path / "run", rounds=1, say=said.append).run(DEV, resume=True)
    assert any("results may differ" in line for line in said)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("loop.json", "name another directory"),
        ("result.json", "remove this file and resume"),
        ("rounds/01/decoded.json", "remove the folder of this round"),
        ("rounds/01/trained.json", "remove the folder of this round"),
        ("rounds/01/dev/features.npy", "remove the folder of this round"),
    ],
)
def test_damaged_files_of_a_run(tmp_path: Path, name: str, remedy: str) -> None:
    loop(tmp_path / "whole", rounds=2).run(DEV)
    for damage in (b"", b"{", b"[]", b"{}", b"\xff\xfe"):
        made = loop(tmp_path / "run", rounds=2)
        made.run(DEV)
        if name != "result.json":
            (tmp_path / "run" / "result.json").unlink()
        if name.endswith("npy"):
            (tmp_path / "run" / "rounds" / "02" / "trained.json").unlink()
        (tmp_path / "run" / name).write_bytes(damage)
        with pytest.raises(FormatError, match=remedy):
            made.run(DEV, resume=True)
        _remove(tmp_path / "run" / name if name == "result.json" else (tmp_path / "run" / name).parents[0])
        if name != "loop.json":
            if name.endswith("npy"):
                _remove(tmp_path / "run" / "rounds" / "01")
            made.run(DEV, resume=True)
            assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")
        _remove(tmp_path / "run")


def _remove(path: Path) -> None:
    import shutil

    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()
