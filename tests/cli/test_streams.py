"""Standard output and error as they may come: closed, full, ASCII; and nothing that a terminal would obey."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import nbest
from nbest.base.errors import FormatError, NbestError, ParameterError, listed, shortened, shown, visible

ROOT = str(Path(nbest.__file__).parent.parent)
ESCAPE = "\x1b[31mred\x9b\u202e"


def process(*arguments, shell="", **environment):
    """Run the command line as a process of its own, behind a shell's redirections."""
    line = f'"$0" -m nbest "$@" {shell}'
    return subprocess.run(
        ["sh", "-c", line, sys.executable, *arguments], capture_output=True, timeout=120,
        env=os.environ | {"PYTHONPATH": ROOT} | environment,
    )  # fmt: skip


@pytest.fixture
def odd(folder):
    """Lists with names that are not ASCII, that a terminal would obey, and with the largest numbers."""
    for name, feature in (("plain", "größe"), ("escapes", ESCAPE)):
        rows = [f"0 ||| {text} ||| {feature}= {value} x= {sign}1.7e308\n" for text, value, sign in
                (("a", 1, ""), ("b", 2, ""), ("c", 3, "-"))]  # fmt: skip
        (folder / f"{name}.nbest").write_text("".join(rows), "utf-8")
    return folder


def test_closed_output(odd):
    for arguments in (("inspect", "plain.nbest"), ("inspect", "plain.nbest", "--json"),
                      ("rerank", "plain.nbest", "-d", "first")):  # fmt: skip
        ran = process(*arguments, shell=">&-")
        assert ran.returncode == 2
        assert ran.stderr.decode().splitlines()[-1] == "nbest: standard output: cannot be written: it is closed"
        assert b"Traceback" not in ran.stderr


def test_commands_that_print_nothing_need_no_output(odd):
    ran = process("rerank", "plain.nbest", "-d", "first", "-o", "out.txt", shell=">&- 2>&- <&-")
    assert ran.returncode == 0
    assert (odd / "out.txt").read_text() == "a\n"


def test_messages_do_not_go_to_the_output_when_stderr_is_closed(odd):
    ran = process("convert", "plain.nbest", "-", shell="2>&-")
    assert ran.returncode == 0
    assert [json.loads(line)["id"] for line in ran.stdout.splitlines()] == ["0"]


def test_full_output(odd):
    for arguments in (("inspect", "plain.nbest"), ("inspect", "plain.nbest", "--json"),
                      ("rerank", "plain.nbest", "-d", "first"), ("--help",)):  # fmt: skip
        ran = process(*arguments, shell="> /dev/full")
        assert ran.returncode == 2, arguments
        assert b"nbest: standard output" in ran.stderr
        assert b"No space left on device" in ran.stderr
        assert b"Traceback" not in ran.stderr
        assert b"Exception ignored" not in ran.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_output_of_other_encodings(odd, encoding):
    ran = process("inspect", "plain.nbest", PYTHONIOENCODING=encoding, LC_ALL="C")
    assert ran.returncode == 0
    assert "größe".encode(encoding, "backslashreplace") in ran.stdout
    ran = process("inspect", "plain.nbest", "--json", PYTHONIOENCODING=encoding, LC_ALL="C")
    assert ran.returncode == 0
    assert json.loads(ran.stdout.decode(encoding))["features"][0]["name"] == "größe"


def test_numbers_that_add_up_to_too_much(run, odd):
    ran = run("inspect", "plain.nbest", "--json")
    assert ran.code == 0
    huge = next(each for each in json.loads(ran.out)["features"] if each["name"] == "x")
    assert huge["high"] == 1.7e308
    assert huge["mean"] == pytest.approx(1.7e308 / 3)


def test_numbers_that_json_lacks_are_null(capsys):
    from nbest.cli.console import print_json

    print_json({"a": float("inf"), "b": [float("nan"), (1.0, -float("inf"))], "c": "\udce9"})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, [1.0, None]], "c": "\udce9"}


def test_escapes_are_shown(run, odd):
    assert visible(ESCAPE + "\n\tä") == "\\x1b[31mred\\x9b\\u202e\n\tä"
    (odd / "one.ref").write_text("a\n")
    for arguments in (
        ("inspect", "escapes.nbest"),
        ("tune", "escapes.nbest", "--refs", "one.ref", "--metric", "wer", "--drop", "x", "-o", "m.json"),
        ("inspect", f"missing{ESCAPE}"),
        ("tune", "dev.nbest", "--refs", "dev.ref", "--metric", "wer", "--features", ESCAPE, "-o", "m.json"),
        ("rerank", "dev.nbest", "--decision", ESCAPE),
        ("score", "dev.first", f"dev.{ESCAPE}", "--refs", "dev.ref", "--metric", "wer"),
    ):
        if arguments[0] == "score":
            (odd / f"dev.{ESCAPE}").write_text((odd / "dev.first").read_text())
        ran = run(*arguments)
        printed = ran.out + ran.err
        assert not set(printed) & set("\x1b\x9b\u202e"), printed
        assert "\\x1b[31mred" in printed


def test_a_model_of_a_stranger_is_shown(run, odd):
    content = {
        "format": "nbest-model/1", "kind": "loglinear", "weights": {ESCAPE: 1.0}, "metric": ESCAPE,
        "trainer": {"name": ESCAPE, ESCAPE: ESCAPE}, "scores": {ESCAPE: 1},
    }  # fmt: skip
    Path("m.json").write_text(json.dumps(content))
    ran = run("inspect", "m.json")
    assert ran.code == 0
    assert not set(ran.out + ran.err) & set("\x1b\x9b\u202e")


# full disks ------------------------------------------------------------------------------------------------------


def test_a_full_disk_is_named(folder):
    """A limit on the size of files stands for a full disk: the output is named, and nothing is left of it."""
    text = "word " * 1500
    (folder / "large.nbest").write_text("".join(f"{i} ||| {text}||| f= 1\n" for i in range(1500)))
    size = 8 * 2**20  # more than a compiled kernel needs, less than the lists
    for arguments, target in (
        (("convert", "large.nbest", "out.jsonl"), "out.jsonl"),
        (("rerank", "large.nbest", "-d", "first", "-o", "out.txt"), "out.txt"),
    ):
        ran = subprocess.run(
            [sys.executable, "-m", "nbest", *arguments], capture_output=True, text=True, timeout=120,
            env=os.environ | {"PYTHONPATH": ROOT},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        )  # fmt: skip
        assert ran.returncode == 2, ran.stderr
        assert ran.stderr.splitlines()[-1] == f"nbest: {target}: cannot be written: File too large"
        assert not [name for name in os.listdir(".") if "out." in name]


# messages --------------------------------------------------------------------------------------------------------


def test_long_messages_are_cut():
    for kind in (NbestError, ParameterError):
        text = str(kind("a" * 100_000 + " what to do"))
        assert len(text) < 2000
        assert text.startswith("aaa")
        assert text.endswith(" what to do")
        assert "characters left out" in text
    assert len(str(FormatError("p" * 100_000, 3, "r" * 100_000))) < 2000
    assert str(ParameterError("short")) == shortened("short") == "short"


def test_long_lists_of_names(run, folder):
    names = " ".join(f"feature{number}= 1" for number in range(5000))
    (folder / "wide.nbest").write_text(f"0 ||| a ||| {names}\n0 ||| b ||| {names}\n")
    (folder / "one.ref").write_text("a\n")
    ran = run("tune", "wide.nbest", "--refs", "one.ref", "--metric", "wer", "--features", "missing", "-o", "m.json")
    assert ran.code == 2
    assert len(ran.err) < 2000
    assert "and 4970 more" in ran.err
    Path("m.ini").write_text("missing= 1\n")
    ran = run("rerank", "wide.nbest", "--model", "m.ini")
    assert (ran.code, len(ran.err) < 2000) == (2, True)
    assert listed([]) == "none"
    assert listed("abc") == "a, b, c"


def test_odd_values_are_shown_short():
    deep = []
    for _ in range(10_000):
        deep = [deep]
    assert shown(deep) == "something nested very deeply"
    assert shown(10**5000) == "a very long number"
    assert len(shown("x" * 10**6)) <= 60
    assert shown("x") == "'x'"


# memory ----------------------------------------------------------------------------------------------------------


LITTLE = """
import resource, sys
from nbest.cli.main import main

assert main(["inspect", "dev.nbest"]) == 0  # libraries are loaded, kernels compiled
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 60 * 2**20,) * 2)
sys.exit(main(sys.argv[1:]))
"""


def test_little_memory_is_one_line(folder):
    """Under `ulimit -v` whatever asks for too much ends in one line, exit code 2, and no traceback."""
    words = " ".join(f"f{i}= {i}" for i in range(100))
    (folder / "large.nbest").write_text("".join(f"{i // 10} ||| w ||| {words}\n" for i in range(100_000)))
    external = ("large.nbest", "--metric", "external", "--column", "f1")
    for arguments, codes in (
        (("tune", *external, "-o", "model.json"), {2}),
        (("inspect", "large.nbest", "--against", "large.nbest"), {2}),
        (("inspect", "large.nbest"), {0, 2}),  # a few blocks may fit
        (("rerank", "large.nbest", "--decision", "first"), {0, 2}),
        (("convert", "large.nbest", "out.jsonl"), {0, 2}),
    ):
        ran = subprocess.run(
            [sys.executable, "-c", LITTLE, *arguments], capture_output=True, text=True, timeout=120,
            env=os.environ | {"PYTHONPATH": ROOT},
        )  # fmt: skip
        assert ran.returncode in codes, ran.stderr
        assert "Traceback" not in ran.stderr
        if ran.returncode:
            assert ran.stderr.splitlines()[-1].startswith("nbest: ")
            assert "memory" in ran.stderr.splitlines()[-1]
            assert not (folder / "out.jsonl").exists()
