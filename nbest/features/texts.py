"""Columns made from the texts and the order of a list alone, for any lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, look_up
from nbest.base.limits import check_count
from nbest.base.types import Floats
from nbest.compute import segments
from nbest.corpus import NBest, Texts, characters, intern
from nbest.corpus.answers import voting
from nbest.features.recipes import record

_FEW = 1000  # texts that Python counts faster than a kernel is loaded


def length(corpus: NBest) -> NBest:
    """Adds `words` and `chars`: how many words and how many characters (white space apart) a hypothesis has."""
    if corpus.texts is None:
        raise CapabilityError("the feature 'length' needs the texts of the hypotheses and these lists carry none")
    return record(corpus, _with(corpus, ("words", "chars"), _lengths(corpus.texts)), "length")


def _lengths(texts: Texts) -> Floats:
    """[H, 2] words and characters of texts; of few by Python: to load a kernel would take longer."""
    if len(texts) < _FEW:
        pieces = [text.split() for text in texts]
        return np.array([(len(each), sum(map(len, each))) for each in pieces], np.float64).reshape(-1, 2)
    (words,), _ = intern(texts)
    (chars,) = characters(texts)
    return np.stack([words.lengths(), chars.lengths()], axis=1).astype(np.float64)


def answered(corpus: NBest) -> NBest:
    """Adds `answered`: 1 for a hypothesis with an answer (without answers: with a text that is not empty), else 0."""
    if corpus.compared is None:
        raise CapabilityError("the feature 'answered' needs the texts of the hypotheses and these lists carry none")
    column = (corpus.compared.ends > corpus.compared.starts).astype(np.float64)
    return record(corpus, _with(corpus, ("answered",), column), "answered")


def rank(corpus: NBest) -> NBest:
    """Adds `rank`: minus the logarithm of the place in the list, 0 for the first."""
    place = np.arange(corpus.hypotheses) - np.repeat(corpus.offsets[:-1], corpus.lengths)
    return record(corpus, _with(corpus, ("rank",), -np.log1p(place)), "rank")


def frequency(corpus: NBest, cap: int = 5) -> NBest:
    """Adds `frequency` and `rare`: how common the words of a hypothesis are among the first hypotheses of all lists.

        frequency = sum over words of log(min(count, cap) + 1/2),    rare = minus the number of words with count <= 1

    Needs no language model and no references, but looks at the whole corpus: the same list gets other values in
    another corpus, and lists of a few segments get poor ones.
    """
    if corpus.texts is None:
        raise CapabilityError("the feature 'frequency' needs the texts of the hypotheses and these lists carry none")
    check_count("'cap' of the feature 'frequency'", cap)
    (words,), vocabulary = intern(corpus.texts)
    owner = np.repeat(np.arange(corpus.hypotheses), words.lengths())
    first = np.zeros(corpus.hypotheses, bool)
    first[corpus.offsets[:-1][corpus.lengths > 0]] = True
    counts = np.bincount(words.ids[first[owner]], minlength=len(vocabulary))[words.ids]
    columns = np.zeros((corpus.hypotheses, 2))
    np.add.at(columns[:, 0], owner, np.log(np.minimum(counts, cap) + 0.5))
    np.add.at(columns[:, 1], owner, -(counts <= 1).astype(np.float64))
    return record(corpus, _with(corpus, ("frequency", "rare"), columns), "frequency", cap=cap)


def agreement(corpus: NBest, metric: str = "wer", evidence: int = 50, normalize: str = "none") -> NBest:
    """Adds `agreement`: minus the mean loss of a hypothesis when the hypotheses of its list are the references.

    Those are weighted by 1 / (1 + place), so that the order of the list counts, and only the `evidence` distinct texts
    of the largest weight are used. The loss is that of `metric`: errors for wer and cer, 100 - sentence score for bleu
    and chrf. Texts are normalised by `normalize`; where a recipe is fitted, as for the metric of the lists.
    """
    from nbest.metrics import METRICS, make_metric
    from nbest.metrics.pairwise import expected_losses

    if corpus.compared is None:
        raise CapabilityError("the feature 'agreement' needs the texts of the hypotheses and these lists carry none")
    check_count("'evidence' of the feature 'agreement'", evidence)
    look_up(METRICS, metric, "metric")
    how = {} if normalize == "none" else {"normalize": normalize}
    weights = voting(corpus.answers, _by_place(corpus))
    losses = expected_losses(make_metric(metric, **how), corpus.compared, corpus.offsets, weights, evidence=evidence)
    return record(corpus, _with(corpus, ("agreement",), -losses), "agreement", metric=metric, evidence=evidence, **how)


def agreement_recipe(corpus: NBest, **options: Any) -> dict[str, Any]:
    """The recipe of `agreement` with these options; texts are normalised as for the metric of the lists, if at all."""
    own = getattr(corpus.metric, "normalize", "none")
    return {"kind": "agreement", **({} if own == "none" else {"normalize": own}), **options}


def _by_place(corpus: NBest) -> Floats:
    place = np.arange(corpus.hypotheses) - np.repeat(corpus.offsets[:-1], corpus.lengths)
    weights = 1.0 / (1.0 + place)
    return weights / np.repeat(segments.sums(weights, corpus.offsets), corpus.lengths)


def _with(corpus: NBest, names: tuple[str, ...], columns: Floats) -> NBest:
    """The lists with these columns, in place of any of the same names."""
    return corpus.without_features(names).with_features(names, columns)
