"""Model directories: the old one or the new one, whatever happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbest.base.errors import FormatError
from nbest.base.folders import check_files, read_manifest, replacing_directory, sizes_and_sums, write_manifest


def read(folder: Path) -> str:
    manifest = read_manifest(folder, "x/1", "thing", "make it")
    return check_files(folder, ["a.txt"], manifest["files"])["a.txt"].read_text()


def write(path: Path, text: str) -> None:
    with replacing_directory(path) as folder:
        (folder / "a.txt").write_text(text)
        write_manifest(folder, {"format": "x/1", "files": sizes_and_sums(folder)})


def test_a_directory_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write(tmp_path / "m", "one")
    write(tmp_path / "m", "two")
    assert read(tmp_path / "m") == "two"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_an_error_while_writing_leaves_the_old_one(tmp_path: Path) -> None:
    write(tmp_path / "m", "one")
    with pytest.raises(RuntimeError), replacing_directory(tmp_path / "m"):
        raise RuntimeError
    assert (tmp_path / "m" / "a.txt").read_text() == "one"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_an_error_while_renaming_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "m", "one")
    rename = Path.rename

    def failing(self: Path, goal: Path) -> Path:
        if self.name.endswith(".part"):
            raise OSError("no")
        return rename(self, goal)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="no"):
        write(tmp_path / "m", "two")
    assert (tmp_path / "m" / "a.txt").read_text() == "one"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda m: (m / "manifest.json").unlink(), "is no thing: it has no manifest.json; make it"),
        (lambda m: (m / "manifest.json").write_text("{"), "cut short"),
        (lambda m: (m / "manifest.json").write_text('{"format": "y"}'), "expected the format 'x/1', got 'y'"),
        (lambda m: (m / "a.txt").write_text("longer"), "cut short or changed"),
        (lambda m: (m / "a.txt").write_text("two"), "sha256"),
        (lambda m: (m / "a.txt").unlink(), "is missing"),
    ],
)
def test_what_is_damaged_is_refused(tmp_path: Path, damage, message: str) -> None:
    write(tmp_path / "m", "one")
    damage(tmp_path / "m")
    with pytest.raises(FormatError, match=message):
        read(tmp_path / "m")


@pytest.mark.parametrize("name", ["../a.txt", "/etc/hosts", "x/../../a.txt", "", "a\0b", "..", "a\\b"])
def test_names_that_lead_out_of_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path / "m", "one")
    with pytest.raises(FormatError, match="which is not in it"):
        check_files(tmp_path / "m", [name], {name: {"bytes": 3, "sha256": ""}})


def test_links_that_lead_out_of_the_folder_or_in_a_circle_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "m", "one")
    manifest = read_manifest(tmp_path / "m", "x/1", "thing", "make it")
    (tmp_path / "m" / "a.txt").rename(tmp_path / "a.txt")
    for goal in (tmp_path / "a.txt", tmp_path / "m" / "a.txt"):
        (tmp_path / "m" / "a.txt").unlink(missing_ok=True)
        (tmp_path / "m" / "a.txt").symlink_to(goal)
        with pytest.raises(FormatError, match=r"a\.txt: is"):
            check_files(tmp_path / "m", ["a.txt"], manifest["files"])


def test_a_changed_manifest_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "m", "one")
    path = tmp_path / "m" / "manifest.json"
    path.write_text(path.read_text().replace("x/1", "x/2"))
    with pytest.raises(FormatError, match="not those that its sha256 was made of"):
        read(tmp_path / "m")
