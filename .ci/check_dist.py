"""Whether a wheel and an sdist hold what they should, and nothing else: python .ci/check_dist.py dist"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BESIDE = ("LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "SECURITY.md", "MANIFEST.in")
MADE = ("PKG-INFO", "setup.cfg", "pyproject.toml")


def package() -> set[str]:
    """The files of the package, as they are here."""
    kinds = (".py", ".typed", ".xz", ".js", ".css")
    files = (path for path in ROOT.joinpath("nbest").rglob("*") if path.suffix in kinds or path.name == "py.typed")
    return {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}


def complaints(folder: Path) -> list[str]:
    """What is missing or too much."""
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as file:
        wheeled = {name for name in file.namelist() if ".dist-info/" not in name}
    with tarfile.open(sdist) as file:
        names = {each.name.partition("/")[2] for each in file.getmembers() if each.isfile()}
    sourced = {name for name in names if not name.startswith("nbest.egg-info/")}
    wanted = {wheel.name: (package(), wheeled), sdist.name: (package() | {*BESIDE, *MADE}, sourced)}
    return [
        f"{name}: {what} {', '.join(sorted(files)[:9])}"
        for name, (want, have) in wanted.items()
        for what, files in (("lacks", want - have), ("has no use for", have - want))
        if files
    ]


if __name__ == "__main__":
    found = complaints(Path(sys.argv[1]))
    print("\n".join(found) or "wheel and sdist hold the package and nothing else")
    sys.exit(1 if found else 0)
