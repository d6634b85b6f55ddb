"""What used to be slow, against a plain version or a peer in the same run, with the equality that is kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from nbest.compute import segments
from nbest.corpus import Forests, Texts
from nbest.formats.forests import slf
from nbest.metrics import TER

T = TypeVar("T")


def main() -> None:
    """Print processor seconds, ratios and equalities."""
    for part in (_ter, _slf):
        part()


def busy(function: Callable[[], T], repeats: int = 3) -> tuple[float, T]:
    """The least processor time of some calls after a first one, which compiles; and what the last one returned."""
    result, best = function(), float("inf")
    for _ in range(repeats):
        begin = time.process_time()
        result = function()
        best = min(best, time.process_time() - begin)
    return best, result


def _told(what: str, ours: float, theirs: float, same: str) -> None:
    print(f"{what}: {ours:.3f} s of processor, against {theirs:.2f} s: {theirs / ours:.1f} times faster; {same}")


# translation edit rate -------------------------------------------------------------------------------------------


def _ter(sentences: int = 150, references: int = 4) -> None:
    """150 sentences of 8 to 38 words with two hypotheses and four references, edits and shifts of one text."""
    rng = np.random.default_rng(1)
    texts, groups = [], []
    for _ in range(sentences):
        base = np.minimum(rng.zipf(1.3, int(rng.integers(8, 39))), 5000)
        texts += [_edited(rng, base) for _ in range(2)]
        groups.append([_edited(rng, base) for _ in range(references)])
    offsets = segments.offsets_of(np.full(sentences, 2))
    ours, found = busy(lambda: TER().stats(Texts.of(texts), offsets, groups))
    begin = time.process_time()
    plain = _plain_ter(texts, groups)
    theirs = time.process_time() - begin
    same = "equal statistics" if np.array_equal(plain, found) else "STATISTICS DIFFER"
    _told(f"TER, {sentences} x 2 x {references} references, sacrebleu", ours, theirs, same)


def _edited(rng: np.random.Generator, words: np.ndarray) -> str:
    """A text of these words after a quarter of them were changed and one block shifted."""
    words = np.where(rng.random(len(words)) < 0.25, rng.zipf(1.3, len(words)) % 5000, words)
    low, high = sorted(rng.integers(0, len(words), 2))
    words = np.concatenate([words[:low], np.roll(words[low:high], 3), words[high:]])
    return " ".join(f"w{word}" for word in words)


def _plain_ter(texts: list[str], groups: list[list[str]]) -> np.ndarray:
    from sacrebleu.metrics import ter

    peer = ter.TER()
    known = [peer._extract_reference_info([peer._preprocess_segment(text) for text in group]) for group in groups]
    lines = [peer._preprocess_segment(text) for text in texts]
    return np.array([peer._compute_segment_statistics(line, known[at // 2]) for at, line in enumerate(lines)])


# lattices --------------------------------------------------------------------------------------------------------


def _slf() -> None:
    """A lattice of 100,000 links and one of 2,000, with two scores of 6 or 17 digits."""
    for links, digits in ((100_000, 6), (100_000, 17), (2_000, 6)):
        data = _lattice(links, digits)
        ours, found = busy(lambda data=data: slf.read_slf("u.slf", data=data), 5)  # type: ignore[misc]
        regular, slf.regular_lattice = slf.regular_lattice, lambda *rest: None  # type: ignore[assignment]
        theirs, plain = busy(lambda data=data: slf.read_slf("u.slf", data=data), 2)  # type: ignore[misc]
        slf.regular_lattice = regular
        same = "equal forests" if _same(found, plain) else "FORESTS DIFFER"
        _told(
            f"SLF, {links} links, {digits} digits, reader by lines", ours, theirs, f"{links / ours:.0f} links/s, {same}"
        )


def _lattice(links: int, digits: int) -> bytes:
    rng = np.random.default_rng(1)
    nodes = links // 6
    starts = np.append(np.arange(nodes - 1), rng.integers(0, nodes - 1, links - nodes + 1))
    ends = np.append(
        np.arange(1, nodes), np.minimum(starts[nodes - 1 :] + rng.integers(1, 6, links - nodes + 1), nodes - 1)
    )
    words, scores = rng.zipf(1.3, links) % 5000, rng.normal(scale=100, size=(links, 2))
    lines = ["VERSION=1.0", "lmscale=12 wdpenalty=-5", f"start=0 end={nodes - 1}", f"N={nodes} L={links}"]
    lines += [f"I={node} t={node / 100:.2f}" for node in range(nodes)]
    rows = zip(starts, ends, words, *scores.T, strict=True)
    lines += [
        f"J={k} S={s} E={e} W=w{w} v=1 a={a:.{digits}g} l={b:.{digits}g}" for k, (s, e, w, a, b) in enumerate(rows)
    ]
    return "\n".join(lines).encode()


def _same(one: Forests, other: Forests) -> bool:
    arrays = ("features", "tails", "edge_offsets", "tail_offsets", "symbols", "symbol_offsets")
    return one.vocabulary == other.vocabulary and all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in arrays
    )
