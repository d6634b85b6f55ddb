"""Programs as decoders: small real ones, run by this Python."""

from __future__ import annotations

import json
import os
import shlex
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.base.errors import CapabilityError, DecoderError, ParameterError
from nbest.corpus import Forests, NBest
from nbest.decoders import CommandDecoder
from nbest.formats import write_forests
from nbest.model.loglinear import load
from tests.cli.conftest import sausages

WEIGHTS = {"lm": 0.5, "tm": -1.25e-7}
MOSES = "0 ||| a b ||| lm= 1 tm= 2 ||| 0\n0 ||| a ||| lm= 1 tm= 3 ||| 0\n1 ||| c ||| lm= 0 tm= 0 ||| 0\n"


def program(folder: Path, body: str, name: str = "program.py") -> str:
    """A command that runs a script; `said(...)` writes its arguments beside it, LISTS is some output."""
    path = folder / name
    head = f"""
    import json, os, pathlib, signal, subprocess, sys, time
    HERE = pathlib.Path({str(folder)!r})
    LISTS = {MOSES!r}
    def note(*words):
        with open(HERE / "notes.jsonl", "a") as file:
            file.write(json.dumps([str(word) for word in words]) + "\\n")
    note(*sys.argv[1:])
    """
    path.write_text(textwrap.dedent(head) + textwrap.dedent(body))
    return shlex.join([sys.executable, str(path)])


def notes(folder: Path) -> list[list[str]]:
    return [json.loads(line) for line in (folder / "notes.jsonl").read_text().splitlines()]


WRITE = "pathlib.Path(sys.argv[-1]).write_text(LISTS)"


def test_fields_are_filled(tmp_path: Path) -> None:
    command = program(tmp_path, f"note(open(sys.argv[1]).read()); {WRITE}")
    decoder = CommandDecoder(f"{command} {{weights}} in={{input}} {{k}} {{weight:tm}} {{{{x}}}} -o {{output}}", k=7)
    found = decoder.decode(WEIGHTS, tmp_path / "in put.txt")
    assert isinstance(found, NBest)
    assert found.hypotheses == 3
    arguments, (written,) = notes(tmp_path)
    assert arguments[1:6] == [f"in={tmp_path}/in put.txt", "7", "-1.25e-07", "{x}", "-o"]
    assert json.loads(written)["weights"] == WEIGHTS
    assert not Path(arguments[0]).exists()  # without a folder nothing is left


def test_texts_become_a_file(tmp_path: Path) -> None:
    command = program(tmp_path, f"note(open(sys.argv[2], newline='').read()); {WRITE}")
    CommandDecoder(f"{command} {{weights}} {{input}} {{output}}").decode(WEIGHTS, ["é b", "", "c"])
    assert notes(tmp_path)[1] == ["é b\n\nc\n"]


@pytest.mark.parametrize("shell", [False, True])
def test_odd_names_stay_one_argument(tmp_path: Path, shell: bool) -> None:
    folder = tmp_path / "a b'c\"d$(touch x);e"
    folder.mkdir()
    names = ("in put", "x; touch hacked", "$(touch hacked)", "`touch hacked`", "--", "it's", 'say "hi"', "{k}")
    command = program(tmp_path, WRITE)
    decoder = CommandDecoder(f"{command} {{weights}} {{input}} {{output}}", shell=shell, folder=folder)
    for name in names:
        decoder.decode({"a weight": 1.0, "lm": 1.0}, tmp_path / name)
    assert [line[1] for line in notes(tmp_path)] == [str(tmp_path / name) for name in names]
    assert all(line[0].startswith(str(folder)) for line in notes(tmp_path))
    assert not list(tmp_path.rglob("hacked"))
    assert not list(tmp_path.rglob("x"))
    assert not Path("hacked").exists()


def test_weights_whose_names_have_blanks(tmp_path: Path) -> None:
    command = program(tmp_path, WRITE)
    decoder = CommandDecoder(f"{command} '{{weight:word penalty}}' \"{{weight:it's}}\" {{output}}")
    decoder.decode({"word penalty": 2.0, "it's": np.float64(3.5)}, "x")
    assert notes(tmp_path)[0][:2] == ["2.0", "3.5"]
    with pytest.raises(ParameterError, match="has blanks"):
        CommandDecoder("program {weight:word penalty}")


def test_a_weight_that_the_program_would_not_hear_of(tmp_path: Path) -> None:
    decoder = CommandDecoder(f"{program(tmp_path, WRITE)} {{weight:lm}} {{output}}", unit="am")
    decoder.decode({"lm": 2.0, "am": 1.0, "noise": 0.0}, "x")
    with pytest.raises(ParameterError, match=r"no field for the weight -3 of 'noise'; add \{weight:noise\}"):
        decoder.decode({"lm": 2.0, "am": 1.0, "noise": -3.0}, "x")
    with pytest.raises(ParameterError, match="or --unit am if"):
        replace(decoder, unit=None).decode({"lm": 2.0, "am": 1.0}, "x")


def test_no_shell_unless_asked_for(tmp_path: Path) -> None:
    command = program(tmp_path, "sys.stdout.write(LISTS)")
    assert CommandDecoder(f"{command} {{weights}} | cat > x; $HOME *").decode(WEIGHTS, "x").hypotheses == 3
    assert notes(tmp_path)[0][1:] == ["|", "cat", ">", "x;", "$HOME", "*"]


def test_a_shell_runs_pipes(tmp_path: Path) -> None:
    command = program(tmp_path, "sys.stdout.write(LISTS)")
    decoder = CommandDecoder(
        f"{command} {{weight:lm}} {{weight:tm}} | grep '^0' | sed 's/a b/{{{{b}}}}/' > {{output}}", shell=True
    )
    found = decoder.decode(WEIGHTS, "x")
    assert list(found.texts) == ["{b}", "a"]
    for quoted in ('x "{weights}" {k}', "x '{weights}'", "x 'a' \"b {k}\" {weights}", 'x "it\'s {weights}"'):
        with pytest.raises(ParameterError, match="leave out the quotes around"):
            CommandDecoder(quoted, shell=True)
    CommandDecoder("x 'a' \"it's\" it\\'s {weights} 'b'", shell=True)


def test_standard_output_is_read_without_an_output_field(tmp_path: Path) -> None:
    command = program(tmp_path, "sys.stdout.write(LISTS); sys.stderr.write('working')")
    decoder = CommandDecoder(f"{command} {{weights}}", folder=tmp_path / "logs")
    assert decoder.decode(WEIGHTS, "x").hypotheses == 3
    (log,) = (tmp_path / "logs").glob("run-*")
    assert [path.name for path in log.iterdir()] == ["stderr"]
    assert (log / "stderr").read_text() == "working"


def test_all_files_are_kept_if_asked_for(tmp_path: Path) -> None:
    decoder = CommandDecoder(f"{program(tmp_path, WRITE)} {{weights}} {{output}}", folder=tmp_path / "logs", keep=True)
    decoder.decode(WEIGHTS, "x")
    decoder.decode(WEIGHTS, ["x"])
    kept = [{path.name for path in log.iterdir()} for log in (tmp_path / "logs").glob("run-*")]
    assert sorted(kept, key=len)[0] == {"output", "stderr", "stdout", "weights.json"}
    assert sorted(kept, key=len)[1] == {"output", "stderr", "stdout", "weights.json", "input"}


def test_a_directory_of_lattices(tmp_path: Path) -> None:
    forests = replace(sausages(1, 3), feature_names=("acoustic", "lm", "x1"))
    write_forests(forests, tmp_path / "made", "slf")
    command = program(tmp_path, "import shutil; shutil.copytree(HERE / 'made', sys.argv[-1])")
    found = CommandDecoder(f"{command} {{weights}} {{output}}", folder=tmp_path / "logs").decode(WEIGHTS, "x")
    assert isinstance(found, Forests)
    assert len(found) == 3
    assert [path.name for path in next((tmp_path / "logs").iterdir()).iterdir()] == ["stderr"]


@pytest.mark.parametrize("kind", ["json", "moses", "lines"])
def test_weight_files(tmp_path: Path, kind: str) -> None:
    command = program(tmp_path, f"note(sys.argv[1], open(sys.argv[1]).read()); {WRITE}")
    weights = {"lm": 0.1, "tm_0": 1.0 / 3.0, "tm_1": -2e-300}
    decoder = CommandDecoder(f"{command} {{weights}} {{output}}", weight_file=kind)
    decoder.decode(weights, "x")
    path, text = notes(tmp_path)[1]
    (tmp_path / "weights").write_text(text)
    if kind == "lines":
        assert {line.split()[0]: float(line.split()[1]) for line in text.splitlines()} == weights
        assert path.endswith("weights.lines")
    else:
        assert load(tmp_path / "weights").weights == weights
    if kind != "json":
        with pytest.raises((CapabilityError, ParameterError), match="'a b'"):
            decoder.decode({"a b": 1.0}, "x")


def test_the_unit_of_weights(tmp_path: Path) -> None:
    command = program(tmp_path, WRITE)
    decoder = CommandDecoder(f"{command} {{weight:lm}} {{weight:am}} {{output}}", unit="am")
    decoder.decode({"am": 0.5, "lm": 3.0}, "x")
    assert notes(tmp_path)[0][:2] == ["6.0", "1.0"]
    for bad in ({"am": 0.0, "lm": 1.0}, {"am": -1.0, "lm": 1.0}):
        with pytest.raises(ParameterError, match="'am' as 1, which needs a positive weight"):
            decoder.decode(bad, "x")
    with pytest.raises(ParameterError, match=r"asks for \{weight:am\}; known: lm"):
        decoder.decode({"lm": 1.0}, "x")


# failing ---------------------------------------------------------------------------------------------------------


def failing(tmp_path: Path, body: str, **options: object) -> str:
    command = program(tmp_path, body)
    decoder = CommandDecoder(f"{command} {{weights}} {{output}}", pause=0.01, folder=tmp_path / "logs", **options)  # type: ignore[arg-type]
    with pytest.raises(DecoderError) as raised:
        decoder.decode(WEIGHTS, "x")
    message = str(raised.value)
    assert "the run can be resumed" in message
    assert str(tmp_path / "logs") in message
    return message


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.exit(3)", "exit code 3"),
        ("sys.exit('no such model')", "no such model"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "ended by signal 11"),
        ("pass", "did not write {output}"),
        ("pathlib.Path(sys.argv[-1]).write_text('')", "cannot be used"),
        ("pathlib.Path(sys.argv[-1]).write_bytes(bytes(range(256)))", "cannot be used"),
        ("pathlib.Path(sys.argv[-1]).write_text(LISTS.replace('tm= 2', 'tm= two'))", "output:1: "),
        ("pathlib.Path(sys.argv[-1]).write_text(LISTS.replace('tm= 2', 'tm= nan'))", "cannot be used"),
        ("pathlib.Path(sys.argv[-1]).mkdir()", "cannot be used"),
    ],
)
def test_what_went_wrong_is_said(tmp_path: Path, body: str, said: str) -> None:
    assert said in failing(tmp_path, body, retries=0)
    assert len(notes(tmp_path)) == 1


def test_what_a_failed_run_wrote_is_kept(tmp_path: Path) -> None:
    failing(tmp_path, "pathlib.Path(sys.argv[-1]).write_text('odd'); print('help', file=sys.stderr)", retries=0)
    (log,) = (tmp_path / "logs").iterdir()
    assert (log / "output").read_text() == "odd"
    assert (log / "stderr").read_text() == "help\n"


def test_the_last_lines_of_standard_error_are_shown(tmp_path: Path) -> None:
    message = failing(
        tmp_path, "sys.stderr.write(''.join(f'line {i}\\n' for i in range(5000))); sys.exit(1)", retries=0
    )
    assert message.endswith("line 4999")
    assert "; the run can be resumed; it said:\n  line " in message
    assert "line 4000\n" not in message
    assert message.count("\n") < 20


def test_it_is_tried_again(tmp_path: Path) -> None:
    body = f"if len(list(open(HERE / 'notes.jsonl'))) < 3: sys.exit('not yet')\n{WRITE}"
    decoder = CommandDecoder(f"{program(tmp_path, body)} {{weights}} {{output}}", retries=2, pause=0.01)
    assert decoder.decode(WEIGHTS, "x").hypotheses == 3
    assert len({line[1] for line in notes(tmp_path)}) == 3  # each time with a place of its own
    (tmp_path / "notes.jsonl").unlink()
    decoder.retries = 1
    with pytest.raises(DecoderError, match="failed, 2 times: exit code 1"):
        decoder.decode(WEIGHTS, "x")


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to look at processes")
@pytest.mark.parametrize("ends", ["time.sleep(1000)", "sys.exit(4)", WRITE])
def test_what_a_program_started_ends_with_it(tmp_path: Path, ends: str) -> None:
    body = f"""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    note(child.pid, os.getpid())
    {ends}
    """
    decoder = CommandDecoder(f"{program(tmp_path, body)} {{weights}} {{output}}", limit=3.0, retries=0)
    if ends == WRITE:
        decoder.decode(WEIGHTS, "x")
    else:
        with pytest.raises(DecoderError, match="exit code 4" if "exit" in ends else "more than 3 seconds"):
            decoder.decode(WEIGHTS, "x")
    processes = [int(number) for number in notes(tmp_path)[1]]
    for _ in range(500):
        if not any(map(alive, processes)):
            break
        time.sleep(0.01)
    assert not any(map(alive, processes))


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    for command in ("no-such-program {weights}", f"{tmp_path} {{weights}}"):
        with pytest.raises(DecoderError, match="cannot be started"):
            CommandDecoder(command).decode(WEIGHTS, "x")
    with pytest.raises(DecoderError, match="exit code 127"):
        CommandDecoder("no-such-program {weights}", shell=True, retries=0).decode(WEIGHTS, "x")


def test_an_interrupt_ends_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess

    wait = subprocess.Popen.wait

    def interrupted(process, limit=None):
        if limit is not None:
            raise KeyboardInterrupt
        return wait(process)

    decoder = CommandDecoder(f"{program(tmp_path, 'time.sleep(1000)')} {{weights}}", limit=1000)
    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        decoder.decode(WEIGHTS, "x")
    assert time.monotonic() - begin < 500


@pytest.mark.parametrize(
    ("template", "options", "said"),
    [
        ("", {}, "is empty"),
        ("x 'y {weights}", {}, "cannot be cut into arguments: No closing quotation"),
        ("x {input}", {}, "no weight can matter"),
        ("x {weights} {inputs}", {}, "unknown field {inputs}; known: {weights}, {input}"),
        ("x {weights} {}", {}, "unknown field {}"),
        ("x {weights}", {"weight_file": "yaml"}, "must be json, moses, lines, got 'yaml'"),
        ("x {weights}", {"format": "mose"}, "did you mean 'moses'"),
        ("x {weights}", {"limit": 0}, "'limit' of a decoder must be > 0"),
        ("x {weights}", {"limit": float("nan")}, "'limit' of a decoder must be > 0"),
        ("x {weights}", {"retries": -1}, "'retries' of a decoder must be >= 0 and 'k' >= 1, got -1"),
        ("x {weights}", {"k": 0}, "'k' >= 1"),
    ],
)
def test_wrong_settings(template: str, options: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError) as raised:
        CommandDecoder(template, **options)  # type: ignore[arg-type]
    assert said in str(raised.value)


def test_a_format_that_is_named(tmp_path: Path) -> None:
    lists = nbest.read(_put(tmp_path / "lists", MOSES))
    nbest.write(lists, tmp_path / "made.jsonl")
    command = program(tmp_path, "import shutil; shutil.copy(HERE / 'made.jsonl', sys.argv[-1])")
    template = f"{command} {{weights}} {{output}}"
    assert CommandDecoder(template, format="jsonl").decode(WEIGHTS, "x").hypotheses == 3
    with pytest.raises(DecoderError, match="cannot be used"):
        CommandDecoder(template, format="moses", retries=0).decode(WEIGHTS, "x")
    assert os.listdir(tmp_path)


def _put(path: Path, text: str) -> Path:
    path.write_text(text)
    return path
