"""Dependency trees: as texts, checked, and made projective by lifting."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nbest.base.errors import FormatError, ParameterError
from nbest.formats.conllu import NO_HEAD, Sentence
from nbest.formats.lists.base import shown


def text_of(heads: Sequence[int], deprels: Sequence[str]) -> str:
    """A tree as a text: `head:deprel` for each word in turn."""
    return " ".join(f"{head}:{deprel}" for head, deprel in zip(heads, deprels, strict=True))


def tree_of(text: str) -> tuple[list[int], list[str]]:
    """Heads and relations of a text; the first colon of a word parts them."""
    parts = [word.partition(":") for word in text.split()]
    if any(not head.isascii() or not head.isdecimal() or len(head) > 9 or not deprel for head, _, deprel in parts):
        raise ParameterError(f"a tree is a row of words such as 2:det 0:root, got {shown(text)}")
    return [int(head) for head, _, _ in parts], [deprel for _, _, deprel in parts]


def fault(heads: Sequence[int], deprels: Sequence[str]) -> tuple[int, str] | None:
    """The first word (from 0) that keeps heads from being a tree with one root word, and what is wrong; or None."""
    for at, (head, deprel) in enumerate(zip(heads, deprels, strict=True)):
        if head == NO_HEAD or deprel == "_":
            return at, "the word has no head or no relation; a parser is trained on whole trees"
        if not 0 <= head <= len(heads):
            return at, f"the head of the word must be 0 to {len(heads)}, got {head}"
    roots = [at for at, head in enumerate(heads) if head == 0]
    if len(roots) != 1 and heads:
        return (roots[1] if roots else 0), f"exactly one word of a sentence must have head 0, got {len(roots)}"
    state = [0] * len(heads)  # 0 not met, otherwise by the walk from which word, from 1
    for start in range(len(heads)):
        at = start
        while at >= 0 and state[at] == 0:
            state[at] = start + 1
            at = heads[at] - 1
        if at >= 0 and state[at] == start + 1:
            return at, "the word is its own ancestor; heads must form a tree"
    return None


def check_trees(sentences: Sequence[Sentence], path: str | Path | None = None) -> None:
    """Raise at the first sentence whose heads are no tree: with `path` and line, or with its number."""
    for number, sentence in enumerate(sentences, 1):
        found = fault(sentence.heads, sentence.deprels)
        if found is None:
            continue
        if path is not None:
            raise FormatError(path, sentence.line_of(found[0]), found[1])
        raise ParameterError(f"word {found[0] + 1} of sentence {number}: {found[1]}")


def crossings(heads: Sequence[int]) -> list[int]:
    """Words (from 1) whose arc is not projective: a word between it and its head is no descendant of the head."""
    out = []
    for dependent, head in enumerate(heads, 1):
        for between in range(min(dependent, head) + 1, max(dependent, head)):
            at = between
            while at not in (0, head):
                at = heads[at - 1]
            if at != head:
                out.append(dependent)
                break
    return out


def projective(heads: Sequence[int]) -> tuple[int, ...]:
    """The heads with arcs lifted until all are projective, the shortest first (ties: the leftmost dependent).

    Nivre & Nilsson (2005), ACL 99-106; labels stay as they are. A tree that is projective is left as it is.
    """
    out = list(heads)
    while crossed := crossings(out):
        word = min(crossed, key=lambda d: (abs(d - out[d - 1]), d))
        out[word - 1] = out[out[word - 1] - 1]
    return tuple(out)
