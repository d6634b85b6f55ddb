"""What `nbest compare` does, once its arguments are known."""

from __future__ import annotations

from nbest.base.errors import ParameterError, look_up
from nbest.cli.adding import show_added
from nbest.cli.beside import compile_methods
from nbest.cli.compare import DENSE, SPARSE, Compare
from nbest.cli.console import Console, print_json
from nbest.cli.further import refuse_rest, separate
from nbest.cli.loading import (
    files_of_options,
    in_line,
    measure,
    naming,
    read_lists,
    source_of,
    warn_of_labels,
    warn_of_overlap,
)
from nbest.cli.settling import check_decision
from nbest.cli.streams import put
from nbest.cli.targets import refuse_overwriting
from nbest.corpus import split
from nbest.evaluation.comparison import Compared, compare
from nbest.features.wanted import files_of
from nbest.pages.comparisons import check_comparison_folder, comparison_table, content_of, write_comparison
from nbest.report import RENDERERS
from nbest.trainers import TRAINERS
from nbest.trainers.adding import add_columns


def run(call: Compare) -> None:
    """Tune all methods, show what they reach."""
    if call.methods is not None and not call.methods.strip(","):
        raise ParameterError("--methods names none")
    if not call.test:
        raise ParameterError("nbest compare needs --test LISTS to report on")
    check_decision(call.decision)
    if call.table is not None and call.as_json:
        raise ParameterError("--table and --json both say how results are shown; give one of them")
    if call.table is not None:
        RENDERERS.look_up(call.table)
    console = Console(quiet=call.quiet)
    paths, given = separate(call.dev)
    _check_output(call, paths, list(given.values()))
    how = measure(call.metric, given, call)
    refuse_rest(given, type(how.metric), own=Compare)
    sets = {}
    for name, lists, references, option in (
        ("dev", paths, call.refs, "--refs"),
        ("test", call.test, call.test_refs, "--test-refs"),
        ("held-out", call.heldout, call.heldout_refs, "--heldout-refs"),
    ):
        if lists:
            with naming(lists, option):
                sets[name] = in_line(how.measured(read_lists(source_of(call, lists, references), console)))
    whole = sets["dev"]
    tuned = whole if "held-out" in sets else split(whole, 1.0 - call.split, call.seed)[0]
    # held-out segments must not shape the features
    made = add_columns(call.add, [tuned, *sets.values()], only=call.only, drop=call.drop)
    show_added(console, made.added, made.replaced, made.sets[0])
    sets = dict(zip(sets, made.sets[1:], strict=True))
    warn_of_labels(console, sets["dev"])
    for name, other in (("test", "dev"), ("test", "held-out"), ("held-out", "dev")):
        if name in sets and other in sets:
            warn_of_overlap(console, name, sets[name], other, sets[other])
    methods = call.methods or (DENSE if sets["dev"].sparse is None else SPARSE)
    names = [name for name in methods.split(",") if name]
    for name in names:
        look_up(TRAINERS, name, "method")
    compile_methods(names, sets["dev"], quiet=call.quiet)
    with console.progress("tuning") as update, console.convergence():
        found = compare(
            sets["dev"],
            sets["test"],
            names,
            heldout=sets.get("held-out", call.split),
            common={"seed": call.seed, "decision": call.decision},
            seed=call.seed if call.repeats == 1 else range(call.seed, call.seed + call.repeats),
            progress=update,
        )
    if call.output is not None:
        write_comparison(call.output, found)
        console.say(
            f"wrote {call.output}: results.json, a model of each method, report.md; "
            f"nbest report {call.output} -o report.html shows them"
        )
    show(found, console, call.as_json, call.table)


def _check_output(call: Compare, paths: list[str], further: list[str]) -> None:
    """Complain of a directory that cannot be written now, not after the work."""
    if call.output is None:
        return
    read = [call.refs, call.test, call.test_refs, call.heldout, call.heldout_refs, call.scores]
    refuse_overwriting([call.output], [paths, further, *read, files_of(call.add), files_of_options(call.option)])
    check_comparison_folder(call.output)


def show(found: Compared, console: Console, as_json: bool, form: str | None = None) -> None:
    """A table on stdout, or JSON."""
    content = content_of(found)
    if as_json:
        print_json(content)
    elif form is None:
        console.show(comparison_table(content), out=True)
    else:
        put(comparison_table(content).render(form).rstrip("\n"))
