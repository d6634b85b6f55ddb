"""The worked example of Pauls, DeNero & Klein (2009), figures 1 and 2; precisions against counting by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import nbest
from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus import NBest, Texts
from nbest.decisions import consensus as decide
from nbest.forests.derivations import forests_of
from nbest.forests.ngrams import expected_counts
from nbest.formats.bundled import lists
from nbest.model.loglinear import LogLinear
from nbest.studies.consensus import Consensus, consensus, ranges
from nbest.testing import toy_lists

TEXTS = ("Once on a rhyme", "Once upon a rhyme", "Once upon a time")
MODEL = LogLinear({"tm": 1.0, "lm": 1.0})


def rime() -> NBest:
    """Three translations of "Il était une rime", the second is right."""
    corpus = NBest(
        offsets=np.array([0, 3]), features=np.array([[-3.0, -7.0], [-5.0, -6.0], [-9.0, -3.0]]),
        feature_names=("tm", "lm"), ids=("rime",), texts=Texts.of(TEXTS),
    )  # fmt: skip
    return corpus.with_metric(nbest.BLEU(tokenize="none"), [(TEXTS[1],)])


def figure() -> Consensus:
    return consensus(rime(), "lm", model=MODEL, bounds=(0.0, 3.0), points=301)


# figure 1 -------------------------------------------------------------------------------------------------------


def test_posteriors_and_expected_bigrams() -> None:
    corpus = rime()
    posterior = MODEL.posterior(corpus)
    assert posterior.round(2).tolist() == [0.67, 0.24, 0.09]
    forests = forests_of(corpus)
    found = expected_counts(forests, MODEL.scores(corpus), 2)
    known = {
        " ".join(forests.vocabulary[w] for w in found.ngrams.words_of(0, g)): found.counts[g]
        for g in range(len(found.counts))
    }
    assert round(known["Once upon"], 2) == 0.33
    assert known["Once upon"] == pytest.approx(posterior[1] + posterior[2])
    assert known["a rhyme"] == pytest.approx(posterior[0] + posterior[1])
    assert known["Once"] == pytest.approx(1.0)


# figure 2 -------------------------------------------------------------------------------------------------------


def test_the_reference_is_never_on_the_envelope() -> None:
    found = figure()
    assert {row["best"] for row in found.chosen(kind="point")} == {0, 2}
    (_, crossing, first), (again, _, last) = ranges(
        np.array([row["weight"] for row in found.chosen(kind="point")]), found.chosen(kind="point"), "best"
    )
    assert (first, last) == (0, 2)
    assert crossing == again == pytest.approx(1.5, abs=0.01)
    lines = [row["slope"] * 1.5 + row["intercept"] for row in found.chosen(kind="hypothesis")]
    assert lines == [-13.5, -14.0, -13.5]


def test_consensus_chooses_the_reference_in_an_interval_around_the_crossing() -> None:
    found = figure()
    points = found.chosen(kind="point")
    chosen = ranges(np.array([row["weight"] for row in points]), points, "consensus")
    assert [number for _, _, number in chosen] == [0, 1, 2]
    low, high, _ = chosen[1]
    assert low < 1.5 < high
    assert decide(LogLinear({"tm": 1.0, "lm": 1.5}), rime(), gain=nbest.BLEU(tokenize="none"), order=2).tolist() == [1]


def test_expected_precision_peaks_where_the_reference_gains_most_on_the_first() -> None:
    """Each bigram occurs once at most, so that the precision is that of the mean: 1/3, 1 and 2/3."""
    points = figure().chosen(kind="point")
    for row in points[::20]:
        p = LogLinear({"tm": 1.0, "lm": row["weight"]}).posterior(rime())
        assert row["expected_precision"] == pytest.approx(100 * (p[0] / 3 + p[1] + p[2] * 2 / 3))
        assert row["best_precision"] == pytest.approx(100 / 3 if row["best"] == 0 else 200 / 3)
    values = [row["expected_precision"] for row in points]
    top = int(np.argmax(values))
    assert 0 < top < len(points) - 1
    assert values[top] > max(row["best_precision"] for row in points)
    gaps = [np.subtract(*LogLinear({"tm": 1.0, "lm": row["weight"]}).posterior(rime())[1::-1]) for row in points]
    assert top == int(np.argmax(gaps))


def test_picture_and_files(tmp_path: Path) -> None:
    found = figure()
    data, image = found.write(tmp_path / "out")
    assert len(Path(data).read_text().splitlines()) == 1 + 3 + 301
    shown = "".join(ElementTree.parse(image).getroot().itertext())
    for text in (*TEXTS, "bigram precision", "consensus", "1-best", "weight of lm"):
        assert text in shown


# any lists ------------------------------------------------------------------------------------------------------


def test_precisions_of_lists_against_counting() -> None:
    corpus = toy_lists(2, noise=0.3)
    assert corpus.texts is not None
    assert corpus.references is not None
    model = LogLinear({"first": 1.0, "second": 0.5, "third": 0.1})
    found = consensus(corpus, "first", model=model, points=3, order=1, gamma=0.7)
    for row in found.chosen(kind="point"):
        at = LogLinear({**model.weights, "first": row["weight"]})
        posterior, best = at.posterior(corpus, 0.7), at.predict(corpus)
        sums = np.zeros(4)
        for i, (low, high) in enumerate(zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)):
            limits = Counter(corpus.references[i][0].split())
            expected: Counter[str] = Counter()
            for h in range(low, high):
                for word, count in Counter(corpus.texts[h].split()).items():
                    expected[word] += posterior[h] * count
            sums[:2] += [sum(min(expected[w], limits[w]) for w in limits), sum(expected.values())]
            if best[i] >= 0:
                counts = Counter(corpus.texts[best[i]].split())
                sums[2:] += [sum(min(counts[w], limits[w]) for w in limits), sum(counts.values())]
        assert row["expected_precision"] == pytest.approx(100 * sums[0] / sums[1])
        assert row["best_precision"] == pytest.approx(100 * sums[2] / sums[3])


def test_many_hypotheses_and_a_segment_by_id() -> None:
    dev = lists("tune").select(range(5)).with_metric(nbest.WER())
    name = dev.ids[3]
    found = consensus(dev, "lm", model=nbest.MaxLikelihood().fit(dev), segment=name, points=5)
    assert found.settings["segment"] == name
    assert len(found.chosen(kind="hypothesis")) == dev.lengths[3]
    ElementTree.fromstring(found.picture().svg().encode())


def test_bad_arguments_are_refused() -> None:
    corpus = rime()
    for options, message in (
        ({"order": 0}, "'order'"),
        ({"gamma": -1.0}, "'gamma'"),
        ({"segment": "prose"}, "no segment 'prose'"),
        ({"bounds": (1.0, 0.0)}, "from low to high"),
    ):
        with pytest.raises(ParameterError, match=message):
            consensus(corpus, "lm", **options)  # type: ignore[arg-type]
    with pytest.raises(CapabilityError, match="texts and references"):
        consensus(replace(corpus, references=None), "lm")
