"""Tokens of translators: their text, and sums of log-probabilities out of scores that were divided by the length."""

from __future__ import annotations

from collections.abc import Sequence

ENDS = frozenset({"</s>", "<eos>", "<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|end|>"})
"""Tokens that end a sentence."""
_SPECIAL = ENDS | {"<s>", "<pad>"}
LONGEST = 256
"""The most tokens that CTranslate2 translates into, if it is not told otherwise."""


def joined(tokens: Sequence[str]) -> str:
    """The text of tokens: of SentencePiece (`▁a ▁hou se`), of BPE (`hou@@ se`), or words."""
    words = [token for token in tokens if token not in _SPECIAL]
    if any("▁" in word for word in words):
        return "".join(words).replace("▁", " ").strip()
    if any("Ġ" in word for word in words):
        return "".join(words).replace("Ġ", " ").strip()
    return " ".join(words).replace("@@ ", "")


def scored_length(tokens: Sequence[str], longest: int) -> int:
    """How many tokens CTranslate2 has scored: the end of the sentence too, which it does not return unless asked to.
    Only a hypothesis that was cut at `longest` tokens has no end."""
    ended = bool(tokens) and tokens[-1] in ENDS
    return len(tokens) + (not ended and len(tokens) < longest)


def raw_sum(score: float, length: int, length_penalty: float) -> float:
    """The sum that `score = sum / length^length_penalty` was made of."""
    return score * float(length) ** length_penalty
