"""What the extractor of Moses leaves for its tuners (`run1.features.dat`, FEATSTAT), and its statistics of scores.

    FEATURES_TXT_BEGIN_0 0 2 3 LM0_0 TM0_0 TM0_1        segment, hypotheses, dense features, their names
    -1.75 -1.38 -2.19 pp_a=1                            values, then sparse ones
    FEATURES_TXT_END_0

    SCORES_TXT_BEGIN_0 0 2 9 BLEU                       segment, hypotheses, numbers each, of which metric
    3 4 1 3 0 2 0 1 4                                   correct and total of each order, length of the reference
    SCORES_TXT_END_0

There are no texts: the statistics are those of the file, and no other metric can be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nbest.base.errors import FormatError
from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.corpus.metric import Metric
from nbest.formats.lists.base import Format, lines_of, number, shown
from nbest.formats.lists.builder import Builder
from nbest.metrics import BLEU, TER

_FEATURES, _SCORES = "FEATURES", "SCORES"
_SIBLINGS = (("features", "scores"), ("FEATSTAT", "SCORESTAT"), ("feats", "scores"))


def read_moses_stats(path: str | Path, *, data: bytes | None = None, scores: str | Path | None = None) -> NBest:
    """Read features and, from `scores`, statistics; by default those of the file of that name with `scores` for
    `features` (SCORESTAT for FEATSTAT), where there is one.

    A dense feature `Name_0` without a `Name_1` is called `Name`, as in n-best lists. BLEU and TER are known.
    """
    builder, owners = Builder(path), list[str]()
    for block in _blocks(path, lines_of(path, data, "FEATURES_TXT_BEGIN_0"), _FEATURES):
        if len(block.rest) != block.width:
            what = f"{len(block.rest)} names for {block.width} features"
            raise FormatError(path, block.line, what)
        names = _short(block.rest)
        for line, text in block.rows:
            dense, sparse = _values(path, line, text.split(), names)
            builder.hypothesis(block.segment, None, dense, line, sparse)
            owners.append(block.segment)
    corpus = builder.build()
    where = _sibling(path) if scores is None else Path(scores)
    if where is None:
        return corpus
    stats, metric = _statistics(where, owners)
    return replace(corpus, stats=stats if corpus.positions is None else stats[corpus.positions], metric=metric)


@dataclass(frozen=True)
class _Block:
    """The lines of a segment, and what stands before them."""

    line: int
    segment: str
    width: int
    rest: list[str]  # names of features, or of the metric
    rows: list[tuple[int, str]]


def _blocks(path: str | Path, lines: list[str], kind: str) -> Iterator[_Block]:
    begin, end = f"{kind}_TXT_BEGIN_0", f"{kind}_TXT_END_0"
    at = 0
    while at < len(lines):
        words = lines[at].split()
        if words[:1] == [f"{kind}_BIN_BEGIN_0"]:
            raise FormatError(path, at + 1, "is binary; let extractor write text (without --binary)")
        if (
            words[:1] != [begin]
            or len(words) < 4
            or not all(word.isdecimal() and len(word) < 10 for word in words[2:4])
        ):
            raise FormatError(path, at + 1, f"expected {begin!r}, a segment and two numbers, got {shown(lines[at])}")
        count, width = map(int, words[2:4])
        inside = range(at + 1, min(at + 1 + count, len(lines)))
        for i in inside:
            if lines[i].split()[:1] in ([begin], [end]):
                raise FormatError(path, i + 1, f"expected {count} lines of segment {words[1]}, got {i - at - 1}")
        after = at + 1 + count
        if after >= len(lines) or lines[after].split() != [end]:
            got = shown(lines[after]) if after < len(lines) else "the end of the file"
            raise FormatError(path, min(after + 1, len(lines)), f"expected {end!r} after {count} lines, got {got}")
        yield _Block(at + 1, words[1], width, words[4:], [(i + 1, lines[i]) for i in inside])
        at = after + 1


def _short(names: list[str]) -> list[str]:
    """`Name` for a `Name_0` that has no `Name_1`."""
    known = set(names)
    alone = [name.endswith("_0") and f"{name[:-2]}_1" not in known and name[:-2] not in known for name in names]
    return [name[:-2] if one else name for name, one in zip(names, alone, strict=True)]


def _values(
    path: str | Path, line: int, words: list[str], names: list[str]
) -> tuple[dict[str, float], dict[str, float]]:
    if len(words) < len(names):
        raise FormatError(path, line, f"expected {len(names)} values, got {len(words)}")
    dense = {name: number(path, line, f"feature {name!r}", word) for name, word in zip(names, words, strict=False)}
    if len(dense) < len(names):
        raise FormatError(path, line, "two features have the same name")
    sparse: dict[str, float] = {}
    for word in words[len(names) :]:
        name, equals, value = word.rpartition("=")
        if not equals or not name:
            raise FormatError(path, line, f"expected a sparse feature 'name=value', got {shown(word)}")
        if name in sparse:
            raise FormatError(path, line, f"feature {name!r} is named twice in one hypothesis")
        sparse[name] = number(path, line, f"feature {name!r}", value)
    return dense, sparse


def _sibling(path: str | Path) -> Path | None:
    name = Path(path).name
    found = [Path(path).with_name(name.replace(own, other)) for own, other in _SIBLINGS if own in name]
    return next((each for each in found if str(path) != "-" and each.is_file()), None)


# statistics -------------------------------------------------------------------------------------------------------


def _bleu(values: Floats) -> Floats:
    """hyp_len, ref_len, correct and total of each order: ours, from Moses' correct, total, ..., ref_len."""
    return np.column_stack([values[:, 1], values[:, 8], values[:, 0:8:2], values[:, 1:8:2]])


def _ter(values: Floats) -> Floats:
    """Edits and length of the reference, both times 100 there."""
    return values[:, :2] / 100.0


_METRICS: dict[str, tuple[int, Callable[[], Metric], Callable[[Floats], Floats]]] = {
    "BLEU": (9, lambda: BLEU(tokenize="none"), _bleu),
    "TER": (3, TER, _ter),
}


def _statistics(path: Path, owners: list[str]) -> tuple[Floats, Metric]:
    """[H, M] the statistics of each hypothesis of the features, in their order, and their metric."""
    values, metric = dict[tuple[str, int], list[float]](), ""
    sizes: dict[str, int] = {}
    for block in _blocks(path, lines_of(path, None, "SCORES_TXT_BEGIN_0"), _SCORES):
        metric = metric or " ".join(block.rest)
        width = _METRICS[metric][0] if metric in _METRICS else 0
        if " ".join(block.rest) != metric or block.width != width:
            known = " and ".join(f"{name} of {each[0]} numbers" for name, each in _METRICS.items())
            raise FormatError(path, block.line, f"expected {known}, got {' '.join(block.rest)!r} of {block.width}")
        first = sizes.get(block.segment, 0)
        for k, (line, text) in enumerate(block.rows, first):
            words = text.split()
            if len(words) != width:
                raise FormatError(path, line, f"expected {width} numbers, got {len(words)}")
            values[block.segment, k] = [number(path, line, "a statistic", word) for word in words]
        sizes[block.segment] = first + len(block.rows)
    numbered = _numbered(owners)
    odd = next((key for key in numbered if key not in values), None)
    if odd is not None or len(values) != len(owners):
        what = f"{len(values)} hypotheses, and the features are of {len(owners)}"
        where = "" if odd is None else f"; the first that is missing is {odd[1]} of segment {odd[0]!r}"
        raise FormatError(path, None, what + where)
    _, make, turned = _METRICS[metric]
    return turned(np.array([values[key] for key in numbered])), make()


def _numbered(owners: list[str]) -> list[tuple[str, int]]:
    """The segment of each hypothesis, and its number there, which goes on where a segment has several blocks."""
    seen: dict[str, int] = {}
    found = []
    for segment in owners:
        found.append((segment, seen.setdefault(segment, 0)))
        seen[segment] += 1
    return found


FORMAT = Format(
    name="moses-stats",
    read=read_moses_stats,
    write=None,
    sniff=lambda path, head: head.removeprefix(b"\xef\xbb\xbf").startswith(
        (b"FEATURES_TXT_BEGIN", b"FEATURES_BIN_BEGIN")
    ),
    suffixes=(".features.dat", "FEATSTAT"),
    summary="features and statistics that the extractor of Moses writes",
    example={
        "run1.features.dat": "FEATURES_TXT_BEGIN_0 0 2 3 LM0_0 TM0_0 TM0_1 \n-1.75 -1.38 -2.19 pp_a=1 \n-2 -1 0 \n"
        "FEATURES_TXT_END_0\nFEATURES_TXT_BEGIN_0 1 1 3 LM0_0 TM0_0 TM0_1 \n-1e-3 .5 -2 pp_b=2 \nFEATURES_TXT_END_0\n",
        "run1.scores.dat": "SCORES_TXT_BEGIN_0 0 2 9 BLEU\n3 4 1 3 0 2 0 1 4 \n4 4 3 3 2 2 1 1 4 \nSCORES_TXT_END_0\n"
        "SCORES_TXT_BEGIN_0 1 1 9 BLEU\n1 2 0 1 0 0 0 0 3 \nSCORES_TXT_END_0\n",
    },
)
