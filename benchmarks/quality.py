"""Every set of lists x every method and peer x sizes of dev x draws: scores on test that never change, resumable.

    python -m benchmarks quality --sets bench,recogniser --methods ours --sizes 25,50 --draws 4 --minutes 10
    python -m benchmarks quality --sets recogniser --methods "risk,risk --folds 5,peers"
    python -m benchmarks quality --table docs/quality-table.md

Each finished cell is a line of the results file; what is there is not done again, but with --after what is older than
the last change of a method. Cheap cells come first. --table writes means, spreads, paired tests against the default,
wins and losses of all that is there, and a picture beside it. Sets: those of NBEST_DATA where it is, see
`benchmarks/quality_sets.py`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.quality_cells import SIZES, QualityCell, Results, cells_of, cost, measured
from benchmarks.quality_peers import PEERS
from benchmarks.quality_sets import FOLDER, SETS, SETTLING, Places, QualitySet, load
from benchmarks.quality_ways import ways_of


def main(words: Sequence[str] | None = None) -> None:
    """Do the cells that are missing, or show what was found."""
    asked = _parser().parse_args(words)
    sizes = _each(asked.sizes)
    odd = next((size for size in sizes if size != "all" and not size.isdigit()), None)
    if odd is not None:
        raise SystemExit(f"--sizes must be whole numbers or all, got {odd!r}")
    found = _sets(_each(asked.sets), Places(_folder("NBEST_DATA"), asked.bench, asked.cache))
    results = Results(asked.results, asked.after)
    methods = ways_of(_each(asked.methods))
    if asked.table is not None:
        from benchmarks.quality_table import write_report

        print("\n".join(map(str, write_report(found, results, asked.table, default=asked.default))))
        return
    cells = [(each, cell) for each in found for cell in cells_of(each, _ready(methods), sizes, asked.draws)]
    cells = [(each, cell) for each, cell in cells if not results.has(each, cell)]
    cells.sort(key=lambda pair: cost(*pair))
    _run(cells, results, asked.minutes)


def _run(cells: Sequence[tuple[QualitySet, QualityCell]], results: Results, minutes: float | None) -> None:
    begin = time.perf_counter()
    for done, (found, cell) in enumerate(cells, 1):
        if minutes is not None and time.perf_counter() - begin > 60 * minutes:
            print(f"{minutes:g} minutes are over, {len(cells) - done + 1} cells are left; run it again to go on")
            return
        line = measured(found, cell)
        results.add(line)
        said = f"{line['score']:.2f} ({line['seconds']:.1f} s)" if "score" in line else f"left out: {line['left_out']}"
        print(f"{done}/{len(cells)} {cell.set}, {cell.method}, {cell.size}, draw {cell.draw}: {said}", flush=True)


def _sets(names: list[str], places: Places) -> list[QualitySet]:
    groups = {"all": list(SETS), "settling": list(SETTLING), "confirming": [n for n in SETS if n not in SETTLING]}
    wanted = dict.fromkeys(name for word in names for name in groups.get(word, [word]))
    found = []
    for name in wanted:
        if name not in SETS:
            raise SystemExit(f"no set {name!r}; known: {', '.join([*groups, *SETS])}")
        try:
            found.append(load(name, places))
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return found


def _ready(methods: list[str]) -> list[str]:
    """Without peers that are not installed."""
    lacking = {name for name in methods if name in PEERS and not PEERS[name].installed}
    if lacking:
        print(f"not installed and left out: {', '.join(sorted(lacking))} (extra: peers)", file=sys.stderr)
    return [name for name in methods if name not in lacking]


def _each(words: str) -> list[str]:
    return [word.strip() for word in words.split(",") if word.strip()]


def _folder(name: str) -> Path | None:
    given = os.environ.get(name)
    return Path(given) if given else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks quality", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--sets", default="all", help="names, or all, settling, confirming")
    add("--methods", default="all", help="names, or all, ours, peers; others are words of nbest tune --method")
    add("--sizes", default=",".join(SIZES), help=f"segments of dev (default {','.join(SIZES)})")
    add("--draws", type=int, default=5, help="random parts of dev, and seeds (default 5)")
    add("--minutes", type=float, help="stop after the cell that is then under way")
    add("--after", default="", metavar="TIME", help="what was found before it does not count: 2026-01-31T18:00 (UTC)")
    add("--results", type=Path, default=FOLDER / "results.jsonl", help="one line a finished cell")
    add("--bench", type=Path, help="folder with dev.nbest, dev.ref, test.nbest, test.ref")
    add("--cache", type=Path, default=FOLDER / "lists", help="where lists that take time to make are kept")
    add("--table", type=Path, metavar="FILE", help="write the table (Markdown) and a picture of what was found")
    add("--default", help="what others are compared with (default: the method of nbest tune)")
    return parser


if __name__ == "__main__":
    main()
