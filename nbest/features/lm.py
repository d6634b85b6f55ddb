"""Columns of an n-gram language model: how likely a hypothesis is as a sentence of the language."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nbest.base.errors import CapabilityError, FormatError, ParameterError
from nbest.base.files import reason_of
from nbest.corpus import NBest, Texts
from nbest.features.paths import checksum, need_plain
from nbest.features.recipes import record

if TYPE_CHECKING:
    from nbest.lm.model import LanguageModel

_ROWS = 20_000  # hypotheses, at most, whose words are counted


def lm(corpus: NBest, path: str, sha256: str = "", name: str = "lm", wanted: str = "") -> NBest:
    """Adds `name` and `name_oov`: log p of each hypothesis with its end, and its words that the model does not know.

    Words of probability 0 (unknown ones, where the model has no <unk>) count in `name_oov` only. `path` is a language
    model, ARPA or .nlm, relative to the current folder; `sha256` is what its checksum must be, if given. Without a
    path, `wanted` is the one that a loaded model asks for and that nobody has given.
    """
    _need_texts(corpus)
    if not path and wanted:
        raise CapabilityError(
            f"the model's feature {name!r} needs the language model {wanted}, which is not in the model's folder; "
            "name it if you trust the model (nbest rerank --lm FILE, files= of nbest.load), or put it there"
        )
    file = Path(str(path))
    if sha256 and checksum(file) != sha256:
        raise FormatError(file, None, "is another language model than the one this recipe was made with")
    added = add_lm(corpus, _load(str(file), _stamp(file)), name)
    return record(corpus, added, "lm", path=str(file), sha256=sha256 or checksum(file), name=name)


def add_lm(
    corpus: NBest,
    model: LanguageModel,
    name: str = "lm",
    *,
    threads: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> NBest:
    """The lists with the columns `name` and `name_oov` of this model, in place of any of the same names."""
    texts = _need_texts(corpus)
    scores = model.score(texts, threads, progress)
    names = (name, f"{name}_oov")
    oov = scores.zero + (scores.unknown if np.isfinite(model.logprobs[0]) else 0.0)
    return corpus.without_features(names).with_features(names, np.stack([scores.logprobs, oov], axis=1))


def unknown_words(corpus: NBest, name: str = "lm") -> tuple[int, int]:
    """How many words of the hypotheses the language model of these columns does not know, and of how many; of many
    hypotheses some are looked at, spread over all."""
    texts, step = _need_texts(corpus), -(-corpus.hypotheses // _ROWS) or 1
    rows = range(0, corpus.hypotheses, step)
    return int(corpus.column(f"{name}_oov")[::step].sum()), sum(len(texts[row].split()) for row in rows)


def lm_recipe(corpus: NBest, path: str = "", name: str = "lm") -> dict[str, Any]:
    """The recipe of `lm` for the language model in this file, with its checksum."""
    if not path:
        raise ParameterError("the feature 'lm' needs the option 'path', a language model: lm:path=lm.nlm")
    return {"kind": "lm", "path": str(path), "sha256": checksum(Path(str(path))), "name": str(name)}


def _need_texts(corpus: NBest) -> Texts:
    if corpus.texts is None:
        raise CapabilityError("the feature 'lm' needs the texts of the hypotheses and these lists carry none")
    return corpus.texts


def _stamp(path: Path) -> tuple[int, int]:
    """What changes when a file does."""
    try:
        need_plain(path)
        found = path.stat()
    except (OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(path, None, f"cannot be read: {reason_of(error)}") from None
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=2)
def _load(path: str, stamp: tuple[int, int]) -> LanguageModel:
    from nbest.lm.file import load_lm

    return load_lm(path)
