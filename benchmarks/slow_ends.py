"""What used to be slow, against a plain version or a peer in the same run, with the equality that is kept."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.language_model import _texts
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.corpus import Forests, Texts, intern
from nbest.formats.forests import slf
from nbest.lm.arpa_write import write_arpa
from nbest.lm.estimate import KneserNey
from nbest.lm.model import LanguageModel
from nbest.lm.query import lm_arrays, sentence_logprob
from nbest.metrics import TER

T = TypeVar("T")


def main() -> None:
    """Print processor seconds, ratios and equalities."""
    for part in (_ter, _slf, _language_model):
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
    print(f"{what}: {ours:.4f} s of processor, against {theirs:.3f} s: {theirs / ours:.2f} times as fast; {same}")


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


# language models -------------------------------------------------------------------------------------------------


def _language_model() -> None:
    """Whole texts, running ones and such as lists have; against one sentence at a time, and kenlm if there is one."""
    train, test = _texts()
    model = KneserNey(4).fit(train)
    rng = np.random.default_rng(1)
    alike = []
    for text in list(test)[:200]:
        words = np.array(text.split() or ["."])
        alike += [" ".join(np.where(rng.random(len(words)) < 0.1, rng.choice(words), words)) for _ in range(50)]
    for name, texts in (("running text", test), ("lists", Texts.of(alike))):
        ours, found = busy(lambda texts=texts: model.score(texts, threads=1), 9)  # type: ignore[misc]
        theirs, plain = busy(lambda texts=texts: _one_by_one(model, texts), 5)  # type: ignore[misc]
        gap = np.abs(plain - found.logprobs).max()
        _told(f"language model, {name}, one sentence at a time", ours, theirs, f"largest difference {gap:.0e}")
        _peer(model, f"language model, {name}, kenlm", texts, found.logprobs)


def _one_by_one(model: LanguageModel, texts: Texts) -> np.ndarray:
    (words,), vocabulary = intern(texts)
    return _sums(lm_arrays(model), words.offsets, model.ids(vocabulary)[words.ids])


@kernel
def _sums(arrays, offsets, ids):
    out = np.empty(len(offsets) - 1)
    for h in range(len(out)):
        out[h] = sentence_logprob(arrays, ids[offsets[h] : offsets[h + 1]], offsets[h + 1] - offsets[h])
    return out


def _peer(model: LanguageModel, what: str, texts: Texts, logprobs: np.ndarray) -> None:
    try:
        import kenlm
    except ImportError:
        return
    with tempfile.TemporaryDirectory() as folder:
        write_arpa(model, Path(folder) / "m.arpa")
        other = kenlm.Model(str(Path(folder) / "m.arpa"))
    lines = [" ".join(text.split()) for text in texts]
    ours = theirs = float("inf")
    for _ in range(9):  # in turn, as other work on the machine comes and goes
        theirs = min(theirs, (took := busy(lambda: [other.score(line) for line in lines], 1))[0])
        ours = min(ours, busy(lambda: model.score(texts, threads=1), 1)[0])
    found = took[1]
    gap = np.abs(np.array(found) * np.log(10) - logprobs).max()
    _told(what, ours, theirs, f"largest difference {gap:.0e} (it adds in single precision)")
