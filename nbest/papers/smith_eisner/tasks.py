"""The tasks of Smith & Eisner (2006): base systems, and their dev, held-out and test segments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError
from nbest.base.randomness import generator
from nbest.corpus.metric import Metric
from nbest.loop import Inputs
from nbest.metrics import LAS
from nbest.papers.data import BLEU_OF_TOKENS, has, parallel, translator, translator_folder, treebank
from nbest.papers.run import Run
from nbest.systems.decoder import SystemDecoder, is_system
from nbest.systems.parser.train import train_parser

TREEBANKS = {"sl": "sl_ssj500k_babushka", "bg": "bg_btb_devtest", "nl": "nl_lassysmall_r1.4"}
_OPTIONS = {"beam": 20, "edges_a_node": 8}  # of the translator, in every decoding


@dataclass(frozen=True)
class Task:
    """A decoder with its dev, held-out and test segments."""

    decoder: SystemDecoder
    metric: Metric
    dev: Inputs
    heldout: Inputs
    test: Inputs

    @property
    def words(self) -> float:
        """Of a dev segment, on average; a segment is a text or a sentence of words."""
        sizes = [len(each.split()) if isinstance(each, str) else len(each) for each in self.dev.segments]
        return sum(sizes) / max(1, len(sizes))


# base systems -------------------------------------------------------------------------------------------------------


def _count(run: Run) -> int | None:
    return 8000 if run.quick else None


def train_translator(run: Run, pair: str) -> dict[str, Any]:
    """A step: the translator of a pair."""
    found = translator(run, pair, count=_count(run))
    return {"phrase pairs": len(found.table)}


def _parser_folder(run: Run, language: str) -> Path:
    return run.base / f"parser-{language}{'-quick' if run.quick else ''}"


def _sentences(run: Run, language: str) -> dict[str, list[Any]]:
    """Train, dev, held-out and test sentences; where Bulgarian has no training part, its dev part is split."""
    folder = TREEBANKS[language]
    dev, test = treebank(run, folder, "dev"), treebank(run, folder, "test")
    small = run.size(200, 60)
    if language != "bg" or has(run, "treebanks", folder, "train.conllu"):
        train, held = treebank(run, folder, "train"), dev[small : 2 * small]
        dev = dev[:small]
    else:
        train, held, dev = dev[2 * small :], dev[small : 2 * small], dev[:small]
    return {
        "train": train[: 300 if run.quick else None],
        "dev": dev,
        "heldout": held,
        "test": test[: run.size(2000, 60)],
    }


def train_experts(run: Run, language: str) -> dict[str, Any]:
    """A step: the parser of a language."""
    folder = _parser_folder(run, language)
    sentences = _sentences(run, language)["train"]
    if not (folder / "manifest.json").is_file():
        train_parser(sentences, seed=run.seed, threads=run.threads, progress=run.progress).save(folder)
    return {"sentences": len(sentences), "experts": len(SystemDecoder(folder).start)}


# tasks -------------------------------------------------------------------------------------------------------------


def translation(run: Run, pair: str, *, large: bool = False, draw: int = 1) -> Task:
    """A pair: 200 dev segments (2,000 if `large`), 200 held out, 2,000 to test on; fewer in a quick run."""
    folder = translator_folder(run, pair, _count(run))
    _trained(run, folder, f"{pair}-translator")
    decoder = SystemDecoder(folder, 200, options=_OPTIONS, threads=run.threads, progress=run.progress)
    small, texts = run.size(200, 40), {part: _texts(run, pair, part) for part in ("dev", "devtest", "test")}

    def inputs(part: str, chosen: Iterable[int]) -> Inputs:
        source, target = ([side[at] for at in chosen if at < len(side)] for side in texts[part])
        return Inputs(source, [(text,) for text in decoder.references(target)])

    test = inputs("test", range(run.size(2000, 100)))
    if draw > 1:
        dev, heldout = (inputs("dev", some) for some in _drawn(len(texts["dev"][0]), small, draw, run.seed))
    else:
        dev, heldout = inputs("dev", range(2000 if large else small)), inputs("devtest", range(small))
    return Task(decoder, BLEU_OF_TOKENS, dev, heldout, test)


def _drawn(count: int, small: int, draw: int, seed: int) -> tuple[list[int], list[int]]:
    """Dev and held-out sentences of draw 2, 3 and so on, all out of the dev part: draws do not overlap while it lasts.

    The first `small` sentences are those of draw 1.
    """
    rest = generator(seed, 2).permutation(np.arange(small if count > 2 * small else 0, count))
    size = min(small, len(rest) // 2)
    begin = 2 * (draw - 2) * size
    found = np.take(rest, range(begin, begin + 2 * size), mode="wrap").tolist()
    return found[:size], found[size:]


def _texts(run: Run, pair: str, part: str) -> tuple[list[str], list[str]]:
    """Both sides of a part; fi-en has no devtest part, the last tenth of dev stands in."""
    if pair != "fi-en" or part not in ("dev", "devtest"):
        return parallel(run, pair, part)
    source, target = parallel(run, pair, "dev")
    cut = len(source) - len(source) // 10
    return (source[:cut], target[:cut]) if part == "dev" else (source[cut:], target[cut:])


def _trained(run: Run, folder: Path, step: str) -> None:
    """An error that names the step, unless the base system is there."""
    if not is_system(folder):
        run.need(step)
        raise FormatError(folder, None, f"was removed; remove steps/{step}.json to have it made again")


def parsing(run: Run, language: str) -> Task:
    """A language: 200 dev segments, 200 held out, at most 2,000 to test on; 60 each in a quick run."""
    _trained(run, _parser_folder(run, language), f"{language}-parser")
    decoder = SystemDecoder(_parser_folder(run, language), 200, threads=run.threads, progress=run.progress)
    sets = _sentences(run, language)
    return Task(decoder, LAS(), Inputs(sets["dev"]), Inputs(sets["heldout"]), Inputs(sets["test"]))
