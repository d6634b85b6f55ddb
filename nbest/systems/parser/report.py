"""Parsed sentences and how well they are parsed, lists of a parser, and jackknifed training lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nbest.corpus import NBest
from nbest.corpus.operations import merge
from nbest.corpus.texts import Texts
from nbest.forests.kbest import kbest
from nbest.formats.conllu import Sentence
from nbest.metrics import LAS, UAS
from nbest.model.loglinear import LogLinear
from nbest.systems.jackknife import jackknife
from nbest.systems.parser.parser import Parser
from nbest.systems.parser.train import train_parser
from nbest.systems.parser.trees import text_of, tree_of

_BATCH = 200  # sentences at a time where only lists are wanted


def parsed(
    parser: Parser,
    sentences: Sequence[Sentence],
    *,
    weights: Mapping[str, float] | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> list[Sentence]:
    """The sentences with the heads and relations of their best trees."""
    out: list[Sentence] = []
    for lists in batches(parser, sentences, 1, weights=weights, threads=threads, progress=progress):
        assert lists.texts is not None
        for text in lists.texts:
            heads, deprels = tree_of(text)
            out.append(sentences[len(out)].with_column("head", heads).with_column("deprel", deprels))
    return out


def attachment(found: Sequence[str], gold: Sequence[Sentence]) -> tuple[float, float, int]:
    """LAS and UAS in percent of trees as texts, and the number of words."""
    texts = Texts.of(found)
    references = [[text_of(sentence.heads, sentence.deprels)] for sentence in gold]
    las, uas = (m.stats(texts, np.arange(len(found) + 1), references).sum(axis=0) for m in (LAS(), UAS()))
    return float(LAS().score(las)), float(UAS().score(uas)), int(las[1])


def lists(parser: Parser, sentences: Sequence[Sentence], k: int, **options: Any) -> NBest:
    """The k best trees of each sentence; options as for `batches`."""
    return merge(*batches(parser, sentences, k, **options))


def batches(
    parser: Parser,
    sentences: Sequence[Sentence],
    k: int,
    *,
    weights: Mapping[str, float] | None = None,
    ids: Sequence[str] | None = None,
    references: bool = False,
    threads: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    **limits: Any,
) -> Iterator[NBest]:
    """The k best trees by the weights, best first, some sentences at a time; `limits` as of `Parser.forests`."""
    ids = [str(i) for i in range(len(sentences))] if ids is None else ids
    for low in range(0, max(len(sentences), 1), _BATCH):
        part = slice(low, low + _BATCH)
        forests = parser.forests(
            sentences[part], weights=weights, ids=ids[part], references=references, threads=threads, **limits
        )
        model = LogLinear(forests.own_weights)
        yield kbest(forests, model.edge_scores(forests), k, threads=threads).lists()
        if progress is not None:
            progress(min(low + _BATCH, len(sentences)), len(sentences))


def jackknifed_lists(
    sentences: Sequence[Sentence],
    k: int,
    folds: int = 10,
    *,
    weights: Mapping[str, float] | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    **settings: Any,
) -> NBest:
    """The k best trees of each sentence, by a parser of the other folds; references are the trees of the sentences.

    `settings` are those of `train_parser`. Cost: `folds` trainings.
    """
    items = [(str(i), sentence) for i, sentence in enumerate(sentences)]

    def decode(train: Sequence[tuple[str, Sentence]], test: Sequence[tuple[str, Sentence]]) -> NBest:
        parser = train_parser([sentence for _, sentence in train], threads=threads, **settings)
        names, rest = [name for name, _ in test], [sentence for _, sentence in test]
        return lists(parser, rest, k, weights=weights, ids=names, references=True, threads=threads)

    return jackknife(items, decode, folds, progress=progress)
