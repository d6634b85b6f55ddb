"""Names of weights and of features: which may be missing, and which are misspelt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches

from nbest.corpus import NBest

_ALIKE = 0.75  # share of letters from which two names may be one, misspelt
_SEPARATOR = re.compile(r"[_:=~|/ ]")  # ends the kind of a sparse feature: pp_a, 2:a b
_DIGITS = re.compile(r"[0-9]+")


def they_have(names: Sequence[str], name: str) -> str:
    """What features there are, and which of them may be meant by a name that is not among them."""
    near = get_close_matches(name, names, n=1)
    return f"they have {', '.join(names) or 'none'}" + (f"; did you mean {near[0]!r}?" if near else "")


def misspelt(names: Sequence[str], unused: Sequence[str]) -> list[str]:
    """The names that look like one of `unused`, features without a weight, written otherwise."""
    return [name for name in names if any(_alike(name, other) for other in unused)]


def _alike(name: str, other: str) -> bool:
    """LM and LM0 may be one; LM0 and LM1, or pp_a and pp_b, are two features of one kind."""
    first, second = name.casefold(), other.casefold()
    if first == second or first[:1] != second[:1] or abs(len(first) - len(second)) > 2:
        return first == second
    numbers = [_DIGITS.sub("0", each) for each in (first, second)]
    if _kind(first) == _kind(second) != "" or numbers[0] == numbers[1]:
        return False
    return SequenceMatcher(None, first, second).ratio() >= _ALIKE


def not_sparse(names: Sequence[str], corpus: NBest, weights: Mapping[str, float]) -> list[str]:
    """Names that no feature of the lists has and that are no sparse features which these lists happen to lack.

    Sparse names begin as one of the lists' sparse names does (`2:a b` as `2:c d`), or have a `_` in them, as in Moses,
    and begin as no dense one does; and they are not a dense feature, which has no weight, misspelt.
    """
    if not names:
        return []
    sparse, dense = ({_kind(name) for name in known} for known in (corpus.sparse_names, corpus.feature_names))
    wrong = set(misspelt(names, [name for name in corpus.feature_names if name not in weights]))
    fitting = {name for name in names if _kind(name) and (_kind(name) in sparse or "_" in name)}
    return [name for name in names if name in wrong or name not in fitting or _kind(name) in dense - sparse]


def _kind(name: str) -> str:
    """What stands before the first separator; nothing where there is none."""
    kind, *rest = _SEPARATOR.split(name, maxsplit=1)
    return kind if rest else ""
