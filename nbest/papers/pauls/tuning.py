"""Tuning and measuring one language pair for Pauls, DeNero & Klein (2009): each method decodes with its own weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nbest.base.files import replacing
from nbest.base.randomness import generator
from nbest.base.types import Floats
from nbest.corpus import Forests
from nbest.corpus.contract import Corpus
from nbest.evaluation.significance import permutation
from nbest.formats import read_forests, write, write_forests
from nbest.loop import Inputs, Loop
from nbest.loop.report import rows_of
from nbest.model.loglinear import LogLinear
from nbest.papers.data import BLEU_OF_TOKENS, arrays_of, chosen_stats, parallel, short, translator
from nbest.papers.pauls.deciding import decided, sharpnesses
from nbest.papers.run import Run
from nbest.systems.translator.translator import DEFAULT_WEIGHTS, Translator
from nbest.trainers.dense.cobleu import MaxCoBLEU
from nbest.trainers.dense.mert import MERT

LONGEST = 25  # words of a sentence, each side (section 5.2)
TRAINING = 8_000  # sentence pairs that the translator of a quick run is trained on
COMPARED = "mert-lists"  # the method that others are compared with
Weights = Mapping[str, float]
Scores = dict[str, float]
_Sides = tuple[list[str], list[str]]


class _Part(NamedTuple):
    sources: list[str]
    references: list[tuple[str, ...]]


@dataclass(frozen=True)
class Pair:
    """A language pair of a run: its translator, its sentences, and what methods find on them."""

    run: Run
    name: str  # fr-en
    draw: int = 1  # of the sentences to tune on: 1 are those of dev

    # what is decoded ---------------------------------------------------------------------------------------------

    @cached_property
    def system(self) -> Translator:
        """The translator, trained if need be; the run's own weights are not used."""
        return translator(self.run, self.name, count=TRAINING if self.run.quick else None)

    @cached_property
    def parts(self) -> dict[str, _Part]:
        """Sentences to tune on (dev) and to test on, short on both sides: all, in a quick run the first 100.

        Those of draw 2, 3 and so on to tune on are as many, drawn from dev and devtest.
        """
        return {"dev": self._part(self._drawn()), "test": self._part(self._short("test"))}

    def _short(self, part: str) -> _Sides:
        count = 100 if self.run.quick else None
        return short(parallel(self.run, self.name, part), LONGEST, count, f"{part} of {self.name}")

    def _drawn(self) -> _Sides:
        dev = self._short("dev")
        if self.draw == 1:
            return dev
        both = [one + other for one, other in zip(dev, self._short("devtest"), strict=True)]
        chosen = generator(self.run.seed, self.draw).permutation(len(both[0]))[: len(dev[0])]
        sources, targets = ([side[at] for at in sorted(chosen.tolist())] for side in both)
        return sources, targets

    def _part(self, sides: _Sides) -> _Part:
        references = self.system.tokens(sides[1], of_target=True)
        return _Part(sides[0], [(" ".join(words),) for words in references])

    @property
    def seed(self) -> int:
        """Of MERT's starts."""
        return self.run.seed + self.draw - 1

    def step(self, name: str) -> str:
        """The step of a method."""
        return f"{self.name}-{name}" if self.draw == 1 else f"{self.name}-draw{self.draw}-{name}"

    def decode(self, part: str, weights: Weights) -> Forests:
        """Forests of a part under these weights, with references."""
        texts = self.parts[part]
        beam, edges = self.run.size(50, 20), self.run.size(6, 4)
        forests = self.system.forests(
            texts.sources, weights=weights, beam=beam, edges_a_node=edges, threads=self.run.threads,
            progress=self.run.progress,
        )  # fmt: skip
        return forests.with_metric(BLEU_OF_TOKENS, texts.references)

    def keep(self, name: str, forests: Forests) -> None:
        """Leave the dev forests of a method for later steps."""
        write_forests(forests, self._path(f"{name}.dev.forests.jsonl.gz"))

    def kept(self, name: str) -> Forests:
        """The dev forests that a method left."""
        self.run.need(self.step(name))
        return read_forests(self._path(f"{name}.dev.forests.jsonl.gz")).with_metric(BLEU_OF_TOKENS)

    def _path(self, name: str) -> Path:
        return self.run.work / self.step(name)

    # methods -----------------------------------------------------------------------------------------------------

    def default(self) -> dict[str, Any]:
        """The translator's default weights."""
        forests = self.decode("dev", DEFAULT_WEIGHTS)
        self.keep("default", forests)
        return self.measure("default", LogLinear(dict(DEFAULT_WEIGHTS)), forests)

    def mert_lists(self) -> dict[str, Any]:
        """MERT on the k best of all decodings so far, decoding again after each round (section 5.3)."""
        decoder = _Decoder(self, DEFAULT_WEIGHTS, self.kept("default"))
        trainer = MERT(seed=self.seed, threads=self.run.threads)
        loop, forests = self._looped(COMPARED, decoder, trainer, self.run.size(4, 3), warm=False)
        write(loop.place.pool(loop.rounds, BLEU_OF_TOKENS, texts=True), self._path("mert-lists.dev.jsonl.gz"))
        self.keep(COMPARED, forests)
        return self._of_loop(COMPARED, loop, forests)

    def mert_zero(self) -> dict[str, Any]:
        """MERT as the paper starts it: the first lists are those of weights 0, and coordinates are searched from where
        the round before ended, without random starts; until nothing is new."""
        self.run.need(self.step(COMPARED))  # p is against it
        decoder = _Decoder(self, {}, None)
        trainer = _FromZero(restarts=0, hops=0, ascent="best", axes="features", threads=self.run.threads)
        loop, forests = self._looped("mert-zero", decoder, trainer, self.run.size(12, 3), warm=True)
        return self._of_loop("mert-zero", loop, forests)

    def _looped(self, name: str, decoder: _Decoder, trainer: MERT, rounds: int, *, warm: bool) -> tuple[Loop, Forests]:
        """Decode and tune on all lists so far; the forests of the last weights."""
        folder, zeros = self._path(name), dict.fromkeys(DEFAULT_WEIGHTS, 0.0)
        loop = Loop(
            decoder, trainer, BLEU_OF_TOKENS, folder, start=decoder.weights or zeros, rounds=rounds,
            k=self.run.size(200, 100), warm=warm, early=warm, measure=_as_decoded,
            say=lambda line: self.run.say(f"{self.name}: {line}"),
        )  # fmt: skip
        sources = self.parts["dev"].sources
        loop.run(Inputs(sources), resume=folder.exists())
        return loop, decoder.decode(_last(loop).weights, sources)

    def _of_loop(self, name: str, loop: Loop, forests: Forests) -> dict[str, Any]:
        history = [
            {"hypotheses": before["pool"], "lists": after["trained_dev"], "decoded": after["dev"]}
            for before, after in pairwise(rows_of(loop.place))
        ]
        return {**self.measure(name, _last(loop), forests), "history": history}

    def mert_forests(self) -> dict[str, Any]:
        """MERT by line searches over all derivations of the forests that MERT on lists ended with."""
        forests = self.kept(COMPARED)
        trainer = MERT(start=self._weights(COMPARED), restarts=2, hops=2, seed=self.seed, threads=self.run.threads)
        trainer.progress = self.run.progress
        model = trainer.fit(forests)
        return {**self.measure("mert-forests", model), "history": [{"forests": model.scores_["dev"]}]}

    def cobleu(self) -> dict[str, Any]:
        """CoBLEU from weights of 0."""
        return self._consensus_training("cobleu", "default", 3)

    def mert_cobleu(self) -> dict[str, Any]:
        """CoBLEU from where MERT on lists ended."""
        return self._consensus_training("mert-cobleu", COMPARED, 2, start=self._weights(COMPARED))

    def cobleu_annealed(self) -> dict[str, Any]:
        """CoBLEU from 0 with an entropy term that is taken away step by step, which the paper only suggests."""
        return self._consensus_training("cobleu-annealed", "default", 3, schedule="temperature")

    def cobleu_ascent(self) -> dict[str, Any]:
        """CoBLEU from 0 by the paper's gradient ascent."""
        return self._consensus_training("cobleu-ascent", "default", 3, optimiser="adaptive")

    def mert_cobleu_ascent(self) -> dict[str, Any]:
        """CoBLEU from where MERT on lists ended, by the paper's gradient ascent."""
        start = self._weights(COMPARED)
        return self._consensus_training("mert-cobleu-ascent", COMPARED, 2, start=start, optimiser="adaptive")

    def cobp(self) -> dict[str, Any]:
        """Consensus bigram precision (eq. 1) from 0; nothing in it speaks of length."""
        return self._consensus_training("cobp", "default", 3, objective="cobp")

    def _consensus_training(self, name: str, begin: str, rounds: int, **settings: Any) -> dict[str, Any]:
        """Maximise CoBLEU on the newest forests, decode with what was found, and again; nothing is pooled."""
        self.run.need(self.step(COMPARED))  # p is against it: better said before the work than after
        forests, model, history = self.kept(begin), LogLinear({}), []
        for number in range(min(rounds, self.run.size(3, 2))):
            forests = forests if number == 0 else self.decode("dev", model.weights)
            trainer = MaxCoBLEU(seed=self.seed, threads=self.run.threads, progress=self.run.progress, **settings)
            model = trainer.fit(forests)
            assert trainer.result_ is not None
            last = trainer.result_.history[-1]
            history.append({"cobleu": last["cobleu"], "steps": trainer.result_.evaluations, "best": last["dev"]})
            self.run.say(f"{self.name}: round {number + 1} of {name}, CoBLEU {last['cobleu']:.2f}")
        return {**self.measure(name, model), "history": history}

    def _weights(self, name: str) -> dict[str, float]:
        return dict(self.run.need(self.step(name))["weights"])

    # measuring ---------------------------------------------------------------------------------------------------

    def measure(self, name: str, model: LogLinear, dev: Forests | None = None) -> dict[str, Any]:
        """Weights, and both decisions on dev and test, each decoded with these weights; p against MERT on lists."""
        dev = self.decode("dev", model.weights) if dev is None else dev
        gammas = sharpnesses(model, dev, self.run)
        found: dict[str, Any] = {"weights": dict(model.weights), "gamma": gammas["consensus"], "gammas": gammas}
        chosen: dict[str, Floats] = {}
        for part, forests in (("dev", dev), ("test", self.decode("test", model.weights))):
            for decision, (lists, choice) in decided(model, forests, gammas, self.run).items():
                totals = lists.totals(choice)
                scores: Scores = {part: lists.score(choice)}
                if part == "test":
                    chosen[decision] = chosen_stats(lists, choice)
                    scores["brevity"] = float(np.exp(min(0.0, 1.0 - totals[1] / totals[0]))) if totals[0] else 0.0
                found.setdefault(decision, {}).update(scores)
        with replacing(self._path(f"{name}.test.npz")) as file:
            np.savez(file, **chosen)  # type: ignore[arg-type]
        return found | self._compared(name, chosen)

    def _compared(self, name: str, chosen: Mapping[str, Floats]) -> dict[str, Any]:
        """p of the difference to MERT on lists, on test; nothing for MERT itself and what comes before it."""
        if name in ("default", COMPARED):
            return {}
        self.run.need(self.step(COMPARED))
        samples, seed = self.run.size(2000, 1000), self.run.seed
        other = arrays_of(self._path(f"{COMPARED}.test.npz"), list(chosen), self.step(COMPARED))
        pairs = {decision: (other[decision], stats) for decision, stats in chosen.items()}
        tests = {key: permutation(BLEU_OF_TOKENS, *pair, samples=samples, seed=seed) for key, pair in pairs.items()}
        return {"p": {decision: test.p for decision, test in tests.items()}}


@dataclass
class _Decoder:
    """The translator on the dev part; the last forests are at hand, as more than one asks for them."""

    pair: Pair
    weights: Weights
    forests: Forests | None

    @property
    def threads(self) -> int | None:
        """For who takes the best of the forests."""
        return self.pair.run.threads

    def decode(self, weights: Weights, inputs: Sequence[str]) -> Forests:
        """Forests with references."""
        if self.forests is None or dict(weights) != dict(self.weights):
            self.weights, self.forests = dict(weights), self.pair.decode("dev", weights)
        return self.forests


@dataclass
class _FromZero(MERT):
    """MERT that starts from 0 where it is given no start."""

    def fit(self, corpus: Corpus, heldout: Corpus | None = None) -> LogLinear:
        """As MERT."""
        self.start = self.start or dict.fromkeys(corpus.feature_names, 0.0)
        return super().fit(corpus, heldout)


def _last(loop: Loop) -> LogLinear:
    """The model of the last round that was trained, not of the best."""
    result = loop.place.result()
    assert result is not None
    return loop.place.model(result["rounds"])


def _as_decoded(found: Forests) -> Forests:
    """Nothing is left to measure; and no sharpness is fitted on lists, since forests have their own."""
    return found
