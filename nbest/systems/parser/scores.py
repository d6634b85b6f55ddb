"""Scores of labelled arcs by the hashed features of an expert, and their gradient.

A feature is the hash of a template with the columns that it names of both words (see `parser_views`). Templates of arcs
have one weight a hash, those joined with labels a row of L weights:

    s(h, d, l) = sum_t table[hash_t(h, d) mod arc_size] + sum_t table[arc_size + (hash_t(h, d) mod rows) L + l]

Hashes of int64 wrap around. Weinberger et al. (2009), ICML 1113-1120: features that share a weight are few enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbest.base.types import Ints
from nbest.compute.compilation import kernel
from nbest.compute.intrinsics import fast_exp
from nbest.systems.parser.views import ALL_BETWEEN, BETWEEN, FAR, SIDE

_A = np.int64(-7046029254386353131)  # odd numbers without pattern
_B = np.int64(-4658895280553007687)
_C = np.int64(-7723592293110705685)


class Arcs(NamedTuple):
    """The arcs of a sentence: number h * n + d - 1 for head h and dependent d."""

    offsets: Ints  # [arcs+1] of the labels of each
    labels: Ints  # [O]


class Places(NamedTuple):
    """Where the weights of the features of arcs are."""

    offsets: Ints  # [arcs+1, 2]: first of arc a, and first of those that are joined with labels
    places: Ints  # in a table, or the first of a row


@kernel
def _mixed(x):
    x = (x ^ (x >> 32)) * _B
    x = (x ^ (x >> 29)) * _C
    return x ^ (x >> 32)


@kernel
def _word_keys(columns, templates, side):
    """[T, n+1] the part of hashes that one word of an arc gives."""
    out = np.empty((len(templates), len(columns)), np.int64)
    for t in range(len(templates)):
        bits = templates[t, side]
        for i in range(len(columns)):
            key = np.int64(t + 1) * _A + side
            for c in range(columns.shape[1]):
                if bits >> c & 1:
                    key = _mixed(key + columns[i, c] * _C + c)
            out[t, i] = key
    return out


@kernel
def _distance(h, d):
    """1 to 5, then 6 to 10 and more, as numbers."""
    size = abs(h - d)
    return size if size <= 5 else 6 if size <= 10 else 7


@kernel
def _tags_between(tags, h, d):
    """Bits of the tags of the words between two."""
    bits = np.int64(0)
    for b in range(min(h, d) + 1, max(h, d)):
        bits |= np.int64(1) << min(tags[b], 62)
    return bits


@kernel
def places_of(columns, tags, templates, arc_size, rows, labels):
    """The `Places` of a sentence for the templates [T, 5] of one expert, those joined with labels last."""
    n = len(columns) - 1
    heads, dependents = _word_keys(columns, templates, 2), _word_keys(columns, templates, 3)
    offsets = np.zeros(((n + 1) * n + 1, 2), np.int64)
    most = 0
    for t in range(len(templates)):
        most += min(n, 63) if templates[t, 4] == BETWEEN else 1
    places = np.empty((n + 1) * n * most, np.int64)
    at, arc = 0, 0
    for h in range(n + 1):
        for d in range(1, n + 1):
            offsets[arc, 0] = offsets[arc, 1] = at
            if h != d:
                between = _tags_between(tags, h, d)
                for t in range(len(templates)):
                    if templates[t, 1] == 0:
                        at = _put(
                            places, at, templates[t, 4], heads[t, h] + dependents[t, d] * _A, h, d=d, between=between
                        )
                for p in range(offsets[arc, 0], at):
                    places[p] &= arc_size - 1
                offsets[arc, 1] = at
                for t in range(len(templates)):
                    if templates[t, 1] == 1:
                        at = _put(
                            places, at, templates[t, 4], heads[t, h] + dependents[t, d] * _A, h, d=d, between=between
                        )
                for p in range(offsets[arc, 1], at):
                    places[p] = arc_size + (places[p] & (rows - 1)) * labels
            arc += 1
    offsets[arc] = at
    return Places(offsets, places[:at])


@kernel
def _put(places, at, kind, key, h, d, between):
    """Append the hashes of one template; the new end."""
    side = np.int64(h < d)
    if kind == BETWEEN:
        for tag in range(63):
            if between >> tag & 1:
                places[at] = _mixed(key + (side + 2 * tag) * _B)
                at += 1
        return at
    if kind == SIDE:
        key += side * _B
    elif kind == FAR:
        key += (side + 2 * _distance(h, d)) * _B
    elif kind == ALL_BETWEEN:
        key = _mixed(key + side * _B) + between * _A
    places[at] = _mixed(key)
    return at + 1


@kernel
def label_scores(arcs, where, table, out):
    """Fill `out` [O] with the scores of labelled arcs."""
    for a in range(len(arcs.offsets) - 1):
        first, last = arcs.offsets[a], arcs.offsets[a + 1]
        if first == last:
            continue
        base = 0.0
        for p in range(where.offsets[a, 0], where.offsets[a, 1]):
            base += table[where.places[p]]
        out[first:last] = base
        for p in range(where.offsets[a, 1], where.offsets[a + 1, 0]):
            row = where.places[p]
            for k in range(first, last):
                out[k] += table[row + arcs.labels[k]]


@kernel
def arc_scores(offsets, scores):
    """[n+1, n+1] log of the sum over the labels of each arc; 0 where there is no arc."""
    n = int(np.sqrt(len(offsets) - 1))  # (n + 1) n arcs
    out = np.zeros((n + 1, n + 1))
    a = 0
    for h in range(n + 1):
        for d in range(1, n + 1):
            first, last = offsets[a], offsets[a + 1]
            a += 1
            if first == last:
                continue
            top = scores[first]
            for k in range(first + 1, last):
                top = max(top, scores[k])
            total = 0.0
            for k in range(first, last):
                total += fast_exp(scores[k] - top)
            out[h, d] = top + np.log(total)
    return out


@kernel
def add_gradient(arcs, where, scored, tree, least, out):
    """Add the gradient of log p(gold tree) to `gradient`; how many places were touched, listed in `touched`.

        d log p / d s(h, d, l) = [gold] - p(h, d) exp(s(h, d, l) - sums[h, d])

    `scored`: scores s, sums and posteriors p of arcs; `tree`: gold heads and labels [n]; `out`: both. Arcs with a
    posterior under `least` are passed over. A place is listed anew when its gradient was 0.
    """
    scores, sums, posteriors = scored
    heads, labels = tree
    gradient, touched = out
    n = len(heads)
    count = 0
    weights = np.empty(64)
    for a in range(len(arcs.offsets) - 1):
        h, d = a // n, a % n + 1
        first, last = arcs.offsets[a], arcs.offsets[a + 1]
        gold = heads[d - 1] == h
        p = posteriors[h, d]
        if first == last or (p < least and not gold):
            continue
        if last - first > len(weights):
            weights = np.empty(2 * (last - first))
        for k in range(first, last):
            weights[k - first] = -p * np.exp(scores[k] - sums[h, d])
            if gold and arcs.labels[k] == labels[d - 1]:
                weights[k - first] += 1.0
        for q in range(where.offsets[a, 0], where.offsets[a, 1]):
            count = _add(gradient, where.places[q], gold - p, touched, count)
        for q in range(where.offsets[a, 1], where.offsets[a + 1, 0]):
            for k in range(first, last):
                count = _add(gradient, where.places[q] + arcs.labels[k], weights[k - first], touched, count)
    return count


@kernel
def _add(gradient, place, value, touched, count):
    if gradient[place] == 0.0:
        touched[count] = place
        count += 1
    gradient[place] += value
    return count
