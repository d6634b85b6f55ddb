"""Interpolated modified Kneser-Ney from dictionaries, as the formulas stand in Chen & Goodman (1998)."""

from __future__ import annotations

from collections import Counter
from itertools import product


class Textbook:
    """p(w | h) by recursion; `cutoffs[n - 1]` is the least count of n-grams of order n that are kept (order 1: all)."""

    def __init__(self, sentences: list[list[str]], order: int, cutoffs: tuple[int, ...] = (1,)) -> None:
        self.order = order
        self.raw = [Counter() for _ in range(order + 1)]
        for sentence in sentences:
            marked = ["<s>", *sentence, "</s>"]
            for n in range(1, order + 1):
                for at in range(len(marked) - n + 1):
                    self.raw[n][tuple(marked[at : at + n])] += 1
        self.words = [*sorted({w for s in sentences for w in s} - {"<unk>"}), "</s>", "<unk>"]
        cuts = [*cutoffs, *[cutoffs[-1]] * order]
        self.least = [0, 1, *cuts[1:]]
        self.adjusted = [self._adjusted(n) for n in range(order + 1)]
        self.discounts = [self._discounts(n) for n in range(order + 1)]

    def _adjusted(self, n: int) -> Counter:
        """Counts of the highest order and of n-grams with <s> first; else the number of distinct words before."""
        out = Counter()
        for gram, count in self.raw[n].items():
            if n == self.order or gram[0] == "<s>":
                out[gram] = count
            else:
                out[gram] = sum(1 for longer in self.raw[n + 1] if longer[1:] == gram)
        if n == 1:
            del out[("<s>",)]
        return out

    def _discounts(self, n: int) -> list[float]:
        of = Counter(self.adjusted[n].values())
        if all(of[k] for k in (1, 2, 3, 4)):
            y = of[1] / (of[1] + 2 * of[2])
            found = [k - (k + 1) * y * of[k + 1] / of[k] for k in (1, 2, 3)]
            if min(found) > 0:
                return [0.0, *found]
        return [0.0, 0.5, 1.0, 1.5]

    def p(self, word: str, history: tuple[str, ...]) -> float:
        """p(word | history), which is no longer than order - 1."""
        n = len(history) + 1
        lower = self.p(word, history[1:]) if history else 1 / len(self.words)
        following = {gram: a for gram, a in self.adjusted[n].items() if gram[:-1] == history}
        total = sum(following.values())
        if not total:
            return lower
        mine, freed = 0.0, 0.0
        for gram, a in following.items():
            discount = self.discounts[n][min(a, 3)]
            cut = self.raw[n][gram] < self.least[n]
            freed += a if cut else discount
            mine += 0.0 if cut or gram[-1] != word else a - discount
        return (mine + freed * lower) / total

    def histories(self) -> list[tuple[str, ...]]:
        """Every history of every length, seen or not; <s> only at the front."""
        inner = [w for w in self.words if w != "</s>"]
        out: list[tuple[str, ...]] = []
        for n in range(self.order):
            out += product(inner, repeat=n)
            if n:
                out += (("<s>", *rest) for rest in product(inner, repeat=n - 1))
        return out
