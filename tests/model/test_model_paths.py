"""No path in a model leads out of its folder, unless the user who loads it has given the file."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

import nbest
from nbest.base.errors import CapabilityError, FormatError
from nbest.features import fit_recipes
from nbest.model.loglinear import LogLinear, load
from nbest.testing import toy_lists

ARPA = "\\data\\\nngram 1=4\n\n\\1-grams:\n-0.5 </s>\n-99 <s>\n-0.5 the\n-1 <unk>\n\n\\end\\\n"
CORPUS = toy_lists()


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model in a folder with its language model; another folder is the current one."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "mine" / "lm.arpa").write_text(ARPA)
    monkeypatch.chdir(tmp_path / "here")
    return LogLinear({"lm": 1.0}, features=fit_recipes(CORPUS, [{"kind": "lm", "path": "../mine/lm.arpa"}]))


def said(path):
    return json.loads(Path(path).read_text())["features"][0]["path"]


def test_a_file_in_the_folder_moves_with_it(model, tmp_path):
    model.save("../mine/m.json")
    assert said("../mine/m.json") == "lm.arpa"
    expected = model.scores(CORPUS).tolist()
    shutil.move(tmp_path / "mine", tmp_path / "moved")
    assert load("../moved/m.json").scores(CORPUS).tolist() == expected
    os.chdir(tmp_path / "moved")
    assert load("m.json").scores(CORPUS).tolist() == expected


def test_a_file_in_a_folder_below(model, tmp_path):
    model.save(tmp_path / "m.json")
    assert said(tmp_path / "m.json") == "mine/lm.arpa"
    assert load(tmp_path / "m.json").scores(CORPUS).tolist() == model.scores(CORPUS).tolist()


def test_a_file_outside_must_be_given(model, tmp_path):
    model.save("m.json")
    assert said("m.json") == str(tmp_path / "mine" / "lm.arpa")
    loaded = load("m.json")
    assert loaded.weights == {"lm": 1.0}  # looking at it opens nothing
    with pytest.raises(
        CapabilityError, match=r"needs the language model .*lm\.arpa, which is not in the model's folder"
    ):
        loaded.scores(CORPUS)
    expected = model.scores(CORPUS).tolist()
    assert nbest.load("m.json", files=["../mine/lm.arpa"]).scores(CORPUS).tolist() == expected
    shutil.copy("../mine/lm.arpa", "another.arpa")  # known by what it holds, not by its name
    assert load("m.json", files=["another.arpa"]).scores(CORPUS).tolist() == expected
    Path("other.arpa").write_text(ARPA.replace("-0.5", "-0.6"))
    with pytest.raises(FormatError, match=r"other.arpa: is no file of the model m.json: it reads .*lm.arpa, with"):
        load("m.json", files=["other.arpa"])
    loaded.save("again.json")  # still asks for it
    assert said("again.json") == said("m.json")


@pytest.mark.parametrize(
    "path", ["../mine/lm.arpa", "ABSOLUTE", "x/../../mine/lm.arpa", "link.arpa", "/dev/zero", "/etc/passwd"]
)
def test_a_strangers_model_opens_nothing_outside(model, tmp_path, path):
    path = str(tmp_path / "mine" / "lm.arpa") if path == "ABSOLUTE" else path
    os.symlink("../mine/lm.arpa", "link.arpa")
    known = hashlib.sha256(ARPA.encode()).hexdigest()
    for extra in ({}, {"sha256": known}):
        recipe = {"kind": "lm", "path": path, "name": "lm", **extra}
        content = {"format": "nbest-model/1", "kind": "loglinear", "weights": {"lm": 1.0}, "features": [recipe]}
        Path("m.json").write_text(json.dumps(content))
        with pytest.raises(CapabilityError, match="not in the model's folder"):
            load("m.json").scores(CORPUS)


@pytest.mark.parametrize("path", ["", 3, None, ["lm.arpa"], "lm\0.arpa"])
def test_paths_that_are_none(model, path):
    recipe = {"kind": "lm", "path": path, "name": "lm"}
    content = {"format": "nbest-model/1", "kind": "loglinear", "weights": {"lm": 1.0}, "features": [recipe]}
    Path("m.json").write_text(json.dumps(content))
    with pytest.raises(FormatError, match=r"m\.json: a recipe of the model names a file that cannot be one"):
        load("m.json")


def test_a_pipe_in_the_folder_is_refused(model):
    os.mkfifo("lm.arpa")
    for extra in ({}, {"sha256": "0" * 64}):
        recipe = {"kind": "lm", "path": "lm.arpa", "name": "lm", **extra}
        content = {"format": "nbest-model/1", "kind": "loglinear", "weights": {"lm": 1.0}, "features": [recipe]}
        Path("m.json").write_text(json.dumps(content))
        with pytest.raises(FormatError, match="is no plain file"):
            load("m.json").scores(CORPUS)


def test_files_that_no_feature_reads_are_refused(model, tmp_path):
    model.save("../mine/m.json")
    (tmp_path / "other.arpa").write_text(ARPA.replace("-0.5 the", "-0.6 the"))
    with pytest.raises(FormatError, match=r"other.arpa: is no file of the model .*lm.arpa, with another checksum"):
        load("../mine/m.json", [tmp_path / "other.arpa"])
    with pytest.raises(FormatError, match="nowhere: cannot be read"):
        load("../mine/m.json", ["nowhere"])
    LogLinear({"first": 1.0}).save("plain.json")
    with pytest.raises(FormatError, match="it reads none"):
        load("plain.json", [tmp_path / "other.arpa"])
