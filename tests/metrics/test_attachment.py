"""Attachment scores against plain Python on CoNLL-U lines and against the evaluation of Universal Dependencies."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nbest
from nbest.base.errors import ParameterError
from nbest.corpus import NBest
from nbest.corpus.texts import Texts
from nbest.formats.conllu import read_conllu, sentence_of, write_conllu
from nbest.metrics import LAS, UAS
from nbest.systems.parser.trees import text_of
from nbest.testing import toy_forests

from .corpora import corpora, flat, pairs, stats_of

METRICS = (UAS(), LAS(), LAS(subtypes=True))
ARCS = ["0:root", "1:nmod", "1:nmod:poss", "1:nmod:tmod", "2:a:b:c", "2:a", "12:nmod", "1:2"]
trees = st.lists(st.sampled_from(ARCS), max_size=5).map(" ".join)


# plain Python ----------------------------------------------------------------------------------------------------


def key(metric, head, deprel):
    """What must be equal for a word to be right."""
    if isinstance(metric, UAS):
        return head
    return (head, deprel) if metric.subtypes else (head, deprel.split(":")[0])


def places(metric, hyp, ref):
    arcs = [[key(metric, *token.split(":", 1)) for token in text.split()] for text in (hyp, ref)]
    return sum(a == b for a, b in zip(*arcs, strict=False)), max(map(len, arcs))


@settings(deadline=None, max_examples=100)
@given(corpora(trees))
def test_statistics(corpus):
    for metric in METRICS:
        expected = []
        for text, group in pairs(corpus):
            found = [places(metric, text, ref) for ref in group]
            expected.append(list(max(found, key=lambda pair: Fraction(*pair) if pair[1] else 1)))
        assert stats_of(metric, corpus).tolist() == expected


def by_lines(gold, system, metric):
    """The score of one CoNLL-U file against another, line by line."""
    right = words = 0
    for ours, theirs in zip(system.splitlines(), gold.splitlines(), strict=True):
        rows = [line.split("\t") for line in (ours, theirs)]
        if rows[0][0].isdigit():
            words += 1
            right += key(metric, *rows[0][6:8]) == key(metric, *rows[1][6:8])
    return 100 * right / words


# trees -----------------------------------------------------------------------------------------------------------


def projective(rng, low, high, head, heads):
    """Fill in the heads of words low to high - 1 with a random projective tree below `head`."""
    if low < high:
        root = int(rng.integers(low, high))
        heads[root] = head
        for side, end in ((low, root), (root + 1, high)):
            while side < end:
                cut = int(rng.integers(side + 1, end + 1))
                projective(rng, side, cut, root + 1, heads)
                side = cut


def is_projective(heads):
    arcs = [tuple(sorted((word, head))) for word, head in enumerate(heads, 1)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


def is_tree(heads):
    """One root, and every word reaches it."""
    for word in range(1, len(heads) + 1):
        steps = 0
        while word and steps <= len(heads):
            word, steps = heads[word - 1], steps + 1
        if word:
            return False
    return list(heads).count(0) == 1


def disturbed(rng, sentence, labels):
    """The sentence with some heads and labels changed; the heads are a projective tree."""
    heads = list(sentence.heads)
    if not is_projective(heads):
        projective(rng, 0, len(heads), 0, heads)
    for _ in range(len(heads)):
        other = heads.copy()
        other[rng.integers(len(heads))] = int(rng.integers(len(heads) + 1))
        if rng.random() < 0.5 and is_tree(other) and is_projective(other):
            heads = other
    new = [str(rng.choice(labels)) if rng.random() < 0.2 else label for label in sentence.deprels]
    return sentence.with_column("head", heads).with_column("deprel", new)


def made_up(rng, count):
    """Sentences with random projective trees."""
    labels = ["nsubj", "nmod", "nmod:poss", "nmod:tmod", "obl", "punct"]
    out = []
    for _ in range(count):
        size = int(rng.integers(1, 12))
        heads = [0] * size
        projective(rng, 0, size, 0, heads)
        names = [str(rng.choice(labels)) if head else "root" for head in heads]
        words = [f"w{i}" for i in range(size)]
        out.append(sentence_of(words).with_column("head", heads).with_column("deprel", names))
    return out


def treebank(data, name):
    """Sentences of a test set that are trees, without enhanced graphs (which old files write in other ways)."""
    path = next((data / "treebanks" / name).glob("test.conllu*"))
    found = [s for s in read_conllu(path) if is_tree(s.heads) and len(s) <= 60][:150]
    return [s.with_column("deps", ["_"] * len(s)) for s in found]


def files(tmp_path, rng, gold):
    """Gold trees and disturbed ones as files, and as lists of one hypothesis."""
    labels = sorted({label for s in gold for label in s.deprels})
    system = [disturbed(rng, s, labels) for s in gold]
    assert all(is_tree(s.heads) and is_projective(s.heads) for s in system)
    paths = [tmp_path / "gold.conllu", tmp_path / "system.conllu"]
    for path, side in zip(paths, (gold, system), strict=True):
        write_conllu(side, path)
    texts = Texts.of(text_of(s.heads, s.deprels) for s in system)
    references = tuple((text_of(s.heads, s.deprels),) for s in gold)
    size = len(gold)
    ids = tuple(map(str, range(size)))
    return paths, NBest(np.arange(size + 1), np.zeros((size, 1)), ("f",), ids, texts, references=references)


def check_against_lines(paths, lists):
    gold, system = (path.read_text(encoding="utf-8") for path in paths)
    for metric in METRICS:
        score = lists.with_metric(metric).score(lists.offsets[:-1])
        assert score == pytest.approx(by_lines(gold, system, metric), abs=1e-9)
        assert 0 < score < 100


def check_against_ud(paths, lists):
    """udtools 0.2.9, the evaluation script of the CoNLL 2018 and IWPT 2020 shared tasks."""
    udeval = pytest.importorskip("udtools.udeval", reason="udtools is not installed")
    loaded = []
    for path in paths:
        with path.open(encoding="utf-8") as file:
            loaded.append(udeval.load_conllu(file, str(path), {}))
    found = udeval.evaluate(*loaded)
    for metric in METRICS[:2]:
        stats = lists.with_metric(metric).stats.sum(axis=0)
        theirs = found[metric.name]
        assert stats.tolist() == [theirs.correct, theirs.gold_total]
        assert metric.score(stats) == pytest.approx(100 * theirs.f1, abs=1e-9)


@pytest.mark.parametrize("check", [check_against_lines, check_against_ud])
@pytest.mark.parametrize("seed", range(3))
def test_made_up_trees(tmp_path: Path, seed, check):
    rng = np.random.default_rng(seed)
    check(*files(tmp_path, rng, made_up(rng, 60)))


@pytest.mark.data
@pytest.mark.parametrize("check", [check_against_lines, check_against_ud])
@pytest.mark.parametrize("name", ["bg_btb_devtest", "en_ewt", "nl_lassysmall_r1.4", "sl_ssj500k_babushka"])
def test_treebanks(tmp_path: Path, data: Path, name, check):
    check(*files(tmp_path, np.random.default_rng(5), treebank(data, name)))


# forms and errors ------------------------------------------------------------------------------------------------


def test_a_worked_example():
    corpus = ([["2:det 3:nsubj 0:root", "3:det 3:nsubj:pass 0:root", "2:det", ""]], [["2:det 3:nsubj 0:root"]])
    assert stats_of(LAS(), corpus).tolist() == [[3, 3], [2, 3], [1, 3], [0, 3]]
    assert stats_of(LAS(subtypes=True), corpus).tolist() == [[3, 3], [1, 3], [1, 3], [0, 3]]
    assert stats_of(UAS(), corpus).tolist() == [[3, 3], [2, 3], [1, 3], [0, 3]]
    assert UAS().score(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [75, 0]
    assert nbest.LAS is LAS
    assert nbest.make_metric("las", subtypes=True) == LAS(subtypes=True)
    assert nbest.make_metric("uas") == UAS()


@pytest.mark.parametrize("token", ["det", ":det", "2:", "2", "-1:det", "02:det", "2.1:det", "٣:det", "_:_", "a:2"])
def test_what_is_no_arc(token):
    for metric in METRICS:
        message = rf"{metric.name}: hypothesis 1 of segment number 1 has the token '.*'; a tree has one token"
        with pytest.raises(ParameterError, match=message):
            metric.stats(*flat([["0:root"], ["0:root", f"0:root {token}"]]), [["0:root"]] * 2)
        with pytest.raises(ParameterError, match=rf"reference 1 of segment number 0 has the token '{token}'"):
            metric.stats(*flat([["0:root"], []]), [["0:root", token], ["0:root"]])


def test_forests_are_measured_on_their_best_strings():
    forests = toy_forests(3, forests=5)
    words = tuple(f"{i}:{word}" for i, word in enumerate(forests.vocabulary))
    renamed = dict(zip(forests.vocabulary, words, strict=True))
    references = tuple(tuple(" ".join(renamed[w] for w in r.split()) for r in refs) for refs in forests.references)
    forests = replace(forests, vocabulary=words, references=references).with_metric(LAS())
    for name in ("mert", "risk"):
        model = nbest.TRAINERS[name]().fit(forests)
        assert 0 <= model.scores_["dev"] <= 100
