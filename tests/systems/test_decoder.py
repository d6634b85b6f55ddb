"""Systems of `nbest train` as decoders."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbest.base.errors import FormatError, ParameterError
from nbest.corpus import Forests, NBest
from nbest.decoders import describe_decoder
from nbest.formats.conllu import sentence_of
from nbest.loop import Inputs, Loop
from nbest.metrics import METRICS
from nbest.systems.decoder import SystemDecoder, is_system
from nbest.systems.tagger.tagger import Tagger
from nbest.trainers.dense.mert import MERT

SENTENCES = [
    ["The", "cat", "saw", "."],
    ["A", "dog", "ran", "."],
    ["The", "saw", "ran", "."],
    ["The", "dog", "saw", "a", "saw"],
]
TAGS = [["DT", "NN", "VBD", "."], ["DT", "NN", "VBD", "."], ["DT", "NN", "VBD", "."], ["DT", "NN", "VBD", "DT", "NN"]]
WEIGHTS = {"transition": 1.0, "lexical": 1.0}


@pytest.fixture
def tagger(tmp_path: Path) -> Path:
    Tagger.train(SENTENCES, TAGS).save(tmp_path / "tagger")
    return tmp_path / "tagger"


def inputs() -> Inputs:
    return Inputs([sentence_of(words) for words in SENTENCES], [(" ".join(tags),) for tags in TAGS])


def test_lists_and_forests(tagger: Path) -> None:
    assert is_system(tagger)
    assert not is_system(tagger.parent)
    decoder = SystemDecoder(tagger, k=3)
    assert decoder.start == WEIGHTS
    lists = decoder.decode(WEIGHTS, inputs().segments)
    assert isinstance(lists, NBest)
    assert lists.ids == ("0", "1", "2", "3")
    assert [lists.texts[h] for h in lists.offsets[:-1]] == [  # type: ignore[index]
        " ".join(tags) for tags in Tagger.load(tagger).tag(SENTENCES)
    ]
    forests = SystemDecoder(tagger, forests=True).decode(WEIGHTS, inputs().segments)
    assert isinstance(forests, Forests)
    assert forests.ids == lists.ids
    assert describe_decoder(decoder)["name"] == "SystemDecoder"
    assert describe_decoder(decoder)["k"] == 3


def test_batches_do_not_change_lists(tagger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = SystemDecoder(tagger, k=4).decode(WEIGHTS, inputs().segments)
    monkeypatch.setattr(Tagger, "batch", 3)
    done: list[tuple[int, int]] = []
    parts = SystemDecoder(tagger, k=4, progress=lambda *each: done.append(each)).decode(WEIGHTS, inputs().segments)
    assert isinstance(whole, NBest)
    assert isinstance(parts, NBest)
    assert (parts.ids, parts.offsets.tolist()) == (whole.ids, whole.offsets.tolist())
    assert list(parts.texts or ()) == list(whole.texts or ())
    assert (parts.features == whole.features).all()


@pytest.mark.parametrize("forests", [False, True])
def test_a_loop(tagger: Path, tmp_path: Path, forests: bool) -> None:
    decoder = SystemDecoder(
        tagger, k=500, forests=forests
    )  # all that there are, so that training sees what decoding does
    made = Loop(decoder, MERT(restarts=1), METRICS["accuracy"](), tmp_path / "run", rounds=2, forests=forests)
    model = made.run(inputs())
    assert set(model.weights) == set(WEIGHTS)
    first = made.place.decoded(1)
    assert first is not None
    assert model.scores_["dev"] >= first["dev"]["score"]


def test_clear_errors(tagger: Path) -> None:
    decoder = SystemDecoder(tagger)
    with pytest.raises(ParameterError, match="'lm' is no feature of the system; it has transition, lexical"):
        decoder.decode({"lm": 1.0}, inputs().segments)
    with pytest.raises(ParameterError, match=r"call its read\(path\) first"):
        decoder.decode(WEIGHTS, "dev.conllu")
    for content in ("", "{", "[]", "{}", '{"format": "nbest-oven/1"}'):
        (tagger / "manifest.json").write_text(content)
        with pytest.raises((FormatError, ParameterError), match=r"train the system again|unknown system 'nbest-oven'"):
            SystemDecoder(tagger).start  # noqa: B018
