"""What a run wrote is compared when it is resumed, and what is recorded of its references."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbest.base.errors import FormatError, NbestError
from nbest.base.sealed import SEAL, sealed
from nbest.loop import Inputs
from nbest.metrics import BLEU
from nbest.testing.flips import reseal
from tests.loop.toy import DEV, HELD, Toy, loop


def _stopped(folder: Path) -> None:
    """A run that was stopped before its last training."""
    loop(folder, rounds=2).run(DEV, HELD)
    (folder / "result.json").unlink()
    (folder / "rounds" / "02" / "trained.json").unlink()


def _flip(path: Path, at: int = -1) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["features", "stats", "offsets", "hashes", "text", "bounds"])
@pytest.mark.parametrize("part", ["01/dev", "02/heldout"])
def test_changed_bits_of_a_round_are_refused_by_name(tmp_path: Path, part: str, name: str) -> None:
    _stopped(tmp_path / "run")
    path = tmp_path / "run" / "rounds" / part / f"{name}.npy"
    _flip(path)
    with pytest.raises(FormatError, match=rf"{part}/{name}\.npy: is damaged: its sha256 .*remove the folder"):
        loop(tmp_path / "run", rounds=2).run(DEV, HELD, resume=True)
    _flip(path)
    loop(tmp_path / "run", rounds=2).run(DEV, HELD, resume=True)


@pytest.mark.parametrize("name", ["rounds/01/model.json", "rounds/01/dev/segments.json"])
def test_other_files_of_a_round_are_refused_too(tmp_path: Path, name: str) -> None:
    _stopped(tmp_path / "run")
    path = tmp_path / "run" / name
    path.write_text(path.read_text().replace("1", "2", 1))
    with pytest.raises(FormatError, match=f"{path.name}: is damaged: its sha256"):
        loop(tmp_path / "run", rounds=2).run(DEV, HELD, resume=True)


def test_the_model_of_an_ended_run(tmp_path: Path) -> None:
    model = loop(tmp_path / "run", rounds=1).run(DEV)
    path = tmp_path / "run" / "model.json"
    path.write_text(path.read_text().replace("0.", "1.", 1))
    with pytest.raises(FormatError, match=r"model\.json: is damaged: .*remove result.json and resume"):
        loop(tmp_path / "run", rounds=1).run(DEV, resume=True)
    (tmp_path / "run" / "result.json").unlink()
    assert loop(tmp_path / "run", rounds=1).run(DEV, resume=True).weights == model.weights


def test_an_ended_run_does_not_need_its_candidates(tmp_path: Path) -> None:
    model = loop(tmp_path / "run", rounds=1).run(DEV)
    shutil.rmtree(tmp_path / "run" / "rounds" / "01" / "dev")
    assert loop(tmp_path / "run", rounds=1).run(DEV, resume=True).weights == model.weights


def test_runs_of_earlier_versions_have_no_sums(tmp_path: Path) -> None:
    whole = loop(tmp_path / "whole", rounds=2).run(DEV, HELD)
    _stopped(tmp_path / "run")
    for path in (tmp_path / "run").rglob("*.json"):
        content = json.loads(path.read_text())
        if content.pop(SEAL, None):
            content.pop("files", None)
            path.write_text(json.dumps(content))
    assert loop(tmp_path / "run", rounds=2).run(DEV, HELD, resume=True).weights == whole.weights


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("loop.json", {"metric": 3}),
    ("loop.json", {"versions": []}),
    ("rounds/01/decoded.json", {"weights": {"am": "much"}}),
    ("rounds/01/decoded.json", {"weights": {"am": None}}),
    ("rounds/01/decoded.json", {"dev": []}),
    ("rounds/01/decoded.json", {"dev": {"score": "x"}}),
    ("rounds/01/decoded.json", {"heldout": 5}),
    ("rounds/01/decoded.json", {"new": "many"}),
    ("rounds/01/decoded.json", {"new": -1}),
    ("rounds/01/decoded.json", {"files": ["x"]}),
    ("rounds/01/decoded.json", {"files": {"../../../x": {"bytes": 1, "sha256": ""}}}),
    ("rounds/01/decoded.json", {"files": {"/etc/hosts": {"bytes": 1, "sha256": ""}}}),
    ("rounds/01/trained.json", {"scores": 3}),
    ("rounds/01/trained.json", {"pool": {"hypotheses": "x"}}),
    ("rounds/01/trained.json", {"seconds": {"train": None}}),
    ("rounds/01/dev/segments.json", {"ids": 3}),
    ("rounds/01/dev/segments.json", {"ids": [["x"]] * 12}),
    ("rounds/01/dev/segments.json", {"ids": ["x"]}),
    ("rounds/01/dev/segments.json", {"feature_names": [1, 2, 3, 4]}),
    ("rounds/01/dev/segments.json", {"feature_names": None}),
    ("rounds/01/dev/segments.json", {"references": [3]}),
    ("rounds/01/dev/segments.json", {"references": [["x"]]}),
    ("rounds/01/dev/segments.json", {"sources": "abc"}),
    ("rounds/01/dev/segments.json", {"sparse_names": ["x"]}),
    ("result.json", {"chosen": "first"}),
]


@pytest.mark.parametrize(("name", "changes"), WRONG, ids=lambda each: str(each)[:60])
def test_wrong_types_are_our_own_errors(tmp_path: Path, name: str, changes: dict[str, Any]) -> None:
    if name == "result.json":
        loop(tmp_path / "run", rounds=2).run(DEV, HELD)
    else:
        _stopped(tmp_path / "run")
    path = tmp_path / "run" / name
    content = json.loads(path.read_text())
    content.pop(SEAL, None)
    path.write_text(json.dumps(sealed(content | changes) if "segments" not in name else content | changes))
    if "files" not in changes:
        reseal(tmp_path / "run")
    with pytest.raises(NbestError) as error:
        loop(tmp_path / "run", rounds=2).run(DEV, HELD, resume=True)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("offsets", np.array([0, *[2**50] * 10])),
        ("features", np.zeros((3, 4))),
        ("features", np.zeros((3, 4), np.int64)),
        ("text", np.full(10, 0xFF, np.uint8)),
        ("bounds", np.arange(3)),
        ("hashes", np.zeros(3)),
        ("stats", np.array([{}], object)),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path: Path, name: str, array: np.ndarray) -> None:
    _stopped(tmp_path / "run")
    np.save(tmp_path / "run" / "rounds" / "01" / "heldout" / f"{name}.npy", array, allow_pickle=True)
    reseal(tmp_path / "run")
    with pytest.raises(FormatError, match="remove the folder"):
        loop(tmp_path / "run", rounds=2).run(DEV, HELD, resume=True)


# references ---------------------------------------------------------------------------------------------------------


def _recorded(folder: Path, inputs: Inputs) -> str:
    loop(folder, Toy(k=2), metric=BLEU(tokenize="none"), rounds=1).run(inputs)
    return str(json.loads((folder / "loop.json").read_text())["metric"])


def test_the_number_of_references_is_recorded(tmp_path: Path) -> None:
    four = [each * 4 for each in DEV.references]  # type: ignore[union-attr]
    varied = [each * (1 + i % 2) for i, each in enumerate(DEV.references)]  # type: ignore[arg-type]
    assert "nrefs:1|" in _recorded(tmp_path / "one", DEV)
    assert "nrefs:4|" in _recorded(tmp_path / "four", Inputs(DEV.segments, four))
    assert "nrefs:var|" in _recorded(tmp_path / "varied", Inputs(DEV.segments, varied))
    given = Inputs(DEV.segments, lambda ids: [four[int(name)] for name in ids], 4)
    assert "nrefs:4|" in _recorded(tmp_path / "called", given)
