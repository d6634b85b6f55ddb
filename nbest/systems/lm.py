"""The n-gram language model, trained like a system; it scores and does not decode."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from nbest.base.errors import ParameterError
from nbest.base.limits import LONGEST
from nbest.base.parameters import parameter
from nbest.systems.base import SILENT, Data, Decoding, Listener, Training

if TYPE_CHECKING:
    from nbest.lm.count import NgramCounts
    from nbest.lm.model import LanguageModel


@dataclass(frozen=True)
class PlainText(Data):
    """Sentences, and some to report on."""

    corpus: list[str] = parameter(
        ..., "Text, one sentence a line, words between spaces (.gz, .xz too); - is stdin.", flags=("corpus",)
    )
    heldout: list[str] | None = parameter(None, "Text to report the perplexity on; repeat for several.")


@dataclass(frozen=True)
class LanguageModelTraining(Training[PlainText]):
    """Estimate an n-gram language model: interpolated modified Kneser-Ney.

    Use it as a feature of lists with nbest features add-lm, or with nbest tune --add lm:path=lm.nlm.

    [bold]Examples[/bold]

      nbest train lm train.en --order 4 -o lm.nlm

      nbest train lm news.en.xz web.en.gz --order 5 --cutoff 1,1,2 --prune 1e-9 --heldout dev.en -o lm.arpa.gz
    """

    form: ClassVar[str] = "nbest-lm/1"
    place: ClassVar[str] = "Model: .nlm (loads at once), .arpa, .arpa.gz, .arpa.xz; - is stdout."
    data: ClassVar[type] = PlainText
    files: ClassVar[tuple[str, ...]] = ()
    decoding: ClassVar[type[Decoding] | None] = None
    reports: ClassVar[bool] = True

    order: int = parameter(4, "Longest n-grams.", least=1, most=LONGEST, flags=("--order", "-n"))
    cutoff: str = parameter("1", "Least count of n-grams of order 1, 2, ... that are kept; rarer words are <unk>.")
    prune: float = parameter(0.0, "Leave out n-grams that change the perplexity by a smaller share.", least=0)

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """Of order 1, 2, ..."""
        try:
            return tuple(int(part) for part in self.cutoff.split(","))
        except ValueError:
            rule = "whole numbers with commas between them"
            raise ParameterError(f"--cutoff must be {rule}, got {self.cutoff!r}") from None

    @classmethod
    def check_place(cls, folder: str | Path) -> None:
        """The name must say how a language model is written."""
        from nbest.lm.file import check_target

        check_target(folder)

    def train(
        self, data: PlainText, folder: str | Path, *, threads: int | None = None, listener: Listener = SILENT
    ) -> dict[str, Any]:
        """Count, estimate, write, report; `folder` is the file of the model."""
        from nbest.lm.count import count_ngrams, read_word_lines
        from nbest.lm.estimate import KneserNey
        from nbest.lm.file import save_lm

        estimator = KneserNey(self.order, self.cutoffs, self.prune)
        self.check_place(folder)
        texts = read_word_lines(data.corpus)
        held = {path: read_word_lines([path]) for path in data.heldout or ()}
        with listener.progress("n-grams") as progress:
            counts = count_ngrams(texts, self.order, least=estimator.cutoffs[0], progress=progress)
        with listener.progress("probabilities") as progress:
            model = estimator.estimate(counts, progress)
        with listener.progress("writing") as progress:
            save_lm(model, folder, progress)
        listener.say(f"{folder}: {', '.join(f'{n} {k}-grams' for k, n in enumerate(model.sizes, 1))}")
        _tell(counts, listener)
        report = {path: _perplexity(model, held[path], threads) for path in held}
        for path, found in report.items():
            listener.say(
                f"{path}: perplexity {found['perplexity']:.2f}, of known words {found['perplexity_known']:.2f}; "
                f"{found['sentences']} sentences, {found['words']} words, {found['unknown']} unknown"
            )
        return {"ngrams": list(model.sizes), "empty": counts.empty, "heldout": report}

    @classmethod
    def load(cls, folder: str | Path) -> LanguageModel:
        """The model of a file."""
        from nbest.lm.file import load_lm

        return load_lm(folder)


def _tell(counts: NgramCounts, listener: Listener) -> None:
    """What the model is from, and where there was too little of it."""
    from nbest.lm.estimate import FALLBACK, adjusted_counts, estimated_discounts

    listener.say(f"from {counts.sentences} sentences, {counts.tokens - counts.sentences} words")
    for n, adjusted in enumerate(adjusted_counts(counts), 1):
        if estimated_discounts(adjusted) is None:
            listener.say(f"too few {n}-grams to estimate discounts from; used {', '.join(map(str, FALLBACK))}")
    if counts.empty:
        listener.warn(f"{counts.empty} lines without words were left out")


def _perplexity(model: LanguageModel, texts: Any, threads: int | None) -> dict[str, Any]:
    scores = model.score(texts, threads)
    return {
        "perplexity": scores.perplexity(),
        "perplexity_known": scores.perplexity(unknown=False),
        "sentences": len(texts),
        "words": len(scores.words.ids),
        "unknown": int(scores.unknown.sum()),
    }
