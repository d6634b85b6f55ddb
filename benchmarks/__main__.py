"""`python -m benchmarks [NAME ...]`: run all benchmarks, or those named."""

from __future__ import annotations

import sys

from benchmarks import reading, searching

BENCHMARKS = {"reading": reading.main, "searching": searching.main}

for name in sys.argv[1:] or BENCHMARKS:
    print(f"\n== {name}")
    BENCHMARKS[name]()
