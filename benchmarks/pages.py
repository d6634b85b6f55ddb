"""Pages of reports: seconds to make one, its size, and seconds until a browser (where there is one) has it ready.

Of the bundled lists, of the lists of the other benchmarks (`NBEST_BENCH`, else synthetic), and of 10,000 segments.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import nbest
from benchmarks.lists import files
from nbest.corpus.operations import join
from nbest.formats import bundled
from nbest.pages.base import Judged, Subject
from nbest.pages.page import report_page
from nbest.report.html import HTML
from nbest.report.renderers import render


def main() -> None:
    """Print a line for each page."""
    for name, lists in _sets():
        model = nbest.MaxLikelihood().fit(lists)
        about = Subject((Judged("dev", lists, {"likelihood": model}),), {"likelihood": model})
        begin = time.perf_counter()
        text = render(report_page(about, draws=0), HTML())
        took = time.perf_counter() - begin
        loaded = _loaded(text)
        said = "no browser here" if loaded is None else f"ready in a browser after {loaded:.1f} s"
        print(f"{name}: made in {took:.1f} s, {len(text.encode()) / 1e6:.2f} MB, {said}", flush=True)


def _sets() -> Iterator[tuple[str, nbest.NBest]]:
    tune = bundled.lists("tune")
    yield f"bundled, {len(tune)} segments, {tune.hypotheses:,} hypotheses", tune.with_metric(nbest.WER())
    lists, refs = files()
    bench = nbest.read(str(lists))
    bench = bench.with_references(nbest.read_references(str(refs), bench.ids))
    bench = bench.with_metric(nbest.BLEU(tokenize="none", smooth_method="none"))
    yield f"bench, {len(bench)} segments, {bench.hypotheses:,} hypotheses", bench
    parts = [replace(tune, ids=tuple(f"{k} {name}" for name in tune.ids)) for k in range(10_000 // len(tune))]
    many = join([nbest.prune(part, 10) for part in parts]).with_metric(nbest.WER())
    yield f"{len(many):,} segments, {many.hypotheses:,} hypotheses", many


def _loaded(text: str) -> float | None:
    """Seconds from the call for a page until its script is done; None without a browser."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        return None
    from tests.pages.browser import browser, show

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        page.write_text(text, encoding="utf-8")
        with browser(Path(folder) / "profile") as driver:
            show(driver, page)  # the browser's own first seconds
            begin = time.perf_counter()
            show(driver, page)
            return time.perf_counter() - begin


if __name__ == "__main__":
    main()
