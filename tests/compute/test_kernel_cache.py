"""Compiled code that is kept on disk: used only where compiling again would give the same, and lost without harm."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nbest.compute.compilation import fast_kernel, kernel

OUTER = """
import json, sys
import numpy as np
from nbest.compute.compilation import compiled, kernel
from inner import SIZE, inner
import tools

@kernel
def outer(x):
    return inner(x) * SIZE + tools.shift(x)

print(json.dumps([float(outer(2.0)), sum(outer.stats.cache_hits.values()), len(outer.stats.cache_misses)]))
"""
INNER = """
import numpy as np
from nbest.compute.compilation import compiled
from table import TABLE, sine

SIZE = 10.0

@compiled(fastmath=False)
def inner(x):
    return x + TABLE[1] + sine(0.0)
"""
TABLE = """
import numpy as np
from numba import types
from numba.extending import intrinsic, overload

TABLE = np.array([1.0, 2.0])

def _made(value):
    @intrinsic
    def function(typing_context, x):
        def generate(context, builder, signature, arguments):
            return context.get_constant(types.float64, value)
        return types.float64(x), generate
    return function

sine = _made(0.0)
"""
TOOLS = """
from numba.extending import overload

def shift(x):
    raise NotImplementedError

def amount():
    return 0.0

@overload(shift)
def _shift(x):
    add = amount()
    return lambda x: x * 0.0 + add
"""


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Code whose kernels were compiled and kept."""
    folder = tmp_path_factory.mktemp("code")
    for name, text in (("outer", OUTER), ("inner", INNER), ("table", TABLE), ("tools", TOOLS)):
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    assert ran(folder) == (40.0, 0)
    assert ran(folder, PYTHONHASHSEED="7") == (40.0, 1)
    return folder


@pytest.fixture
def code(once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(once, tmp_path / "code"))


def ran(code: Path, limit: Callable[[], None] | None = None, **variables: str) -> tuple[float, int]:
    """What the kernel gives in a new process, and whether it was loaded."""
    kept = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "outer.py"],
        cwd=code,
        env=kept | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"} | variables,
        capture_output=True,
        text=True,
        preexec_fn=limit,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    value, hits, misses = json.loads(done.stdout)
    assert hits + misses == 1
    return value, hits


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("outer", "+ tools", "- tools", 40.0),
        ("inner", "return x +", "return x -", 0.0),
        ("inner", "SIZE = 10.0", "SIZE = 20.0", 80.0),
        ("table", "2.0]", "3.0]", 50.0),
        ("table", "_made(0.0)", "_made(1.0)", 50.0),
        ("tools", "return 0.0", "return 2.0", 42.0),
        ("tools", "x * 0.0", "x * 1.0", 42.0),
    ],
)
def test_what_a_kernel_reaches_in_other_files_counts(
    code: Path, file: str, old: str, new: str, expected: float
) -> None:
    """Numba's own cache (tried with 0.68) runs the old machine code for all but the first of these."""
    path = code / f"{file}.py"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert ran(code) == (expected, 0)


def test_the_order_of_fields_of_named_tuples_counts(tmp_path: Path) -> None:
    """Kernels take them from Python and read fields by place; the code of no kernel names the class."""
    pair = "from typing import NamedTuple\nclass Pair(NamedTuple):\n    {}: float\n    {}: float\n"
    outer = OUTER.replace("outer(x):\n    return inner(x) * SIZE + tools.shift(x)", "outer(x):\n    return x.a - x.b")
    outer = outer.replace("from inner import SIZE, inner\nimport tools", "from pair import Pair")
    (tmp_path / "outer.py").write_text(outer.replace("outer(2.0)", "outer(Pair(a=5.0, b=2.0))"), encoding="utf-8")
    for fields, found in ((("a", "b"), 0), (("a", "b"), 1), (("b", "a"), 0), (("b", "a"), 1)):
        (tmp_path / "pair.py").write_text(pair.format(*fields), encoding="utf-8")
        assert ran(tmp_path) == (3.0, found)


def test_options_of_the_compiler_count() -> None:
    from nbest.compute.kernel_stamp import stamp_of

    def total(x):
        return x.sum()

    assert stamp_of(kernel(total)) != stamp_of(fast_kernel(total))


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_damaged_files_are_compiled_again(code: Path, suffix: str) -> None:
    for file in (code / "__pycache__").glob(f"outer.outer*.{suffix}"):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    assert ran(code) == (40.0, 0)
    assert ran(code) == (40.0, 1)
    for file in (code / "__pycache__").glob(f"outer.outer*.{suffix}"):
        file.write_bytes(file.read_bytes()[:50])
    assert ran(code) == (40.0, 0)


def test_without_a_place_beside_the_code(code: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A read-only installation and an unwritable home: a private temporary folder; without that no cache."""
    elsewhere = tmp_path_factory.mktemp("temporary")
    shutil.rmtree(code / "__pycache__")
    (code / "__pycache__").write_text("not a folder: nothing can be made in it")
    places = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/cache", "TMPDIR": str(elsewhere)}
    assert ran(code, **places) == (40.0, 0)
    assert ran(code, **places) == (40.0, 1)
    (folder,) = elsewhere.glob("nbest-kernels-*")
    folder.chmod(0o777)  # somebody else could have put code there
    assert ran(code, **places) == (40.0, 0)
    assert ran(code, **places) == (40.0, 0)
    named = tmp_path_factory.mktemp("named")
    assert ran(code, **places, NUMBA_CACHE_DIR=str(named)) == (40.0, 0)
    assert ran(code, **places, NUMBA_CACHE_DIR=str(named)) == (40.0, 1)


def test_a_full_disk_costs_a_compilation_only(code: Path) -> None:
    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    shutil.rmtree(code / "__pycache__")
    assert ran(code, limit=full) == (40.0, 0)
    assert ran(code, limit=full) == (40.0, 0)
    assert ran(code) == (40.0, 0)


@fast_kernel
def _long(x, y):
    """Too long to be inlined twice."""
    total = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            total += np.exp(x[i] * y[j]) + np.sin(x[i]) / (1.0 + np.abs(y[j])) - np.cos(x[i] + y[j]) ** 3
    for i in range(len(x)):
        total *= 1.0 + 1e-3 * np.log1p(x[i] * x[i]) - 1e-3 * np.tanh(y[i % len(y)])
    return total


@kernel
def _twice(x, y):
    return _long(x, y) + _long(y, x) * _long(x, x)


def test_kernels_share_no_machine_code() -> None:
    """What a kernel calls is private to it: a weak symbol would be resolved to whichever copy was loaded first."""
    function = kernel(_twice.py_func)
    function._cache.disable()
    function(np.arange(3.0), np.arange(4.0))
    (result,) = function.overloads.values()
    linkages = {f.name: f.linkage.name for f in result.library._final_module.functions if not f.is_declaration}
    shared = [name for name, linkage in linkages.items() if name.startswith("_ZN") and "odr" in linkage]
    assert not shared
    assert any("_twice" in name and linkage == "external" for name, linkage in linkages.items())
