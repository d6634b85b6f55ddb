"""The recipes of the docs, run on small data that is made here: every command, every Python example."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from nbest.cli.main import main
from tests.cli.conftest import write_lists
from tests.doc_blocks import run_page

WORDS = ["the", "small", "old", "house", "car", "man", "ran", "saw", "twenty", "colour", "centre", "day", "mister"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def table(path: str, rows: Iterable[dict[str, Any]]) -> None:
    """Write a CSV, or a TSV by its name."""
    rows = list(rows)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.endswith(".tsv") else ",")
        writer.writeheader()
        writer.writerows(rows)


def scored(capfd: pytest.CaptureFixture[str], *words: str) -> list[float]:
    """What `nbest score` says of outputs."""
    capfd.readouterr()
    assert main(["score", *words, "--json"]) == 0
    return [row["score"] for row in json.loads(capfd.readouterr().out)]


def test_python(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    write_lists(tmp_path, "dev", 40, seed=1)
    assert run_page("docs/python.md", capfd) >= 6


def test_speech(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("whisper_normalizer", reason="needs the extra asr: pip install 'nbest[asr]'")
    for name, seed in (("dev", 1), ("test", 2)):
        _speech(name, random.Random(seed))
    assert run_page("docs/speech.md", capfd) >= 5
    assert Path("dev.texts.csv").read_text().startswith("id,text\n")
    first, tuned = scored(
        capfd, "first.tsv", "out.tsv", "--refs", "test.tsv", "--metric", "wer", "--normalize", "whisper"
    )
    assert tuned < 0.8 * first


def _speech(name: str, rng: random.Random) -> None:
    """A recogniser that knows a little, a language model that knows another part of the errors."""
    lists, scores, references = [], {}, []
    for i in range(40):
        words, utterance = [rng.choice(WORDS) for _ in range(8)], f"{name}-{i:03d}"
        references.append(f"{utterance}\t{' '.join(words).capitalize()}.\n")
        hypotheses = []
        for _ in range(6):
            errors = rng.randrange(4)
            heard = list(words)
            for place in rng.sample(range(8), errors):
                heard[place] = rng.choice(WORDS)
            text = " ".join(heard) + rng.choice(["", ".", " ,"])
            hypotheses.append({"text": text, "score": -errors + rng.gauss(0, 1.5)})
            scores[utterance, text] = -8.0 - errors + rng.gauss(0, 1.0)
        lists.append({"id": utterance, "nbest": hypotheses})
    Path(f"{name}.json").write_text(json.dumps(lists))
    Path(f"{name}.tsv").write_text("".join(references))
    table(f"{name}.lm.csv", ({"id": key[0], "text": key[1], "lm": value} for key, value in scores.items()))


def test_quality_estimation(capfd: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(3)
    rows = []
    for i in range(60):
        for k in range(4):
            good = rng.gauss(0, 1)
            rows.append(
                {
                    "id": i,
                    "index": k,
                    "system": f"s{k}",
                    "source": f"Satz {i}",
                    "text": " ".join(rng.choice(WORDS) for _ in range(6)),
                    "kiwi": 0.7 + 0.05 * good + rng.gauss(0, 0.05),
                    "metricx": 3 - good + rng.gauss(0, 1),
                    "doc": f"d{i // 5}",
                    "mqm": -max(0.0, 1 - good),
                }
            )
    columns = {
        "outputs.tsv": ("id", "system", "source", "text"),
        "kiwi.csv": ("id", "index", "kiwi"),
        "mqm.csv": ("id", "index", "doc", "mqm"),
    }
    for path, names in columns.items():
        table(path, ({name: row[name] for name in names} for row in rows))
    Path("metricx.txt").write_text("".join(f"{row['metricx']}\n" for row in rows))
    Path("test.ref").write_text("".join(f"{i}\t{rows[4 * i]['text']}\n" for i in range(60)))
    for name in ("kiwi", "tuned"):
        table(f"{name}.comet.csv", ({"id": i, "comet": 0.8 + 0.05 * rng.gauss(0, 1)} for i in range(60)))
    assert run_page("docs/quality-estimation.md", capfd) >= 5
    chosen = [json.loads(line) for line in Path("mbr.jsonl").read_text().splitlines()]
    worth = {(str(row["id"]), row["index"]): (row["mqm"], row["doc"]) for row in rows}
    assert [(row["gain"], row["group"]) for row in chosen] == [worth[row["id"], row["index"]] for row in chosen]


def test_best_of_n(capfd: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(5)
    batch, scores, gold = [], [], []
    for i in range(60):
        right, choices = rng.randrange(100), []
        for k in range(5):
            said = right if rng.random() < 0.5 else right + rng.choice([1, 2])
            content = f"So it is \\boxed{{{said}}}." if rng.random() > 0.05 else "I do not know."
            tokens = [{"token": "x", "logprob": -rng.random(), "bytes": None, "top_logprobs": []} for _ in range(4)]
            message = {"role": "assistant", "content": content}
            choices.append({"index": k, "message": message, "logprobs": {"content": tokens}, "finish_reason": "stop"})
            good = 1.5 * (said == right)
            scores.append(
                {"custom_id": f"p{i}", "index": k, "verifier": good + rng.gauss(0, 1), "reward": rng.random()}
            )
        body = {"id": f"c{i}", "object": "chat.completion", "model": "m", "choices": choices}
        response = {"status_code": 200, "request_id": f"r{i}", "body": body}
        batch.append({"id": f"b{i}", "custom_id": f"p{i}", "response": response, "error": None})
        gold.append(f"p{i}\t{right}\n")
    Path("batch.jsonl").write_text("".join(json.dumps(line) + "\n" for line in batch))
    Path("verifier.jsonl").write_text("".join(json.dumps(line) + "\n" for line in scores))
    Path("gold.tsv").write_text("".join(gold))
    assert run_page("docs/best-of-n.md", capfd) >= 8
    given = ("--refs", "gold.tsv", "--metric", "exact", "--answer", "boxed")
    first, tuned, votes = scored(capfd, "first.tsv", "chosen.tsv", "majority.tsv", *given)
    assert min(tuned, votes) > first
