"""Manifests changed by someone who also makes their sum anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nbest.base.sealed import SEAL, sealed


def change(folder: Path, changes: dict[str, Any]) -> None:
    """Put other values into the manifest of a folder."""
    path = folder / "manifest.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    del content[SEAL]
    path.write_text(json.dumps(sealed(content | changes)), encoding="utf-8")
