"""Training a converter from text with readings, a dictionary, and perhaps text to adapt to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from nbest.base.errors import ParameterError
from nbest.corpus import Texts
from nbest.lm.estimate import KneserNey
from nbest.lm.mixture import Mixture, fit_mixture
from nbest.lm.model import LanguageModel
from nbest.systems.converter.converter import Converter, default_weights
from nbest.systems.converter.dictionary import build, token
from nbest.systems.converter.text import Sentence, every_tenth, not_empty

TOKENS = ("pair", "surface")
Progress = Callable[[str, int, int], None]
"""Stage, done, total."""


@dataclass(frozen=True)
class ConverterTraining:
    """How a converter is trained.

    order            of the language model of words
    tokens           what it sees of a word: "pair" surface|reading, "surface"
    spelling_order   of the model of characters for words that it does not know, from the distinct words of the text
    """

    order: int = 3
    tokens: str = "pair"
    spelling_order: int = 3

    def __post_init__(self) -> None:
        if self.tokens not in TOKENS:
            raise ParameterError(f"'tokens' of a converter must be one of {', '.join(TOKENS)}, got {self.tokens!r}")
        for name in ("order", "spelling_order"):
            if not 1 <= getattr(self, name) <= 6:
                raise ParameterError(f"'{name}' of a converter must be between 1 and 6, got {getattr(self, name)}")

    def fit(
        self,
        sentences: Sequence[Sentence],
        dictionary: Iterable[tuple[str, str]] = (),
        *,
        adapt: Sequence[Sentence] = (),
        heldout: Sequence[Sentence] = (),
        threads: int | None = None,
        progress: Progress = lambda stage, done, total: None,
    ) -> Converter:
        """The converter of these sentences and of further (surface, reading) pairs.

        With sentences to `adapt` to its language model is a mixture of one of each; the weight is that which makes
        `heldout` (or every tenth sentence of `adapt`, which then is trained on for the final model) most likely.
        """
        sentences, adapt, heldout = not_empty(sentences), not_empty(adapt), not_empty(heldout)
        if not sentences:
            raise ParameterError("the training text has no words; expected lines of surface|reading words")
        if heldout and not adapt:
            raise ParameterError("held-out text sets the weight of the text to adapt to, and there is none of that")
        own = self._model(sentences, "language model", progress)
        lm = self._adapted(own, adapt, heldout, threads, progress) if adapt else own
        pairs = {pair for s in (*sentences, *adapt) for pair in zip(s.surfaces, s.readings, strict=True)}
        progress("dictionary", 0, 1)
        types = sorted({surface for surface, _ in pairs})
        spelling = KneserNey(self.spelling_order).fit(Texts.of(" ".join(surface) for surface in types))
        pairs.update(dictionary)
        entries = build(pairs, lm, spelling, self.tokens)
        progress("dictionary", 1, 1)
        return Converter(lm, spelling, entries, self.tokens, default_weights(len(lm.vocabulary)))

    def _model(self, sentences: Sequence[Sentence], stage: str, progress: Progress) -> LanguageModel:
        lines = (" ".join(self._tokens(sentence)) for sentence in sentences)
        return KneserNey(self.order).fit(Texts.of(lines), lambda done, total: progress(stage, done, total))

    def _tokens(self, sentence: Sentence) -> list[str]:
        pairs = zip(sentence.surfaces, sentence.readings, strict=True)
        return [token(surface, reading, self.tokens) for surface, reading in pairs]

    def _adapted(
        self,
        first: LanguageModel,
        adapt: Sequence[Sentence],
        heldout: Sequence[Sentence],
        threads: int | None,
        progress: Progress,
    ) -> Mixture:
        rest = list(adapt)
        if not heldout:
            rest, heldout = every_tenth(adapt)
            if not rest:
                raise ParameterError(
                    f"{len(adapt)} sentence to adapt to is too few to hold one out; give held-out text (--heldout)"
                )
        second = self._model(rest, "language model to adapt to", progress)
        texts = Texts.of(" ".join(self._tokens(sentence)) for sentence in heldout)
        weight = fit_mixture(first, second, texts, threads=threads).weight
        if len(rest) < len(adapt):
            second = self._model(adapt, "language model to adapt to", progress)
        return Mixture(first, second, weight)
