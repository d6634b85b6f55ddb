"""Tables 1 and 2 of the reproduction of Yuan, Gao & Bu (2007), beside the paper's own numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nbest.papers.report import PaperTable
from nbest.papers.run import Run
from nbest.papers.yuan.lists import GOLD, NEWS, sizes_of
from nbest.papers.yuan.text import LATER
from nbest.papers.yuan.train import ADAPTING, METHODS
from nbest.report import Cell, Column
from nbest.report.page import probability

Found = Mapping[str, Any]
_P = Column("p", probability)

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


def _p(value: float) -> str:
    return f"{value:.4f}"


def below(value: float | None, base: float | None) -> float | None:
    """By how many percent a rate is below that of the base."""
    return None if value is None or not base else 100 * (base - value) / base


# table 1 --------------------------------------------------------------------------------------------------------


def table_1(run: Run) -> PaperTable:
    """The news, both ways to have lists."""
    columns: list[str | Column] = ["model"]
    rows: dict[str, list[Cell]] = {title: [title] for title in _titles()}
    for name in NEWS:
        columns += [f"{name}: dev", "test", "% over trigram", _P]
        base = run.value(f"{name}-test", "cer")
        for title, key in (("trigram", "cer"), ("oracle", "oracle")):
            rows[title] += [*(run.value(f"{name}-{part}", key) for part in ("dev", "test")), None, None]
        for method, about in METHODS.items():
            dev, cer, p = (run.value(f"{name}-{method}", key) for key in ("dev", "cer", "p"))
            rows[about.title] += [dev, cer, below(cer, base), p]
    title, theirs = "Table 1: character error rate in the news (%)", ("Model", "CER (%)", "% over MLE")
    return PaperTable(title, columns, rows=list(rows.values()), paper=_TABLE_1, paper_columns=theirs, notes=_notes(run))


def _titles() -> list[str]:
    """The models in the order of the rows."""
    return ["trigram", *(about.title for about in METHODS.values()), "oracle"]


def _notes(run: Run) -> list[str]:
    sizes = sizes_of(run)
    notes = [
        "% over trigram: by how much the test rate is lower. p is that of the difference from the trigram on test. "
        f"Lists of {sizes.train_k} hypotheses to train on, {sizes.test_k} for dev and test."
    ]
    for name in NEWS:
        data, converter = run.value("data", name), run.result(f"{name}-converter")
        if data is not None and converter is not None:
            said = f"converter of {converter['sentences']:,} sentences, training lists of {data['train']:,}"
            notes.append(f"*{name}*: {said}, {data['dev']:,} dev and {data['test']:,} test sentences.")
        chosen = [
            f"{about.title} {_settings(found['settings'])} ({found['features']:,} of {found['columns']:,} n-grams)"
            for method, about in METHODS.items()
            if (found := run.result(f"{name}-{method}")) is not None
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
    columns: list[str | Column] = ["model"]
    rows: dict[str, list[Cell]] = {title: [title] for title in _titles()}
    counts = []
    for name, said in GOLD.items():
        columns += [said, "% over trigram", _P]
        base, best, segments = (run.value(name, key) for key in ("cer", "oracle", "segments"))
        rows["trigram"] += [base, None, None]
        rows["oracle"] += [best, None, None]
        for method, about in METHODS.items():
            cer, p = (run.value(f"jackknife-{method}", "gold", name, key) for key in ("cer", "p"))
            rows[about.title] += [cer, below(cer, base), p]
        counts += [] if segments is None else [f"{segments:,} sentences of {said}"]
    notes = [f"The models of the jackknife{': ' if counts else ''}{'; '.join(counts)}. Not in the paper."]
    return PaperTable("Readings by hand: character error rate (%)", columns, list(rows.values()), notes=notes)


# table 2 --------------------------------------------------------------------------------------------------------


def table_2(run: Run) -> PaperTable:
    """The domains, by the number of sentences to adapt to; sizes that the data do not have are left out."""
    rows = []
    for name, sizes in sizes_of(run).adapt.items():
        for size in sizes:
            sentences, li = (run.value(f"{name}-{size}-li", key) for key in ("sentences", "cer"))
            if sentences == 0:
                continue
            others = [run.value(f"{name}-{size}-rerank", "methods", method, "cer") for method in ADAPTING]
            fixed = run.value(f"{name}-li-fixed", "sizes", str(size), "cer")
            rows.append([name, sentences or size, run.value(f"{name}-test", "cer"), li, fixed, *others])
    rows += _later(run)
    titles = (METHODS[method].title for method in ADAPTING)
    columns = ("domain", "sentences", "news only", "LI", "LI, same lists", *titles)
    heads = ("Domain", "sentences", "Baseline", "LI", "MSR-II", "Boosting", "Perceptron")
    notes = [*_compared(run), *_against_fixed(run), *_oracles(run), *_about_later(run)]
    return PaperTable(
        "Table 2: character error rate of adaptation (%)", columns, rows, _TABLE_2, paper_columns=heads, notes=notes
    )


def _later(run: Run) -> list[list[Cell]]:
    """The later news, by the converter of the earlier ones."""
    base, found = run.value("later-news", "cer"), run.value("later-news", "sizes") or {}
    return [
        ["later news", each["sentences"], base, each["li"]["cer"], each["fixed"]["cer"],
         *(each["methods"][method]["cer"] for method in ADAPTING)]
        for each in found.values()
    ]  # fmt: skip


def _about_later(run: Run) -> list[str]:
    found = run.result("later-news")
    if found is None:
        return []
    said = f"{found['earlier']:,} sentences of other documents, {found['test']:,} to test on, {found['dev']:,} for dev"
    return [f"Later news: documents that speak of a year from {LATER} on; a converter of {said}."]


def _against_fixed(run: Run) -> list[str]:
    """MSR-II beside interpolation on the same lists, which is the paper's comparison."""
    said = []
    for name in sizes_of(run).adapt:
        for size, each in (run.value(f"{name}-li-fixed", "sizes") or {}).items():
            said.append(_fixed(f"{name} {int(size):,}", each["msr2"]["cer"], each["cer"], each["msr2"]["p"]))
    for each in (run.value("later-news", "sizes") or {}).values():
        own = each["methods"]["msr2"]
        said.append(_fixed(f"later news {each['sentences']:,}", own["cer"], each["fixed"]["cer"], own["p_fixed"]))
    return [f"MSR-II and LI on the same lists (CER of both, p): {'; '.join(said)}."] if said else []


def _fixed(what: str, own: float, other: float, p: float) -> str:
    return f"{what} {own:.2f}, {other:.2f}, {_p(p)}"


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
        news = run.value(f"{name}-test", "cer")
        for size in sizes:
            li = run.value(f"{name}-{size}-li", "cer")
            for method, found in (run.value(f"{name}-{size}-rerank", "methods") or {}).items():
                yield f"{name} {size:,} {METHODS[method].title}", found, news, li


def _oracles(run: Run) -> list[str]:
    found = {name: run.result(f"{name}-test") for name in sizes_of(run).adapt}
    said = [f"{name} {each['oracle']:.2f}" for name, each in found.items() if each is not None]
    return [f"Oracle of the lists of the news converter: {', '.join(said)}."] if said else []
