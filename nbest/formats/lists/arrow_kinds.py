"""Arrow: whether it is there, what it complains of, and what its types hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nbest.base.errors import CapabilityError, FormatError, NbestError

NEEDS = "pyarrow"


def need_arrow(name: str) -> Any:
    """The module `pyarrow`, or a `CapabilityError` that says how to get it."""
    try:
        import pyarrow
    except ImportError:
        hint = "pip install 'nbest[arrow]'"
        raise CapabilityError(f"format {name} needs pyarrow, which is not installed: {hint}") from None
    return pyarrow


@contextmanager
def complaints(path: str | Path) -> Iterator[None]:
    """What Arrow complains of as a `FormatError`."""
    import pyarrow as pa

    try:
        yield
    except NbestError:
        raise
    except MemoryError:  # Arrow's own is one, too
        raise FormatError(path, None, "does not fit in memory, or is damaged") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).split("\n", 1)[0] or type(error).__name__
        raise FormatError(path, None, f"the table cannot be read: {reason}") from None


def is_string(kind: Any) -> bool:
    """Whether a column of this type holds texts."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def is_list(kind: Any) -> bool:
    """Whether it holds lists."""
    import pyarrow as pa

    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def is_number(kind: Any) -> bool:
    """Whether it holds numbers or booleans."""
    import pyarrow as pa

    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return numbers or pa.types.is_boolean(kind)
