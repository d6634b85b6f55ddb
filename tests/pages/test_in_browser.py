"""The page in a real browser: nothing is complained of or asked for, and its numbers are Python's."""

from __future__ import annotations

import csv
import io
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbest
from nbest.cli.serving import Followed, server_of
from nbest.corpus.operations import join
from nbest.corpus.texts import Texts
from nbest.formats import bundled
from nbest.metrics import F1, METRICS, External, TokenAccuracy
from nbest.pages.base import Judged, Subject, digits_of
from nbest.pages.explorer import explorer
from nbest.pages.segments import segments
from nbest.report import Page, Table
from nbest.report.html import HTML
from nbest.report.renderers import render
from tests.pages.browser import browser, complaints, requests, show, wait

HOSTILE = (
    "<script>document.title='broken'</script>",
    '"><img src=x onerror="document.title=\'broken\'">',
    "</script><script>document.title='broken'</script>",
    "' onclick='alert(1)",
    "\u202eevil\u202c \u2066x\u2069",
    "]]>-->&lt;b&gt;",
    "long " * 200_000,
)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser(tmp_path_factory.mktemp("profile")) as made:
        yield made


def subject(lists: nbest.NBest, model: nbest.LogLinear, name: str = "dev") -> Subject:
    return Subject((Judged(name, lists, {"tuned": model}),), {"tuned": model})


def write(path: Path, about: Subject, *parts: Any) -> Path:
    page = Page("Report", [explorer(about), segments(about), *parts])
    path.write_text(render(page, HTML()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def lists() -> nbest.NBest:
    return bundled.lists("tune").select(range(60))


@pytest.fixture(scope="module")
def page(lists: nbest.NBest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    measured = lists.with_metric(nbest.WER())
    model = nbest.MaxLikelihood().fit(measured)
    table = Table(("a", "b"), [("x|y", 1.5), ("<b>", 2.5)], "values")
    return write(tmp_path_factory.mktemp("page") / "report.html", subject(measured, model), table)


def ask(driver: Any, expression: str) -> Any:
    return driver.execute_script(f"return {expression}")


def enter(driver: Any, fields: dict[str, str], event: str = "input") -> None:
    """Give fields, by their selectors, these values, as a hand would."""
    driver.execute_script(
        "for (const [name, value] of Object.entries(arguments[0])) { const field = document.querySelector(name);"
        "field.value = value; field.dispatchEvent(new Event(arguments[1], {bubbles: true})); }",
        fields,
        event,
    )


def shown_score(driver: Any, weights: list[float]) -> str:
    """Give the page these weights through its fields; the score that it shows then."""
    enter(driver, {f"[data-exact='{place}']": repr(weight) for place, weight in enumerate(weights)})
    return str(ask(driver, "document.querySelector('[data-score]').textContent"))


def test_nothing_is_complained_of_or_asked_for(driver: Any, page: Path) -> None:
    show(driver, page)
    wait(driver, "document.querySelector('.charts svg')")
    assert complaints(driver) == []
    assert requests(driver) == []


METRIC = {
    "wer": nbest.WER(), "cer": nbest.CER(), "bleu": nbest.BLEU(), "bleu floor": nbest.BLEU(smooth_method="floor"),
    "chrf": nbest.CHRF(), "chrf++": METRICS.look_up("chrf++")(), "accuracy": TokenAccuracy(), "f1": F1(beta=2.0),
    "external": External(label="quality"),
}  # fmt: skip


@pytest.mark.parametrize("name", METRIC)
def test_scores_are_those_of_python_for_50_vectors(driver: Any, lists: nbest.NBest, tmp_path: Path, name: str) -> None:
    metric = METRIC[name]
    if isinstance(metric, External):
        gains = np.random.default_rng(3).normal(size=lists.hypotheses)
        measured = replace(lists, stats=metric.stats_of(gains), metric=metric)
    else:
        measured = lists.with_metric(metric)
    model = nbest.MaxLikelihood().fit(measured)
    about = subject(measured, model)
    digits = digits_of(about.dev)
    show(driver, write(tmp_path / "report.html", about))
    order = [measured.feature_names[d] for d in model.weighed(measured.feature_names)[0]]
    order += [each for each in measured.feature_names if each not in order]
    generator = np.random.default_rng(1)
    differ = []
    for _ in range(50 if name == "wer" else 10):
        weights = (generator.normal(size=len(order)) / measured.features.std(axis=0).clip(1e-3)).tolist()
        own = nbest.LogLinear(dict(zip(order, weights, strict=True)), dense=tuple(order))
        wanted = format(measured.score(own.predict(measured)), f".{digits}f")
        got = shown_score(driver, weights)
        differ += [] if got == wanted else [(got, wanted)]
    assert differ == []


def test_a_slider_moves_score_outputs_and_pictures(driver: Any, page: Path) -> None:
    show(driver, page)
    turn = wait(driver, "document.querySelector('.charts').dataset.turn")
    seen = "[document.querySelector('[data-score]').textContent, document.querySelector('.steps').getAttribute('d')]"
    before = ask(driver, seen)
    enter(driver, {"[data-feature='0']": ask(driver, "document.querySelector('[data-feature=\"0\"]').min")})
    wait(driver, f"document.querySelector('.charts').dataset.turn !== '{turn}'")
    after = ask(driver, seen)
    assert after[0] != before[0]
    assert after[1] != before[1]
    assert not ask(driver, "document.querySelector('#changed-count').textContent").startswith("0 of")
    fields = '[...document.querySelectorAll(\'[data-feature="0"], [data-exact="0"]\')].map((field) => field.value)'
    one, other = ask(driver, fields)
    assert one == other


def test_the_steps_along_a_weight_are_exact(driver: Any, page: Path, lists: nbest.NBest) -> None:
    """Heights of the picture are scores in Python at the middle of each stretch, up to the scale of the axis."""
    show(driver, page)
    measured = lists.with_metric(nbest.WER())
    model = nbest.MaxLikelihood().fit(measured)
    said = wait(driver, "document.querySelector('#stretch').textContent")
    feature = ask(driver, "document.querySelector('#along-one-weight + .controls option:checked').textContent")
    reach = float(ask(driver, f"document.querySelector(`[aria-label='weight of {feature}']`).max"))

    def score(weight: float) -> float:
        own = replace(model, weights={**model.weights, feature: weight})
        return float(measured.score(own.predict(measured)))

    numbers = [
        float(text) for text in re.findall(r"[\d.]+", ask(driver, "document.querySelector('.steps').getAttribute('d')"))
    ]
    lefts, heights, rights = [numbers[0], *numbers[2::2][:-1]], numbers[1::2], numbers[2::2]
    wide = [(low, y, high) for low, y, high in zip(lefts, heights, rights, strict=True) if high - low > 0.5]
    assert len(wide) > 50
    values = np.array([score(((low + high) / 2 - 62) / (600 - 62) * 2 * reach - reach) for low, _, high in wide])
    drawn = np.array([y for _, y, _ in wide])
    fitted = np.polyval(np.polyfit(values, drawn, 1), values)
    assert np.abs(fitted - drawn).max() < 0.02
    best = float(said.split("Best: ")[1].split()[0])
    low, high = (
        float(said.split(f" {word} ")[1].split()[0].rstrip(",").replace("\u2212", "-")) for word in ("from", "to")
    )
    assert best <= values.min() + 0.005
    assert score((low + high) / 2) == pytest.approx(best, abs=0.005)


def test_sorts_filters_searches_and_follows_a_link(driver: Any, page: Path, lists: nbest.NBest) -> None:
    show(driver, page)

    def column(place: int) -> list[str]:
        return list(
            ask(driver, f"[...document.querySelectorAll('.body .row')].map((r) => r.children[{place}].textContent)")
        )

    driver.execute_script("document.querySelector('[data-key=gain] button').click()")
    gains = [float(text) for text in column(6)]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > gains[-1]
    assert ask(driver, "document.querySelector('[data-key=gain]').getAttribute('aria-sort')") == "descending"
    enter(driver, {"#segment-filter": "losses"}, "change")
    assert column(6)
    assert all(float(text) < 0 for text in column(6))
    enter(driver, {"#segment-filter": "all"}, "change")
    assert lists.references is not None
    enter(driver, {"#segment-search": lists.references[7][0].split()[-1]})
    wait(driver, "!document.querySelector('#segment-count').textContent.startsWith('60 of')")
    assert lists.ids[7] in column(0)
    show(driver, page, "#segment=8")
    assert lists.references[7][0] in ask(driver, "document.querySelector('#one-segment').textContent")
    assert ask(driver, "document.querySelectorAll('#candidates tbody tr').length") == min(lists.lengths[7], 200)


def test_tables_are_copied(driver: Any, page: Path) -> None:
    show(driver, page)
    driver.execute_script(
        "window.copied = [];"
        "navigator.clipboard.writeText = (text) => { window.copied.push(text); return Promise.resolve(); };"
        "for (const b of document.querySelectorAll('figure.table:last-of-type .tools button')) b.click();"
    )
    texts = driver.execute_script("return window.copied")[-3:]
    table = Table(("a", "b"), [("x|y", 1.5), ("<b>", 2.5)], "values")
    assert texts == [table.render("markdown"), table.render("latex"), table.render("csv")]
    driver.execute_script("window.copied = []; [...document.querySelectorAll('.live .tools button')].at(-1).click()")
    rows = list(csv.reader(io.StringIO(driver.execute_script("return window.copied[0]"))))
    assert len(rows) == 61


def test_hostile_texts_stay_texts(driver: Any, lists: nbest.NBest, tmp_path: Path) -> None:
    few = lists.select(range(len(HOSTILE)))
    texts = list(few.texts or ())
    for i, text in enumerate(HOSTILE):
        texts[few.offsets[i]] = text
    names = tuple(HOSTILE[0] if k == 0 else name for k, name in enumerate(few.feature_names))
    odd = replace(
        few,
        texts=Texts.of(texts),
        ids=tuple(f"{text[:60]} {k}" for k, text in enumerate(HOSTILE)),
        references=tuple((text,) for text in HOSTILE),
        feature_names=names,
        origins={},
    ).with_metric(nbest.WER())
    path = write(tmp_path / "report.html", subject(odd, nbest.LogLinear(dict.fromkeys(names, 1.0), dense=names)))
    assert path.stat().st_size < 2_000_000
    show(driver, path, "#segment=2")
    assert complaints(driver) == []
    assert requests(driver) == []
    assert driver.title == "Report"
    assert ask(driver, "document.querySelectorAll('.warning').length") == 0
    assert HOSTILE[0] in ask(driver, "[...document.querySelectorAll('.slider label')].map((each) => each.textContent)")
    assert driver.execute_script("return document.querySelectorAll('main img, .live script:not([type])').length") == 0
    found = driver.execute_script("return document.querySelector('#one-segment').textContent")
    assert HOSTILE[1] in found


def test_ten_thousand_segments_scroll(driver: Any, tmp_path: Path) -> None:
    few = nbest.prune(bundled.lists("tune"), 3)
    copies = [replace(few, ids=tuple(f"{k} {name}" for name in few.ids)) for k in range(10_000 // len(few))]
    parts = join(copies).with_metric(nbest.WER())
    path = write(tmp_path / "report.html", subject(parts, nbest.LogLinear({parts.feature_names[0]: 1.0})))
    assert path.stat().st_size < 2_000_000
    show(driver, path)
    assert ask(driver, "document.querySelector('[role=table]').getAttribute('aria-rowcount')") == "10001"
    driver.execute_script("document.querySelector('.view').scrollTop = 1e9")
    wait(driver, f"document.querySelector('.body').lastElementChild.children[0].textContent === '{parts.ids[-1]}'")
    assert driver.execute_script("return document.querySelectorAll('.body .row').length") < 80


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (800, 1000), (360, 740)])
def test_no_width_is_too_small(driver: Any, page: Path, width: int, height: int) -> None:
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    try:
        show(driver, page, "#segment=3")
        wait(driver, "document.querySelector('.charts svg')")
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_controls_have_names(driver: Any, page: Path) -> None:
    """As a screen reader finds them: every field, button and picture says what it is."""
    show(driver, page)
    wait(driver, "document.querySelector('.charts svg')")
    nameless = driver.execute_script(
        "const told = (e) => e.ariaLabel || e.labels?.length || e.hasAttribute('aria-labelledby');"
        "const named = (e) => told(e) || e.textContent.trim();"
        "const all = document.querySelectorAll('button, input, select, svg, [role=region], [role=table]');"
        "return [...all].filter((e) => !named(e)).map((e) => e.outerHTML)"
    )
    assert nameless == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast_is_enough(driver: Any, page: Path, theme: str) -> None:
    """WCAG AA: 4.5 to 1 of all text against what is behind it."""
    show(driver, page, "#segment=3")
    driver.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
    found = driver.execute_script(
        """
        const channel = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        const light = (c) => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
        const colour = (text) => text.match(/[\\d.]+/g).map(Number);
        const behind = (e) => { for (; e; e = e.parentElement) { const c = colour(getComputedStyle(e).backgroundColor);
          if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
        const bad = [];
        for (const e of document.querySelectorAll('p, a, td, th, h2, h3, button, label, mark, .note, .row > div')) {
          if (!e.textContent.trim() || e.closest('svg')) continue;
          const a = light(colour(getComputedStyle(e).color)), b = light(behind(e));
          const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          if (ratio < 4.5) bad.push([e.outerHTML.slice(0, 90), ratio]);
        }
        return bad;
        """
    )
    assert found == []


def test_a_served_page_follows_what_it_shows(driver: Any) -> None:
    title = ["one"]
    followed = Followed(lambda: Page(title[0], ["Text."]), lambda: title[0])
    with server_of(followed, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            driver.get_log("browser")
            driver.get(f"http://127.0.0.1:{server.server_address[1]}/")
            wait(driver, "document.querySelector('h1').textContent === 'one' && 'ready' in document.body.dataset")
            time.sleep(0.5)  # it has asked for the version once
            title[0] = "two"
            wait(driver, "document.querySelector('h1')?.textContent === 'two'")
            assert [each for each in complaints(driver) if "favicon" not in each] == []
        finally:
            driver.get("about:blank")
            server.shutdown()
            thread.join()
