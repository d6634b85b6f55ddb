"""The code blocks of README and docs, and how they are run."""

from __future__ import annotations

import re
import runpy
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from nbest.cli.main import main

ROOT = Path(__file__).parent.parent
COMMANDS = ("bash", "sh", "console")
RUN = (*COMMANDS, "python")
_FENCE = re.compile(r"^ *```(?P<language>[\w-]*)[^\n]*\n(?P<text>.*?)^ *```$", flags=re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"<!-- not run: ([^>]+) -->\s*\Z")
_LOOKS_RUN = re.compile(r"^ *(?:\$ )?(?:nbest|python|make|pip) \S", flags=re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block; `reason` says why it is not run, where a comment before it does."""

    page: str
    line: int
    language: str
    text: str
    reason: str | None = None

    @property
    def runs(self) -> bool:
        """Whether the tests run it."""
        return self.language in RUN and self.reason is None

    def commands(self) -> list[str]:
        """Its command lines: continued ones are one, comments are none."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]


def pages() -> list[str]:
    """README and every document."""
    return ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]


def blocks_of(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        mark = _MARK.search(text, 0, match.start())
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, match["language"], match["text"], mark[1] if mark else None))
    return found


def hidden_commands(page: str) -> list[str]:
    """Commands in blocks that no test looks at: without a language, or only indented."""
    text = (ROOT / page).read_text(encoding="utf-8")
    loose = [block.text for block in blocks_of(page) if not block.language]
    loose += re.findall(r"(?<=\n\n)(?: {4}.*\n)+", _FENCE.sub("", text))
    return [found for part in loose for found in _LOOKS_RUN.findall(part)]


def run_page(page: str, capfd: pytest.CaptureFixture[str]) -> int:
    """Run what can be run of a page, in order, in the current folder; how many blocks these are."""
    found = [block for block in blocks_of(page) if block.runs]
    assert found, f"{page} has nothing to run"
    for block in found:
        if block.language == "python":
            run_python(block)
        else:
            for line in block.commands():
                run_command(line, f"{page}:{block.line}", capfd)
    return len(found)


def run_python(block: Block) -> None:
    """Run one example in a namespace of its own."""
    Path("example.py").write_text(block.text, encoding="utf-8")
    try:
        runpy.run_path("example.py")
    except BaseException as error:
        error.add_note(f"{block.page}:{block.line}")
        raise


def run_command(line: str, place: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Run one command line; `> file` keeps what it writes."""
    words = shlex.split(line, comments=True)
    assert words[0] == "nbest", f"{place}: only nbest is run: {line}"
    target = None
    if ">" in words:
        at = words.index(">")
        assert len(words) == at + 2, f"{place}: one file after >: {line}"
        words, target = words[:at], words[at + 1]
    capfd.readouterr()
    code = main(words[1:])
    out, err = capfd.readouterr()
    assert code == 0, f"{place}: {line}\n{err or out}"
    if target:
        Path(target).write_text(out, encoding="utf-8")
