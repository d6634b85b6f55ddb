"""The contract of base systems: how one is trained, what it is asked, and how it decodes.

`SYSTEMS` holds a `Training` for each name: a dataclass of settings that can `train(data, folder)` and `load(folder)`.
What is loaded is a `System`, which decodes, so that the outer loop can tune it. The commands `nbest train NAME` and
`nbest decode NAME` are made of the dataclasses: `Training`, its `data`, `search` and `decoding`.
This file and the `system.py` of each system import nothing heavy, because `--help` reads them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from nbest.base.errors import ParameterError, _known
from nbest.base.parameters import check, parameter, parameters_of

if TYPE_CHECKING:
    from nbest.corpus import Forests, NBest
    from nbest.corpus.metric import Metric
    from nbest.formats.conllu import Sentence

Progress = Callable[[int, int], None]
"""Done, total."""


class Listener(Protocol):
    """Who is told what goes on, such as the console of the command line."""

    def say(self, message: str) -> None:
        """A message."""

    def warn(self, message: str) -> None:
        """A warning."""

    def progress(self, what: str) -> AbstractContextManager[Progress]:
        """Whom to tell how much of something is done."""
        ...


class _Silent:
    def say(self, message: str) -> None:
        pass

    def warn(self, message: str) -> None:
        pass

    def progress(self, what: str) -> AbstractContextManager[Progress]:
        return nullcontext(lambda done, total: None)


SILENT: Listener = _Silent()
"""Tells nobody."""


# training ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """The files that a system is trained on: each field is a path, several, or None."""

    what: ClassVar[str] = "input"  # one of the files, in a message

    def paths(self) -> list[str]:
        """All files."""
        values = [getattr(self, each.name) for each in fields(self)]
        return [path for value in values for path in ([value] if isinstance(value, str) else value or ())]

    def check(self) -> None:
        """Complain of what cannot be read."""
        if self.paths().count("-") > 1:
            raise ParameterError(f"only one {self.what} can come from standard input (-)")


@dataclass(frozen=True)
class Lists:
    """Training lists for a reranker, made by systems that have not seen their segments."""

    needs_system: ClassVar[bool] = False  # whether they are made from the trained folder

    lists: str | None = parameter(None, "Training lists to write, by systems that have not seen them.")
    folds: int = parameter(10, "Parts for --lists: each is decoded by a system of the others.", least=2)
    k: int = parameter(200, "Hypotheses a list.", least=1)

    def check(self, output: str | None) -> None:
        """Complain where there is nothing to make."""
        if output is None and self.lists is None:
            raise ParameterError("nothing to make: name a directory (-o), or training lists (--lists)")


@dataclass(frozen=True)
class JackknifedLists(Lists):
    """Lists that are asked for by the number of parts."""

    folds: int | None = parameter(  # type: ignore[assignment]
        None, "Parts for --lists: each is decoded by a system of the others.", flags=("--jackknife",)
    )
    lists: str | None = parameter(None, "Training lists to write, with --jackknife.")

    def check(self, output: str | None) -> None:
        """Complain where there is nothing to make, or not enough is said."""
        super().check(output)
        if (self.folds is None) != (self.lists is None):
            raise ParameterError("--jackknife and --lists go together: how many parts, and where the lists go")
        if self.folds is not None and self.folds < 2:
            raise ParameterError(f"--jackknife must be at least 2, got {self.folds}")


@dataclass(frozen=True)
class Search:
    """Limits of the search for candidates; a system with such has fields here."""


@dataclass(frozen=True)
class Decoding:
    """What is decoded and what comes out: the further options of `nbest decode NAME`."""

    forms: ClassVar[tuple[str, ...]] = ("text",)  # of output, besides the formats of lists and forests
    chosen: ClassVar[str] = "texts"  # what comes out, in messages
    doing: ClassVar[str] = "decoding"
    reports: ClassVar[bool] = False  # whether there is a report, for --json

    text: str = parameter(..., "Text, one segment a line (.gz, .xz too); - is stdin.", flags=("text",))
    output: str = parameter("-", "Texts, or by its suffix lists or forests; - is stdout.", flags=("--output", "-o"))
    to: str | None = parameter(None, "text, or a format of lists or forests.")
    model: str | None = parameter(None, "Weights of nbest tune (default: those of the directory).")
    k: int = parameter(200, "Lists: how many hypotheses.", least=1)

    @property
    def refs(self) -> list[str] | None:
        """Files of references, where inputs do not carry them."""
        return None

    @property
    def decision(self) -> str:
        """How texts are chosen."""
        return "1best"

    @property
    def strings(self) -> int:
        """How many hypotheses a decision that compares them chooses from."""
        return self.k


@dataclass(frozen=True)
class TextDecoding(Decoding):
    """For systems whose inputs do not carry references, and whose texts a decision may choose."""

    refs: list[str] | None = parameter(
        None, "References to keep with lists and forests; repeat for several.", flags=("--refs", "-r")
    )
    decision: str = parameter("1best", "Texts: 1best, consensus or mbr.", flags=("--decision", "-d"))


S = TypeVar("S", bound=Search)


def limits_of(kind: type[S], given: Mapping[str, Any]) -> S:
    """The search that is asked for, checked; an unknown limit lists the known ones."""
    known = parameters_of(kind)
    odd = next((name for name in given if name not in known), None)
    if odd is not None:
        raise ParameterError(f"there is no limit {odd!r} of this search; {_known(known, odd)}")
    found = kind(**given)
    check(found)
    return found


D = TypeVar("D", bound=Data)


@dataclass(frozen=True)
class Training(ABC, Generic[D]):
    """Settings of training, checked when they are given; the docstring of a subclass is the help of `nbest train`."""

    form: ClassVar[str]  # of its manifest: "nbest-tagger/1"
    data: ClassVar[type]
    files: ClassVar[tuple[str, ...]]  # of a trained folder; none where a single file is written
    place: ClassVar[str] = "Directory of the system."  # help of --output
    lists: ClassVar[type[Lists] | None] = None  # where lists can be jackknifed,
    metric: ClassVar[str] = ""  # and measured by this
    search: ClassVar[type[Search]] = Search
    decoding: ClassVar[type[Decoding] | None] = Decoding  # None: it does not decode
    reports: ClassVar[bool] = False  # whether `train` has a report, for --json

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def check_place(cls, folder: str | Path) -> None:
        """Refuse a place where such a system must not or cannot be written."""
        from nbest.systems.folders import check_place

        check_place(folder, cls.form.partition("/")[0].removeprefix("nbest-"), cls.files)

    @abstractmethod
    def train(
        self, data: D, folder: str | Path, *, threads: int | None = None, listener: Listener = SILENT
    ) -> dict[str, Any]:
        """Train on the data and write the folder, whole or not at all; what there is to report."""

    @classmethod
    @abstractmethod
    def load(cls, folder: str | Path) -> Any:
        """The `System` of a folder; what is missing, cut short, damaged or of another version is a `FormatError`."""

    def items(self, data: D) -> Sequence[Any]:
        """What is cut into folds: the segments with their right outputs."""
        raise NotImplementedError

    def fit(self, items: Sequence[Any], *, threads: int | None = None) -> System:
        """A system of these items, for `lists`."""
        raise NotImplementedError

    def jackknifed(
        self,
        data: D,
        asked: Any,
        items: Sequence[Any],
        *,
        folder: str | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NBest:
        """The `lists` that are asked for: of each item, by a system of the other folds."""
        from nbest.systems.jackknife import jackknifed_lists

        return jackknifed_lists(self, items, asked.k, asked.folds, threads=threads, progress=progress)

    def measure(self) -> Metric:
        """What lists are measured by."""
        from nbest.metrics import METRICS

        return METRICS[self.metric]()


# decoding ---------------------------------------------------------------------------------------------------------


class System(ABC):
    """A trained system. It is a decoder for the loop: `decode(weights, inputs)`, beginning with its own weights."""

    batch: ClassVar[int] = 200  # segments whose forests are in memory at a time, where lists are wanted
    distinct: ClassVar[bool] = True  # several derivations may have one text
    reranks: ClassVar[bool] = False  # --model may add features to lists
    by_forests: ClassVar[bool] = False  # decisions look at the forests, too

    if TYPE_CHECKING:

        @property
        def weights(self) -> Mapping[str, float]:
            """Of the features of its forests, before tuning."""
            ...

    @abstractmethod
    def candidates(
        self,
        inputs: Sequence[Any],
        weights: Mapping[str, float],
        *,
        ids: Sequence[str] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        **search: Any,
    ) -> Forests:
        """One forest an input, with the references that the inputs carry; `search` are the limits of its `Search`."""

    def best(
        self, forests: Forests, k: int, weights: Mapping[str, float] | None = None, *, threads: int | None = None
    ) -> NBest:
        """The k best hypotheses of each forest that differ in their texts, by these weights or the forests' own."""
        from nbest.forests.kbest import kbest
        from nbest.model.loglinear import LogLinear

        scores = LogLinear(forests.own_weights if weights is None else weights).edge_scores(forests)
        return kbest(forests, scores, k, distinct=self.distinct and k > 1, threads=threads).lists()

    @property
    def start(self) -> dict[str, float]:
        """The weights that a loop begins with."""
        return dict(self.weights)

    def decode(
        self,
        weights: Mapping[str, float],
        inputs: Sequence[Any],
        *,
        k: int = 200,
        forests: bool = False,
        **options: Any,
    ) -> NBest | Forests:
        """Lists of the k best, or forests; ids count the inputs from 0. Options are those of `batches`."""
        self.check_asked(weights, inputs)
        if forests:
            return self.candidates(inputs, weights, **options)
        return self.lists(inputs, k, weights=weights, **options)

    def check_asked(self, weights: Mapping[str, float], inputs: Sequence[Any]) -> None:
        """Complain of what cannot be decoded, or not with these weights."""
        if isinstance(inputs, str | Path):
            raise ParameterError("a system decodes texts or sentences, not a file; call its read(path) first")
        odd = next((name for name in weights if name not in self.weights), None)
        if odd is not None:
            raise ParameterError(f"{odd!r} is no feature of the system; it has {', '.join(self.weights)}")

    def lists(self, inputs: Sequence[Any], k: int, **options: Any) -> NBest:
        """The k best hypotheses of each input; options as for `batches`."""
        from nbest.corpus.operations import join

        return join([self.best_of(forests, k, options) for forests in self.batches(inputs, **options)])

    def joined(self, parts: Sequence[Forests]) -> Forests:
        """The forests of parts of the inputs, as `candidates` gives those of all of them; ids differ."""
        from nbest.corpus.joining import join_forests

        return join_forests(parts)

    def best_of(self, forests: Forests, k: int, options: Mapping[str, Any]) -> NBest:
        """The k best by the weights that `options` give, or the system's own."""
        return self.best(forests, k, options.get("weights") or self.weights, threads=options.get("threads"))

    def batches(
        self,
        inputs: Sequence[Any],
        *,
        weights: Mapping[str, float] | None = None,
        ids: Sequence[str] | None = None,
        references: Sequence[Sequence[str]] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        **search: Any,
    ) -> Iterator[Forests]:
        """The candidates of some inputs at a time; of no inputs, one corpus of no forests."""
        names = [str(i) for i in range(len(inputs))] if ids is None else ids
        for low in range(0, max(len(inputs), 1), self.batch):
            part = slice(low, min(low + self.batch, len(inputs)))

            def tell(done: int, total: int, low: int = low) -> None:
                if progress is not None:
                    progress(low + done, len(inputs))

            found = self.candidates(
                inputs[part],
                self.weights if weights is None else weights,
                ids=names[part],
                threads=threads,
                progress=tell,
                **search,
            )
            own = None if references is None else tuple(tuple(each) for each in references[part])
            yield found if own is None else replace(found, references=own)
            tell(part.stop - low, 0)

    # what the command line asks -----------------------------------------------------------------------------------

    def read(self, path: str | Path) -> list[Any]:
        """The inputs of a file, by default its lines."""
        from nbest.base.files import read_lines

        return read_lines(path)

    def references(self, texts: Sequence[str]) -> list[str]:
        """Reference texts as the system would write them, such as tokens."""
        return list(texts)

    def inputs(self, asked: Any, listener: Listener = SILENT) -> tuple[list[Any], Sequence[Sequence[str]] | None]:
        """What is to be decoded, and the references that are kept with it where the inputs carry none."""
        from nbest.formats import read_references

        found = self.read(asked.text)
        if not getattr(asked, "refs", None):
            return found, None
        sides = zip(*read_references(asked.refs, len(found)), strict=True)
        return found, tuple(zip(*(self.references(side) for side in sides), strict=True))

    def form(self, asked: Any, inputs: Sequence[Any]) -> str:
        """The form of the output where nothing tells."""
        return str(asked.forms[0])

    def lines(self, asked: Any, texts: Iterable[str]) -> Iterable[str]:
        """Chosen texts as they are written, one a line."""
        return texts

    def treebank(self, inputs: Sequence[Any], texts: Sequence[str]) -> Iterator[Sentence]:
        """Chosen texts as sentences of a treebank, for systems with the form conllu."""
        raise NotImplementedError

    def report(self, inputs: Sequence[Any], texts: Sequence[str], listener: Listener) -> dict[str, Any] | None:
        """Say how good the best texts are, where the inputs tell; for --json."""
        return None
