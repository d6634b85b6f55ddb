"""Features of arcs against templates read in plain Python; scores and gradients against sums and differences."""

from __future__ import annotations

import numpy as np
import pytest

from nbest.base.types import Floats, Ints
from nbest.formats.conllu import Sentence
from nbest.systems.parser.parser import Parser
from nbest.systems.parser.scores import places_of
from nbest.systems.parser.train import GRADIENT, WEIGHT, _step, ascend, scored, train_parser
from nbest.systems.parser.trees import projective, text_of
from nbest.systems.parser.views import EXPERTS, View, templates_of
from tests.systems.parser_brute import treebank

EVERYTHING = {"arc_floor": 0.0, "labels_an_arc": 100}


@pytest.fixture(scope="module")
def parser() -> Parser:
    return train_parser(treebank(1), arc_bits=10, label_bits=6, frequent=2, epochs=2)


# a plain twin of the templates ------------------------------------------------------------------------------------


def columns_of(one: Sentence, at: int, frequent: frozenset[str]) -> dict[str, str]:
    """What templates may name of word `at` (0: the root), without XPOS or FEATS given."""

    def own(i: int) -> dict[str, str]:
        if i == 0:
            return dict.fromkeys(("form", "tag", "fine", "frequent", "prefix", "ending", "ending2", "shape"), "ROOT")
        form, tag = one.forms[i - 1], one.upos[i - 1]
        low = form.lower()
        shape = {"run": "x", "Dogs": "Xx", "a": "x", "of": "x", "cats": "x", "1st": "0x"}[form]
        usual = low if low in frequent else f"tag {tag}"
        return {
            "form": low, "tag": tag, "fine": f"{tag} _", "frequent": usual, "prefix": low[:3], "ending": low[-3:],
            "ending2": low[-2:], "shape": shape,
        }  # fmt: skip

    out = own(at)
    for name, shift in (("tag", -1), ("tag", 1), ("tag", -2), ("tag", 2), ("fine", -1), ("fine", 1),
                        ("frequent", -1), ("frequent", 1)):  # fmt: skip
        near = at + shift
        inside = at > 0 and 1 <= near <= len(one)
        out[f"{name}{shift:+d}"] = own(near)[name] if inside else "NONE"
    return out


def features(one: Sentence, h: int, d: int, template: str, frequent: frozenset[str]) -> list[tuple[object, ...]]:
    """The features of an arc by one template, in words; in no order."""
    sides, _, kind = template.partition("@")
    head, dependent = (part.split() for part in sides.split(">"))
    values = (
        template,
        tuple(columns_of(one, h, frequent)[name] for name in head),
        tuple(columns_of(one, d, frequent)[name] for name in dependent),
    )
    tags = {one.upos[b - 1] for b in range(min(h, d) + 1, max(h, d))}
    far = abs(h - d) if abs(h - d) <= 5 else 6 if abs(h - d) <= 10 else 7
    return {
        "": [values],
        "side": [(*values, h < d)],
        "far": [(*values, h < d, far)],
        "between": [(*values, h < d, tag) for tag in tags],
        "all-between": [(*values, h < d, frozenset(tags))],
    }[kind]


@pytest.mark.parametrize("expert", EXPERTS)
def test_arcs_share_a_weight_just_where_they_share_a_feature(parser: Parser, expert: str) -> None:
    """With so many weights that hashes do not meet by chance."""
    bank = treebank(3, 6, 13)
    frequent = frozenset(parser.vocabulary.frequent)
    offsets, columns, tags = parser.vocabulary.encode(bank)
    for joined in (False, True):
        for template in EXPERTS[expert][joined]:
            view = View((), (template,)) if joined else View((template,), ())
            place_of: dict[object, int] = {}
            for one, a, b in zip(bank, offsets[:-1], offsets[1:], strict=True):
                n = len(one)
                sizes = (1, 1 << 50, 1) if joined else (1 << 50, 1, 1)
                where = places_of(columns[a:b], tags[a:b], templates_of([view]), *sizes)
                for h in range(n + 1):
                    for d in range(1, n + 1):
                        arc = h * n + d - 1
                        got = where.places[where.offsets[arc, 0] : where.offsets[arc + 1, 0]]
                        expected = features(one, h, d, template, frequent) if h != d else []
                        check_places(place_of, set(expected), set(got.tolist()))
            assert len(set(place_of.values())) == len(place_of)


def check_places(place_of: dict[object, int], expected: set[tuple[object, ...]], got: set[int]) -> None:
    """Features that were met before are where they were; those that are new are anywhere else."""
    assert len(expected) == len(got)
    known = {place_of[feature] for feature in expected if feature in place_of}
    assert known <= got
    new = sorted((feature for feature in expected if feature not in place_of), key=str)
    assert not (got - known) & set(place_of.values())
    if len(new) == 1:  # of several which is which is seen later
        place_of[new[0]] = (got - known).pop()


# scores and gradients ---------------------------------------------------------------------------------------------


def sizes_of(parser: Parser) -> tuple[int, int, int, int]:
    return parser.arc_size, parser.rows, len(parser.labels), parser.vocabulary.tag_count


def test_features_are_sums_of_hashed_weights(parser: Parser) -> None:
    """Two roads: the probability of a tree in a forest is the one that training sees."""
    compared = 0
    for one in treebank(1, 12, 6)[:6]:  # seen in training, so its labels are options
        if len(one) > 4:
            continue
        found = parser.lists([one], 10**5, **EVERYTHING)
        assert found.texts is not None
        _, columns, tags = parser.vocabulary.encode([one])
        heads = np.array(projective(one.heads))
        row = dict(zip(found.texts, found.features, strict=True))[text_of(heads, one.deprels)]
        labels = np.array([parser.labels.index(name) for name in one.deprels])
        for x in range(len(parser.names)):
            own = parser.templates[parser.templates[:, 0] == x]
            arcs = scored(columns, tags, parser.options, own, sizes_of(parser), parser.tables[x])
            gradient, touched = np.zeros(parser.tables.shape[1]), np.empty(10**6, np.int64)
            assert row[x] == pytest.approx(ascend(*arcs, (heads, labels), 0.0, (gradient, touched))[0], abs=1e-4)
            compared += len(one)
    assert compared


@pytest.mark.parametrize("expert", range(len(EXPERTS)))
def test_gradient_against_finite_differences(parser: Parser, expert: int) -> None:
    rng = np.random.default_rng(expert)
    one = next(s for s in treebank(1) if len(s) >= 4)  # seen in training, so its labels are options
    _, columns, tags = parser.vocabulary.encode([one])
    heads = np.array(projective(one.heads))
    labels = np.array([parser.labels.index(deprel) for deprel in one.deprels])
    own = parser.templates[parser.templates[:, 0] == expert]
    table = rng.normal(0, 1, parser.tables.shape[1])

    def value(table: Floats, gradient: Floats) -> tuple[float, Ints]:
        touched = np.empty(10**6, np.int64)
        arcs = scored(columns, tags, parser.options, own, sizes_of(parser), table)
        found, count = ascend(*arcs, (heads, labels), 0.0, (gradient, touched))
        return found, touched[:count]

    gradient = np.zeros_like(table)
    _, touched = value(table, gradient)
    assert set(np.flatnonzero(gradient)) <= set(touched)
    size, width = parser.arc_size, len(parser.labels)
    where = np.unique(scored(columns, tags, parser.options, own, sizes_of(parser), table)[1].places)
    rows = where[where >= size]
    joined = (rows[:, None] + np.arange(width)).ravel()  # whether the gradient reaches them or not
    for places in (where[where < size], joined):
        some = rng.choice(places, min(30, len(places)), replace=False)
        assert len(some)
        for place in some:
            step = np.zeros_like(table)
            step[place] = 1e-5
            rise = value(table + step, gradient.copy())[0] - value(table - step, gradient.copy())[0]
            assert gradient[place] == pytest.approx(rise / 2e-5, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(("rate", "l2"), [(0.3, 1.0), (0.05, 0.0), (2.0, 10.0)])
def test_steps_follow_the_regularised_leader(rate: float, l2: float) -> None:
    """McMahan et al. (2013), algorithm 1 with beta 1: a weight is the maximum of all that was asked for so far."""
    state, rng = np.zeros(4), np.random.default_rng(1)
    gradients, pulls, weights = [], [], [0.0]
    for _ in range(20):
        before = np.sqrt(np.sum(np.square(gradients)))
        gradients.append(rng.normal(0, 3))
        pulls.append((np.sqrt(np.sum(np.square(gradients))) - before) / rate)

        def slope(w: float) -> float:
            asked = sum(g - pull * (w - at) for g, pull, at in zip(gradients, pulls, weights, strict=True))
            return asked - (l2 + 1 / rate) * w

        state[GRADIENT] = gradients[-1]
        _step(state, rate, l2)
        assert state[GRADIENT] == 0
        assert slope(state[WEIGHT]) == pytest.approx(0, abs=1e-9)
        weights.append(float(state[WEIGHT]))
