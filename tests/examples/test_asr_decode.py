"""The decoder of examples/asr: what it writes is what pocketsphinx chose from, by the scores it chose by."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import wave
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from nbest.forests.kbest import kbest
from nbest.formats import read_any
from nbest.model.loglinear import LogLinear

pytest.importorskip("pocketsphinx", reason="pocketsphinx is not installed")

EXAMPLE = Path(__file__).parents[2] / "examples" / "asr"
WEIGHTS = (7.0, 1.5)  # of lm and words, unlike pocketsphinx's own
SCORE_STEP = 1024 * math.log(1.0001)  # of pocketsphinx's integers, in natural logarithms
FAST = ("--set", "maxhmmpf=1000", "--set", "maxwpf=5")


def write_audio(path: Path, seed: int, rate: int = 16000) -> None:
    """A hum with harmonics and changing loudness, in noise: no speech, but heard as some."""
    time = np.arange(rate) / rate
    pitch = 2 * np.pi * (120 + 10 * seed) * time
    hum = sum(np.sin(n * pitch + n) / n for n in range(1, 20)) * np.abs(np.sin(2 * np.pi * 2.5 * time))
    samples = 2000 * hum + np.random.default_rng(seed).normal(0, 100, rate)
    with wave.open(str(path), "wb") as audio:
        audio.setparams((1, 2, rate, 0, "NONE", ""))
        audio.writeframes(samples.astype("<i2").tobytes())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two utterances and their list."""
    path = tmp_path_factory.mktemp("audio")
    for name, seed in (("b", 1), ("a", 2)):
        write_audio(path / f"{name}.wav", seed)
    (path / "all.scp").write_text("b.wav\na.wav\n", encoding="utf-8")
    return path


def decode(folder: Path, output: str, *more: str, lw: float = WEIGHTS[0], source: str = "all.scp") -> str:
    """Run the program as a loop would; what it says if it fails."""
    command = [sys.executable, str(EXAMPLE / "decode.py"), "--lw", str(lw), "--words", str(WEIGHTS[1]), *FAST, *more]
    files = ["--input", str(folder / source), "--output", str(folder / output)]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def scores(features: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Weighted sums as pocketsphinx has them."""
    weights = {"acoustic": 1.0, "lm": WEIGHTS[0], "words": WEIGHTS[1]}
    return features @ np.array([weights[name] for name in names])


def test_lists_and_lattices_hold_the_same(folder: Path) -> None:
    assert decode(folder, "lists.jsonl", "--k", "20", "--jobs", "2") == ""
    assert decode(folder, "lattices", "--lattices") == ""
    lists, forests = read_any(folder / "lists.jsonl"), read_any(folder / "lattices")
    assert lists.ids == ("b", "a")
    assert set(forests.ids) == {"a", "b"}
    model = LogLinear({"acoustic": 1.0, "lm": WEIGHTS[0], "words": WEIGHTS[1]})
    best = kbest(forests, model.edge_scores(forests), 5, distinct=True).lists()
    for i, name in enumerate(lists.ids):
        at, there = slice(*lists.offsets[i : i + 2]), best.ids.index(name)
        totals = scores(lists.features[at], lists.feature_names)
        assert len(totals) > 5, "the audio is too clear to tell anything"
        assert np.all(np.diff(totals[1:]) <= 0.01)  # the first is the recogniser's answer
        likely = np.sort(totals[totals > totals.max() - 85])[::-1][:5]  # lattices are cut at 90
        low = best.offsets[there]
        other = scores(best.features[low : low + len(likely)], best.feature_names)
        np.testing.assert_allclose(other, likely, atol=0.02)
        assert best.texts[low] == lists.texts[lists.offsets[i] + np.argmax(totals)]


def test_score_is_that_of_pocketsphinx(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import decode as program

    log = tmp_path / "log"
    settings = program.settings_of(*WEIGHTS, (*FAST[1::2], f"logfn={log}"))
    recogniser = program.Tuned({**settings, "loglevel": "INFO"}, 1)
    _, paths = recogniser._paths(program.read_audio(folder / "b.wav"))
    own = int(re.findall(r"Bestpath score: (-?\d+)", log.read_text(encoding="utf-8"))[-1])
    own *= SCORE_STEP
    found = paths.best_strings(1)[0]
    mine = scores(np.array([list(paths.features(found).values())]), list(program.FEATURES))[0] + WEIGHTS[1]
    assert mine == pytest.approx(found.total, abs=0.01)  # the sentence end counts as a word, always
    assert mine == pytest.approx(own, abs=2.0)  # pocketsphinx rounds each word's score to 0.1 or so


def test_acoustic_scores_do_not_depend_on_the_weights(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import decode as program

    audio = program.read_audio(folder / "b.wav")
    found = []
    for lw, words in (WEIGHTS, (WEIGHTS[0] + 5, WEIGHTS[1] - 11.5)):
        _, paths = program.Tuned(program.settings_of(lw, words, FAST[1::2]), 1)._paths(audio)
        best = paths.best_strings(100)
        found.append({" ".join(paths.words_of(each.nodes)): paths.features(each)["acoustic"] for each in best})
    shared = [found[0][text] - found[1][text] for text in found[0].keys() & found[1].keys()]
    assert shared, "no string was found with both weights"
    assert min(map(abs, shared)) < 0.2  # rounding; some strings get another alignment, but not all


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lw": 0.0}, "--lw must be > 0"),
        ({"source": "none.scp"}, "No such file"),
        ({"source": "absent.scp"}, "absent.wav: cannot be read"),
        ({"source": "slow.scp"}, "expected 16000 Hz"),
        ({"source": "twice.scp"}, "two files have the same name"),
        ({"source": "empty.scp"}, "got none"),
        ({"more": ("--set", "maxhmpf=3")}, "'maxhmpf=3'"),
        ({"more": ("--set", "lw=3")}, "follows from --lw"),
    ],
)
def test_errors_say_what_is_wrong(folder: Path, change: dict, said: str) -> None:
    write_audio(folder / "slow.wav", 1, 8000)
    contents = {"absent": "absent.wav\n", "slow": "slow.wav\n", "twice": "a.wav\na.wav\n", "empty": "\n"}
    for name, text in contents.items():
        (folder / f"{name}.scp").write_text(text, encoding="utf-8")
    more = change.pop("more", ())
    told = decode(folder, "wrong.jsonl", *more, **change)
    assert told.startswith("decode.py: ")
    assert said in told
    assert "Traceback" not in told
    assert not list(folder.glob("wrong*"))
