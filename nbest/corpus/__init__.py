"""Containers for candidate lists, and operations on them."""

from nbest.corpus.adding import add_references
from nbest.corpus.forests import Forests
from nbest.corpus.grouping import split
from nbest.corpus.nbest import NBest, Origin
from nbest.corpus.operations import dedupe, merge, prune
from nbest.corpus.texts import Texts
from nbest.corpus.words import Words, characters, intern

__all__ = [
    "Forests",
    "NBest",
    "Origin",
    "Texts",
    "Words",
    "add_references",
    "characters",
    "dedupe",
    "intern",
    "merge",
    "prune",
    "split",
]
