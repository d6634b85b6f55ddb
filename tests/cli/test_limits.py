"""Counts so large that no memory would do are refused by a rule, before room is made."""

import pytest

TUNE = ("tune", "dev.nbest", "--refs", "dev.ref", "-q", "-o", "m.json", "--metric")
MODEL = ("rerank", "dev.nbest", "--model", "m.ini")
STUDY = ("--refs", "dev.ref", "--metric", "wer", "--x", "am", "-o", "study")


@pytest.mark.parametrize("count", ["1000000000", "1" + "0" * 30])
@pytest.mark.parametrize(
    "arguments",
    [
        (*TUNE, "wer", "--add", "ngrams:order="),
        (*TUNE, "wer", "--add", "pairs:high="),
        (*TUNE, "wer", "--add", "gaussians:kernels="),
        (*TUNE, "wer", "--add", "lowdim:inputs=characters1-"),
        (*TUNE, "wer", "--method", "mert", "--restarts="),
        (*TUNE, "wer", "--method", "grid", "--points="),
        ("score", "dev.first", "--refs", "dev.ref", "--metric", "bleu", "--max-ngram-order="),
        ("score", "dev.first", "--refs", "dev.ref", "--metric", "chrf", "--char-order="),
        ("score", "dev.first", "--refs", "dev.ref", "--metric", "chrf", "--word-order="),
        (*MODEL, "--decision", "consensus", "--order="),
        ("study", "surface", "dev.nbest", *STUDY, "--y", "lm", "--points="),
        ("study", "consensus", "dev.nbest", *STUDY, "--order="),
        ("train", "lm", "dev.ref", "-o", "lm.nlm", "--order="),
    ],
    ids=lambda words: " ".join(words[:2]) + " " + words[-1],
)
def test_refused(run, folder, arguments, count):
    (folder / "m.ini").write_text("am= 1\nlm= 0\nnoise= 0\n")
    ran = run(*arguments[:-1], arguments[-1] + count)
    assert ran.code == 2
    assert ran.err.startswith("nbest: ")
    assert "must be" in ran.err
    assert ran.err.count("\n") == 1
