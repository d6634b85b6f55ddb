"""The sets of lists on which methods are compared: dev lists to draw from, and test lists that never change.

Those of NBEST_DATA, of the benchmark's folder and of nbest's own systems are left out where they are not there.
"""

from __future__ import annotations

import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

import nbest
from benchmarks.quality_made import MADE, made
from nbest.corpus.operations import join
from nbest.corpus.texts import Texts
from nbest.features import apply_recipes
from nbest.formats import bundled

FOLDER = Path(__file__).parents[1] / "build" / "quality"
"""Where lists that take time to make, and results, are kept."""

Two = tuple[nbest.NBest, nbest.NBest]


@dataclass(frozen=True)
class Places:
    """Where lists are: NBEST_DATA, a folder with dev.nbest and test.nbest or what makes them, and one to keep lists."""

    data: Path | None = None
    bench: Path | None = None
    cache: Path = FOLDER / "lists"

    def need(self, *parts: str) -> Path:
        """A file or folder of the data."""
        path = None if self.data is None else self.data.joinpath(*parts)
        if path is None or not path.exists():
            raise FileNotFoundError(f"NBEST_DATA has no {'/'.join(parts)}")
        return path


@dataclass(frozen=True, eq=False)
class QualitySet:
    """Lists with statistics."""

    name: str
    dev: nbest.NBest
    test: nbest.NBest

    @cached_property
    def fingerprint(self) -> str:
        """Tells these lists and their metric from others, so that what was chosen of others is not taken for these."""
        stats, metric = self.test.need_stats()
        arrays = [self.test.offsets, stats, self.dev.offsets, self.dev.features, self.dev.need_stats()[0]]
        arrays += [] if self.dev.sparse is None else [self.dev.sparse.indices, self.dev.sparse.data]
        seen = zlib.crc32(metric.signature().encode())
        for array in arrays:
            seen = zlib.crc32(np.ascontiguousarray(array).tobytes(), seen)
        return f"{seen:08x}"


def load(name: str, places: Places) -> QualitySet:
    """A set by its name; `FileNotFoundError` where what it is made of is not there."""
    return QualitySet(name, *SETS[name](places))


# given lists ----------------------------------------------------------------------------------------------------------


def _bundled(places: Places) -> Two:
    """A recogniser's lists: 200 to tune on and 100 held out, together; 300 to test on."""
    tune, heldout, test = (bundled.lists(name).with_metric(nbest.WER()) for name in bundled.SETS)
    return join([tune, heldout]), test


def _bench(places: Places) -> Two:
    """1,000 and 1,000 x 200 hypotheses x 14 features."""
    folder = places.bench or places.cache / "bench"
    if not (folder / "test.ref").exists():
        maker = None if places.data is None else places.data.parent / "bench" / "make_lists.py"
        if places.bench is not None or maker is None or not maker.exists():
            raise FileNotFoundError(f"{folder} has no dev.nbest, dev.ref, test.nbest, test.ref, and nothing makes them")
        folder.mkdir(parents=True, exist_ok=True)
        for text, seed, part in (("val", "1", "dev"), ("test_2016_flickr", "2", "test")):
            subprocess.run([sys.executable, maker, text, "1000", "200", seed, folder / part], check=True)
    dev, test = (_with_references(folder / part, ".nbest", ".ref") for part in ("dev", "test"))
    metric = nbest.BLEU(tokenize="none", smooth_method="none")
    return dev.with_metric(metric), test.with_metric(metric)


def _librispeech(places: Places) -> Two:
    """Ten best of a recogniser; length and frequency are added, as it has two features only."""
    folder = places.need("nbest", "librispeech-10best")
    recipes = [{"kind": "length"}, {"kind": "frequency"}]
    dev, test = (_with_references(folder / part, ".nbest.xz", ".ref.xz") for part in ("dev_other", "test_other"))
    return tuple(apply_recipes(each.with_metric(nbest.WER()), recipes) for each in (dev, test))


def _with_references(stem: Path, lists: str, refs: str) -> nbest.NBest:
    found = nbest.read(f"{stem}{lists}")
    return found.with_references(nbest.read_references(f"{stem}{refs}", found.ids))


# best of n: one file each, halved by group ----------------------------------------------------------------------------


def _halves(lists: nbest.NBest) -> Two:
    return nbest.split(lists, 0.5, seed=1)


def _best_of_n(places: Places, name: str) -> nbest.NBest:
    return nbest.read(places.need("bestofn", f"{name}.jsonl.xz"))


def _wmt23(places: Places) -> Two:
    """Translations of 12 systems with quality estimates; what people thought of them; whole documents."""
    return _halves(_best_of_n(places, "wmt23-he-en").with_metric(nbest.External(label="MQM")))


def _answered(name: str, without: str | None = None) -> Callable[[Places], Two]:
    """Answers of many models, one indicator each; perhaps without the models whose name begins so."""

    def lists(places: Places) -> Two:
        found = _best_of_n(places, name)
        found = replace(found, answers=found.texts)
        if without is not None:
            found = _without_models(found, without)
        return _halves(found.with_metric(nbest.External(label="accuracy")))

    return lists


def _without_models(lists: nbest.NBest, start: str) -> nbest.NBest:
    """Without hypotheses of some models, and with the share of votes counted anew."""
    assert lists.systems is not None
    out = np.array([name.startswith(start) for name in lists.systems])
    gone = [name for name in lists.sparse_names if name.removeprefix("model:").startswith(start)]
    kept = lists.keep(~out).without_sparse(gone)
    assert kept.answers is not None
    votes = np.zeros(kept.hypotheses)
    for low, high in zip(kept.offsets[:-1], kept.offsets[1:], strict=True):
        here = [kept.answers[h] for h in range(low, high)]
        votes[low:high] = [here.count(answer) / len(here) if answer else 0.0 for answer in here]
    return kept.without_features(["votes"]).with_scores("votes", votes)


def _humaneval(places: Places) -> Two:
    """Samples of programs; those that behave alike in the tests that the model wrote have one answer."""
    found = _best_of_n(places, "humaneval-codegen16b")
    told = [found.feature_names.index(name) for name in ("same_behaviour", "tests_passed", "codet")]
    answers = ["|".join(f"{value:.6g}" for value in row) for row in found.features[:, told]]
    return _halves(replace(found, answers=Texts.of(answers)).with_metric(nbest.External(label="pass")))


def _webnlg(places: Places) -> Two:
    return _halves(_best_of_n(places, "webnlg").with_metric(nbest.BLEU()))


SETS: dict[str, Callable[[Places], Two]] = {
    "recogniser": _bundled,
    "bench": _bench,
    "librispeech": _librispeech,
    "wmt23-he-en": _wmt23,
    "math-l5": _answered("math-l5"),
    "math-l5-39": _answered("math-l5", without="o1"),
    "crux": _answered("crux"),
    "humaneval": _humaneval,
    "webnlg": _webnlg,
    **{name: (lambda places, name=name: made(name, places.need, places.cache)) for name in MADE},
}
"""What makes the dev and test lists of each set."""

SETTLING = ("recogniser", "bench", "librispeech", "wmt23-he-en")
"""Sets on which settings of the default were chosen; the others confirm."""
