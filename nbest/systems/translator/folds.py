"""Jackknifed lists of a translator: sentences of its own training texts, by translators that have not seen them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.files import read_bytes, read_lines
from nbest.base.folders import read_manifest
from nbest.base.types import Ints
from nbest.base.version import VERSION
from nbest.compute.executors import current, scattered
from nbest.compute.parallel import counter
from nbest.compute.segments import rows_of
from nbest.corpus import NBest, Texts, Words, intern
from nbest.corpus.operations import join
from nbest.formats import read, write
from nbest.lm.estimate import KneserNey
from nbest.runs import RunFolder, Step
from nbest.systems.jackknife import fold_indices
from nbest.systems.translator.alignment.links import Links, read_links
from nbest.systems.translator.phrases.extract import extract_phrases
from nbest.systems.translator.phrases.score import score_phrases
from nbest.systems.translator.system import ParallelText, TranslatorLists
from nbest.systems.translator.train import further_lines, read_sides, settings_of
from nbest.systems.translator.translator import FORMAT, Translator
from nbest.trainers.sharpness import spread


def without_fold(
    system: Translator, folder: Path, rows: Ints, threads: int | None = None, *, more: Sequence[str] = ()
) -> Translator:
    """The translator of a folder with a phrase table and a language model of only these rows of its training texts.

    The word alignment and the truecasers of the whole texts are kept. `more`: further lines for the language model, as
    tokens. Cost: two to three minutes for 157,000 rows.
    """
    work = folder / "work"
    missing = next((name for name in ("source.txt", "target.txt", "links.txt") if not (work / name).is_file()), None)
    if missing is not None:
        raise ParameterError(f"{work} has no {missing}, which folds need; train the translator {folder.name} again")
    settings = settings_of(folder)
    lines = [read_lines(work / f"{side}.txt") for side in ("source", "target")]
    ((source,), source_words), ((target,), target_words) = (intern(Texts.of(side)) for side in lines)
    links = read_links(work / "links.txt", source, target)
    counts = extract_phrases(
        _rows(source, rows), _rows(target, rows), _links(links, rows), longest=settings.longest, threads=threads
    )
    table = score_phrases(counts, source_words, target_words, options=settings.options, threads=threads)
    kept = [lines[1][i] for i in rows if lines[1][i]]
    return replace(system, table=table, lm=KneserNey(settings.lm_order).fit(Texts.of([*kept, *more])))


def _rows(words: Words, rows: Ints) -> Words:
    places, offsets = rows_of(words.offsets, rows)
    return Words(offsets, words.ids[places])


def _links(links: Links, rows: Ints) -> Links:
    places, offsets = rows_of(links.offsets, rows)
    return Links(offsets, links.source[places], links.target[places])


# lists --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FoldLists:
    """Lists of some sentences of each fold, by the translator of a folder without that fold.

    Ids are the numbers of the sentences in the training texts, from 0; references are tokens. A fold is a step of a run
    in work/folds of the folder: what was done before is not done again, unless the translator, the texts or what is
    asked for have changed.
    """

    folder: Path
    data: ParallelText
    asked: TranslatorLists
    threads: int | None = None

    def all_folds(self, progress: Callable[[int, int], Any] | None = None) -> NBest:
        """The lists of all folds; side by side where the executor has workers of its own."""
        numbers = range(1, self.asked.parts + 1)
        with self._place.working():
            work = _Fold(replace(self, threads=None if current().apart else self.threads), self._made_from())
            scattered(work, numbers, counter(progress, len(numbers)))
            return join([read(self._place.path / _FOLDS / work.file(number), "jsonl") for number in numbers])

    @property
    def _place(self) -> RunFolder:
        return RunFolder(self.folder, records=f"{_FOLDS}/{{}}.json", holds=("work", _FOLDS), lock="work/lock")

    def _made_from(self) -> list[Any]:
        """What lists depend on."""
        manifest = read_manifest(self.folder, FORMAT, "translator", "train it to the end")
        texts = [hashlib.sha256(read_bytes(path)).hexdigest() for path in self.data.paths()]
        asked = {name: value for name, value in asdict(self.asked).items() if name != "lists"}
        return [manifest, dict(Translator.load(self.folder).weights), texts, asked, VERSION]

    def decoded(self, number: int) -> NBest:
        """The lists of one fold."""
        sides = read_sides(self.data.source, self.data.target)
        others, own = list(fold_indices(len(sides[0]), self.asked.parts))[number - 1]
        fair = [i for i in own if all(0 < len(side[i].split()) <= self.asked.fold_words for side in sides)]
        if not fair:
            most = self.asked.fold_words
            raise ParameterError(f"no sentence of fold {number} has 1 to {most} words on both sides (--fold-words)")
        rows = np.array(fair)[spread(len(fair), self.asked.fold_sentences)].tolist()
        whole = Translator.load(self.folder)
        more = further_lines(self.data.lm_text or (), whole.target, whole.target_case)
        system = without_fold(whole, self.folder, others, self.threads, more=more)
        references = system.references([sides[1][i] for i in rows])
        return system.lists(
            [sides[0][i] for i in rows],
            self.asked.k,
            ids=[str(i) for i in rows],
            references=[(text,) for text in references],
            threads=self.threads,
            beam=self.asked.beam,
        )


_FOLDS = "work/folds"


@dataclass(frozen=True)
class _Fold:
    """What is done for the fold of a number, here or on a worker."""

    lists: FoldLists
    made_from: Any

    def file(self, number: int) -> str:
        """Where its lists are."""
        return f"{self.name(number)}.jsonl.gz"

    def name(self, number: int) -> str:
        return f"{number}-of-{self.lists.asked.parts}"

    def __call__(self, number: int) -> dict[str, Any]:
        def work() -> dict[str, Any]:
            found = self.lists.decoded(number)
            write(found, self.lists.folder / _FOLDS / self.file(number))
            return {"segments": len(found), "hypotheses": found.hypotheses}

        step = Step(
            self.name(number), work, 3.0, place=_FOLDS, makes=(self.file(number),), made_from=[*self.made_from, number]
        )
        try:
            return self.lists._place.do(step)
        except Exception as error:
            error.add_note(f"in fold {number} of {self.lists.asked.parts} of jackknife")
            raise
