"""No command writes over what it reads: refused before any work, by whatever name or link."""

import os
import shutil
from pathlib import Path

import pytest

METRIC = ("--metric", "wer")
TUNE = ("tune", "dev.nbest", "--refs", "dev.ref", *METRIC, "-q")


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def make(folder: Path) -> None:
    """Further files to read, and links to them."""
    (folder / "m.ini").write_text("am= 1\nlm= 0.5\nnoise= 0\n")
    shutil.copy("dev.nbest", "lists.nbest.jsonl")
    (folder / "lists.jsonl").write_text(
        '{"id": "0", "source": "a b", "hypotheses": [{"text": "x y", "features": {"f": 1}}]}\n'
    )
    (folder / "trees.conllu").write_text("1\ta\t_\tX\tX\t_\t0\troot\t_\t_\n\n")
    (folder / "words.txt").write_text("a|a b|b\n")
    (folder / "words.arpa").write_text("a b\n")
    (folder / "folder").mkdir()
    (folder / "folder" / "trees.conllu").write_text("1\ta\t_\tX\tX\t_\t0\troot\t_\t_\n\n")
    (folder / "folder" / "text").write_text("a b\n")
    os.symlink("dev.nbest", "link.json")
    os.symlink("folder", "other")
    os.link("dev.ref", "hard.json")
    (folder / "exp").mkdir()
    (folder / "exp" / "dev.words").write_text("a-1 x y\n")
    (folder / "exp" / "dev.acwt").write_text("a-1 1\n")
    (folder / "exp" / "dev.lmwt").write_text("a-1 1\n")


REFUSED = [
    (*TUNE, "-o", "dev.nbest"),
    (*TUNE, "-o", "./dev.nbest"),
    (*TUNE, "-o", "dev.ref"),
    (*TUNE, "-o", "link.json"),
    (*TUNE, "-o", "hard.json"),
    (*TUNE, "--heldout", "test.nbest", "--heldout-refs", "test.ref", "-o", "test.nbest"),
    (*TUNE, "--heldout", "test.nbest", "--heldout-refs", "test.ref", "-o", "test.ref"),
    (*TUNE, "--method", "mert", "--start", "m.ini", "-o", "m.ini"),
    (*TUNE, "--add", "lm:path=words.arpa", "-o", "words.arpa"),
    ("tune", "dev.nbest", "--metric", "external", "--scores", "dev.ref", "-q", "-o", "dev.ref"),
    ("rerank", "dev.nbest", "--model", "m.ini", "-o", "m.ini"),
    ("rerank", "dev.nbest", "--model", "m.ini", "-o", "dev.nbest"),
    ("rerank", "dev.nbest", "--decision", "first", "-o", "link.json"),
    ("rerank", "dev.nbest", "test.nbest", "--decision", "first", "-o", "test.nbest"),
    ("rerank", "dev.nbest", "--model", "m.ini", "--lm", "words.arpa", "-o", "words.arpa"),
    ("convert", "dev.nbest", "dev.nbest"),
    ("convert", "dev.nbest", "dev.ref", "--refs", "dev.ref"),
    ("convert", "folder", "folder"),
    ("convert", "folder", "other/"),
    ("convert", "folder", "folder/text"),
    ("convert", "folder/text", "folder", "--to", "slf"),
    ("convert", "exp/dev", "exp/dev.words"),
    ("features", "add-lm", "dev.nbest", "dev.nbest", "--lm", "words.arpa"),
    ("features", "add-lm", "dev.nbest", "words.arpa", "--lm", "words.arpa"),
    ("decode", "tagger", "folder", "trees.conllu", "-o", "trees.conllu"),
    ("decode", "parser", "folder", "trees.conllu", "-o", "trees.conllu"),
    ("decode", "parser", "folder", "trees.conllu", "-o", "folder/text"),
    ("decode", "converter", "folder", "words.txt", "-o", "words.txt"),
    ("decode", "translator", "folder", "words.txt", "-o", "words.txt"),
    ("decode", "translator", "folder", "dev.first", "-r", "dev.ref", "-o", "dev.ref"),
    ("train", "lm", "words.arpa", "-o", "words.arpa"),
    ("train", "tagger", "trees.conllu", "--jackknife", "2", "--lists", "trees.conllu"),
    ("train", "tagger", "folder/trees.conllu", "-o", "folder"),
    ("train", "parser", "trees.conllu", "--lists", "trees.conllu"),
    ("train", "parser", "folder/trees.conllu", "-o", "other"),
    ("train", "translator", "folder/text", "dev.ref", "--languages", "fr-en", "-o", "folder"),
    ("loop", "folder/text", "--decoder", "cat", "--refs", "dev.ref", *METRIC, "-o", "folder"),
    ("loop", "dev.first", "--decoder", "cat", "--refs", "dev.ref", *METRIC, "-o", "dev.first"),
    ("study", "learning", "lists.jsonl", *METRIC, "-o", "lists"),
    ("study", "learning", "lists.nbest.jsonl", "--refs", "dev.ref", *METRIC, "-o", "lists.nbest"),
    ("reproduce", "yuan-2007", "--data", "folder", "-o", "folder"),
    ("reproduce", "yuan-2007", "--data", "folder", "-o", "."),
]


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_refused(run, folder, arguments):
    make(folder)
    before = snapshot(folder)
    ran = run(*arguments)
    assert ran.code == 2
    assert "which is read; name another output" in ran.err, ran.err
    assert ran.err.count("\n") == 1
    assert snapshot(folder) == before


def test_other_names_are_written(run, folder):
    make(folder)
    assert run(*TUNE, "-o", "new.json").code == 0
    assert run(*TUNE, "-o", "new.json").code == 0  # one's own output may be replaced
    assert run("rerank", "dev.nbest", "--model", "new.json", "-o", "out.txt").code == 0
    assert run("rerank", "dev.nbest", "--model", "new.json", "-o", "/dev/null").code == 0
    assert run("convert", "dev.nbest", "folder/new.jsonl").code == 0
    assert run("convert", "dev.nbest", "dev.nbest.gz").code == 0


def test_the_manifest_of_nemo_is_an_output(run, folder):
    """Lists for NeMo come with a manifest beside them, which may be what is read."""
    (folder / "new.tsv.manifest.json").write_text('{"id": "0", "hypotheses": [{"text": "x", "features": {"f": 1}}]}\n')
    ran = run("convert", "new.tsv.manifest.json", "new.tsv")
    assert ran.code == 2
    assert "new.tsv.manifest.json is the same file as" in ran.err
