"""`Loop`: decode, add new candidates, optimise, until nothing is new."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus.contract import Corpus
from nbest.corpus.metric import Metric
from nbest.decisions.chosen import best_lists
from nbest.decoders import Decoder, describe_decoder, in_folder
from nbest.forests.derivations import as_forests
from nbest.forests.union import union
from nbest.formats import read_forests
from nbest.loop.folder import Folder
from nbest.loop.inputs import Inputs
from nbest.loop.keeping import FORESTS, keep_forests, keep_lists
from nbest.loop.part_way import part_way
from nbest.loop.pool import assemble, ids_of
from nbest.loop.report import told, write_report
from nbest.model.loglinear import LogLinear, load, versions
from nbest.runs import Step
from nbest.trainers.deciding import as_trained
from nbest.trainers.dense.cobleu import MaxCoBLEU
from nbest.trainers.dense.mert import MERT
from nbest.trainers.finishing import describe
from nbest.trainers.lowdim.trainer import LowDim
from nbest.trainers.settings_grid import search
from nbest.trainers.sharpness import decision_gamma


@dataclass
class Loop:
    """Tunes a decoder by decoding again: Smith & Eisner (2006), section 6; Och (2003).

    Round r decodes with the weights of round r - 1, adds the candidates that are new to those of all rounds before and
    trains on all of them; until a round brings nothing new, or after `rounds`. With a `step` below 1 weights go part of
    the way only. The last weights are decoded with once more, to be scored. Held-out segments are decoded in every
    round too: their curve is recorded, trainers that can use held-out lists get those found so far, and the weights
    whose decoded held-out score is best are the model (without them, those whose decoded dev score is best, the last of
    equals). Every round is on disk before the next begins: see nbest/loop/folder.py.

    decoder   has `decode(weights, segments) -> Corpus`; see nbest.decoders
    trainer   any trainer; it starts from the last weights where it has a `start` that was left open (`warm`)
    folder    directory of the run
    start     weights of the first round; by default the decoder's own `start`
    k         candidates taken of each forest, if the decoder gives forests and training is on lists
    forests   train on forests: of MERT the union of all rounds', of other methods the newest, as candidates that were
              found twice would count twice in a posterior
    step      how far weights go from the last ones to the trained in each round (1: all the way)
    early     end when a round brings nothing new, before all `rounds`
    grid      {setting: values} of the trainer, all of them tried in each round and chosen on held-out lists
    measure   lists or forests of the decoder with statistics or metric, instead of `metric` and references
    config    what else to record, and to compare when resuming
    """

    decoder: Decoder
    trainer: Any
    metric: Metric
    folder: str | Path
    rounds: int = 20
    k: int = 200
    start: Mapping[str, float] | None = None
    warm: bool = True
    forests: bool = False
    step: float = 1.0
    early: bool = True
    grid: Mapping[str, Sequence[Any]] | None = None
    measure: Callable[[Any], Any] | None = field(default=None, repr=False)
    config: Mapping[str, Any] = field(default_factory=dict)
    say: Callable[[str], None] = field(default=lambda message: None, repr=False)

    def __post_init__(self) -> None:
        if self.rounds < 1 or self.k < 1:
            raise ParameterError(f"'rounds' and 'k' of Loop must be >= 1, got {self.rounds} and {self.k}")
        if not 0 < self.step <= 1:
            raise ParameterError(f"'step' of Loop must be above 0 and at most 1, got {self.step}")
        if isinstance(self.trainer, LowDim):
            raise CapabilityError(
                "LowDim learns a score of whole outputs, for which a decoder has no weight; tune lists"
            )
        if not is_dataclass(self.trainer):
            raise CapabilityError(f"Loop needs a trainer that is a dataclass; {type(self.trainer).__name__} is none")
        self.place = Folder(Path(self.folder))

    def run(self, dev: Inputs, heldout: Inputs | None = None, *, resume: bool = False) -> LogLinear:
        """All rounds that are missing; the chosen model, which is in model.json as well."""
        if self.grid and heldout is None:
            raise ParameterError("a grid of settings is chosen on held-out segments; give them (--heldout)")
        with self._opened(dev, heldout, resume=resume) as (first, sets):
            if self.place.result() is None:
                finish = partial(self._finish, *self._all_rounds(first, sets, self.rounds + 1))
                self.place.do(Step("result", finish, makes=("model.json",)))
            else:
                self.say(f"{self.folder}: the run has ended before; nothing to do")
        return self._chosen()

    def advance(self, dev: Inputs, heldout: Inputs | None = None, *, to: int) -> LogLinear:
        """The model of round `to`; that and the rounds before it are decoded and trained unless they were."""
        with self._opened(dev, heldout, resume=True) as (first, sets):
            last, _ = self._all_rounds(first, sets, to)
        return self.place.model(last if self.place.trained(last) else last - 1)

    @contextmanager
    def _opened(
        self, dev: Inputs, heldout: Inputs | None, *, resume: bool
    ) -> Iterator[tuple[dict[str, float], dict[str, Inputs]]]:
        """The directory to work in; first weights and sets of segments."""
        sets = {"dev": dev, **({} if heldout is None else {"heldout": heldout})}
        first = self._first_weights()
        noted = {"versions": versions()}
        with self.place.opened(self._described(first, sets), noted, resume=resume, say=self.say):
            self.place.check_all()
            yield first, sets

    def _first_weights(self) -> dict[str, float]:
        given = self.start if self.start is not None else getattr(self.decoder, "start", None)
        if not given:
            raise ParameterError(
                "say which weights the first round decodes with (--start weights.json, or --start lm=1,length=0); "
                "features that are left out begin at 0"
            )
        return {name: float(weight) for name, weight in given.items()}

    def _described(self, first: Mapping[str, float], sets: Mapping[str, Inputs]) -> dict[str, Any]:
        """What has to be the same for a run to be resumed."""
        names = ("rounds", "k", "step", "warm", "forests", "grid")
        own = {name: getattr(self, name) for name in names}
        return {
            "decoder": describe_decoder(self.decoder),
            "trainer": describe(self.trainer),
            "metric": f"{self.metric.name}|{self.metric.signature(sets['dev'].references_each)}",
            "start": dict(first),
            "sets": list(sets),
            **own,
            **({} if self.early else {"early": False}),
            **self.config,
        }

    def _all_rounds(self, first: Mapping[str, float], sets: Mapping[str, Inputs], to: int) -> tuple[int, str]:
        """Decode up to round `to`, and train after each but the very last; the last, and why it was."""
        weights = dict(first)
        for number in range(1, to + 1):
            place = f"rounds/{number:02d}"
            decode = partial(self._decode, number, weights, sets)
            found = self.place.do(Step(f"{place}/decoded", decode, place=place, whole=True))
            for line in told(self.place, number, self.rounds, higher_is_better=self.metric.higher_is_better):
                self.say(line)
            if self.early and number > 1 and found["new"] == 0:
                return number, "nothing new"
            if number > self.rounds:
                break
            train = partial(self._train, number, weights, list(sets))
            self.place.do(Step(f"{place}/trained", train, place=place, makes=("model.json",)))
            write_report(self.place)
            weights = dict(self.place.model(number).weights)
        return to, f"{self.rounds} rounds"

    # decoding ----------------------------------------------------------------------------------------------------

    def _decode(
        self, number: int, weights: Mapping[str, float], sets: Mapping[str, Inputs], folder: Path
    ) -> dict[str, Any]:
        """A step: one round's candidates of each set."""
        rows: dict[str, dict[str, Any]] = {}
        for name, inputs in sets.items():
            known = self._known_ids(number, name) if inputs.references is not None else ()
            begin = time.perf_counter()
            in_folder(self.decoder, self.place.path / "decoder" / f"{number:02d}-{name}")
            found = self._measured(self.decoder.decode(dict(weights), inputs.segments), inputs, known)
            seconds = time.perf_counter() - begin
            rows[name] = {**self._kept(folder / name, number, name, found, weights), "seconds": round(seconds, 3)}
            del found
        return {"weights": dict(weights), **rows, "new": rows["dev"]["new"]}

    def _known_ids(self, number: int, name: str) -> tuple[str, ...]:
        """The ids of the first round, none in the first round itself."""
        folder = self.place.round(1) / name
        if number == 1:
            return ()
        return read_forests(folder / FORESTS).ids if self.forests else ids_of(folder)

    def _measured(self, found: Corpus, inputs: Inputs, known: Sequence[str]) -> Corpus:
        if not isinstance(found, Corpus):
            raise ParameterError(f"a decoder must return NBest or Forests, got {type(found).__name__}")
        if inputs.references is not None:
            found = found.with_references(inputs.references_of(found.ids, known))
        if found.whole and self.forests:
            raise ParameterError("this decoder gives lists; training on forests needs a decoder that gives forests")
        return found.with_metric(self.metric) if self.measure is None else self.measure(found)

    def _kept(
        self, folder: Path, number: int, name: str, found: Corpus, weights: Mapping[str, float]
    ) -> dict[str, Any]:
        """Write what is new; sizes, and the score of the decoder's answers."""
        before = [self.place.round(r) / name for r in range(1, number)]
        if self.forests:
            return keep_forests(folder, before, as_forests(found), weights)
        lists, _ = best_lists(found, LogLinear(dict(weights)), self.k)
        return keep_lists(folder, before, lists, weights)

    # training ----------------------------------------------------------------------------------------------------

    def _train(self, number: int, weights: Mapping[str, float], sets: Sequence[str]) -> dict[str, Any]:
        """A step: a model of the candidates of all rounds so far."""
        begin = time.perf_counter()
        corpora = [self._pool(number, name) for name in sets]
        loaded = time.perf_counter()
        dev, heldout = corpora[0], corpora[1] if len(corpora) > 1 else None
        rows: list[dict[str, Any]] = []
        if self.grid:
            model, rows = search(lambda **each: self._trainer(weights, each), self.grid, dev, heldout)
        else:
            model = self._trainer(weights, {}).fit(dev, heldout)
        model = part_way(model, weights, self.step, dev, heldout)
        model.save(self.place.round(number) / "model.json")
        return {
            "scores": dict(model.scores_),
            "pool": dev.sizes,
            "seconds": {"load": round(loaded - begin, 3), "train": round(time.perf_counter() - loaded, 3)},
            **({"grid": rows} if rows else {}),
        }

    def _trainer(self, weights: Mapping[str, float], settings: Mapping[str, Any]) -> Any:
        """The trainer with these settings, from these weights where it may choose."""
        given = dict(settings) | as_trained(type(self.trainer))  # decoders take the best
        known = {each.name for each in fields(self.trainer)}
        if self.warm and "start" in known and self.trainer.start is None and any(weights.values()):
            given.setdefault("start", dict(weights))
        return replace(self.trainer, **given)

    def _pool(self, number: int, name: str) -> Corpus:
        """The candidates of all rounds up to this one."""
        if not self.forests:
            return self.place.pool(number, self.metric, texts=isinstance(self.trainer, MaxCoBLEU), part=name)
        begin = 1 if isinstance(self.trainer, MERT) else number
        found = union([read_forests(self.place.round(each) / name / FORESTS) for each in range(begin, number + 1)])
        return found.with_metric(self.metric) if self.measure is None else self.measure(found)

    # the end -----------------------------------------------------------------------------------------------------

    def _finish(self, last: int, reason: str) -> dict[str, Any]:
        """A step: choose the weights that round `at` + 1 decoded with, and write their model."""
        rows = [row for number in range(1, last + 1) if (row := self.place.decoded(number)) is not None]
        name = "heldout" if "heldout" in rows[0] else "dev"
        scored = np.array([row[name]["score"] for row in rows])
        scored = scored if self.metric.higher_is_better else -scored
        answered = np.array([row[name]["segments"] - row[name]["empty"] for row in rows])
        scored[answered < answered.max()] = -np.inf  # a score of fewer segments is another one
        at = int(np.argmax(scored)) if name == "heldout" else last - 1 - int(np.argmax(scored[::-1]))
        row = rows[at]
        model = self.place.model(at) if at > 0 else LogLinear(dict(row["weights"]))
        scores: dict[str, float] = {name: row[name]["score"] for name in ("dev", "heldout") if name in row}
        model = replace(model, scores_=scores, gamma=self._gamma(model, at + 1))
        model.save(self.place.path / "model.json")
        content = {"reason": reason, "rounds": last - 1, "chosen": at, "scores": scores}
        write_report(self.place, content)
        return content

    def _gamma(self, model: LogLinear, number: int) -> float:
        """Sharpness for consensus decisions, on the candidates of the first round and those new in the model's own."""
        if self.forests or self.measure is not None:
            return 1.0
        name = "heldout" if (self.place.round(1) / "heldout").is_dir() else "dev"
        parts = [self.place.round(r) / name for r in sorted({1, number})]
        return decision_gamma(model, assemble(parts, self.metric, texts=True))

    def _chosen(self) -> LogLinear:
        return load(self.place.path / "model.json")
