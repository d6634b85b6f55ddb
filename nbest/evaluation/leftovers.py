"""What decoders and tokenisers leave in texts, and references do not have: marks, pieces of words, escapes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_SHARE = 0.5  # of what hypotheses have, that references have where both were made in the same way
_DIFFER = 0.3  # share of texts by which two sides differ
_NONE = 0.05  # share of texts that are exceptions
_AROUND = 12  # characters shown on each side of an example


class Leftover(NamedTuple):
    """Something that does not belong into a text, how it looks, and what to do."""

    what: str
    pattern: re.Pattern[str]
    remedy: str


LEFTOVERS = tuple(
    Leftover(what, re.compile(pattern), remedy)
    for what, pattern, remedy in (
        ("segmentation marks of Moses (-t)", r"\|[0-9]+-[0-9]+\|", "remove them: sed -E 's/ *[|][0-9]+-[0-9]+[|]//g'"),
        ("marks of unknown words of Moses", r"\|UNK\b", "decode without -mark-unknown"),
        ("pieces of words joined by @@", r"@@(?=\s|$)", "join them: sed -E 's/@@( |$)//g'"),
        ("pieces of SentencePiece", "\u2581", "join them: spm_decode, or sed 's/ //g; s/\u2581/ /g'"),
        ("pieces of WordPiece (##)", r"(?<!\S)##\w", "join them: sed 's/ ##//g'"),
        ("pieces of byte-level BPE", "[\u0120\u010a](?=\\w)", "decode them with their tokeniser"),
        ("special tokens", r"</?s>|<(?:pad|eos|bos|sos|sos/eos|blank|space)>|<\|[^|<>\s]{1,40}\|>|\[(?:SEP|CLS|PAD)\]",
         "remove them; they count as words"),
        ("unknown words", r"(?i:<unk>)|\u2047", "they can never be right; look for a model with a larger vocabulary"),
        ("hyphens of the Moses tokeniser (@-@)", r"@[-/,.]@", "detokenise: sacremoses detokenize"),
        ("escapes of XML or Moses", r"&(?:quot|apos|amp|lt|gt|bar|bra|ket|nbsp|#[0-9]{1,6}|#x[0-9a-fA-F]{1,6});",
         "detokenise, or unescape them"),
        ("thoughts of a language model", r"</?(?:think|thinking|reasoning)>",
         "compare answers only (--answer), or remove them"),
        ("characters decoded twice", "[ÃÂ][\u0080-\u00bf]|â€", "UTF-8 was taken for Latin-1: convert it again"),
        ("characters that could not be decoded", "\ufffd", "read the file in its own encoding"),
    )
)  # fmt: skip
"""What is looked for, in this order."""

_PUNCTUATION = re.compile(r"\w ?[,.!?;:](?=\s|$)")
_SPACED = re.compile(r"\w [,.!?;:](?=\s|$)")


def leftover_findings(texts: Sequence[str], references: Sequence[str] = (), *, called: str = "hypotheses") -> list[str]:
    """What is left in texts and, where there are references, not in these."""
    whole, others = "\n".join(texts), "\n".join(references)
    found = []
    for each in LEFTOVERS:
        first = each.pattern.search(whole)
        if first is None:
            continue
        count = sum(map(bool, map(each.pattern.search, texts)))
        same = sum(map(bool, map(each.pattern.search, references))) if each.pattern.search(others) else 0
        if references and same / len(references) >= _SHARE * count / len(texts):
            continue
        example = _example(whole, first)
        found.append(f"{count} of {len(texts)} {called} have {each.what}, as in {example!r}: {each.remedy}")
    return found


def _example(whole: str, found: re.Match[str]) -> str:
    """What was found with the words around it, of its own line."""
    begin = max(found.start() - _AROUND, whole.rfind("\n", 0, found.start()) + 1)
    end = whole.find("\n", found.end())
    return whole[begin : min(found.end() + _AROUND, len(whole) if end < 0 else end)]


def punctuation_findings(texts: Sequence[str], references: Sequence[str]) -> list[str]:
    """Whether only one side has punctuation, or spaces before it."""
    if not texts or not references:
        return []
    any_own, any_theirs = (_share(_PUNCTUATION, each) for each in (texts, references))
    if min(any_own, any_theirs) < _NONE and max(any_own, any_theirs) > 1 - _DIFFER:
        return [
            f"{100 * any_own:.0f} % of hypotheses and {100 * any_theirs:.0f} % of references have punctuation: "
            "--normalize punct or basic compares texts without it"
        ]
    own, theirs = (_share(_SPACED, each) for each in (texts, references))
    if min(any_own, any_theirs) < _DIFFER or abs(own - theirs) < _DIFFER or min(own, theirs) > _NONE:
        return []
    return [
        f"{100 * own:.0f} % of hypotheses and {100 * theirs:.0f} % of references have a space before punctuation: "
        "tokenise both or none"
    ]


def _share(pattern: re.Pattern[str], texts: Sequence[str]) -> float:
    return sum(map(bool, map(pattern.search, texts))) / len(texts)
