"""Features to add as people write them, and the columns of a corpus that are trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbest.base.errors import ParameterError, look_up
from nbest.corpus.contract import C, need_lists
from nbest.features import FEATURES, FITTED, apply_recipes
from nbest.features.options import is_text

Names = str | Sequence[str] | None
Wanted = str | Sequence[Mapping[str, Any]] | None
"""Features to add: as the command line has them (`length,agreement:metric=cer`), or as recipes."""

AUTO = "auto"
"""Stands for the features that left-out lists support (`nbest.trainers.adding`)."""


def wanted(said: Wanted) -> tuple[dict[str, Any], ...]:
    """Recipes, before they are fitted, from `length,agreement` or `agreement:metric=cer,bins:bins=10:soft=true`."""
    if said is not None and not isinstance(said, str):
        return tuple(dict(each) for each in said)
    return tuple(_recipe(part) for part in (said or "").split(",") if part)


def besides_auto(said: Wanted) -> tuple[Wanted, bool]:
    """What is wanted besides `auto`, and whether that is."""
    if isinstance(said, str):
        parts = said.split(",")
        return ",".join(part for part in parts if part != AUTO), AUTO in parts
    recipes = [dict(each) for each in said or ()]
    return [each for each in recipes if each != {"kind": AUTO}], {"kind": AUTO} in recipes


def _recipe(part: str) -> dict[str, Any]:
    kind, *options = part.split(":")
    if kind == AUTO:
        raise ParameterError(f"'auto' has no options, got {part!r}; name the feature whose options you mean")
    look_up(FEATURES, kind, "feature")
    if not all("=" in option for option in options):
        raise ParameterError(f"options of a feature to add are NAME=VALUE, got {part!r}")
    pairs = dict(option.split("=", 1) for option in options)
    if "kind" in pairs:
        raise ParameterError(f"'kind' is no option of a feature to add, got {part!r}; lowdim calls it style")
    makes = FITTED.get(kind, FEATURES[kind])
    return {"kind": kind, **{name: text if is_text(makes, name) else typed(text) for name, text in pairs.items()}}


def typed(text: str) -> Any:
    """A number, true or false, or the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def files_of(said: Wanted) -> list[str]:
    """The files that features to add read."""
    return [str(each["path"]) for each in wanted(besides_auto(said)[0]) if "path" in each]


def columns(
    corpus: C,
    added: Sequence[Mapping[str, Any]] = (),
    only: Names = None,
    drop: Names = None,
) -> C:
    """The corpus with added columns, then only those named, without those dropped."""
    corpus = apply_recipes(corpus, added)
    if only is not None:
        corpus = corpus.only_features(names_in(only))
    dropped = names_in(drop)
    sparse = set(dropped).intersection(corpus.sparse_names)
    for name in dropped:
        if name not in sparse:
            corpus.column(name)
    if sparse:
        corpus = need_lists(corpus, "only lists have sparse features").without_sparse(dropped)  # type: ignore[assignment]
    return corpus.without_features(dropped) if dropped else corpus


def names_in(said: Names) -> list[str]:
    """Names from `NAME,NAME`, or as they are."""
    return [name for name in said.split(",") if name] if isinstance(said, str) else list(said or ())
