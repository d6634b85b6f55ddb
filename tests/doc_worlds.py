"""What the examples of each page find in their folder."""

from __future__ import annotations

import lzma
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import nbest
from nbest.cli.main import main
from nbest.formats import write_forests
from nbest.testing.tiny_systems import write_texts
from tests.cli.conftest import sausages, write_lists, write_sources
from tests.cli.test_converter import lines as read_lines
from tests.doc_blocks import ROOT
from tests.systems.test_translator import corpus

HERE = Path()
_DECODER = """#!{python}
import sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
lines = open(given["-i"], encoding="utf-8").read().splitlines()
with open(given["-o"], "w", encoding="utf-8") as out:
    for i, line in enumerate(lines):
        words = line.split()
        for k, kept in enumerate((len(words), len(words) - 1)[: int(given["-n"])]):
            text = " ".join(words[:kept])
            out.write(f"{{i}} ||| {{text}} ||| lm= {{-k}} tm= {{-2 * k}} length= {{kept}} ||| {{-k}}\\n")
"""


def lists() -> None:
    """`dev` and `test`, each lists, references and the first texts."""
    write_lists(HERE, "dev", 60, seed=1)
    write_lists(HERE, "test", 60, seed=2)
    Path("test.first").rename("first.txt")


def decoder() -> None:
    """Lists, and a decoder that copies its input or leaves the last word out."""
    lists()
    folder = Path("bin")
    folder.mkdir()
    program = folder / "mydecoder"
    program.write_text(_DECODER.format(python=sys.executable))
    program.chmod(0o755)
    os.environ["PATH"] = f"{folder.resolve()}{os.pathsep}{os.environ['PATH']}"
    for name in ("dev", "held"):
        write_lists(HERE, name, 30, seed=len(name))
        shutil.copy(f"{name}.ref", f"{name}.src")


def loop() -> None:
    """The decoder, and a translator."""
    decoder()
    texts()
    assert main(["train", "translator", "train.fr", "train.en", "-l", "fr-en", "-o", "translator.fr-en", "-q"]) == 0


def texts() -> None:
    """Sentence pairs of two languages."""
    for name, count, seed in (("train", 120, 1), ("dev", 10, 2), ("held", 8, 4), ("test", 10, 3)):
        for side, found in zip(("fr", "en"), corpus(count, seed), strict=True):
            Path(f"{name}.{side}").write_text("".join(f"{line}\n" for line in found), encoding="utf-8")


def forests() -> None:
    """Lattices, and their references."""
    lists()
    for name, seed in (("lattices", 1), ("test-lattices", 2)):
        found = sausages(seed)
        said = (np.diff(found.symbol_offsets) > 1).astype(float)
        found = replace(found, feature_names=("acoustic", "lm", "x1"), own_weights={"acoustic": 1.0})
        write_forests(found.with_features(["words"], said), name, "slf")
    Path("dev.ref").write_text("".join(f"{refs[0]}\n" for refs in sausages(1).references or ()))


def sources() -> None:
    """Lists with input texts and references as JSON lines, packed ones too."""
    lists()
    write_lists(HERE, "train", 60, seed=3)
    for name in ("train", "dev", "test"):
        write_sources(HERE, name)
        nbest.write(nbest.read(f"{name}.jsonl"), f"{name}.jsonl.gz")


def methods() -> None:
    """The same, and samples with an answer in a box."""
    sources()
    for name, seed in (("samples", 1), ("other-samples", 2)):
        rng = np.random.default_rng(seed)
        rows = []
        for i in range(40):
            for said in rng.integers(0, 3, 5):
                judge = float(said == 1) + rng.normal()
                text, references = f"So: \\boxed{{{said + seed * i}}}", [f"\\boxed{{{1 + seed * i}}}"]
                rows.append({"id": f"{name}-{i}", "text": text, "references": references, "judge": judge})
        nbest.write(nbest.from_records(rows), f"{name}.jsonl")


def kana() -> None:
    """Text with readings, a dictionary, kana."""
    text = "".join(f"{line}\n" for line in read_lines(200, 1))
    Path("news.read.tsv.xz").write_bytes(lzma.compress(text.encode()))
    Path("words.tsv.xz").write_bytes(lzma.compress("surface\treading\n皮\tカワ\n川\tカワ\n".encode()))
    Path("dev.read.tsv").write_text("".join(f"{line}\n" for line in read_lines(40, 2)), encoding="utf-8")
    Path("kana.txt").write_text("はなをみる。\nかきをたべる。\n", encoding="utf-8")


def treebank() -> None:
    """Three parts of a treebank, with words of known and of unknown tags."""
    lists()
    write_texts(HERE)
    sentences = Path("train.conllu").read_text(encoding="utf-8")
    Path("train.conllu").write_text(sentences * 8, encoding="utf-8")
    for name in ("dev", "test"):
        Path(f"{name}.conllu").write_text(sentences * 6, encoding="utf-8")


def formats() -> None:
    """Lists and forests in some of the formats."""
    lists()
    forests()
    nbest.write(nbest.read("dev.nbest"), "dev.nbest.gz", "moses")
    Path("dev.txt").write_text("a\n" * 600)
    for name in ("dev.ref0", "dev.ref1"):
        Path(name).write_text("a\n" * 60)
    write_forests(sausages(1), "dev.forests.jsonl.gz")


def nothing() -> None:
    """The page makes what it needs."""


WORLDS: dict[str, Callable[[], None]] = {
    "README.md": decoder,
    "docs/converter.md": kana,
    "docs/features.md": sources,
    "docs/formats.md": formats,
    "docs/forests.md": forests,
    "docs/index.md": lists,
    "docs/loop.md": loop,
    "docs/low-dimensional.md": sources,
    "docs/methods.md": methods,
    "docs/parser.md": treebank,
    "docs/report.md": lists,
    "docs/stores.md": lists,
    "docs/tagger.md": treebank,
    "docs/translator.md": texts,
    "docs/extending.md": lists,
    "docs/passes.md": lists,
    "docs/reproduce.md": lists,
    "docs/runs.md": lists,
    "docs/scale.md": lists,
    **{
        path.relative_to(ROOT).as_posix(): nothing
        for folder in ("tutorials", "reference/python")
        for path in sorted((ROOT / "docs" / folder).glob("*.md"))
        if path.name != "index.md"
    },
}
"""What a page needs, by page; other tests run the pages that are not here (`run_page`)."""
