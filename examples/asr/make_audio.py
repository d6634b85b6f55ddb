"""Speak sentences of ``sentences.txt`` into files, for a recogniser that is run more than once.

Voices and sets are those of ``make_lists.py``. For each set this writes ``{set}/utt0001.wav`` and so on, ``{set}.scp``
with the name of one such file a line, and ``{set}.ref`` with its words on the same line.
"""

from __future__ import annotations

import argparse
import wave
from collections.abc import Sequence
from pathlib import Path

from make_lists import SAMPLE_RATE, SET_SIZES, Utterance, normalise, synthesise


def write_audio(path: Path, samples: bytes) -> None:
    """Write 16-bit mono samples."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as audio:
        audio.setnchannels(1)
        audio.setsampwidth(2)
        audio.setframerate(SAMPLE_RATE)
        audio.writeframes(samples)


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(
        description="Speak sentences by espeak-ng.", formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--sentences", type=Path, default=here / "sentences.txt", help="text file, one sentence a line")
    parser.add_argument("--output", type=Path, default=Path("audio"), help="directory for audio, lists and references")
    parser.add_argument("--limit", type=int, default=240, help="use only this many sentences")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Speak all sentences."""
    options = parse_arguments(arguments)
    sentences = options.sentences.read_text(encoding="utf-8").splitlines()[: options.limit]
    utterances = [Utterance(index, sentence) for index, sentence in enumerate(sentences)]
    for each in utterances:
        write_audio(options.output / each.set / f"{each.name}.wav", synthesise(each.sentence, each.index))
    for name in SET_SIZES:
        members = [each for each in utterances if each.set == name]
        names = "".join(f"{name}/{each.name}.wav\n" for each in members)
        references = "".join(" ".join(normalise(each.sentence)) + "\n" for each in members)
        (options.output / f"{name}.scp").write_text(names, encoding="utf-8")
        (options.output / f"{name}.ref").write_text(references, encoding="utf-8")
        print(f"{name}: {len(members)} utterances, {len(references.split())} words")


if __name__ == "__main__":
    main()
