"""The converter: its texts, its dictionary, its forests against all segmentations, its files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import FormatError, ParameterError
from nbest.corpus import Texts
from nbest.decisions import corpus_oracle
from nbest.lm.mixture import Mixture
from nbest.metrics import CER
from nbest.model.loglinear import LogLinear
from nbest.systems.converter.converter import Converter, in_characters
from nbest.systems.converter.dictionary import token
from nbest.systems.converter.files import load, save
from nbest.systems.converter.search import FEATURES
from nbest.systems.converter.system import ConverterTraining
from nbest.systems.converter.text import (
    ReadSentence,
    every_tenth,
    fold,
    is_kana,
    katakana,
    read_dictionary,
    read_sentences,
)
from tests.systems import manifests

WORDS = [
    ("蚊", "か"),
    ("か", "か"),
    ("木", "き"),
    ("柿", "かき"),
    ("牡蠣", "かき"),
    ("器", "き"),
    ("記", "き"),
    ("A", "A"),
]
MORE = [("下記", "かき"), ("か木", "かき"), ("キカ", "きか"), ("気化", "きか")]
WEIGHTS = {"lm": 1.0, "words": 0.3, "spelling": 0.7, "dictionary": -0.4, "kana": -1.1, "katakana": -0.6}


def sentence(words: list[tuple[str, str]]) -> ReadSentence:
    return ReadSentence(tuple(w for w, _ in words), tuple(r for _, r in words))


TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(sentence), min_size=1, max_size=6)
KANA = st.text(alphabet="かきーA1", max_size=4)


def spelled(converter: Converter, word: str) -> float:
    return float(converter.spelling.score(Texts.of([" ".join(word)])).logprobs[0])


def candidates(converter: Converter, text: str, start: int, end: int) -> list[tuple[str, str, list[float]]]:
    """(surface, reading, features without the first) of each word that may stand over a stretch, from the rules."""
    piece = text[start:end]
    out = []
    names = set(converter.lm.vocabulary)
    for surface in converter.dictionary.look_up(piece):
        known = token(surface, piece, converter.tokens) in names
        out.append((surface, piece, [1, 0 if known else spelled(converter, surface), not known, 0, 0]))
    if len(piece) == 1:
        out.append((piece, "", [1, spelled(converter, piece), 0, is_kana(piece), 0]))
    elif all(map(is_kana, piece)) and piece[0] != "ー":
        out.append((katakana(piece), "", [1, spelled(converter, katakana(piece)), 0, 0, 1]))
    for inside in (str.isdigit, str.isascii):
        if len(piece) > 1 and all(inside(c) and c.isdigit() == piece[0].isdigit() for c in piece):
            edges = text[start - 1 : start] + text[end : end + 1]
            if not any(inside(c) and c.isdigit() == piece[0].isdigit() for c in edges):
                out.append((piece, "", [1, spelled(converter, piece), 0, 0, 0]))
                break
    return out


def enumerated(converter: Converter, text: str) -> dict[str, float]:
    """The best score of each output, over all segmentations and words."""
    best: dict[str, float] = {}
    values = np.array([WEIGHTS[name] for name in FEATURES])

    def go(at: int, history: list[str], surfaces: list[str], score: float) -> None:
        if at == len(text):
            total = score + values[0] * converter.lm.logprob(history, "</s>")
            joined = "".join(surfaces)
            best[joined] = max(best.get(joined, -np.inf), total)
        for end in range(at + 1, len(text) + 1):
            for surface, reading, features in candidates(converter, text, at, end):
                word = token(surface, reading, converter.tokens) if reading else "\0"
                lm = converter.lm.logprob(history, word)
                step = values[0] * lm + values[1:] @ np.array(features, float)
                go(end, [*history, word], [*surfaces, surface], score + float(step))

    go(0, ["<s>"], [], 0.0)
    return best


@settings(max_examples=40, deadline=None)
@given(TEXTS, TEXTS, KANA, st.integers(1, 3), st.sampled_from(["pair", "surface"]), st.booleans())
def test_forests_hold_every_segmentation_with_its_score(
    train: list[ReadSentence], adapt: list[ReadSentence], text: str, order: int, tokens: str, mixed: bool
) -> None:
    extra = {"adapt": adapt, "heldout": adapt} if mixed else {}
    converter = ConverterTraining(order, tokens, spelling_order=2).fit(train, MORE, threads=1, **extra)
    forests = converter.forests([text], weights=WEIGHTS, beam=None, margin=None, threads=1)
    lists = converter.best(forests, 10_000, threads=1)
    scores = LogLinear(WEIGHTS).scores(lists)
    assert lists.texts is not None
    found = {line.replace(" ", ""): score for line, score in zip(lists.texts, scores, strict=True)}
    wanted = enumerated(converter, text)
    assert len(found) == lists.hypotheses
    assert found.keys() == wanted.keys()
    for output, score in wanted.items():
        assert found[output] == pytest.approx(score, abs=1e-4)
    assert (np.diff(scores) <= 1e-5).all()


@settings(max_examples=25, deadline=None)
@given(TEXTS, st.lists(KANA, min_size=1, max_size=3), st.integers(1, 3))
def test_a_beam_and_a_margin_only_leave_out(train: list[ReadSentence], texts: list[str], order: int) -> None:
    converter = ConverterTraining(order).fit(train, MORE)
    whole = converter.best(converter.forests(texts, weights=WEIGHTS, beam=None, margin=None), 10_000)
    near = converter.best(converter.forests(texts, weights=WEIGHTS, beam=None, margin=2.0), 10_000)
    beam = converter.best(converter.forests(texts, weights=WEIGHTS, beam=1), 10_000)
    model = LogLinear(WEIGHTS)
    for i in range(len(texts)):
        full, some, few = (
            dict(
                zip(list(c.texts or [])[c.offsets[i] : c.offsets[i + 1]], model.scores(c)[c.offsets[i] :], strict=False)
            )
            for c in (whole, near, beam)
        )
        top = max(full.values())
        assert {text for text, score in full.items() if score > top - 2 + 1e-4} <= some.keys()
        assert max(some.values()) == pytest.approx(top, abs=1e-5)
        assert max(few.values()) <= top + 1e-5


def test_nodes_differ_by_the_states_of_both_models() -> None:
    """The first model sees single words only, so that all but the last word is told by the second alone."""
    train = [sentence([word]) for word in WORDS]
    adapt = [sentence([WORDS[0], WORDS[2], WORDS[5]]), sentence([WORDS[1], WORDS[2], WORDS[6]])] * 3
    converter = ConverterTraining(3).fit(train, adapt=adapt, heldout=adapt)
    lists = converter.best(converter.forests(["かきき"], weights=WEIGHTS, beam=None, margin=None), 10_000)
    assert lists.texts is not None
    scores = LogLinear(WEIGHTS).scores(lists)
    found = {line.replace(" ", ""): score for line, score in zip(lists.texts, scores, strict=True)}
    assert found == pytest.approx(enumerated(converter, "かきき"), abs=1e-4)


def test_lm_feature_is_the_score_of_the_language_model() -> None:
    train = [sentence([WORDS[3], WORDS[2]]), sentence([WORDS[0], WORDS[4], WORDS[5]]), sentence([WORDS[6]])]
    converter = ConverterTraining(3, "surface").fit(train)
    lists = converter.best(converter.forests(["かきき", "きかか"], beam=None, margin=None), 50)
    assert lists.texts is not None
    assert not isinstance(converter.lm, Mixture)
    np.testing.assert_allclose(lists.column("lm"), converter.lm.score(lists.texts).logprobs, atol=1e-4)
    np.testing.assert_array_equal(lists.column("words"), [len(text.split()) for text in lists.texts])


def test_many_threads_give_the_same_forests() -> None:
    converter = ConverterTraining(3).fit([sentence(WORDS), sentence(WORDS[::-1])], MORE)
    texts = ["かきかきかき", "", "きA12かー", "かかか"] * 3
    one, four = (converter.forests(texts, threads=n) for n in (1, 4))
    np.testing.assert_array_equal(one.features, four.features)
    assert one.vocabulary == four.vocabulary
    np.testing.assert_array_equal(one.symbols, four.symbols)


def test_what_no_dictionary_knows_falls_back() -> None:
    converter = ConverterTraining(2).fit([sentence(WORDS)])
    lists = converter.best(converter.forests(["", "  ", "ぬめ", "漢字、Z", "ヌメ"]), 20)
    assert lists.texts is not None
    rows = [list(lists.texts)[a:b] for a, b in zip(lists.offsets[:-1], lists.offsets[1:], strict=True)]
    assert rows[:2] == [[""], [""]]
    assert {"ヌメ", "ぬ め"} == set(rows[2])
    assert rows[3] == ["漢 字 、 Z"]
    assert rows[4] == rows[2]
    kept = converter.best(converter.forests(["ヌメ"], folded=False), 20)
    assert kept.texts is not None
    assert [text.replace(" ", "") for text in kept.texts] == ["ヌメ"]


def test_outputs_differ_in_characters_not_in_words() -> None:
    train = [sentence([("かき", "かき")]), sentence([("か", "か"), ("き", "き")]), sentence([("木", "き")])]
    converter = ConverterTraining(2).fit(train)
    forests = converter.forests(["かき"], beam=None, margin=None)
    lists = converter.best(forests, 100)
    assert lists.texts is not None
    joined = [text.replace(" ", "") for text in lists.texts]
    assert sorted(joined) == sorted(set(joined))
    assert in_characters(forests).edges == forests.edges


def test_bad_settings_are_refused() -> None:
    converter = ConverterTraining(2).fit([sentence(WORDS)])
    for wrong, message in (({"beam": 0}, "'beam'"), ({"margin": -1.0}, "'margin'"), ({"weights": {"x": 1.0}}, "'x'")):
        with pytest.raises(ParameterError, match=message):
            converter.forests(["か"], **wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="tokens"):
        ConverterTraining(tokens="kana")
    with pytest.raises(ParameterError, match="'order' of ConverterTraining must be >= 1"):
        ConverterTraining(order=0)
    with pytest.raises(ParameterError, match="'order' of ConverterTraining must be <= 6"):
        ConverterTraining(order=7)
    with pytest.raises(ParameterError, match="no words"):
        ConverterTraining().fit([ReadSentence((), ())])
    with pytest.raises(ParameterError, match="too few"):
        ConverterTraining().fit([sentence(WORDS)], adapt=[sentence(WORDS)])
    with pytest.raises(ParameterError, match="adapt"):
        ConverterTraining().fit([sentence(WORDS)], heldout=[sentence(WORDS)])


# texts ---------------------------------------------------------------------------------------------------------------


def test_kana_is_folded_and_unfolded() -> None:
    assert fold("カタカナー・ヴァヶヽ漢A") == "かたかなー・ゔぁゖゝ漢A"
    assert katakana("ひらがなーぁゔ、A") == "ヒラガナーァヴ、A"
    assert [is_kana(c) for c in "かカー・漢A"] == [True, True, True, False, False, False]


def test_training_text_with_ids_and_without(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("x1\t柿|カキ を 食べ|たべ る\n柿|かき | ||\n\n", encoding="utf-8")
    one, two, three = read_sentences(path)
    assert one == ReadSentence(("柿", "を", "食べ", "る"), ("かき", "を", "たべ", "る"))
    assert one.kana == "かきをたべる"
    assert two.surfaces == ("柿", "|", "||")
    assert three == ReadSentence((), ())


@pytest.mark.parametrize(
    ("line", "message"), [("柿|", "reading"), ("|かき", "surface"), ("a\tb\tc", "3 columns"), ("a|b \xff", "UTF-8")]
)
def test_broken_training_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes("柿|かき\n".encode() + line.encode("latin-1" if "\xff" in line else "utf-8") + b"\n")
    with pytest.raises(FormatError, match=message) as caught:
        read_sentences(path)
    assert caught.value.line == 2


def test_dictionaries_may_have_a_header_and_more_columns(tmp_path: Path) -> None:
    path = tmp_path / "d.tsv"
    path.write_text("surface\tkatakana\tcost\n柿\tカキ\t3\n漢\t漢\nア イ\tアイ\n\u3000\t\u3000\n\n", encoding="utf-8")
    assert read_dictionary(path) == [("柿", "かき"), ("漢", "漢"), ("アイ", "あい")]


@pytest.mark.parametrize("line", ["柿", "柿\t", "\tカキ"])
@pytest.mark.parametrize("before", [0, 1])
def test_broken_dictionary_lines_are_named(tmp_path: Path, line: str, before: int) -> None:
    path = tmp_path / "d.tsv"
    path.write_text("木\tキ\n" * before + line + "\n", encoding="utf-8")
    with pytest.raises(FormatError, match="surface TAB reading") as caught:
        read_dictionary(path)
    assert caught.value.line == before + 1


@given(st.integers(2, 45))
def test_a_tenth_is_held_out(count: int) -> None:
    rest, tenth = every_tenth([ReadSentence((str(i),), (str(i),)) for i in range(count)])
    assert len(rest) + len(tenth) == count
    assert min(len(rest), len(tenth)) > 0
    assert not set(rest) & set(tenth)


# files ---------------------------------------------------------------------------------------------------------------


def adapted() -> Converter:
    return ConverterTraining(3).fit([sentence(WORDS)], MORE, adapt=[sentence(WORDS[::-1])] * 3)


@pytest.mark.parametrize("mixed", [False, True])
def test_saved_and_loaded_converters_are_equal(tmp_path: Path, mixed: bool) -> None:
    converter = adapted() if mixed else ConverterTraining(3).fit([sentence(WORDS)], MORE)
    save(converter, tmp_path / "c")
    save(converter, tmp_path / "c")  # replaces
    again = Converter.load(tmp_path / "c")
    assert isinstance(again.lm, Mixture) == mixed
    texts = ["かきかき", "きかA"]
    np.testing.assert_array_equal(converter.forests(texts).features, again.forests(texts).features)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c"]


def test_damaged_directories_are_refused(tmp_path: Path) -> None:
    save(adapted(), tmp_path / "c")
    manifest = json.loads((tmp_path / "c" / "manifest.json").read_text())
    del manifest["sha256"]
    for change in ({"format": "x"}, {"tokens": "x"}, {"weight": 2}, {"files": {}}, {"files": 3}):
        manifests.change(tmp_path / "c", {**manifest, **change})
        with pytest.raises(FormatError, match="train the converter again"):
            load(tmp_path / "c")
    (tmp_path / "c" / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "c" / "words.txt").write_text("x\n")
    with pytest.raises(FormatError, match="cut short"):
        load(tmp_path / "c")
    with pytest.raises(FormatError, match="no converter"):
        load(tmp_path)


def test_other_directories_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    with pytest.raises(FormatError, match="name another"):
        save(adapted(), tmp_path / "mine")
    with pytest.raises(FormatError, match="is a file"):
        save(adapted(), tmp_path / "mine" / "notes.txt")
    assert (tmp_path / "mine" / "notes.txt").read_text() == "x"


@pytest.mark.data
def test_news_that_it_has_not_seen(data: Path) -> None:
    sentences = read_sentences(data / "kana" / "auto" / "wikinews.read.tsv.xz")
    test = sentences[-1000::10]
    references = [(sentence.text,) for sentence in test]
    rates = []
    for order in (1, 3):
        converter = ConverterTraining(order).fit(sentences[-12000:-1000])
        lists = converter.best(converter.forests([sentence.kana for sentence in test]), 20)
        lists = lists.with_metric(CER(spaces=False), references)
        rates += [lists.score(lists.offsets[:-1]), lists.score(corpus_oracle(lists))]
    assert rates[2] < 8
    assert rates[3] < rates[2] < rates[0]
