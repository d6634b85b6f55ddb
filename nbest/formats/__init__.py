"""Readers and writers of lists and of forests. `FORMATS` and `FOREST_FORMATS` name them all; adding one is one file and
one line here."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from nbest.base.errors import CapabilityError, FormatError, ParameterError, _known, look_up, need_kind
from nbest.base.files import read_bytes
from nbest.base.registry import Registry
from nbest.corpus import Forests, NBest
from nbest.corpus.operations import join
from nbest.formats.forests.base import ForestFormat
from nbest.formats.likeness import explaining, nearest
from nbest.formats.lists.base import HEAD, Format
from nbest.formats.references import read_references

FORMATS: Registry[Format] = Registry(
    "format",
    {  # in the order they are tried: the surest first
        "ctranslate2": "ctranslate2:FORMAT",
        "whisper": "whisper:FORMAT",
        "jsonl": "jsonl:FORMAT",
        "store": "store:FORMAT",
        "parquet": "parquet:FORMAT",
        "arrow": "arrow:FORMAT",
        "inspect": "inspect_ai:FORMAT",
        "openai": "openai:FORMAT",
        "lm-eval": "lm_eval:FORMAT",
        "openrlhf": "openrlhf:FORMAT",
        "moses-stats": "moses_stats:FORMAT",
        "fairseq": "fairseq:FORMAT",
        "mt-metrics": "mt_metrics:FORMAT",
        "espnet": "espnet:FORMAT",
        "kaldi": "kaldi:FORMAT",
        "hyporadise": "hyporadise:FORMAT",
        "mlm-scoring": "mlm_scoring:FORMAT",
        "wenet": "wenet:FORMAT",
        "flat": "flat:FORMAT",
        "moses": "moses:FORMAT",
        "nemo": "nemo:FORMAT",
        "csv": "rows:CSV_FORMAT",
        "rows": "rows:FORMAT",
    },
    group="nbest.formats",
    room="nbest.formats.lists",
)
FOREST_FORMATS: Registry[ForestFormat] = Registry(
    "format",
    {
        "forests": "jsonl:FORMAT",
        "travatar": "travatar:FORMAT",
        "cdec": "cdec:FORMAT",
        "moses-hypergraph": "moses_hypergraph:FORMAT",
        "slf": "slf:FORMAT",
    },
    group="nbest.forest_formats",
    room="nbest.formats.forests",
)

_MODEL = re.compile(rb'\s*\{\s*"format"\s*:\s*"nbest-model/')  # how the file of a model begins

__all__ = [
    "FOREST_FORMATS",
    "FORMATS",
    "ForestFormat",
    "Format",
    "check_options",
    "format_of_source",
    "format_of_target",
    "read",
    "read_any",
    "read_forests",
    "read_references",
    "read_with",
    "several_files",
    "sniff",
    "sniff_contents",
    "sniff_forests",
    "write",
    "write_blocks",
    "write_forests",
]


def read(path: str | Path, format: str | None = None, **options: Any) -> NBest:
    """Read n-best lists from a file, a directory or standard input (`-`), in any of `FORMATS`.

    Without `format` it is found by the contents, then by the suffix. `options` are those of the format's reader.
    """
    if format is None:
        head = _head(path, options)
        found = sniff_forests(path, head)
        if found is not None:
            raise FormatError(path, None, f"holds forests (format {found}), not lists; use read_forests")
        format = sniff(path, head)
        with explaining(path, head, FORMATS, format):
            return _read(FORMATS, path, format, options)
    if format in FOREST_FORMATS:
        raise ParameterError(f"format {format} is one of forests, not of lists; use read_forests")
    return _read(FORMATS, path, format, options)


def read_forests(path: str | Path, format: str | None = None, **options: Any) -> Forests:
    """Read forests from a file, a directory or standard input (`-`), in any of `FOREST_FORMATS`; else as `read`."""
    if format is None:
        head = _head(path, options)
        format = sniff_forests(path, head)
        if format is None:
            lists = _by_contents(FORMATS, path, head)
            if lists is not None:
                hint = "use read, and forests_of (nbest.forests.derivations) to turn lists into forests"
                raise FormatError(path, None, f"holds lists (format {lists}), not forests; {hint}")
            format = _by_suffix(FOREST_FORMATS, path) or _unknown(path, head, FOREST_FORMATS, "forests")
    elif format in FORMATS:
        raise ParameterError(f"format {format} is one of lists, not of forests; use read")
    return _read(FOREST_FORMATS, path, format, options)


def read_any(path: str | Path, format: str | None = None, **options: Any) -> NBest | Forests:
    """Read lists or forests, whichever the file holds (or `format` says)."""
    if format is None:
        head = _head(path, options)
        format = format_of_source(path, head)
        with explaining(path, head, _all(), format):
            return read_with(path, format, **options)
    return read_with(path, format, **options)


def format_of_source(path: str | Path, head: bytes, format: str | None = None) -> str:
    """The name of the format of a file with these first (unpacked) bytes, lists or forests; `format` if it is said."""
    if format is not None:
        return look_up(_all(), format, "format").name
    _refuse_model(path, head)
    found = (sniff_forests(path, head), _by_contents(FORMATS, path, head))
    suffix = _by_suffix(FORMATS, path, reading=True) or _by_suffix(FOREST_FORMATS, path)
    return found[0] or found[1] or suffix or _unknown(path, head, _all(), "n-best lists or forests")


def read_with(path: str | Path, format: str, **options: Any) -> NBest | Forests:
    """Read lists or forests in the format of this name; `data` among the options: what the file holds."""
    return _read(_all(), path, format, options)


def write(corpus: NBest, path: str | Path, format: str | None = None, **options: Any) -> None:
    """Write n-best lists; without `format` it is the one of the suffix, or jsonl. `-` is standard output."""
    need_kind("write", "corpus", corpus, NBest)
    chosen = _writable(path, format)
    check_options(chosen.write, chosen.name, options)
    assert chosen.write is not None
    chosen.write(corpus, path, **options)


def write_blocks(blocks: Iterable[NBest], path: str | Path, format: str | None = None, **options: Any) -> None:
    """Write lists that come block by block (`nbest.formats.streams`), else as `write`. Formats that cannot be written
    so hold all lists first."""
    chosen = _writable(path, format)
    check_options(chosen.write_blocks or chosen.write, chosen.name, options)
    if chosen.write_blocks is not None:
        chosen.write_blocks(blocks, path, **options)
        return
    parts = list(blocks)
    write(join(parts), path, chosen.name, **options)


def _writable(path: str | Path, format: str | None) -> Format:
    chosen = look_up(FORMATS, (_by_suffix(FORMATS, path) or "jsonl") if format is None else format, "format")
    if chosen.write is None:
        writable = ", ".join(name for name, each in FORMATS.items() if each.write is not None)
        raise CapabilityError(f"format {chosen.name} can only be read; formats that can be written: {writable}")
    return chosen


def write_forests(forests: Forests, path: str | Path, format: str | None = None, **options: Any) -> None:
    """Write forests; without `format` it is the one of the suffix, or forests. `-` is standard output.

    Formats of one forest a file make a directory of files of several forests.
    """
    need_kind("write_forests", "forests", forests, Forests)
    name = (_by_suffix(FOREST_FORMATS, path) or "forests") if format is None else format
    chosen = look_up(FOREST_FORMATS, name, "format")
    check_options(chosen.write, chosen.name, options)
    chosen.write(forests, path, **options)


def sniff(path: str | Path, head: bytes) -> str:
    """The name of the format of lists that a file with these first (unpacked) bytes is in; `b""` for a directory."""
    found = _by_contents(FORMATS, path, head) or _by_suffix(FORMATS, path, reading=True)
    return found or _unknown(path, head, FORMATS, "n-best lists")


def sniff_contents(path: str | Path, head: bytes) -> str | None:
    """The name of the format of lists or forests that a file is in by its first bytes alone, or None."""
    return _by_contents(_all(), path, head)


def sniff_forests(path: str | Path, head: bytes) -> str | None:
    """The name of the format of forests that a file is in by its first bytes, or None; `b""` for a directory."""
    return _by_contents(FOREST_FORMATS, path, head)


def format_of_target(path: str | Path, format: str | None = None) -> str | None:
    """The format that something is to be written in: `format`, or that of the longest suffix that fits (lists before
    forests), or None where the suffix says nothing."""
    if format is not None:
        return look_up(_all(), format, "format").name
    return _by_suffix(_all(), path)


def _all() -> dict[str, Format | ForestFormat]:
    """Formats of lists and of forests, those that were added since included."""
    return {**FORMATS, **FOREST_FORMATS}


def _head(path: str | Path, options: dict[str, Any]) -> bytes:
    """The first bytes of a file, which is read once, into the options: standard input cannot be read again."""
    if not several_files(path):
        options["data"] = read_bytes(path)
    head: bytes = options.get("data", b"")[:HEAD]
    _refuse_model(path, head)
    return head


def _refuse_model(path: str | Path, head: bytes) -> None:
    """Complain, before any format is tried, of a model in the place of lists."""
    if _MODEL.match(head):
        raise FormatError(
            path, None, "this is a model of nbest, not lists; give lists here, and the model with --model"
        )


def _read(family: Mapping[str, Any], path: str | Path, format: str, options: dict[str, Any]) -> Any:
    chosen = look_up(family, format, "format")
    check_options(chosen.read, chosen.name, options)
    return chosen.read(path, **options)


def _by_contents(family: Mapping[str, Any], path: str | Path, head: bytes) -> str | None:
    return next((name for name, format in family.items() if format.sniff(Path(path), head)), None)


def _unknown(path: str | Path, head: bytes, family: Mapping[str, Any], expected: str) -> str:
    if not head and not Path(path).is_dir():
        raise FormatError(path, None, f"the file is empty; expected {expected}")
    if Path(path).is_dir():
        raise FormatError(path, None, "is a directory without any file of a known format and suffix in it")
    hint = f"say which with format= (--format, of convert --from), one of {', '.join(family)}"
    what = f"not in a known format{nearest(path, head, family)}; {hint}"
    raise FormatError(path, None, what)


def several_files(path: str | Path) -> bool:
    """Whether the path is a directory, or the beginning of the names of several files."""
    need_kind("a reader", "path", path, str, Path)
    if str(path) == "-" or Path(path).is_file():
        return False
    return Path(path).is_dir() or any(f.directory and f.sniff(Path(path), b"") for f in FORMATS.values())


def _by_suffix(family: Mapping[str, Any], path: str | Path, *, reading: bool = False) -> str | None:
    name = Path(path).name.lower()
    for packed in (".gz", ".xz"):
        name = name.removesuffix(packed)
    if reading:
        own = [each.name for each in family.values() for end in each.read_suffixes if name.endswith(end)]
        if own:
            return str(own[0])
    fitting = [(len(end), each.name) for each in family.values() for end in each.suffixes if name.endswith(end)]
    return max(fitting, key=lambda pair: pair[0])[1] if fitting else None


def check_options(function: Any, name: str, given: dict[str, Any]) -> None:
    """Complain of an option that the format does not have, or of a value of the wrong kind; names in one text, with
    commas between them, become a list."""
    parameters = inspect.signature(function).parameters.values()
    known = {p.name: str(p.annotation) for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "data"}
    for option in given.keys() - {"data"}:
        if option not in known:
            hint = _known(list(known), option) if known else "it has none"
            raise ParameterError(f"format {name} has no option {option!r}; {hint}")
        if "Sequence[str]" in known[option] and isinstance(given[option], str):
            given[option] = given[option].split(",")  # names as the command line says them
        text_too = "str" in known[option].replace("Sequence[str]", "")
        kind = None if text_too else next((kind for kind in _KINDS if kind in known[option]), None)
        if kind is not None and given[option] is not None and not _KINDS[kind][1](given[option]):
            what = f"must be {_KINDS[kind][0]}, got {given[option]!r}"
            raise ParameterError(f"option {option!r} of format {name} {what}")


_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "Sequence[str]": ("names", lambda value: not isinstance(value, bool | int | float)),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "float": ("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool)),
    "int": ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
}
"""Kinds of options by their annotation: in words, and how to tell."""
