"""Parts that workers decode: the same lists and forests as the whole, and a system that is loaded once."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nbest.base.errors import FormatError, ParameterError
from nbest.compute.executors import using
from nbest.corpus import Forests
from nbest.corpus.joining import join_forests
from nbest.systems import parts
from nbest.systems.decoder import SystemDecoder
from nbest.systems.parser.parser import Parser
from nbest.testing.tiny_systems import tiny_system
from tests.compute.elsewhere import Elsewhere

NAMES = ("tagger", "parser", "converter", "translator")
MORE = {
    "translator": ["Un chat zèbre.", "Le bœuf voit le zèbre.", "Le chien.", "", "Un œuf voit un chat."],
    "converter": ["はなをみる", "かき", "Bをみる", "", "かきはな"],
}
_folders: dict[str, Path] = {}


def folder_of(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if name not in _folders:
        _folders[name] = tmp_path_factory.mktemp("systems") / name
        tiny_system(name).make(_folders[name])
    return _folders[name]


def inputs_of(name: str) -> list[Any]:
    given = list(tiny_system(name).inputs)
    return [*given, *MORE.get(name, given[::-1]), *given[:1]]


@pytest.mark.parametrize(
    "size", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(3, marks=pytest.mark.slow), 50]
)
@pytest.mark.parametrize("forests", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_parts_are_as_the_whole(
    name: str, forests: bool, size: int, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART", size)
    decoder = SystemDecoder(folder_of(name, tmp_path_factory), 3, forests, tiny_system(name).search)
    inputs, weights = inputs_of(name), decoder.start
    whole = decoder.decode(weights, inputs)
    told: list[tuple[int, int]] = []
    decoder.progress = lambda *each: told.append(each)
    with using(Elsewhere(2)) as executor:
        found = decoder.decode(weights, inputs)
    assert executor.passes == 1
    assert found == whole  # every field
    assert type(found.features) is type(whole.features)
    assert found.features.dtype == whole.features.dtype
    assert told[-1] == (len(inputs), len(inputs))
    assert len(told) == -(-len(inputs) // size)


def test_references_are_there_where_all_inputs_have_them(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART", 1)
    decoder = SystemDecoder(folder_of("tagger", tmp_path_factory), 3)
    tagged = [each for each in tiny_system("tagger").inputs if not isinstance(each, tuple)]
    for inputs in (tagged, inputs_of("tagger")):
        whole = decoder.decode(decoder.start, inputs)
        with using(Elsewhere(2)):
            assert decoder.decode(decoder.start, inputs) == whole
        assert (whole.references is None) == (inputs is not tagged)


def test_the_checker_sees_words_that_are_numbered_otherwise(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART", 1)
    monkeypatch.setattr(Parser, "joined", lambda self, found: join_forests(found))
    decoder = SystemDecoder(folder_of("parser", tmp_path_factory), forests=True)
    inputs = inputs_of("parser")[::-1]
    whole = decoder.decode(decoder.start, inputs)
    with using(Elsewhere(2)):
        assert decoder.decode(decoder.start, inputs) != whole


def test_a_worker_loads_a_system_once(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART", 1)
    loads: list[Any] = []
    load = parts.load_system
    monkeypatch.setattr(parts, "load_system", lambda *given: loads.append(given) or load(*given))
    path = folder_of("converter", tmp_path_factory)
    parts._kept.clear()
    with using(Elsewhere(2)):
        for _ in range(3):  # rounds of a loop
            decoder = SystemDecoder(path, 3)
            for weight in (1.0, 0.5):
                decoder.decode(dict.fromkeys(decoder.start, weight), inputs_of("converter"))
    assert len(loads) == 1


def test_clear_errors(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    path = folder_of("tagger", tmp_path_factory)
    decoder = SystemDecoder(path)
    work, part = decoder._work(decoder.start), (0, inputs_of("tagger"))
    parts._kept.clear()
    for wrong, said in ((tmp_path, "is no system"), (folder_of("parser", tmp_path_factory), "is another system")):
        with pytest.raises(FormatError, match=f"{said} on the machine of a worker, .*shared file system") as raised:
            replace(work, path=str(wrong))(part)
        again = pickle.loads(pickle.dumps(raised.value))
        assert (str(again), again.path, again.reason) == (str(raised.value), raised.value.path, raised.value.reason)
    with using(Elsewhere(2)) as executor:
        with pytest.raises(ParameterError, match="'lm' is no feature of the system"):
            decoder.decode({"lm": 1.0}, part[1])
        with pytest.raises(ParameterError, match=r"call its read\(path\) first"):
            decoder.decode(decoder.start, "dev.conllu")
        assert len(decoder.decode(decoder.start, [])) == 0
    assert executor.passes == 0


def test_a_text_that_is_too_long_is_told_by_its_number(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART", 2)
    decoder = SystemDecoder(folder_of("translator", tmp_path_factory), options={"longest": 5})
    texts = ["Le chat.", "Le chien.", "Un chat.", "Un chien.", "Le chat voit un chien et un chat."]
    with using(Elsewhere(2)), pytest.raises(ParameterError, match="text 5 has 9 tokens"):
        decoder.decode(decoder.start, texts)


def test_forests_are_joined_only_where_they_are_alike(tmp_path_factory: pytest.TempPathFactory) -> None:
    decoder = SystemDecoder(folder_of("tagger", tmp_path_factory), forests=True)
    found = decoder.decode(decoder.start, inputs_of("tagger"))
    assert isinstance(found, Forests)
    other = replace(found, ids=tuple(f"x{name}" for name in found.ids))
    less = other.only_features(found.feature_names[:1])
    with pytest.raises(ParameterError, match="same features; 'lexical' is not in part 2"):
        join_forests([found, less])
    bare = replace(other, symbols=None, symbol_offsets=None)
    with pytest.raises(ParameterError, match="some have words on their edges"):
        join_forests([found, bare])
    filled = join_forests([found, replace(less, absent_is_zero=True)])
    assert not filled.column("lexical")[found.edges :].any()
    turned = other.only_features(found.feature_names[::-1])
    assert (join_forests([found, turned]).features[found.edges :] == found.features).all()
