"""Lists for `nguyen-2007`: rounds of decoding and soft BLEU on dev, test lists, and jackknifed training lists."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import ConvergenceWarning
from nbest.compute.segments import offsets_of
from nbest.corpus import NBest, merge
from nbest.forests.kbest import kbest
from nbest.formats import write
from nbest.loop import Inputs, Loop
from nbest.loop.folder import Folder
from nbest.model.loglinear import LogLinear
from nbest.papers.data import BLEU_OF_TOKENS, arrays_of, parallel, short, translator, translator_folder
from nbest.papers.run import Run
from nbest.systems.decoder import SystemDecoder
from nbest.systems.jackknife import fold_indices
from nbest.systems.translator.folds import without_fold
from nbest.systems.translator.translator import Translator
from nbest.trainers import SoftBLEU
from nbest.trainers.keeping import as_learnt
from nbest.trainers.sharpness import spread

METRIC = BLEU_OF_TOKENS
_KEPT = ("offsets", "features", "stats", "names")  # arrays of lists that training needs
_BATCH = 100  # sentences whose forests are held at a time
_WORDS = 40  # of a sentence, each side, at most


@dataclass(frozen=True)
class NguyenSizes:
    """How large a run is."""

    pairs: tuple[str, ...] = ("fr-en", "de-en")
    train: int | None = None  # sentence pairs of the base system, None: all
    sentences: int = 2000  # of dev, devtest and test
    beam: int = 50
    k: int = 200
    rounds: int = 6
    round_k: int = 100  # added to dev lists by a round
    folds: int = 10
    lists: tuple[int, ...] = (4000, 1000)  # decoded of each fold, by pair
    fold_k: int = 100
    table: int = 10_000  # lists of table 1
    small: int = 1024  # maximum-likelihood kernels
    large: int = 16384
    pool: int = 400_000  # hypotheses that they are fitted to
    curve: tuple[int, ...] = tuple(2500 * 2**i for i in range(5))  # lists of the learning curve
    curve_kernels: tuple[int, ...] = (1024, 16_384, 65_536)
    curve_pool: int = 1_000_000
    widths: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0)  # of perceptron kernels
    variances: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 100.0, 1e4)
    iterations: int = 50
    moves: int = 8  # evaluations when kernels are re-estimated
    timed: int = 1000  # lists that methods are timed on
    corners: int = 512
    start_lists: int = 300  # that the starts are tried on, and hypotheses of each
    start_k: int = 40

    def lists_of(self, pair: str) -> int:
        """Lists decoded of each fold of a pair."""
        return self.lists[self.pairs.index(pair)]

    def curve_of(self, pair: str) -> tuple[int, ...]:
        """How many lists the learning curve of a pair has."""
        return tuple(size for size in self.curve if size <= self.folds * self.lists_of(pair))

    @classmethod
    def of(cls, run: Run) -> NguyenSizes:
        """The sizes of a run."""
        if not run.quick:
            return cls()
        return cls(
            pairs=("fr-en",), train=8000, sentences=150, beam=20, k=100, rounds=6, round_k=50, folds=2,
            lists=(200,), fold_k=50, small=64, large=256, pool=20_000, curve=(200, 400), curve_kernels=(64,),
            curve_pool=20_000, widths=(0.5, 1.0), variances=(1e-3, 1e-2, 1.0, 1e3),
            iterations=30,
            timed=100, corners=32, start_lists=100, start_k=20,
        )  # fmt: skip


def base(run: Run, pair: str) -> Translator:
    """The base system of a pair."""
    return translator(run, pair, count=NguyenSizes.of(run).train)


# rounds and test lists ------------------------------------------------------------------------------------------


def decode_round(run: Run, pair: str, number: int) -> dict[str, Any]:
    """Decode dev with the weights of the round before, add to its lists, and train the linear model on all of them."""
    if number > 1:
        run.need(f"{pair}-round-{number - 1}")
    sizes = NguyenSizes.of(run)
    base(run, pair)  # is trained unless it was
    texts, references = short(parallel(run, pair, "dev"), _WORDS, sizes.sentences, f"dev of {pair}")
    common: dict[str, Any] = {"threads": run.threads, "progress": run.progress}
    folder, options = translator_folder(run, pair, sizes.train), {"beam": sizes.beam}
    decoder, trainer = SystemDecoder(folder, sizes.round_k, options=options, **common), SoftBLEU(**common)
    loop = Loop(decoder, trainer, METRIC, _rounds(run, pair), rounds=sizes.rounds, warm=False, early=False)
    with quietly():
        model = loop.advance(Inputs(texts, [(text,) for text in decoder.references(references)]), to=number)
    found, trained = loop.place.decoded(number), loop.place.trained(number)
    assert found is not None
    assert trained is not None
    scores = {"decoded": found["dev"]["score"], "lists": trained["scores"]["dev"]}
    return {"before": found["weights"], "weights": dict(model.weights), **scores, **trained["pool"]}


def dev_lists(run: Run, pair: str) -> NBest:
    """The dev lists of all rounds, with statistics and without texts."""
    last = NguyenSizes.of(run).rounds
    run.need(f"{pair}-round-{last}")
    return replace(Folder(_rounds(run, pair)).pool(last, METRIC), references=None, sources=None)


def _rounds(run: Run, pair: str) -> Path:
    return run.work / f"{pair}-rounds"


def tuned(run: Run, pair: str) -> dict[str, float]:
    """The weights that decoded dev best in any round: early rounds swing, and the last one may too."""
    rounds = [run.need(f"{pair}-round-{number}") for number in range(1, NguyenSizes.of(run).rounds + 1)]
    best: dict[str, float] = max(rounds, key=lambda found: found["decoded"])["before"]
    return best


def decode_part(run: Run, pair: str, part: str) -> dict[str, Any]:
    """Lists of dev, devtest or test at the tuned weights."""
    sizes, weights = NguyenSizes.of(run), tuned(run, pair)
    texts, references = short(parallel(run, pair, part), _WORDS, sizes.sentences, f"{part} of {pair}")
    found = decoded(
        run, system=base(run, pair), texts=texts, references=references, name=part, weights=weights, k=sizes.k
    )
    keep(run, pair, part, found)
    return {"segments": len(found), "hypotheses": found.hypotheses}


def decoded(
    run: Run,
    system: Translator,
    texts: Sequence[str],
    references: Sequence[str],
    name: str,
    weights: Mapping[str, float],
    k: int,
) -> NBest:
    """The k best distinct translations of texts, with statistics; ids are NAME-0, NAME-1, ..."""
    model, parts = LogLinear(dict(weights)), []
    words = [(" ".join(tokens),) for tokens in system.tokens(references, of_target=True)]
    for low in range(0, len(texts), _BATCH):
        few = texts[low : low + _BATCH]
        ids = [f"{name}-{low + i}" for i in range(len(few))]
        forests = system.forests(few, weights=weights, ids=ids, beam=NguyenSizes.of(run).beam, threads=run.threads)
        best = kbest(forests, model.edge_scores(forests), k, distinct=True, threads=run.threads).lists()
        parts.append(best.with_metric(METRIC, words[low : low + _BATCH]))
        run.progress(low + len(few), len(texts))
    return merge(*parts)


def fit_quietly(trainer: Any, corpus: NBest, heldout: NBest | None = None) -> tuple[LogLinear, str]:
    """The model and whether training converged: results say so, no warning is needed."""
    with quietly():
        model: LogLinear = trainer.fit(corpus, heldout)
    return model, str(trainer.result_.status)


@contextmanager
def quietly() -> Iterator[None]:
    """What is learnt, and no `ConvergenceWarning`: a fixed number of iterations is what the paper does."""
    with warnings.catch_warnings(), as_learnt():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


# jackknifed lists -----------------------------------------------------------------------------------------------


def decode_fold(run: Run, pair: str, number: int) -> dict[str, Any]:
    """Lists of some training sentences of a fold, by a base system that was made without that fold."""
    sizes, system = NguyenSizes.of(run), base(run, pair)
    sides = [side[: sizes.train] for side in parallel(run, pair, "train")]
    others, own = list(fold_indices(len(sides[0]), sizes.folds))[number - 1]
    fold = [sides[0][i] for i in own], [sides[1][i] for i in own]
    texts, references = short(fold, _WORDS, None, f"fold {number} of {pair}")
    chosen = spread(len(texts), sizes.lists_of(pair))
    other = without_fold(system, translator_folder(run, pair, sizes.train), others, run.threads)
    few = [texts[i] for i in chosen], [references[i] for i in chosen]
    found = decoded(run, other, *few, name=f"fold{number}", weights=tuned(run, pair), k=sizes.fold_k)
    keep(run, pair, f"fold-{number}", found)
    return {"segments": len(found), "hypotheses": found.hypotheses, "phrase pairs": len(other.table)}


# lists on disk --------------------------------------------------------------------------------------------------


def keep(run: Run, pair: str, name: str, lists: NBest) -> None:
    """Write lists as JSON lines, and what training needs of them (features and statistics) as arrays."""
    write(lists, _lists(run, pair, name))
    stats, _ = lists.need_stats()
    names = np.array(lists.feature_names)
    features = lists.features.astype(np.float32)  # there are millions
    arrays = zip(_KEPT, (lists.offsets, features, stats, names), strict=True)
    np.savez(_arrays(run, pair, name), **dict(arrays))  # type: ignore[arg-type]


def jackknifed(run: Run, pair: str, size: int) -> NBest:
    """So many lists of all folds, evenly spread."""
    sizes = NguyenSizes.of(run)
    every = kept(run, pair, *(f"fold-{number}" for number in range(1, sizes.folds + 1)))
    return every if size >= len(every) else every.select(spread(len(every), size))


def kept(run: Run, pair: str, *names: str) -> NBest:
    """Lists that steps of these names left, one after the other, with statistics and without texts."""
    parts = []
    for name in names:
        run.need(f"{pair}-{name}")
        parts.append(arrays_of(_arrays(run, pair, name), _KEPT, f"{pair}-{name}"))
    lengths = np.concatenate([np.diff(part["offsets"]) for part in parts])
    return NBest(
        offsets=offsets_of(lengths),
        features=np.concatenate([part["features"] for part in parts]),
        feature_names=tuple(parts[0]["names"].tolist()),
        ids=tuple(str(i) for i in range(len(lengths))),
        stats=np.concatenate([part["stats"] for part in parts]),
        metric=METRIC,
    )


def _lists(run: Run, pair: str, name: str) -> Path:
    return run.work / f"{pair}-{name}.jsonl.gz"


def _arrays(run: Run, pair: str, name: str) -> Path:
    return run.work / f"{pair}-{name}.npz"
