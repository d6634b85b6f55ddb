"""The systems of `nbest train` as decoders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, ParameterError, look_up
from nbest.base.files import decode, read_bytes, read_lines, split_lines
from nbest.base.folders import MANIFEST
from nbest.base.sealed import read_object
from nbest.corpus import Forests, NBest
from nbest.corpus.operations import join
from nbest.forests.kbest import kbest
from nbest.formats.conllu import Sentence, conllu_of, looks_like_conllu, sentence_of
from nbest.model.loglinear import LogLinear

_BATCH = 200  # segments whose forests are in memory at a time, where lists are wanted


class _System:
    """Texts in, texts out."""

    system: Any
    start: dict[str, float]

    def read(self, path: str | Path) -> list[Any]:
        return read_lines(path)

    def references(self, texts: Sequence[str]) -> list[str]:
        return list(texts)

    def forests(self, inputs: Sequence[Any], weights: Mapping[str, float], **options: Any) -> Any:
        return self.system.forests(inputs, weights=weights, **options)

    def lists(self, forests: Forests, weights: Mapping[str, float], k: int, threads: int | None) -> Any:
        return kbest(forests, LogLinear(weights).edge_scores(forests), k, distinct=True, threads=threads).lists()


class _Translator(_System):
    """Texts in, translations as tokens out."""

    def __init__(self, folder: Path) -> None:
        from nbest.systems.translator.translator import Translator

        self.system = Translator.load(folder)
        self.start = dict(self.system.weights)

    def references(self, texts: Sequence[str]) -> list[str]:
        return [" ".join(tokens) for tokens in self.system.tokens(texts, of_target=True)]


class _Converter(_System):
    """Kana in, words out; lists differ in characters."""

    def __init__(self, folder: Path) -> None:
        from nbest.systems.converter.converter import Converter

        self.system = Converter.load(folder)
        self.start = dict(self.system.weights)

    def lists(self, forests: Forests, weights: Mapping[str, float], k: int, threads: int | None) -> Any:
        return self.system.lists(forests, k, scores=LogLinear(weights).edge_scores(forests), threads=threads)


class _Tagger(_System):
    """Sentences in, tags out; treebanks carry the right tags."""

    def __init__(self, folder: Path) -> None:
        from nbest.systems.tagger.lattice import FEATURES
        from nbest.systems.tagger.tagger import Tagger

        self.system = Tagger.load(folder)
        self.start = dict.fromkeys(FEATURES, 1.0)

    def read(self, path: str | Path) -> list[Sentence]:
        content = decode(path, read_bytes(path))
        if looks_like_conllu(content):
            return conllu_of(path, content)
        return [sentence_of(line.split()) for line in split_lines(content)]

    def forests(self, inputs: Sequence[Sentence], weights: Mapping[str, float], **options: Any) -> Any:
        from nbest.systems.tagger.report import gold_tags

        options.pop("progress", None)
        gold = gold_tags(inputs, self.system.column)[0]
        return self.system.forests([each.forms for each in inputs], references=gold, **options)


class _Parser(_Tagger):
    """Sentences with parts of speech in, trees out; treebanks carry the right trees."""

    def __init__(self, folder: Path) -> None:
        from nbest.systems.parser.parser import Parser

        self.system = Parser.load(folder)
        self.start = dict(self.system.weights)

    def forests(self, inputs: Sequence[Sentence], weights: Mapping[str, float], **options: Any) -> Any:
        return self.system.forests(inputs, weights=weights, references=True, **options)


_KINDS: dict[str, Callable[[Path], Any]] = {
    "nbest-translator": _Translator,
    "nbest-converter": _Converter,
    "nbest-tagger": _Tagger,
    "nbest-parser": _Parser,
}


def is_system(path: str | Path) -> bool:
    """Whether this is the directory of a system of `nbest train`."""
    return (Path(path) / MANIFEST).is_file()


@dataclass
class SystemDecoder:
    """A translator, converter, tagger or parser in its directory.

    k         candidates of each segment, where lists are wanted
    forests   give forests
    options   of the system's own `forests`: beam, ...
    """

    path: str | Path
    k: int = 200
    forests: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    threads: int | None = field(default=None, repr=False)
    progress: Callable[[int, int], None] | None = field(default=None, repr=False)

    @cached_property
    def kind(self) -> str:
        """What system it is, by its manifest."""
        return str(self._manifest.get("format")).partition("/")[0]

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        path = Path(self.path) / MANIFEST
        manifest = read_object(path, "train the system again")
        if not isinstance(manifest.get("format"), str):
            raise FormatError(path, None, "is damaged: it has no 'format'; train the system again")
        return manifest

    @cached_property
    def system(self) -> Any:
        """The loaded system; arrays are mapped."""
        return look_up(_KINDS, self.kind, "system")(Path(self.path))

    @property
    def start(self) -> dict[str, float]:
        """The weights that the system has."""
        return dict(self.system.start)

    def describe(self) -> dict[str, Any]:
        """What a run's record says; the system itself by its manifest, with its sums, and the sizes of its files."""
        kept = ("format", "settings", "source", "target", "files")
        own = {key: value for key, value in self._manifest.items() if key in kept}
        return {
            "kind": self.kind,
            "system": {**own, "bytes": self._bytes()},
            "k": self.k,
            "options": dict(self.options),
        }

    def _bytes(self) -> int:
        """Of all files of the system, without what training left for itself."""
        files = [path for path in Path(self.path).rglob("*") if path.is_file()]
        return sum(path.stat().st_size for path in files if "work" not in path.relative_to(self.path).parts)

    def read(self, path: str | Path) -> list[Any]:
        """Inputs of a file: lines, or sentences of a treebank."""
        return list(self.system.read(path))

    def references(self, texts: Sequence[str]) -> list[str]:
        """Reference texts as the system would write them (tokens of a translator)."""
        return list(self.system.references(texts))

    def decode(self, weights: Mapping[str, float], inputs: Sequence[Any]) -> NBest | Forests:
        """Lists of the k best, or forests; ids count the inputs from 0."""
        if isinstance(inputs, str | Path):
            raise ParameterError("a system decodes texts or sentences, not a file; call its read(path) first")
        odd = next((name for name in weights if name not in self.system.start), None)
        if odd is not None:
            raise ParameterError(f"{odd!r} is no feature of the system; it has {', '.join(self.system.start)}")
        if self.forests:
            return self._forests(inputs, weights, 0, len(inputs))
        parts = []
        for low in range(0, max(len(inputs), 1), _BATCH):
            forests = self._forests(inputs, weights, low, min(low + _BATCH, len(inputs)))
            parts.append(self.system.lists(forests, weights, self.k, self.threads))
        return join(parts)

    def _forests(self, inputs: Sequence[Any], weights: Mapping[str, float], low: int, high: int) -> Forests:
        def tell(done: int, total: int) -> None:
            if self.progress is not None:
                self.progress(low + done, len(inputs))

        ids = [str(i) for i in range(low, high)]
        found: Forests = self.system.forests(
            inputs[low:high], weights, ids=ids, threads=self.threads, progress=tell, **self.options
        )
        return found
