"""Reports hold what somebody called a feature, a file or a metric, and none of it becomes a tag or a link."""

from pathlib import Path

from nbest.loop.report import page
from nbest.papers.report import PaperTable, Report
from nbest.report import Figure, Table
from nbest.report.charts import LineChart, Series
from nbest.report.markdown import escaped
from nbest.report.picture import Picture

EVIL = "<script>alert(1)</script> [x](javascript:y) a|b\nnext \x1b[31m"


def test_text():
    assert escaped(EVIL) == "&lt;script>alert(1)&lt;/script> [x]\\(javascript:y) a|b next \ufffd[31m"
    assert escaped("Smith & Eisner, a < b, größer") == "Smith & Eisner, a &lt; b, größer"
    row = Table(["x", "y"], [[EVIL, "b"]]).render().splitlines()[-1]
    assert row.count("|") == 4  # one of them escaped
    assert "\\|" in row


def test_reports_of_papers(tmp_path: Path):
    chart = LineChart([Series(EVIL, [1, 2], [1.0, 2.0], "#000")], EVIL, EVIL, EVIL)
    picture = Picture(EVIL, EVIL, [chart], 1, 300, 200)
    table = PaperTable(EVIL, [EVIL, "x"], [[EVIL, 1.0]], [[EVIL, 2.0]], notes=[EVIL])
    head = {
        "citation": EVIL,
        "steps": [{"name": EVIL, "seconds": 1.0}],
        "quick": True,
        "seed": 1,
        "versions": {"a": EVIL},
    }
    Report([table], [Figure("figure", EVIL, picture)], [EVIL]).write(tmp_path, head)
    for file in ("report.md", "figure.svg"):
        text = (tmp_path / file).read_text()
        assert "<script" not in text
        assert "](javascript" not in text or file.endswith("svg")
        assert "&lt;script" in text


def test_reports_of_loops():
    keys = ("round", "dev", "heldout", "trained_dev", "new", "missed", "pool", "decode_seconds", "train_seconds")
    row = {**dict.fromkeys(keys, EVIL), "round": 1, "dev": 2.0, "heldout": None, "trained_dev": None}
    config = {EVIL: EVIL, "decoder": EVIL, "metric": EVIL}
    text = page([row], config, {"reason": EVIL, "chosen": 0}).render()
    assert "<script" not in text
    assert "](javascript" not in text
    assert text.count("&lt;script") >= 5
