"""Any program as a decoder, run by a template of its command line."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from nbest.base.errors import DecoderError, NbestError, ParameterError, _known
from nbest.base.files import write_text
from nbest.corpus import Forests, NBest
from nbest.formats import FOREST_FORMATS, FORMATS, read_any
from nbest.formats.moses_weights import write_moses_weights
from nbest.model.loglinear import LogLinear

_FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")  # {{ and }} are braces
_PLAIN = ("weights", "input", "output", "k")
_TAIL = 15  # lines of standard error that an error message shows
WEIGHT_FILES = ("json", "moses", "lines")
"""How the file of {weights} is written: a model of nbest, a Moses ini, or lines `name value` as cdec reads them."""


@dataclass
class CommandDecoder:
    """A program that reads inputs and weights and writes lists or forests in any format that nbest reads.

        CommandDecoder("mydecoder -w {weights} -i {input} -n {k} -o {output}")

    Fields of the template: {weights} a file with the weights, {weight:NAME} one of them, {input} the file with the
    inputs, {output} where to write, {k} how many candidates. The template is cut into arguments first and filled then,
    so no file name or weight can add an argument; with `shell` the user's own shell command is run, each field quoted
    (so there must be no quotes around it). {{ and }} stand for braces.
    {output} is a path that does not exist yet: a program may make a file or a directory of it. Without {output} in the
    template the program's standard output is read.

    k             candidates asked for
    format        of the output; found by its contents if not given
    weight_file   json, moses or lines
    unit          a feature whose weight the program takes as 1: all weights are divided by its (positive) weight
    limit         seconds that a run may take; the program and all it started are ended then
    retries       further runs after one that failed, ran out of time or wrote something unreadable
    keep          leave inputs, weights and output in `folder`; else standard error only, and all of a run that failed
    """

    template: str
    k: int = 200
    format: str | None = None
    weight_file: str = "json"
    unit: str | None = None
    shell: bool = False
    limit: float | None = None
    retries: int = 1
    pause: float = 1.0  # seconds before the first retry, doubled each time
    keep: bool = False
    folder: Path | None = None
    start: Mapping[str, float] | None = None
    _words: list[str] = field(init=False, repr=False)
    _fields: list[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            self._words = [self.template] if self.shell else shlex.split(self.template)
        except ValueError as error:
            raise ParameterError(f"the decoder's command cannot be cut into arguments: {error}") from None
        if not self._words:
            raise ParameterError("the decoder's command is empty")
        self._fields = _fields(self.template)
        _check_fields(self._fields)
        if self.shell:
            _check_quotes(self.template)
        elif [name for word in self._words for name in _fields(word)] != self._fields:
            raise ParameterError("a field of the decoder's command has blanks; put quotes around it: '{weight:a b}'")
        if self.weight_file not in WEIGHT_FILES:
            raise ParameterError(f"a file of weights must be {', '.join(WEIGHT_FILES)}, got {self.weight_file!r}")
        if self.format is not None and self.format not in FORMATS and self.format not in FOREST_FORMATS:
            known = _known([*FORMATS, *FOREST_FORMATS], self.format)
            raise ParameterError(f"no format {self.format!r}; {known}")
        if self.limit is not None and not self.limit > 0:
            raise ParameterError(f"'limit' of a decoder must be > 0, got {self.limit:g}")
        if self.retries < 0 or self.k < 1:
            raise ParameterError(f"'retries' of a decoder must be >= 0 and 'k' >= 1, got {self.retries} and {self.k}")

    def describe(self) -> dict[str, Any]:
        """What a run's record says."""
        names = ("template", "k", "format", "weight_file", "unit", "shell")
        return {name: getattr(self, name) for name in names}

    def decode(self, weights: Mapping[str, float], inputs: str | Path | Sequence[str]) -> NBest | Forests:
        """Run the program on a file of inputs, or on texts, one a line; what it wrote, read."""
        given = self._units(weights)
        folder = Path(tempfile.gettempdir()) if self.folder is None else self.folder
        folder.mkdir(parents=True, exist_ok=True)
        problem = said = ""
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(self.pause * 2 ** (attempt - 1))
            work = Path(tempfile.mkdtemp(prefix="run-", dir=folder))  # a stray program of a killed run has another one
            keep = self.keep
            try:
                return self._once(work, given, inputs)
            except _RunError as error:
                problem, said, keep = str(error), _last_lines(work / "stderr"), True
            finally:
                self._tidy(work, keep)
        tries = "" if not self.retries else f", {self.retries + 1} times"
        raise DecoderError(f"the decoder failed{tries}: {problem}{self._logs(folder)}; the run can be resumed{said}")

    def _units(self, weights: Mapping[str, float]) -> dict[str, float]:
        """The weights as the program takes them."""
        weights = {name: float(weight) for name, weight in weights.items()}
        for name in self._fields:
            if name.startswith("weight:") and name[7:] not in weights:
                raise ParameterError(f"the decoder's command asks for {{{name}}}; {_known(weights, name[7:])}")
        told = {*(name[7:] for name in self._fields if name.startswith("weight:")), self.unit}
        lost = [name for name, weight in weights.items() if weight and name not in told]
        if lost and "weights" not in self._fields:
            raise ParameterError(
                f"the decoder's command has no field for the weight {weights[lost[0]]:g} of {lost[0]!r}; "
                f"add {{weight:{lost[0]}}} or {{weights}}, or --unit {lost[0]} if the program takes it as 1"
            )
        if self.unit is None:
            return weights
        size = weights.get(self.unit)
        if size is None or not size > 0:
            raise ParameterError(
                f"the decoder takes the weight of {self.unit!r} as 1, which needs a positive weight, got {size}; "
                f"hold it there (mert: --signs {self.unit}=+), or start elsewhere"
            )
        return {name: weight / size for name, weight in weights.items()}

    def _once(self, work: Path, weights: Mapping[str, float], inputs: str | Path | Sequence[str]) -> NBest | Forests:
        values = self._files(work, weights, inputs)
        output = work / "output"
        with open(work / "stderr", "wb") as errors, open(work / "stdout", "wb") as out:
            code = self._run([self._filled(word, values) for word in self._words], out, errors)
        if code:
            what = f"ended by signal {-code}" if code < 0 else f"exit code {code}"
            raise _RunError(what)
        written = output if "output" in self._fields else work / "stdout"
        if not written.exists():
            raise _RunError("it ended well and did not write {output}")
        try:
            return read_any(written, self.format)
        except NbestError as error:
            raise _RunError(f"what it wrote cannot be used: {error}") from None

    def _files(self, work: Path, weights: Mapping[str, float], inputs: Any) -> dict[str, str]:
        """What the fields stand for; files are written."""
        source = Path(inputs) if isinstance(inputs, str | Path) else work / "input"
        if not isinstance(inputs, str | Path):
            write_text(source, "".join(f"{line}\n" for line in inputs))
        path = work / ("weights.ini" if self.weight_file == "moses" else f"weights.{self.weight_file}")
        if self.weight_file == "json":
            LogLinear(weights).save(path)
        elif self.weight_file == "moses":
            write_moses_weights(path, weights)
        else:
            write_text(path, "".join(f"{_one_word(name)} {weight!r}\n" for name, weight in weights.items()))
        single = {f"weight:{name}": repr(weight) for name, weight in weights.items()}
        paths = {"weights": path, "input": source, "output": work / "output"}
        return {**single, **{name: str(each.absolute()) for name, each in paths.items()}, "k": str(self.k)}

    def _filled(self, word: str, values: Mapping[str, str]) -> str:
        quote = shlex.quote if self.shell else str
        return _FIELD.sub(lambda found: found[0][0] if found[1] is None else quote(values[found[1]]), word)

    def _run(self, words: list[str], out: IO[bytes], errors: IO[bytes]) -> int:
        """Exit code; the program gets a process group of its own, which ends with it."""
        try:
            command: Any = words[0] if self.shell else words
            process = subprocess.Popen(
                command, shell=self.shell, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, start_new_session=True
            )
        except OSError as error:
            raise DecoderError(f"the decoder {words[0]!r} cannot be started: {error.strerror}") from None
        try:
            return process.wait(self.limit)
        except subprocess.TimeoutExpired:
            raise _RunError(f"it took more than {self.limit:g} seconds") from None
        finally:
            _end(process)

    def _tidy(self, work: Path, keep: bool) -> None:
        """Keep standard error where there is a place for it, and all else only if asked to."""
        if self.folder is None:
            shutil.rmtree(work, ignore_errors=True)
        elif not keep:
            for each in work.iterdir():
                if each.is_dir() and not each.is_symlink():
                    shutil.rmtree(each, ignore_errors=True)
                elif each.name != "stderr":
                    each.unlink(missing_ok=True)

    def _logs(self, folder: Path) -> str:
        return "" if self.folder is None else f"; its standard error and what it wrote are kept in {folder}"


class _RunError(Exception):
    """A run that may be tried again."""


def _fields(text: str) -> list[str]:
    """The names of the fields in a text, in their order."""
    return [found[1] for found in _FIELD.finditer(text) if found[1] is not None]


def _check_fields(fields: Sequence[str]) -> None:
    odd = [name for name in fields if name not in _PLAIN and not name.startswith("weight:")]
    if odd:
        known = ", ".join(f"{{{each}}}" for each in _PLAIN)
        raise ParameterError(
            f"the decoder's command has the unknown field {{{odd[0]}}}; known: {known}, {{weight:NAME}}; "
            "write {{ and }} for braces"
        )
    if not any(name.startswith("weight") for name in fields):
        raise ParameterError("the decoder's command has no {weights} and no {weight:NAME}, so no weight can matter")


def _check_quotes(command: str) -> None:
    """In a shell command fields are quoted when they are filled in; quotes around them would undo that."""
    for found in _FIELD.finditer(command):
        before = re.sub(r"\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"", "", command[: found.start()])
        if found[1] is not None and re.search(r"['\"]", before):
            raise ParameterError(
                f"fields of a shell command are quoted already; leave out the quotes around {found[0]}"
            )


def _one_word(name: str) -> str:
    if name.split() != [name]:
        raise ParameterError(f"lines of weights cannot hold the name {name!r}, which has blanks; write them as json")
    return name


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what is left of a program and of all it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_lines(path: Path) -> str:
    """What a program said at last, for the end of a message; nothing if it was silent."""
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - 20_000))
        lines = file.read().decode("utf-8", "replace").splitlines()
    return "; it said:" + "".join(f"\n  {line}" for line in lines[-_TAIL:]) if lines else ""
