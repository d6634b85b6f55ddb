"""Minimum Bayes risk: the hypothesis with the least expected loss under the model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.limits import check_count
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.compute.executors import Told
from nbest.corpus import Forests, NBest
from nbest.corpus.answers import voting
from nbest.corpus.metric import Metric
from nbest.decisions.arguments import check_arguments, checked_gamma
from nbest.decisions.shards import chosen
from nbest.metrics import METRICS, make_metric
from nbest.metrics.pairwise import expected_losses
from nbest.model.loglinear import LogLinear

_NORM = "norm:"  # in signatures


def mbr(
    model: LogLinear | None,
    corpus: NBest,
    *,
    forests: Forests | None = None,
    gain: str | Metric = "bleu",
    gamma: float | None = None,
    evidence: int | None = 100,
    progress: Callable[[int], None] | None = None,
) -> Ints:
    """[N] flat index of the hypothesis with the smallest expected loss; -1 where a list is empty.

        argmin_k sum_r p_r L(k | r),        p = softmax(gamma * score)

    Kumar & Byrne (2004). L is the loss of `gain`: bleu, chrf, wer or any metric of texts. The `evidence` most
    probable distinct texts serve as references. gamma is the model's own if none is given; a large one gives the
    1-best; 0, or no model, counts all alike. Ties go to the lowest index. Of lists with answers these are compared, and
    hypotheses without one are no references.

    `forests` that the lists were read from change nothing: exp(gamma * score) / Z of a derivation, over the derivations
    in the list, is p. For the whole forest as evidence there is `consensus`.
    """
    check_arguments("mbr", model, corpus)
    model, gamma = (LogLinear({}), 0.0) if model is None else (model, checked_gamma("mbr", gamma, model))
    corpus = model.answered(corpus)
    if corpus.compared is None:
        raise CapabilityError("mbr needs the texts of the hypotheses and these lists carry none")
    if forests is not None:
        check_segments("mbr", corpus, forests)
    if evidence is not None:
        check_count("'evidence' of mbr", evidence)
    metric = make_metric(gain) if isinstance(gain, str) else gain
    return chosen(partial(_least_loss, model, metric, gamma, evidence, told=Told(progress)), corpus)


def _least_loss(
    model: LogLinear, metric: Metric, gamma: float, evidence: int | None, part: NBest, *, told: Told
) -> Ints:
    assert part.compared is not None
    posterior = voting(part.answers, model.posterior(part, gamma))
    losses = expected_losses(metric, part.compared, part.offsets, posterior, evidence=evidence, progress=told)
    return segments.argmax(-losses, part.offsets)


def check_segments(decision: str, corpus: NBest, forests: Forests) -> None:
    """Lists and the forests they were read from have the same segments."""
    if corpus.ids != forests.ids:
        raise ParameterError(
            f"'forests' of {decision} must have the segments of the lists, in their order; got {len(forests)} forests "
            f"and {len(corpus)} lists; read the lists out of these forests"
        )


def gain_of(model: LogLinear) -> Metric:
    """The metric that the model was tuned for, with its normalisation of texts; bleu where it is none of texts."""
    name, *said = model.metric.partition("|answer:")[0].split("|")
    name = name.lower() if name.lower() in METRICS and name.lower() != "external" else "bleu"
    how = next((each.removeprefix(_NORM) for each in said if each.startswith(_NORM)), None)
    return make_metric(name, **({} if how is None else {"normalize": how}))
