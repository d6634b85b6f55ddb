"""The installed command as a real process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nbest.base.parameters import parameters_of
from nbest.cli.commands import flags_of
from nbest.cli.main import COMMANDS


def nbest(*arguments: str, stdin: bytes | None = None, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "nbest", *arguments], input=stdin, capture_output=True, check=False)


def test_help_lists_every_command_and_imports_nothing_heavy() -> None:
    ran = nbest("--help")
    assert ran.returncode == 0
    for command in ("demo", "tune", "rerank", "score", "compare", "inspect", "report", "convert", "warmup"):
        assert command.encode() in ran.stdout
    heavy = "('numpy', 'numba', 'scipy', 'sacrebleu')"
    code = f"import sys; from nbest.cli import main; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"[]\n"


@pytest.mark.parametrize(
    "command", ["demo", "tune", "rerank", "score", "compare", "inspect", "report", "convert", "warmup"]
)
def test_every_command_has_help_with_an_example(command: str) -> None:
    ran = nbest(command, "--help")
    assert ran.returncode == 0
    assert b"Example" in ran.stdout
    assert f"nbest {command}".encode() in ran.stdout


@pytest.mark.parametrize(
    "command",
    ["tune", "rerank", "score", "compare", "inspect", "report", "loop", "study path", "train lm", "train tagger"],
)
def test_the_help_of_an_argument_says_that_it_takes_several(command: str) -> None:
    """`dev...` among the arguments, as in the line of the usage."""
    said = nbest(*command.split(), "--help").stdout.decode()
    name = re.search(r"[{\[](\w+)[}\]]\.\.\.", said)
    assert name is not None
    assert f" {name[1]}... " in said


@pytest.mark.parametrize("name", [name for name, made in COMMANDS.items() if isinstance(made, type)])
def test_groups_of_options_name_what_there_is_once(name: str) -> None:
    kind = COMMANDS[name]
    titles = [title for base in kind.__mro__ for title in vars(base).get("panels", {})]
    named = [each for base in kind.__mro__ for names in vars(base).get("panels", {}).values() for each in names]
    assert set(named) <= set(parameters_of(kind))
    assert len(named) == len(set(named))
    said = nbest(name, "--help").stdout.decode()
    assert all((f"─ {title} ─" in said) == (len(parameters_of(kind)) >= 12) for title in titles)
    flags = [flag for each in parameters_of(kind).values() for flag in flags_of(each) if flag.startswith("--")]
    assert all(re.search(rf"│ +(\* +)?{flag.partition('/')[0]}[ │]", said) for flag in flags)


def test_paragraphs_of_help_fill_the_lines() -> None:
    """Also where the window is narrower than the source: no line ends early."""
    prose = nbest("tune", "--help").stdout.decode().partition("Examples")[0]
    paragraphs = [each.strip().split("\n") for each in re.split(r"\n\s*\n", prose)]
    assert sum(len(lines) > 2 for lines in paragraphs) > 2
    for lines in paragraphs:
        for line, after in zip(map(str.strip, lines), lines[1:], strict=False):
            assert len(line) + 1 + len(after.split()[0]) > 76


def test_the_help_of_a_system_says_what_is_too_large() -> None:
    said = " ".join(nbest("train", "converter", "--help").stdout.decode().replace("│", " ").split())
    assert "Order of the language model. At most 6." in said
    ran = nbest("train", "converter", "text", "-o", "folder", "--order", "7")
    assert (ran.returncode, ran.stderr.decode().strip().splitlines()) == (2, ["nbest: --order must be <= 6, got 7"])


def test_lists_come_from_standard_input(folder: Path) -> None:
    (folder / "w.ini").write_text("am= 1\nlm= 1\n")
    ran = nbest("rerank", "-", "--model", "w.ini", stdin=(folder / "test.nbest").read_bytes())
    assert ran.returncode == 0
    assert len(ran.stdout.splitlines()) == 60


def test_a_closed_pipe_is_no_traceback(folder: Path) -> None:
    (folder / "w.ini").write_text("am= 1\n")
    command = f"{sys.executable} -m nbest rerank test.nbest --model w.ini --json | head -1"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert json.loads(ran.stdout)["id"] == "0"
    assert b"Traceback" not in ran.stderr


def test_version() -> None:
    import nbest as package

    assert nbest("--version").stdout.decode().strip() == f"nbest {package.__version__}"
