"""A model and its arrays are saved in one step: by many at once, by savers that are killed, while others read."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.features import Bins
from nbest.model.arrays import pack_arrays
from nbest.model.loglinear import LogLinear, load
from nbest.testing import toy_lists

SAVER = """
import sys
import numpy as np
from nbest.model import LogLinear
from pathlib import Path

path, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def model(k):
    rng = np.random.default_rng(k)
    return LogLinear({"a": float(k), **{f"ngram:{i}": w for i, w in enumerate(rng.normal(size=10_001))}}, dense=("a",))
models = [model(first + k) for k in range(min(count, 4))]
print("ready", flush=True)
sys.stdin.readline()
for k in range(count):
    models[k % len(models)].save(path)
"""


def saver(path, first, count):
    """A process that saves models `first`, `first + 1`, ... when told to."""
    environment = os.environ | {"PYTHONPATH": str(Path(nbest.__file__).parent.parent)}
    process = subprocess.Popen(
        [sys.executable, "-c", SAVER, str(path), str(first), str(count)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
    )  # fmt: skip
    return process


def go(processes):
    for process in processes:
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        process.stdin.write(b"go\n")
        process.stdin.flush()


def end(processes):
    for process in processes:
        process.stdin.close()
        process.stdout.close()
        process.wait()


def check(path):
    """The model is whole: its weights are those of one saver."""
    weights = load(path).weights
    drawn = np.random.default_rng(int(weights["a"])).normal(size=10_001)
    assert np.array_equal([weight for name, weight in weights.items() if name != "a"], drawn)


def concurrent(path, rounds, savers=4, each=3):
    """`rounds` times several savers at once, read meanwhile; how often the model was loaded."""
    read = 0
    for at in range(rounds):
        processes = [saver(path, 10 * at + i, each) for i in range(savers)]
        try:
            go(processes)
            while any(process.poll() is None for process in processes):
                if path.exists():
                    check(path)
                    read += 1
        finally:
            end(processes)
        assert all(process.returncode == 0 for process in processes)
        check(path)
        sides = list(path.parent.glob("m.json*.npz"))
        assert [side.name for side in sides] == [json.loads(path.read_text())["arrays"]["file"]]
    return read


def killed(path, times, seed=1):
    """Savers that are killed at random moments; after each the model must be whole."""
    draw = random.Random(seed)
    LogLinear({"a": 0.0, **dict.fromkeys((f"ngram:{i}" for i in range(10_001)), 1.0)}, dense=("a",)).save(path)
    for at in range(times):
        process = saver(path, at, 1000)
        go([process])
        if at == 0:
            while load(path).weights["a"] != 0 or load(path).weights["ngram:0"] == 1.0:
                time.sleep(0.001)  # the first saver has saved once
        time.sleep(draw.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        end([process])
        assert process.returncode == -signal.SIGKILL
        check(path)


def test_savers_at_once(tmp_path):
    assert concurrent(tmp_path / "m.json", 2) > 0


def test_killed_savers(tmp_path):
    killed(tmp_path / "m.json", 4)
    LogLinear({"a": 1.0}).save(tmp_path / "m.json")
    assert not list(tmp_path.glob("m.json*.npz"))


@pytest.mark.slow
def test_a_hundred_saves_at_once(tmp_path):
    assert concurrent(tmp_path / "m.json", 25) > 0  # 25 x 4 savers, 3 saves each


@pytest.mark.slow
def test_a_hundred_killed_savers(tmp_path):
    killed(tmp_path / "m.json", 100)


# files of a model --------------------------------------------------------------------------------------------------


def with_arrays(bins=3):
    recipe = Bins(bins).fit(toy_lists())
    names = LogLinear({}, features=(recipe,)).prepare(toy_lists()).sparse_names
    return LogLinear({"first": 1.0, **{name: 0.5 * j for j, name in enumerate(names)}}, features=(recipe,))


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_new_model_takes_the_old_arrays_away(tmp_path):
    path = tmp_path / "m.json"
    with_arrays(2).save(path)
    (old,) = tmp_path.glob("*.npz")
    with_arrays(3).save(path)
    (new,) = tmp_path.glob("*.npz")
    assert old.name != new.name == json.loads(path.read_text())["arrays"]["file"]
    assert json.loads(path.read_text())["arrays"]["sha256"].startswith(new.name.split(".")[2])
    assert np.array_equal(load(path).scores(toy_lists()), with_arrays(3).scores(toy_lists()))


def test_models_of_earlier_versions_load_and_their_arrays_go(tmp_path):
    path, model = tmp_path / "m.json", with_arrays()
    model.save(path)
    content = json.loads(path.read_text())
    (tmp_path / content["arrays"]["file"]).rename(tmp_path / "m.json.npz")
    content["arrays"]["file"] = "m.json.npz"
    path.write_text(json.dumps(content))
    assert np.array_equal(load(path).scores(toy_lists()), model.scores(toy_lists()))
    model.save(path)
    assert "m.json.npz" not in files(tmp_path)
    assert np.array_equal(load(path).scores(toy_lists()), model.scores(toy_lists()))


def test_arrays_of_others_stay(tmp_path):
    with_arrays(2).save(tmp_path / "m.json.v2")
    with_arrays(2).save(tmp_path / "other.json")
    before = files(tmp_path)
    with_arrays(3).save(tmp_path / "m.json")
    LogLinear({"first": 1.0}).save(tmp_path / "m.json")
    assert files(tmp_path) == sorted([*before, "m.json"])


def test_what_killed_savers_left_goes_after_an_hour(tmp_path):
    names = [".m.json.abcdefgh.part", ".m.json.0123456789abcdef.npz.abcdefgh.part", ".other.json.abcdefgh.part"]
    for name in names:
        (tmp_path / name).write_text("x")
    with_arrays().save(tmp_path / "m.json")
    assert set(names) < set(files(tmp_path))  # somebody may be writing them
    for name in names:
        os.utime(tmp_path / name, (time.time() - 7200,) * 2)
    with_arrays().save(tmp_path / "m.json")
    assert set(names) & set(files(tmp_path)) == {".other.json.abcdefgh.part"}


def test_a_link_to_a_model(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "best.json").symlink_to(tmp_path / "real" / "m.json")
    model = with_arrays()
    model.save(tmp_path / "best.json")
    assert files(tmp_path) == ["best.json", "real"]
    for path in (tmp_path / "best.json", tmp_path / "real" / "m.json"):
        assert np.array_equal(load(path).scores(toy_lists()), model.scores(toy_lists()))


def test_a_reader_between_two_saves_reads_again(tmp_path, monkeypatch):
    """The arrays of the JSON that was read are gone, because a saver came between: the new ones are read."""
    from nbest.model import arrays

    path = tmp_path / "m.json"
    with_arrays(2).save(path)
    read, came = arrays._bytes, []

    def late(side):
        if not came:
            came.append(side)
            with_arrays(3).save(path)
        return read(side)

    monkeypatch.setattr(arrays, "_bytes", late)
    assert np.array_equal(load(path).scores(toy_lists()), with_arrays(3).scores(toy_lists()))
    assert not came[0].exists()


def test_equal_arrays_have_equal_names(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with_arrays().save(tmp_path / name / "m.json")
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert pack_arrays({"0.a": np.ones(3)}) == pack_arrays({"0.a": np.ones(3)})


def test_a_renamed_model_keeps_its_arrays(tmp_path):
    old, new = (LogLinear({"a": 1.0} | {f"w{k}": k + x for k in range(10_001)}, dense=("a",)) for x in (1.0, 2.0))
    old.save(tmp_path / "m.json")
    (tmp_path / "m.json").rename(tmp_path / "best.json")
    new.save(tmp_path / "m.json")
    assert load(tmp_path / "best.json").weights == old.weights
    assert load(tmp_path / "m.json").weights == new.weights
    (tmp_path / "best.json").unlink()
    new.save(tmp_path / "m.json")
    assert len(list(tmp_path.glob("*.npz"))) == 1
