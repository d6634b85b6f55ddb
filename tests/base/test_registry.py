"""Registries: lazy entries, and entry points of other packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nbest.base.errors import ParameterError
from nbest.base.registry import PluginWarning, Registry


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts a package with these entry points of the group nbest.tests on the path."""

    def install(package: str, points: str) -> None:
        folder = tmp_path / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[nbest.tests]\n{points}\n")

    monkeypatch.syspath_prepend(str(tmp_path))
    return install


def family() -> Registry[object]:
    things = {"lazy": "errors:ParameterError", "given": len}
    return Registry("test", things, group="nbest.tests", room="nbest.base")


def test_things_are_given_or_named_within_the_room() -> None:
    tests = family()
    assert list(tests) == ["lazy", "given"]
    assert tests["lazy"] is ParameterError
    assert tests["given"] is len
    assert repr(tests) == "<tests: lazy, given>"
    with pytest.raises(ParameterError, match="unknown test 'lasy'; known: given, lazy; did you mean 'lazy'"):
        tests.look_up("lasy")
    with pytest.raises(KeyError):
        tests["other"]


def test_entry_points_are_added_after_the_own_things(plugin) -> None:
    plugin("shaker", "counter = collections:Counter")
    tests = family()
    assert tests["counter"].__name__ == "Counter"
    assert list(tests) == ["lazy", "given", "counter"]
    assert tests.added() == {"counter": "shaker"}
    assert list(Registry("test", {"own": len})) == ["own"]


def test_a_broken_plugin_is_warned_of_and_left_out(plugin) -> None:
    plugin("shaker", "broken = no_such_module:Thing\ngood = collections:Counter")
    tests = family()
    with pytest.warns(PluginWarning, match="the test 'broken' of shaker cannot be loaded and is left out: ModuleNot"):
        assert "broken" not in tests
    assert list(tests.values())[2].__name__ == "Counter"
    with pytest.raises(ParameterError, match="unknown test 'broken'; known: given, good, lazy"):
        tests.look_up("broken")


@pytest.mark.parametrize(("name", "owner"), [("given", "nbest"), ("new", "shaker|mover")])
def test_a_name_that_is_taken_is_an_error_each_time(plugin, name: str, owner: str) -> None:
    plugin("shaker", f"{name} = collections:Counter")
    plugin("mover", "new = collections:Counter")
    tests = family()
    for _ in range(2):
        with pytest.raises(ParameterError, match=f"the test {name!r} of .* has a name that is taken by ({owner})"):
            list(tests)
    assert tests["given"] is len


def test_summaries_do_not_import() -> None:
    program = (
        "import sys\nfrom nbest.studies import STUDIES\nfound = STUDIES.summary('surface')\n"
        "assert 'nbest.studies.surface' not in sys.modules\n"
        "assert STUDIES['surface'].__doc__.startswith(found[:40]), found\nassert STUDIES.summary('surface') == found"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
