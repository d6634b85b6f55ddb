"""The data that reproductions read: a folder with parallel texts, treebanks and texts with readings."""

from __future__ import annotations

from pathlib import Path

from nbest.errors import FormatError, ParameterError
from nbest.files import read_lines, write_text
from nbest.formats.conllu import Sentence, read_conllu
from nbest.reproduce.run import Run
from nbest.systems.translator import Translator
from nbest.systems.translator_train import Settings, Training

LANGUAGES = {"fi": "Finnish", "fr": "French", "de": "German", "es": "Spanish", "en": "English"}


def lines_of(run: Run, *parts: str) -> list[str]:
    """Lines of a text file of the data, packed (.xz, .gz) or not."""
    return read_lines(find(run, *parts))


def find(run: Run, *parts: str) -> Path:
    """A file of the data, with or without .xz or .gz after its name."""
    plain = run.data.joinpath(*parts)
    for path in (plain, Path(f"{plain}.xz"), Path(f"{plain}.gz")):
        if path.is_file():
            return path
    name = "/".join(parts)
    raise ParameterError(f"the data have no {name} (or {name}.xz); --data must name a folder laid out as the docs say")


def parallel(run: Run, pair: str, part: str) -> tuple[list[str], list[str]]:
    """Source and target texts of a part (train, dev, devtest, test) of a pair such as fr-en."""
    source, target = pair.split("-")
    folder = f"mt/{pair}" if (run.data / "mt" / pair).is_dir() else "mt/europarl"
    texts = lines_of(run, folder, f"{part}.{source}"), lines_of(run, folder, f"{part}.{target}")
    if len(texts[0]) != len(texts[1]):
        raise FormatError(
            run.data / folder, None, f"the sides of {part} have {len(texts[0])} and {len(texts[1])} lines"
        )
    return texts


def treebank(run: Run, folder: str, part: str) -> list[Sentence]:
    """Sentences of a part of a treebank."""
    return read_conllu(find(run, "treebanks", folder, f"{part}.conllu"))


def translator(run: Run, pair: str, *, count: int | None = None, settings: Settings | None = None) -> Translator:
    """The translator of a pair, trained on the first `count` sentences unless the run's systems have it already.

    It is kept as PAIR, or PAIR-COUNT, in `Run.base`; training that was cut off goes on where it stopped.
    """
    name = pair if count is None else f"{pair}-{count}"
    folder = run.base / name
    if not (folder / "manifest.json").is_file():
        run.say(f"training the translator {name}")
        _train(run, pair, folder, count, settings or Settings())
    return Translator.load(folder)


def _train(run: Run, pair: str, folder: Path, count: int | None, settings: Settings) -> None:
    paths = []
    for language, texts in zip(pair.split("-"), parallel(run, pair, "train"), strict=True):
        path = run.work / f"train-{folder.name}.{language}"
        write_text(path, "".join(f"{line}\n" for line in texts[:count]))
        paths.append(path)
    source, target = pair.split("-")
    training = Training(str(paths[0]), str(paths[1]), source, target, folder, settings, (), run.threads)
    training.progress = lambda stage, done, total: run.progress(done, total)
    training.run()
    for path in paths:
        path.unlink()
