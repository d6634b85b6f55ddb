"""The same kinds of bad forests for every format, with the exact line where the format has lines."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from nbest.base.errors import FormatError
from nbest.formats import FOREST_FORMATS, read_forests

HEAD = "# target ||| features ||| source-covered\n"


def jsonl(nodes: str, rest: str = "") -> str:
    """A good segment, then one with these nodes."""
    return f'{{"features": ["f"], "nodes": [[[[], [1], ["a"]]]]}}\n{{"features": ["f"]{rest}, "nodes": {nodes}}}\n'


def travatar(edges: str) -> str:
    return f'{{"nodes": [], "edges": []}}\n{{"nodes": [{{}}, {{}}], "edges": [{edges}]}}\n'


def cdec(edges: str, first: str = "") -> str:
    return f'{{{first}"edges":[{edges}],"node":{{"in_edges":[0]}}}}'


def slf(links: str, header: str = "start=0 end=1\n", nodes: int = 2) -> str:
    return f"VERSION=1.0\n{header}N={nodes} L={len(links.splitlines())}\n{links}"


RULE = '"rule":"[X] ||| s ||| t"'

CASES: dict[str, tuple[str, str, int | None, str]] = {
    # cycles
    "cycle forests": ("forests", jsonl('[[[[1], [1], []]], [[[0], [1], []]]]', ', "root": 1'), 2, "cycles"),
    "cycle forests, no root": ("forests", jsonl("[[[[1], [1], []]], [[[0], [1], []]]]"), 2, "cycles"),
    "own tail": ("forests", jsonl('[[[[0], [1], []]]]', ', "root": 0'), 2, "node 0 is among its own descendants"),
    "cycle travatar": (
        "travatar",
        travatar('{"head": 0, "tails": [1], "trg": ["x0"]}, {"head": 1, "tails": [0], "trg": ["x0"]}'),
        2,
        "cycles",
    ),
    "cycle cdec": ("cdec", cdec(f'{{"tail":[0],{RULE}}}'), None, "edge 0 has tail 0, and before it come only 0 nodes"),
    "cycle moses": ("moses-hypergraph", f"{HEAD}1 1\n1\n[0] a ||| ||| 0\n", 4, "a node before this one"),
    "cycle slf": ("slf", slf("J=0 S=0 E=1 a=1\nJ=1 S=1 E=0 a=1\n"), 5, "cycles"),
    "cycle slf, no ends": ("slf", slf("J=0 S=0 E=1\nJ=1 S=1 E=0\n", ""), 4, "no node can be the start"),
    # numbers that lead nowhere
    "dangling forests": ("forests", jsonl("[[[[1], [1], []]]]"), 2, "has tail node 1, and there are only nodes 0 to 0"),
    "negative forests": ("forests", jsonl("[[[[-1], [1], []]]]"), 2, "has tail node -1"),
    "root forests": ("forests", jsonl("[[]]", ', "root": 1'), 2, '"root" must be the number of a node, 0 to 0, got 1'),
    "word forests": ("forests", jsonl('[[[[], [1], [0]]]]'), 2, "this edge has 0"),
    "dangling travatar": ("travatar", travatar('{"head": 0, "tails": [2], "trg": ["x0"]}'), 2, "a tail must be"),
    "head travatar": ("travatar", travatar('{"head": 2, "trg": [""]}'), 2, '"head" must be the number of a node'),
    "word travatar": ("travatar", travatar('{"head": 0, "tails": [1], "trg": ["x1"]}'), 2, "names tail 1"),
    "dangling cdec": ("cdec", cdec(f'{{"tail":[5],{RULE}}}'), None, "edge 0 has tail 5"),
    "rule cdec": ("cdec", cdec('{"tail":[],"rule":3}'), None, 'edge 0 has rule 3, which is not in "rules"'),
    "edge cdec": ("cdec", '{"edges":[],"node":{"in_edges":[0]}}', None, "node 0 has edge 0"),
    "word cdec": ("cdec", cdec('{"rule":"[X] ||| s ||| [1]"}'), None, "edge 0 has 0 tails, and its rule names tail 1"),
    "feature cdec": ("cdec", cdec(f'{{"feats":[1,1],{RULE}}}', '"features":["f"],'), None, "edge 0 has feature 1"),
    "headless cdec": ("cdec", f'{{"edges":[{{{RULE}}}]}}', None, "edge 0 is in no node"),
    "two heads cdec": ("cdec", cdec(f"{{{RULE}}}")[:-1] + ',"node":{"in_edges":[0]}}', None, "is in nodes 0 and 1"),
    "dangling moses": ("moses-hypergraph", f"{HEAD}2 1\n0\n1\n[7] a ||| ||| 0\n", 5, "a node before this one"),
    "dangling slf": ("slf", slf("J=0 S=0 E=1\nJ=1 S=2 E=1\n"), 5, "has tail node 2, and there are only nodes 0 to 1"),
    "end slf": ("slf", slf("J=0 S=0 E=1\n", "start=0\nend=2\n"), 4, "end=2, and N= announces 2 nodes"),
    # roots
    "two roots forests": ("forests", jsonl("[[[[], [1], []]], []]"), 2, "two roots: nodes 0 and 1"),
    "two roots slf": ("slf", slf("J=0 S=0 E=1\nJ=1 S=0 E=2\n", "", 3), 4, "two roots: no link leads out of nodes"),
    "two starts slf": ("slf", slf("J=0 S=0 E=2\nJ=1 S=1 E=2\n", "", 3), 4, "two starts: no link leads into nodes"),
    # features
    "missing forests": ("forests", '{"features": ["f"], "nodes": [[[[], [], []]]]}', 1, "an edge has 0 values"),
    "missing name forests": (
        "forests",
        '{"features": ["f"], "nodes": [[[[], [1], []]]]}\n{"nodes": [[[[], [], []]]]}',
        2,
        "feature 'f' is missing; every edge needs f",
    ),
    "strange forests": (
        "forests",
        '{"features": ["f"], "nodes": [[[[], [1], []]]]}\n{"features": ["g", "f"], "nodes": [[[[], [1, 2], []]]]}',
        2,
        "feature 'g' is not in the forests before; they have f",
    ),
    "missing slf": ("slf", slf("J=0 S=0 E=1 W=a a=1 l=1\nJ=1 S=0 E=1 W=b a=1\n"), 5, "'lm' is missing; every"),
    "missing slf, word": ("slf", slf("J=0 S=0 E=1 W=a a=1\nJ=1 S=0 E=1 W=b\n"), 5, "feature 'acoustic' is missing"),
    "twice forests": ("forests", '{"features": ["f", "f"], "nodes": []}', 1, "feature 'f' is named twice"),
    "twice cdec": ("cdec", cdec(f'{{"feats":["f",1,"f",1],{RULE}}}'), None, "'f' of edge 0 is named twice"),
    "twice moses": ("moses-hypergraph", f"{HEAD}1 1\n1\na ||| f=1 f=1 ||| 0\n", 4, "feature 'f' is named twice"),
    "twice slf": ("slf", slf("J=0 S=0 E=1 a=1 acoustic=1\n"), 4, "feature 'acoustic' is named twice"),
    "twice travatar": ("travatar", travatar('{"head": 0, "trg": [""], "features": {"f": 1, "f": 1}}'), 2, "twice"),
    # cut short
    "cut moses": ("moses-hypergraph", f"{HEAD}2 2\n1\na ||| ||| 0\n1\n", 5, "the file ends here; expected an edge"),
    "edges moses": ("moses-hypergraph", f"{HEAD}1 2\n1\na ||| ||| 0\n", 4, "2 edges are announced, and there are 1"),
    "more moses": ("moses-hypergraph", f"{HEAD}1 1\n1\na ||| ||| 0\nb ||| ||| 0\n", 5, "more text after the last of 1"),
    "cut slf": ("slf", "N=2 L=2\nJ=0 S=0 E=1\n", 2, "L= announces 2 links, and there are 1; the file may be cut short"),
    "nodes slf": ("slf", "N=3 L=1\nI=0\nI=1\nJ=0 S=0 E=1\n", 4, "N= announces 3 nodes, and there are 2"),
    "huge slf": ("slf", "N=99999999 L=1\nJ=0 S=0 E=1\n", 2, "1 links cannot join them"),
    "sizes slf": ("slf", "L=1\nJ=0 S=0 E=1\n", None, "N= (the number of nodes) is missing"),
    # what is not supported
    "sub slf": ("slf", "SUBLAT=x\nN=1 L=0\n.\n", 1, "sub-lattices are not supported"),
    "sub node slf": ("slf", "N=1 L=0\nI=0 L=x\n", 2, "sub-lattices are not supported"),
    "two lattices slf": ("slf", slf("J=0 S=0 E=1\n") + ".\n", 5, "sub-lattices are not supported"),
    "node scores slf": ("slf", "N=1 L=0\nI=0 a=3\n", 2, "scores of nodes are not supported"),
    "both words slf": ("slf", "N=2 L=1\nI=0\nI=1 W=b\nJ=0 S=0 E=1 W=a\n", 4, "expected words on links or on nodes"),
    "backwards slf": ("slf", "dir=b\nN=1 L=0\n", 1, "run backwards"),
    "base slf": ("slf", "base=1\nN=1 L=0\n", 1, "base= must be 0 or the base of a logarithm"),
    "probability slf": ("slf", slf("J=0 S=0 E=1 a=-1\n", "base=0\n"), 4, "must be a probability (base=0), got -1"),
    "link twice slf": ("slf", slf("J=0 S=0 E=1\nJ=0 S=0 E=1\n"), 5, "link 0 is defined twice"),
    "parses travatar": ("travatar", travatar('{"head": 0, "tails": [1]}'), 2, "forests of parses"),
    # other
    "some words": ("forests", jsonl('[[[[], [1], ["a"]], [[], [1]]]]'), 2, "some edges have words and others"),
    "no words after words": ("forests", jsonl("[[[[], [1]]]]"), 2, "edges without words; those before have some"),
    "white space": ("forests", jsonl('[[[[], [1], ["a b"]]]]'), 2, "must not be empty or hold white space"),
    "empty word": ("forests", jsonl('[[[[], [1], [""]]]]'), 2, "must not be empty or hold white space"),
    "true": ("forests", jsonl("[[[[], [true], []]]]"), 2, "features must be finite numbers, got True (edge 0)"),
    "tail text": ("forests", jsonl('[[[["0"], [1], []]]]'), 2, "tails must be numbers of nodes, got '0'"),
    "id twice": ("forests", '{"id": "a", "nodes": []}\n{"id": "a", "nodes": []}', 2, "is already on line 1"),
    "misspelt": ("forests", '{"node": [], "id": "a"}', 1, "did you mean 'nodes'?"),
    "source": ("forests", '{"nodes": [], "source": "x"}\n{"nodes": []}', 2, "has no source while others have"),
    "one line of two": ("forests", jsonl("[[[[], [1], []"), 2, "not valid JSON"),
    "fields moses": ("moses-hypergraph", f"{HEAD}1 1\n1\na ||| b\n", 4, "got 2 fields"),
    "name moses": ("moses-hypergraph", f"{HEAD}1 1\n1\na ||| =1 ||| 0\n", 4, "expected name=value, got '=1'"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_complaint(tmp_path: Path, name: str) -> None:
    format, contents, line, message = CASES[name]
    path = tmp_path / "input"
    path.write_text(contents)
    with pytest.raises(FormatError) as caught:
        read_forests(path, format)
    assert caught.value.line == line, str(caught.value)
    assert caught.value.path == str(path)
    assert message in caught.value.reason


VALUES = {
    "forests": (lambda v: jsonl(f"[[[[], [{v}], []]]]"), 2),
    "travatar": (lambda v: travatar(f'{{"head": 0, "trg": [""], "features": {{"f": {v}}}}}'), 2),
    "cdec": (lambda v: cdec(f'{{"feats":["f",{v}],{RULE}}}'), None),
    "moses-hypergraph": (lambda v: f"{HEAD}1 1\n1\na ||| f={v} ||| 0\n", 4),
    "slf": (lambda v: slf(f"J=0 S=0 E=1 a=1\nJ=1 S=0 E=1 a={v}\n"), 5),
}


@pytest.mark.parametrize("value", ["nan", "NaN", "inf", "-Infinity", "1e999", "1_000", "\u0661", "0x10", "one", "1e"])
@pytest.mark.parametrize("format", VALUES)
def test_not_a_finite_number(tmp_path: Path, format: str, value: str) -> None:
    make, line = VALUES[format]
    path = tmp_path / "input"
    path.write_text(make("-1.5"))
    assert read_forests(path, format).edges > 0
    path.write_text(make(value))
    with pytest.raises(FormatError) as caught:
        read_forests(path, format)
    assert format == "cdec" or caught.value.line == line


@pytest.mark.parametrize("format", FOREST_FORMATS.values(), ids=FOREST_FORMATS)
def test_broken_utf8_names_its_line(tmp_path: Path, format) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "input"
    lines = next(iter(format.example.values())).encode().splitlines(keepends=True)
    for at, line in enumerate(lines):
        path.write_bytes(b"".join([*lines[:at], line[:-1] + b"\xe2\x82" + line[-1:], *lines[at + 1 :]]))
        with pytest.raises(FormatError, match="not valid UTF-8") as caught:
            read_forests(path, format.name)
        assert caught.value.line == at + 1
    path.write_bytes(gzip.compress(b"".join(lines))[:-5])
    with pytest.raises(FormatError, match="compressed file is damaged"):
        read_forests(path, format.name)
