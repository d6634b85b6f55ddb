"""Any program as a decoder, run by a template of its command line."""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from nbest.base.errors import DecoderError, NbestError, ParameterError, _known
from nbest.base.files import write_text
from nbest.compute.executors import current
from nbest.compute.parallel import counter
from nbest.corpus import Forests, NBest
from nbest.decoders.parts import InputPart, cut, joined, numbered
from nbest.decoders.programs import Programs, RunError
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
    options       of the reader of that format
    weight_file   json, moses or lines
    unit          a feature whose weight the program takes as 1: all weights are divided by its (positive) weight
    limit         seconds that a run may take; the program and all it started are ended then
    retries       further runs after one that failed, ran out of time or wrote something unreadable
    part_lines    cut the input after every so many lines: the program runs once for each part, side by side, and a part
                  that failed is tried again alone. Lists and forests are those of the whole input where the program
                  treats every line alone; {input} is a file of its own then. Ids that count the lines of a part from
                  0 go on over the parts; others must differ over the parts
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
    part_lines: int | None = None
    pause: float = 1.0  # seconds before the first retry, doubled each time
    keep: bool = False
    folder: Path | None = None
    start: Mapping[str, float] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    progress: Callable[[int, int], Any] | None = field(default=None, repr=False, compare=False)
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
        if self.part_lines is not None and self.part_lines < 1:
            raise ParameterError(f"'part_lines' of a decoder must be >= 1, got {self.part_lines}")

    def describe(self) -> dict[str, Any]:
        """What a run's record says."""
        names = ("template", "k", "format", "weight_file", "unit", "shell")
        own = {name: getattr(self, name) for name in names}
        if self.options:
            own["options"] = dict(self.options)
        return own if self.part_lines is None else {**own, "part_lines": self.part_lines}

    def decode(self, weights: Mapping[str, float], inputs: str | Path | Sequence[str]) -> NBest | Forests:
        """Run the program on a file of inputs, or on texts, one a line; what it wrote, read.

        Parts run side by side; so they do on the workers of an executor that has some, which also run whole inputs.
        """
        given, parts = self._units(weights), cut(inputs, self.part_lines)
        place = None if self.folder is None else Path(self.folder).absolute()
        run = partial(_part_of, replace(self, folder=place, progress=None), given, Path.cwd())
        tell = counter(self.progress if len(parts) > 1 else None, len(parts))
        found = current().map(run, parts, tell) if current().apart else _side_by_side(run, parts, tell)
        return joined(found, parts)

    def _tried(self, weights: Mapping[str, float], cwd: Path, part: InputPart, programs: Programs) -> NBest | Forests:
        """A part, in as many runs as it takes."""
        folder = Path(tempfile.gettempdir()) if self.folder is None else self.folder
        folder.mkdir(parents=True, exist_ok=True)
        problem = said = ""
        for attempt in range(self.retries + 1):
            if attempt:
                programs.pause(self.pause * 2 ** (attempt - 1))
            name = f"run-{part.number:04d}-" if part.number else "run-"
            work = Path(tempfile.mkdtemp(prefix=name, dir=folder))  # a run that was killed has another one
            keep = self.keep
            try:
                return self._once(work, weights, cwd, part, programs)
            except RunError as error:
                problem, said, keep = str(error), _last_lines(work / "stderr"), True
            finally:
                self._tidy(work, keep)
        tries = "" if not self.retries else f", {self.retries + 1} times"
        what = f"the decoder failed{part}{tries}: {problem}{self._logs(folder)}"
        raise DecoderError(f"{what}; the run can be resumed{said}")

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

    def _once(
        self, work: Path, weights: Mapping[str, float], cwd: Path, part: InputPart, programs: Programs
    ) -> NBest | Forests:
        values = self._files(work, weights, part.file(work))
        output = work / "output"
        words = [self._filled(word, values) for word in self._words]
        with open(work / "stderr", "wb") as errors, open(work / "stdout", "wb") as out:
            code = programs.run(["/bin/sh", "-c", *words] if self.shell else words, cwd, out, errors, self.limit)
        if code:
            what = f"ended by signal {-code}" if code < 0 else f"exit code {code}"
            raise RunError(what)
        written = output if "output" in self._fields else work / "stdout"
        if not written.exists():
            raise RunError("it ended well and did not write {output}")
        try:
            return numbered(read_any(written, self.format, **self.options), written, part)
        except NbestError as error:
            raise RunError(f"what it wrote cannot be used: {error}") from None

    def _files(self, work: Path, weights: Mapping[str, float], source: Path) -> dict[str, str]:
        """What the fields stand for; the file of weights is written."""
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


def _part_of(
    decoder: CommandDecoder, weights: Mapping[str, float], cwd: Path, part: InputPart, programs: Programs | None = None
) -> NBest | Forests:
    """What a decoder finds for a part, here or on a worker."""
    return decoder._tried(weights, cwd, part, programs or Programs())


def _side_by_side(
    run: Callable[..., NBest | Forests], parts: Sequence[InputPart], tell: Callable[[int], None]
) -> list[NBest | Forests]:
    """All parts, on the threads of this process. What ends one for good, or us, ends all."""
    programs = Programs()

    def one(part: InputPart) -> NBest | Forests:
        try:
            return run(part, programs)
        except BaseException as error:
            programs.end(error)
            raise

    try:
        return current().map(one, parts, tell)
    except BaseException as error:
        programs.end(error)
        assert programs.reason is not None
        raise programs.reason from None


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


def _last_lines(path: Path) -> str:
    """What a program said at last, for the end of a message; nothing if it was silent."""
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - 20_000))
        lines = file.read().decode("utf-8", "replace").splitlines()
    return "; it said:" + "".join(f"\n  {line}" for line in lines[-_TAIL:]) if lines else ""
