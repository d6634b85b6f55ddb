"""`nbest train`: estimate base systems and their models; one command for each of `SYSTEMS`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any

from nbest.base.errors import ParameterError
from nbest.base.parameters import Parameter, parameters_of
from nbest.cli.commands import flags_of
from nbest.cli.systems import all_of, command_of, group, taken

if TYPE_CHECKING:
    from nbest.cli.console import Console
    from nbest.corpus import NBest
    from nbest.systems.base import Data, Lists, Training


def _command(name: str, kind: type[Training[Any]]) -> Callable[..., None]:
    hint, default = (str, MISSING) if kind.lists is None or kind.lists.needs_system else (str | None, None)
    output = Parameter(name, "output", hint, default, kind.place, flags=("--output", "-o"))
    options = [output, *all_of(kind.data, kind, kind.lists)]
    return command_of(kind.__doc__, options, lambda given: _run(kind, given), reports=kind.reports)


app = group("train", "Train base systems and their models from plain text.", _command)


def _run(kind: type[Training[Any]], given: dict[str, Any]) -> None:
    """Check what can be before reading; train, and make the lists that are wanted."""
    from nbest.cli.console import Console, print_json
    from nbest.cli.targets import refuse_overwriting

    console, output, as_json = Console(quiet=given["quiet"]), given["output"], given.get("as_json")
    training = taken(kind, given)
    data: Data = taken(kind.data, given)
    lists = None if kind.lists is None else taken(kind.lists, given)
    if lists is not None:
        lists.check(output)
    data.check()
    refuse_overwriting([output, None if lists is None else lists.lists], [data.paths()])
    if output is not None:
        kind.check_place(output)
    if output == "-" and as_json:
        raise ParameterError("the model and --json cannot both go to standard output; name a file with -o")
    items = [] if lists is None or lists.lists is None else _items(lists, training, data)
    if output is not None:
        found = training.train(data, output, threads=given["threads"], listener=console)
        if as_json:
            print_json({"output": output, **found})
    if lists is not None and lists.lists is not None:
        with console.progress("jackknife") as update:
            begin, how = time.perf_counter(), {"folder": output, "threads": given["threads"], "progress": update}
            made = training.jackknifed(data, lists, items, **how)
        _write_lists(console, training, made, lists.lists, begin)


def _items(lists: Lists, training: Training[Any], data: Any) -> Sequence[Any]:
    """What is cut into folds, if the lists can be written and the folds be cut."""
    from nbest.cli.targets import check_target, format_of_lists

    assert lists.lists is not None
    check_target(lists.lists, format_of_lists(lists.lists))
    items = training.items(data)
    if lists.folds > len(items):
        flag = flags_of(parameters_of(type(lists))["folds"])[0]
        raise ParameterError(f"{flag} must be at most the number of sentences, {len(items)}, got {lists.folds}")
    return items


def _write_lists(console: Console, training: Training[Any], found: NBest, target: str, begin: float) -> None:
    from nbest.cli.targets import format_of_lists
    from nbest.decisions import first, oracle
    from nbest.formats import write

    write(found, target, format_of_lists(target))
    metric = training.measure()
    measured = found.with_metric(metric)
    shown, best = (measured.score(choice) for choice in (first(None, measured), oracle(measured)))
    console.say(
        f"{target}: {len(found)} lists, {found.hypotheses} hypotheses; {metric.name} of the first {shown:.2f} %, "
        f"of the best {best:.2f} %; {time.perf_counter() - begin:.0f} s"
    )
