"""Tuning and measuring one language pair for Pauls, DeNero & Klein (2009): each method decodes with its own weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nbest.base.files import replacing
from nbest.base.types import Floats, Ints
from nbest.compute.executors import executor_of, using
from nbest.corpus import Forests, NBest
from nbest.decisions import consensus, first
from nbest.evaluation.significance import permutation
from nbest.forests.kbest import kbest
from nbest.formats import read_forests, write, write_forests
from nbest.loop import Inputs, Loop
from nbest.loop.report import rows_of
from nbest.model.loglinear import LogLinear
from nbest.papers.data import BLEU_OF_TOKENS, arrays_of, chosen_stats, parallel, short, translator
from nbest.papers.run import Run
from nbest.systems.translator.translator import DEFAULT_WEIGHTS, Translator
from nbest.trainers.dense.cobleu import MaxCoBLEU
from nbest.trainers.dense.mert import MERT
from nbest.trainers.sharpness import decision_gamma

LONGEST = 25  # words of a sentence, each side (section 5.2)
TRAINING = 8_000  # sentence pairs that the translator of a quick run is trained on
COMPARED = "mert-lists"  # the method that others are compared with
_CONSENSUS = 500  # translations that consensus decoding chooses from
Weights = Mapping[str, float]
Scores = dict[str, float]


class _Part(NamedTuple):
    sources: list[str]
    references: list[tuple[str, ...]]


@dataclass(frozen=True)
class Pair:
    """A language pair of a run: its translator, its sentences, and what methods find on them."""

    run: Run
    name: str  # fr-en

    # what is decoded ---------------------------------------------------------------------------------------------

    @cached_property
    def system(self) -> Translator:
        """The translator, trained if need be; the run's own weights are not used."""
        return translator(self.run, self.name, count=TRAINING if self.run.quick else None)

    @cached_property
    def parts(self) -> dict[str, _Part]:
        """Sentences to tune on (dev) and to test on, short on both sides: all, in a quick run the first 100."""
        return {part: self._short(part) for part in ("dev", "test")}

    def _short(self, part: str) -> _Part:
        count = 100 if self.run.quick else None
        sources, targets = short(parallel(self.run, self.name, part), LONGEST, count, f"{part} of {self.name}")
        references = self.system.tokens(targets, of_target=True)
        return _Part(sources, [(" ".join(words),) for words in references])

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
        self.run.need(f"{self.name}-{name}")
        return read_forests(self._path(f"{name}.dev.forests.jsonl.gz")).with_metric(BLEU_OF_TOKENS)

    def _path(self, name: str) -> Path:
        return self.run.work / f"{self.name}-{name}"

    # methods -----------------------------------------------------------------------------------------------------

    def default(self) -> dict[str, Any]:
        """The translator's default weights."""
        forests = self.decode("dev", DEFAULT_WEIGHTS)
        self.keep("default", forests)
        return self.measure("default", LogLinear(dict(DEFAULT_WEIGHTS)), forests)

    def mert_lists(self) -> dict[str, Any]:
        """MERT on the k best of all decodings so far, decoding again after each round (section 5.3)."""
        decoder, folder = _Decoder(self, DEFAULT_WEIGHTS, self.kept("default")), self._path("mert-lists")
        loop = Loop(
            decoder, MERT(seed=self.run.seed, threads=self.run.threads), BLEU_OF_TOKENS, folder, start=DEFAULT_WEIGHTS,
            rounds=self.run.size(4, 3), k=self.run.size(200, 100), warm=False, early=False, measure=_as_decoded,
            say=lambda line: self.run.say(f"{self.name}: {line}"),
        )  # fmt: skip
        sources = self.parts["dev"].sources
        loop.run(Inputs(sources), resume=folder.exists())
        model = loop.place.model(loop.rounds)  # the last, not the best
        forests = decoder.decode(model.weights, sources)
        write(loop.place.pool(loop.rounds, BLEU_OF_TOKENS, texts=True), self._path("mert-lists.dev.jsonl.gz"))
        self.keep("mert-lists", forests)
        history = [
            {"hypotheses": before["pool"], "lists": after["trained_dev"], "decoded": after["dev"]}
            for before, after in pairwise(rows_of(loop.place))
        ]
        return {**self.measure("mert-lists", model, forests), "history": history}

    def mert_forests(self) -> dict[str, Any]:
        """MERT by line searches over all derivations of the forests that MERT on lists ended with."""
        forests = self.kept(COMPARED)
        trainer = MERT(start=self._weights(COMPARED), restarts=2, hops=2, seed=self.run.seed, threads=self.run.threads)
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

    def _consensus_training(self, name: str, begin: str, rounds: int, **settings: Any) -> dict[str, Any]:
        """Maximise CoBLEU on the newest forests, decode with what was found, and again; nothing is pooled."""
        self.run.need(f"{self.name}-{COMPARED}")  # p is against it: better said before the work than after
        forests, model, history = self.kept(begin), LogLinear({}), []
        for number in range(min(rounds, self.run.size(3, 2))):
            forests = forests if number == 0 else self.decode("dev", model.weights)
            trainer = MaxCoBLEU(seed=self.run.seed, threads=self.run.threads, progress=self.run.progress, **settings)
            model = trainer.fit(forests)
            assert trainer.result_ is not None
            last = trainer.result_.history[-1]
            history.append({"cobleu": last["cobleu"], "steps": trainer.result_.evaluations, "best": last["dev"]})
            self.run.say(f"{self.name}: round {number + 1} of {name}, CoBLEU {last['cobleu']:.2f}")
        return {**self.measure(name, model), "history": history}

    def _weights(self, name: str) -> dict[str, float]:
        return dict(self.run.need(f"{self.name}-{name}")["weights"])

    # measuring ---------------------------------------------------------------------------------------------------

    def measure(self, name: str, model: LogLinear, dev: Forests | None = None) -> dict[str, Any]:
        """Weights, and both decisions on dev and test, each decoded with these weights; p against MERT on lists."""
        dev = self.decode("dev", model.weights) if dev is None else dev
        gamma = decision_gamma(model, dev)
        model = replace(model, gamma=gamma)
        found: dict[str, Any] = {"weights": dict(model.weights), "gamma": gamma}
        chosen: dict[str, Floats] = {}
        for part, forests in (("dev", dev), ("test", self.decode("test", model.weights))):
            for decision, decide in DECISIONS.items():
                lists, choice = decide(model, forests, self.run)
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
        self.run.need(f"{self.name}-{COMPARED}")
        samples, seed = self.run.size(2000, 1000), self.run.seed
        other = arrays_of(self._path(f"{COMPARED}.test.npz"), list(chosen), f"{self.name}-{COMPARED}")
        pairs = {decision: (other[decision], stats) for decision, stats in chosen.items()}
        tests = {key: permutation(BLEU_OF_TOKENS, *pair, samples=samples, seed=seed) for key, pair in pairs.items()}
        return {"p": {decision: test.p for decision, test in tests.items()}}


@dataclass
class _Decoder:
    """The translator on the dev part; the last forests are at hand, as more than one asks for them."""

    pair: Pair
    weights: Weights
    forests: Forests

    @property
    def threads(self) -> int | None:
        """For who takes the best of the forests."""
        return self.pair.run.threads

    def decode(self, weights: Weights, inputs: Sequence[str]) -> Forests:
        """Forests with references."""
        if dict(weights) != dict(self.weights):
            self.weights, self.forests = dict(weights), self.pair.decode("dev", weights)
        return self.forests


def _as_decoded(found: Forests) -> Forests:
    """Nothing is left to measure; and no sharpness is fitted on lists, since forests have their own."""
    return found


def best_of(forests: Forests, weights: Weights, k: int, threads: int | None) -> NBest:
    """The k best translations of each forest."""
    return kbest(forests, LogLinear(dict(weights)).edge_scores(forests), k, distinct=True, threads=threads).lists()


def _one_best(model: LogLinear, forests: Forests, run: Run) -> tuple[NBest, Ints]:
    lists = kbest(forests, model.edge_scores(forests), 1, threads=run.threads).lists()
    return lists, first(None, lists)


def _consensus(model: LogLinear, forests: Forests, run: Run) -> tuple[NBest, Ints]:
    lists = best_of(forests, model.weights, _CONSENSUS, run.threads)
    with using(executor_of(run.threads)):
        return lists, consensus(model, lists, forests=forests, gain=BLEU_OF_TOKENS)


DECISIONS: dict[str, Callable[[LogLinear, Forests, Run], tuple[NBest, Ints]]] = {
    "consensus": _consensus,
    "1-best": _one_best,
}
"""Decisions by name: lists, and the hypothesis chosen from each (sections 4 and 5.4)."""
