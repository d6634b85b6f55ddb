"""What the comparison found: means and spreads, paired tests against the default, wins and losses, and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality_cells import Results, unpacked
from benchmarks.quality_peers import PEERS
from benchmarks.quality_sets import SETTLING, QualitySet
from benchmarks.quality_ways import DEFAULT
from nbest.base.files import write_text
from nbest.base.types import Floats
from nbest.decisions import corpus_oracle, first
from nbest.evaluation.pooling import POOLED, Pooled, pooled_permutation
from nbest.evaluation.significance import by_group
from nbest.papers.data import chosen_stats
from nbest.report import Column, Table
from nbest.report.charts import DotChart
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS

LEVEL, SMALL, SAMPLES = 0.05, 200, 2000
"""Of significance; segments up to which dev is small; samples of a test."""
_BEGIN, _END = "<!-- begin: python -m benchmarks quality --table -->", "<!-- end -->"


@dataclass(frozen=True)
class Against:
    """A method in one set at one size of dev, against the default in the same draws."""

    set: str
    method: str
    size: str
    scores: Pooled
    ahead: float  # of the default, in units of the metric; below 0: behind
    width: float  # between the first hypotheses and the oracle, in the same units
    p: float

    @property
    def share(self) -> float:
        """How far it is ahead, as a part of that width."""
        return self.ahead / self.width if self.width else 0.0

    @property
    def verdict(self) -> int:
        """1 where the method is significantly better than the default, -1 where it is worse, else 0."""
        return 0 if self.p >= LEVEL else int(np.sign(self.ahead))

    @property
    def small(self) -> bool:
        """Whether dev has few segments."""
        return self.size != "all" and int(self.size) <= SMALL

    def shown(self, draws: int) -> str:
        """Mean and spread, their draws where they are fewer, and an arrow where the difference is significant."""
        form, count = form_of(self.width), len(self.scores.scores)
        spread = "" if self.scores.spread is None else f" ± {self.scores.spread:{form}}"
        few = f" ({count})" if self.size != "all" and count < draws else ""
        return f"{self.scores.mean:{form}}{spread}{few}{('', ' ↑', ' ↓')[self.verdict]}"


def form_of(width: float) -> str:
    """The format of scores that differ by so much at most."""
    return ".2f" if width > 2 else ".3f"


@dataclass(frozen=True)
class _Lists:
    """A set with what was found on it."""

    found: QualitySet
    results: Results
    default: str

    @cached_property
    def width(self) -> float:
        """Between the first hypotheses and the oracle."""
        test = self.found.test
        return abs(test.score(corpus_oracle(test)) - test.score(first(None, test)))

    def _stats(self, line: Mapping[str, Any]) -> Floats:
        test = self.found.test
        return by_group(chosen_stats(test, unpacked(line["choices"], test)), test.groups)

    def against(self, method: str, size: str) -> Against | None:
        """None where one of both has no draw; of some segments of dev only draws count that both have."""
        lines, others = (self.results.of(self.found, name, size) for name in (method, self.default))
        paired = size != "all"
        if paired:
            both = {line["draw"] for line in lines} & {line["draw"] for line in others}
            lines, others = ([line for line in each if line["draw"] in both] for each in (lines, others))
        if not lines or not others:
            return None
        metric = self.found.test.need_metric()
        runs, base = ([self._stats(line) for line in each] for each in (lines, others))
        same = method == self.default
        p = 1.0 if same else pooled_permutation(metric, base, runs, samples=SAMPLES, paired=paired).p
        scores = Pooled.of(metric, runs)
        ahead = (1.0 if metric.higher_is_better else -1.0) * (scores.mean - Pooled.of(metric, base).mean)
        return Against(self.found.name, method, size, scores, ahead=ahead, width=self.width, p=p)


def compared(found: Sequence[QualitySet], results: Results, default: str | None = None) -> list[Against]:
    """All sets, methods and sizes of which something is there, in order of appearance."""
    out = []
    for each in found:
        lists = _Lists(each, results, default or DEFAULT)
        there = dict.fromkeys((cell.size, cell.method) for cell in results.lines if cell.set == each.name)
        out += [one for size, method in there if (one := lists.against(method, size)) is not None]
    return out


# tables ---------------------------------------------------------------------------------------------------------------


def _order(size: str) -> float:
    return float("inf") if size == "all" else int(size)


def _sizes(cells: Sequence[Against]) -> list[str]:
    return sorted({cell.size for cell in cells}, key=_order)


def set_table(found: QualitySet, cells: Sequence[Against], default: str) -> Table:
    """Methods by sizes of dev, the default first."""
    own = [cell for cell in cells if cell.set == found.name]
    methods = dict.fromkeys([default, *(cell.method for cell in own)])
    sizes, by_place = _sizes(own), {(cell.method, cell.size): cell for cell in own}
    draws = max((len(cell.scores.scores) for cell in own), default=0)
    rows = [
        [method, *(place.shown(draws) if (place := by_place.get((method, size))) else None for size in sizes)]
        for method in methods
    ]
    test = found.test
    ends = test.score(first(None, test)), test.score(corpus_oracle(test))
    start, best = (format(end, form_of(abs(ends[1] - ends[0]))) for end in ends)
    caption = (
        f"{found.name}: {test.need_metric().name}, {len(found.dev)} segments of dev and {len(test)} of test; "
        f"first hypotheses {start}, oracle {best}; {draws} draws"
    )
    return Table(["method", *(Column(size, align="right") for size in sizes)], rows, caption)


def counts_table(cells: Sequence[Against], default: str, caption: str) -> Table:
    """Cells in which the default is significantly better, and worse, than each method; few segments and more."""
    heads = [f"{what}, {sizes}" for sizes in (f"dev ≤ {SMALL}", "larger") for what in ("cells", "better", "worse")]
    others = [cell for cell in cells if cell.method != default]
    rows = [[method, *_counts([cell for cell in others if cell.method == method])] for method in _methods(others)]
    return Table(["default against", *heads], [*rows, ["all", *_counts(others)]], caption)


def _methods(cells: Sequence[Against]) -> list[str]:
    return list(dict.fromkeys(cell.method for cell in cells))


def _counts(cells: Sequence[Against]) -> Iterator[int]:
    for small in (True, False):
        part = [cell.verdict for cell in cells if cell.small is small]
        yield from (len(part), part.count(-1), part.count(1))


def verdict(cells: Sequence[Against], default: str) -> str:
    """How often the default is significantly worse than another method, beside what chance would give."""
    others = [cell for cell in cells if cell.method != default]
    worse, better = (sum(cell.verdict == sign for cell in others) for sign in (1, -1))
    share = f" ({100 * worse / len(others):.1f} %; by chance {100 * LEVEL / 2:g} %)" if others else ""
    return f"{default} is significantly worse in {worse} of {len(others)} cells{share}, and better in {better}."


# picture --------------------------------------------------------------------------------------------------------------


def picture(cells: Sequence[Against], default: str) -> Picture:
    """A panel for each size: how far methods are ahead of the default, on average over sets, and in each of them."""
    methods = _methods([cell for cell in cells if cell.method != default])
    panels = []
    for size in _sizes(cells):
        dots = []
        for method in methods:
            shares = [100 * cell.share for cell in cells if (cell.method, cell.size) == (method, size)]
            if shares:
                colour = COLOURS[1] if method in PEERS else COLOURS[0]
                dots.append((method, float(np.mean(shares)), min(shares), max(shares), colour))
        if dots:
            title = "all of dev" if size == "all" else f"{size} segments of dev"
            panels.append(DotChart(dots, title, "ahead, % of the way from first to oracle", rule=0.0))
    sets = len({cell.set for cell in cells})
    what = f"how far ahead each is on test: mean and range over {sets} sets; methods blue, peers orange"
    height = 15.0 * max((len(panel.dots) for panel in panels), default=1) + 20
    return Picture(f"Methods and peers against {default}", what, panels, columns=2, width=330, height=height)


def write_report(found: Sequence[QualitySet], results: Results, path: Path, default: str | None = None) -> list[Path]:
    """The tables as Markdown and the picture beside them; a file with marks keeps what is outside of them."""
    default = default or DEFAULT
    cells = compared(found, results, default)
    if not cells:
        raise SystemExit(f"{results.path} has nothing to compare with {default}; run the benchmark first")
    image = path.with_suffix(".svg")
    write_text(image, picture(cells, default).svg())
    parts: list[Any] = []
    for settled, title in ((True, "Sets on which settings were chosen"), (False, "Sets that confirm")):
        those = [cell for cell in cells if (cell.set in SETTLING) is settled]
        if those:
            parts += [verdict(those, default), counts_table(those, default, f"{title}: cells, significant at 5 %")]
    parts += [set_table(each, cells, default) for each in found if any(cell.set == each.name for cell in cells)]
    marks = f"↑ significantly better than {default}, ↓ worse; ± spread over draws (their number, where it is smaller)"
    parts.append(f"{POOLED}, the same of both; {marks}.")
    text = "\n\n".join(part.render("markdown") if isinstance(part, Table) else part for part in parts)
    text = f"![Methods and peers against {default}]({image.name})\n\n{text}\n"
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    if _BEGIN in old and _END in old:
        text = f"{old.split(_BEGIN)[0]}{_BEGIN}\n\n{text}\n{_END}{old.split(_END, 1)[1]}"
    write_text(path, text)
    return [path, image]
