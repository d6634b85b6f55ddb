"""The tagger's model in plain Python, by its formulas: dictionaries of counts, and sums over all tag sequences."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence

from nbest.systems.tagger.suffixes import endings
from nbest.systems.tagger.system import TaggerTraining

B = "<boundary>"
Corpus = tuple[list[list[str]], list[list[str]]]


class Twin:
    """The model in plain Python, by its formulas: dictionaries of counts and nothing shared with the package."""

    def __init__(self, corpus: Corpus, s: TaggerTraining) -> None:
        self.s = s
        self.c1, self.c2, self.c3 = Counter(), Counter(), Counter()
        self.h1, self.h2 = Counter(), Counter()
        self.tag, self.word, self.both, self.context = Counter(), Counter(), Counter(), Counter()
        for words, tags in zip(*corpus, strict=True):
            if not words:
                continue
            row = [B, B, *tags, B]
            for a, b, c in zip(row, row[1:], row[2:], strict=False):
                self.c1[c] += 1
                self.c2[b, c] += 1
                self.c3[a, b, c] += 1
                self.h1[b] += 1
                self.h2[a, b] += 1
            for word, before, tag in zip(words, [B, *tags], tags, strict=False):
                self.tag[tag] += 1
                self.word[word] += 1
                self.both[word, tag] += 1
                self.context[word, before, tag] += 1
        self.tags = list(dict.fromkeys(tag for row in corpus[1] for tag in row))
        self.shares = self.deleted()
        self.lexical_shares = self.deleted_lexical()
        self.rare = [
            (word, at == 0, tag)
            for words, tags in zip(*corpus, strict=True)
            for at, (word, tag) in enumerate(zip(words, tags, strict=True))
            if self.word[word] <= s.rare
        ]

    def raw(self) -> list[float]:
        won = [0.0, 0.0, 0.0]
        total = sum(self.c1.values())
        for (a, b, c), count in self.c3.items():
            cases = [
                (self.c1[c] - 1) / (total - 1) if total > 1 else 0.0,
                (self.c2[b, c] - 1) / (self.h1[b] - 1) if self.h1[b] > 1 else 0.0,
                (count - 1) / (self.h2[a, b] - 1) if self.h2[a, b] > 1 else 0.0,
            ]
            won[cases.index(max(cases))] += count
        return won

    def deleted(self) -> list[float]:
        won = self.raw()
        return [(x + 1) / (sum(won) + 3) for x in won]

    def deleted_lexical(self) -> list[float]:
        won = [1.0, 1.0]
        for (word, before, tag), count in self.context.items():
            plain = (self.both[word, tag] - 1) / (self.tag[tag] - 1) if self.tag[tag] > 1 else 0.0
            pair = self.c2[before, tag]
            close = (count - 1) / (pair - 1) if pair > 1 else 0.0
            won[1 if close > plain else 0] += count
        return [x / sum(won) for x in won]

    def transition(self, a: str, b: str, c: str) -> float:
        single, pair, triple = self.shares
        p = single * self.c1[c] / sum(self.c1.values())
        p += pair * self.c2[b, c] / self.h1[b] if self.h1[b] else 0.0
        return p + (triple * self.c3[a, b, c] / self.h2[a, b] if self.h2[a, b] else 0.0)

    def guess(self, word: str, first: bool) -> dict[str, float]:
        counts = Counter(tag for *_, tag in self.rare)
        p = {tag: (counts[tag] + 1) / (len(self.rare) + len(self.tags)) for tag in self.tags}
        for size, key in enumerate(endings(word, first, self.s.longest)):
            alike = [tag for other, at, tag in self.rare if key in endings(other, at, self.s.longest)[size : size + 1]]
            if not alike:
                break
            w = self.s.weight
            p = {tag: (alike.count(tag) + w * p[tag]) / (len(alike) + w) for tag in self.tags}
        return p

    def options(self, word: str, first: bool) -> dict[str, float]:
        """p(word | tag) of the tags that the word may take."""
        if first and not self.word[word] and self.word[word.lower()]:
            word = word.lower()
        f, prior = self.word[word], self.s.prior
        if f > self.s.rare or (f and not prior):
            return {tag: self.both[word, tag] / self.tag[tag] for tag in self.tags if self.both[word, tag]}
        guess = self.guess(word, first)
        mass = {t: f / (f + prior) * (self.both[word, t] + prior * guess[t]) for t in self.tags} if f else guess
        best = sorted(self.tags, key=lambda tag: (-round(mass[tag], 12), self.tags.index(tag)))[: self.s.limit]
        top = max(mass.values())
        best = [tag for tag in best if mass[tag] >= self.s.least * top]
        return {tag: mass[tag] / self.tag[tag] for tag in best}

    def sequences(self, words: Sequence[str]) -> dict[str, tuple[float, float]]:
        """Both log probabilities of every tag sequence that the options allow."""
        out = {}
        options = [self.options(word, at == 0) for at, word in enumerate(words)]
        for tags in itertools.product(*options):
            row = [B, B, *tags, B]
            transition = sum(math.log(self.transition(*row[i : i + 3])) for i in range(len(tags) + 1))
            lexical = 0.0
            for word, before, tag, own in zip(words, [B, *tags], tags, options, strict=False):
                p = own[tag]
                word = word if self.word[word] or before != B else word.lower()
                if self.s.contexts:
                    pair = self.c2[before, tag]
                    near = self.context[word, before, tag] / pair if pair else 0.0
                    p = self.lexical_shares[0] * p + self.lexical_shares[1] * near
                lexical += math.log(p)
            out[" ".join(tags)] = (transition, lexical)
        return out
