"""Regular lattices are parsed by a kernel: the same forests and the same complaints as of the reader by lines."""

from __future__ import annotations

import random
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from nbest.base.errors import FormatError
from nbest.compute.compilation import kernel
from nbest.formats.forests import slf
from nbest.formats.forests.slf import read_slf
from nbest.formats.lists.moses_fast import POWERS, read_number

SCORES = ("a", "l", "n", "r", "ds", "acoustic", "language", "x1", "x27", *(f"x{k}" for k in range(50, 60)))
WORDS = ("a", "to(2)", "größer", "<sil>", "[NOISE]", "!NULL", "'cause", r"\'cause", r"gr\303\266\303\237er", '"is"', "")


def draw(rng: random.Random) -> str:
    """A small lattice in one of many ways to write it."""
    nodes, names = rng.randrange(2, 7), rng.sample(SCORES, rng.choice([0, 1, 2, 3, 12]))
    names = list({slf.FIELDS[name]: name for name in names}.values())
    ends = [(rng.randrange(k), k) for k in range(1, nodes)] + [(k, nodes - 1) for k in range(nodes - 1)]
    on_links, space = rng.random() < 0.5, rng.choice([" ", "\t", "  "])
    digits = rng.choice([3, 9, 17, 25])
    lines = [f"VERSION=1.0{space}lmscale={rng.randrange(20)}"] if rng.random() < 0.5 else ["VERSION=1.0", "# made up"]
    lines += [f"base={rng.choice(['10', '2.718281828', '0.5', '1.0001'])}"] if rng.random() < 0.5 else []
    lines += [f"start=0{space}end={nodes - 1}"] if rng.random() < 0.5 else []
    lines += [f"N={nodes} L={len(ends)}"]
    body = [
        space.join([f"I={node}", f"t={node / 7:.2f}", *([] if on_links else [f"W={rng.choice(WORDS)}"])])
        for node in range(nodes)
    ]
    for link, (start, end) in enumerate(ends):
        scores = [f"{name}={rng.gauss(0, 10 ** rng.randrange(-3, 6)):.{digits}g}" for name in names]
        word = rng.choice(WORDS) if on_links else ""
        parts = [f"S={start}", f"{rng.choice(['E', 'END'])}={end}", *([f"W={word}"] if word else []), *scores]
        rng.shuffle(parts)
        body.append(space.join([f"J={link}", *parts]))
    if rng.random() < 0.3:
        rng.shuffle(body)
    return rng.choice(["\n", "\n", "\r\n", " \n", "\n\n# more\n"]).join([*lines, *body]) + rng.choice(
        ["", "\n", "\n \n"]
    )


def outcome(data: bytes, **options: Any) -> Any:
    """All of the forests, to the bit; or what is wrong."""
    try:
        forests = read_slf("u.slf", data=data, **options)
    except FormatError as error:
        return str(error)
    values = {each.name: getattr(forests, each.name) for each in fields(forests)}
    return {
        name: (value.dtype, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value
        for name, value in values.items()
    }


def both(data: bytes, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Any, Any, bool]:
    """What comes of a file with the kernel, what without, and whether the kernel took it."""
    taken = []

    def noted(*arguments: Any) -> Any:
        found = slf_regular(*arguments)
        taken.append(found is not None)
        return found

    slf_regular = slf.regular_lattice
    with monkeypatch.context() as patch:
        patch.setattr(slf, "regular_lattice", noted)
        found = outcome(data, **options)
        patch.setattr(slf, "regular_lattice", lambda *arguments: None)
        return found, outcome(data, **options), taken == [True]


@pytest.mark.parametrize("seed", range(4))
def test_the_same_forests(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, count, regular = random.Random(seed), 0, 0
    for _ in range(150):
        data = draw(rng).encode()
        found, expected, taken = both(data, monkeypatch, fillers=rng.random() < 0.3)
        assert found == expected, data.decode()
        count += isinstance(expected, dict)
        regular += taken
        assert not taken or isinstance(expected, dict)
    assert regular == count > 100


@pytest.mark.parametrize("seed", range(4))
def test_the_same_complaints(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of files in which something was changed."""
    rng, wrong, right = random.Random(seed), 0, 0
    pieces = [b"\\", b'"', b"=", b" ", b"\n", b"#", b".", b"-", b"e9", b"1", b"J=", b"I=", b" S=1", b" a=1", b"inf"]
    pieces += [
        b"\xc3",
        "\u00a0".encode(),
        "\u2028".encode(),
        b"\r",
        b"\0",
        b"\x1c",
        b" W=b",
        b" longername=1",
        b"base=0\n",
    ]
    pieces += [b" L=1", b"1_0", b"\xef\xbb\xbf", b"12345678901", b".\n", b" SUBLAT=x", b" v=1 v=2", b" n=1e999"]
    for _ in range(250):
        data = draw(rng).encode()
        for _ in range(rng.randrange(1, 3)):
            at = rng.randrange(len(data) + 1)
            if rng.random() < 0.3:
                at = data.rfind(b"\n", 0, at) + 1
            data = data[:at] + rng.choice([*pieces, b""]) + data[at + rng.choice([0, 0, 0, 1, 2, 15]) :]
        found, expected, _ = both(data, monkeypatch, floor=rng.choice([None, None, -50.0]))
        assert found == expected, data
        wrong += isinstance(expected, str)
        right += isinstance(expected, dict)
    assert min(wrong, right) > 20


@kernel
def read_one(buffer, powers):
    return read_number(buffer, 0, len(buffer), powers)


def test_numbers_are_rounded_once() -> None:
    rng, sure = random.Random(1), 0
    for _ in range(3000):
        value = rng.gauss(0, 1) * 10 ** rng.randrange(-6, 7)
        text = rng.choice(
            [repr(value), f"{value:.{rng.randrange(1, 25)}g}", f"{value:.20f}", str(rng.randrange(10**18))]
        )
        if rng.random() < 0.2:  # halfway between two numbers of float64, or close to it
            text = str(2**53 * 2 + 2 * rng.randrange(1000) + 1) + rng.choice(["", ".0", "e-3", ".00"])
        end, found, exact = read_one(np.frombuffer(text.encode(), np.uint8), POWERS)
        assert end == len(text)
        assert not exact or found == float(text), text
        sure += exact
    assert sure > 2000
