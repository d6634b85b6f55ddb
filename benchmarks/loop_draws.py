"""The outer loop on several draws of few sentences: which order of methods holds, with and without search errors.

    python -m benchmarks loop-draws                        the decoder finds the best there is, in forests made once
    python -m benchmarks loop-draws --beam 3               a decoder that misses much
    python -m benchmarks loop-draws --beam 3 --step 0.5    and part of the way to the trained weights in each round
    python -m benchmarks loop-draws --pair de-en --methods risk,mert --draws 2

A translator of 20,000 sentence pairs of NBEST_DATA is tuned by decoding again, on draws of 200 sentences that do not
overlap. As many held-out sentences choose the round; test sentences are the same for all. Each finished loop is a line
of the results file and is not done again; the table is of all that is there.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.randomness import generator
from nbest.corpus import Forests, NBest
from nbest.decisions.chosen import best_lists
from nbest.loop import Inputs, Loop
from nbest.model.loglinear import LogLinear
from nbest.papers.data import BLEU_OF_TOKENS, parallel, translator, translator_folder
from nbest.papers.run import Run
from nbest.papers.smith_eisner.methods import METHODS, ListMethod
from nbest.report import Table
from nbest.systems.decoder import SystemDecoder
from nbest.trainers import Auto

TRAINED, DRAWN, TESTED, K = 20_000, 200, 900, 100
_WORDS = range(5, 21)  # of a source sentence
_WIDE = {"beam": 30, "edges_a_node": 10}
_WAYS = {**METHODS, "auto": ListMethod(lambda words: Auto(), warm=True)}
_KEY = ("pair", "beam", "step", "method", "draw")  # of a line of results
Numbered = tuple[str, int]  # the part and the number of a sentence


@dataclass
class LoopBench:
    """Sentences of a pair and what decodes them: a translator, or forests that it made once (`beam` 0)."""

    run: Run
    pair: str
    beam: int

    @cached_property
    def system(self) -> SystemDecoder:
        """The translator, which is trained first where it is missing."""
        translator(self.run, self.pair, count=TRAINED)
        return SystemDecoder(translator_folder(self.run, self.pair, TRAINED), threads=self.run.threads)

    @cached_property
    def texts(self) -> dict[str, tuple[list[str], list[str]]]:
        """Sources and references of each part, as the translator writes them."""
        found = {}
        for part in ("dev", "devtest", "test"):
            sides = zip(*parallel(self.run, self.pair, part), strict=True)
            both = [pair for pair in sides if len(pair[0].split()) in _WORDS][: TESTED if part == "test" else None]
            references = self.system.references([target for _, target in both])
            found[part] = [source for source, _ in both], references
        return found

    @cached_property
    def forests(self) -> dict[str, Forests]:
        """Of each part, by the weights of the translator."""
        wide = replace(self.system, forests=True, options=_WIDE)
        found = {part: wide.decode(self.system.start, source) for part, (source, _) in self.texts.items()}
        return {part: forests for part, forests in found.items() if isinstance(forests, Forests)}

    def decode(self, weights: Mapping[str, float], inputs: Sequence[Numbered]) -> Any:
        """The K best of sentences of one part, the best of test sentences."""
        part, rows = inputs[0][0], np.array([number for _, number in inputs])
        k = 1 if part == "test" else K
        if not self.beam:
            return best_lists(self.forests[part].select(rows), LogLinear(dict(weights)), k)[0]
        options = {"beam": self.beam, "edges_a_node": max(4, min(8, self.beam))}
        system = replace(self.system, k=k, options=options)
        return system.decode(weights, [self.texts[part][0][row] for row in rows])

    def inputs(self, part: str, rows: Sequence[int]) -> Inputs:
        """Sentences of a part, with references."""
        return Inputs([(part, row) for row in rows], [(self.texts[part][1][row],) for row in rows])

    def drawn(self, part: str, draw: int) -> Inputs:
        """The sentences of a draw, none of which is in another."""
        order = generator(7, len(part)).permutation(len(self.texts[part][0]))
        rows = np.sort(order[draw * DRAWN : (draw + 1) * DRAWN]).tolist()
        if len(rows) < DRAWN:
            raise SystemExit(f"{self.pair} has {len(order)} sentences of {part}: too few for draw {draw + 1}")
        return self.inputs(part, rows)

    def tuned(self, method: str, draw: int, rounds: int, step: float) -> dict[str, Any]:
        """One loop: BLEU of test sentences with the weights of the chosen and of the last round, and search errors."""
        way, zeros = _WAYS[method], dict.fromkeys(self.system.start, 0.0)
        settings: dict[str, Any] = {"warm": way.warm, "grid": way.grid or None, "rounds": rounds, "k": K, "step": step}
        with tempfile.TemporaryDirectory() as folder:
            loop = Loop(self, way.trainer(1.0), BLEU_OF_TOKENS, Path(folder) / "run", start=zeros, **settings)
            model = loop.run(self.drawn("dev", draw), self.drawn("devtest", draw))
            row = loop.place.decoded(loop.place.result()["rounds"] + 1)
        test = self.inputs("test", range(len(self.texts["test"][0])))
        scores = {"test": self._score(model.weights, test), "last": self._score(row["weights"], test)}
        return {**scores, "dev": model.scores_["dev"], "missed": row["dev"]["missed"] / DRAWN}

    def _score(self, weights: Mapping[str, float], inputs: Inputs) -> float:
        found: NBest = self.decode(weights, inputs.segments).with_metric(BLEU_OF_TOKENS, inputs.references)
        return found.score(found.offsets[:-1])


def table(lines: Sequence[Mapping[str, Any]], first: str) -> Table:
    """Means and spreads over draws, and the mean difference to a method on the same draws, with its standard error."""
    rows: list[list[Any]] = []
    by: dict[tuple[str, int, float, str], dict[int, Mapping[str, Any]]] = {}
    for line in lines:
        by.setdefault((line["pair"], line["beam"], line["step"], line["method"]), {})[line["draw"]] = line
    for (pair, beam, step, method), found in sorted(by.items()):
        base = by.get((pair, beam, step, first), {})
        gaps = [line["test"] - base[draw]["test"] for draw, line in found.items() if draw in base]
        values = {name: np.array([line[name] for line in found.values()]) for name in ("test", "last", "missed")}
        gap = f"{np.mean(gaps):+.2f} ({_error(gaps):.2f})" if len(gaps) > 1 and method != first else None
        spread = float(values["test"].std(ddof=1)) if len(found) > 1 else None
        means = [float(values[name].mean()) for name in ("last", "missed")]
        rows.append([pair, beam or "none", step, method, len(found), float(values["test"].mean()), spread, gap, *means])
    heads = [
        "pair",
        "beam",
        "step",
        "method",
        "draws",
        "test",
        "spread",
        f"against {first}",
        "last round",
        "search errors",
    ]
    return Table(heads, rows)


def _error(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) / len(values) ** 0.5


def main(words: Sequence[str] | None = None) -> None:
    """Do the loops that are missing, then show all."""
    asked = _parser().parse_args(words)
    results: Path = asked.results
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.is_file() else []
    done = {tuple(line[key] for key in _KEY) for line in lines}
    results.parent.mkdir(parents=True, exist_ok=True)
    run = Run(results.parent / "run", Path(os.environ.get("NBEST_DATA", "data")), threads=asked.threads, say=print)
    run.work.mkdir(parents=True, exist_ok=True)
    bench = LoopBench(run, asked.pair, asked.beam)
    for draw in range(asked.draws):
        for method in asked.methods.split(","):
            key = (asked.pair, asked.beam, asked.step, method, draw)
            if key in done:
                continue
            line = dict(zip(_KEY, key, strict=True)) | bench.tuned(method, draw, asked.rounds, asked.step)
            lines.append(line)
            with results.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(f"{method}, draw {draw + 1}: {line['test']:.2f}", flush=True)
    print(table(lines, asked.methods.split(",")[0]).render())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks loop-draws", description=__doc__.splitlines()[0])
    parser.add_argument("--pair", default="fr-en", help="languages (fr-en, de-en)")
    parser.add_argument("--beam", type=int, default=0, help="of the translator (0: the best of forests made once)")
    parser.add_argument("--step", type=float, default=1.0, help="of the loop")
    parser.add_argument("--draws", type=int, default=4, help="of 200 sentences each")
    parser.add_argument("--rounds", type=int, default=8, help="at most")
    parser.add_argument(
        "--methods", default="error,error10,likelihood,risk200,risk,auto", help="the first is compared to"
    )
    parser.add_argument("--threads", type=int, help="(default: all cores)")
    parser.add_argument("--results", type=Path, default=Path("loop-draws/results.jsonl"), help="where they are kept")
    return parser
