"""Tokens of translators: their text, and sums of log-probabilities out of scores that were divided by the length."""

from __future__ import annotations

import re
import warnings
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from nbest.base.errors import FormatWarning, look_up, shown

ENDS = frozenset(
    {"</s>", "<eos>", "<|endoftext|>", "<|end_of_text|>", "<|im_end|>", "<|eot_id|>", "<|end|>", "<end_of_turn>"}
    | {"<\uff5cend▁of▁sentence\uff5c>"}
)
"""Tokens that end a sentence."""
LONGEST = 256
"""The most tokens that CTranslate2 translates into, if it is not told otherwise."""
_SPECIAL = ENDS | {"<s>", "<pad>"}
_OWN = [*range(33, 127), *range(161, 173), *range(174, 256)]
_OTHERS = [byte for byte in range(256) if byte not in _OWN]
_BYTE = {chr(byte): byte for byte in _OWN} | {chr(256 + at): byte for at, byte in enumerate(_OTHERS)}
"""The byte that a letter of byte-level BPE stands for: `bytes_to_unicode` of GPT-2, turned round."""
_PIECE = re.compile("<0x([0-9A-Fa-f]{2})>").fullmatch
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]").search
_SHOWS = re.compile("[^!-~]").search


def joined(path: str | Path, hypotheses: Sequence[Sequence[str]], pieces: str = "auto") -> list[str]:
    """The texts of lists of tokens that one tokeniser has made; which one shows in all of them together, or is said.

    `pieces` is "sentencepiece" (`▁a ▁hou se`, `<0xE2>` for bytes), "bytes" (byte-level BPE as of GPT-2: `Ġa Ġhou se`),
    "bpe" (`hou@@ se`) or "words".
    """
    words = [[token for token in tokens if token not in _SPECIAL and not _marked(token)] for tokens in hypotheses]
    join = _JOIN[_kind(path, words)] if pieces == "auto" else look_up(_JOIN, pieces, "kind of pieces")
    return [join(tokens) for tokens in words]


def _marked(token: str) -> bool:
    """Whether a token is one such as `<|en|>`, which is no text."""
    return len(token) > 4 and token.startswith(("<|", "<\uff5c")) and token.endswith(("|>", "\uff5c>"))


def _kind(path: str | Path, hypotheses: Sequence[Sequence[str]]) -> str:
    """What the tokens show: byte-level only where all are of its letters, and most texts make sense so."""
    tokens = set[str]().union(*hypotheses)
    if any("▁" in token or _PIECE(token) for token in tokens):
        return "sentencepiece"
    letters = set("".join(token for token in tokens if not token.isspace()))
    if letters <= _BYTE.keys() and sum(map(_vote, hypotheses)) > 0:
        return "bytes"
    if start := next((token for token in sorted(tokens) if token.startswith("Ġ")), ""):
        why = f"{shown(start)} looks like byte-level BPE and other tokens do not: read as words"
        warnings.warn(f"{path}: {why}; pieces= (--option pieces=bytes) says what they are", FormatWarning, stacklevel=4)
    return "bpe" if any(token.endswith("@@") for token in tokens) else "words"


def _vote(tokens: Iterable[str]) -> int:
    """1 where tokens, read as bytes, are a text that shows it, -1 where they are none, 0 where nothing shows. A text
    that was cut may end within a letter."""
    try:
        text = getincrementaldecoder("utf-8")().decode(b"".join(map(_bytes, tokens)))
    except UnicodeDecodeError:
        return -1
    return -1 if _CONTROL(text) else int(_SHOWS(text) is not None)


@lru_cache(maxsize=100_000)
def _bytes(token: str) -> bytes:
    """Letters stand for bytes; a token with any other letter, one that was added, for itself."""
    return bytes(_BYTE[letter] for letter in token) if _BYTE.keys() >= set(token) else _encoded(token)


def _of_bytes(tokens: Iterable[str]) -> str:
    return _decoded(map(_bytes, tokens))


def _of_sentencepiece(tokens: Iterable[str]) -> str:
    given = ((token, _PIECE(token)) for token in tokens)
    return _decoded(bytes([int(byte[1], 16)]) if byte else _encoded(token.replace("▁", " ")) for token, byte in given)


def _encoded(token: str) -> bytes:
    return token.encode("utf-8", "replace")


def _decoded(parts: Iterable[bytes]) -> str:
    """The text of bytes, without the blank before its first word and those at its end; line breaks stay."""
    return b"".join(parts).decode("utf-8", "replace").removeprefix(" ").rstrip(" ")


def _of_bpe(tokens: Iterable[str]) -> str:
    return " ".join(tokens).replace("@@ ", "")


_JOIN: dict[str, Callable[[Iterable[str]], str]] = {
    "sentencepiece": _of_sentencepiece,
    "bytes": _of_bytes,
    "bpe": _of_bpe,
    "words": " ".join,
}


def scored_length(tokens: Sequence[str], longest: int) -> int:
    """How many tokens CTranslate2 has scored: the end of the sentence too, which it does not return unless asked to.
    Only a hypothesis that was cut at `longest` tokens has no end."""
    ended = bool(tokens) and tokens[-1] in ENDS
    return len(tokens) + (not ended and len(tokens) < longest)


def raw_sum(score: float, length: int, length_penalty: float) -> float:
    """The sum that `score = sum / length^length_penalty` was made of."""
    return score * float(length) ** length_penalty
