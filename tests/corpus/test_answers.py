"""What each rule finds, how it writes it, and what lists with answers do."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbest
from nbest.base.errors import CapabilityError, ParameterError
from nbest.cli.main import main
from nbest.corpus import NBest
from nbest.corpus.answers import RULES, answer_rule
from nbest.corpus.texts import Texts
from nbest.decisions import mbr
from nbest.features.texts import agreement
from nbest.metrics import Exact
from nbest.model.loglinear import LogLinear

FENCED = "Try this:\n```python\nx = 1  \n```\nor\n```\ny = 2\n\n```\nDone."
CASES = [
    ("last-number", "so 3 + 4 = 7.", "7"),
    ("last-number", "It is $1,234,567.50 in all", "1234567.5"),
    ("last-number", "from 5-3", "3"),
    ("last-number", "x = -12.00", "-12"),
    ("last-number", "x = \N{MINUS SIGN}.5", "-0.5"),
    ("last-number", "1,2,3", "3"),
    ("last-number", "007", "7"),
    ("last-number", "-0.0", "0"),
    ("last-number", "about +2.50e3 of them", "2500"),
    ("last-number", "6e-3", "0.006"),
    ("last-number", "1e999999999999", "1e999999999999"),
    ("last-number", "1234567890123456789012345678901234567890.10", "1234567890123456789012345678901234567890.1"),
    ("last-number", "none at all", ""),
    ("boxed", r"first \boxed{1}, then \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
    ("boxed", r"$\boxed{ \dfrac{ 1 }{2} }$ and \boxed{unfinished {", r"\frac{1}{2}"),
    ("boxed", r"\fbox{a\,b\}c}", r"ab\}c"),
    ("boxed", r"\boxed{\left( 3, \frac{\pi}{2} \right)}", r"(3,\frac{\pi}{2})"),
    ("boxed", "no box", ""),
    ("choice", "The answer is (B).", "B"),
    ("choice", "Answer: C because A is wrong", "C"),
    ("choice", "**Answer: D**", "D"),
    ("choice", "The correct answer is option E", "E"),
    ("choice", "The answer is A because of that", "A"),
    ("choice", "The answer: I think it is (C)", "C"),
    ("choice", r"so \boxed{\text{F}}", "F"),
    ("choice", "B. Paris", "B"),
    ("choice", "B", "B"),
    ("choice", "First (A), in the end (G)", "G"),
    ("choice", "A dog and I", ""),
    ("code", FENCED, "y = 2"),
    ("code", "```py\nx = 1  \nz", "x = 1\nz"),
    ("code", "x = 1", ""),
    ("json:final.answer", 'Thus: {"final": {"answer": "Paris"}}', "Paris"),
    ("json:answer", '{"answer": 1} and {"answer": {"b": 1, "a": [2]}}.', '{"a": [2], "b": 1}'),
    ("json:1", "[1, 2.5]", "2.5"),
    ("json:answer", "{broken", ""),
    ("json:answer", '{"other": 1}', ""),
    ("json:", '"a text"', "a text"),
    (r"#### (.*)", "#### 4\n#### 5 \n", "5"),
    (r"[0-9]+ km", "3 km, then 4 km", "4 km"),
    (r"x(y)?", "x", ""),
]  # fmt: skip


@pytest.mark.parametrize(("how", "text", "wanted"), CASES)
def test_rules(how, text, wanted):
    assert answer_rule(how).answer(text) == wanted


@given(st.fractions(min_value=-(10**9), max_value=10**9, max_denominator=1), st.integers(0, 4), st.booleans())
def test_a_number_is_written_in_one_way(value, zeros, separated):
    number = int(value)
    text = f"{number:,}" if separated else str(number)
    text += "." + "0" * zeros if zeros else ""
    assert answer_rule("last-number").answer(f"It is {text}, yes") == str(number)
    assert Fraction(answer_rule("last-number").answer(f"{number / 8}")) == Fraction(number, 8) or abs(number) > 10**15


@given(st.text(max_size=60), st.sampled_from([*RULES, "json:a", r"(\w+)=(\d)"]))
def test_any_text_has_an_answer_or_none(text, how):
    rule = answer_rule(how)
    found = rule.answer(text)
    assert isinstance(found, str)
    if how in ("last-number", "choice") and found:
        assert rule.answer(found) == found


def test_rules_are_checked():
    with pytest.raises(ParameterError, match=r"unknown answer 'last_number'.*did you mean 'last-number'"):
        answer_rule("last_number")
    with pytest.raises(ParameterError, match=r"'\(' is no regular expression"):
        answer_rule("(")


def lists(texts: list[list[str]], references: list[str] | None = None) -> NBest:
    sizes = [len(each) for each in texts]
    return NBest(
        offsets=np.append(0, np.cumsum(sizes)),
        features=np.zeros((sum(sizes), 1)),
        feature_names=("s",),
        ids=tuple(f"q{i}" for i in range(len(texts))),
        texts=Texts.of(text for each in texts for text in each),
        references=None if references is None else tuple((each,) for each in references),
    )


def test_texts_stay_and_references_become_answers():
    corpus = lists([["so it is 4.0", "five"], ["3"]], ["#### 4", "three"]).with_answers("last-number")
    assert list(corpus.texts) == ["so it is 4.0", "five", "3"]
    assert list(corpus.answers) == ["4", "", "3"]
    assert corpus.references == (("4",), ("three",))
    measured = corpus.with_metric(Exact())
    assert measured.stats[:, 0].tolist() == [1, 0, 0]
    assert list(lists([["a b"]]).with_answers(lambda text: text[:1]).answers) == ["a"]
    with pytest.raises(CapabilityError, match="carry none"):
        NBest(offsets=[0], features=np.zeros((0, 0)), feature_names=(), ids=()).with_answers("boxed")


def test_who_has_no_answer_has_no_vote():
    corpus = lists([["hm", "well", "it is 7", "7.0 it is", "8"]]).with_answers("last-number")
    assert mbr(LogLinear({"s": 0.0}), corpus, gain="exact").tolist() == [2]
    votes = agreement(corpus, metric="exact").column("agreement")
    assert votes.argmax() == 2
    assert votes[0] == votes[1] < votes[4] < votes[3]
    none = lists([["hm", "well"]]).with_answers("last-number")
    assert mbr(LogLinear({"s": 0.0}), none, gain="exact").tolist() == [0]


def write_lists(path):
    rows = [
        {"id": f"q{i}", "references": [f"#### {i}"], "hypotheses": [
            {"text": "no idea", "features": {"s": 0.3}},
            {"text": f"so {i + 1}", "features": {"s": 0.2 + i % 2}},
            {"text": f"it is {i}.00", "features": {"s": 0.1 + i % 3}},
            {"text": f"{i}!", "features": {"s": 0.0}},
        ]} for i in range(12)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_commands(tmp_path, capsys):
    path = write_lists(tmp_path / "dev.jsonl")
    assert main(["inspect", path, "-m", "exact", "--answer", "last-number", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["scores"]["oracle"] == 100
    assert any("12 hypotheses have no answer" in each for each in found["findings"])
    model = str(tmp_path / "model.json")
    assert main(["tune", path, "-m", "exact", "--answer", "last-number", "-o", model, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["dev"] > 0
    args = ["rerank", path, "--model", model, "--decision", "mbr", "--gain", "exact", "--gamma", "0"]
    assert main([*args, "--answer", "last-number", "--ids", "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text(encoding="utf-8").splitlines()[:2] == ["q0\tit is 0.00", "q1\tit is 1.00"]
    (tmp_path / "ref").write_text("".join(f"q{i}\t#### {i}\n" for i in range(12)), encoding="utf-8")
    capsys.readouterr()
    score = ["score", str(tmp_path / "out"), "--refs", str(tmp_path / "ref"), "-m", "exact", "--json"]
    assert main([*score, "--answer", "last-number"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["score"] == 100
    assert row["signature"].endswith("|answer:last-number")
    assert main([*score, "--answer", "last"]) == 2
    assert capsys.readouterr().err.startswith("nbest: unknown answer 'last'")


def test_references_that_come_later_go_through_the_rule_too() -> None:
    rows = [
        {"id": "q0", "text": r"\boxed{\dfrac{1}{2}}", "s": 1.0},
        {"id": "q0", "text": r"\boxed{3}", "s": 2.0},
    ]
    lists, references = nbest.from_records(rows), [[r"so it is $\boxed{\frac12}$", r"\boxed{\frac{1}{2}}"]]
    first = lists.with_answers("boxed").with_metric(Exact(), references)
    second = lists.with_references(references).with_answers("boxed").with_metric(Exact())
    assert first.references == second.references
    assert first.score(np.array([0])) == second.score(np.array([0])) == 100.0


def test_an_answer_that_is_no_text() -> None:
    with pytest.raises(ParameterError, match="an answer must be a text, or None"):
        nbest.from_records([{"id": 1, "text": "a"}]).with_answers(lambda text: 3)


def test_references_after_answers_of_a_function_are_refused() -> None:
    lists = nbest.from_records([{"id": 1, "text": "a 1", "f": 1}]).with_answers(lambda text: text.split()[-1])
    with pytest.raises(CapabilityError, match="give references before with_answers"):
        lists.with_metric(Exact(), [["x 1"]])
