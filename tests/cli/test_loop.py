"""`nbest loop`: its arguments, and runs that are killed."""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from nbest.cli.main import main
from tests.loop import toy_program
from tests.loop.killing import finish, kill_until, outcome
from tests.loop.toy import sentences

PROGRAM = shlex.join([sys.executable, toy_program.__file__])
START = "am=0.1,lm=0.1,noise=0.1,words=0.1"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, seed in (("dev", 1), ("held", 2)):
        sources, references = sentences(15, seed)
        (tmp_path / f"{name}.src").write_text("".join(f"{line}\n" for line in sources))
        (tmp_path / f"{name}.ref").write_text("".join(f"{line}\n" for (line,) in references))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def arguments(seconds: float = 0.0, rounds: int = 4, *more: str) -> list[str]:
    command = f"{PROGRAM} {{weights}} {{input}} {{k}} {{output}} {seconds}"
    return [
        "dev.src", "--decoder", command, "--refs", "dev.ref", "--heldout", "held.src", "--heldout-refs", "held.ref",
        "--metric", "wer", "--method", "mert", "--restarts", "3", "--start", START, "--k", "3",
        "--rounds", str(rounds), *more,
    ]  # fmt: skip


def loop(*more: str) -> int:
    return main(["loop", *more])


def test_a_run(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert loop(*arguments(), "-o", "run", "--json") == 0
    shown = capfd.readouterr()
    result = json.loads(shown.out)
    assert result["rounds"] >= 2
    assert set(result["weights"]) == set(toy_program.FEATURES)
    assert result["weights"] == json.loads((files / "run" / "model.json").read_text())["weights"]
    rows = [json.loads(line) for line in (files / "run" / "curve.jsonl").read_text().splitlines()]
    assert len(rows) == result["rounds"] + 1
    assert min(row["heldout"] for row in rows) == result["scores"]["heldout"] < rows[0]["heldout"]
    report = (files / "run" / "report.md").read_text()
    assert "ended" in report
    assert "| 2 |" in report
    assert list((files / "run" / "decoder").glob("*/run-*/stderr"))
    assert not list((files / "run" / "decoder").glob("*/run-*/output"))


def test_rounds_that_do_not_help_are_said(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Good weights to start from, and a training that does not find them again."""
    given = [*arguments(), "-o", "run", "--json"]
    for old, new in (
        (START, "am=1,lm=1,noise=0,words=0"),
        ("mert", "likelihood"),
        ("--restarts", "--variance"),
        ("3", "0.01"),
    ):
        given[given.index(old)] = new
    assert loop(*given) == 0
    shown = capfd.readouterr()
    assert json.loads(shown.out)["chosen"] == 0
    assert "warning: no round decodes better than the weights of the start" in shown.err
    assert _said_truly("run", shown.err) > 0
    assert loop(*arguments(), "-o", "good") == 0
    said = capfd.readouterr().err
    assert "no round decodes better" not in said
    assert _said_truly("good", said) == 0


def _said_truly(run: str, said: str) -> int:
    """Rounds are called worse than the first where they are, and trainings that fell are told; how many did."""
    rows = [json.loads(line) for line in (Path(run) / "curve.jsonl").read_text().splitlines()]
    lines = [line for line in said.splitlines() if line.startswith(("round", "at the end"))]
    worse = [row["heldout"] > rows[0]["heldout"] for row in rows]
    assert worse == [", worse than round 1; " in line for line in lines]
    fell = [row["trained_dev"] > before["dev"] for before, row in zip(rows, rows[1:], strict=False)]
    for number, did in enumerate(fell, 1):
        assert (f"training of round {number} ended below the answers that it began with" in said) == did
    return sum(fell)


def test_the_number_of_references_is_recorded(files: Path) -> None:
    more = ["dev.ref"] * 3
    given = [word for name in more for word in ("--refs", name)]
    assert loop(*arguments(rounds=1), *given, "-o", "run", "--quiet") == 0
    assert "nrefs:4|" in json.loads((files / "run" / "loop.json").read_text())["metric"]


def test_resuming_a_run_that_ended_changes_nothing(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert loop(*arguments(rounds=1), "-o", "run") == 0
    before = {path: path.read_bytes() for path in (files / "run").rglob("*") if path.is_file()}
    assert loop(*arguments(rounds=1), "-o", "run") == 2
    assert "resume it (--resume)" in capfd.readouterr().err
    assert loop(*arguments(rounds=1), "-o", "run", "--resume") == 0
    assert "nothing to do" in capfd.readouterr().err
    assert {path: path.read_bytes() for path in (files / "run").rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--rounds", "3"], "rounds 1, now it is 3"),
        (["--k", "4"], "was begun with decoder"),
        (["--start", "am=1"], "was begun with start"),
        (["--metric", "cer"], "was begun with metric"),
        (["--restarts", "4"], "was begun with trainer"),
        (["--decoder", "other {weights}"], "was begun with decoder"),
    ],
)
def test_a_run_is_not_resumed_with_something_else(
    files: Path, capfd: pytest.CaptureFixture[str], change: list[str], said: str
) -> None:
    words = arguments(rounds=1)
    if not (files / "run").exists():
        assert loop(*words, "-o", "run") == 0
    words[words.index(change[0]) + 1] = change[1]
    assert loop(*words, "-o", "run", "--resume") == 2
    assert said in capfd.readouterr().err


def test_dev_and_held_out_are_not_exchanged(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = arguments(rounds=1)
    assert loop(*words, "-o", "run") == 0
    other = {"dev.src": "held.src", "held.src": "dev.src", "dev.ref": "held.ref", "held.ref": "dev.ref"}
    assert loop(*(other.get(word, word) for word in words), "-o", "run", "--resume") == 2
    assert "was begun with files" in capfd.readouterr().err


def test_a_changed_input_file_is_noticed(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert loop(*arguments(rounds=1), "-o", "run") == 0
    (files / "dev.ref").write_text((files / "dev.ref").read_text().replace("cat", "cow") + " ")
    assert loop(*arguments(rounds=1), "-o", "run", "--resume") == 2
    assert "was begun with files" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--decoder", "no-such-program {weights}"], "cannot be started"),
        (["--decoder", f"{sys.executable} -c 'import sys; sys.exit(\"no model\")' {{weights}}"], "no model"),
        (["--decoder", "echo {weight}"], "unknown field {weight}"),
        (["--decoder", "echo {input}"], "no weight can matter"),
        (["--decoder", "."], "holds no system"),
        (["--start", "am=x"], "must be a number"),
        (["--start", "am"], "am: cannot be read"),
        (["--start", "am=1,am=2"], "two weights of 'am'"),
        (["--start", "zero"], "needs a system"),
        (["--metric", "none"], "unknown metric"),
        (["--method", "none"], "unknown method"),
        (["--method", "lowdim"], "for which a decoder has no weight"),
        (["--refs", "none.ref"], "none.ref"),
        (["--refs", "short.ref"], "short.ref"),
    ],
)
def test_wrong_arguments_are_one_clear_message(
    files: Path, capfd: pytest.CaptureFixture[str], change: list[str], said: str
) -> None:
    (files / "short.ref").write_text("one line\n")
    words = [*arguments(rounds=1), "--retries", "0"]
    words[words.index(change[0]) + 1] = change[1]
    if change[0] == "--method":
        del words[words.index("--restarts") : words.index("--restarts") + 2]
    assert loop(*words, "-o", "run") == 2
    err = capfd.readouterr().err
    assert said in err
    assert "Traceback" not in err


def test_a_failing_decoder_leaves_a_run_that_can_be_resumed(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    good = Path(toy_program.__file__).read_text()
    (files / "decoder.py").write_text(good)
    words = arguments()
    words[words.index("--decoder") + 1] = f"{sys.executable} decoder.py {{weights}} {{input}} {{k}} {{output}}"
    assert loop(*words, "-o", "undisturbed") == 0
    broken = "import os\nif len(os.listdir('run/rounds')) > 2: raise SystemExit('out of licences')\n"
    (files / "decoder.py").write_text(good.replace("import json\n", f"import json\n{broken}", 1))
    assert loop(*words, "-o", "run", "--retries", "0") == 2
    err = capfd.readouterr().err
    assert "out of licences" in err
    assert "can be resumed" in err
    assert (files / "run" / "rounds" / "02" / "trained.json").exists()
    (files / "decoder.py").write_text(good)
    assert loop(*words, "-o", "run", "--resume") == 0
    assert outcome(files / "run") == outcome(files / "undisturbed")


def test_ctrl_c_says_how_to_go_on(
    files: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nbest.decoders.command.CommandDecoder.decode", stop)
    assert loop(*arguments(), "-o", "run") == 130
    assert "stopped; the same command with --resume goes on" in capfd.readouterr().err


def test_sigterm_ends_the_command_too(files: Path) -> None:
    (files / "slow.py").write_text(
        "import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(600)\n"
    )
    command = [sys.executable, "-m", "nbest", "loop", "dev.src", "--decoder", f"{sys.executable} slow.py {{weights}}"]
    options = ["--refs", "dev.ref", "--metric", "wer", "--start", START, "-o", "run"]
    with subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL) as process:
        pid = files / "pid"
        while not (pid.is_file() and pid.read_text()):
            assert process.poll() is None
            time.sleep(0.02)
        process.terminate()
        assert process.wait(60) == 143
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


# kill -9 ---------------------------------------------------------------------------------------------------------


def killed(files: Path, seconds: float, rounds: int, kills: int, longest: float) -> Counter[str]:
    """Kill runs until they were killed often enough; each that ends must have ended as the undisturbed one."""
    words = arguments(seconds, rounds)
    finish(words, files / "undisturbed")
    rng, hits, number = random.Random(8), Counter[str](), 0
    while hits.total() < kills:
        number += 1
        more, ended = kill_until(words, files / f"run{number}", kills - hits.total(), rng, longest)
        hits += more
        if not ended:
            finish(words, files / f"run{number}")
        assert outcome(files / f"run{number}") == outcome(files / "undisturbed")
    print(f"{hits.total()} kills of {number} runs: {dict(hits)}")
    return hits


def test_killed_a_few_times(files: Path) -> None:
    assert killed(files, 0.1, 2, 3, 0.3).total() == 3


@pytest.mark.slow
def test_killed_many_times(files: Path) -> None:
    hits = killed(files, 0.3, 6, 40, 0.6)
    assert hits["decoding"] >= 5
    assert sum(count for where, count in hits.items() if where != "decoding") >= 5


def test_parts_of_the_input(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    given = arguments(rounds=2)
    given[2] += " alone"
    assert loop(*given, "-o", "whole", "--quiet") == 0
    assert loop(*given, "-o", "parts", "--part-lines", "4", "--threads", "3") == 0
    assert outcome(files / "parts") == outcome(files / "whole")
    assert len(list((files / "parts" / "decoder" / "01-dev").glob("run-000[1-4]-*"))) == 4
    assert loop(*given, "-o", "parts", "--part-lines", "5", "--resume") == 2
    assert "was begun with decoder" in capfd.readouterr().err
    assert loop(*given, "-o", "other", "--part-lines", "0") == 2
