"""The data that reproductions read: a folder with parallel texts, treebanks and texts with readings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from nbest.base.arrays_file import read_npz
from nbest.base.errors import FormatError, ParameterError
from nbest.base.files import read_lines, write_text
from nbest.base.types import Floats, Ints
from nbest.corpus import NBest
from nbest.formats.conllu import Sentence, read_conllu
from nbest.metrics import BLEU
from nbest.papers.run import Run
from nbest.runs.lock import Lock
from nbest.systems.translator.system import TranslatorTraining
from nbest.systems.translator.train import Stages
from nbest.systems.translator.translator import Translator

TOKENISING = ("sacremoses",)
"""Packages that steps with a translator need."""
BLEU_OF_TOKENS = BLEU(tokenize="none")
"""For texts that are the translator's own tokens, truecased."""


# files --------------------------------------------------------------------------------------------------------------


def lines_of(run: Run, *parts: str) -> list[str]:
    """Lines of a text file of the data, packed (.xz, .gz) or not."""
    return read_lines(find(run, *parts))


def find(run: Run, *parts: str) -> Path:
    """A file of the data, with or without .xz or .gz after its name."""
    found = _place(run, *parts)
    if found is None:
        name = "/".join(parts)
        raise ParameterError(f"the data have no {name} (nor .xz, .gz); docs/reproduce.md says what --data has")
    return found


def has(run: Run, *parts: str) -> bool:
    """Whether the data have a file, packed or not."""
    return _place(run, *parts) is not None


def _place(run: Run, *parts: str) -> Path | None:
    plain = _data(run, "/".join(parts)).joinpath(*parts)
    return next((path for path in (plain, Path(f"{plain}.xz"), Path(f"{plain}.gz")) if path.is_file()), None)


def _data(run: Run, wanted: str) -> Path:
    """The folder with the data, of which some are wanted."""
    if run.data is None:
        raise ParameterError(f"--data must name a folder with {wanted}; docs/reproduce.md says what --data has")
    return run.data


# sentences ----------------------------------------------------------------------------------------------------------


def parallel(run: Run, pair: str, part: str) -> tuple[list[str], list[str]]:
    """Source and target texts of a part (train, dev, devtest, test) of a pair such as fr-en."""
    source, target = pair.split("-")
    own, shared = f"mt/{pair}", "mt/europarl"
    data = _data(run, shared)
    is_own = (data / own).is_dir()
    if not is_own and not has(run, shared, f"{part}.{source}"):
        wanted = f"{shared}/{part}.{source} (nor .xz, .gz), and no folder {own}"
        raise ParameterError(f"the data have no {wanted}; docs/reproduce.md says what --data has")
    folder = own if is_own else shared
    texts = lines_of(run, folder, f"{part}.{source}"), lines_of(run, folder, f"{part}.{target}")
    if len(texts[0]) != len(texts[1]):
        raise FormatError(data / folder, None, f"the sides of {part} have {len(texts[0])} and {len(texts[1])} lines")
    return texts


def short(
    sides: tuple[list[str], list[str]], longest: int, count: int | None, what: str
) -> tuple[list[str], list[str]]:
    """The first `count` sentence pairs with 1 to `longest` words a side; `what` they are is for errors."""
    both = [pair for pair in zip(*sides, strict=True) if all(0 < len(text.split()) <= longest for text in pair)]
    if not both:
        raise ParameterError(f"no sentence of {what} has 1 to {longest} words on both sides; nothing can be decoded")
    return [source for source, _ in both[:count]], [target for _, target in both[:count]]


def treebank(run: Run, folder: str, part: str) -> list[Sentence]:
    """Sentences of a part of a treebank."""
    return read_conllu(find(run, "treebanks", folder, f"{part}.conllu"))


# lists --------------------------------------------------------------------------------------------------------------


def chosen_stats(lists: NBest, choice: Ints) -> Floats:
    """[N, M] statistics of one hypothesis of each list; 0 where there is none (-1), so that rows stay in step."""
    stats, _ = lists.need_stats()
    return np.where((choice >= 0)[:, None], stats[choice], 0.0)


def arrays_of(path: Path, names: Sequence[str], step: str) -> dict[str, np.ndarray]:
    """Arrays of an .npz that a step left in `Run.work`, not packed."""
    remedy = f"remove steps/{step}.json to have it made again"
    if not path.is_file():
        raise FormatError(path, None, f"was removed; {remedy}")
    data = path.read_bytes()
    try:
        arrays = read_npz(path, data, most=len(data))
    except FormatError as error:
        raise FormatError(path, None, f"{error.reason}; {remedy}") from None
    missing = next((name for name in names if name not in arrays), None)
    if missing is not None:
        raise FormatError(path, None, f"has no array {missing!r}; {remedy}")
    return arrays


# base systems -------------------------------------------------------------------------------------------------------


@contextmanager
def to_train(folder: Path) -> Iterator[bool]:
    """Whether a base system has to be trained here; other processes that want it wait until it is."""
    manifest = folder / "manifest.json"
    if manifest.is_file():
        yield False
        return
    path = folder.with_name(f".{folder.name}.lock")
    with Lock(path) as lock:
        lock.wait(math.inf)
        yield not manifest.is_file()
        if manifest.is_file():
            path.unlink(missing_ok=True)  # from now on nobody asks for it


def translator_folder(run: Run, pair: str, count: int | None = None) -> Path:
    """Where the translator of a pair, trained on the first `count` sentences, is kept."""
    return run.base / (pair if count is None else f"{pair}-{count}")


def translator(
    run: Run, pair: str, *, count: int | None = None, settings: TranslatorTraining | None = None
) -> Translator:
    """The translator of a pair, trained on the first `count` sentences unless the run's systems have it already.

    It is kept as PAIR, or PAIR-COUNT, in `Run.base`; training that was cut off goes on where it stopped.
    """
    folder = translator_folder(run, pair, count)
    with to_train(folder) as is_missing:
        if is_missing:
            run.say(f"training the translator {folder.name}")
            _train(run, pair, folder, count, settings or TranslatorTraining())
    return Translator.load(folder)


def _train(run: Run, pair: str, folder: Path, count: int | None, settings: TranslatorTraining) -> None:
    paths = []
    for language, texts in zip(pair.split("-"), parallel(run, pair, "train"), strict=True):
        path = run.work / f"train-{folder.name}.{language}"
        write_text(path, "".join(f"{line}\n" for line in texts[:count]))
        paths.append(path)
    source, target = pair.split("-")
    training = Stages(
        str(paths[0]), str(paths[1]), source, target, folder, settings=settings, more_target=(), threads=run.threads
    )
    training.progress = lambda stage, done, total: run.progress(done, total)
    training.run()
    for path in paths:
        path.unlink()
