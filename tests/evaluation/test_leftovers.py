"""Leftovers of decoders are found where references have none, with an example and a remedy."""

from __future__ import annotations

import json

import pytest

from nbest.cli.main import main
from nbest.evaluation.leftovers import LEFTOVERS, leftover_findings, punctuation_findings

TEXTS = {
    "segmentation marks of Moses": "das |0-1| haus |2-2|",
    "marks of unknown words of Moses": "das haus|UNK|UNK|UNK ist",
    "pieces of words joined by @@": "das ha@@ us",
    "pieces of SentencePiece": "▁das ▁ha us",
    "pieces of WordPiece": "das ha ##us",
    "pieces of byte-level BPE": "das Ġhaus",
    "special tokens": "das haus </s>",
    "unknown words": "das <unk>",
    "hyphens of the Moses tokeniser": "gross @-@ haus",
    "escapes of XML or Moses": "das &apos;haus&apos;",
    "thoughts of a language model": "<think>hm</think> haus",
    "characters decoded twice": "das HÃ¤uschen",
    "characters that could not be decoded": "das H\ufffduschen",
}
PLAIN = ["the house", "a | b 0-1", "an e-mail to me@work", "AT&T; c++ ## of it", "Ä Ã Â ok", "x<y and y>z", "[seen]"]


@pytest.mark.parametrize(("what", "text"), TEXTS.items())
def test_each_is_found(what, text):
    (finding,) = leftover_findings([*PLAIN, text, text])
    assert finding.startswith(f"2 of {len(PLAIN) + 2} hypotheses have {what}")
    assert leftover_findings([text], ["the house"])
    assert not leftover_findings([text], [text]), "both sides have it"


def test_every_one_has_an_example_here():
    assert [each.what.partition(" (")[0] for each in LEFTOVERS] == list(TEXTS)


def test_ordinary_texts_have_none():
    assert leftover_findings(PLAIN) == leftover_findings([]) == []


def test_the_example_is_of_one_line():
    (finding,) = leftover_findings(["first line", "a long line with das |0-1| haus in it", "last"])
    assert "'ne with das |0-1| haus in it'" in finding


def test_punctuation():
    cased, spaced, bare = ["It is, yes."] * 9 + ["No"], ["It is , yes ."] * 10, ["it is yes"] * 10
    assert "space before punctuation: tokenise both or none" in punctuation_findings(spaced, cased)[0]
    (finding,) = punctuation_findings(bare, cased)
    assert finding.startswith("0 % of hypotheses and 90 % of references have punctuation: --normalize punct or basic")
    for texts, references in ((cased, cased), (bare, bare), ([], cased), (spaced, spaced)):
        assert punctuation_findings(texts, references) == []


def test_inspect_says_so(tmp_path, capsys):
    rows = [
        {"id": f"s{i}", "references": ["A house, here."], "hypotheses": [
            {"text": "a house |0-1| here |2-2|", "features": {"s": 0.1 * i}},
            {"text": "the house", "features": {"s": 1}},
        ]} for i in range(6)
    ]  # fmt: skip
    path = tmp_path / "dev.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert main(["inspect", str(path), "-m", "wer"]) == 0
    out = capsys.readouterr().out
    assert "! 6 of 12 hypotheses have segmentation marks of Moses (-t)" in out
    assert "have punctuation: --normalize punct or basic" in out
    assert main(["inspect", str(path), "-m", "wer", "--normalize", "basic"]) == 0
    assert "have punctuation" not in capsys.readouterr().out
