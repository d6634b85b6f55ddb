"""What `nbest decode tagger` does, once its arguments are known."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nbest.base.errors import ParameterError
from nbest.base.files import decode, read_bytes, split_lines, write_text
from nbest.cli.console import Console, print_json
from nbest.cli.targets import CONLLU, format_of_output, refuse_overwriting, written
from nbest.formats import FOREST_FORMATS, FORMATS, write, write_forests
from nbest.formats.conllu import Sentence, conllu_of, looks_like_conllu, sentence_of, write_conllu
from nbest.model.loglinear import LogLinear, load
from nbest.systems.tagger.report import TagAccuracy, gold_tags
from nbest.systems.tagger.tagger import Tagger

Gold = list[tuple[str, ...]] | None
_SHOWN = 5  # unknown tags that are named


@dataclass(frozen=True)
class DecodeCall:
    """The arguments of `nbest decode tagger`."""

    system: str
    text: str
    output: str
    to: str | None
    model: str | None
    k: int
    threads: int | None
    quiet: bool
    as_json: bool


def run(call: DecodeCall) -> None:
    """Read, tag, write; report the accuracy where there are gold tags."""
    if call.as_json and call.output == "-":
        raise ParameterError("the tags and --json cannot both go to standard output; name a file with -o")
    console = Console(quiet=call.quiet)
    wanted = format_of_output(call.output, call.to, "text")  # unknown: said at once
    refuse_overwriting(written(call.output, wanted), [call.system, call.text, call.model])
    tagger = Tagger.load(call.system)
    model = None if call.model is None else load(call.model)
    content = decode(call.text, read_bytes(call.text))
    is_treebank = call.text.endswith(CONLLU) or looks_like_conllu(content)
    sentences = conllu_of(call.text, content) if is_treebank else _sentences(content)
    gold = _gold(console, tagger, sentences) if is_treebank else None
    wanted = format_of_output(call.output, call.to, "conllu" if is_treebank else "text")
    found = _tag(call, console, wanted, tagger, model, sentences, gold)
    console.say(f"{call.output}: {len(sentences)} sentences")
    if gold is not None:
        words = [sentence.forms for sentence in sentences]
        _report(call, console, tagger, TagAccuracy.of(tagger, words, gold, found))


def _gold(console: Console, tagger: Tagger, sentences: list[Sentence]) -> Gold:
    gold, missing = gold_tags(sentences, tagger.column)
    if 0 < missing < sum(map(len, sentences)):
        name = tagger.column.upper()
        console.warn(f"{missing} words have no {name}: no accuracy is reported, no references are kept")
    return gold


def _sentences(content: str) -> list[Sentence]:
    return [sentence_of(line.split()) for line in split_lines(content)]


def _tag(
    call: DecodeCall,
    console: Console,
    wanted: str,
    tagger: Tagger,
    model: LogLinear | None,
    sentences: list[Sentence],
    gold: Gold,
) -> list[list[str]]:
    """Tag and write; the best tags of each sentence."""
    words = [sentence.forms for sentence in sentences]
    k = call.k if wanted in FORMATS else 1
    with console.progress("tagging") as update:
        lists = tagger.lists(words, k, model=model, references=gold, threads=call.threads, progress=update)
    assert lists.texts is not None
    found = [lists.texts[h].split() for h in lists.offsets[:-1].tolist()]
    if wanted == "conllu":
        write_conllu((s.with_column(tagger.column, row) for s, row in zip(sentences, found, strict=True)), call.output)
    elif wanted == "text":
        write_text(call.output, "".join(f"{' '.join(row)}\n" for row in found))
    elif wanted in FOREST_FORMATS:
        forests = tagger.forests(words, references=gold, threads=call.threads)
        if model is not None:
            model.edge_scores(forests)  # complains of a model that does not fit
            forests = replace(forests, own_weights=dict(model.weights))
        write_forests(forests, call.output, wanted)
    else:
        write(lists, call.output, wanted)
    return found


def _report(call: DecodeCall, console: Console, tagger: Tagger, accuracy: TagAccuracy) -> None:
    console.say(str(accuracy))
    if accuracy.foreign:
        named = sorted(accuracy.foreign, key=lambda tag: -accuracy.foreign[tag])
        more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
        shown = ", ".join(f"{tag} ({accuracy.foreign[tag]})" for tag in named[:_SHOWN])
        console.warn(
            f"{sum(accuracy.foreign.values())} words have a {tagger.column.upper()} that the tagger was not trained on "
            f"and cannot get right: {shown}{more}"
        )
    if call.as_json:
        sizes = {"known_words": accuracy.known, "unknown_words": accuracy.unknown}
        print_json({"output": call.output, "accuracy": accuracy.percentages(), **sizes})
