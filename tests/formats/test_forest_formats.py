"""What is particular to each format of forests."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nbest.base.errors import CapabilityError, FormatError, ParameterError
from nbest.corpus import Forests
from nbest.forests.kbest import kbest
from nbest.formats import FOREST_FORMATS, read_forests, write_forests
from nbest.testing.forests import enumerate_derivations, toy_forests

DATA = Path(__file__).parents[1] / "data"
HEAD = "# target ||| features ||| source-covered\n"


@pytest.fixture
def reading(tmp_path: Path) -> Callable[..., Forests]:
    def read(format: str, contents: str, **options: object) -> Forests:
        path = tmp_path / "input"
        path.write_text(contents)
        return read_forests(path, format, **options)

    return read


def texts(forests: Forests, i: int = 0) -> list[str]:
    return [" ".join(derivation.words) for derivation in enumerate_derivations(forests, i)]


# forests --------------------------------------------------------------------------------------------------------


def test_nodes_in_any_order(reading) -> None:
    nodes = '[[[[2, 1], [1], [1, "x", 0]]], [[[], [2], ["b"]]], [[[], [3], ["c"]], [[1], [4], ["d", 0]]]]'
    for root in ('"root": 0, ', ""):
        forests = reading("forests", f'{{{root}"features": ["f"], "nodes": {nodes}}}')
        assert texts(forests) == ["b x c", "b x d b"]
        assert forests.tails.tolist() == [0, 1, 0]  # node 1 came first, then 2, then the root
        assert forests.features.ravel().tolist() == [2, 3, 4, 1]


def test_unreachable_nodes_stay_and_those_above_the_root_go(reading) -> None:
    nodes = '[[[[], [1], ["a"]]], [[[], [2], ["b"]]], [[[1], [3], [0]]], [[[2], [4], [0]], [[0], [5], []]]]'
    forests = reading("forests", f'{{"root": 1, "features": ["f"], "nodes": {nodes}}}')
    assert forests.features.ravel().tolist() == [1, 2]  # nodes 2 and 3 have the root below them
    assert texts(forests) == ["b"]
    forests = reading("forests", f'{{"root": 2, "features": ["f"], "nodes": {nodes}}}')
    assert forests.features.ravel().tolist() == [1, 2, 3]


def test_deep_lattice(reading) -> None:
    count = 50000
    nodes = [[[[v + 1], [1.0], []]] for v in range(count)] + [[[[], [1.0], []]]]
    forests = reading("forests", json.dumps({"features": ["f"], "nodes": nodes}))
    assert forests.nodes == count + 1
    assert forests.tails.tolist() == list(range(count))


def test_order_of_features_may_differ(reading) -> None:
    one = '{"features": ["f", "g"], "nodes": [[[[], [1, 2]]]]}\n{"nodes": []}\n'
    forests = reading("forests", one + '{"features": ["g", "f"], "nodes": [[[[], [4, 3]]]]}\n')
    assert forests.feature_names == ("f", "g")
    assert forests.features.tolist() == [[1, 2], [3, 4]]
    assert forests.symbols is None
    assert forests.ids == ("0", "1", "2")


def test_weights_are_kept_where_forests_agree(reading, tmp_path: Path) -> None:
    line = '{"features": ["f"], "weights": {"f": %s}, "nodes": [[[[], [1]]]]}\n'
    forests = reading("forests", line % 2 + line % 2)
    assert dict(forests.own_weights) == {"f": 2.0}
    write_forests(forests, tmp_path / "x")
    assert dict(read_forests(tmp_path / "x").own_weights) == {"f": 2.0}
    assert dict(reading("forests", line % 2 + line % 3 + line % 3).own_weights) == {}


def test_words_that_cannot_be_written(tmp_path: Path) -> None:
    toys = toy_forests(forests=1)
    for name in FOREST_FORMATS:
        if name != "slf":
            with pytest.raises(CapabilityError, match="cannot hold the word 'a b'"):
                write_forests(replace(toys, vocabulary=(*toys.vocabulary[:-1], "a b")), tmp_path / "x", name)
            assert not (tmp_path / "x").exists()


# cdec -----------------------------------------------------------------------------------------------------------

CDEC = (  # from the test of cdec itself, hg_test.h, in another order of keys
    '{"rules":[1,"[X] ||| [X] |||",2,"[X] ||| blue ||| blau"],"features":["f1","f2"],'
    '"edges":[{"tail":[],"feats":[0,-0.2,1,0.25],"rule":2},{"feats":["f2",null,"f3",1],"rule":1}],'
    '"node":{"in_edges":[0,1]},"edges":[{"tail":[0],"feats":null,"rule":"[S] ||| [X,1] ||| [1] . ||| f1=9"}],'
    '"node":{"in_edges":[2],"cat":null}}'
)


def test_cdec(reading) -> None:
    forests = reading("cdec", CDEC)
    assert forests.feature_names == ("f1", "f2", "f3")
    assert forests.features.tolist() == [[-0.2, 0.25, 0], [0, 0, 1], [0, 0, 0]]
    assert texts(forests) == ["blau .", "."]
    assert reading("cdec", "{}").nodes == 0
    assert reading("cdec", CDEC, features=["f2"]).features.tolist() == [[0.25], [0], [0]]
    assert reading("cdec", CDEC, features="f3,f2").feature_names == ("f3", "f2")
    with pytest.raises(FormatError, match="no feature 'f4' in it; it has f1, f2, f3"):
        reading("cdec", CDEC, features=["f4"])


def test_cdec_without_rules(reading) -> None:
    forests = reading("cdec", '{"edges":[{"tail":[],"feats":[]}],"node":{"in_edges":[0]}}')
    assert forests.symbols is None
    assert forests.edges == 1


def test_cdec_over_several_lines(reading) -> None:
    with pytest.raises(FormatError, match=r"input:2: not valid JSON"):
        reading("cdec", '{"edges":[],\n"node" {}}')


# moses ----------------------------------------------------------------------------------------------------------


def test_moses_marks_and_last_equals_sign(reading) -> None:
    contents = f"{HEAD}# a comment\n2 2\n# node 0\n1\n<s> |||  ||| 0\n# node 1\n1\n[0] a </s>  ||| x=y_1=2 ||| 3\n"
    forests = reading("moses-hypergraph", contents)
    assert texts(forests) == ["a"]
    assert forests.feature_names == ("x=y_1",)
    assert forests.features.tolist() == [[0], [2]]
    assert texts(reading("moses-hypergraph", contents, marks=True)) == ["<s> a </s>"]


def test_moses_needs_each_tail_named_once(tmp_path: Path) -> None:
    toys = toy_forests(3, forests=1)
    assert toys.symbols is not None
    with pytest.raises(CapabilityError, match="needs the words of an edge to name each tail once; edge"):
        write_forests(replace(toys, symbols=np.maximum(toys.symbols, -1)), tmp_path / "x", "moses-hypergraph")
    with pytest.raises(CapabilityError, match="needs the words of the edges"):
        write_forests(replace(toys, symbols=None, symbol_offsets=None), tmp_path / "x", "moses-hypergraph")


# travatar -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target", ['{"words": ["a", -2, "x0", -1]}', '"\\"a\\" x1 \\"x0\\" x0"', '"\\"a\\" x1 \\"x0\\" x0 @ NP"']
)
def test_travatar_target_sides(reading, target: str) -> None:
    leaf = '{{"head": {}, "trg": ["\\"{}\\""], "features": {{"f": 1}}}}'
    edges = f'{{"head": 0, "tails": [1, 2], "trg": [{target}, "x0"]}}, {leaf.format(1, "b")}, {leaf.format(2, "c")}'
    forests = reading("travatar", f'{{"nodes": [{{}}, {{}}, {{}}], "edges": [{edges}]}}')
    assert texts(forests) == ["a c x0 b"]
    assert sorted(forests.features.ravel().tolist()) == [0, 1, 1]
    assert forests.sources is None


def test_travatar_escapes(reading) -> None:
    target = json.dumps(r'"\"" "\\"')
    assert texts(reading("travatar", f'{{"nodes": [{{}}], "edges": [{{"head": 0, "trg": [{target}]}}]}}')) == ['" \\']


# slf ------------------------------------------------------------------------------------------------------------


def slf(links: str, header: str = "", nodes: str = "", count: int = 2) -> str:
    return f"{header}\nN={count} L={len(links.splitlines())}\n{nodes}{links}"


def test_slf_words_and_features(reading) -> None:
    nodes = "I=0 W=<s>\nI=1 W=to(3) v=3\nI=2 W=[NOISE]\nI=3 W='cause\nI=4 W=!SENT_END\n"
    links = "".join(f"J={k} S={s} E={e} a=-{k}.5 p=0.1\n" for k, (s, e) in enumerate([(0, 1), (1, 2), (2, 3), (3, 4)]))
    contents = slf(links, nodes=nodes, count=5)
    forests = reading("slf", contents)
    assert texts(forests) == ["to 'cause"]
    assert forests.feature_names == ("acoustic", "words")
    assert forests.features.tolist() == [[0, 0], [-0.5, 1], [-1.5, 0], [-2.5, 1], [-3.5, 0]]
    kept = reading("slf", contents, fillers=True)
    assert texts(kept) == ["to [NOISE] 'cause"]
    assert kept.column("words").tolist() == [0, 1, 1, 1, 0]


def test_slf_words_on_links_and_quotes(reading) -> None:
    words = ["a", '"b"', r"\"c", r"d\\e", r"gr\303\266n", "'f", "'g'"]
    links = "".join(f"J={k} S={k} E={k + 1} W={word} l=-1\n" for k, word in enumerate(words))
    assert texts(reading("slf", slf(links, count=8))) == ["a b \"c d\\e grön 'f g"]


def test_slf_word_of_the_start_is_said(reading) -> None:
    forests = reading("slf", slf("J=0 S=1 E=0 a=-1\n", nodes="I=0 W=b\nI=1 W=a\n"))
    assert texts(forests) == ["a b"]
    assert forests.features.tolist() == [[0, 1], [-1, 1]]


@pytest.mark.parametrize(("base", "factor"), [("10", math.log(10)), ("2", math.log(2)), ("2.71828182845905", 1.0)])
def test_slf_base(reading, base: str, factor: float) -> None:
    forests = reading("slf", slf("J=0 S=0 E=1 a=-3 l=-0.5 x2=4\n", f"base={base}"))
    assert forests.features[1].tolist() == [-3 * factor, -0.5 * factor, 4 * factor, 0]
    assert ("acoustic" in forests.origins) == (factor != 1)
    assert "words" not in forests.origins
    if factor != 1:
        assert forests.origins["x2"].log_base == float(base)


def test_slf_probabilities_and_floor(reading) -> None:
    assert reading("slf", slf("J=0 S=0 E=1 a=0.25\n", "base=0.0")).features[1, 0] == math.log(0.25)
    for header, value in (("base=0", "0"), ("", "-inf"), ("", "-Infinity")):
        contents = slf(f"J=0 S=0 E=1 a={value}\n", header)
        with pytest.raises(FormatError, match=r"input:3: feature 'acoustic' must be a finite number"):
            reading("slf", contents)
        assert reading("slf", contents, floor=-1e10).features[1, 0] == -1e10
    assert reading("slf", slf("J=0 S=0 E=1 a=-1e30\n")).features[1, 0] == -1e30
    with pytest.raises(ParameterError, match="'floor' of slf must be a finite number, got inf"):
        reading("slf", contents, floor=math.inf)


def test_slf_links_without_word_and_score(reading) -> None:
    forests = reading("slf", slf("J=0 S=0 E=1 W=a x1=1\nJ=1 S=1 E=2\n", count=3))
    assert forests.features.tolist() == [[0, 0], [1, 1], [0, 0]]


def test_slf_nodes_beside_the_paths(reading) -> None:
    """0 -> 1 -> 2 is the lattice; 3 is not reached, 4 leads nowhere, 5 comes after the end."""
    links = "J=0 S=0 E=1 a=1\nJ=1 S=1 E=2 a=2\nJ=2 S=3 E=1 a=3\nJ=3 S=1 E=4 a=4\nJ=4 S=2 E=5 a=5\nJ=5 S=4 E=5 a=6\n"
    forests = reading("slf", slf(links, "start=0 end=2", count=6))
    assert forests.nodes == 5
    assert sorted(forests.column("acoustic").tolist()) == [0, 1, 2, 3, 4]
    assert len(enumerate_derivations(forests, 0)) == 1


def test_slf_weights_of_the_header(reading) -> None:
    header = "lmscale=12.5 wdpenalty=-2\nbase=10"
    forests = reading("slf", slf("J=0 S=0 E=1 W=a a=-1 l=-1\n", header))
    assert dict(forests.own_weights) == {"acoustic": 1.0, "lm": 12.5, "words": -2 * math.log(10)}
    assert dict(reading("slf", slf("J=0 S=0 E=1 W=a a=-1\n")).own_weights) == {}


def test_slf_long_names(reading) -> None:
    contents = "NODES=2\nLINKS=1\nx1scale=2\nJ=0 START=0 END=1 WORD=a acoustic=-1 language=-2 ngram=-3 r=-4 ds=-5\n"
    assert reading("slf", contents).feature_names == (
        "acoustic", "lm", "ngram", "pronunciation", "duration", "words",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["pocketsphinx.slf"])
def test_slf_of_pocketsphinx(name: str, tmp_path: Path) -> None:
    """The best path by the recogniser's own scores is the text it gave."""
    forests = read_forests(DATA / name)
    truth = json.loads((DATA / name).with_suffix(".json").read_text())
    scores = forests.column("acoustic") + truth["word_score"] * forests.column("words")
    best: list[tuple[float, str]] = []
    for v in range(forests.nodes):
        found = [(-math.inf, "")]
        for e in range(int(forests.edge_offsets[v]), int(forests.edge_offsets[v + 1])):
            tails = forests.tails[forests.tail_offsets[e] : forests.tail_offsets[e + 1]]
            score, text = best[tails[0]] if len(tails) else (0.0, "")
            own = forests.symbols[forests.symbol_offsets[e] : forests.symbol_offsets[e + 1]]
            words = [forests.vocabulary[symbol] for symbol in own if symbol >= 0]
            found.append((score + scores[e], " ".join([text, *words]).strip()))
        best.append(max(found))
    assert best[-1][1] == truth["text"]
    assert best[-1][0] + truth["word_score"] == pytest.approx(truth["score"], abs=1e-3)  # and once for the end
    found = kbest(forests, scores, 1)
    assert list(found.texts()) == [truth["text"]]
    assert found.sums(scores)[0] == pytest.approx(best[-1][0])
    write_forests(forests, tmp_path / "again.slf")
    again = read_forests(tmp_path / "again.slf")
    assert np.array_equal(again.features, forests.features)
    assert np.array_equal(again.tails, forests.tails)


def lattice() -> Forests:
    return FOREST_FORMATS["slf"].read("x", data=next(iter(FOREST_FORMATS["slf"].example.values())).encode())


def test_slf_holds_only_lattices(tmp_path: Path) -> None:
    good = lattice()
    with pytest.raises(CapabilityError, match="slf cannot hold a feature called 'f'; it has "):
        write_forests(replace(good, feature_names=("acoustic", "f", "words")), tmp_path / "x", "slf")
    with pytest.raises(CapabilityError, match="the feature 'words' is not that count"):
        write_forests(replace(good, feature_names=("words", "lm", "acoustic")), tmp_path / "x", "slf")
    with pytest.raises(CapabilityError, match=r"cannot hold the word '!NULL'"):
        write_forests(replace(good, vocabulary=("!NULL", *good.vocabulary[1:])), tmp_path / "x", "slf")
    with pytest.raises(CapabilityError, match=r"slf holds lattices, .* edge"):
        write_forests(toy_forests(2).only_features([]), tmp_path / "x", "slf")
    assert not (tmp_path / "x").exists()


def test_slf_start_is_added_where_there_is_none(tmp_path: Path) -> None:
    lists = '{"features": ["lm"], "nodes": [[[[], [-1], ["a"]], [[], [-2], ["b"]], [[], [-3], []]]]}'
    (tmp_path / "x").write_text(lists)
    write_forests(read_forests(tmp_path / "x"), tmp_path / "y.slf")
    forests = read_forests(tmp_path / "y.slf")
    assert texts(forests) == ["a", "b", ""]
    assert forests.features[1:].tolist() == [[-1, 1], [-2, 1], [-3, 0]]
