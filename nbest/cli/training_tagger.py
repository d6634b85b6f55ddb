"""What `nbest train tagger` does, once its arguments are known."""

from __future__ import annotations

import time
from dataclasses import dataclass

from nbest.base.errors import ParameterError
from nbest.cli.console import Console
from nbest.cli.targets import format_of_lists, refuse_overwriting
from nbest.decisions import oracle
from nbest.evaluation.inspection import first_choice
from nbest.formats import write
from nbest.formats.conllu import Sentence, read_conllu
from nbest.metrics import TokenAccuracy
from nbest.systems.tagger.files import check_place
from nbest.systems.tagger.report import jackknifed_lists, training_tags
from nbest.systems.tagger.tagger import Settings, Tagger


@dataclass(frozen=True)
class TrainCall:
    """The arguments of `nbest train tagger`."""

    treebanks: list[str]
    output: str | None
    column: str
    settings: Settings
    folds: int | None
    lists: str | None
    k: int
    threads: int | None
    quiet: bool


def run(call: TrainCall) -> None:
    """Read treebanks, train, write the tagger and the lists that are wanted."""
    _check(call)
    console = Console(quiet=call.quiet)
    begin = time.perf_counter()
    sentences: list[Sentence] = []
    tags: list[tuple[str, ...]] = []
    for path in call.treebanks:
        part = read_conllu(path)
        tags += training_tags(path, part, call.column)
        sentences += part
    words = [sentence.forms for sentence in sentences]
    if call.output is not None:
        tagger = Tagger.train(words, tags, call.settings, column=call.column)
        tagger.save(call.output)
        console.say(
            f"{call.output}: {len(sentences)} sentences, {sum(map(len, words))} words, {len(tagger.lexicon.words)} "
            f"different ones, {len(tagger.tags)} tags; {time.perf_counter() - begin:.1f} s"
        )
    if call.lists is not None:
        _write_lists(call, console, words, tags)


def _write_lists(call: TrainCall, console: Console, words: list[tuple[str, ...]], tags: list[tuple[str, ...]]) -> None:
    assert call.lists is not None
    with console.progress("jackknife") as update:
        lists = jackknifed_lists(
            words, tags, call.k, call.folds or 10, call.settings, threads=call.threads, progress=update
        )
    write(lists, call.lists, format_of_lists(call.lists))
    measured = lists.with_metric(TokenAccuracy())
    first, best = (measured.score(choice) for choice in (first_choice(measured), oracle(measured)))
    console.say(
        f"{call.lists}: {len(lists)} lists, {lists.hypotheses} hypotheses; accuracy of the first {first:.2f} %, "
        f"of the best {best:.2f} %"
    )


def _check(call: TrainCall) -> None:
    """What can be refused before reading."""
    if call.output is None and call.lists is None:
        raise ParameterError("nothing to make: name a directory for the tagger (-o), or lists (--jackknife 10 --lists)")
    if (call.folds is None) != (call.lists is None):
        raise ParameterError("--jackknife and --lists go together: how many parts, and where the lists go")
    if call.folds is not None and call.folds < 2:
        raise ParameterError(f"--jackknife must be at least 2, got {call.folds}")
    if call.column not in ("upos", "xpos"):
        raise ParameterError(f"--tags must be upos or xpos, got {call.column!r}")
    if call.treebanks.count("-") > 1:
        raise ParameterError("only one treebank can come from standard input (-)")
    refuse_overwriting([call.output, call.lists], [call.treebanks])
    if call.output is not None:
        check_place(call.output)
    if call.lists is not None:
        format_of_lists(call.lists)
