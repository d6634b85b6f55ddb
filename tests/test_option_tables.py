"""docs/options.md is made of the parameters that trainers and metrics declare: `python -m tests.test_option_tables`."""

from __future__ import annotations

from dataclasses import MISSING
from pathlib import Path

from nbest.base.parameters import Parameter, parameters_of
from nbest.metrics import METRICS
from nbest.trainers import TRAINERS

PAGE = Path(__file__).parent.parent / "docs" / "options.md"
HEAD = """# Options of methods and metrics

What `nbest tune --method NAME` and `--metric NAME` take besides the options of `--help`, and `nbest.MERT(...)`,
`nbest.BLEU(...)` and so on as keywords (`--smooth-method floor` is `smooth_method="floor"`). Values are checked when
they are used; a wrong one is named with its rule. This page is made of what the classes declare.
"""


def text_of(value: object) -> str:
    """A default as the command line takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if value in ((), {}) or value is MISSING:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def row(each: Parameter) -> str:
    cells = (f"`--{each.name.replace('_', '-')}`", text_of(each.default), each.rule.words(), each.help)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def table(name: str, kind: type) -> str:
    known = [each for each in parameters_of(kind).values() if each.public]
    rows = "".join(map(row, known)) if known else ""
    summary = (kind.__doc__ or "").strip().partition("\n")[0]
    head = "| option | default | must be | what it is |\n| --- | --- | --- | --- |\n" if rows else "No options.\n"
    return f"\n### {name}\n\n{summary}\n\n{head}{rows}"


def page() -> str:
    """What the page must be."""
    methods = "".join(table(name, TRAINERS[name]) for name in sorted(TRAINERS))
    metrics = "".join(table(name, METRICS[name]) for name in sorted(METRICS))
    return f"{HEAD}\n## Methods\n{methods}\n## Metrics\n{metrics}"


def test_the_page_says_what_the_classes_declare() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.test_option_tables"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
