"""Made-up lists like those of a kana-kanji converter, with counts of word unigrams and bigrams as sparse features.

Words come in classes of four that sound alike. A segment is a row of classes, Zipf-distributed, of which every fourth
is ambiguous; which word is right depends on the word and on the class before it. The base model knows both, with
errors of its own that features can mend. The hypotheses are its best ones, so they share most of their n-grams.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from nbest.compute.compilation import kernel
from nbest.corpus import NBest
from nbest.metrics import CER

LENGTH = 20  # words of a segment
_ALIKE = 4
_CLASSES = 20_000
_CONTEXTS = 1 << 20


def ngram_lists(segments: int, size: int = 20, seed: int = 1, *, words: int = LENGTH) -> NBest:
    """`segments` lists of `size` hypotheses with the metric's statistics; names of features say their n-gram."""
    rng, shape = np.random.default_rng(seed), np.random.default_rng(0)  # one language, many texts
    likely = shape.normal(0.0, 1.5, (2, _CLASSES * _ALIKE)).astype(np.float32)
    likely[1] = likely[0] + shape.normal(0.0, 1.0, likely.shape[1])
    context = shape.normal(0.0, 1.0, (2, _CONTEXTS)).astype(np.float32)
    context[1] = 0.5 * context[0] + shape.normal(0.0, 0.3, _CONTEXTS)
    rates = np.arange(10.0, _CLASSES + 10) ** -1.35
    classes = rng.choice(_CLASSES, (segments, words), p=rates / rates.sum()).astype(np.int32)
    noise = rng.gumbel(0.0, 1.0, (segments, words // 4, _ALIKE)).astype(np.float32)
    found, scores, errors = _hypotheses(classes, noise, likely, context, size)
    starts, columns, counts, first, second, grams = _count(found, _CLASSES * _ALIKE)
    pairs = zip(first[:grams].tolist(), second[:grams].tolist(), strict=True)
    names = tuple(f"{one}" if two < 0 else f"{one} {two}" for one, two in pairs)
    return NBest(
        offsets=np.arange(0, segments * size + 1, size),
        features=scores[:, None],
        feature_names=("base",),
        ids=tuple(map(str, range(segments))),
        sparse=csr_array((counts, columns, starts), shape=(segments * size, grams)),
        sparse_names=names,
        stats=np.stack([errors, np.full(len(errors), float(words))], axis=1),
        metric=CER(),
    )


@kernel
def _hypotheses(classes, noise, likely, context, size):
    """Words [H, length], base scores and errors of the best hypotheses of the base model."""
    count, length = classes.shape
    words = np.empty((count * size, length), np.int32)
    scores, errors = np.empty(count * size), np.empty(count * size)
    top, wrong = np.empty(size * 4), np.empty(size * 4)
    for i in range(count):
        top[0], wrong[0], kept = 0.0, 0.0, 1
        chosen = np.zeros((1, length // 4), np.int32)
        for a in range(length // 4):
            at = 4 * a + 1
            right, best = 0, -np.inf
            costs = np.empty(4)
            for k in range(4):
                word = classes[i, at] * 4 + k
                place = (classes[i, at - 1] * 7919 + word * 104729) & (len(context[0]) - 1)
                truth = likely[0, word] + context[0, place] + noise[i, a, k]
                costs[k] = likely[1, word] + context[1, place]
                if truth > best:
                    right, best = k, truth
            total, bad = np.empty(kept * 4), np.empty(kept * 4)
            for j in range(kept):
                for k in range(4):
                    total[4 * j + k], bad[4 * j + k] = top[j] + costs[k], wrong[j] + (k != right)
            order = np.argsort(-total)[:size]
            more = np.empty((len(order), length // 4), np.int32)
            for j in range(len(order)):
                top[j], wrong[j] = total[order[j]], bad[order[j]]
                more[j] = chosen[order[j] // 4]
                more[j, a] = order[j] % 4
            chosen, kept = more, len(order)
        for j in range(size):
            h = i * size + j
            scores[h], errors[h] = top[j], wrong[j]
            for t in range(length):
                words[h, t] = classes[i, t] * 4 + (chosen[j, t // 4] if t % 4 == 1 else 0)
    return words, scores, errors


@kernel
def _count(words, vocabulary):
    """Rows of unigram and bigram counts in canonical form, and the words of each n-gram by its number."""
    count, length = words.shape
    starts = np.zeros(count + 1, np.int64)
    columns, counts = np.empty(count * (2 * length - 1), np.int32), np.empty(count * (2 * length - 1))
    slots = 1 << 24
    keys, numbers = np.full(slots, -1, np.int64), np.empty(slots, np.int32)
    first, second = np.empty(slots, np.int32), np.empty(slots, np.int32)
    grams, done = 0, 0
    for h in range(count):
        begin = done
        for t in range(2 * length - 1):
            one = words[h, t // 2]
            two = words[h, t // 2 + 1] if t % 2 else -1
            key = np.int64(one) * (vocabulary + 1) + two + 1
            at = np.int64((np.uint64(key) * np.uint64(11400714819323198485)) >> np.uint64(40))
            while keys[at] != -1 and keys[at] != key:
                at = (at + 1) & (slots - 1)
            if keys[at] == -1:
                keys[at], numbers[at], first[grams], second[grams] = key, grams, one, two
                grams += 1
            j = done - 1
            while j >= begin and columns[j] > numbers[at]:
                j -= 1
            if j >= begin and columns[j] == numbers[at]:
                counts[j] += 1.0
                continue
            for q in range(done, j + 1, -1):
                columns[q], counts[q] = columns[q - 1], counts[q - 1]
            columns[j + 1], counts[j + 1] = numbers[at], 1.0
            done += 1
        starts[h + 1] = done
    return starts, columns[:done].copy(), counts[:done].copy(), first, second, grams
