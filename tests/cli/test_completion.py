"""Completion, as the scripts of the shells ask for it; and the help of all commands."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from nbest.cli.main import COMMANDS, GROUPS, main

RUN = [sys.executable, "-c", "import sys; sys.argv = ['nbest']; from nbest.cli.main import run; run()"]


def offered(line: str, shell: str = "bash") -> list[str]:
    """What a shell offers at the end of a line."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_TYPER_COMPLETE_ARGS": line}
    asked = {**os.environ, **words, "_NBEST_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    found = subprocess.run(RUN, env=asked, capture_output=True, text=True, check=True)
    return found.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("nbest co", ["compare", "convert"]),
        ("nbest tune --method ms", ["msr", "msr2"]),
        ("nbest tune --metric chr", ["chrf", "chrf++"]),
        ("nbest compare --methods risk,pe", ["risk,perceptron"]),
        ("nbest rerank test.nbest --decision con", ["consensus"]),
        ("nbest rerank test.nbest --format mos", ["moses-stats", "moses"]),
        ("nbest tune --add ngr", ["ngrams"]),
        ("nbest tune dev.nbest --method mert --rest", ["--restarts"]),
        ("nbest tune dev.nbest --method risk --rest", []),
        ("nbest tune dev.nbest --metric bleu --max-n", ["--max-ngram-order"]),
    ],
)
def test_bash_is_offered_names_and_options_of_the_method_given(line: str, expected: list[str]) -> None:
    """Commands, metrics, methods, decisions, formats, features; options of a trainer only with its method."""
    assert offered(line) == expected


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_offered_the_same(shell: str) -> None:
    """In their own form."""
    assert "msr2" in " ".join(offered("nbest tune --method ms", shell))


def test_help_has_every_command_once_in_its_group(capsys: pytest.CaptureFixture[str]) -> None:
    """Groups are all the commands; each line is there."""
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    places = [lines.index(title) for title in GROUPS]
    assert places == sorted(places)
    for name in COMMANDS:
        assert sum(line.startswith(f"  {name} ") for line in lines) == 1, name


def test_help_imports_nothing_heavy() -> None:
    """Neither NumPy nor Rich; nor does completion."""
    code = "import sys; from nbest.cli.main import main; main(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr
    assert "'typer'" in found
    assert not [name for name in ("numpy", "rich.console", "numba", "scipy") if f"'{name}'" in found]
