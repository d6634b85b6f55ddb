"""`python -m benchmarks [NAME ...]`: run all benchmarks, or those named.

Those that have options, take hours or need other hardware are run by themselves: `python -m benchmarks quality
[OPTION ...]`, `loop-draws [OPTION ...]`, `accelerator [PART ...]`.
"""

from __future__ import annotations

import sys

from benchmarks import (
    accelerator,
    alignment,
    boosting,
    choosing,
    clusters,
    command,
    converter,
    cores,
    decoding,
    first_minutes,
    forest_kbest,
    forest_mert,
    forests,
    joining,
    kernels,
    language_model,
    loop,
    loop_draws,
    lowdim,
    methods,
    msr,
    ngrams,
    online,
    pages,
    parsing,
    quality,
    reading,
    risk,
    searching,
    slow_ends,
    stores,
    tagging,
)

BENCHMARKS = {
    "reading": reading.main,
    "stores": stores.main,
    "searching": searching.main,
    "risk": risk.main,
    "cores": cores.main,
    "command": command.main,
    "first-minutes": first_minutes.main,
    "clusters": clusters.main,
    "methods": methods.main,
    "kernels": kernels.main,
    "forests": forests.main,
    "joining": joining.main,
    "pages": pages.main,
    "forest-kbest": forest_kbest.main,
    "forest-mert": forest_mert.main,
    "language-model": language_model.main,
    "alignment": alignment.main,
    "decoding": decoding.main,
    "ngrams": ngrams.main,
    "msr": msr.main,
    "boosting": boosting.main,
    "online": online.main,
    "choosing": choosing.main,
    "converter": converter.main,
    "tagging": tagging.main,
    "parsing": parsing.main,
    "lowdim": lowdim.main,
    "loop": loop.main,
    "slow-ends": slow_ends.main,
}

BY_THEMSELVES = {"accelerator": accelerator.main, "quality": quality.main, "loop-draws": loop_draws.main}

if sys.argv[1:2] and sys.argv[1] in BY_THEMSELVES:
    BY_THEMSELVES[sys.argv[1]](sys.argv[2:])
else:
    for name in sys.argv[1:] or BENCHMARKS:
        print(f"\n== {name}")
        BENCHMARKS[name]()
