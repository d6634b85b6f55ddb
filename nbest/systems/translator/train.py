"""Training a translator from a parallel corpus, in stages that are resumed where they stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, ParameterError
from nbest.base.files import read_bytes, read_lines, write_text
from nbest.base.folders import MANIFEST, read_manifest, sizes_and_sums, write_manifest
from nbest.base.version import VERSION
from nbest.corpus import Texts, Words, intern
from nbest.formats.lists.base import shown
from nbest.lm.estimate import KneserNey
from nbest.lm.file import save_lm
from nbest.runs import RunFolder, Step
from nbest.systems.translator.alignment.align import train_alignment
from nbest.systems.translator.alignment.links import Links, read_links, write_links
from nbest.systems.translator.phrases.extract import extract_phrases
from nbest.systems.translator.phrases.score import score_phrases
from nbest.systems.translator.system import TranslatorTraining
from nbest.systems.translator.tokenising import Tokeniser
from nbest.systems.translator.translator import FORMAT, PARTS
from nbest.systems.translator.truecasing import Truecaser

Progress = Callable[[str, int, int], None]
"""Stage, done, total."""


_MADE = {
    "tokens": ("source.truecase.json", "target.truecase.json", "work/source.txt", "work/target.txt"),
    "lm": ("lm.nlm",),
    "alignment": ("work/links.txt",),
    "phrases": ("phrases",),
}
"""Files and folders that the stages write."""


def settings_of(folder: Path) -> TranslatorTraining:
    """The settings that a translator was trained with."""
    manifest = read_manifest(folder, FORMAT, "translator", "train it to the end")
    given = manifest.get("settings")
    try:
        if not isinstance(given, dict) or not all(type(value) is int for value in given.values()):
            raise ParameterError(f"expected numbers, got {shown(given)}")
        return TranslatorTraining(**given)
    except (TypeError, ParameterError) as error:
        raise FormatError(folder / MANIFEST, None, f"its settings are not those of a translator: {error}") from None


def read_sides(source: str, target: str) -> tuple[list[str], list[str]]:
    """Both sides of a parallel text, as many lines each."""
    sides = read_lines(source), read_lines(target)
    if len(sides[0]) != len(sides[1]):
        what = f"has {len(sides[1])} lines and {source} has {len(sides[0])}"
        raise FormatError(target, None, f"{what}; line i of one must translate line i of the other")
    if not sides[0]:
        raise FormatError(source, None, "the file is empty; expected one sentence a line")
    return sides


def further_lines(paths: Sequence[str], language: str, case: Truecaser) -> list[str]:
    """Tokens of further texts for a language model."""
    tokeniser = Tokeniser(language)
    found = [tokens for path in paths for tokens in tokeniser.tokenise(read_lines(path)) if tokens]
    return [" ".join(case.apply(tokens)) for tokens in found]


@dataclass
class Stages:
    """One run: source and target texts, one sentence a line, into a directory.

    Stages: tokens (and truecasing), language model, alignment, phrases. They are steps of a run (nbest/runs), whose
    records in work/steps say what each was made from (settings, sums of the files it read, version) and the sums of
    what it wrote: a later run with the same inputs goes on after the last stage that was finished, and does anew a
    stage whose files are missing or were changed.
    """

    source_path: str
    target_path: str
    source: str  # language codes
    target: str
    folder: Path
    settings: TranslatorTraining = field(default_factory=TranslatorTraining)
    more_target: Sequence[str] = ()  # further texts for the language model
    threads: int | None = None
    progress: Progress | None = None
    done: list[str] = field(default_factory=list)  # stages that this run had to do
    report: dict[str, Any] = field(default_factory=dict)

    def run(self) -> None:
        """Do what is missing."""
        self._check_folder()
        texts = _sums(self.source_path, self.target_path)
        tokens = self._step("tokens", self._tokens, 0.2, [texts, self.source, self.target, VERSION])
        lm = self._step("lm", self._lm, 0.2, [tokens.made_from, self.settings.lm_order, _sums(*self.more_target)])
        links = self._step("alignment", self._align, 1.0, [tokens.made_from, self.settings.ibm1, self.settings.hmm])
        phrases = [links.made_from, self.settings.longest, self.settings.options]
        with self.place.working():
            (self.folder / MANIFEST).unlink(missing_ok=True)  # until all is there
            for step in (tokens, lm, links, self._step("phrases", self._phrases, 0.6, phrases)):
                self.place.do(step)
            content = {
                "format": FORMAT,
                "source": self.source,
                "target": self.target,
                "settings": asdict(self.settings),
                "nbest": VERSION,
                "files": sizes_and_sums(self.folder, PARTS),
            }
            write_manifest(self.folder, content)

    @property
    def place(self) -> RunFolder:
        """The directory, in which one process trains."""
        return RunFolder(self.folder, records="work/steps/{}.json", holds=("work", "work/steps"), lock="work/lock")

    def _check_folder(self) -> None:
        """Never write into a directory of something else."""
        if not self.folder.exists() or (self.folder.is_dir() and not any(self.folder.iterdir())):
            return
        if not self.work.is_dir():
            raise FormatError(self.folder, None, "is there and is no translator in training; name another directory")

    @property
    def work(self) -> Path:
        """What training makes on the way."""
        return self.folder / "work"

    def _step(self, name: str, work: Callable[[], None], minutes: float, made_from: list[Any]) -> Step:
        def done() -> dict[str, Any]:
            work()
            self.done.append(name)
            return {}

        return Step(name, done, minutes, makes=_MADE[name], made_from=made_from)

    def _tell(self, stage: str) -> Callable[[int, int], None]:
        return lambda done, total: None if self.progress is None else self.progress(stage, done, total)

    # stages ------------------------------------------------------------------------------------------------------

    def _tokens(self) -> None:
        raw = read_sides(self.source_path, self.target_path)
        for side, language, lines in (("source", self.source, raw[0]), ("target", self.target, raw[1])):
            sentences = Tokeniser(language).tokenise(lines, self._tell(f"{side} tokens"))
            case = Truecaser.train(sentences)
            case.save(self.folder / f"{side}.truecase.json")
            text = "".join(f"{' '.join(case.apply(tokens))}\n" for tokens in sentences)
            write_text(self.work / f"{side}.txt", text)

    def _lm(self) -> None:
        lines = [line for line in read_lines(self.work / "target.txt") if line]
        if self.more_target:
            lines += further_lines(self.more_target, self.target, Truecaser.load(self.folder / "target.truecase.json"))
        model = KneserNey(self.settings.lm_order).fit(Texts.of(lines), self._tell("language model"))
        save_lm(model, self.folder / "lm.nlm")

    @cached_property
    def _corpus(self) -> tuple[Words, Words, list[str], list[str]]:
        """Both sides as numbers, each into its own words."""
        sides = [intern(Texts.of(read_lines(self.work / f"{side}.txt"))) for side in ("source", "target")]
        ((source,), source_words), ((target,), target_words) = sides
        return source, target, source_words, target_words

    def _align(self) -> None:
        source, target, *_ = self._corpus
        found = train_alignment(
            source,
            target,
            ibm1_iterations=self.settings.ibm1,
            hmm_iterations=self.settings.hmm,
            threads=self.threads,
            progress=self._tell("alignment"),
        )
        self.report["not aligned"] = found.skipped
        write_links(self.work / "links.txt", found.links(threads=self.threads))

    def _phrases(self) -> None:
        source, target, source_words, target_words = self._corpus
        links: Links = read_links(self.work / "links.txt", source, target)
        counts = extract_phrases(
            source, target, links, longest=self.settings.longest, threads=self.threads, progress=self._tell("phrases")
        )
        table = score_phrases(counts, source_words, target_words, options=self.settings.options, threads=self.threads)
        table.save(self.folder / "phrases")
        self.report["phrase pairs"] = len(table)


def _sums(*paths: str) -> list[str]:
    return [hashlib.sha256(read_bytes(path)).hexdigest() for path in paths]
