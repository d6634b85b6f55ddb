"""`nbest study`: what lists and trainers look like, as data (JSONL) and as a picture (SVG)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from nbest.cli import further
from nbest.cli import options as o
from nbest.cli.studying import StudyCall, load_model, names, numbers, whole

_FURTHER = {"allow_extra_args": True, "ignore_unknown_options": True}  # options of trainers and metrics pass through

app = typer.Typer(
    name="study",
    help="Studies of lists, metrics and trainers: each writes NAME.jsonl (data) and NAME.svg (a picture).",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Output = Annotated[
    str | None, typer.Option("--output", "-o", help="NAME: writes NAME.jsonl and NAME.svg (default: the study's name).")
]
ModelFile = Annotated[
    str | None, typer.Option("--model", help="Model file with the weights of the other features (default: all 0).")
]
Order = Annotated[int, typer.Option("--order", min=1, max=2, help="Order of the expectation of the metric.")]
Heldout = Annotated[list[str] | None, typer.Option("--heldout", help="Held-out lists, scored but not trained on.")]
HeldoutRefs = Annotated[list[str] | None, typer.Option("--heldout-refs", help="Their references.")]
Split = Annotated[
    float, typer.Option("--split", min=0.0, max=0.9, help="Without --heldout: hold this share of the segments out.")
]
Methods = Annotated[str, typer.Option("--methods", help="Methods of nbest tune: NAME,NAME.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything random.")]


def _shared(
    lists: o.Lists,
    refs: o.Refs = None,
    metric: o.MetricName = None,
    output: Output = None,
    tokenize: o.Tokenize = None,
    lowercase: o.Lowercase = False,
    column: o.Column = None,
    scores: o.ScoresFile = None,
    format: o.FormatName = None,
    threads: o.Threads = None,
    quiet: o.Quiet = False,
) -> None:
    """The options that every study has."""


def _study(function: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a study: its own options and those of all studies, which it gets as its `call`."""
    first, *rest = inspect.signature(_shared, eval_str=True).parameters.values()
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

    def command(**given: Any) -> None:
        function(StudyCall(function.__name__, given), **{option.name: given[option.name] for option in own})

    options = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in (first, *own, *rest)]
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in options}
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    app.command(context_settings=_FURTHER)(command)
    return function


@_study
def surface(
    call: StudyCall,
    x: Annotated[str, typer.Option("--x", help="Feature whose weight goes to the right.")],
    y: Annotated[str, typer.Option("--y", help="Feature whose weight goes up.")],
    model: ModelFile = None,
    gamma: Annotated[float, typer.Option("--gamma", min=0.0, help="Sharpness of the posterior.")] = 1.0,
    temperature: Annotated[
        float, typer.Option("--temperature", min=0.0, help="Show the objective of annealing at this T as well.")
    ] = 0.0,
    order: Order = 2,
    points: Annotated[int, typer.Option("--points", min=2, help="Weights to try of each feature.")] = 41,
    x_range: Annotated[str | None, typer.Option("--x-range", help="Weights of x: LOW,HIGH.")] = None,
    y_range: Annotated[str | None, typer.Option("--y-range", help="Weights of y: LOW,HIGH.")] = None,
) -> None:
    """The metric over two weights: of the chosen hypotheses, and expected, which is what risk training sees.

    [bold]Example[/bold]

      nbest study surface dev.nbest --refs dev.ref --metric bleu --x lm --y am --model model.json -o surface
    """
    call.run(
        call.lists(), x, y, model=load_model(model), gamma=gamma, temperature=temperature, order=order, points=points,
        x_range=numbers("x-range", x_range, 2), y_range=numbers("y-range", y_range, 2), threads=call.threads,
    )  # fmt: skip


@_study
def sharpness(
    call: StudyCall,
    feature: Annotated[str, typer.Option("--feature", "--x", help="Feature whose weight varies.")],
    model: ModelFile = None,
    gamma: Annotated[str, typer.Option("--gamma", help="Sharpness of each curve: NUMBER,NUMBER.")] = "0.1,0.3,1,3,10",
    order: Order = 2,
    points: Annotated[int, typer.Option("--points", min=2, help="Weights to try.")] = 201,
    bounds: Annotated[str | None, typer.Option("--range", help="Weights of the feature: LOW,HIGH.")] = None,
) -> None:
    """The expected metric against one weight, ever sharper, beside the exact metric of the chosen hypotheses.

    [bold]Example[/bold]

      nbest study sharpness dev.nbest --refs dev.ref --metric bleu --feature lm --model model.json -o sharpness
    """
    if model is None:
        call.console.say("without --model all other weights are 0, and the exact metric has its only step at 0")
    call.run(
        call.lists(), feature, model=load_model(model), gammas=numbers("gamma", gamma), order=order, points=points,
        bounds=numbers("range", bounds, 2), threads=call.threads,
    )  # fmt: skip


@_study
def consensus(
    call: StudyCall,
    feature: Annotated[str, typer.Option("--feature", "--x", help="Feature whose weight varies.")],
    model: ModelFile = None,
    segment: Annotated[str | None, typer.Option("--segment", help="Id of the list to show (the first).")] = None,
    order: Annotated[int, typer.Option("--order", min=1, help="Words of the n-grams counted.")] = 2,
    gamma: Annotated[float, typer.Option("--gamma", min=0.0, help="Sharpness of the posterior.")] = 1.0,
    points: Annotated[int, typer.Option("--points", min=2, help="Weights to try.")] = 201,
    bounds: Annotated[str | None, typer.Option("--range", help="Weights of the feature: LOW,HIGH.")] = None,
) -> None:
    """N-gram precision of the 1-best and of expected counts against one weight, and what each decision chooses.

    [bold]Example[/bold]

      nbest study consensus dev.nbest --refs dev.ref --metric bleu --feature lm --model model.json -o consensus
    """
    call.run(
        call.lists(), feature, model=load_model(model), segment=segment, order=order, gamma=gamma, points=points,
        bounds=numbers("range", bounds, 2), threads=call.threads,
    )  # fmt: skip


@_study
def alpha(
    call: StudyCall,
    heldout: Heldout = None,
    heldout_refs: HeldoutRefs = None,
    split: Split = 0.25,
    add: Annotated[str | None, typer.Option("--add", help="Features to add: ngrams:order=2, ...")] = None,
    alphas: Annotated[str, typer.Option("--alphas", help="Values from 0 to 1: NUMBER,NUMBER.")] = "0.7,0.8,0.9,1",
    methods: Annotated[str, typer.Option("--methods", help="msr, msr2 or both.")] = "msr,msr2",
    seed: Seed = 1,
) -> None:
    """Minimum sample risk step by step: how much the overlap of features should count against their own effect.

    Further options are those of the methods (--limit 500, --window 200, --smoothing 0.05 ...).

    [bold]Example[/bold]

      nbest study alpha dev.nbest --refs dev.ref --metric wer --add ngrams:order=2:minimum=2 --alphas 0.7,0.9,1 -o alpha
    """
    from nbest.base.errors import ParameterError
    from nbest.features import fit_recipes
    from nbest.features.wanted import columns, wanted

    settings = call.settings(names(methods))
    dev, held = call.sets(heldout, heldout_refs, split, seed)
    if held is None:
        raise ParameterError("nbest study alpha needs --heldout LISTS or --split SHARE")
    added = fit_recipes(dev, wanted(add))
    dev, held = columns(dev, added, None, None), columns(held, added, None, None)
    call.run(
        dev, held, alphas=numbers("alphas", alphas), methods=names(methods),
        settings=next(iter(settings.values()), {}), threads=call.threads,
    )  # fmt: skip


@_study
def annealing(
    call: StudyCall,
    heldout: Heldout = None,
    heldout_refs: HeldoutRefs = None,
    split: Split = 0.25,
    t0: Annotated[str, typer.Option("--t0", help="Temperatures to start from: NUMBER,NUMBER.")] = "0.125,1,8",
    methods: Annotated[str, typer.Option("--methods", help="Methods to compare with: NAME,NAME.")] = "mert",
    seed: Seed = 1,
) -> None:
    """The metric on dev and held-out lists along annealing paths, from hot to cold and then ever sharper.

    Further options are those of the method risk (--cooling 0.7, --t1 0.01, --schedule gamma, --order 1 ...).

    [bold]Example[/bold]

      nbest study annealing dev.nbest --refs dev.ref --metric bleu --t0 0.125,1,8 --split 0.25 -o annealing
    """
    settings = call.settings(["risk"])["risk"]
    dev, held = call.sets(heldout, heldout_refs, split, seed)
    call.run(
        dev, held, t0=numbers("t0", t0), methods=names(methods), settings=settings, seed=seed, threads=call.threads
    )  # fmt: skip


@_study
def learning(
    call: StudyCall,
    heldout: Heldout = None,
    heldout_refs: HeldoutRefs = None,
    split: Split = 0.25,
    methods: Methods = "risk,mert,likelihood",
    sizes: Annotated[str | None, typer.Option("--sizes", help="Segments to train on: N,N (default: halves).")] = None,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Random subsets of each size.")] = 3,
    seed: Seed = 1,
) -> None:
    """The metric on dev and held-out lists as the number of segments trained on grows.

    Further options go to the methods that have them (--restarts 5, --variance 0.5 ...).

    [bold]Example[/bold]

      nbest study learning dev.nbest --refs dev.ref --metric bleu --methods risk,mert --repeats 5 -o learning
    """
    from nbest.base.errors import ParameterError

    settings = call.settings(names(methods))
    dev, held = call.sets(heldout, heldout_refs, split, seed)
    if held is None:
        raise ParameterError("nbest study learning needs --heldout LISTS or --split SHARE")
    call.run(
        dev, held, methods=names(methods), sizes=whole("sizes", sizes), repeats=repeats, settings=settings, seed=seed,
        threads=call.threads,
    )  # fmt: skip


@_study
def settings(
    call: StudyCall,
    setting: Annotated[list[str], typer.Option("--setting", help="What to vary: NAME=VALUE,VALUE; repeatable.")],
    heldout: Heldout = None,
    heldout_refs: HeldoutRefs = None,
    split: Split = 0.25,
    method: Annotated[str, typer.Option("--method", "-M", help="A method of nbest tune.")] = "risk",
    add: Annotated[str | None, typer.Option("--add", help="Features to add: ngrams:order=2, ...")] = None,
    seed: Seed = 1,
) -> None:
    """The metric on held-out lists against the values of a setting, all others as they are.

    Further options are those of the method (--k 50, --variance 0.5 ...).

    [bold]Example[/bold]

      nbest study settings train.jsonl --metric accuracy --method lowdim --setting tau=0.1,0.5,0.9 --heldout dev.jsonl
    """
    from nbest.base.errors import ParameterError, look_up
    from nbest.features import fit_recipes
    from nbest.features.wanted import columns, wanted
    from nbest.trainers import TRAINERS

    values = further.grid_values(look_up(TRAINERS, method, "method"), setting, "--setting")
    given = call.settings([method])[method]
    further.refuse_twice(given, values, "--setting")
    dev, held = call.sets(heldout, heldout_refs, split, seed)
    if held is None:
        raise ParameterError("nbest study settings needs --heldout LISTS or --split SHARE")
    added = fit_recipes(dev, wanted(add))
    dev, held = columns(dev, added, None, None), columns(held, added, None, None)
    call.run(dev, held, values, method=method, settings=given, seed=seed, threads=call.threads)


@_study
def path(
    call: StudyCall,
    k: Annotated[int, typer.Option("--k", min=1, help="Hypotheses that MERT gets of each forest in a round.")] = 200,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Rounds of MERT at most.")] = 20,
    iterations: Annotated[int, typer.Option("--iterations", min=1, help="Steps of CoBLEU at most.")] = 200,
    optimiser: Annotated[
        str, typer.Option("--optimiser", help="Of CoBLEU: lbfgs, or adaptive, the paper's.")
    ] = "lbfgs",
    seed: Seed = 1,
) -> None:
    """How smoothly training on forests reaches its end: MERT over growing k-best lists, and CoBLEU.

    [bold]Example[/bold]

      nbest study path dev.forests.jsonl.gz --metric bleu --tokenize none --k 200 -o path
    """
    call.run(
        call.forests(), k=k, rounds=rounds, iterations=iterations, optimiser=optimiser, seed=seed, threads=call.threads
    )


@_study
def starts(
    call: StudyCall,
    methods: Methods = "softbleu,mert",
    count: Annotated[int, typer.Option("--count", min=1, help="Corners to start from, all if there are fewer.")] = 200,
    feature: Annotated[str | None, typer.Option("--feature", help="Show the weights of this feature too.")] = None,
    seed: Seed = 1,
) -> None:
    """How much the start matters: the metric on dev before and after training from corners of the unit cube.

    Further options go to the methods that have them (--iterations 50, --variance 0.5 ...).

    [bold]Example[/bold]

      nbest study starts dev.nbest --refs dev.ref --metric bleu --count 100 --feature lm -o starts
    """
    settings = call.settings(names(methods))
    call.run(
        call.lists(), methods=names(methods), count=count, feature=feature, settings=settings, seed=seed,
        threads=call.threads,
    )  # fmt: skip


@_study
def bins(
    call: StudyCall,
    heldout: Heldout = None,
    heldout_refs: HeldoutRefs = None,
    split: Split = 0.0,
    method: Annotated[str, typer.Option("--method", "-M", help="softbleu or risk.")] = "softbleu",
    count: Annotated[int, typer.Option("--bins", min=1, help="Bins of each feature.")] = 20,
    soft: Annotated[bool, typer.Option("--soft", help="Bins that overlap.")] = False,
    features: Annotated[str | None, typer.Option("--features", help="Features to bin: NAME,NAME (all).")] = None,
    seed: Seed = 1,
) -> None:
    """What each feature adds to the score when its effect need not be a straight line: weights of trained bins.

    Further options are those of the method (--variance 0.5, --iterations 50 ...).

    [bold]Example[/bold]

      nbest study bins dev.nbest --refs dev.ref --metric bleu --bins 20 --split 0.25 -o bins
    """
    settings = call.settings([method])[method]
    dev, held = call.sets(heldout, heldout_refs, split, seed)
    call.run(
        dev, held, method=method, count=count, soft=soft, features=names(features) if features else None,
        settings=settings, seed=seed, threads=call.threads,
    )  # fmt: skip
