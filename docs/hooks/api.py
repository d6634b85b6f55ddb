"""The reference of Python: `::: nbest.NAME` below a heading is what mkdocstrings, or a registry, says of the name."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from types import ModuleType
from typing import Any

from nbest.base.registry import Registry

_WIDE = 100  # characters of a signature in one line
_NAMED = re.compile(r"^::: (\S+)\n\n((?:<!--.*?-->\n)?```python\n.*?^```\n)", flags=re.MULTILINE | re.DOTALL)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put signature and description below every `## NAME` with `::: nbest.NAME`."""
    return _NAMED.sub(lambda found: told(found[1], found[2]), markdown)


def told(path: str, example: str) -> str:
    """What the site has in the place of a name and its example."""
    room, _, name = path.rpartition(".")
    value = getattr(import_module(room), name)
    if isinstance(value, Registry):
        return f"{_names(value)}\n\n{example}"
    if isinstance(value, ModuleType):
        return f"{example}\n::: {value.__name__}\n"
    if not callable(value):
        return f"`{path}`, a {type(value).__name__}.\n\n{example}"
    called = f"```python\n{signature(path, value)}\n```\n"
    return f"{called}\n**Example**\n\n{example}\n::: {value.__module__}.{value.__qualname__}\n"


def signature(path: str, value: Any) -> str:
    """How it is called, with types; one parameter a line where there are many."""
    try:
        given = inspect.signature(value)
    except ValueError:  # warnings, which are built in
        return f"class {path}"
    parts = _parts(list(given.parameters.values()))
    end = "" if isinstance(value, type) else f" -> {_plain(given.return_annotation)}"
    line = f"{path}({', '.join(parts)}){end}"
    return line if len(line) <= _WIDE else f"{path}(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"


def _parts(given: list[inspect.Parameter]) -> list[str]:
    """The parameters, with a star before those that are given by name only."""
    parts = [_parameter(each) for each in given]
    named = [i for i, each in enumerate(given) if each.kind is inspect.Parameter.KEYWORD_ONLY]
    if named and not any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in given):
        parts.insert(named[0], "*")
    return parts


def _parameter(each: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(each.kind, "")
    text = f"{stars}{each.name}: {_plain(each.annotation)}"
    if each.default is inspect.Parameter.empty:
        return text
    shown = repr(each.default)
    return f"{text} = {'...' if ' at 0x' in shown or shown.startswith('<') else shown}"


def _plain(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _names(registry: Registry[Any]) -> str:
    """The names of a family with the first line of what each says of itself."""
    rows = [f"| `{name}` | {_first_line(registry[name])} |" for name in sorted(registry)]
    return "\n".join(["| name | is |", "| --- | --- |", *rows])


def _first_line(value: Any) -> str:
    kind = value if callable(value) else type(value)
    line = (kind.__doc__ or "").strip().partition("\n")[0]
    return re.sub(r"([<>*_|\[\]])", r"\\\1", line)
