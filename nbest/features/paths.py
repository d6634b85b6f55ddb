"""Paths in the recipes of a model: within its folder, or given by the user who loads it.

A file within the model's folder is kept relative to it, so that both can be moved. Any other is kept by its full
path, but a model that is loaded does not open it: whoever loads it names the file (`nbest.load(..., files=...)`,
`nbest rerank --lm FILE`), and what it holds must have the checksum of the recipe.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError
from nbest.base.files import goal_of, reason_of

PATH, WANTED = "path", "wanted"
"""Options of a recipe: the file to read, and the one that a loaded model asks for and must not open."""


def stored(path: str | Path, recipe: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe as a model file at `path` keeps it."""
    kept = {key: value for key, value in recipe.items() if key != WANTED}
    if recipe.get(WANTED) and not recipe.get(PATH):
        return {**kept, PATH: recipe[WANTED]}
    if not isinstance(recipe.get(PATH), str):
        return kept
    file = os.path.realpath(recipe[PATH])
    folder = None if str(path) == "-" else str(goal_of(path)[0].parent)
    within = folder is not None and os.path.commonpath([file, folder]) == folder
    return {**kept, PATH: Path(os.path.relpath(file, folder)).as_posix() if within else file}


def resolved(
    path: str | Path, recipes: Sequence[Mapping[str, Any]], files: Sequence[str | Path]
) -> list[dict[str, Any]]:
    """Recipes of a model loaded from `path`: paths within its folder in full, others replaced by those of `files`."""
    given = [(file, checksum(file)) for file in files]
    wanted = {recipe.get("sha256"): recipe[PATH] for recipe in recipes if PATH in recipe}
    odd = next((file for file, each in given if each not in wanted), None)
    if odd is not None:
        needs = f"it reads {', '.join(map(str, wanted.values()))}, with another checksum" if wanted else "it reads none"
        raise FormatError(odd, None, f"is no file of the model {path}: {needs}")
    sums = {each: os.path.realpath(file) for file, each in given}
    return [_resolved(path, recipe, sums) if PATH in recipe else dict(recipe) for recipe in recipes]


def _resolved(path: str | Path, recipe: Mapping[str, Any], sums: Mapping[str, str]) -> dict[str, Any]:
    said, known = recipe[PATH], recipe.get("sha256")
    if not isinstance(said, str) or not said or "\0" in said:
        raise FormatError(path, None, f"a recipe of the model names a file that cannot be one: {said!r:.60}")
    if isinstance(known, str) and known in sums:
        return {**recipe, PATH: sums[known]}
    if str(path) != "-" and not os.path.isabs(said):
        folder = _folder(path)
        file = os.path.realpath(os.path.join(folder, said))
        if os.path.commonpath([file, folder]) == folder:
            return {**recipe, PATH: file}
    return {**recipe, PATH: "", WANTED: said}


def _folder(path: str | Path) -> str:
    return os.path.dirname(os.path.realpath(path))


def need_plain(path: str | Path) -> None:
    """Refuse a pipe or a device, which would have to be read twice."""
    if Path(path).exists() and not Path(path).is_file():
        raise FormatError(path, None, "cannot be read: it is no plain file (a language model of a feature)")


def checksum(path: str | Path) -> str:
    """SHA-256 of a plain file."""
    try:
        need_plain(path)
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        hint = "the language model of a feature; a relative path starts at the current folder"
        raise FormatError(path, None, f"cannot be read: {reason_of(error)} ({hint})") from None
