"""What every `nbest study` does, once its arguments are known: lists, options that pass through, progress, files."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from nbest.cli import further as o

if TYPE_CHECKING:
    from nbest.cli.console import Console
    from nbest.corpus import Forests, NBest
    from nbest.model.loglinear import LogLinear


@dataclass
class StudyCall:
    """One command: its lists and metric, the options it passes on, its progress and its files."""

    study: str
    arguments: dict[str, Any]  # of the command
    paths: list[str] = field(init=False)
    given: dict[str, str] = field(init=False)  # options not taken yet

    def __post_init__(self) -> None:
        from nbest.cli.loading import measure
        from nbest.cli.targets import refuse_overwriting
        from nbest.features.wanted import files_of
        from nbest.studies.base import paths_of

        self.paths, self.given = o.separate(self.arguments["lists"])
        read = [self.arguments.get(name) for name in ("refs", "heldout", "heldout_refs", "model", "scores")]
        further = [*self.given.values(), *files_of(self.arguments.get("add"))]
        refuse_overwriting(paths_of(self.arguments["output"] or self.study), [self.paths, *read, further])
        self.refs, self.format = self.arguments["refs"], self.arguments["format"]
        self.how = measure(self.arguments["metric"], self.given, SimpleNamespace(**self.arguments))

    @property
    def threads(self) -> int | None:
        return self.arguments["threads"]

    @cached_property
    def console(self) -> Console:
        from nbest.cli.console import Console

        return Console(quiet=self.arguments["quiet"])

    def settings(self, methods: list[str]) -> dict[str, dict[str, Any]]:
        """The further options of each method; one that no method has is an error."""
        from nbest.base.errors import look_up
        from nbest.model.loglinear import load
        from nbest.trainers import TRAINERS

        kinds = {name: look_up(TRAINERS, name, "method") for name in methods}
        found = {
            name: o.take(kind, dict(self.given), load=lambda path: load(path).weights) for name, kind in kinds.items()
        }
        taken = {option for options in found.values() for option in options}
        o.refuse_rest({k: v for k, v in self.given.items() if k not in taken}, *kinds.values(), type(self.how.metric))
        self.given = {}
        return found

    def lists(self, paths: list[str] | None = None, refs: list[str] | None = None) -> NBest:
        """Lists with statistics; those of the command by default."""
        from nbest.cli.loading import Source, read_lists

        o.refuse_rest(self.given, type(self.how.metric))
        source = Source(self.paths, self.refs, self.format) if paths is None else Source(paths, refs, self.format)
        return self.how.measured(read_lists(source, self.console))

    def forests(self) -> Forests:
        """The forests of the command with its metric; lists are forests of one node each."""
        from nbest.cli.loading import Source, read_corpus
        from nbest.corpus import Forests
        from nbest.forests.derivations import forests_of

        o.refuse_rest(self.given, type(self.how.metric))
        corpus = self.how.measured(read_corpus(Source(self.paths, self.refs, self.format), self.console))
        return corpus if isinstance(corpus, Forests) else forests_of(corpus)

    def sets(
        self, heldout: list[str] | None, heldout_refs: list[str] | None, share: float, seed: int
    ) -> tuple[NBest, NBest | None]:
        """Dev and held-out lists, the latter from their own file or split off."""
        from nbest.corpus import split

        dev = self.lists()
        if heldout:
            return dev, self.lists(heldout, heldout_refs)
        return split(dev, 1.0 - share, seed) if share else (dev, None)

    def run(self, *lists: Any, **options: Any) -> None:
        """Run the study with progress, write its files, say where they are."""
        from nbest.studies import STUDIES

        with self.console.progress(f"study {self.study}") as update, self.console.convergence():
            found = STUDIES[self.study](*lists, progress=update, **options)
        data, image = found.write(self.arguments["output"] or self.study)
        self.console.say(f"wrote {data} ({len(found.rows)} rows) and {image}")


def load_model(path: str | None) -> LogLinear | None:
    from nbest.model.loglinear import load

    return None if path is None else load(path)


def names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def numbers(option: str, text: str | None, count: int | None = None) -> tuple[float, ...] | None:
    """Finite numbers from NUMBER,NUMBER; `count` of them if it is given."""
    from math import isfinite

    from nbest.base.errors import ParameterError

    if text is None:
        return None
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or not all(isfinite(value) for value in values) or (count and len(values) != count):
        wanted = f"{count} numbers" if count else "numbers"
        raise ParameterError(f"--{option} must be {wanted} with commas between them, got {text!r}")
    return values


def whole(option: str, text: str | None) -> list[int] | None:
    from nbest.base.errors import ParameterError

    values = numbers(option, text)
    if values is not None and any(value % 1 for value in values):
        raise ParameterError(f"--{option} must be whole numbers, got {text!r}")
    return None if values is None else [int(value) for value in values]
