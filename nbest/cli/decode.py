"""`nbest decode`: run base systems; texts, lists or forests come out. One command for each of `SYSTEMS` that can."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from nbest.base.errors import ParameterError, look_up
from nbest.base.parameters import Parameter
from nbest.cli.systems import all_of, command_of, group, taken

if TYPE_CHECKING:
    from nbest.corpus import Forests, NBest
    from nbest.model.loglinear import LogLinear
    from nbest.systems.base import Decoding, System, Training

T = TypeVar("T")


def _command(name: str, kind: type[Training[Any]]) -> Callable[..., None] | None:
    if kind.decoding is None:
        return None
    place = Parameter(name, "system", str, MISSING, f"Directory of nbest train {name}.", flags=("system",))
    options = [place, *all_of(kind.decoding, kind.search)]
    return command_of(kind.decoding.__doc__, options, lambda given: _run(kind, given), reports=kind.decoding.reports)


app = group("decode", "Run base systems: texts, lists or forests come out.", _command)


def _run(kind: type[Training[Any]], given: dict[str, Any]) -> None:
    """Read, decode, write; report where the inputs tell what is right."""
    from nbest.cli.console import Console, print_json
    from nbest.cli.targets import check_target, format_of_output, refuse_overwriting, written
    from nbest.decisions import DECISIONS

    assert kind.decoding is not None
    console, asked = Console(quiet=given["quiet"]), taken(kind.decoding, given)
    search = asdict(taken(kind.search, given))
    if given.get("as_json") and asked.output == "-":
        raise ParameterError(f"the {asked.chosen} and --json cannot both go to standard output; name a file with -o")
    look_up(DECISIONS, asked.decision, "decision")
    form = format_of_output(asked.output, asked.to, asked.forms)
    check_target(asked.output, form)
    refuse_overwriting(written(asked.output, form), [given["system"], asked.text, asked.model, asked.refs])
    system: System = kind.load(given["system"])
    model = _model(system, asked, form)
    inputs, references = system.inputs(asked, console)
    form = format_of_output(asked.output, asked.to, (system.form(asked, inputs), *asked.forms))
    with console.progress(asked.doing) as update:
        options = {"references": references, "threads": given["threads"], "progress": update, **search}
        best = _Work(system, model, asked, inputs, options, place=str(given["system"])).write(form)
    console.say(f"{asked.output}: {len(inputs)} sentences")
    found = system.report(inputs, best, console)
    if given.get("as_json") and found is not None:
        print_json({"output": asked.output, **found})


def _model(system: System, asked: Decoding, form: str) -> LogLinear:
    """The model that chooses: by its weights the system searches, unless it adds features to lists."""
    from nbest.model.loglinear import LogLinear, load

    model = LogLinear(dict(system.weights)) if asked.model is None else load(asked.model)
    if model.features and not (system.reranks and form in asked.forms):
        raise ParameterError(
            f"this model adds features to lists and chooses {asked.chosen}; write lists without --model and use "
            "nbest rerank"
        )
    return model


@dataclass(frozen=True)
class _Work:
    """What is decoded by what, and how."""

    system: System
    model: LogLinear
    asked: Decoding
    inputs: Sequence[Any]
    options: dict[str, Any]  # of System.batches
    place: str  # the system's directory

    @property
    def weights(self) -> Mapping[str, float]:
        """Those of the search."""
        return self.system.weights if self.model.features else self.model.weights

    def write(self, form: str) -> list[str]:
        """Decode and write; the best text of each input."""
        from nbest.base.files import write_text
        from nbest.corpus.operations import join
        from nbest.formats import FOREST_FORMATS, write, write_forests
        from nbest.formats.conllu import write_conllu

        if form in self.asked.forms:
            texts = [text for some in self._each(_Work._chosen) for text in some]
            if form == "conllu":
                write_conllu(self.system.treebank(self.inputs, texts), self.asked.output)
            else:
                write_text(self.asked.output, "".join(f"{line}\n" for line in self.system.lines(self.asked, texts)))
            return texts
        if form in FOREST_FORMATS:
            forests = self._forests()
            write_forests(forests, self.asked.output, form)
            return _firsts(self._best(forests, 1)) if self.asked.reports else []
        lists = join(self._each(_Work._lists))
        write(lists, self.asked.output, form)
        return _firsts(lists)

    def _each(self, function: Callable[[_Work, Forests], T]) -> list[T]:
        """What a method makes of the forests of some inputs at a time: on workers where the executor has its own."""
        from nbest.compute.executors import current
        from nbest.systems.parts import manifest_of, on_workers

        if not current().apart or not self.inputs:
            return [function(self, forests) for forests in self._batches()]
        references = self.options["references"]
        rows = list(zip(self.inputs, references or [None] * len(self.inputs), strict=True))
        bare = {name: self.options[name] for name in self.options if name not in ("references", "progress", "threads")}
        place = str(Path(self.place).absolute())
        sent = replace(self, system=cast("System", None), inputs=(), options=bare, place=place)
        run = partial(_on_worker, sent, manifest_of(place), function)
        return [each for some in on_workers(run, rows, self.options["progress"]) for each in some]

    def _batches(self) -> Iterator[Forests]:
        return self.system.batches(self.inputs, weights=self.weights, **self.options)

    def _forests(self) -> Forests:
        """Those of all inputs at once."""
        from nbest.compute.executors import current

        if current().apart and self.inputs:
            return self.system.joined(self._each(_Work._same))
        options = {name: value for name, value in self.options.items() if name != "references"}
        found = self.system.candidates(self.inputs, self.weights, **options)
        references = self.options["references"]
        return found if references is None else replace(found, references=tuple(map(tuple, references)))

    def _same(self, forests: Forests) -> Forests:
        return forests

    def _lists(self, forests: Forests) -> NBest:
        return self._best(forests, self.asked.k)

    def _best(self, forests: Forests, k: int) -> NBest:
        weights = None if self.system.reranks else self.weights
        return self.system.best(forests, k, weights, threads=self.options["threads"])

    def _chosen(self, forests: Forests) -> list[str]:
        """The text that the decision chooses of each forest."""
        from nbest.decisions import decide, needs_one

        one = needs_one(self.asked.decision) and not self.model.features
        lists = self._best(forests, 1 if one else self.asked.strings)
        offered = {"forests": forests} if self.system.by_forests else {}
        return _texts(lists, decide(self.asked.decision, self.model, lists, **offered).tolist())


def _on_worker(
    sent: _Work, manifest: Mapping[str, Any], function: Callable[[_Work, Forests], T], part: tuple[int, Sequence[Any]]
) -> list[T]:
    """What a method makes of the forests of a part."""
    from nbest.systems.parts import kept_system

    low, rows = part
    inputs, references = [row for row, _ in rows], [own for _, own in rows]
    options = {"ids": [str(low + i) for i in range(len(rows))], "threads": None, **sent.options}
    options["references"] = None if references[0] is None else references
    work = replace(sent, system=kept_system(sent.place, manifest), inputs=inputs, options=options)
    return [function(work, forests) for forests in work._batches()]


def _firsts(lists: NBest) -> list[str]:
    """The first text of each list."""
    filled = zip(lists.offsets[:-1].tolist(), lists.lengths.tolist(), strict=True)
    return _texts(lists, [h if size else -1 for h, size in filled])


def _texts(lists: NBest, choice: Sequence[int]) -> list[str]:
    assert lists.texts is not None
    return [lists.texts[h] if h >= 0 else "" for h in choice]
