"""Make word lattices from a real speech recogniser, in HTK's format.

The sentences, voices, settings and sets are those of ``make_lists.py``; what is
written is the whole word lattice of each utterance and not only its best
strings.  The lattice is unfolded so that a node knows the last two words: the
trigram score is then a property of a link, and every score of a path is the sum
of the scores of its links.  Links far from the best path are left out.

The result is deterministic for given versions of espeak-ng and pocketsphinx.  An
interrupted run continues where it stopped: lattices that exist are kept.

With ``--fixture``, the script writes one small lattice exactly as pocketsphinx
writes it instead, with the recogniser's own answer and score beside it, as a test
for readers of the format.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import math
import multiprocessing
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from make_lists import (
    END,
    SET_SIZES,
    SILENCE,
    START,
    VULGAR,
    WORD_SETTINGS,
    Lattice,
    Recogniser,
    Search,
    State,
    Utterance,
    Weights,
    base_word,
    is_filler,
    normalise,
    save_lattice,
    synthesise,
)
from pocketsphinx import Decoder

#: Links are kept if a path through them is at most this much worse than the best
#: (in natural logarithms, after scaling the scores by POSTERIOR_SCALE).
BEAM = 6.0

#: An utterance is used if this many best strings have two without vulgar words:
#: the rule of the lists, so that lists and lattices have the same utterances.
NBEST = 100

#: The word of nodes that are no word: pauses, noises, sentence start and end.
NULL = "!NULL"

FRAMES_PER_SECOND = 100


def without_vulgar_words(lattice: Lattice) -> Lattice:
    """The same lattice without links into vulgar words."""
    links = {
        node: [(target, score) for target, score in outgoing if not VULGAR.search(base_word(lattice.words[target]))]
        for node, outgoing in lattice.links.items()
    }
    return replace(lattice, links=links)


class Unfolded(Search):
    """The unfolded lattice, ready to be written link by link.

    All final states become one: nothing follows, so their histories are irrelevant.
    """

    def clean_strings(self, count: int) -> int:
        """How many of the `count` best strings have no vulgar words."""
        strings = (" ".join(self.words_of(found.nodes)) for found in self.best_strings(count))
        return sum(not VULGAR.search(string) for string in strings)

    def merged(self, state: State) -> State:
        """The state itself, or the one final state."""
        return (self.lattice.final, "", "") if state[0] == self.lattice.final else state

    def word(self, state: State) -> str:
        """The word that is said at a state."""
        return NULL if is_filler(self.lattice.words[state[0]]) else self._base[state[0]]

    def fields(self, source: State, target: State) -> dict[str, float]:
        """The scores of a link; `target` is not merged."""
        node = target[0]
        acoustic = dict(self.lattice.links[source[0]])[node] - self.penalty(node)
        if self._filler[node]:
            silence = self.lattice.words[node] == SILENCE
            return {"a": acoustic, "l": 0.0, "x1": 0.0, "x2": int(silence), "x3": int(not silence)}
        _, older, newer = source
        word = self._base[node]
        trigram = self._lm.logprob(word, newer, older) if older else self._lm.logprob(word, newer)
        unigram = 0.0 if self.word(target) == NULL else self._lm.logprob(word)
        return {"a": acoustic, "l": trigram, "x1": unigram, "x2": 0, "x3": 0}

    def to_slf(self, name: str, weights: Weights) -> str:
        """The likely part of the lattice in HTK's standard lattice format.

        Nodes are numbered such that links go from lower to higher numbers.
        """
        likely = self._likely_arcs(BEAM)
        final = self.merged((self.lattice.final, "", ""))
        states = [state for state in likely if self.merged(state) != final]
        numbers = {state: i for i, state in enumerate([*states, final])}
        links = [
            f"S={numbers[state]}\tE={numbers[self.merged(target)]}\t"
            + "\t".join(f"{key}={decimal(value)}" for key, value in self.fields(state, target).items())
            for state in states
            for target, _ in likely[state]
        ]
        lines = [
            "VERSION=1.0",
            f"UTTERANCE={name}",
            f"lmscale={weights.lm:.6g}\twdpenalty={weights.word:.6g}",
            f"x1scale=0\tx2scale={weights.silence:.6g}\tx3scale={weights.noise:.6g}",
            f"start=0\tend={numbers[final]}",
            f"N={len(numbers)}\tL={len(links)}",
        ]
        for state, number in numbers.items():
            time = self.lattice.starts[state[0]] / FRAMES_PER_SECOND
            lines.append(f"I={number}\tt={time:.2f}\tW={self.word(state)}")
        lines += [f"J={number}\t{link}" for number, link in enumerate(links)]
        return "\n".join(lines) + "\n"


def decimal(value: float) -> str:
    """A number with at most four decimals.

    >>> decimal(-20.50), decimal(0.0)
    ('-20.5', '0')
    """
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


class LatticeRecogniser(Recogniser):
    """The recogniser of the lists; writes lattices instead."""

    def lattices(self, audio: bytes, name: str) -> tuple[str, str] | None:
        """The unfolded lattice and pocketsphinx's own; None if the lists leave the utterance out."""
        self._lm.forget()
        decoder = self._decode(audio, WORD_SETTINGS)
        if decoder.hyp() is None:
            return None
        with tempfile.TemporaryDirectory() as directory:
            graph = save_lattice(decoder, Path(directory))
            own = (Path(directory) / "htk").read_text(encoding="utf-8")
        search = Unfolded(graph, self._lm, self._weights)
        # Two strings nearly always decide, and are much faster than NBEST.
        if all(search.clean_strings(count) < 2 for count in (2, NBEST)):
            return None
        clean = without_vulgar_words(graph)
        if clean != graph:
            search = Unfolded(clean, self._lm, self._weights)
        return search.to_slf(name, self._weights), own


# ---------------------------------------------------------------------------
# Fixture

#: What is said for the fixture and the words it may be taken for; no two sound alike.
FIXTURE_SENTENCE = "Nine five two."
FIXTURE_WORDS = ("a", "do", "fine", "five", "hive", "life", "line", "mine", "night", "nine", "two", "you")

#: One weight in all passes, so that pocketsphinx does not scale (and round) a second time.
FIXTURE_WEIGHT = 6.5

#: The last bits of its scores that pocketsphinx drops while it adds them up.
SCORE_STEP = 1 << 10

FIXTURE_HOW = (
    "score = max over paths of the sum of a= of the links + word_score for every word and once more for !SENT_END, "
    "none for !NULL and !SENT_START; penalties of pauses and noises are part of a=; "
    "the acoustic score of !SENT_END itself is in no link and left out"
)


class FixtureRecogniser(Recogniser):
    """The recogniser with a few words, all equally likely in all places.

    Its language score is then a constant for every word, which makes the best path
    and its score a matter of what is in the lattice it writes.
    """

    def fixture(self, audio: bytes) -> tuple[str, dict[str, Any]]:
        """The lattice as pocketsphinx writes it, and what pocketsphinx says about its best path."""
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(folder)
            decoder = self._decode(audio, self._settings(directory))
            text = decoder.hyp().hypstr
            decoder.get_lattice().write_htk(str(directory / "htk"))
            # The score of the hypothesis object would include the last node's.
            log = (directory / "log").read_text(encoding="utf-8")
            score = int(re.findall(r"Bestpath score: (-?\d+)", log)[-1])
            slf = (directory / "htk").read_text(encoding="utf-8")
        word_scores = {segment.lscore for segment in decoder.seg() if not is_filler(segment.word)}
        assert len(word_scores) == 1, "the language model is not uniform"
        log_base = math.log(decoder.config["logbase"])
        word_score = round(math.log(word_scores.pop()) / log_base)
        unit = SCORE_STEP * log_base
        return slf, {"text": text, "score": score * unit, "word_score": word_score * unit, "how": FIXTURE_HOW}

    def _settings(self, directory: Path) -> dict[str, Any]:
        """Settings of the decoder; writes the dictionary and the language model they name."""
        words, lm = directory / "words.dict", directory / "uniform.lm"
        known = Decoder(**WORD_SETTINGS)
        words.write_text("".join(f"{word} {known.lookup_word(word)}\n" for word in FIXTURE_WORDS), encoding="utf-8")
        uniform = -math.log10(len(FIXTURE_WORDS) + 1)
        entries = [f"-99 {START}", *(f"{uniform:.4f} {word}" for word in (END, *FIXTURE_WORDS))]
        lm.write_text(
            "\n".join(["\\data\\", f"ngram 1={len(entries)}", "", "\\1-grams:", *entries, "", "\\end\\", ""]),
            encoding="utf-8",
        )
        return {
            **WORD_SETTINGS,
            "dict": str(words),
            "lm": str(lm),
            "lw": FIXTURE_WEIGHT,
            "fwdflatlw": FIXTURE_WEIGHT,
            "bestpathlw": FIXTURE_WEIGHT,
            "loglevel": "INFO",
            "logfn": str(directory / "log"),
        }


def write_fixture(path: Path) -> None:
    """Write the fixture to `path` and what is known about it beside, as JSON."""
    slf, known = FixtureRecogniser(NBEST).fixture(synthesise(FIXTURE_SENTENCE, 0))
    write(path, slf.encode())
    write(path.with_suffix(".json"), (json.dumps(known, indent=2) + "\n").encode())


# ---------------------------------------------------------------------------
# Program

_recogniser: LatticeRecogniser | None = None


@dataclass(frozen=True)
class Job(Utterance):
    """One sentence whose lattices go to folders of `output`."""

    output: Path
    own: bool

    @property
    def paths(self) -> list[Path]:
        """The files to write: the lattice, then perhaps pocketsphinx's own."""
        folders = [self.set, "own"] if self.own else [self.set]
        return [self.output / folder / f"{self.name}.slf.gz" for folder in folders]


def write(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there, so that what exists is complete."""
    partial = path.with_suffix(".part")
    partial.write_bytes(content)
    partial.replace(path)


def run(job: Job) -> bool:
    """Speak and recognise one sentence unless that was done before; False if it is of no use."""
    global _recogniser
    if all(path.exists() for path in job.paths):
        return True
    if _recogniser is None:
        _recogniser = LatticeRecogniser(NBEST)
        # As in make_lists: millions of small objects, none of them in cycles.
        gc.disable()
    lattices = _recogniser.lattices(synthesise(job.sentence, job.index), job.name)
    if lattices is None:
        return False
    for path, text in zip(job.paths, lattices, strict=False):
        write(path, gzip.compress(text.encode(), mtime=0))
    return True


def rounds(jobs: Sequence[Job], done: Sequence[Job]) -> Iterator[list[Job]]:
    """What to do next: as many jobs of each set as the set still lacks.

    The caller adds to `done` what succeeds before it asks again, so that spares
    are used only for utterances that fail.
    """
    waiting = {name: [job for job in jobs if job.set == name] for name in SET_SIZES}
    while True:
        batch: list[Job] = []
        for name, size in SET_SIZES.items():
            lacking = size - sum(job.set == name for job in done)
            batch += waiting[name][:lacking]
            del waiting[name][:lacking]
        if not batch:
            return
        yield sorted(batch, key=lambda job: job.index)


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(
        description="Make word lattices with espeak-ng and pocketsphinx.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--sentences", type=Path, default=here / "sentences.txt", help="text file, one sentence a line")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("lattices"),
        help="directory for {tune,heldout,test}/*.slf.gz and {tune,heldout,test}.ref; delete it to start afresh",
    )
    parser.add_argument("--own", action="store_true", help="write pocketsphinx's own lattices to own/*.slf.gz too")
    parser.add_argument(
        "--fixture", type=Path, default=None, help="write only the small test lattice here, and a .json beside it"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes to use")
    parser.add_argument("--limit", type=int, default=None, help="use only this many sentences")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the whole chain."""
    options = parse_arguments(arguments)
    if options.fixture is not None:
        write_fixture(options.fixture)
        return
    sentences = options.sentences.read_text(encoding="utf-8").splitlines()
    jobs = [
        Job(index, sentence, options.output, options.own) for index, sentence in enumerate(sentences[: options.limit])
    ]
    for folder in {path.parent for job in jobs for path in job.paths}:
        folder.mkdir(parents=True, exist_ok=True)
    done: list[Job] = []
    with multiprocessing.Pool(options.jobs) as pool:
        for batch in rounds(jobs, done):
            for job, usable in zip(batch, pool.imap(run, batch), strict=True):
                if usable:
                    done.append(job)
                print(f"{job.name}: {'done' if usable else 'left out'} ({len(done)} done)", file=sys.stderr)
    for name in SET_SIZES:
        members = sorted((job for job in done if job.set == name), key=lambda job: job.name)
        references = "".join(" ".join(normalise(job.sentence)) + "\n" for job in members)
        write(options.output / f"{name}.ref", references.encode())
        print(f"{name}: {len(members)} lattices")


if __name__ == "__main__":
    main()
