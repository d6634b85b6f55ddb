"""Recognise audio files with given weights: a decoder for ``nbest loop``.

    python decode.py --lw 9.5 --words -0.63 --input tune.scp --output lists.jsonl --k 100 --jobs 2

Every file of the list is recognised by pocketsphinx with this language weight and this weight of a word. What is
written are the best distinct word strings of each, with three features whose weighted sum (acoustic: 1, lm: `--lw`,
words: `--words`) is, up to a constant, the score by which the recogniser itself chooses; or, with ``--lattices``, word
lattices with the same three.

    acoustic    acoustic log-likelihood of the best alignment, and what pocketsphinx takes for pauses and noises
    lm          log probability by the trigram language model, sentence end included
    words       number of words

pocketsphinx searches three times, with language weights of 6.5, 8.5 and 9.5. `--lw` is that of the last search; the
others keep their ratio to it. Its word insertion penalty is a probability, which the last search raises to the power of
the ratio of its language weight to the first one's: `--words` is the logarithm of the result (default: -0.63).
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import math
import multiprocessing
import os
import sys
import tempfile
import wave
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from make_lattices import Unfolded
from make_lists import SAMPLE_RATE, WORD_SETTINGS, Found, Lattice, Recogniser, State, Weights, save_lattice
from pocketsphinx import Config, Decoder

#: Features of a hypothesis and the decimals kept of each.
FEATURES = {"acoustic": 3, "lm": 4, "words": 0}


#: pocketsphinx gives acoustic scores relative to the best state of each frame, by default of those its beams left. The
#: scores of one string would then differ from run to run by a hundred, and candidates of several rounds could not be
#: compared. Among all states, the best does not depend on the weights.
COMPARABLE: dict[str, Any] = {"compallsen": True}


class InputError(Exception):
    """What a user can mend."""


def settings_of(lw: float, words: float, more: Sequence[str] = ()) -> dict[str, Any]:
    """Settings of pocketsphinx with these weights in the last of its three searches; `more` are texts NAME=VALUE."""
    if not (0.0 < lw < math.inf and math.isfinite(words)):
        raise InputError(
            f"--lw must be > 0 and --words finite, got {lw} and {words}; nbest holds a weight by --signs lm=+"
        )
    usual = Config()
    last, first = usual["bestpathlw"], usual["lw"]
    weights = {name: usual[name] / last * lw for name in ("lw", "fwdflatlw", "bestpathlw")}
    given = {**dict(map(setting, more)), **weights, "wip": math.exp(words * first / last)}
    return {**WORD_SETTINGS, **COMPARABLE, **given}


def setting(text: str) -> tuple[str, str | bool]:
    """Name and value of one of pocketsphinx's settings."""
    name, sign, value = text.partition("=")
    if not sign or name not in Config():
        raise InputError(f"--set takes NAME=VALUE with the name of a setting of pocketsphinx, got {text!r}")
    if name in ("lw", "fwdflatlw", "bestpathlw", "wip"):
        raise InputError(f"--set {name}: this follows from --lw and --words")
    return name, {"yes": True, "no": False}.get(value, value)


class Paths(Unfolded):
    """An unfolded lattice whose acoustic scores hold the penalties of pauses and noises, which are not tuned."""

    def fields(self, source: State, target: State) -> dict[str, float]:
        """The scores of a link."""
        scores = super().fields(source, target)
        return {"a": scores["a"] + self.penalty(target[0]), "l": scores["l"]}

    def features(self, found: Found) -> dict[str, float]:
        """The features of a path."""
        words = self.words_of(found.nodes)
        acoustic = found.acoustic + sum(self.penalty(node) for node in found.nodes[1:])
        values = {"acoustic": acoustic, "lm": self._lm.trigram(words), "words": len(words)}
        return {name: round(values[name], digits) for name, digits in FEATURES.items()}

    def to_slf(self, name: str, weights: Weights) -> str:
        """The likely part of the lattice, its header without the scales of scores it does not have."""
        lines = super().to_slf(name, weights).splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith("x1scale"))


class Tuned(Recogniser):
    """The recogniser of the lists with other weights, for one utterance.

    A decoder that has heard something before gives slightly different scores. Loading one takes as long as recognising
    a second of speech, so it is loaded once, and each utterance gets a process with a copy of it that is still fresh.
    """

    def __init__(self, settings: dict[str, Any], nbest: int) -> None:
        super().__init__(nbest)
        self._decoder = Decoder(**settings)
        self._weights = Weights.of(self._decoder)

    def _paths(self, audio: bytes) -> tuple[str, Paths] | None:
        """The recogniser's answer and what it chose from; None if it came to no end."""
        decoder = self._decoder
        decoder.start_utt()
        decoder.process_raw(audio, no_search=False, full_utt=True)
        decoder.end_utt()
        answer = decoder.hyp()
        if answer is None or decoder.get_lattice() is None:
            return None
        with tempfile.TemporaryDirectory() as directory:
            graph: Lattice = save_lattice(decoder, Path(directory))
        return answer.hypstr, Paths(graph, self._lm, self._weights)

    def list(self, name: str, audio: bytes) -> str:
        """The best strings as a line of JSON, the recogniser's answer first; none if it came to no end."""
        heard = self._paths(audio)
        hypotheses: list[dict[str, Any]] = []
        if heard is not None:
            answer, paths = heard
            for found in paths.best_strings(self._nbest):
                text = " ".join(paths.words_of(found.nodes))
                hypotheses.append({"text": text, "features": paths.features(found)})
            hypotheses.sort(key=lambda each: each["text"] != answer)
        return json.dumps({"id": name, "hypotheses": hypotheses}, separators=(",", ":")) + "\n"

    def lattice(self, name: str, audio: bytes) -> str:
        """The lattice in HTK's format."""
        heard = self._paths(audio)
        if heard is None:
            raise InputError(f"{name}: nothing was recognised with these weights, so there is no lattice; use lists")
        return heard[1].to_slf(name, self._weights)


# ---------------------------------------------------------------------------
# Program

_recogniser: Tuned | None = None


def read_list(path: Path) -> list[Path]:
    """The audio files that a list names, one a line, from the directory of the list."""
    files = [path.parent / line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if not files:
        raise InputError(f"{path}: expected the name of an audio file a line, got none")
    if len({file.stem for file in files}) < len(files):
        raise InputError(f"{path}: two files have the same name, which is the id of the utterance")
    return files


def read_audio(path: Path) -> bytes:
    """The samples of a file with 16-bit mono audio at SAMPLE_RATE."""
    try:
        with wave.open(str(path), "rb") as audio:
            kind = (audio.getframerate(), audio.getnchannels(), audio.getsampwidth())
            samples = audio.readframes(audio.getnframes())
    except (OSError, EOFError, wave.Error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    if kind != (SAMPLE_RATE, 1, 2):
        raise InputError(f"{path}: expected {SAMPLE_RATE} Hz, 1 channel and 2 bytes a sample, got {kind}")
    return samples


def run(job: tuple[Path, bool]) -> tuple[str, str]:
    """Recognise one file; its id and its list or lattice."""
    path, lattices = job
    assert _recogniser is not None
    recognise = _recogniser.lattice if lattices else _recogniser.list
    return path.stem, recognise(path.stem, read_audio(path))


def recognised(files: Sequence[Path], options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """The ids of all files in order, with their lists or lattices."""
    global _recogniser
    _recogniser = Tuned(settings_of(options.lw, options.words, options.set), options.k)
    # As in make_lists: millions of small objects, none of them in cycles.
    gc.disable()
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        for count, result in enumerate(pool.imap(run, [(file, options.lattices) for file in files]), 1):
            print(f"{result[0]}: {count} of {len(files)} done", file=sys.stderr)
            yield result


def write(results: Iterator[tuple[str, str]], output: Path, *, lattices: bool) -> None:
    """Write one file of lists, or a directory of lattices, beside its place and move it there."""
    partial = output.with_name(f"{output.name}.{os.getpid()}.part")
    if lattices:
        partial.mkdir(parents=True)
        for name, text in results:
            (partial / f"{name}.slf.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        partial.write_text("".join(text for _, text in results), encoding="utf-8")
    partial.replace(output)


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Recognise audio files by pocketsphinx with given weights.")
    parser.add_argument("--lw", type=float, required=True, help="weight of the language model (pocketsphinx: 9.5)")
    parser.add_argument("--words", type=float, required=True, help="weight of each word (pocketsphinx: -0.63)")
    parser.add_argument("--input", type=Path, required=True, help="names of audio files, one a line")
    parser.add_argument("--output", type=Path, required=True, help="file for lists, or new directory for lattices")
    parser.add_argument("--k", type=int, default=100, help="hypotheses an utterance (default: 100)")
    parser.add_argument("--lattices", action="store_true", help="write lattices instead of lists")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="other setting of pocketsphinx; repeatable"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes to use (default: 1)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Recognise all files of a list."""
    options = parse_arguments(arguments)
    try:
        write(recognised(read_list(options.input), options), options.output, lattices=options.lattices)
    except (InputError, OSError) as error:
        sys.exit(f"decode.py: {error}")


if __name__ == "__main__":
    main()
