"""What `nbest train lm` and `nbest features add-lm` do, once their arguments are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbest.base.errors import ParameterError
from nbest.base.limits import LONGEST, check_count
from nbest.base.unpacking import need_rereadable
from nbest.cli.console import Console, print_json
from nbest.cli.loading import Source, read_lists
from nbest.cli.targets import refuse_overwriting, written
from nbest.features.lm import add_lm
from nbest.formats import FOREST_FORMATS, format_of_target, write
from nbest.lm.count import count_ngrams, read_sentences
from nbest.lm.estimate import FALLBACK, KneserNey, adjusted_counts, estimated_discounts
from nbest.lm.file import check_target, load_lm, save_lm
from nbest.lm.model import LanguageModel


@dataclass(frozen=True)
class TrainCall:
    """The arguments of `nbest train lm`."""

    corpus: list[str]
    output: str
    order: int
    cutoff: str
    prune: float
    heldout: list[str] | None
    threads: int | None
    quiet: bool
    as_json: bool


def run(call: TrainCall) -> None:
    """Count, estimate, write, report."""
    console = Console(quiet=call.quiet)
    check_count("--order of nbest train lm", call.order, 1, LONGEST)
    estimator = KneserNey(call.order, _cutoffs(call.cutoff), call.prune)
    _check(call)
    texts = read_sentences(call.corpus)
    held = {path: read_sentences([path]) for path in call.heldout or ()}
    with console.progress("n-grams") as progress:
        counts = count_ngrams(texts, call.order, least=estimator.cutoffs[0], progress=progress)
    with console.progress("probabilities") as progress:
        model = estimator.estimate(counts, progress)
    with console.progress("writing") as progress:
        save_lm(model, call.output, progress)
    console.say(f"{call.output}: {', '.join(f'{n} {k}-grams' for k, n in enumerate(model.sizes, 1))}")
    console.say(f"from {counts.sentences} sentences, {counts.tokens - counts.sentences} words")
    for n, adjusted in enumerate(adjusted_counts(counts), 1):
        if estimated_discounts(adjusted) is None:
            console.say(f"too few {n}-grams to estimate discounts from; used {', '.join(map(str, FALLBACK))}")
    if counts.empty:
        console.warn(f"{counts.empty} lines without words were left out")
    report = {path: _perplexity(model, held[path], call.threads) for path in held}
    for path, found in report.items():
        console.say(
            f"{path}: perplexity {found['perplexity']:.2f}, of known words {found['perplexity_known']:.2f}; "
            f"{found['sentences']} sentences, {found['words']} words, {found['unknown']} unknown"
        )
    if call.as_json:
        print_json({"output": call.output, "ngrams": list(model.sizes), "empty": counts.empty, "heldout": report})


def _check(call: TrainCall) -> None:
    check_target(call.output)
    refuse_overwriting([call.output], [call.corpus, call.heldout])
    if [*call.corpus, *(call.heldout or ())].count("-") > 1:
        raise ParameterError("only one input can come from standard input (-)")
    if call.output == "-" and call.as_json:
        raise ParameterError("the model and --json cannot both go to standard output; name a file with -o")


def _cutoffs(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(f"--cutoff must be whole numbers with commas between them, got {text!r}") from None


def _perplexity(model: LanguageModel, texts: Any, threads: int | None) -> dict[str, Any]:
    scores = model.score(texts, threads)
    return {
        "perplexity": scores.perplexity(),
        "perplexity_known": scores.perplexity(unknown=False),
        "sentences": len(texts),
        "words": len(scores.words.ids),
        "unknown": int(scores.unknown.sum()),
    }


@dataclass(frozen=True)
class AddCall:
    """The arguments of `nbest features add-lm`."""

    lists: str
    output: str
    lm: str
    name: str
    source_format: str | None
    target_format: str | None
    threads: int | None
    quiet: bool


def add(call: AddCall) -> None:
    """Read lists and model, add the columns, write."""
    console = Console(quiet=call.quiet)
    wanted = format_of_target(call.output, call.target_format)
    if wanted in FOREST_FORMATS:
        raise ParameterError(f"{call.output}: {wanted} holds forests, and this command writes lists")
    refuse_overwriting(written(call.output, wanted), [call.lists, call.lm])
    need_rereadable(call.lm, "a language model is read more than once")
    corpus = read_lists(Source([call.lists], None, call.source_format), console, "nbest features add-lm")
    with console.progress("reading the language model") as progress:
        model = load_lm(call.lm, progress)
    with console.progress("scoring") as progress:
        corpus = add_lm(corpus, model, call.name, threads=call.threads, progress=progress)
    write(corpus, call.output, wanted)
    unknown = int(corpus.column(f"{call.name}_oov").sum())
    console.say(f"{call.output}: {corpus.hypotheses} hypotheses with {call.name!r} and '{call.name}_oov'")
    console.say(f"{unknown} words of all hypotheses are not in the {model.order}-gram model {call.lm}")
