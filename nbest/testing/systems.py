"""The contract of systems."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError, ParameterError
from nbest.base.folders import MANIFEST
from nbest.base.parameters import check, parameters_of
from nbest.corpus import Forests, NBest
from nbest.systems.base import Data, System, Training

_WORK = "work"  # what training leaves for itself


def check_system(
    training: Training[Any],
    data: Data,
    inputs: Sequence[Any],
    *,
    search: Mapping[str, Any] | None = None,
    target: str = "system",
) -> None:
    """Check a system of `SYSTEMS`: training on small data, and what is trained on inputs for which it has a choice.

    Trained twice it has the same bytes, on any threads; its files are those that it names; it leaves alone what is not
    its own; a damaged file is refused; it decodes alike each time, one list or forest an input; weights matter.
    `search` are limits of its search, `target` is the name of what is trained where that matters.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "one" / target
        _check_training(training, data, Path(place), target)
        _check_files(training, folder)
        _check_places(training, data, Path(place))
        _check_damage(training, folder)
        if type(training).decoding is None:
            training.load(folder)
            return
        system = training.load(folder)
        assert isinstance(system, System), f"load must give a System, got {type(system).__name__}"
        _check_declared(type(training))
        _check_decoding(system, inputs, search or {})
        _check_weights(system, inputs, search or {})


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a trained folder by name, without what training left for itself; or a file alone."""
    if folder.is_file():
        return {"": folder.read_bytes()}
    found = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if Path(name).parts[0] != _WORK}


def _check_training(training: Training[Any], data: Data, place: Path, target: str) -> None:
    before = [Path(path).read_bytes() for path in data.paths()]
    for name, threads in (("one", 1), ("two", 2)):
        (place / name).mkdir()
        training.train(data, place / name / target, threads=threads)
    one, two = contents(place / "one" / target), contents(place / "two" / target)
    assert one.keys() == two.keys(), f"training twice makes {sorted(one)} and {sorted(two)}"
    odd = [name for name in one if one[name] != two[name]]
    assert not odd, f"training twice makes other bytes in {odd}"
    assert [Path(path).read_bytes() for path in data.paths()] == before, "training changes its data"


def _check_files(training: Training[Any], folder: Path) -> None:
    found = set(contents(folder))
    if not training.files:
        assert found == {""}, f"'files' names none, so a file must be trained; found {sorted(found)}"
        return
    assert MANIFEST in found, f"a trained folder needs a {MANIFEST}"
    parts = tuple(name.removesuffix(MANIFEST) for name in training.files if name.endswith(f"/{MANIFEST}"))
    strange = sorted(n for n in found - {MANIFEST, *training.files} if not n.startswith(parts or ("/",)))
    assert not strange, f"'files' does not name {strange}"
    assert found & set(training.files), f"'files' names {training.files}, and none of them is made"


def _check_places(training: Training[Any], data: Data, place: Path) -> None:
    """What is there and is something else is refused and left alone."""
    if not training.files:
        return
    (place / "mine").mkdir()
    (place / "mine" / "letter").write_text("dear")
    for goal in (place / "mine", place / "mine" / "letter"):
        _refused("a place with something else in it", lambda goal=goal: training.train(data, goal))  # type: ignore[misc]
    assert contents(place / "mine") == {"letter": b"dear"}, "training changes a folder that is not its own"


def _check_damage(training: Training[Any], folder: Path) -> None:
    """A missing, shorter or changed file is a `FormatError`."""
    _refused("a folder that is not there", lambda: training.load(folder.with_name("nowhere")))
    for name, data in contents(folder).items():
        path = folder / name if name else folder
        middle = len(data) // 2
        changed = data[:middle] + bytes([data[middle] ^ 16]) + data[middle + 1 :]
        for what, damaged in (("cut short", data[:middle]), ("changed", changed)):
            path.write_bytes(damaged)
            _refused(f"{name or path.name} {what}", lambda: training.load(folder))
        path.unlink()
        _refused(f"{name or path.name} missing", lambda: training.load(folder))
        path.write_bytes(data)


def _refused(what: str, act: Callable[[], Any]) -> None:
    said = None
    try:
        act()
    except (FormatError, ParameterError) as error:
        said = str(error)
    assert said is not None, f"{what} must be refused"
    assert "\n" not in said, f"the error for {what} has several lines: {said}"


def _check_declared(kind: type[Training[Any]]) -> None:
    """What the command line offers has help, and its defaults keep their rules."""
    assert kind.decoding is not None
    for each in (kind.data, kind, kind.search, kind.decoding, *([kind.lists] if kind.lists else [])):
        bare = [one.name for one in parameters_of(each).values() if one.public and not one.help]
        assert not bare, f"{each.__name__} has no help for {bare}"
    check(kind.search())
    for each in (kind, kind.decoding):
        assert each.__doc__, f"{each.__name__} needs a docstring, which is the help of its command"


def _check_decoding(system: System, inputs: Sequence[Any], search: Mapping[str, Any]) -> None:
    weights = system.start
    assert weights, "a system needs weights"
    ids = tuple(str(i) for i in range(len(inputs)))
    lists, again = (system.decode(weights, inputs, k=3, threads=threads, **search) for threads in (1, 2))
    assert isinstance(lists, NBest), f"decode must give lists, got {type(lists).__name__}"
    assert isinstance(again, NBest), f"decode must give lists, got {type(again).__name__}"
    assert lists.ids == ids, f"decode must give one list an input, ids from 0 up, got {lists.ids}"
    assert _seen(lists) == _seen(again), "decoding twice gives other lists"
    assert lists.lengths.max(initial=0) <= 3, "decode gives more than k hypotheses"
    forests = system.decode(weights, inputs, forests=True, threads=1, **search)
    assert isinstance(forests, Forests), "decode must give forests where they are wanted"
    assert forests.ids == ids, f"decode must give one forest an input, ids from 0 up, got {forests.ids}"
    assert set(forests.feature_names) == set(lists.feature_names) == set(weights), "weights must be those of features"
    assert _seen(system.best(forests, 3, weights)) == _seen(lists), "lists must be the best of the forests"
    ones = [system.candidates([each], weights, ids=[name], **search) for each, name in zip(inputs, ids, strict=True)]
    whole = replace(forests, references=None)  # which are there where all inputs have them
    joined = replace(system.joined(ones), references=None)
    assert joined == whole, "forests of parts of the inputs, joined, must be those of all"
    parts = [system.decode(weights, [each], k=3, **search) for each in inputs]
    alone = [text for part in parts for text in part.texts or ()]
    assert alone == list(lists.texts or ()), "an input must be decoded as it is alone"
    assert len(system.decode(weights, [], k=3, **search)) == 0, "no inputs must give no lists"
    _refused("an unknown weight", lambda: system.decode({"no such feature": 1.0}, inputs))
    _refused("an unknown limit", lambda: system.decode(weights, inputs, no_such_limit=1))


def _check_weights(system: System, inputs: Sequence[Any], search: Mapping[str, Any]) -> None:
    """Turned round, weights choose other texts of some input."""
    turned = {name: -weight for name, weight in system.start.items()}
    ways = [system.decode(weights, inputs, k=1, **search) for weights in (system.start, turned)]
    one, two = (list(found.texts or ()) for found in ways)
    assert one != two, "weights do not change what is chosen"


def _seen(lists: NBest) -> Any:
    return lists.offsets.tolist(), np.asarray(lists.features).tobytes(), list(lists.texts or ()), lists.feature_names
