"""What `nbest train converter` does, once its arguments are known."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from nbest.base.errors import FormatError
from nbest.cli.console import Console
from nbest.cli.targets import refuse_overwriting
from nbest.lm.mixture import Mixture
from nbest.systems.converter.files import check_target, save
from nbest.systems.converter.text import Sentence, read_dictionary, read_sentences
from nbest.systems.converter.train import ConverterTraining

_STAGES = 5  # reading, two language models, dictionary, writing


@dataclass(frozen=True)
class TrainCall:
    """The arguments of `nbest train converter`."""

    texts: list[str]
    output: str
    dictionaries: list[str] | None
    adapt: list[str] | None
    heldout: list[str] | None
    training: ConverterTraining
    threads: int | None
    quiet: bool


def run(call: TrainCall) -> None:
    """Read, train, write, say what was made."""
    console = Console(quiet=call.quiet)
    check_target(call.output)
    refuse_overwriting([call.output], [call.texts, call.dictionaries, call.adapt, call.heldout])
    begin = time.perf_counter()
    with console.progress("training") as update:
        seen: list[str] = ["reading"]
        update(0, _STAGES)
        sentences = _read(call.texts)
        words = [entry for path in call.dictionaries or () for entry in read_dictionary(path)]

        def stage(name: str, done: int, total: int) -> None:
            if name != seen[-1]:
                seen.append(name)
            update(min(len(seen) - 1 + done // max(total, 1), _STAGES), _STAGES)

        converter = call.training.fit(
            sentences,
            words,
            adapt=_read(call.adapt or ()),
            heldout=_read(call.heldout or ()),
            threads=call.threads,
            progress=stage,
        )
        save(converter, call.output, asdict(call.training))
        update(_STAGES, _STAGES)
    if isinstance(converter.lm, Mixture):
        console.say(f"weight of the background text: {converter.lm.weight:.3f}, by EM")
    entries = f"{len(converter.dictionary)} words with readings"
    console.say(f"{call.output}: {len(sentences)} sentences, {entries}; {time.perf_counter() - begin:.0f} s")


def _read(paths: Sequence[str]) -> list[Sentence]:
    out: list[Sentence] = []
    for path in paths:
        found = read_sentences(path)
        if not any(sentence.surfaces for sentence in found):
            raise FormatError(path, None, "has no words; expected lines of surface|reading words between spaces")
        out += found
    return out
