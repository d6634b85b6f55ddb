"""Values as JSON can hold them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def json_value(value: Any) -> Any:
    """A value as JSON can hold it: NumPy's numbers and arrays as Python's; infinities and NaN as null."""
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [json_value(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """One line of JSON for each row."""
    return "".join(json.dumps(json_value(row), ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
