"""The tagger on the treebanks of NBEST_DATA: accuracy, oracle, seconds of one thread and memory.

Each treebank in a process of its own.
`python -m benchmarks.tagging`: settings as they are; `python -m benchmarks.tagging --variants`: others, on dev only.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from nbest.decisions import oracle
from nbest.formats.conllu import Sentence, read_conllu
from nbest.metrics import TokenAccuracy
from nbest.systems.jackknife import jackknifed_lists
from nbest.systems.tagger.report import TagAccuracy
from nbest.systems.tagger.system import TaggerTraining
from nbest.systems.tagger.tagger import Tagger

TREEBANKS = {
    "en_ewt": "xpos",
    "zh_gsd_r1.4": "xpos",
    "fr_sequoia_r2.16": "upos",
    "sv_talbanken_2015-01": "xpos",
}
VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "no contexts": {"contexts": False},
    "seen tags only": {"prior": 0.0},
    "no contexts, seen tags only": {"contexts": False, "prior": 0.0},
    "prior 0.3": {"prior": 0.3},
    "rare 2": {"rare": 2},
    "rare 10": {"rare": 10},
    "longest 4": {"longest": 4},
    "longest 12": {"longest": 12},
    "weight 1": {"weight": 1.0},
    "weight 6": {"weight": 6.0},
    "limit 5": {"limit": 5},
    "limit 20": {"limit": 20},
}


def main() -> None:
    """Print a table."""
    if not os.environ.get("NBEST_DATA"):
        print("NBEST_DATA does not point to a folder with treebanks")
        return
    for name in TREEBANKS:
        subprocess.run([sys.executable, "-m", "benchmarks.tagging", name], check=True)


def _read(name: str, part: str) -> tuple[list[Sentence], list[tuple[str, ...]], list[tuple[str, ...]]]:
    path = Path(os.environ["NBEST_DATA"]) / "treebanks" / name / f"{part}.conllu.xz"
    sentences = read_conllu(path)
    return sentences, [s.forms for s in sentences], [getattr(s, TREEBANKS[name]) for s in sentences]


def _one(name: str) -> None:
    begin = time.process_time()
    sentences, words, tags = _read(name, "train")
    read = time.process_time() - begin
    Tagger.train(words[:50], tags[:50]).tag(words[:50])  # compiles
    begin = time.process_time()
    training = TaggerTraining(tags=TREEBANKS[name])
    tagger = training.fit(sentences)
    print(f"{name}: {len(tagger.tags)} tags; read {read:.2f} s, trained {time.process_time() - begin:.2f} s")
    for part in ("dev", "test"):
        _measure(tagger, name, part)
    begin = time.process_time()
    lists = jackknifed_lists(training, sentences, 10, threads=1).with_metric(TokenAccuracy())
    seconds = time.process_time() - begin
    first, best = lists.score(lists.offsets[:-1]), lists.score(oracle(lists))
    print(f"  train, 10 folds: {first:.2f}, oracle of 10 {best:.2f}; {lists.hypotheses} hypotheses, {seconds:.1f} s")
    print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def _measure(tagger: Tagger, name: str, part: str) -> None:
    sentences, words, gold = _read(name, part)
    begin = time.process_time()
    found = tagger.tag(words, threads=1)
    seconds = time.process_time() - begin
    accuracy = TagAccuracy.of(tagger, words, gold, found)
    begin = time.process_time()
    lists = tagger.lists(sentences, 10, threads=1).with_metric(TokenAccuracy())
    listing = time.process_time() - begin
    speed = f"{len(words) / seconds:.0f} sentences/s, 10 best {len(words) / listing:.0f}"
    print(f"  {part}: {accuracy}; oracle of 10 {lists.score(oracle(lists)):.2f} %; {speed}")


def _variants() -> None:
    data = {name: (_read(name, "train")[1:], _read(name, "dev")[1:]) for name in TREEBANKS}
    for title, changes in VARIANTS.items():
        cells = []
        for (words, tags), (dev, gold) in data.values():
            tagger = Tagger.train(words, tags, TaggerTraining(**changes))
            p = TagAccuracy.of(tagger, dev, gold, tagger.tag(dev)).percentages()
            cells.append(f"{p['all']:.2f} ({p['known']:.2f}, {p['unknown']:.2f})")
        print(f"{title:28} {' '.join(cells)}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--variants"]:
        _variants()
    else:
        _one(sys.argv[1]) if sys.argv[1:] else main()
