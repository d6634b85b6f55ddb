"""Files of language models. Those in `fixtures` were written by the packages themselves, by the scripts beside them;
lines of OpenAI and vLLM are made here after their documentation."""

from __future__ import annotations

import io
import json
import random
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from nbest.base.errors import FormatError, FormatWarning
from nbest.cli.main import main
from nbest.corpus import NBest
from nbest.formats import read
from nbest.formats.lists.chat import EMPTY
from nbest.testing.formats import mutant

FIXTURES = Path(__file__).parent / "fixtures"


def lists(corpus: NBest) -> list[list[str]]:
    texts = list(corpus.texts or [])
    return [texts[a:b] for a, b in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)]


def columns(corpus: NBest) -> dict[str, list[float]]:
    return {name: corpus.column(name).tolist() for name in corpus.feature_names}


# OpenAI and vLLM ------------------------------------------------------------------------------------------------

# examples/features/openai_batch/README.md of vLLM, at a014e35: the choices stand in the response itself
VLLM = (
    '{"id":"vllm-383d","custom_id":"request-1","response":{"id":"cmpl-61c0","object":"chat.completion","model":"m",'
    '"choices":[{"index":0,"message":{"role":"assistant","content":"Hello!"},"logprobs":null,"finish_reason":"stop",'
    '"stop_reason":null}],"usage":{"prompt_tokens":25,"total_tokens":56}},"error":null}\n'
)


def batch_line(name: str, *choices: dict, **more: object) -> str:
    """A line as the API reference of OpenAI's batches has it."""
    body = {"id": "chatcmpl-1", "object": "chat.completion", "choices": choices, "usage": {}}
    response = {"status_code": 200, "request_id": "r", "body": body}
    return json.dumps({"id": "batch_req_1", "custom_id": name, "response": response, "error": None, **more}) + "\n"


def chat(text: str | None, *logprobs: float, reason: str = "stop", **more: object) -> dict:
    told = {"content": [{"token": "x", "logprob": value, "bytes": None, "top_logprobs": []} for value in logprobs]}
    message = {"role": "assistant", "content": text, **more}
    return {"index": 0, "message": message, "logprobs": told if logprobs else None, "finish_reason": reason}


NO_TEXT = {"type": "refusal", "logprobs": [{"token": "No", "logprob": -1}]}


def test_line_of_vllm(reading) -> None:
    corpus = reading("openai", VLLM)
    assert (corpus.ids, lists(corpus), columns(corpus)) == (("request-1",), [["Hello!"]], {"finished": [1.0]})


def test_choices_of_several_lines(reading) -> None:
    lines = batch_line("b", chat("x", -1, -0.5), chat("y", -2, reason="length")) + batch_line("a", chat("z", -4.0))
    corpus = reading("openai", lines + batch_line("b", chat(None, -3, refusal="I can't")))
    assert corpus.ids == ("b", "a")
    assert lists(corpus) == [["x", "y", "I can't"], ["z"]]
    assert columns(corpus) == {"logprob": [-1.5, -2, -3, -4], "tokens": [2, 1, 1, 1], "finished": [1, 0, 1, 1]}


def test_completions_and_separator(reading) -> None:
    lines = [
        {
            "custom_id": f"q#1#{k}",
            "response": {"body": {"choices": [{"text": text, "logprobs": {"token_logprobs": [None, -1.5]}}]}},
        }
        for k, text in enumerate(("a", "b"))
    ]
    with pytest.warns(FormatWarning, match="2 tokens have no probability"):
        corpus = reading("openai", "".join(json.dumps(line) + "\n" for line in lines), separator="#")
    assert (corpus.ids, lists(corpus)) == (("q#1",), [["a", "b"]])
    assert columns(corpus) == {"logprob": [-1.5, -1.5], "tokens": [2, 2], "finished": [0, 0]}


def test_responses(tmp_path: Path, reading) -> None:
    """The newer API, as its reference has it."""
    part = {
        "type": "output_text",
        "text": "It is 5.",
        "annotations": [],
        "logprobs": [{"token": "It", "logprob": -0.5}],
    }
    output = [{"type": "reasoning", "summary": []}, {"type": "message", "role": "assistant", "content": [part]}]
    body = {"object": "response", "status": "completed", "output": output, "text": {"format": {"type": "text"}}}
    cut = {**body, "status": "incomplete", "output": [{"type": "message", "content": [{"refusal": "No", **NO_TEXT}]}]}
    lines = [batch_line(name, response={"status_code": 200, "body": each}) for name, each in (("a", body), ("b", cut))]
    asked = tmp_path / "asked.jsonl"
    asked.write_text('{"custom_id": "a", "body": {"input": "2 + 3?"}}\n{"custom_id": "b", "body": {"input": "so?"}}\n')
    corpus = reading("openai", "".join(lines), inputs=asked)
    assert (lists(corpus), corpus.sources) == ([["It is 5."], ["No"]], ("2 + 3?", "so?"))
    assert columns(corpus) == {"logprob": [-0.5, -1], "tokens": [1, 1], "finished": [1, 0]}


def test_choices_without_log_probabilities(reading) -> None:
    lines = batch_line("b", chat("", reason="content_filter")) + batch_line("a", chat("x", -1, -2), chat("y"))
    corpus = reading("openai", lines, missing=-100)
    assert (lists(corpus), columns(corpus)) == (
        [[""], ["x", "y"]],
        {"logprob": [-100, -3, -100], "tokens": [0, 2, 0], "finished": [0, 1, 1]},
    )
    assert columns(reading("openai", batch_line("a", chat("y")), missing=-100)) == {"finished": [1]}


def test_tokens_without_probability_of_vllm(reading) -> None:
    with pytest.warns(FormatWarning, match="1 tokens have no probability"):
        corpus = reading("openai", batch_line("a", chat("x", -1, -9999.0)))
    assert columns(corpus) == {"logprob": [-1], "tokens": [2], "finished": [1]}


def test_choices_stand_in_the_order_of_their_index(reading) -> None:
    choices = [{"index": at, "text": text} for at, text in ((2, "c"), (0, "a"), (1, "b"))]
    line = {"custom_id": "q", "response": {"status_code": 200, "body": {"choices": choices}}}
    assert lists(reading("openai", json.dumps(line) + "\n")) == [["a", "b", "c"]]
    del choices[1]["index"]
    assert lists(reading("openai", json.dumps(line) + "\n")) == [["c", "a", "b"]]


def test_failed_requests_are_counted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    failed = {"status_code": 429, "body": {"error": {"message": "slow down"}}}
    path = tmp_path / "out.jsonl"
    path.write_text(
        batch_line("a", chat("x"))
        + batch_line("b", response=failed)
        + batch_line("c", response=None, error={"code": "batch_expired", "message": "late"})
    )
    with pytest.warns(FormatWarning, match="2 of 3 requests failed \\(line 2: 'slow down'\\); lists"):
        corpus = read(path)
    assert (corpus.ids, lists(corpus)) == (("a", "b", "c"), [["x"], [], []])
    assert main(["convert", str(path), "-", "--quiet"]) == 0
    said = capfd.readouterr()
    assert said.err == f"warning: {path}: 2 of 3 requests failed (line 2: 'slow down'); {EMPTY}\n"
    assert said.out.count("\n") == 3


def test_inputs_give_order_and_sources(tmp_path: Path, reading) -> None:
    asked = tmp_path / "asked.jsonl"
    body = {"messages": [{"role": "system", "content": "be short"}, {"role": "user", "content": [{"text": "2?"}]}]}
    rows = [("b", body), ("late", {"prompt": "no"}), ("a", {"prompt": "so?"})]
    asked.write_text("".join(json.dumps({"custom_id": name, "body": body}) + "\n" for name, body in rows))
    corpus = reading("openai", batch_line("a", chat("x")) + batch_line("b", chat("y")), inputs=asked)
    assert corpus.ids == ("b", "late", "a")
    assert corpus.sources == ("2?", "no", "so?")
    assert lists(corpus) == [["y"], [], ["x"]]
    with pytest.raises(FormatError, match=":1: the custom_id 'other' is not in the inputs"):
        reading("openai", batch_line("other", chat("x")), inputs=asked)
    with pytest.raises(FormatError, match=":1: a request without its response: this is the input"):
        read(asked, "openai")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            batch_line("a", chat("x", -1)) + batch_line("b", chat("y")),
            ":2: feature 'logprob' is missing; every hypothesis needs logprob, tokens, finished, and a choice of 'b'",
        ),
        (batch_line("b", chat("y")) + batch_line("a", chat("x", -1)), ":1: feature 'logprob' is missing"),
        ('{"custom_id": true, "response": {}}\n', ':1: "custom_id" must be a string, got a boolean'),
        ('{"custom_id": "a", "response": {"body": {}}}\n', ':1: no "choices" in the response'),
        ('{"custom_id": "a", "response": {"choices": {}}}\n', ':1: "choices" must be a list'),
        ('{"custom_id": "a", "response": {"choices": [{"text": 1}]}}\n', ':1: "text" of a choice must be a string'),
        (batch_line("a", chat("x", float("nan"))), ":1: NaN is not a number"),
    ],
)
def test_wrong_batches(complaint, line: str, said: str) -> None:
    assert said in complaint("openai", line)


# inspect_ai -----------------------------------------------------------------------------------------------------


def packed(method: int = zipfile.ZIP_DEFLATED, **samples: dict) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        archive.writestr("header.json", "{}")
        for name, sample in samples.items():
            archive.writestr(f"samples/{name}.json", json.dumps(sample))
    return made.getvalue()


def sample(name: str | int, *texts: str, epoch: int = 1, **more: object) -> dict:
    choices = [{"message": {"content": text}} for text in texts]
    return {"id": name, "epoch": epoch, "input": "?", "target": "5", "output": {"choices": choices}, **more}


@pytest.mark.parametrize("suffix", ["eval", "json"])
def test_logs_of_inspect(suffix: str) -> None:
    if suffix == "eval":
        pytest.importorskip("pyarrow")
    corpus = read(FIXTURES / f"inspect.{suffix}")
    assert corpus.ids == ("größe", "sum")
    assert corpus.sources == ("Wie viele Tage hat eine Woche?", "What is 2 + 3?")
    assert corpus.references == (("7",), ("5",))
    assert lists(corpus) == [["It is 6", "7", "8"], ["5", "The answer is 5", "Sieben: 7"]]
    assert corpus.gains is None  # two scorers, three values: all are features
    assert columns(corpus) == {
        "logprob": [-1.25, -0.25, -0.25, -0.25, -3, -2],
        "tokens": [3, 1, 1, 1, 4, 2],
        "match": [0, 1, 0, 1, 1, 0],
        "form_words": [3, 1, 1, 1, 4, 2],
        "form_short": [0, 1, 1, 1, 0, 1],
    }


def test_gains_and_answers_of_a_scorer() -> None:
    corpus = read(FIXTURES / "inspect.json", score="match")
    assert corpus.gains is not None
    assert corpus.gains.tolist() == [0, 1, 0, 1, 1, 0]
    assert list(corpus.answers or []) == ["6", "7", "8", "5", "5", "7"]
    assert "match" not in corpus.feature_names
    with pytest.raises(FormatError, match="no score 'mtach' in it; it has 'match', 'form_words', 'form_short'"):
        read(FIXTURES / "inspect.json", score="mtach")


def test_archives_of_older_versions(reading) -> None:
    data = packed(
        a=sample(1, "x", epoch=2, scores={"s": {"value": "P"}}), b=sample(1, "y", scores={"s": {"value": True}})
    )
    corpus = reading("inspect", data)
    assert (lists(corpus), corpus.gains.tolist()) == ([["y", "x"]], [1, 0.5])


def test_samples_that_failed(reading) -> None:
    data = packed(a=sample("a", "x"), b=sample("b", "y", error={"message": "m"}), c=sample("a", epoch=2))
    with pytest.warns(
        FormatWarning, match="2 of 3 samples failed or have no output; lists for which nothing else came"
    ):
        corpus = reading("inspect", data)
    assert (corpus.ids, lists(corpus)) == (("a", "b"), [["x"], []])


def test_samples_without_a_score(capfd: pytest.CaptureFixture[str]) -> None:
    path = FIXTURES / "inspect-unscored.json"  # NaN for one sample, nothing for another
    with pytest.warns(
        FormatWarning, match="2 of 4 samples have no score 'judge' .the first is sample 'größe' of epoch 1"
    ):
        corpus = read(path)
    assert (corpus.ids, lists(corpus), corpus.gains.tolist()) == (("größe", "sum"), [[], ["5", "7"]], [1, 0])
    corpus = read(path, unscored=0.5)
    assert (lists(corpus), corpus.gains.tolist()) == ([["6", "8"], ["5", "7"]], [0.5, 0.5, 1, 0])
    assert list(corpus.answers) == ["", "", "5", "7"]
    assert main(["convert", str(path), "-", "--option", "unscored=0", "--quiet"]) == 0
    assert '"score": 0' in capfd.readouterr().out


def test_samples_without_some_scores(reading, complaint) -> None:
    both = {"s": {"value": 1}, "t": {"value": 2}}
    log = packed(a=sample("a", "x", scores=both), b=sample("b", "y", scores={"t": {"value": 3}}), c=sample("c", "z"))
    for options in ({}, {"score": "t"}):
        error = complaint("inspect", log, **options)
        assert "input/samples/b.json:1: sample 'b' of epoch 1 has no 's' while others have; missing= (--option" in error
    with pytest.warns(
        FormatWarning, match="1 of 3 samples have no score 't' .*, unscored= .* gives a value; lists for"
    ):
        corpus = reading("inspect", log, score="t", missing=-7)
    assert (lists(corpus), corpus.gains.tolist(), columns(corpus)) == ([["x"], ["y"], []], [2, 3], {"s": [1, -7]})
    corpus = reading("inspect", log, missing=-7)
    assert (lists(corpus), columns(corpus)) == ([["x"], ["y"], ["z"]], {"s": [1, -7, -7], "t": [2, 3, -7]})
    log = packed(a=sample("a", "x", scores=both), b=sample("b", "y", scores=both), c=sample("c", "z"))
    with pytest.warns(
        FormatWarning,
        match="1 of 3 samples have no score .the first is sample 'c' .*, missing= .--option missing=0. gives",
    ):
        assert lists(reading("inspect", log)) == [["x"], ["y"], []]


def test_log_probabilities_of_some_samples(reading, complaint) -> None:
    told = sample("b", "y", epoch=2)
    told["output"]["choices"][0]["logprobs"] = {"content": [{"token": "y", "logprob": -2}, {"logprob": -1}]}
    log = json.dumps({"version": 2, "samples": [sample("a", "x"), told]})
    assert "input:1: sample 'a' of epoch 1 has no 'logprob' while others have" in complaint("inspect", log)
    assert columns(reading("inspect", log, missing=-9)) == {"logprob": [-9, -3], "tokens": [0, 2]}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"output": 1}, '"output" must be an object'),
        ({"output": {"choices": [{}]}}, '"message" of a choice must be an object'),
        ({"output": {"choices": [{"message": {"content": 1}}]}}, "the content of a message must be a string"),
        ({"target": 5}, '"target" must be a string'),
        ({"input": 5}, '"input" must be a string'),
        ({"scores": {"s": 1}}, "score 's' must be an object"),
        ({"scores": {"s": {"value": float("inf")}}}, "score 's' must be a finite number"),
    ],
)
def test_wrong_samples_are_named(complaint, more: dict, said: str) -> None:
    log = json.dumps({"version": 2, "samples": [sample("a", "x"), {**sample("b", "y", epoch=2), **more}]})
    assert f"input:1: sample 'b' of epoch 2: {said}" in complaint("inspect", log)


def test_several_choices_have_no_scores(reading) -> None:
    with pytest.warns(FormatWarning, match="scores are left out: they are of samples, and sample 'a' has several"):
        corpus = reading("inspect", packed(a=sample("a", "x", "y", scores={"s": {"value": 1}})))
    assert (lists(corpus), corpus.gains, corpus.feature_names) == ([["x", "y"]], None, ())


def test_damaged_archives(complaint, monkeypatch: pytest.MonkeyPatch) -> None:
    data = packed(a=sample("a", "x"))
    assert "input: the archive is damaged or cut short: " in complaint("inspect", data[:-30])
    at = data.index(b"samples/a.json") + 20
    assert "input: the archive is damaged or cut short: " in complaint(
        "inspect", data[:at] + b"\xff\xff" + data[at + 2 :]
    )
    assert "samples/a.json is packed by method 12" in complaint(
        "inspect", packed(zipfile.ZIP_BZIP2, a=sample("a", "x"))
    )
    assert 'input/samples/a.json:1: "id" of a sample must be' in complaint("inspect", packed(a=sample(None, "x")))
    monkeypatch.setenv("NBEST_MAX_INPUT", "100K")
    assert "to more than the limit of 102400 bytes" in complaint("inspect", packed(a=sample("a", "x" * 200_000)))


def test_damaged_archives_packed_by_zstd(complaint) -> None:
    pytest.importorskip("pyarrow")
    data = bytearray((FIXTURES / "inspect.eval").read_bytes())
    data[data.index(b"_epoch_1.json") + 100] ^= 8
    assert "input: the archive is damaged or cut short: " in complaint("inspect", bytes(data))


def test_no_damage_of_archives_gets_through(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    data, source, path = (FIXTURES / "inspect.eval").read_bytes(), random.Random(1), tmp_path / "log.eval"
    whole = lists(read(FIXTURES / "inspect.eval"))
    for _ in range(200):
        path.write_bytes(mutant(data, source))
        with suppress(FormatError), warnings.catch_warnings():
            warnings.simplefilter("ignore", FormatWarning)
            assert all(any(set(some) <= set(full) for full in whole) for some in lists(read(path, "inspect")))


# lm-evaluation-harness ------------------------------------------------------------------------------------------


def test_samples_of_lm_eval() -> None:
    path = FIXTURES / "lm-eval.jsonl"
    with pytest.warns(
        FormatWarning, match="samples of filter 'score-first'; filter= .* names another one: 'answers', 'majority'"
    ):
        corpus = read(path)
    assert corpus.ids == ("0", "1")
    assert corpus.sources == ("2 + 3?", "größer: 7 oder 8?")
    assert corpus.references == (("5",), ("8",))
    assert lists(corpus) == [["I say 4", "I say 5", "I say 6"], ["I say 7", "I say 8", "I say 4"]]
    assert (corpus.gains, corpus.answers) == (None, None)  # of what the filter chose
    assert lists(read(path, filter="majority")) == lists(corpus)
    every = read(path, filter="answers")
    assert list(every.answers or []) == ["4", "5", "6", "7", "8", "4"]
    assert every.gains is None  # the metric is the mean over the answers
    with pytest.raises(FormatError, match="no filter 'other' in it; it has 'score-first', 'answers', 'majority'"):
        read(path, filter="other")


def test_choices_of_lm_eval() -> None:
    corpus = read(FIXTURES / "lm-eval-choice.jsonl")
    assert lists(corpus) == [["4", "5"], ["8", "7", "sieben"]]
    assert corpus.references == (("5",), ("8",))
    assert corpus.gains is not None
    assert corpus.gains.tolist() == [0, 1, 1, 0, 0]
    assert corpus.column("logprob")[:2].tolist() == [-0.10905784593110368, -0.5512672460905512]
    assert not corpus.column("greedy").any()


def test_one_answer_each_has_a_gain(reading) -> None:
    lines = [
        {"doc_id": k, "resps": [[text]], "filtered_resps": [text[-1]], "metrics": ["f", "em"], "f": 0.5, "em": k == 1}
        for k, text in enumerate(("is 5", "is 6"))
    ]
    contents = "".join(json.dumps(line) + "\n" for line in lines)
    corpus = reading("lm-eval", contents, metric="em")
    assert (corpus.gains.tolist(), list(corpus.answers)) == ([0, 1], ["5", "6"])
    assert reading("lm-eval", contents).gains.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"doc_id": 1.5, "resps": [["a"]]}\n', ':1: "doc_id" must be a whole number, got a number: 1.5'),
        ('{"doc_id": 1, "resps": ["a"]}\n', ':1: "resps" must be a list, got a string'),
        ('{"doc_id": 1, "resps": [["a"], ["b"]]}\n', ':1: "resps" must be one list of texts'),
        ('{"doc_id": 1, "resps": [[["x", "False"]]]}\n', ":1: a log-probability must be a finite number, got 'x'"),
        ('{"doc_id": 1, "resps": [["a"]]}\n{"doc_id": 1, "resps": [["b"]]}\n', ":2: document 1 is already on line 1"),
    ],
)
def test_wrong_samples(complaint, line: str, said: str) -> None:
    assert said in complaint("lm-eval", line)


# OpenRLHF -------------------------------------------------------------------------------------------------------


def test_lines_of_one_input_stand_apart(reading) -> None:
    rows = [("q", "a", 1.5), ("p", "b", -1), ("q", "c", True)]
    lines = [json.dumps({"input": asked, "output": text, "reward": reward}) + "\n" for asked, text, reward in rows]
    corpus = reading("openrlhf", "".join(lines))
    assert (corpus.ids, corpus.sources) == (("0", "1"), ("q", "p"))
    assert (lists(corpus), columns(corpus)) == ([["a", "c"], ["b"]], {"reward": [1.5, 1, -1]})


def test_wrong_rewards(complaint) -> None:
    line = '{"input": "q", "output": "a", "reward": 1}\n'
    assert ":2: feature 'reward' is missing" in complaint("openrlhf", line + '{"input": "q", "output": "a"}\n')
    assert ':2: "reward" must be a finite number, got null' in complaint("openrlhf", line + line.replace("1}", "null}"))
    assert ':1: the key "output" is missing' in complaint("openrlhf", '{"input": "q"}\n')
