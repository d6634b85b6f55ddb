"""Kept kernels are loaded without what compiling needs, and work: alone, and where others are compiled after them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

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
