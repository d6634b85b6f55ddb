"""The same kinds of bad input for every format of one file, with the exact line."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from nbest.base.errors import FormatError
from nbest.formats import FORMATS, read

OPENAI = '{"custom_id": "a", "response": {"choices": [{"text": "x", "logprobs": {"content": [{"logprob": %s}]}}]}}\n'
OPENRLHF = '{"input": "q", "output": "a", "reward": %s}\n'
WHISPER = '{"id": "u", "nbest": [{"text": "a", "f": %s}]}\n'
CTRANSLATE2 = '{"hypotheses": [["a"]], "scores": [%s]}\n'
LM_EVAL = '{"doc_id": %s, "resps": [[["%s", "False"]]], "arguments": [["q", " a"]]}\n'

# for each format: two good lines or so, then one with this value; the line it is on; what the value is called
VALUES: dict[str, tuple[Callable[[str], str], int, str]] = {
    "jsonl": (
        lambda v: f'{{"hypotheses": []}}\n{{"hypotheses": [{{"text": "a", "features": {{"f": {v}}}}}]}}\n',
        2,
        "",
    ),
    "moses": (lambda v: f"0 ||| a ||| f= 1\n0 ||| b ||| f= {v}\n", 2, "feature 'f'"),
    "fairseq": (lambda v: f"H-0\t-1\ta\nP-0\t1\nH-0\t-1\tb\nP-0\t-1 {v}\n", 4, "a token's score"),
    "nemo": (lambda v: f"a\t-1\nb\t{v}\n", 2, "the score"),
    "wenet": (lambda v: f"wav u\ncandidate 1 a\ncandidate {v} b\n", 3, "the score"),
    "mlm-scoring": (lambda v: f'{{\n"u": {{}},\n"v": {{"hyp_1": {{"text": "a", "score": {v}}}}}\n}}\n', 3, ""),
    "openai": (
        lambda v: f"{OPENAI % -1}{OPENAI % v}",
        2,
        "",
    ),
    "openrlhf": (lambda v: f"{OPENRLHF % 1}{OPENRLHF % v}", 2, ""),
    "whisper": (lambda v: f"{WHISPER % 1}{WHISPER % v}", 2, ""),
    "ctranslate2": (lambda v: f"{CTRANSLATE2 % 1}{CTRANSLATE2 % v}", 2, ""),
    "lm-eval": (lambda v: f"{LM_EVAL % (0, -1)}{LM_EVAL % (1, v)}", 2, "a log-probability"),
}
NOT_NUMBERS = ["nan", "NaN", "inf", "-Infinity", "1e999", "1_000", "\u0661", "0x10", "1,5", "one", "1e", "+-1"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "input.manifest.json").write_text("{}\n{}\n")  # NeMo looks for it
    return tmp_path / "input"


def complaint(path: Path, format: str) -> FormatError:
    with pytest.raises(FormatError) as caught:
        read(path, format)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("value", NOT_NUMBERS)
@pytest.mark.parametrize("format", VALUES)
def test_not_a_finite_number(path: Path, format: str, value: str) -> None:
    make, line, what = VALUES[format]
    path.write_text(make("-1.5"))
    read(path, format)
    path.write_text(make(value))
    error = complaint(path, format)
    assert error.line == line
    if what:
        assert error.reason.startswith(f"{what} must be a finite number, got ")


FILES = [format for format in FORMATS.values() if not format.directory and not format.binary]


@pytest.mark.parametrize("format", FILES, ids=lambda f: f.name)
def test_broken_utf8_names_its_line(path: Path, format) -> None:
    lines = next(iter(format.example.values())).encode().splitlines(keepends=True)
    for at, line in enumerate(lines):
        broken = [*lines[:at], line[:-1] + b"\xe2\x82" + line[-1:], *lines[at + 1 :]]
        path.write_bytes(b"".join(broken))
        error = complaint(path, format.name)
        assert error.line == at + 1
        assert error.reason.startswith("not valid UTF-8")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gzip", "xz"])
@pytest.mark.parametrize("format", FILES, ids=lambda f: f.name)
def test_packed_files_cut_short(path: Path, format, pack: Callable[[bytes], bytes]) -> None:
    data = pack(next(iter(format.example.values())).encode())
    for end in (7, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:end])
        assert complaint(path, format.name).reason.startswith("compressed file is damaged or cut short")


@pytest.mark.parametrize("contents", [b"", b"\n", b"\xef\xbb\xbf", b"\r\n \r\n", gzip.compress(b"", mtime=0)])
@pytest.mark.parametrize("format", FILES, ids=lambda f: f.name)
def test_empty_files(path: Path, format, contents: bytes) -> None:
    path.write_bytes(contents)
    error = complaint(path, format.name)
    assert "empty" in error.reason or "no hypotheses" in error.reason


MISSING = {
    "jsonl": ('{"hypotheses": [{"features": {"f": 1, "g": 1}}]}\n{"hypotheses": [{"features": {"g": 1}}]}\n', 2),
    "moses": ("0 ||| a ||| f= 1 g= 1\n0 ||| a ||| f= 1 g= 1\n0 ||| a ||| g= 1\n", 3),
    "fairseq": ("H-0\t1\ta\nP-0\t1\nH-1\t1\ta\n", 3),
    "mlm-scoring": ('{"u": {"hyp_1": {"text": "", "f": 1}},\n"v": {"hyp_1": {"text": ""}}}', 2),
    "openai": (OPENAI % -1 + OPENAI.replace('{"content": [{"logprob": %s}]}', "null"), 2),
    "openrlhf": (OPENRLHF % 1 + '{"input": "q", "output": "a"}\n', 2),
    "whisper": (WHISPER % 1 + '{"id": "v", "nbest": [{"text": "a", "g": 1}]}\n', 2),
    "ctranslate2": (CTRANSLATE2 % 1 + '{"hypotheses": [["a"]]}\n', 2),
}
TWICE = {
    "jsonl": ('{"hypotheses": []}\n{"hypotheses": [{"features": {"f": 1, "f": 1}}]}\n', 2),
    "moses": ("0 ||| a ||| f= 1\n0 ||| a ||| f= 1 f= 1\n", 2),
    "mlm-scoring": ('{"u": {},\n"v": {"hyp_1": {"text": "", "f": 1, "f": 2}}}', 2),
    "openrlhf": (OPENRLHF % 1 + OPENRLHF % '1, "reward": 2', 2),
    "whisper": (WHISPER % 1 + WHISPER % '1, "f": 2', 2),
}


@pytest.mark.parametrize("format", MISSING)
def test_feature_missing_in_one_hypothesis(path: Path, format: str) -> None:
    contents, line = MISSING[format]
    path.write_text(contents)
    error = complaint(path, format)
    assert error.line == line
    assert "is missing; every hypothesis needs" in error.reason


@pytest.mark.parametrize("format", TWICE)
def test_feature_named_twice(path: Path, format: str) -> None:
    contents, line = TWICE[format]
    path.write_text(contents)
    error = complaint(path, format)
    assert error.line == line
    assert "is named twice" in error.reason
