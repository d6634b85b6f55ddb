"""`nbest study NAME`: a command made of the signature of a study, and what every study does with its arguments."""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, make_dataclass
from functools import cached_property
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from nbest.base.errors import ParameterError, look_up
from nbest.base.parameters import parameter
from nbest.cli import commands as c
from nbest.cli import further
from nbest.cli.adding import show_added
from nbest.cli.console import Console
from nbest.cli.loading import Measure, files_of_options, measure, read_corpus, read_lists, source_of
from nbest.cli.streams import put
from nbest.cli.targets import refuse_overwriting
from nbest.corpus import Forests, NBest, split
from nbest.features.wanted import files_of
from nbest.forests.derivations import as_forests
from nbest.model.loglinear import LogLinear, load
from nbest.studies import STUDIES
from nbest.studies.base import Study, paths_of
from nbest.studies.keywords import FurtherSettings, Given, StudyLists
from nbest.trainers import TRAINERS
from nbest.trainers.adding import add_columns

_WORDS = (str, int, float, bool)  # types that the command line has, too


@dataclass(frozen=True)
class _Keyword:
    """One keyword of a study: its type without None, its default, and how the command line says it."""

    name: str
    kind: Any
    default: Any
    how: Any = None  # Given, Lists or Further

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        return self.how.flags[0] if self.how.flags else f"--{self.name.replace('_', '-')}"


def _keywords(study: Callable[..., Study]) -> list[_Keyword]:
    hints = get_type_hints(study, include_extras=True)
    found = []
    for name, each in inspect.signature(study).parameters.items():
        kind, *how = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name],)
        if get_origin(kind) in (Union, types.UnionType):
            kind = next(option for option in get_args(kind) if option is not type(None))
        found.append(_Keyword(name, kind, each.default, how[0] if how else None))
    return found


# the command ----------------------------------------------------------------------------------------------------


def command_of(name: str) -> type[c.Command]:
    """A dataclass with the options of a study and those that all have; its `run` does the study."""
    fields: list[tuple[str, Any, Any]] = []
    keywords = _keywords(STUDIES[name])
    for each in keywords:
        if each.name == "heldout":
            share = (each.how or StudyLists()).share
            fields += _held_out(share, seeded=any(other.name == "seed" for other in keywords))
        elif isinstance(each.how, StudyLists) and each.how.add:
            fields.append(("add", str | None, parameter(None, "Features to add: ngrams:order=2, ...")))
        elif isinstance(each.how, Given):
            fields.append(_option(each))
    return make_dataclass(
        name, fields, bases=(_Options,), frozen=True, kw_only=True, namespace={"__doc__": _help(name, keywords)}
    )


def _held_out(share: float, *, seeded: bool) -> list[tuple[str, Any, Any]]:
    text = "Without --heldout: hold this share of the segments out."
    fields = [
        ("heldout", list[str] | None, parameter(None, "Held-out lists, scored but not trained on.")),
        ("heldout_refs", list[str] | None, parameter(None, "Their references.")),
        ("split", float, parameter(share, text, least=0.0, most=0.9)),
    ]
    return fields if seeded else [*fields, ("seed", int, parameter(1, "Seed of the split."))]


def _option(each: _Keyword) -> tuple[str, Any, Any]:
    """A field: words and numbers as they are, anything else as text."""
    how: Given = each.how
    default = ... if each.default is inspect.Parameter.empty else each.default
    kind = each.kind
    if get_origin(kind) is Mapping:
        kind = list[str]
    elif kind not in _WORDS:
        kind = str
        if isinstance(default, Sequence):
            default = ",".join(value if isinstance(value, str) else f"{value:g}" for value in default)
    hint = kind | None if default is None else kind
    return each.name, hint, parameter(default, how.help, flags=how.flags, least=how.least, most=how.most)


def _help(name: str, keywords: Sequence[_Keyword]) -> str:
    """The first paragraph of the study's docstring, where further options go, and its example."""
    text = inspect.getdoc(STUDIES[name]) or ""
    example = next((line for line in text.splitlines() if line.startswith(f"    nbest study {name} ")), "")
    parts = [text.partition("\n\n")[0]]
    for each in keywords:
        if isinstance(each.how, FurtherSettings):
            goal = each.how.of if each.how.of in [other.name for other in keywords] else f"method {each.how.of}"
            goes = "go to the methods that have them" if _by_method(each) else f"are those of the {goal}"
            parts.append(f"Further options {goes} ({each.how.examples} ...).")
    return "\n\n".join([*parts, "[bold]Example[/bold]", example.removeprefix("  ")])


def _by_method(each: _Keyword) -> bool:
    """Whether settings are given for each method by its name."""
    return get_origin(get_args(each.kind)[1]) is Mapping


# a call ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Options(c.References, c.MetricOptions, c.AnswerOption, c.ScoresFile, c.FormatOption, c.EngineOption, c.Quiet):
    """The options that every study has."""

    lists: list[str] = parameter(..., c.LISTS, flags=("lists",))
    output: str | None = parameter(
        None, "NAME: writes NAME.jsonl and NAME.svg (default: the study's name).", flags=("--output", "-o")
    )

    def run(self) -> None:
        """Do the study, write its files, print what it found, say where the files are."""
        _Call(type(self).__name__, self).run()


class _Call:
    """One command: its lists and metric, the options it passes on, its progress and its files."""

    def __init__(self, name: str, options: Any) -> None:
        self.name, self.options = name, options
        self.output = options.output or name
        self.keywords = _keywords(STUDIES[name])
        self.paths, self.given = further.separate(options.lists)  # given: options not taken yet
        read = [getattr(options, each, None) for each in ("refs", "heldout", "heldout_refs", "model", "scores")]
        more = [*self.given.values(), *files_of(getattr(options, "add", None)), *files_of_options(options.option)]
        refuse_overwriting(paths_of(self.output), [self.paths, *read, more])
        self.how: Measure = measure(options.metric, self.given, options)

    @cached_property
    def console(self) -> Console:
        return Console(quiet=self.options.quiet)

    def run(self) -> None:
        """The study with progress, then its files, and what it says on stdout."""
        values = {each.name: self._value(each) for each in self.keywords if isinstance(each.how, Given)}
        values |= self._settings()
        values |= self._corpora()
        study = STUDIES[self.name]
        with self.console.progress(f"study {self.name}") as update, self.console.convergence():
            general = {"threads": self.options.threads, "progress": update}
            takes = inspect.signature(study).parameters
            found = study(**values, **{name: value for name, value in general.items() if name in takes})
        data, image = found.write(self.output)
        if found.said:
            put(found.said)
        self.console.say(f"wrote {data} ({len(found.rows)} rows) and {image}")

    def _value(self, each: _Keyword) -> Any:
        """What was given for a keyword, as the study takes it."""
        value = getattr(self.options, each.name)
        if value is None and each.how.unsaid:
            self.console.say(each.how.unsaid)
        if value is None or each.kind in _WORDS:
            return value
        if each.kind is LogLinear:
            return load(value)
        if get_origin(each.kind) is Mapping:
            return further.grid_values(self._methods()[0], value, each.flag)
        return several(each.flag, each.kind, value)

    def _methods(self) -> list[type]:
        """The methods that take the further options."""
        return [look_up(TRAINERS, name.partition("/")[0], "method") for name in self._method_names()]

    def _method_names(self) -> list[str]:
        of = next(each.how.of for each in self.keywords if isinstance(each.how, FurtherSettings))
        return [name for name in str(getattr(self.options, of, of)).split(",") if name]

    def _settings(self) -> dict[str, Any]:
        """The further options of the methods; one that none of them has is an error."""
        each = next((each for each in self.keywords if isinstance(each.how, FurtherSettings)), None)
        if each is None:
            further.refuse_rest(self.given, type(self.how.metric), own=type(self.options))
            return {}
        kinds = self._methods()
        found = [further.take(kind, dict(self.given), load=lambda path: load(path).weights) for kind in kinds]
        left = {key: value for key, value in self.given.items() if not any(key in options for options in found)}
        further.refuse_rest(left, *kinds, type(self.how.metric), own=type(self.options))
        for other in self.keywords:
            if get_origin(other.kind) is Mapping and isinstance(other.how, Given):
                further.refuse_twice(found[0], self._value(other), other.flag)
        by_method = dict(zip(self._method_names(), found, strict=True))
        return {each.name: by_method if _by_method(each) else next(iter(found), {})}

    def _corpora(self) -> dict[str, Any]:
        """The lists or forests of the command, and those that are held out."""
        first, *others = self.keywords
        source = source_of(self.options, self.paths, self.options.refs)
        if first.kind is Forests:
            if self.options.answer is not None:
                raise ParameterError(f"--answer is for lists, and nbest study {self.name} takes them as forests")
            corpus = self.how.measured(read_corpus(source, self.console))
            return {first.name: as_forests(corpus)}
        sets: list[NBest] = [self.how.measured(read_lists(source, self.console))]
        held_out = next((each for each in others[:1] if each.name == "heldout"), None)
        if held_out is not None:
            sets = self._with_held_out(sets[0], required=held_out.default is inspect.Parameter.empty)
        if isinstance(first.how, StudyLists) and first.how.add:
            made = add_columns(self.options.add, sets)
            show_added(self.console, made.added, made.replaced, made.sets[0])
            sets = list(made.sets)
        return dict(zip((first.name, "heldout"), sets, strict=False))

    def _with_held_out(self, dev: NBest, *, required: bool) -> list[NBest]:
        """Dev and held-out lists, the latter from their own file or split off."""
        if self.options.heldout:
            source = source_of(self.options, self.options.heldout, self.options.heldout_refs)
            return [dev, self.how.measured(read_lists(source, self.console))]
        if self.options.split:
            return list(split(dev, 1.0 - self.options.split, self.options.seed))
        if required:
            raise ParameterError(f"nbest study {self.name} needs --heldout LISTS or --split SHARE")
        return [dev]


def several(option: str, kind: Any, text: str) -> Any:
    """Values with commas between them, from the text of an option: words, finite numbers, or two of them."""
    of, *more = get_args(kind)
    if of is str:
        return [name for name in text.split(",") if name]
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(map(math.isfinite, values)) or (more and len(values) != 2):
        raise ParameterError(f"{option} must be {'2 ' if more else ''}numbers with commas between them, got {text!r}")
    if of is int and any(value % 1 for value in values):
        raise ParameterError(f"{option} must be whole numbers, got {text!r}")
    return tuple(map(of, values))
