"""Tables 1 and 2 of the reproduction of Yuan, Gao & Bu (2007), beside the paper's own numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nbest.papers.report import PaperTable
from nbest.papers.run import Run
from nbest.papers.yuan.lists import GOLD, NEWS, sizes_of
from nbest.papers.yuan.train import ADAPTING, METHODS
from nbest.report import Cell

Found = Mapping[str, Any]

_TABLE_1 = (
    ("MLE", 3.73, None), ("MSR", 2.95, 20.9), ("MSR-II", 2.95, 20.9), ("Boosting", 3.06, 18.0),
    ("Perceptron", 3.07, 17.8),
)  # fmt: skip
_TABLE_2 = (
    ("Yomiuri", 800, 3.70, 3.70, 3.17, 3.13, 3.18), ("Yomiuri", 8000, 3.70, 3.69, 2.88, 2.88, 2.85),
    ("Yomiuri", 72_000, 3.70, 3.69, 2.73, 2.78, 2.78), ("TuneUp", 800, 5.81, 5.81, 5.70, 5.69, 5.69),
    ("TuneUp", 8000, 5.81, 5.70, 5.47, 5.47, 5.47), ("TuneUp", 72_000, 5.81, 5.47, 5.15, 5.3, 5.20),
    ("Encarta", 800, 10.24, 9.60, 9.44, 9.82, 9.43), ("Encarta", 8000, 10.24, 8.64, 8.42, 8.54, 8.34),
    ("Encarta", 72_000, 10.24, 7.98, 7.40, 7.53, 7.44), ("Shincho", 800, 12.18, 11.86, 11.89, 11.91, 11.90),
    ("Shincho", 8000, 12.18, 11.15, 11.04, 11.09, 11.20), ("Shincho", 72_000, 12.18, 10.76, 10.16, 10.25, 10.18),
)  # fmt: skip


def _get(found: Found | None, *keys: str) -> Any:
    """A value within a result, None where it is missing."""
    for key in keys:
        found = None if found is None else found.get(key)
    return found


def _p(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"


def _below(value: float | None, base: float | None) -> float | None:
    """By how many percent a rate is below that of the base."""
    return None if value is None or not base else 100 * (base - value) / base


# table 1 --------------------------------------------------------------------------------------------------------


def table_1(run: Run) -> PaperTable:
    """The news, both ways to have lists."""
    results = {(name, end): run.result(f"{name}-{end}") for name in NEWS for end in ("dev", "test", *METHODS)}
    trigram: list[Cell] = ["trigram"]
    oracle: list[Cell] = ["oracle"]
    columns = ["model"]
    for name in NEWS:
        columns += [f"{name}: dev", "test", "% over trigram", "p"]
        trigram += [_get(results[name, "dev"], "cer"), _get(results[name, "test"], "cer"), None, None]
        oracle += [_get(results[name, "dev"], "oracle"), _get(results[name, "test"], "oracle"), None, None]
    rows = [trigram]
    for method, about in METHODS.items():
        row: list[Cell] = [about.title]
        for name in NEWS:
            found, base = results[name, method], _get(results[name, "test"], "cer")
            cer = _get(found, "cer")
            row += [_get(found, "dev"), cer, _below(cer, base), _p(_get(found, "p"))]
        rows.append(row)
    return PaperTable(
        "Table 1: character error rate in the news (%)", columns, [*rows, oracle],
        _TABLE_1, ("Model", "CER (%)", "% over MLE"), _notes(run, results),
    )  # fmt: skip


def _notes(run: Run, results: Mapping[tuple[str, str], Found | None]) -> list[str]:
    sizes = sizes_of(run)
    notes = [
        "% over trigram: by how much the test rate is lower. p is that of the difference from the trigram on test. "
        f"Lists of {sizes.train_k} hypotheses to train on, {sizes.test_k} for dev and test."
    ]
    for name in NEWS:
        data, converter = _get(run.result("data"), name), run.result(f"{name}-converter")
        if data is not None and converter is not None:
            said = f"converter of {converter['sentences']:,} sentences, training lists of {data['train']:,}"
            notes.append(f"*{name}*: {said}, {data['dev']:,} dev and {data['test']:,} test sentences.")
        chosen = [
            f"{about.title} {_settings(found['settings'])} ({found['features']:,} of {found['columns']:,} n-grams)"
            for method, about in METHODS.items()
            if (found := results[name, method]) is not None
        ]
        if chosen:
            notes.append(f"Chosen on dev, *{name}*: {'; '.join(chosen)}.")
        if (pairs := run.result(f"{name}-pairs")) is not None:
            said = "; ".join(_pair(*pair) for pair in pairs["p"] if "msr2" in pair)
            notes.append(f"p of MSR-II and the others, *{name}*: {said}.")
    return notes


def _settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def _pair(first: str, second: str, p: float) -> str:
    return f"{METHODS[first if second == 'msr2' else second].title} {_p(p)}"


def gold(run: Run) -> PaperTable:
    """The models of the news on texts with readings by hand."""
    lists = {name: run.result(name) for name in GOLD}
    columns = ["model"]
    trigram: list[Cell] = ["trigram"]
    oracle: list[Cell] = ["oracle"]
    for name, title in GOLD.items():
        columns += [title, "% over trigram", "p"]
        trigram += [_get(lists[name], "cer"), None, None]
        oracle += [_get(lists[name], "oracle"), None, None]
    rows = [trigram]
    for method, about in METHODS.items():
        found, row = run.result(f"jackknife-{method}"), _row(about.title)
        for name in GOLD:
            cer = _get(found, "gold", name, "cer")
            row += [cer, _below(cer, _get(lists[name], "cer")), _p(_get(found, "gold", name, "p"))]
        rows.append(row)
    counts = [f"{found['segments']:,} sentences of {GOLD[name]}" for name, found in lists.items() if found is not None]
    notes = [f"The models of the jackknife{': ' if counts else ''}{'; '.join(counts)}. Not in the paper."]
    return PaperTable("Readings by hand: character error rate (%)", columns, [*rows, oracle], notes=notes)


def _row(*cells: Cell) -> list[Cell]:
    return list(cells)


# table 2 --------------------------------------------------------------------------------------------------------


def table_2(run: Run) -> PaperTable:
    """The domains, by the number of sentences to adapt to; sizes that the data do not have are left out."""
    rows = []
    for name, sizes in sizes_of(run).adapt.items():
        for size in sizes:
            li, others = run.result(f"{name}-{size}-li"), run.result(f"{name}-{size}-rerank")
            if _get(li, "sentences") == 0:
                continue
            row = _row(name, _get(li, "sentences") or size, _get(run.result(f"{name}-test"), "cer"), _get(li, "cer"))
            rows.append(row + [_get(others, "methods", method, "cer") for method in ADAPTING])
    columns = ("domain", "sentences", "news only", "LI", *(METHODS[method].title for method in ADAPTING))
    heads = ("Domain", "sentences", "Baseline", "LI", "MSR-II", "Boosting", "Perceptron")
    notes = [*_compared(run), *_oracles(run)]
    return PaperTable("Table 2: character error rate of adaptation (%)", columns, rows, _TABLE_2, heads, notes)


def _compared(run: Run) -> list[str]:
    """The methods that do not differ from the news only at p < .05 or are worse, and those that are better than LI."""
    weak, worse, better = [], [], []
    adapted = list(_adapted(run))
    for said, found, news, li in adapted:
        if found["p"] >= 0.05:
            weak.append(f"{said} ({_p(found['p'])})")
        elif news is not None and found["cer"] > news:
            worse.append(f"{said} ({_p(found['p'])})")
        if li is not None and found["cer"] < li and found["p_li"] < 0.05:
            better.append(f"{said} ({_p(found['p_li'])})")
    notes = [
        f"No difference from the news only at p < .05: {'; '.join(weak) or 'none'}.",
        f"Worse than the news only at p < .05: {'; '.join(worse) or 'none'}.",
        f"Better than LI at p < .05: {'; '.join(better) or 'none'}.",
    ]
    return notes if adapted else []


def _adapted(run: Run) -> Iterator[tuple[str, Found, float | None, float | None]]:
    """What and what was found, for each method at each size, with the CER of the news only and of LI."""
    for name, sizes in sizes_of(run).adapt.items():
        news = _get(run.result(f"{name}-test"), "cer")
        for size in sizes:
            li = _get(run.result(f"{name}-{size}-li"), "cer")
            for method, found in (_get(run.result(f"{name}-{size}-rerank"), "methods") or {}).items():
                yield f"{name} {size:,} {METHODS[method].title}", found, news, li


def _oracles(run: Run) -> list[str]:
    found = {name: run.result(f"{name}-test") for name in sizes_of(run).adapt}
    said = [f"{name} {each['oracle']:.2f}" for name, each in found.items() if each is not None]
    return [f"Oracle of the lists of the news converter: {', '.join(said)}."] if said else []
