"""Kept kernels are loaded without what compiling needs, and work: alone, and where others are compiled after them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np

from nbest.compute.kernel_turn import Turn

_CODE = """
import sys
import numpy as np
from nbest.compute.compilation import kernel

@kernel
def hashed(word, number):
    return hash(word) ^ hash((number, 0.5))

@kernel
def arranged(values):
    if len(values) == 0:
        raise ValueError("nothing to arrange")
    return np.sort(np.concatenate((values, values.copy()))).sum() + np.mean(values)

@kernel
def around(values):
    return arranged(values) + 1.0

print(hashed("a word", 3) == hash("a word") ^ hash((3, 0.5)))
print(arranged(np.arange(4.0)))
try:
    arranged(np.zeros(0))
except ValueError as error:
    print(error)
print(sorted({"scipy.linalg", "numba.np.arraymath"} & set(sys.modules)))
print(*(sum(each.stats.cache_hits.values()) for each in (arranged, hashed)))
if "other" in sys.argv:
    print(around(np.arange(4.0)))
"""


def said(folder: Path, *words: str) -> list[str]:
    variables = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONHASHSEED": "random"}
    done = subprocess.run(
        [sys.executable, str(folder / "code.py"), *words], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_kept_kernels_need_nothing_of_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(_CODE)
    values = np.arange(4.0)
    expected = ["True", str(2 * values.sum() + values.mean()), "nothing to arrange"]
    cold = said(tmp_path)
    assert cold[:3] == expected
    assert cold[3] != "[]"
    assert cold[4] == "0 0"
    for _ in range(2):  # the second time all is kept
        warm = said(tmp_path, "other")
        assert warm[:3] == expected
        assert warm[3:] == ["[]", "1 1", str(2 * values.sum() + values.mean() + 1)]


_SLOW = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from numba.extending import overload
from nbest.compute.compilation import kernel

def slow(x):
    raise NotImplementedError

@overload(slow)
def _slow(x):
    time.sleep(0.3)
    return lambda x: x + 1

@kernel
def inner(x):
    return slow(x)

@kernel
def outer(x):
    return inner(x) * 2

with ThreadPoolExecutor(8) as pool:
    (value,) = set(pool.map(outer, [eval(sys.argv[1])] * 8))
print(value, *(sum(each.stats.cache_misses.values()) for each in (outer, inner)))
"""


def test_processes_that_begin_together_compile_a_kernel_once(tmp_path: Path) -> None:
    """One compiles, the others wait and load; what is kept for other types beside is not lost."""
    (tmp_path / "code.py").write_text(_SLOW)
    variables = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def together(*values: str) -> list[str]:
        commands = [[sys.executable, str(tmp_path / "code.py"), value] for value in values]
        begun = [subprocess.Popen(each, env=variables, stdout=subprocess.PIPE, text=True) for each in commands]
        return sorted(each.communicate()[0].strip() for each in begun)

    assert together("1", "1", "2.0") == ["4 0 0", "4 1 1", "6.0 1 1"]
    assert together("1", "2.0") == ["4 0 0", "6.0 0 0"]
    assert not list(tmp_path.rglob("*.lock"))


_LEFT = """
import os, sys, time
from pathlib import Path
from nbest.compute.kernel_turn import Turn

turn = Turn(Path(sys.argv[1]))
turn.take()
print("taken", flush=True)
time.sleep(60)
"""


def test_the_turn_of_a_process_ends_with_it(tmp_path: Path) -> None:
    place = tmp_path / "kernel.lock"
    turn, taken = Turn(place), threading.Event()
    with subprocess.Popen([sys.executable, "-c", _LEFT, str(place)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"taken\n"
        waiting = threading.Thread(target=lambda: (turn.take(), taken.set()))
        waiting.start()
        assert not taken.wait(0.2)
        holder.kill()
    waiting.join()
    assert taken.is_set()
    turn.give_back()
    assert not place.exists()


def test_where_no_file_can_be_locked_everybody_has_a_turn(tmp_path: Path) -> None:
    turn = Turn(tmp_path / "nowhere" / "kernel.lock")
    turn.take()
    turn.give_back()
