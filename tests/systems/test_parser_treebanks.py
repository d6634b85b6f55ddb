"""The parser on real treebanks, where NBEST_DATA points to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbest.decisions import oracle
from nbest.formats.conllu import read_conllu
from nbest.metrics import LAS
from nbest.systems.parser.train import train_parser

pytestmark = pytest.mark.data


@pytest.mark.parametrize("name", ["nl_lassysmall_r1.4", "sl_ssj500k_babushka", "bg_btb_devtest"])
def test_a_few_sentences_teach_much(data: Path, name: str) -> None:
    folder = data / "treebanks" / name
    part = "dev" if name.startswith("bg") else "train"
    bank, test = ([s for s in read_conllu(folder / f"{p}.conllu.xz") if len(s) <= 20] for p in (part, "test"))
    parser = train_parser(bank[:300], epochs=4, arc_bits=16, label_bits=12)
    found = parser.lists(test[:100], 50).with_metric(LAS())
    first, best = found.score(found.offsets[:-1]), found.score(oracle(found))
    assert first > 55  # percent of words with the right head and relation
    assert best > first + 5
