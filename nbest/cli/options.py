"""Options that several commands share, and how further ones reach a trainer or a metric."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer

from nbest.base.errors import ParameterError, _known
from nbest.base.limits import MOST, check_count

Lists = Annotated[list[str], typer.Argument(help="Candidate lists, any known format; several are merged; - is stdin.")]
Refs = Annotated[
    list[str] | None,
    typer.Option(
        "--refs", "-r", help="References, one a line; repeat for several (not needed if the lists carry them)."
    ),
]
MetricName = Annotated[
    str | None,
    typer.Option("--metric", "-m", help="bleu, chrf, chrf++, ter, wer, cer, exact, accuracy, f1, las, external, ..."),
]
Tokenize = Annotated[
    str | None, typer.Option("--tokenize", help="BLEU's tokeniser: 13a (default), none, intl, char, zh.")
]
Lowercase = Annotated[bool, typer.Option("--lowercase", "-lc", help="Ignore case in the metric.")]
Column = Annotated[
    str | None,
    typer.Option("--column", help="With --metric external: the feature that holds the scores; it is not tuned."),
]
ScoresFile = Annotated[
    str | None,
    typer.Option("--scores", help="With --metric external: a file with a score for each hypothesis, one a line."),
]
FormatName = Annotated[str | None, typer.Option("--format", "-f", help="Format of the lists, where guessing fails.")]
Threads = Annotated[
    int | None, typer.Option("--threads", "-j", min=1, help="Threads (default: all cores); never changes results.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no messages, only warnings and errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Results as JSON on stdout.")]


def separate(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """Paths, and options that the command itself does not know: `--name value`, `--name=value`, `--name` (true).

    The command's own options are gone already; what is left of the line is in `words`, in its order.
    A bare flag must stand before another option or at the end.
    """
    paths: list[str] = []
    given: dict[str, str] = {}
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if len(word) > 1 and word.startswith("-") and not word.startswith("--"):
            raise ParameterError(f"unknown option {word}; see --help")
        if not word.startswith("--"):
            paths.append(word)
            continue
        name, equals, value = word[2:].partition("=")
        if not equals:
            bare = at >= len(words) or words[at].startswith("--")
            value, at = ("true", at) if bare else (words[at], at + 1)
        key = name.replace("-", "_")
        if key in given:
            raise ParameterError(f"option --{name} is given twice")
        given[key] = value
    if not paths:
        raise ParameterError("no file is named; see --help")
    return paths, given


def settable(kind: type) -> dict[str, Field[Any]]:
    """The options of a trainer or metric class, by name; those that are not shown in its repr are not for users."""
    return {f.name: f for f in fields(kind) if f.init and f.repr}


def take(kind: type, given: dict[str, str], load: Callable[[str], Mapping[str, float]] | None = None) -> dict[str, Any]:
    """Remove from `given` what `kind` takes, converted to its types."""
    hints = get_type_hints(kind)
    taken = {name: _convert(kind, name, hints[name], given.pop(name), load) for name in settable(kind) if name in given}
    for name, value in taken.items():
        if isinstance(value, int) and name != "seed":
            check_count(f"--{name.replace('_', '-')} of {kind.__name__}", value, -MOST)
    return taken


def grid_values(kind: type, wanted: list[str], option: str = "--grid") -> dict[str, list[Any]]:
    """Settings of a class to try, from NAME=VALUE,VALUE each, converted to its types."""
    hints, known, values = get_type_hints(kind), settable(kind), dict[str, list[Any]]()
    for text in wanted:
        name, equals, rest = text.partition("=")
        key = name.replace("-", "_")
        if not equals or not rest:
            raise ParameterError(f"{option} must be NAME=VALUE,VALUE, got {text!r}")
        if key not in known:
            raise ParameterError(f"{kind.__name__} has no setting {name!r}; {_known(list(known), key)}")
        if key in values:
            raise ParameterError(f"{option} names {name!r} twice")
        values[key] = [_convert(kind, key, hints[key], part, None) for part in rest.split(",") if part]
    return values


def refuse_twice(given: Mapping[str, Any], values: Mapping[str, Any], option: str) -> None:
    """An error for a setting that is given by itself and also to be varied."""
    twice = next((name for name in values if name in given), None)
    if twice is not None:
        raise ParameterError(f"--{twice.replace('_', '-')} is given and also in {option}; leave one of them out")


def refuse_rest(given: Mapping[str, str], *kinds: type) -> None:
    """An error for any option that nothing took."""
    for name in given:
        known = sorted({option.replace("_", "-") for kind in kinds for option in settable(kind)})
        shown = name.replace("_", "-")
        raise ParameterError(f"unknown option --{shown}; besides those of --help: {_known(known, shown)}")


def _convert(kind: type, name: str, hint: Any, text: str, load: Callable[[str], Mapping[str, float]] | None) -> Any:
    for option in _alternatives(hint):
        try:
            return _read(option, text, load)
        except (ValueError, TypeError, KeyError):
            continue
    wanted = " or ".join(_name(option) for option in _alternatives(hint) if option is not type(None))
    raise ParameterError(f"--{name.replace('_', '-')} of {kind.__name__} must be {wanted}, got {text!r}")


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _name(hint: Any) -> str:
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}
    if get_origin(hint) is dict:
        return "NAME=VALUE,NAME=VALUE or a model file"
    return names.get(hint, "NAME,NAME")


def _read(hint: Any, text: str, load: Callable[[str], Mapping[str, float]] | None) -> Any:
    if hint is type(None):
        if text.lower() == "none":
            return None
        raise ValueError(text)
    if hint is bool:
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[text.lower()]
    if hint in (int, float, str):
        return hint(text)
    if get_origin(hint) is tuple:
        return tuple(part for part in text.split(",") if part)
    if get_origin(hint) is dict:
        if load is not None and Path(text).is_file():
            return dict(load(text))
        kind = get_args(hint)[1]
        pairs = [part.rpartition("=") for part in text.split(",")]
        if not all(equals for _, equals, _ in pairs):
            raise ValueError(text)
        return {name: kind(value) for name, _, value in pairs}
    raise TypeError(hint)


def default_of(option: Field[Any]) -> Any:
    """The default of an option."""
    return option.default_factory() if option.default_factory is not MISSING else option.default
