"""Training a converter from text with readings, a dictionary, and perhaps text to adapt to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from nbest.base.errors import ParameterError
from nbest.corpus import Texts
from nbest.lm.estimate import KneserNey
from nbest.lm.mixture import Mixture, fit_mixture
from nbest.lm.model import LanguageModel
from nbest.systems.converter.converter import Converter, default_weights
from nbest.systems.converter.dictionary import build_dictionary, token
from nbest.systems.converter.system import ConverterTraining
from nbest.systems.converter.text import ReadSentence, every_tenth, not_empty

Progress = Callable[[str, int, int], None]
"""Stage, done, total."""


def train_converter(
    how: ConverterTraining,
    sentences: Sequence[ReadSentence],
    dictionary: Iterable[tuple[str, str]] = (),
    *,
    adapt: Sequence[ReadSentence] = (),
    heldout: Sequence[ReadSentence] = (),
    threads: int | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> Converter:
    """The converter of these sentences and of further (surface, reading) pairs.

    With sentences to `adapt` to its language model is a mixture of one of each; the weight is that which makes
    `heldout` (or every tenth sentence of `adapt`, which then is trained on for the final model) most likely. Words
    that it does not know have a model of characters, from the distinct words of the text.
    """
    sentences, adapt, heldout = not_empty(sentences), not_empty(adapt), not_empty(heldout)
    if not sentences:
        raise ParameterError("the training text has no words; expected lines of surface|reading words")
    if heldout and not adapt:
        raise ParameterError("held-out text sets the weight of the text to adapt to, and there is none of that")
    own = _model(how, sentences, "language model", progress)
    lm = _adapted(how, first=own, adapt=adapt, heldout=heldout, threads=threads, progress=progress) if adapt else own
    pairs = {pair for s in (*sentences, *adapt) for pair in zip(s.surfaces, s.readings, strict=True)}
    progress("dictionary", 0, 1)
    types = sorted({surface for surface, _ in pairs})
    spelling = KneserNey(how.spelling_order).fit(Texts.of(" ".join(surface) for surface in types))
    pairs.update(dictionary)
    entries = build_dictionary(pairs, lm, spelling, how.tokens)
    progress("dictionary", 1, 1)
    return Converter(lm, spelling, entries, how.tokens, default_weights(len(lm.vocabulary)))


def _model(how: ConverterTraining, sentences: Sequence[ReadSentence], stage: str, progress: Progress) -> LanguageModel:
    lines = (" ".join(_tokens(how, sentence)) for sentence in sentences)
    return KneserNey(how.order).fit(Texts.of(lines), lambda done, total: progress(stage, done, total))


def _tokens(how: ConverterTraining, sentence: ReadSentence) -> list[str]:
    pairs = zip(sentence.surfaces, sentence.readings, strict=True)
    return [token(surface, reading, how.tokens) for surface, reading in pairs]


def _adapted(
    how: ConverterTraining,
    first: LanguageModel,
    adapt: Sequence[ReadSentence],
    heldout: Sequence[ReadSentence],
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
    second = _model(how, rest, "language model to adapt to", progress)
    texts = Texts.of(" ".join(_tokens(how, sentence)) for sentence in heldout)
    weight = fit_mixture(first, second, texts, threads=threads).weight
    if len(rest) < len(adapt):
        second = _model(how, adapt, "language model to adapt to", progress)
    return Mixture(first, second, weight)
