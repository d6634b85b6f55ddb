"""The translator from end to end on a made-up language pair, and its directory."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from nbest.base.errors import FormatError, ParameterError
from nbest.forests.kbest import kbest
from nbest.forests.ngrams.annotation import annotate
from nbest.systems.translator.itg.decoder import FEATURES
from nbest.systems.translator.system import TranslatorTraining
from nbest.systems.translator.train import Stages
from nbest.systems.translator.translator import DEFAULT_WEIGHTS, Translator

pytest.importorskip("sacremoses")

NOUNS = {"chien": "dog", "chat": "cat", "arbre": "tree", "fleuve": "river", "jardin": "garden", "pont": "bridge"}
ADJECTIVES = {"rouge": "red", "petit": "small", "vieux": "old", "vert": "green"}
VERBS = {"voit": "sees", "aime": "likes", "quitte": "leaves"}


def corpus(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Sentences in which adjectives follow their noun on one side and go before it on the other."""
    rng = np.random.default_rng(seed)

    def phrase() -> tuple[str, str]:
        noun, adjective = rng.choice(list(NOUNS)), rng.choice(list(ADJECTIVES))
        return f"le {noun} {adjective}", f"the {ADJECTIVES[adjective]} {NOUNS[noun]}"

    source, target = [], []
    for _ in range(count):
        (a, b), (c, d), verb = phrase(), phrase(), rng.choice(list(VERBS))
        source.append(f"L{a[1:]} {verb} {c}.")
        target.append(f"T{b[1:]} {VERBS[verb]} {d}.")
    return source, target


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("translator")
    for side, lines in zip(("fr", "en"), corpus(400, 1), strict=True):
        (folder / f"train.{side}").write_text("".join(f"{line}\n" for line in lines))
    training(folder).run()
    return folder


def training(folder: Path, **options: object) -> Stages:
    sides = str(folder / "train.fr"), str(folder / "train.en")
    return Stages(*sides, "fr", "en", folder / "model", TranslatorTraining(lm_order=3), **options)  # type: ignore[arg-type]


def translations(system: Translator, texts: list[str]) -> list[str]:
    forests = system.forests(texts, beam=30)
    scores = forests.features @ np.array([system.weights[name] for name in FEATURES])
    return [system.text(words) for words in kbest(forests, scores, 1).texts()]


def test_it_translates(trained: Path) -> None:
    """Nothing but the order of noun phrases is ever wrong: no feature tells which of them is the subject."""
    source, target = corpus(40, 2)
    found = translations(Translator.load(trained / "model"), source)
    assert np.mean([a == b for a, b in zip(found, target, strict=True)]) >= 0.9
    assert [sorted(a.lower().split(" ")) for a in found[:3]] == [sorted(b.lower().split(" ")) for b in target[:3]]


def test_unknown_words_are_passed_through(trained: Path) -> None:
    found = translations(Translator.load(trained / "model"), ["Le zèbre vert voit Ωmega.", "", "日本"])
    assert "zèbre" in found[0]
    assert "Ωmega" in found[0]
    assert "sees" in found[0]
    assert found[1] == ""
    assert found[2] == "日本"


def test_forests_have_ngrams_at_edges(trained: Path) -> None:
    forests = Translator.load(trained / "model").forests(corpus(5, 3)[0], beam=20)
    assert annotate(forests, 4) is forests
    assert forests.feature_names == FEATURES
    assert dict(forests.own_weights) == pytest.approx(DEFAULT_WEIGHTS)
    assert forests.sources is not None
    assert len(forests) == 5


def test_long_texts_are_refused(trained: Path) -> None:
    with pytest.raises(ParameterError, match="500 tokens, more than 200"):
        Translator.load(trained / "model").forests(["chat " * 500])


def test_training_goes_on_where_it_stopped(trained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(trained, folder)
    again = training(folder)
    again.run()
    assert again.done == []

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "alignment" and done == 3:
            raise KeyboardInterrupt

    shutil.rmtree(folder / "model")
    with pytest.raises(KeyboardInterrupt):
        training(folder, progress=stop).run()
    with pytest.raises(FormatError, match="train it to the end"):
        Translator.load(folder / "model")
    rest = training(folder)
    rest.run()
    assert rest.done == ["alignment", "phrases"]
    for name in ("source.truecase.json", "lm.nlm", "phrases/manifest.json", "manifest.json"):
        assert (folder / "model" / name).read_bytes() == (trained / "model" / name).read_bytes()
    lines = (folder / "train.en").read_text().splitlines()
    (folder / "train.en").write_text("".join(f"{line}\n" for line in [*lines[:-1], "The dog."]))
    changed = training(folder)
    changed.run()
    assert changed.done == ["tokens", "lm", "alignment", "phrases"]


def test_a_stage_whose_record_is_damaged_or_missing_is_done_again(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "copy")
    records = tmp_path / "copy" / "model" / "work" / "steps"
    (records / "lm.json").write_text('{"tok')
    (records / "phrases.json").unlink()
    again = training(tmp_path / "copy")
    again.run()
    assert again.done == ["lm", "phrases"]
    shutil.rmtree(records)
    again = training(tmp_path / "copy")
    again.run()
    assert again.done == ["tokens", "lm", "alignment", "phrases"]


def test_two_trainings_in_one_directory_are_refused(trained: Path, tmp_path: Path) -> None:
    for side in ("fr", "en"):
        shutil.copy(trained / f"train.{side}", tmp_path)

    def second(stage: str, done: int, total: int) -> None:
        with pytest.raises(ParameterError, match=f"another process is working in .*model: {os.getpid()} on "):
            training(tmp_path).run()

    training(tmp_path, progress=second).run()


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("work/links.txt", ["alignment"]),
        ("work/target.txt", ["tokens"]),
        ("lm.nlm", ["lm"]),
        ("phrases/targets.npy", ["phrases"]),
    ],
)
def test_a_stage_whose_files_were_changed_is_done_again(
    trained: Path, tmp_path: Path, name: str, stages: list[str]
) -> None:
    shutil.copytree(trained, tmp_path / "copy")
    path = tmp_path / "copy" / "model" / name
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    again = training(tmp_path / "copy")
    again.run()
    assert again.done == stages
    assert path.read_bytes() == data


@pytest.mark.slow
def test_a_training_killed_at_any_moment_ends_with_the_same_bytes(trained: Path, tmp_path: Path) -> None:
    rng, folder = random.Random(), tmp_path / "model"
    command = [
        sys.executable,
        "-m",
        "nbest",
        "train",
        "translator",
        str(trained / "train.fr"),
        str(trained / "train.en"),
    ]
    command += ["--languages", "fr-en", "--lm-order", "3", "-q", "-o", str(folder)]

    def listing() -> set[tuple[Path, int]]:
        found = set()
        for path in folder.rglob("*"):
            with suppress(FileNotFoundError):
                found.add((path, path.stat().st_mtime_ns))
        return found

    for _ in range(10):
        process, before, changes = subprocess.Popen(command), listing(), rng.randint(1, 25)
        while changes and process.poll() is None:
            now = listing()
            changes -= now != before
            before = now
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True)
    for path in (trained / "model").rglob("*"):
        own = folder / path.relative_to(trained / "model")
        if path.is_file() and "work/steps" not in path.as_posix() and path.name != "lock":
            assert own.read_bytes() == path.read_bytes(), own
    assert not list(folder.rglob(".*"))


def test_other_directories_are_left_alone(trained: Path, tmp_path: Path) -> None:
    for side in ("fr", "en"):
        shutil.copy(trained / f"train.{side}", tmp_path)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "manifest.json").write_text("mine")
    with pytest.raises(FormatError, match="name another directory"):
        training(tmp_path).run()
    assert (tmp_path / "model" / "manifest.json").read_text() == "mine"


def test_bad_corpora(tmp_path: Path) -> None:
    (tmp_path / "train.fr").write_text("un\ndeux\n")
    (tmp_path / "train.en").write_text("one\n")
    with pytest.raises(FormatError, match=r"has 1 lines and .* has 2"):
        training(tmp_path).run()
    (tmp_path / "train.fr").write_text("")
    (tmp_path / "train.en").write_text("")
    with pytest.raises(FormatError, match="empty"):
        training(tmp_path).run()


def test_empty_lines_and_long_sentences_are_survived(tmp_path: Path) -> None:
    source, target = corpus(50, 4)
    (tmp_path / "train.fr").write_text("".join(f"{x}\n" for x in [*source, "", "chat", "chat " * 500]))
    (tmp_path / "train.en").write_text("".join(f"{x}\n" for x in [*target, "dog", "", "cat " * 500]))
    one = training(tmp_path)
    one.run()
    assert one.report["not aligned"] == {"an empty side": 2, "over 100 words": 1}
    assert translations(Translator.load(tmp_path / "model"), source[:1]) == target[:1]


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "manifest.json").write_text('{"format": "nbest-translator/0"}'),
        lambda folder: (folder / "manifest.json").write_text("{"),
        lambda folder: (folder / "lm.nlm").write_bytes((folder / "lm.nlm").read_bytes()[:-100]),
        lambda folder: (folder / "source.truecase.json").write_text("[]"),
        lambda folder: shutil.rmtree(folder / "phrases"),
        lambda folder: (folder / "phrases" / "targets.npy").write_bytes(b""),
        lambda folder: (folder / "weights.json").write_text(
            json.dumps({"format": "nbest-model/1", "kind": "loglinear", "weights": {"nonsense": 1.0}})
        ),
    ],
)
def test_damaged_directories(trained: Path, tmp_path: Path, damage: object) -> None:
    folder = tmp_path / "model"
    shutil.copytree(trained / "model", folder)
    damage(folder)  # type: ignore[operator]
    with pytest.raises(FormatError):
        Translator.load(folder)


def test_bad_settings() -> None:
    for name in ("longest", "options", "lm_order", "ibm1"):
        with pytest.raises(ParameterError, match=name):
            TranslatorTraining(**{name: 0})
