"""Names of packages that are imported when they are asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import nbest.decisions


@pytest.mark.parametrize("first", ["", "import nbest.decisions.mbr", "from nbest.decisions.mbr import gain_of"])
def test_a_name_is_the_function_even_if_its_module_came_first(first: str) -> None:
    code = f"{first}\nfrom nbest.decisions import mbr\nprint(type(mbr).__name__)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "function\n"


def test_unknown_names_are_told_as_python_does() -> None:
    with pytest.raises(AttributeError, match=r"module 'nbest\.decisions' has no attribute 'mbrr'"):
        _ = nbest.decisions.mbrr


def test_all_names_are_there() -> None:
    import nbest.features

    for package in (nbest.decisions, nbest.features):
        assert all(getattr(package, name) is not None for name in package.__all__)


def test_a_model_is_loaded_without_anything_heavy(tmp_path) -> None:
    path = tmp_path / "model.json"
    nbest.LogLinear({"a": 1.0}, features=({"kind": "rank"}, {"kind": "answered"}), answer="last-number").save(path)
    heavy = ("numba", "scipy", "sacrebleu", "rapidfuzz", "typer", "rich", "pandas")
    code = f"import sys, nbest; nbest.load(r'{path}'); print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
