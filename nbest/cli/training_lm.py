"""What `nbest train lm` and `nbest features add-lm` do, once their arguments are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbest.base.errors import ParameterError
from nbest.base.limits import LONGEST, check_count
from nbest.cli.console import Console, print_json
from nbest.cli.targets import refuse_overwriting
from nbest.lm.count import count_ngrams, read_sentences
from nbest.lm.estimate import FALLBACK, KneserNey, adjusted_counts, estimated_discounts
from nbest.lm.file import check_target, save_lm
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
