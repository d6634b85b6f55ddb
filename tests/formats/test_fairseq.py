"""fairseq-generate."""

from __future__ import annotations

import math

import pytest

from nbest.corpus import Origin

OUTPUT = """\
2024-01-01 10:00:00 | INFO | fairseq_cli.generate | loading
S-7\tein Haus
T-7\ta house
H-7\t-0.5\ta hou@@ se
D-7\t-0.5\ta house
P-7\t-0.25 -0.75
H-7\t-1.5\tone house
D-7\t-1.5\tone house!
P-7\t-1.0 -2.0 -1.5
A-7\t0-0 1-1
S-0\tja
T-0\tyes
H-0\t-2\tyes
D-0\t-2\t
P-0\t-2
Generate test with beam=2: BLEU4 = 1.0
"""


def test_output(reading) -> None:
    corpus = reading("fairseq", OUTPUT)
    assert corpus.ids == ("0", "7")
    assert list(corpus.texts) == ["", "a house", "one house!"]
    assert corpus.sources == ("ja", "ein Haus")
    assert corpus.references == (("yes",), ("a house",))
    assert corpus.feature_names == ("logprob", "length")
    assert corpus.column("logprob") == pytest.approx([-2 * math.log(2), -1.0 * math.log(2), -4.5 * math.log(2)])
    assert corpus.column("length").tolist() == [1, 2, 3]
    assert corpus.origins == {"logprob": Origin(log_base=2.0)}


def test_sorted_by_letter(reading) -> None:
    lines = sorted(OUTPUT.splitlines(), key=lambda line: line.split("-")[0])
    corpus = reading("fairseq", "\n".join(lines))
    assert list(corpus.texts) == ["", "a house", "one house!"]
    assert corpus.column("length").tolist() == [1, 2, 3]


def test_without_tokens(reading) -> None:
    corpus = reading("fairseq", "H-3\t-0.5\ta b\nH-3\t-1\n")
    assert list(corpus.texts) == ["a b", ""]
    assert corpus.column("score") == pytest.approx([-0.5 * math.log(2), -math.log(2)])
    assert corpus.origins == {"score": Origin(log_base=2.0, normalised="length")}
    assert str(corpus.origins["score"]).endswith("normalised by length")
    assert corpus.references is None


BAD = {
    "score": ("H-0\t-1\ta\nH-0\tx\ta\n", "2: the score must be a finite number, got 'x'"),
    "infinite": ("H-0\t-inf\ta\n", "1: the score must be a finite number, got '-inf'"),
    "token": ("H-0\t-1\ta\nP-0\t-1 nan\n", "2: a token's score must be a finite number, got 'nan'"),
    "no tab": ("H-0\t-1\ta\nH-1 -1 b\n", "2: expected a tab after 'H-1'"),
    "too few P": ("H-0\t-1\ta\nH-0\t-1\tb\nP-0\t-1\n", "3: segment 0 has 2 lines H-0 but 1 P-0"),
    "too many D": ("H-0\t-1\ta\nD-0\t-1\ta\nD-0\t-1\tb\n", "3: segment 0 has 1 lines H-0 but 2 D-0"),
    "P only in some": ("H-0\t-1\ta\nP-0\t-1\nH-1\t-1\ta\n", "3: feature 'logprob' is missing"),
    "two sources": ("S-0\ta\nH-0\t-1\ta\nS-0\tb\n", "3: a second and different line S-0"),
    "no reference": ("T-0\ta\nH-0\t-1\ta\nH-1\t-1\ta\n", "3: segment '1' has no references while others have"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(complaint, name: str) -> None:
    contents, message = BAD[name]
    assert complaint("fairseq", contents).startswith("input:" + message)


def test_only_messages(complaint) -> None:
    assert complaint("fairseq", "INFO\n") == "input: no hypotheses in it; expected at least one segment"
