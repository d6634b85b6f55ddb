"""What `nbest decode parser` does, once its arguments are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbest.base.errors import ParameterError
from nbest.base.files import write_text
from nbest.cli.console import Console, print_json
from nbest.cli.targets import check_target, format_of_output, refuse_overwriting, written
from nbest.forests.kbest import kbest
from nbest.formats import FOREST_FORMATS, write, write_forests
from nbest.formats.conllu import NO_HEAD, Sentence, read_conllu, write_conllu
from nbest.model.loglinear import LogLinear, load
from nbest.systems.parser.parser import Parser
from nbest.systems.parser.report import attachment, lists, parsed
from nbest.systems.parser.trees import text_of

Update = Callable[[int, int], None]
_SHOWN = 5  # unknown tags that are named


@dataclass(frozen=True)
class DecodeCall:
    """The arguments of `nbest decode parser`."""

    system: str
    text: str
    output: str
    to: str | None
    model: str | None
    k: int
    limits: Mapping[str, Any]  # of Parser.forests
    threads: int | None
    quiet: bool
    as_json: bool


def run(call: DecodeCall) -> None:
    """Read, parse, write; report attachment where the sentences have trees."""
    if call.as_json and call.output == "-":
        raise ParameterError("the trees and --json cannot both go to standard output; name a file with -o")
    console = Console(quiet=call.quiet)
    wanted = format_of_output(call.output, call.to, "conllu")
    check_target(call.output, wanted)
    refuse_overwriting(written(call.output, wanted), [call.system, call.text, call.model])
    parser = Parser.load(call.system)
    weights = parser.weights if call.model is None else _weights(load(call.model))
    sentences = read_conllu(call.text)
    _warn_of_tags(console, parser, sentences)
    has_trees = _has_trees(console, sentences)
    with console.progress("parsing") as update:
        found = _parse(call, wanted, parser, weights, sentences, has_trees, update)
    console.say(f"{call.output}: {len(sentences)} sentences")
    if has_trees:
        _report(call, console, sentences, found)


def _weights(model: LogLinear) -> Mapping[str, float]:
    if model.features:
        raise ParameterError(
            "this model adds features to lists and chooses trees; write lists without --model and use nbest rerank"
        )
    return model.weights


def _warn_of_tags(console: Console, parser: Parser, sentences: Sequence[Sentence]) -> None:
    """Say how many words have a tag that no word had in training: their arcs are little more than guesses."""
    known = frozenset(parser.vocabulary.tags)
    strange = Counter(tag for sentence in sentences for tag in sentence.upos if tag not in known)
    if strange:
        named = ", ".join(tag for tag, _ in strange.most_common(_SHOWN))
        console.warn(
            f"{strange.total()} words have a UPOS that the parser was not trained on, such as {named}; "
            "tag the words as in its treebank for better trees"
        )


def _has_trees(console: Console, sentences: Sequence[Sentence]) -> bool:
    """Whether every word has a head and a relation; said where only some have."""
    words = sum(map(len, sentences))
    missing = sum(NO_HEAD in pair or "_" in pair for s in sentences for pair in zip(s.heads, s.deprels, strict=True))
    if 0 < missing < words:
        console.warn(
            f"{missing} words have no HEAD or no DEPREL: no attachment scores are reported, no references are kept"
        )
    return missing == 0 and words > 0


def _parse(
    call: DecodeCall,
    wanted: str,
    parser: Parser,
    weights: Mapping[str, float],
    sentences: list[Sentence],
    references: bool,
    update: Update,
) -> list[str]:
    """Parse and write; the best tree of each sentence as a text."""
    options: dict[str, Any] = {"weights": weights, "threads": call.threads, "progress": update}
    if wanted in ("conllu", "text"):  # the best tree is in the forests whatever the limits
        trees = parsed(parser, sentences, **options)
        found = [text_of(tree.heads, tree.deprels) for tree in trees]
        if wanted == "conllu":
            write_conllu(trees, call.output)
        else:
            write_text(call.output, "".join(f"{tree}\n" for tree in found))
        return found
    if wanted in FOREST_FORMATS:
        forests = parser.forests(sentences, references=references, **call.limits, **options)
        write_forests(forests, call.output, wanted)
        best = kbest(forests, LogLinear(forests.own_weights).edge_scores(forests), 1, threads=call.threads).lists()
    else:
        best = lists(parser, sentences, call.k, references=references, **call.limits, **options)
        write(best, call.output, wanted)
    assert best.texts is not None
    filled = best.lengths > 0
    return [best.texts[h] if full else "" for h, full in zip(best.offsets[:-1].tolist(), filled, strict=True)]


def _report(call: DecodeCall, console: Console, sentences: Sequence[Sentence], found: Sequence[str]) -> None:
    """Labelled and unlabelled attachment of the best trees."""
    las, uas, words = attachment(found, sentences)
    console.say(f"LAS {las:.2f} %, UAS {uas:.2f} % of {words} words")
    if call.as_json:
        print_json({"output": call.output, "las": las, "uas": uas, "words": words})
