"""Treebanks that taggers and parsers are trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from nbest.base.parameters import parameter
from nbest.systems.base import Data

if TYPE_CHECKING:
    from nbest.formats.conllu import Sentence


@dataclass(frozen=True)
class Treebanks(Data):
    """CoNLL-U files, read once."""

    what: ClassVar[str] = "treebank"

    treebanks: list[str] = parameter(..., "Treebanks in CoNLL-U (.gz, .xz too); - is stdin.", flags=("treebanks",))

    def sentences(self, check: Callable[[list[Sentence], str], Any]) -> list[Sentence]:
        """All sentences; those of each file are checked first."""
        for path, part in self._parts:
            check(part, path)
        return [sentence for _, part in self._parts for sentence in part]

    @cached_property
    def _parts(self) -> list[tuple[str, list[Sentence]]]:
        """The sentences of each file, which may be standard input."""
        from nbest.formats.conllu import read_conllu

        return [(path, read_conllu(path)) for path in self.treebanks]
