"""The parser against enumeration of labelled projective trees; as a directory; with what is bad."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import FormatError, ParameterError
from nbest.forests.kbest import kbest
from nbest.forests.posteriors import posteriors
from nbest.formats.conllu import Sentence
from nbest.model.loglinear import LogLinear
from nbest.systems.jackknife import jackknifed_lists
from nbest.systems.parser.labels import arc_options
from nbest.systems.parser.parser import Parser
from nbest.systems.parser.system import ParserTraining
from nbest.systems.parser.train import train_parser
from nbest.systems.parser.trees import projective, text_of
from nbest.systems.parser.views import EXPERTS
from tests.systems import manifests
from tests.systems.parser_brute import labelled, sentence, texts, treebank

SMALL = {"arc_bits": 10, "label_bits": 6, "frequent": 2, "epochs": 2}
EVERYTHING = {"arc_floor": 0.0, "labels_an_arc": 100}


@pytest.fixture(scope="module")
def parser() -> Parser:
    return train_parser(treebank(1), **SMALL)


def trees_of(parser: Parser, words: Sentence) -> list[str]:
    """All trees that the parser gives a probability, by enumeration."""
    n = len(words)
    _, _, tags = parser.vocabulary.encode([words])
    offsets, numbers = arc_options(tags, parser.options, parser.vocabulary.tag_count)
    labels = {
        (h, d): [parser.labels[k] for k in numbers[offsets[h * n + d - 1] : offsets[h * n + d]]]
        for h in range(n + 1)
        for d in range(1, n + 1)
    }
    return texts(labelled(n, labels))


def test_there_are_experts_enough(parser: Parser) -> None:
    assert len(parser.names) >= 10
    assert parser.weights == pytest.approx(dict.fromkeys(EXPERTS, 1 / len(EXPERTS)))


@settings(deadline=None, max_examples=12)
@given(st.integers(0, 4), st.integers(0, 2**32))
def test_every_tree_is_one_derivation_with_the_log_probabilities_of_experts(n: int, seed: int) -> None:
    bank = treebank(seed, 8, 5)
    parser = train_parser(bank, **SMALL, threads=1)
    rng = np.random.default_rng(seed)
    words = sentence(rng, n)
    expected = trees_of(parser, words)
    weights = dict(zip(parser.names, rng.normal(0, 1, len(parser.names)), strict=True))
    forests = parser.forests([words], weights=weights, **EVERYTHING, threads=1)
    scores = LogLinear(weights).edge_scores(forests)
    found = kbest(forests, scores, len(expected) + 5).lists()
    assert found.texts is not None
    assert sorted(found.texts) == sorted(expected)
    assert np.exp(found.features).sum(axis=0) == pytest.approx(np.ones(len(parser.names)), abs=1e-4)
    values = found.features @ np.array(list(weights.values()))
    assert posteriors(forests, scores).log_z[0] == pytest.approx(np.logaddexp.reduce(values), abs=1e-4)
    assert (np.diff(values) <= 1e-4).all()
    best = parser.parsed([words], weights=weights, threads=1)[0]
    assert text_of(best.heads, best.deprels) in [
        t for t, v in zip(found.texts, values, strict=True) if v > values[0] - 1e-4
    ]


def test_training_raises_the_likelihood_and_depends_only_on_the_seed() -> None:
    bank = treebank(7, 20)
    first, again, other = (
        train_parser(bank, **SMALL, threads=threads, seed=seed) for threads, seed in ((1, 1), (2, 1), (1, 2))
    )
    assert np.array_equal(first.tables, again.tables)
    assert not np.array_equal(first.tables, other.tables)
    more = train_parser(bank, **SMALL | {"epochs": 30}, threads=2, l2=0.01)
    gold = {text_of(projective(s.heads), s.deprels) for s in bank}
    few, many = (sum(text_of(s.heads, s.deprels) in gold for s in parser.parsed(bank)) for parser in (first, more))
    assert many > few
    assert many >= 0.8 * len(bank)


def test_pruning_keeps_the_best_tree_and_zero_weights_work(parser: Parser) -> None:
    words = treebank(9, 6, 8)
    for weights in (None, dict.fromkeys(parser.names, 0.0), dict.fromkeys(parser.names, -1.0)):
        full = parser.forests(words, weights=weights, **EVERYTHING)
        small = parser.forests(words, weights=weights, arc_floor=0.3, labels_an_arc=1)
        assert small.edges < full.edges
        model = LogLinear(full.own_weights)
        values = [kbest(f, model.edge_scores(f), 1).sums(model.edge_scores(f)) for f in (full, small)]
        assert values[0] == pytest.approx(values[1], abs=1e-4)
    assert len(kbest(small, model.edge_scores(small), 200).lists().texts or ()) >= len(words)


def test_forests_do_not_depend_on_threads_or_company(parser: Parser) -> None:
    words = treebank(10, 40)
    one, two = (parser.forests(words, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.features, two.features)
    assert np.array_equal(one.symbols, two.symbols)
    alone = parser.forests(words[5:6], references=True, ids=["five"])
    assert np.array_equal(alone.features, one.select([5]).features)
    assert alone.references == ((text_of(words[5].heads, words[5].deprels),),)
    assert alone.ids == ("five",)


def test_save_and_load(parser: Parser, tmp_path: Path) -> None:
    parser.save(tmp_path / "parser")
    loaded = Parser.load(tmp_path / "parser")
    words = treebank(11)
    one, two = parser.forests(words), loaded.forests(words)
    assert np.array_equal(one.features, two.features)
    assert one.vocabulary == two.vocabulary
    assert loaded.weights == parser.weights
    LogLinear({"tags": 2.0, "fine": 1.0}).save(str(tmp_path / "parser" / "weights.json"))
    assert Parser.load(tmp_path / "parser").weights == {"tags": 2.0, "fine": 1.0}
    LogLinear({"other": 2.0}).save(str(tmp_path / "parser" / "weights.json"))
    with pytest.raises(FormatError, match="no expert of the parser"):
        Parser.load(tmp_path / "parser")
    loaded.save(tmp_path / "parser")  # in place of itself
    assert np.array_equal(Parser.load(tmp_path / "parser").forests(words).features, one.features)


def test_damaged_directories(parser: Parser, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is no parser"):
        Parser.load(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(FormatError, match="is there and is no parser"):
        parser.save(tmp_path / "mine")
    for name in ("tables.npy", "templates.npy", "options.npy", "option-offsets.npy", "frequent.txt"):
        parser.save(tmp_path / "p")
        data = (tmp_path / "p" / name).read_bytes()
        (tmp_path / "p" / name).write_bytes(data[:-1])
        with pytest.raises(FormatError, match="cut short"):
            Parser.load(tmp_path / "p")
    for change in ({"labels": ["one"]}, {"arc_size": 3}, {"names": []}, {"weights": {"other": 1}}, {"format": "x"}):
        parser.save(tmp_path / "p")
        manifests.change(tmp_path / "p", change)
        with pytest.raises(FormatError):
            Parser.load(tmp_path / "p")


def test_bad_parameters(parser: Parser) -> None:
    words = treebank(1, 2)
    for bad in ({"labels_an_arc": 0}, {"arc_floor": 1.0}, {"weights": {"tag": 1.0}}, {"weights": {"tags": np.inf}},
                {"weights": dict.fromkeys(parser.names, 1e308)}):  # fmt: skip
        with pytest.raises(ParameterError):
            parser.forests(words, **bad)
    for wrong in ({"epochs": 0}, {"rate": 0.0}, {"l2": -1.0}, {"speed": 1}, {"experts": {}}):
        with pytest.raises(ParameterError):
            train_parser(words, **wrong)
    with pytest.raises(ParameterError, match="'rate' of train_parser is too large"):
        train_parser(treebank(1), **SMALL, rate=1e38, l2=0.0)
    with pytest.raises(ParameterError, match="at least one word"):
        train_parser([])
    with pytest.raises(ParameterError, match="of sentence 1"):
        train_parser([words[0].with_column("head", [0] * len(words[0])).with_column("head", [-1] * len(words[0]))])


def test_unknown_words_and_tags_are_parsed(parser: Parser) -> None:
    words = replace(sentence(np.random.default_rng(1), 3), upos=("_", "new", "N"), forms=("10 000", "\ud800", "x"))
    best = parser.parsed([words])[0]
    assert best.heads.count(0) == 1
    assert set(best.deprels) <= set(parser.labels)


def test_jackknifed_lists() -> None:
    bank = treebank(2, 12)
    calls: list[tuple[int, int]] = []
    found = jackknifed_lists(ParserTraining(**SMALL), bank, 5, 3, progress=lambda *at: calls.append(at))
    assert len(found) == 12
    assert found.lengths.max() <= 5
    assert calls[-1] == (3, 3)
    assert found.references == tuple((text_of(s.heads, s.deprels),) for s in bank)
    by_hand = train_parser(bank[4:], **SMALL).lists(bank[:4], 5)
    assert found.texts is not None
    assert by_hand.texts is not None
    assert list(found.texts)[: len(by_hand.texts)] == list(by_hand.texts)
