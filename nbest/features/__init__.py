"""What adds or measures feature columns.

`FEATURES` maps the kind of a recipe (`{"kind": "length"}`, further keys are options) to the function that adds its
columns; a model keeps the recipes it was trained with and applies them to every corpus it scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

from nbest.base.errors import NbestError, ParameterError, look_up
from nbest.base.late import late_names
from nbest.base.registry import Registry
from nbest.corpus import NBest
from nbest.corpus.contract import C, Corpus, need_corpus, need_lists
from nbest.features.bins import Bins, bins, seed_weights
from nbest.features.lm import lm, lm_recipe
from nbest.features.options import check_options
from nbest.features.texts import agreement, agreement_recipe, answered, frequency, length, rank

if TYPE_CHECKING:
    from nbest.features.kernels.gaussians import GaussianKernels, gaussians
    from nbest.features.kernels.reestimate import reestimate
    from nbest.features.lowdim.feature import lowdim
    from nbest.features.ngrams.feature import ngrams
    from nbest.features.ngrams.pairs import pairs
    from nbest.features.standardise import corpus_scale, within_scale
    from nbest.features.within import places, posterior, standardised

late_names(
    __name__,
    {
        "GaussianKernels": "kernels.gaussians",
        "corpus_scale": "standardise",
        "gaussians": "kernels.gaussians",
        "lowdim": "lowdim.feature",
        "ngrams": "ngrams.feature",
        "pairs": "ngrams.pairs",
        "places": "within",
        "posterior": "within",
        "reestimate": "kernels.reestimate",
        "standardised": "within",
        "within_scale": "standardise",
    },
)

FEATURES: Registry[Callable[..., NBest]] = Registry(
    "feature",
    {
        "agreement": agreement,
        "answered": answered,
        "bins": bins,
        "frequency": frequency,
        "gaussians": "kernels.gaussians:gaussians",
        "length": length,
        "lm": lm,
        "lowdim": "lowdim.feature:lowdim",
        "ngrams": "ngrams.feature:ngrams",
        "pairs": "ngrams.pairs:pairs",
        "places": "within:places",
        "posterior": "within:posterior",
        "rank": rank,
        "standardised": "within:standardised",
    },
    group="nbest.features",
    room=__name__,
)
"""Features that can be added to any lists, by the name used on the command line."""


def _fit_gaussians(corpus: NBest, kernels: int = 64, top: int = 8, seed: int = 1) -> dict[str, Any]:
    from nbest.features.kernels.gaussians import GaussianKernels

    return GaussianKernels(top=top).fit_ml(corpus, kernels, seed=seed)


def _fit_bins(
    corpus: NBest,
    bins: int = Bins.bins,
    soft: bool = Bins.soft,
    features: Sequence[str] | None = None,
    sharpness: float = Bins.sharpness,
    tolerance: float = Bins.tolerance,
) -> dict[str, Any]:
    return Bins(bins, soft, features, sharpness, tolerance).fit(corpus)


FITTED: Registry[Callable[..., dict[str, Any]]] = Registry(
    "feature that is fitted",
    {
        "agreement": agreement_recipe,
        "bins": _fit_bins,
        "gaussians": _fit_gaussians,
        "lm": lm_recipe,
        "lowdim": "lowdim.projections:fit_features",
        "ngrams": "ngrams.feature:ngrams_recipe",
        "pairs": "ngrams.pairs:pairs_recipe",
        "places": "within:places_recipe",
        "posterior": "within:posterior_recipe",
        "standardised": "within:standardised_recipe",
    },
    room=__name__,
)
"""Features whose recipe must be fitted to a corpus first: `(corpus, **options) -> recipe`."""

COMPARING = ("agreement", "answered")
"""Recipes that compare hypotheses with each other: by their answers, where these count."""

RESTRICTED: Registry[Callable[[Mapping[str, Any], Iterable[str]], dict[str, Any]]] = Registry(
    "feature of some names",
    {"ngrams": "ngrams.feature:only_ngrams", "pairs": "ngrams.pairs:only_pairs"},
    room=__name__,
)
"""Features that need only make the columns of some names: `(recipe, names) -> recipe`, whose "columns" say which."""


def restrict_recipes(recipes: Iterable[Mapping[str, Any]], names: Iterable[str]) -> tuple[Mapping[str, Any], ...]:
    """The recipes without the columns that have none of these names, where a recipe can do without."""
    names = list(names)
    return tuple(
        RESTRICTED[recipe["kind"]](recipe, names) if recipe["kind"] in RESTRICTED else recipe for recipe in recipes
    )


def fit_recipes(corpus: Corpus, wanted: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Recipes for this corpus from what is wanted: kinds of `FITTED` are fitted, after the recipes before them."""
    need_corpus("fit_recipes", "corpus", corpus)
    recipes: list[dict[str, Any]] = []
    applied = 0  # those that nothing is fitted after need not be
    for want in wanted:
        lists = _lists(corpus)
        recipe = dict(want)
        if recipe["kind"] in FITTED:
            options = {key: value for key, value in recipe.items() if key != "kind"}
            check_options(recipe["kind"], FITTED[recipe["kind"]], options)
            lists, applied = apply_recipes(lists, recipes[applied:]), len(recipes)
            try:
                recipe = FITTED[recipe["kind"]](lists, **options)
            except TypeError as error:
                raise ParameterError(f"the feature {want['kind']!r} cannot be fitted so: {error}") from None
        check_recipe(recipe)
        corpus = lists
        recipes.append(recipe)
    return tuple(recipes)


def _lists(corpus: Corpus) -> NBest:
    """The lists that columns can be added to; edges of a forest have no whole texts."""
    return need_lists(corpus, "--add computes features of whole texts, which edges of a forest do not have")


def check_recipe(recipe: Mapping[str, Any]) -> None:
    """Complain of a recipe of an unknown kind, with options that it does not have or lacks, or of the wrong kind."""
    function = look_up(FEATURES, recipe["kind"], "feature")
    options = {key: value for key, value in recipe.items() if key != "kind"}
    known = check_options(recipe["kind"], function, options)
    needed = [name for name in known if signature(function).parameters[name].default is Parameter.empty]
    missing = next((name for name in needed if name not in options), None)
    if missing is not None:
        why = "a recipe of this kind must be fitted first"
        raise ParameterError(f"the feature {recipe['kind']!r} needs the option {missing!r}: {why}")


def apply_recipes(corpus: C, recipes: Iterable[Mapping[str, Any]]) -> C:
    """The lists with the columns of these recipes, in their order; they keep the recipes."""
    need_corpus("apply_recipes", "corpus", corpus)
    for recipe in recipes:
        _lists(corpus)
        check_recipe(recipe)
        options = {key: value for key, value in recipe.items() if key != "kind"}
        try:
            added = FEATURES[recipe["kind"]](corpus, **options)
        except (TypeError, ValueError, IndexError, KeyError, OverflowError, AttributeError) as error:
            if isinstance(error, NbestError):
                raise
            raise ParameterError(f"the feature {recipe['kind']!r} cannot be added so: {error}") from error
        corpus = replace(added, recipes=(*corpus.recipes, recipe))  # type: ignore[assignment]
    return corpus


__all__ = [
    "COMPARING",
    "FEATURES",
    "FITTED",
    "RESTRICTED",
    "Bins",
    "GaussianKernels",
    "agreement",
    "answered",
    "apply_recipes",
    "bins",
    "check_recipe",
    "corpus_scale",
    "fit_recipes",
    "frequency",
    "gaussians",
    "length",
    "lm",
    "lowdim",
    "ngrams",
    "pairs",
    "places",
    "posterior",
    "rank",
    "reestimate",
    "restrict_recipes",
    "seed_weights",
    "standardised",
    "within_scale",
]
