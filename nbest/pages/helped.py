"""The section "Did it help?": first, equal, tuned and best choices of every set, and the ladder of the last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from nbest.corpus import NBest
from nbest.evaluation.overlap import shared_segments
from nbest.evaluation.rungs import EQUAL, RANDOM, SINGLE, best_single
from nbest.evaluation.significance import clustered
from nbest.model.equal import equal_weights
from nbest.model.evidence import LEVEL, Evidence
from nbest.model.loglinear import LogLinear
from nbest.pages.base import Judged, Subject
from nbest.pages.reached import OnSet
from nbest.pages.verdicts import keeps_first, same_metric, words
from nbest.report import Column, Page, Table
from nbest.report.page import probability, telling
from nbest.studies.base import about

FLATTERING = (
    "Scores of the lists that were tuned on are flattering: give test lists (--test), or tune with --validate 5, to "
    "know what the model is worth."
)
_LADDER = (
    "A ladder has one rung for each way of choosing: at random, the first hypothesis, simple ways, the models, and the "
    "oracle, which is the best that the lists hold."
)
_EQUAL_OF = "Equal weights are of the features of the lists alone, without those that models add."
_OTHER = 0.005  # difference of scores from which on lists are not those that a model was tuned on


def helped(subject: Subject) -> Page:
    """What choices are worth on each set, whether tuning helped, and how far up the ladder it gets."""
    found = [_on_set(subject, judged) for judged in subject.sets]
    picture = found[-1].ladder().figure("ladder", f"The ladder on the {subject.sets[-1].name} lists")
    return Page("Did it help?", [*_verdicts(subject, found), _table(found), _LADDER, picture])


def _on_set(subject: Subject, judged: Judged) -> OnSet:
    """What is reached on a set; only the last has the best single feature, which takes time."""
    dev = subject.dev
    shared = 0 if judged is dev else shared_segments(judged.lists, dev.lists)
    return OnSet(judged, _simple(dev.lists, single=judged is subject.sets[-1]), shared)


def _simple(dev: NBest, *, single: bool) -> dict[str, LogLinear]:
    """What needs no trainer, found on dev: the best single feature where it is asked for, and equal weights."""
    found = {SINGLE: best_single(dev) if single and dev.names else None, EQUAL: equal_weights(dev)}
    return {name: each for name, each in found.items() if each is not None}


def _metric(judged: Judged) -> str:
    """The short name of the metric."""
    return str(about(judged.lists)["metric"]).split("|")[0]


# the table ------------------------------------------------------------------------------------------------------


def _table(found: Sequence[OnSet]) -> Table:
    """Test before held-out lists before dev."""
    rows = [(each, row) for each in reversed(found) for row in each.rows]
    shown = [(_called(each, found), row) for each, row in rows if row["learned"] or row["rung"] not in (RANDOM, SINGLE)]
    models = list(found[0].judged.models)
    form = telling(row["score"] for _, row in shown)
    columns = [
        Column("lists"), Column("choice", align="left"), Column("score", form), Column("gain over first", f"+{form}"),
        Column("95 % from", form), Column("to", form), Column("p against first", probability),
    ]  # fmt: skip
    keys = ["rung", "score", "gain", "low", "high", "p"]
    if len(models) > 1:
        columns.append(Column(f"p against {models[0]}", probability))
        keys.append("p_model")
    metric = about(found[0].judged.lists)
    better = "higher is better" if metric["higher_is_better"] else "lower is better"
    notes = [
        "95 %: by bootstrap; gain: positive is better; p: paired permutation tests, 10,000 samples.",
        *([_EQUAL_OF] if any(model.features for model in found[0].judged.models.values()) else []),
        *(f"{each.judged.name}: {text}." for each in found if (text := clustered(each.judging.groups))),
        *(f"{each.judged.name}: {lost}." for each in found if (lost := _empty(each.judged))),
    ]
    cells = [[name, *(row[key] for key in keys)] for name, row in shown]
    return Table(columns, cells, caption=f"{metric['metric']} ({better})", notes=notes)


def _called(each: OnSet, found: Sequence[OnSet]) -> str:
    """The name of a set, and what speaks against its scores."""
    name = each.judged.name
    if each is found[0]:
        return f"{name} (tuned on)"
    return f"{name} ({each.shared} of {len(each.judged.lists)} in dev)" if each.shared else name


def _empty(judged: Judged) -> str:
    """How many lists nothing could be chosen of."""
    empty = int(np.count_nonzero(judged.lists.lengths == 0))
    return f"{empty} of {len(judged.lists)} segments have no hypotheses and are left out" if empty else ""


# verdicts -------------------------------------------------------------------------------------------------------


def _verdicts(subject: Subject, found: Sequence[OnSet]) -> Iterator[str]:
    """What is known of each model, from the lists that tell most: test, held-out, those left out in folds, dev."""
    for each in found:
        if each.shared:
            name, count = each.judged.name, len(each.judged.lists)
            yield f"{each.shared} of {count} {name} segments are also in dev: their scores are not honest."
    honest = next((each for each in reversed(found[1:]) if not each.shared), None)
    signature = about(subject.dev.lists)["metric"]
    for name, model in subject.models.items():
        before = f"{name}: " if len(subject.models) > 1 else ""
        said = _verdict(name, model, found[0], honest)
        yield f"{before or said[:1].upper()}{said if before else said[1:]}."
        yield from _other_lists(before, model, found[0].row(name, learned=True)["score"], subject.dev)
    if len(subject.models) > 1:
        yield from _which(list(subject.models), honest)
    known = [_validation(model, signature) for model in subject.models.values()]
    if honest is None and None in known:
        yield FLATTERING


def _validation(model: LogLinear, signature: str) -> Evidence | None:
    """What the model file knows of lists left out, where it is of this metric."""
    return model.validation if same_metric(model.metric, signature) else None


def _verdict(name: str, model: LogLinear, dev: OnSet, honest: OnSet | None) -> str:
    metric = _metric(dev.judged)
    if honest is not None:
        return words(honest.evidence(name), kept=keeps_first(model), metric=metric)[0]
    known = _validation(model, about(dev.judged.lists)["metric"])
    if known is not None:
        return f"as the model file says, {words(known, kept=keeps_first(model), metric=metric)[0]}"
    return _on_dev(dev.evidence(name), metric, model)


def _on_dev(known: Evidence, metric: str, model: LogLinear) -> str:
    """What the lists that were tuned on say, which is no verdict."""
    form = telling((known.tuned, known.first))
    other = f" (the model file knows only of {model.metric})" if model.validation is not None else ""
    return (
        f"whether tuning helps on other lists is not known for {metric}{other}; on those that it was tuned on it has "
        f"{metric} {known.tuned:{form}} against {known.first:{form}} of the first hypotheses"
    )


def _which(names: Sequence[str], honest: OnSet | None) -> Iterator[str]:
    """Which model to use: each other one against the first."""
    if honest is None:
        yield f"Which of {', '.join(names)} to use is not known: give test lists (--test) that are not in dev."
        return
    metric, higher = _metric(honest.judged), honest.judging.metric.higher_is_better
    own = honest.row(names[0], learned=True)
    for name in names[1:]:
        other = honest.row(name, learned=True)
        form = telling((own["score"], other["score"]))
        both = f"{names[0]} {own['score']:{form}} and {name} {other['score']:{form}}"
        sure = other["p_model"] < LEVEL and own["score"] != other["score"]
        better = name if (other["score"] > own["score"]) == higher else names[0]
        said = f"use {better}, which is better" if sure else "no sure difference"
        yield f"Which to use, by {metric} on {honest.judged.name}: {both}: {said} (p {probability(other['p_model'])})."


def _other_lists(before: str, model: LogLinear, score: float, dev: Judged) -> Iterator[str]:
    """A word where the lists that are called dev do not seem to be those that a model was tuned on."""
    said = model.scores_.get("dev")
    if said is None or abs(said - score) <= _OTHER or not same_metric(model.metric, about(dev.lists)["metric"]):
        return
    form = telling((said, score))
    yield (
        f"{before}The model file says {said:{form}} on the lists that it was tuned on, and on these it has "
        f"{score:{form}}: they may be other lists."
    )
