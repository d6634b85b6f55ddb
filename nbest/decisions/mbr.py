"""Minimum Bayes risk: the hypothesis with the least expected loss under the model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.limits import check_count
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.compute.executors import Told
from nbest.corpus import Forests, NBest
from nbest.corpus.answers import voting
from nbest.corpus.metric import Metric
from nbest.decisions.among import among_best
from nbest.decisions.arguments import check_arguments, checked_gamma, own_normalisers
from nbest.decisions.shards import chosen
from nbest.metrics import METRICS, make_metric
from nbest.metrics.pairwise import expected_losses
from nbest.metrics.tokenise import BY_WORD
from nbest.model.loglinear import LogLinear

_BETA = re.compile(r"(?<=^chrf)\d+")  # sacrebleu's name of chrF tells it


def mbr(
    model: LogLinear | None,
    corpus: NBest,
    *,
    forests: Forests | None = None,
    gain: str | Metric = "bleu",
    gamma: float | None = None,
    evidence: int | None = 100,
    among: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Ints:
    """[N] flat index of the hypothesis with the smallest expected loss; -1 where a list is empty.

        argmin_k sum_r p_r L(k | r),        p = softmax(gamma * score)

    Kumar & Byrne (2004). L is the loss of `gain`: bleu, chrf, wer or any metric of texts. The `evidence` most
    probable distinct texts serve as references. gamma is the model's own if none is given; a large one gives the
    1-best; 0, or no model, counts all alike. `among` the so many best-scored hypotheses it is chosen and measured, all
    by default. Ties go to the lowest index. Of lists with answers these are compared, and hypotheses without one are no
    references.

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
    device = _device()
    work = partial(_least_loss, model, metric, gamma, evidence, device=device, told=Told(progress))
    return among_best("mbr", model, corpus, among, partial(chosen, work))


def _least_loss(
    model: LogLinear, metric: Metric, gamma: float, evidence: int | None, part: NBest, *, device: str | None, told: Told
) -> Ints:
    assert part.compared is not None
    posterior = voting(part.answers, model.posterior(part, gamma))
    losses = expected_losses(
        metric, part.compared, part.offsets, posterior, evidence=evidence, device=device, progress=told
    )
    return segments.argmax(-losses, part.offsets)


def mbr_of_each(model: LogLinear, corpus: NBest, gammas: Sequence[float], gain: Metric) -> list[Ints]:
    """What `mbr` chooses at each gamma, all hypotheses being references; pairs are measured once."""
    assert corpus.compared is not None
    posteriors = [voting(corpus.answers, model.posterior(corpus, gamma)) for gamma in gammas]
    device = _device()
    losses = expected_losses(gain, corpus.compared, corpus.offsets, np.stack(posteriors, axis=1), device=device)
    return [segments.argmax(-column, corpus.offsets) for column in losses.T]


def _device() -> str | None:
    """The device of the current backend, which is imported late: it costs more than a decision."""
    from nbest.objectives.backends import current_backend

    return current_backend().device


def check_segments(decision: str, corpus: NBest, forests: Forests) -> None:
    """Lists and the forests they were read from have the same segments."""
    if corpus.ids != forests.ids:
        raise ParameterError(
            f"'forests' of {decision} must have the segments of the lists, in their order; got {len(forests)} forests "
            f"and {len(corpus)} lists; read the lists out of these forests"
        )


def gain_of(model: LogLinear) -> Metric:
    """The metric that the model was tuned for, comparing texts as it did: normalised, with or without case, in tokens
    of the same kind; bleu where it is none of texts."""
    name, *parts = model.metric.partition("|answer:")[0].split("|")
    name, said = _BETA.sub("", name.lower()), dict(each.split(":", 1) for each in parts if ":" in each)
    if name not in METRICS or name == "external":
        return make_metric("bleu")
    how = {
        "normalize": next(iter(own_normalisers(parts)), None),
        "lowercase": True if said.get("case") == "lc" else None,
        "case_sensitive": True if said.get("case") == "mixed" else None,
        "tokenize": said.get("tok") if said.get("tok") in BY_WORD else None,
    }
    taken = signature(METRICS[name]).parameters
    return make_metric(name, **{key: value for key, value in how.items() if value is not None and key in taken})
