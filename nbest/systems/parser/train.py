"""Experts of the parser, trained one by one to make the trees of a treebank likely."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nbest.base.errors import ParameterError, _known
from nbest.base.parameters import parameters_of
from nbest.base.randomness import generator
from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.parallel import counter, each
from nbest.formats.conllu import Sentence
from nbest.systems.parser.eisner import inside_trees, marginals
from nbest.systems.parser.labels import LabelOptions, arc_options, label_options
from nbest.systems.parser.parser import Parser
from nbest.systems.parser.scores import Arcs, add_gradient, arc_scores, label_scores, places_of
from nbest.systems.parser.system import ParserTraining
from nbest.systems.parser.trees import check_trees, projective
from nbest.systems.parser.views import EXPERTS, View, Vocabulary, templates_of

WEIGHT, LEAD, SQUARES, GRADIENT = range(4)
"""Columns of the state of a weight in training."""
_LEAST = 1e-5  # posteriors of wrong arcs below this are not trained on


class _Treebank(NamedTuple):
    """Sentences as kernels read them."""

    offsets: Ints  # [N+1] rows of sentences, the root first
    columns: Ints  # [rows, C]
    tags: Ints  # [rows]
    heads: Ints  # [rows], projective
    labels: Ints  # [rows], -1 for the root


def train_parser(
    sentences: Sequence[Sentence],
    *,
    experts: Mapping[str, View] | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    **settings: Any,
) -> Parser:
    """A parser whose experts maximise sum log p_j(tree | words) - l2 / 2 |weights|^2, each on its own.

    Trees that are not projective are lifted first. Ascent by one sentence at a time in a random order, with steps that
    shrink by the gradients a weight has had: McMahan et al. (2013), KDD 1222-1230 (FTRL-Proximal, no L1). `settings`
    are those of `ParserTraining`. The result depends on the seed and not on the threads: each expert is trained by one.
    Differs from Smith & Eisner (2006), who took 10 steps of plain gradient ascent, most on samples.
    Cost: O(n^3) an expert, epoch and sentence of n words. Memory: 16 bytes a weight of the experts in training.
    """
    how = ParserTraining(**_known_settings(settings))
    views = EXPERTS if experts is None else experts
    if not views:
        raise ParameterError("a parser needs at least one expert, got none")
    check_trees(sentences)
    vocabulary = Vocabulary.of(sentences, how.frequent)
    labels = tuple(dict.fromkeys(deprel for sentence in sentences for deprel in sentence.deprels))
    if not labels:
        raise ParameterError("a parser needs at least one word to train on, got none")
    bank = _treebank(sentences, vocabulary, labels)
    options = _options(bank, vocabulary.tag_count, len(labels))
    templates = templates_of(list(views.values()))
    tables = np.empty((len(views), (1 << how.arc_bits) + (len(labels) << how.label_bits)), np.float32)
    report = counter(progress, len(views) * how.epochs)

    def one(expert: int) -> None:
        own = templates[templates[:, 0] == expert]
        tables[expert] = _trained(
            bank, options, own, labels=len(labels), tags=vocabulary.tag_count, how=how, expert=expert, report=report
        )

    each(one, range(len(views)), threads)
    tables.flags.writeable = False  # as those of a file
    return Parser(
        tuple(views), labels, vocabulary, options, templates=templates, tables=tables, arc_size=1 << how.arc_bits
    )


def _known_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    known = parameters_of(ParserTraining)
    strange = next((name for name in settings if name not in known), None)
    if strange is not None:
        raise ParameterError(f"train_parser has no setting {strange!r}; {_known(known, strange)}")
    return settings


def _treebank(sentences: Sequence[Sentence], vocabulary: Vocabulary, labels: Sequence[str]) -> _Treebank:
    offsets, columns, tags = vocabulary.encode(sentences)
    numbers = {label: at for at, label in enumerate(labels)}
    heads = [head for sentence in sentences for head in (0, *projective(sentence.heads))]
    names = [number for sentence in sentences for number in (-1, *(numbers[deprel] for deprel in sentence.deprels))]
    return _Treebank(offsets, columns, tags, np.array(heads, np.int64), np.array(names, np.int64))


def _options(bank: _Treebank, tags: int, labels: int) -> LabelOptions:
    words = np.flatnonzero(bank.labels >= 0)
    first = bank.offsets[np.searchsorted(bank.offsets, words, "right") - 1]
    heads = first + bank.heads[words]
    after = (heads < words).astype(np.int64)
    return label_options(
        bank.tags[heads], dependents=bank.tags[words], after=after, labels=bank.labels[words], tags=tags, size=labels
    )


def _trained(
    bank: _Treebank,
    options: LabelOptions,
    templates: Ints,
    labels: int,
    tags: int,
    how: ParserTraining,
    expert: int,
    report: Callable[[int], None],
) -> Floats:
    """[arc_size + rows * L] the weights of one expert."""
    arc_size, rows = 1 << how.arc_bits, 1 << how.label_bits
    state = np.zeros((arc_size + rows * labels, 4), np.float32)
    sizes = (arc_size, rows, labels, tags)
    for epoch in range(how.epochs):
        order = generator(how.seed, expert, epoch).permutation(len(bank.offsets) - 1)
        _pass(order, bank, (options, templates), sizes, (how.rate, how.l2), state=state)
        if not np.isfinite(state[:, WEIGHT]).all():
            raise ParameterError(f"'rate' of train_parser is too large, got {how.rate}: the weights are no numbers")
        report(1)
    return state[:, WEIGHT]


@kernel
def _pass(order, bank, model, sizes, steps, state):
    """One step of ascent on each sentence; the sum of log p before their steps."""
    offsets, columns, tags, heads, labels = bank
    options, templates = model
    rate, l2 = steps
    touched = np.empty(1024, np.int64)
    total = 0.0
    for i in order:
        a, b = offsets[i], offsets[i + 1]
        arcs, where, scores = scored(columns[a:b], tags[a:b], options, templates, sizes, table=state[:, WEIGHT])
        room = len(where.places) * sizes[2]
        if room > len(touched):
            touched = np.empty(2 * room, np.int64)
        gold = heads[a + 1 : b], labels[a + 1 : b]
        value, count = ascend(arcs, where, scores, gold, _LEAST, out=(state[:, GRADIENT], touched))
        total += value
        for place in touched[:count]:
            _step(state[place], rate, l2)
    return total


@kernel
def scored(columns, tags, options, templates, sizes, table):
    """The arcs of a sentence, where the weights of their features are, and the scores of labelled arcs.

    `sizes`: weights of arcs, rows and labels of the table, numbers of tags.
    """
    arc_offsets, arc_labels = arc_options(tags, options, sizes[3])
    arcs = Arcs(arc_offsets, arc_labels)
    where = places_of(columns, tags, templates, arc_size=sizes[0], rows=sizes[1], labels=sizes[2])
    scores = np.empty(len(arc_labels))
    label_scores(arcs, where, table, scores)
    return arcs, where, scores


@kernel
def ascend(arcs, where, scores, gold, least, out):
    """log p of a tree (`gold`: heads and labels), with its gradient added to `out`; and how many were touched."""
    heads, labels = gold
    sums = arc_scores(arcs.offsets, scores)
    tables, log_z = inside_trees(sums)
    posteriors = marginals(sums, tables, log_z)
    value = -log_z
    n = len(heads)
    for d in range(n):
        a = heads[d] * n + d
        for k in range(arcs.offsets[a], arcs.offsets[a + 1]):
            if arcs.labels[k] == labels[d]:
                value += scores[k]
    return value, add_gradient(arcs, where, (scores, sums, posteriors), gold, least, out=out)


@kernel
def _step(state, rate, l2):
    """One step of a weight along its gradient g (of the log likelihood): with n the sum of the squares of gradients,

    z += g + (sqrt(n + g^2) - sqrt(n)) / rate * w,    w = z / ((1 + sqrt(n + g^2)) / rate + l2)
    """
    g = state[GRADIENT]
    before = np.sqrt(state[SQUARES])
    state[SQUARES] += g * g
    after = np.sqrt(state[SQUARES])
    state[LEAD] += g + (after - before) / rate * state[WEIGHT]
    state[WEIGHT] = state[LEAD] / ((1.0 + after) / rate + l2)
    state[GRADIENT] = 0.0
