"""Options that a command does not know itself and passes on: those of a trainer, a metric or a decision."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from nbest.base.errors import ParameterError, _known, listed, nearest
from nbest.base.limits import MOST, check_count
from nbest.base.parameters import Parameter, keywords_of, parameters_of
from nbest.cli.commands import flags_of


def separate(words: list[str], *, needed: bool = True) -> tuple[list[str], dict[str, str]]:
    """Paths, and options that the command itself does not know: `--name value`, `--name=value`, `--name` (true).

    The command's own options are gone already; what is left of the line is in `words`, in its order.
    A bare flag must stand before another option or at the end. Where paths are `needed`, one must be there.
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
    if needed and not paths:
        raise ParameterError("no file is named; see --help")
    return paths, given


Kind = type | Callable[..., Any]
"""A trainer or metric class, or a decision, whose keywords are its options."""


def settable(kind: Kind) -> dict[str, Parameter]:
    """The options of a class or function, by name; those that are not shown in a repr or that no word can stand for
    are not for users."""
    known = parameters_of(kind) if isinstance(kind, type) else keywords_of(kind)
    return {name: each for name, each in known.items() if each.public and any(map(_has_words, each.kinds))}


def _has_words(hint: Any) -> bool:
    return hint in (Any, bool, int, float, str) or get_origin(hint) in (dict, tuple)


def take(kind: Kind, given: dict[str, str], load: Callable[[str], Mapping[str, float]] | None = None) -> dict[str, Any]:
    """Remove from `given` what `kind` takes, converted to its types."""
    taken = {name: _convert(each, given.pop(name), load) for name, each in settable(kind).items() if name in given}
    for name, value in taken.items():
        if isinstance(value, int) and name != "seed":
            check_count(f"--{name.replace('_', '-')} of {kind.__name__}", value, -MOST)
    return taken


def grid_values(kind: type, wanted: list[str], option: str = "--grid") -> dict[str, list[Any]]:
    """Settings of a class to try, from NAME=VALUE,VALUE each, converted to its types."""
    known, values = settable(kind), dict[str, list[Any]]()
    for text in wanted:
        name, equals, rest = text.partition("=")
        key = name.replace("-", "_")
        if not equals or not rest:
            raise ParameterError(f"{option} must be NAME=VALUE,VALUE, got {text!r}")
        if key not in known:
            raise ParameterError(f"{kind.__name__} has no setting {name!r}; {_known(list(known), key)}")
        if key in values:
            raise ParameterError(f"{option} names {name!r} twice")
        values[key] = [_convert(known[key], part, None) for part in rest.split(",") if part]
    return values


def named_numbers(option: str, text: str) -> dict[str, float]:
    """What NAME=VALUE,NAME=VALUE says."""
    try:
        found = _read(dict[str, float], text, None)
    except ValueError:
        found = {}
    if not found or "" in found or len(found) <= text.count(",") or not all(map(math.isfinite, found.values())):
        raise ParameterError(f"{option} must be NAME=VALUE,NAME=VALUE, each name once, got {text!r}")
    return found


def refuse_twice(given: Mapping[str, Any], values: Mapping[str, Any], option: str) -> None:
    """An error for a setting that is given by itself and also to be varied."""
    twice = next((name for name in values if name in given), None)
    if twice is not None:
        raise ParameterError(f"--{twice.replace('_', '-')} is given and also in {option}; leave one of them out")


def refuse_rest(given: Mapping[str, str], *kinds: Kind, own: type) -> None:
    """An error for any option that nothing took; the nearest may be one of `own`, the command's."""
    for name in given:
        known = {option.replace("_", "-") for kind in kinds for option in settable(kind)}
        shown = name.replace("_", "-")
        _refuse_of_decision(name, kinds, own)
        flags = {flag for each in parameters_of(own).values() for flag in flags_of(each)}
        mine = {flag.removeprefix("--") for flag in flags if flag.startswith("--")}
        others = sorted(known - mine)
        besides = f"known besides those of --help: {listed(others)}" if others else "see --help"
        raise ParameterError(f"unknown option --{shown}; {besides}{nearest(sorted(known | mine), shown)}")


def _refuse_of_decision(name: str, kinds: Sequence[Kind], own: type) -> None:
    """An error that says where an option of a decision is taken, for commands whose decisions have none."""
    if "decision" not in parameters_of(own):
        return
    from nbest.decisions import DECISIONS
    from nbest.decisions.choose import OFFERED

    found = [kind for kind in DECISIONS if name in settable(DECISIONS[kind]) and name not in OFFERED]
    if found and not any(DECISIONS[kind] in kinds for kind in DECISIONS):
        flag = f"--{name.replace('_', '-')}"
        raise ParameterError(f"{flag} is an option of decisions ({listed(found)}) that nbest rerank takes")


def _convert(each: Parameter, text: str, load: Callable[[str], Mapping[str, float]] | None) -> Any:
    for kind in each.kinds:
        try:
            return _read(kind, text, load)
        except (ValueError, TypeError, KeyError):
            continue
    wanted = " or ".join(_name(kind) for kind in each.kinds if kind is not type(None))
    raise ParameterError(f"--{each.name.replace('_', '-')} of {each.owner} must be {wanted}, got {text!r}")


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
    if hint is Any:
        return text
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
