"""How a command is made of the parameters of a dataclass, and the options that several commands share.

@dataclass(frozen=True, kw_only=True)
class Warmup(ThreadsOption, Quiet):
    'What it does, with examples: the text of --help.'

    def run(self) -> None: ...

add_command(app, "warmup", Warmup)
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, ClassVar, Protocol

import typer
from typer.core import TyperCommand, TyperGroup

from nbest.base.errors import ParameterError
from nbest.base.parameters import Parameter, parameter, parameters_of
from nbest.base.registry import plugin_names

Panels = Mapping[str, Sequence[str]]
"""Titles of groups in --help, and the parameters below each; commands and the bases that they share have `panels`."""
_MANY = 12  # options from which on they are grouped
FURTHER = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Settings of commands that pass further options on to the trainer and the metric."""


_FAMILIES = {
    "add": "nbest.features",
    "engine": "nbest.executors",
    "decision": "nbest.decisions",
    "format": "nbest.formats",
    "gain": "nbest.metrics",
    "method": "nbest.trainers",
    "methods": "nbest.trainers",
    "metric": "nbest.metrics",
    "source_format": "nbest.formats",
    "target_format": "nbest.formats",
    "to": "nbest.formats",
}
"""Options that name one of a family, and where other packages add to it."""


_SEVERAL = re.compile(r"\b([A-Z]+(?:=[A-Z]+)?),\1\b")
"""NAME,NAME in the help of options that may name several; of others the last counts, as aliases need it."""


class Helped(TyperCommand):
    """A command whose --help names what other packages add."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; packages are only looked for now."""
        for each in self.params:
            names = plugin_names(_FAMILIES[each.name]) if each.name in _FAMILIES else []
            if names:
                each.help = f"{each.help} Of plug-ins: {', '.join(names)}."  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option for several names that is given twice: only the last would count."""
        if not ctx.resilient_parsing:
            *_, order = self.make_parser(ctx).parse_args(args=list(args))
            for each in order:
                if order.count(each) > 1 and not each.multiple and _SEVERAL.search(getattr(each, "help", None) or ""):
                    raise ParameterError(f"{each.opts[0]} is given twice; put all into one, with commas")
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Also the options that are passed on to the method, metric and decision given."""
        items: list[Any] = [*super().shell_complete(ctx, incomplete)]
        if self.context_settings.get("ignore_unknown_options") and incomplete.startswith("-"):
            from nbest.cli.completion import further_options

            given = {each.name: ctx.params.get(each.name) or each.default for each in self.params}
            known = {item.value for item in items} | {flag for each in self.params for flag in each.opts}
            more = [name for name in further_options(given, _FAMILIES) if name.startswith(incomplete)]
            items += [_Item(name) for name in more if name not in known]
        return items


class _Item:
    """A completion, as the shells' scripts read it."""

    type, help = "plain", None

    def __init__(self, value: str) -> None:
        self.value = value


class Further:
    """Commands that pass further options on to a trainer, a metric or a decision."""


class Command(Protocol):
    """What was given to a command, and what it does with it."""

    def run(self) -> None:
        """Do it."""


def group(name: str | None, help: str, cls: type[TyperGroup] | None = None) -> typer.Typer:
    """An application, or a command with commands of its own."""
    return typer.Typer(
        name=name,
        help=folded(help),
        cls=cls,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def add_command(app: typer.Typer, name: str, kind: type[Command]) -> None:
    """Add a command whose options are the parameters of a dataclass, and whose help is its docstring.

    A `Further` one leaves options that it does not have among its arguments.
    """
    made = function_of(kind.__doc__, _in_order(kind), lambda given: kind(**given).run(), _panels(kind))
    app.command(name, cls=Helped, context_settings=FURTHER if issubclass(kind, Further) else None)(made)


def function_of(
    doc: str | None,
    parameters: Iterable[Parameter],
    run: Callable[[dict[str, Any]], None],
    panels: Mapping[str, str] | None = None,
) -> Callable[..., None]:
    """A function with these parameters, as typer reads it; `run` gets what was given, `panels` are titles by name."""

    def command(**given: Any) -> None:
        if all(given.get(name) is None for name in ("threads", "engine", "workers", "device")):
            run(given)
            return
        from nbest.cli.engines import working

        with working(given):
            run(given)

    options = [_option(each, (panels or {}).get(each.name)) for each in parameters]
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in options}
    command.__doc__ = folded(doc or "")
    return command


def folded(text: str) -> str:
    """A help whose paragraphs are one line each, so that they fill a window of any width; examples are paragraphs."""
    return "\n\n".join(
        f"{' ' * (len(each) - len(each.lstrip()))}{' '.join(each.split())}"
        for each in inspect.cleandoc(text).split("\n\n")
    )


def add_to(app: typer.Typer, name: str, made: Any) -> None:
    """Add a command, or an application with commands of its own."""
    if isinstance(made, typer.Typer):
        app.add_typer(made, name=name)
    else:
        add_command(app, name, made)


def _in_order(kind: type) -> list[Parameter]:
    """The parameters as --help lists them: those that commands share for the end come last."""
    last = [each.name for base in _LAST if issubclass(kind, base) for each in fields(base)]
    return sorted(parameters_of(kind).values(), key=lambda each: last.index(each.name) if each.name in last else -1)


def _panels(kind: type) -> dict[str, str]:
    """The title above each parameter of a command with many."""
    if len(parameters_of(kind)) < _MANY:
        return {}
    given: list[Panels] = [vars(base).get("panels", {}) for base in reversed(kind.__mro__)]
    return {name: title for panels in given for title, names in panels.items() for name in names}


def flags_of(each: Parameter) -> tuple[str, ...]:
    """The names of an option; that of an argument has no dashes."""
    return each.flags or (f"--{each.name.replace('_', '-')}",)


def _option(each: Parameter, panel: str | None = None) -> inspect.Parameter:
    flags = flags_of(each)
    limits: dict[str, Any] = {"min": each.rule.least, "max": each.rule.most}
    if flags[0].startswith("-"):
        how = typer.Option(
            *flags, help=each.help, autocompletion=_completer(each.name), rich_help_panel=panel, **limits
        )
    else:
        how = typer.Argument(help=each.help, **limits)
    default = inspect.Parameter.empty if each.default is MISSING else each.default
    return inspect.Parameter(
        each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[each.hint, how]
    )


def _completer(name: str) -> Callable[[str], list[str]] | None:
    """What the shell offers for an option that names one of a family."""
    if name not in _FAMILIES:
        return None

    def offer(incomplete: str) -> list[str]:
        from nbest.cli.completion import offering

        return offering(_FAMILIES[name])(incomplete)

    return offer


LISTS = "Candidate lists, any known format; several are merged; - is stdin."
REFS = "References, one a line; repeat for several (not needed if the lists carry them)."
FORMAT = "Format of the lists, where guessing fails."
TARGET = "Where to write; the suffix says the format (.gz, .xz packed); - is stdout."


@dataclass(frozen=True, kw_only=True)
class References:
    """Options of commands that measure something."""

    refs: list[str] | None = parameter(None, REFS, flags=("--refs", "-r"))
    metric: str | None = parameter(
        None, "bleu, chrf, chrf++, ter, wer, cer, exact, accuracy, f1, las, external, ...", flags=("--metric", "-m")
    )


@dataclass(frozen=True, kw_only=True)
class MetricOptions(Further):
    """Options of metrics; others that a metric or a trainer has follow among the arguments."""

    panels: ClassVar[Panels] = {"Metric and texts": ("tokenize", "lowercase", "normalize")}
    tokenize: str | None = parameter(None, "BLEU's tokeniser: 13a (default), none, intl, char, zh.")
    lowercase: bool = parameter(False, "Ignore case in the metric.", flags=("--lowercase", "-lc"))
    normalize: str | None = parameter(
        None, "Normalise texts before the metric: whisper, basic, punct, lower, nfkc, ...; several: nfkc+lower."
    )


@dataclass(frozen=True, kw_only=True)
class AnswerOption:
    """What of a text is compared."""

    panels: ClassVar[Panels] = {"Metric and texts": ("answer",)}
    answer: str | None = parameter(
        None, "Compare only the answer in a text: last-number, boxed, choice, code, json:PATH or a regular expression."
    )


@dataclass(frozen=True, kw_only=True)
class ScoresColumn:
    """Where an external metric gets its scores: from the lists."""

    panels: ClassVar[Panels] = {"Metric and texts": ("column",)}
    column: str | None = parameter(
        None,
        "With --metric external (--label MQM names it): the feature of its scores (not tuned), or column of --scores.",
    )


@dataclass(frozen=True, kw_only=True)
class ScoresFile(ScoresColumn):
    """Where an external metric gets its scores."""

    panels: ClassVar[Panels] = {"Metric and texts": ("scores",)}
    scores: str | None = parameter(
        None, "With --metric external: a table of scores (CSV, TSV, JSONL, Parquet; id, index or text), or one a line."
    )


@dataclass(frozen=True, kw_only=True)
class ReaderOption:
    """Options of the reader of lists."""

    panels: ClassVar[Panels] = {"Reading lists": ("option",)}
    option: list[str] | None = parameter(
        None, "NAME=VALUE for the reader of all lists (n=10, manifest=dev.json, text=hyp ...): see docs/formats.md."
    )


@dataclass(frozen=True, kw_only=True)
class FormatOption(ReaderOption):
    """The format of lists, and options of its reader."""

    panels: ClassVar[Panels] = {"Reading lists": ("format",)}
    format: str | None = parameter(None, FORMAT, flags=("--format", "-f"))


@dataclass(frozen=True, kw_only=True)
class ThreadsOption:
    """How many threads."""

    panels: ClassVar[Panels] = {"Threads and machines": ("threads",)}
    threads: int | None = parameter(
        None, "Threads (default: all cores); never changes results.", least=1, flags=("--threads", "-j")
    )


@dataclass(frozen=True, kw_only=True)
class EngineOption(ThreadsOption):
    """Threads of this process, or workers of a cluster."""

    panels: ClassVar[Panels] = {"Threads and machines": ("engine", "workers", "device")}
    engine: str | None = parameter(
        None, "Workers of a cluster: ray (started here), ray://host:port, ray:host:port; see docs/scale.md."
    )
    workers: int | None = parameter(
        None, "With --engine: how many (default: all it has room for); --threads are those of each.", least=1
    )
    device: str | None = parameter(
        None, "Accelerator for passes over lists: cuda, cuda:1; needs the extra gpu, see docs/accelerator.md."
    )


@dataclass(frozen=True, kw_only=True)
class TableOption:
    """The form of tables."""

    panels: ClassVar[Panels] = {"What is printed": ("table",)}
    table: str | None = parameter(None, "Tables as markdown, latex or csv, for papers and pages.")


@dataclass(frozen=True, kw_only=True)
class Quiet:
    """Whether to be quiet."""

    panels: ClassVar[Panels] = {"What is printed": ("quiet",)}
    quiet: bool = parameter(False, "No progress and no messages, only warnings and errors.", flags=("--quiet", "-q"))


@dataclass(frozen=True, kw_only=True)
class AsJson:
    """Whether results are JSON."""

    panels: ClassVar[Panels] = {"What is printed": ("as_json",)}
    as_json: bool = parameter(False, "Results as JSON on stdout.", flags=("--json",))


_LAST = (
    MetricOptions,
    AnswerOption,
    ScoresColumn,
    ScoresFile,
    FormatOption,
    ReaderOption,
    EngineOption,
    ThreadsOption,
    TableOption,
    Quiet,
    AsJson,
)
"""Options that stand last, in this order."""
