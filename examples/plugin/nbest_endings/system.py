"""A system: writes words as the text that it was trained on mostly writes them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from nbest.base.parameters import parameter
from nbest.systems.base import SILENT, Data, Decoding, Search, System, TextDecoding, Training, limits_of


@dataclass(frozen=True)
class CasedText(Data):
    """Text with capitals."""

    text: list[str] = parameter(..., "Text with capitals, one sentence a line (.gz, .xz too).", flags=("text",))


@dataclass(frozen=True)
class Casing(TextDecoding):
    """Write words with capitals.

    [bold]Example[/bold]

      echo "paris is a city" | nbest decode caser caser -
    """


@dataclass(frozen=True)
class CaserTraining(Training[CasedText]):
    """Train a caser, which writes words as a text mostly does.

    [bold]Example[/bold]

      nbest train caser news.en -o caser
    """

    form: ClassVar[str] = "nbest-caser/1"
    data: ClassVar[type] = CasedText
    files: ClassVar[tuple[str, ...]] = ("forms.txt",)
    decoding: ClassVar[type[Decoding] | None] = Casing

    often: int = parameter(1, "Words seen at least so often are kept.", least=1)

    def train(self, data, folder, *, threads=None, listener=SILENT) -> dict[str, Any]:
        """Count words, write the most common form of each."""
        from nbest.base.files import read_lines
        from nbest.systems.folders import save_folder, write_lines

        counts = Counter(word for path in data.text for line in read_lines(path) for word in line.split())
        forms: dict[str, str] = {}
        for word, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
            if count >= self.often:
                forms.setdefault(word.lower(), word)

        def write(place: Path) -> dict[str, Any]:
            write_lines(place / "forms.txt", sorted(forms.values()))
            return {}

        save_folder(folder, type(self), write)
        listener.say(f"{folder}: {len(forms)} words")
        return {}

    @classmethod
    def load(cls, folder) -> Caser:
        """The caser of a folder."""
        from nbest.base.files import read_lines
        from nbest.base.folders import check_files, read_manifest

        manifest = read_manifest(Path(folder), cls.form, "caser", "nbest train caser makes one")
        places = check_files(Path(folder), cls.files, manifest.get("files"))
        return Caser({form.lower(): form for form in read_lines(places["forms.txt"])})


class Caser(System):
    """Offers each sentence as it is and with the forms that it knows."""

    weights: ClassVar[dict[str, float]] = {"known": 1.0}

    def __init__(self, forms: dict[str, str]) -> None:
        self.forms = forms

    def candidates(self, inputs, weights, *, ids=None, threads=None, progress=None, **search):
        """Two derivations a sentence: its own words, and known forms; `known` counts the words that were changed."""
        import numpy as np

        from nbest import NBest, Texts
        from nbest.forests.derivations import forests_of

        limits_of(Search, search)
        offsets, texts, counts = [0], list[str](), list[float]()
        for text in inputs:
            words = text.split()
            known = [self.forms.get(word.lower(), word) for word in words]
            changed = sum(a != b for a, b in zip(words, known, strict=True))
            texts += [" ".join(known), " ".join(words)] if changed else [" ".join(words)]
            counts += [changed, 0.0] if changed else [0.0]
            offsets.append(len(texts))
        lists = NBest(
            offsets=np.array(offsets),
            features=np.array(counts, float)[:, None],
            feature_names=("known",),
            texts=Texts.of(texts),
            ids=tuple(map(str, range(len(inputs)))) if ids is None else tuple(ids),
        )
        return replace(forests_of(lists), own_weights=dict(weights))
