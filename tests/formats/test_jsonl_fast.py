"""Regular JSON lines: what the kernel gives is what the plain reader gives, and it gives something where it should."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from nbest.base.errors import FormatError
from nbest.corpus import NBest
from nbest.formats.lists import jsonl, jsonl_fast
from nbest.formats.lists.lines import Piece
from nbest.testing.formats import mutant

NUMBERS = [
    "0",
    "-0",
    "-0.0",
    "1",
    "-12.5",
    "1e5",
    "2E-3",
    "0.1",
    "123456789012345678901",
    "1.7976931348623157e308",
    "5e-324",
]
NONE = ["+1", ".5", "5.", "01", "-", "1e", "0x1", "1e999", "nan", "NaN", "1_0", "true", "null", "1.e5", "-.5", "00"]


def _data(source: random.Random, lines: int = 8) -> bytes:
    """Lines of one of several forms."""
    names = source.sample(["am", "lm", "größe", 'quo"te', "tab\tname"], source.randrange(0, 4))
    ascii_only, named, spaced, scored, answered, grouped, made_by = (source.random() < 0.5 for _ in range(7))
    group, groups = source.choice(["group", "doc"]), ["7", '"7"', '"süß"']
    texts = ["", "a house", "größer", "\u2028 and \x7f", 'say "no"', "back\\slash", "line\nbreak", "\U0001f600 smile"]
    rows = []
    for i in range(lines):
        hypotheses = []
        for _ in range(source.randrange(0 if i else 1, 4)):
            made = ", ".join(f"{json.dumps(name, ensure_ascii=ascii_only)}: {source.choice(NUMBERS)}" for name in names)
            text = json.dumps(source.choice(texts), ensure_ascii=ascii_only)
            parts = [f'"text": {text}', f'"features": {{{made}}}']
            parts += [f'"score": {source.choice(NUMBERS)}'] if scored else []
            parts += [f'"answer": {json.dumps(source.choice(texts))}'] if answered else []
            parts += [f'"system": {json.dumps(source.choice(texts))}'] if made_by else []
            hypotheses.append(f"{{{', '.join(parts)}}}")
        head = f'"id": "utt{i}", ' if named else f'"id": {i}, '
        if spaced:
            head += f'"source": {json.dumps(source.choice(texts))}, '
            head += f'"references": ["a", {json.dumps(source.choice(texts))}], '
        head += f'"{group}": {source.choice(groups)}, ' if grouped else ""
        rows.append(f'{{{head}"hypotheses": [{", ".join(hypotheses)}]}}')
    return ("\n".join(rows) + "\n" * source.randrange(3)).encode()


def _both(data: bytes) -> tuple[NBest | str, NBest | None]:
    piece = Piece(Path("x.jsonl"), data)
    try:
        plain: NBest | str = jsonl._parse_plainly(piece)
    except FormatError as error:
        plain = str(error)
    return plain, jsonl_fast.parse(piece)


def _same(first: NBest, second: NBest) -> bool:
    return first == second and first.features.tobytes() == second.features.tobytes()


@pytest.mark.parametrize("seed", range(60))
def test_the_fast_way_gives_what_the_plain_one_gives(seed: int) -> None:
    plain, fast = _both(_data(random.Random(seed)))
    assert isinstance(plain, NBest)
    assert fast is not None
    assert _same(plain, fast)


def test_what_is_damaged_is_left_to_the_plain_reader() -> None:
    source = random.Random(1)
    taken = 0
    for _ in range(4000):
        plain, fast = _both(mutant(_data(source, 4), source))
        if fast is not None:
            assert isinstance(plain, NBest)
            assert _same(plain, fast)
            taken += 1
    assert taken > 50


@pytest.mark.parametrize("number", [*NONE, '"1"', "9" * 400])
def test_numbers_that_are_none_are_left_to_the_plain_reader(number: str) -> None:
    line = '{"hypotheses": [{"text": "a", "features": {"f": 1}}]}\n'
    plain, fast = _both((line + line.replace("1}", f"{number}}}")).encode())
    assert fast is None
    assert isinstance(plain, str) == (number not in ("true", "false"))


@pytest.mark.parametrize(
    "line",
    [
        '{"id": 0, "hypotheses": []}',
        '{"id": 007, "hypotheses": []}',
        '{"id": 1, "hypotheses": [], "more": 1}',
        '{"hypotheses": [], "id": 1}',
        '{"id": 1, "id": 2, "hypotheses": []}',
        '{"id": 1, "hypotheses": [{"features": {"f": 1}, "text": "a"}]}',
        '{"id": 1, "hypotheses": [{"text": "a", "features": {"f": 1}, "sparse": {"x": 1}}]}',
        '{"id": 1, "hypotheses": [{"text": "a", "features": {"f": 1, "f": 2}}]}',
        '{"id": 1, "hypotheses": [{"text": "a", "features": {}}]}',
        '{"id": 1, "hypotheses": [{"text": null, "features": {"f": 1}}]}',
        '{"id": 1, "hypotheses": [{"text": "\t", "features": {"f": 1}}]}',
        '{"id": 1, "hypotheses": [{"text": "a", "features": {"f": 1}},]}',
        '{"id": 1, "hypotheses": []} x',
        '{"id": 1, "hypotheses": []',
        '{"id": true, "hypotheses": []}',
        '{"id": -1, "hypotheses": []}',
        "",
        '{"id": 1, "hypotheses": []}\f',
    ],
)
def test_lines_of_another_form_are_left_to_the_plain_reader(line: str) -> None:
    first = '{"id": 0, "hypotheses": [{"text": "a", "features": {"f": 1}}]}\n'
    assert _both(f"{first}{line}\n{first.replace('0', '5')}".encode())[1] is None
