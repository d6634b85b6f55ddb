"""What `nbest train parser` does, once its arguments are known."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass

from nbest.base.errors import ParameterError
from nbest.cli.console import Console
from nbest.cli.targets import check_folder, check_target, format_of_lists, refuse_overwriting
from nbest.decisions import oracle
from nbest.evaluation.inspection import first_choice
from nbest.formats import write
from nbest.formats.conllu import Sentence, read_conllu
from nbest.metrics import LAS
from nbest.systems.parser.files import check_place
from nbest.systems.parser.report import jackknifed_lists
from nbest.systems.parser.train import Settings, train_parser
from nbest.systems.parser.trees import check_trees


@dataclass(frozen=True)
class TrainCall:
    """The arguments of `nbest train parser`."""

    treebanks: list[str]
    output: str | None
    settings: Settings
    lists: str | None
    folds: int
    k: int
    seed: int
    threads: int | None
    quiet: bool


def run(call: TrainCall) -> None:
    """Read treebanks, train, write the parser and the lists that are wanted."""
    _check(call)
    console = Console(quiet=call.quiet)
    sentences: list[Sentence] = []
    for path in call.treebanks:
        part = read_conllu(path)
        check_trees(part, path)
        sentences += part
    if call.lists is not None and call.folds > len(sentences):
        raise ParameterError(f"--folds must be at most the number of sentences, {len(sentences)}, got {call.folds}")
    if call.output is not None:
        _train(call, console, call.output, sentences)
    if call.lists is not None:
        _write_lists(call, console, call.lists, sentences)


def _train(call: TrainCall, console: Console, output: str, sentences: list[Sentence]) -> None:
    begin = time.perf_counter()
    with console.progress("training") as update:
        how = asdict(call.settings)
        parser = train_parser(sentences, seed=call.seed, threads=call.threads, progress=update, **how)
    parser.save(output)
    console.say(
        f"{output}: {len(sentences)} sentences, {sum(map(len, sentences))} words, {len(parser.labels)} relations, "
        f"{len(parser.names)} experts; {time.perf_counter() - begin:.0f} s"
    )


def _write_lists(call: TrainCall, console: Console, target: str, sentences: list[Sentence]) -> None:
    begin = time.perf_counter()
    with console.progress("jackknife") as update:
        how = {"seed": call.seed, **asdict(call.settings)}
        lists = jackknifed_lists(sentences, call.k, call.folds, threads=call.threads, progress=update, **how)
    write(lists, target, format_of_lists(target))
    measured = lists.with_metric(LAS())
    first, best = (measured.score(choice) for choice in (first_choice(measured), oracle(measured)))
    console.say(
        f"{target}: {len(lists)} lists, {lists.hypotheses} hypotheses; LAS of the first {first:.2f} %, of the best "
        f"{best:.2f} %; {time.perf_counter() - begin:.0f} s"
    )


def _check(call: TrainCall) -> None:
    """What can be refused before reading."""
    if call.output is None and call.lists is None:
        raise ParameterError("nothing to make: name a directory for the parser (-o), or training lists (--lists)")
    if call.treebanks.count("-") > 1:
        raise ParameterError("only one treebank can come from standard input (-)")
    refuse_overwriting([call.output, call.lists], [call.treebanks])
    if call.output is not None:
        check_place(call.output)
        check_folder(call.output)
    if call.lists is not None:
        check_target(call.lists, format_of_lists(call.lists))
