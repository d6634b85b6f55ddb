"""The labels that arcs may have, against those of a treebank counted in plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.systems.parser.labels import arc_options
from nbest.systems.parser.train import train_parser
from nbest.systems.parser.trees import projective
from tests.systems.parser_brute import sentence, treebank

Arc = tuple[str, str, bool, str]  # tags of head and dependent, whether the dependent follows, label


def arcs_of(bank: list) -> set[Arc]:
    out = set()
    for one in bank:
        for d, (h, label) in enumerate(zip(projective(one.heads), one.deprels, strict=True), 1):
            out.add((one.upos[h - 1] if h else "ROOT", one.upos[d - 1], h < d, label))
    return out


def expected(arcs: set[Arc], head: str, dependent: str, after: bool) -> set[str]:
    """Those seen; or with any other head, of the same kind; or any."""
    below = {arc for arc in arcs if (arc[0] == "ROOT") == (head == "ROOT")}
    for wanted in (
        [arc for arc in below if arc[:3] == (head, dependent, after)],
        [arc for arc in below if arc[1:3] == (dependent, after) and head != "ROOT"],
        below,
        arcs,
    ):
        if wanted:
            return {arc[3] for arc in wanted}
    raise AssertionError("no arcs at all")


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 5))
def test_options_are_those_seen_and_never_none(seed: int, sentences: int, longest: int) -> None:
    bank = treebank(seed, sentences, longest)
    parser = train_parser(bank, arc_bits=4, label_bits=3, epochs=1, threads=1)
    arcs = arcs_of(bank)
    one = sentence(np.random.default_rng(seed), 6)
    one = one.with_column("upos", [*one.upos[:5], "new"])
    _, _, tags = parser.vocabulary.encode([one])
    offsets, labels = arc_options(tags, parser.options, parser.vocabulary.tag_count)
    for h in range(7):
        for d in range(1, 7):
            found = labels[offsets[h * 6 + d - 1] : offsets[h * 6 + d]].tolist()
            assert found == sorted(set(found))
            tag = "ROOT" if h == 0 else one.upos[h - 1]
            wanted = expected(arcs, tag, one.upos[d - 1], h < d) if h != d else set()
            assert {parser.labels[k] for k in found} == wanted
