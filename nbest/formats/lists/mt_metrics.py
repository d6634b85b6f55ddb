"""A test set of mt-metrics-eval as lists: each system's output is a hypothesis of every segment.

sources/he-en.txt                        documents/he-en.docs                   DOMAIN DOCUMENT
references/he-en.refA.txt                system-outputs/he-en/SYSTEM.txt
metric-scores/he-en/NAME-REF.seg.score   human-scores/he-en.NAME.seg.score      SYSTEM SCORE
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nbest.base.errors import FormatError, ParameterError, listed
from nbest.base.files import read_lines
from nbest.corpus import NBest
from nbest.formats.lists.base import Format
from nbest.formats.lists.builder import Builder
from nbest.formats.segment_scores import SUFFIX, read_segment_scores

_OUTPUTS = "system-outputs"
Scores = dict[str, list[tuple[int, float]]]


def read_mt_metrics(
    path: str | Path,
    *,
    data: bytes | None = None,
    pair: str | None = None,
    metrics: Sequence[str] | None = None,
    gain: str | None = None,
    systems: Sequence[str] | None = None,
) -> NBest:
    """Read the directory of a test set; `pair` says which languages, where there are several.

    Hypotheses are the outputs of all systems that are no references, in the order of their names, or of `systems`.
    Features are the scores of metrics that need no reference (`NAME-src`, here called NAME), or of `metrics`
    (`COMET-refA`, ...). `gain` is the human score that says what hypotheses are worth: the only one, or mqm; outputs
    that were not rated (None) are left out, and so are segments without any. Segments are numbered from 0; their groups
    are documents.
    """
    root = Path(path)
    own = _pair(root, pair)
    outputs = sorted((root / _OUTPUTS / own).glob("*.txt"))
    if not outputs:
        raise FormatError(root / _OUTPUTS / own, None, "there are no outputs of systems (NAME.txt) in it")
    return _TestSet(root, own, {file.stem: file for file in outputs}).lists(metrics, gain, systems)


def _pair(root: Path, pair: str | None) -> str:
    known = sorted(each.name for each in (root / _OUTPUTS).glob("*") if each.is_dir())
    if pair is None and len(known) == 1:
        return known[0]
    if pair not in known:
        what = "say which languages with pair=" if pair is None else f"there is no pair {pair!r}"
        raise FormatError(root, None, f"{what}; it has {listed(known)}")
    return str(pair)


@dataclass(frozen=True)
class _TestSet:
    root: Path
    pair: str
    outputs: dict[str, Path]

    def lists(self, metrics: Sequence[str] | None, gain: str | None, systems: Sequence[str] | None) -> NBest:
        documents = self._documents()
        references = {file.name.split(".")[-2]: file for file in self._files("references", ".*.txt")}
        chosen = self._systems(systems, references)
        sources = self._lines(self.root / "sources" / f"{self.pair}.txt", None if documents is None else len(documents))
        first = documents or sources or self._lines(self.outputs[chosen[0]], None) or []
        size = len(first)
        texts = {name: self._lines(self.outputs[name], size) or [] for name in chosen}
        refs = [self._lines(file, size) or [] for file in references.values()]
        features = {name: self._scores(file, chosen, size) for name, file in self._metrics(metrics).items()}
        human = self._human(gain)
        gains = None if human is None else self._scores(human, chosen, size, rated=True)
        builder = Builder(self.root)
        for i in range(size):
            there = [s for s in chosen if gains is None or (s in gains and not math.isnan(gains[s][i][1]))]
            if not there:
                continue
            source = None if sources is None else sources[i]
            group = None if documents is None else documents[i]
            builder.segment(str(i), [each[i] for each in refs], source, i + 1, group=group)
            for s in there:
                own = {name: scores[s][i][1] for name, scores in features.items()}
                worth = None if gains is None else gains[s][i][1]
                builder.hypothesis(str(i), texts[s][i], own, i + 1, gain=worth, system=s)
        return builder.build()

    def _files(self, folder: str, pattern: str) -> list[Path]:
        return sorted((self.root / folder).glob(f"{self.pair}{pattern}"))

    def _documents(self) -> list[str] | None:
        file = self.root / "documents" / f"{self.pair}.docs"
        if not file.is_file():
            return None
        lines = [" ".join(line.split()) for line in read_lines(file)]
        while lines and not lines[-1]:
            lines.pop()
        if not lines or "" in lines:
            where = lines.index("") + 1 if lines else None
            raise FormatError(file, where, "expected 'DOMAIN DOCUMENT' for every segment")
        return lines

    def _lines(self, file: Path, size: int | None) -> list[str] | None:
        """The texts of a file; blank lines after the last segment do not count."""
        if not file.is_file():
            return None
        lines = read_lines(file)
        while lines and not lines[-1].strip() and (size is None or len(lines) > size):
            lines.pop()
        if len(lines) != size and size is not None:
            raise FormatError(file, None, f"{len(lines)} lines, and there are {size} segments")
        if not lines:
            raise FormatError(file, None, "the file is empty; expected a text a line")
        return lines

    def _systems(self, wanted: Sequence[str] | None, references: dict[str, Path]) -> list[str]:
        if wanted is None:
            return [name for name in self.outputs if name not in references] or list(self.outputs)
        odd = next((name for name in wanted if name not in self.outputs), None)
        if odd is not None or not wanted:
            raise ParameterError(f"there is no system {odd!r} for {self.pair}; known: {listed(self.outputs)}")
        return list(wanted)

    def _metrics(self, wanted: Sequence[str] | None) -> dict[str, Path]:
        """The files of metrics by the name of the feature."""
        folder = self.root / "metric-scores" / self.pair
        known = {file.name.removesuffix(SUFFIX): file for file in sorted(folder.glob(f"*{SUFFIX}"))}
        if wanted is None:
            return {name.removesuffix("-src"): file for name, file in known.items() if name.endswith("-src")}
        odd = next((name for name in wanted if name not in known), None)
        if odd is not None:
            raise ParameterError(f"there are no segment scores of {odd!r} for {self.pair}; known: {listed(known)}")
        return {name: known[name] for name in wanted}

    def _human(self, wanted: str | None) -> Path | None:
        files = self._files("human-scores", f".*{SUFFIX}")
        known = {file.name.removeprefix(f"{self.pair}.").removesuffix(SUFFIX): file for file in files}
        if wanted is None:
            return next(iter(known.values())) if len(known) == 1 else known.get("mqm")
        if wanted not in known:
            raise ParameterError(f"there are no human scores {wanted!r} for {self.pair}; known: {listed(known)}")
        return known[wanted]

    def _scores(self, file: Path, systems: list[str], size: int, *, rated: bool = False) -> Scores:
        """Those of the systems; only people may have left some out."""
        found = read_segment_scores(file)
        for name in systems:
            if name not in found and not rated:
                raise FormatError(file, None, f"there are no scores of the system {name!r}")
            for line, value in found.get(name, ()):
                if math.isnan(value) and not rated:
                    raise FormatError(file, line, "None, where a metric must have a score")
        count = len(next(iter(found.values())))
        if count != size:
            raise FormatError(file, None, f"{count} scores of each system, and there are {size} segments")
        return found


FORMAT = Format(
    name="mt-metrics",
    read=read_mt_metrics,
    write=None,
    sniff=lambda path, head: not head and (path / _OUTPUTS).is_dir(),
    suffixes=(".mt-metrics",),
    summary="a test set of mt-metrics-eval: outputs of systems, scores of metrics and people",
    directory=True,
    example={
        "sources/de-en.txt": "ein Haus\ngrün\n",
        "documents/de-en.docs": "news d1\nnews d2\n",
        "references/de-en.refA.txt": "a house\ngreen\n",
        "system-outputs/de-en/A.txt": "a house\ngréen\n",
        "system-outputs/de-en/B.txt": "one house\ngreen\n",
        "metric-scores/de-en/QE-src.seg.score": "A\t0.9\nA\t0.1\nB\t0.5\nB\t1e-1\nrefA\t1\nrefA\t1\n",
        "human-scores/de-en.mqm.seg.score": "A\t-0.0\nA\t-5\nB\t-1\nB\t0\n",
    },
)
