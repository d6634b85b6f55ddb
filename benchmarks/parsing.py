"""The parser on the treebanks of NBEST_DATA: attachment by each expert and all, oracle, seconds of one thread, memory.

Each treebank in a process of its own. `python -m benchmarks.parsing NAME FOLDER` keeps the parser of a treebank.
Tags are those of the treebank. Bulgarian has no train part: trained on dev.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from nbest.decisions import oracle
from nbest.formats.conllu import Sentence, read_conllu
from nbest.metrics import LAS
from nbest.systems.parser.parser import Parser
from nbest.systems.parser.report import attachment
from nbest.systems.parser.train import train_parser
from nbest.systems.parser.trees import text_of

TREEBANKS = {"nl_lassysmall_r1.4": "train", "sl_ssj500k_babushka": "train", "bg_btb_devtest": "dev"}


def main() -> None:
    """Print a table."""
    if not os.environ.get("NBEST_DATA"):
        print("NBEST_DATA does not point to a folder with treebanks")
        return
    for name in TREEBANKS:
        subprocess.run([sys.executable, "-m", "benchmarks.parsing", name], check=True)


def _read(name: str, part: str) -> list[Sentence]:
    return read_conllu(Path(os.environ["NBEST_DATA"]) / "treebanks" / name / f"{part}.conllu.xz")


def _one(name: str, folder: str | None) -> None:
    sentences = _read(name, TREEBANKS[name])
    train_parser(sentences[:20], epochs=1).parsed(sentences[:20])  # compiles
    begin = time.process_time()
    parser = train_parser(sentences, threads=1)
    seconds = time.process_time() - begin
    print(f"{name}: {len(sentences)} sentences, {len(parser.labels)} labels; trained {seconds:.0f} s", flush=True)
    if folder is not None:
        parser.save(folder)
    _measure(parser, _read(name, "test"))
    print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB", flush=True)


def _measure(parser: Parser, gold: list[Sentence]) -> None:
    begin = time.process_time()
    found = parser.parsed(gold, threads=1)
    seconds = time.process_time() - begin
    print(f"  all experts {_attachment(found, gold)}; {len(gold) / seconds:.0f} sentences/s", flush=True)
    for name in parser.names:
        print(f"  {name:12} {_attachment(parser.parsed(gold, weights={name: 1.0}), gold)}", flush=True)
    begin = time.process_time()
    best = parser.lists(gold, 200, threads=1)
    seconds = time.process_time() - begin
    measured = best.with_metric(LAS())
    figures = f"{measured.score(oracle(measured)):.2f} LAS, {best.hypotheses / len(gold):.0f} trees a sentence"
    print(f"  oracle of 200 {figures}; {len(gold) / seconds:.0f} sentences/s", flush=True)


def _attachment(found: list[Sentence], gold: list[Sentence]) -> str:
    las, uas, _ = attachment([text_of(tree.heads, tree.deprels) for tree in found], gold)
    return f"LAS {las:.2f} UAS {uas:.2f}"


if __name__ == "__main__":
    _one(sys.argv[1], sys.argv[2] if sys.argv[2:] else None) if sys.argv[1:] else main()
