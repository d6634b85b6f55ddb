"""Files around Moses' tuners: features and statistics of the extractor, weights of a run, lists where absent is 0.

The examples are written by hand after the source of mosesdecoder (3445289: mert/FeatureArray.cpp, FeatureStats.cpp,
ScoreArray.cpp, BleuScorer.cpp, scripts/training/mert-moses.pl).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.base.errors import FormatError, ParameterError
from nbest.cli.main import main
from nbest.formats import FORMATS, read
from nbest.formats.moses_weights import parse_moses_weights
from tests.cli.conftest import write_lists

EXAMPLE = dict(FORMATS["moses-stats"].example)
FEATURES, SCORES = EXAMPLE["run1.features.dat"], EXAMPLE["run1.scores.dat"]


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder, with dev and test lists."""
    write_lists(tmp_path, "dev", 20, seed=1)
    write_lists(tmp_path, "test", 20, seed=2)
    monkeypatch.chdir(tmp_path)


def put(folder: Path, features: str = FEATURES, scores: str | None = SCORES) -> Path:
    (folder / "run1.features.dat").write_text(features)
    if scores is not None:
        (folder / "run1.scores.dat").write_text(scores)
    return folder / "run1.features.dat"


def test_features_and_statistics(tmp_path: Path) -> None:
    corpus = read(put(tmp_path))
    assert corpus.feature_names == ("LM0", "TM0_0", "TM0_1")
    assert corpus.features.tolist() == [[-1.75, -1.38, -2.19], [-2, -1, 0], [-1e-3, 0.5, -2]]
    assert corpus.sparse_names == ("pp_a", "pp_b")
    assert corpus.texts is None
    assert corpus.metric == nbest.BLEU(tokenize="none")
    assert corpus.stats is not None
    assert corpus.stats[0].tolist() == [4, 4, 3, 1, 0, 0, 4, 3, 2, 1]  # lengths, correct, total
    assert corpus.stats[2].tolist() == [2, 3, 1, 0, 0, 0, 2, 1, 0, 0]
    assert corpus.score(np.array([1, 2])) == pytest.approx(float(nbest.BLEU().score(corpus.stats[[1, 2]].sum(axis=0))))
    assert read(put(tmp_path / ".", scores=SCORES), scores=tmp_path / "run1.scores.dat").stats is not None
    (tmp_path / "run1.scores.dat").unlink()
    assert read(tmp_path / "run1.features.dat").stats is None


def test_statistics_of_ter(tmp_path: Path) -> None:
    scores = "SCORES_TXT_BEGIN_0 0 2 3 TER\n200 400 50 \n0 400 0 \nSCORES_TXT_END_0\n"
    scores += "SCORES_TXT_BEGIN_0 1 1 3 TER\n100 300 33.3 \nSCORES_TXT_END_0\n"
    corpus = read(put(tmp_path, scores=scores))
    assert corpus.stats is not None
    assert corpus.stats.tolist() == [[2, 4], [0, 4], [1, 3]]
    assert corpus.score(np.array([0, 2])) == pytest.approx(100 * 3 / 7)


@pytest.mark.usefixtures("lists")
def test_tuning_on_them_is_tuning_on_the_lists(capfd: pytest.CaptureFixture[str]) -> None:
    lists = nbest.read("dev.nbest")
    lists = lists.with_metric(nbest.BLEU(tokenize="none"), nbest.read_references("dev.ref", lists.ids))
    assert lists.stats is not None
    features, scores = "", ""
    for i, name in reversed(list(enumerate(lists.ids))):  # segments in any order
        rows = range(int(lists.offsets[i]), int(lists.offsets[i + 1]))
        names = " ".join(f"{each}_0" for each in lists.feature_names)
        features += f"FEATURES_TXT_BEGIN_0 {name} {len(rows)} {len(lists.feature_names)} {names} \n"
        features += (
            "".join(" ".join(map(repr, lists.features[h].tolist())) + " \n" for h in rows) + "FEATURES_TXT_END_0\n"
        )
        scores += f"SCORES_TXT_BEGIN_0 {name} {len(rows)} 9 BLEU\n"
        for h in rows:
            _, ref_len, *counts = lists.stats[h].tolist()
            pairs = [value for n in range(4) for value in (counts[n], counts[4 + n])]
            scores += " ".join(f"{value:g}" for value in [*pairs, ref_len]) + " \n"
        scores += "SCORES_TXT_END_0\n"
    Path("FEATSTAT").write_text(features)
    Path("SCORESTAT").write_text(scores)
    tune = ["--metric", "bleu", "--tokenize", "none", "--method", "mert", "-q", "-o"]
    assert main(["tune", "FEATSTAT", *tune, "a.json"]) == 0
    assert main(["tune", "dev.nbest", "--refs", "dev.ref", *tune, "b.json"]) == 0
    first, second = (json.loads(Path(name).read_text()) for name in ("a.json", "b.json"))
    assert first["weights"] == second["weights"]
    assert first["scores"] == second["scores"]
    capfd.readouterr()
    assert main(["tune", "FEATSTAT", "--metric", "wer", "-q"]) == 2  # no texts


WRONG = {
    "names": (FEATURES.replace("TM0_1 \n", "\n", 1), SCORES, ".features.dat:1: 2 names for 3 features"),
    "values": (FEATURES.replace("-2 -1 0", "-2 -1"), SCORES, ".features.dat:3: expected 3 values, got 2"),
    "no number": (FEATURES.replace("-2 -1 0", "-2 -1 x"), SCORES, ".features.dat:3: feature 'TM0_1' must be a finite"),
    "sparse": (FEATURES.replace("pp_a=1", "pp_a"), SCORES, ".features.dat:2: expected a sparse feature 'name=value'"),
    "fewer": (FEATURES.replace("0 2 3", "0 3 3", 1), SCORES, ".features.dat:4: expected 3 lines of segment 0, got 2"),
    "more": (FEATURES.replace("0 2 3", "0 1 3", 1), SCORES, ".features.dat:3: expected 'FEATURES_TXT_END_0' after 1"),
    "cut": (FEATURES[:-20], SCORES, ".features.dat:6: expected 'FEATURES_TXT_END_0' after 1 lines, got the end"),
    "head": (FEATURES.replace("0 2 3", "0 two 3", 1), SCORES, ".features.dat:1: expected 'FEATURES_TXT_BEGIN_0', a"),
    "digits": (FEATURES.replace("0 2 3", f"0 {'9' * 4400} 3", 1), SCORES, ".features.dat:1: expected 'FEATURES"),
    "binary": (FEATURES.replace("_TXT_", "_BIN_"), SCORES, ".features.dat:1: is binary"),
    "numbers": (FEATURES, SCORES.replace("1 2 0", "1 0"), ".scores.dat:6: expected 9 numbers, got 8"),
    "metric": (FEATURES, SCORES.replace("9 BLEU", "9 PER"), ".scores.dat:1: expected BLEU of 9 numbers and TER of 3"),
    "count": (FEATURES, SCORES[: SCORES.index("SCORES_TXT_BEGIN_0 1")], ".scores.dat: 2 hypotheses, and the features"),
    "another": (FEATURES, SCORES.replace("BEGIN_0 1", "BEGIN_0 7"), ".scores.dat: 3 hypotheses, and the features are"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_refused(tmp_path: Path, kind: str) -> None:
    features, scores, message = WRONG[kind]
    with pytest.raises(FormatError) as caught:
        read(put(tmp_path, features, scores))
    assert str(caught.value).startswith(f"{tmp_path}/run1{message}")


# weights ----------------------------------------------------------------------------------------------------------


def test_weights_of_a_run(tmp_path: Path) -> None:
    dense, sparse = tmp_path / "run3.dense", tmp_path / "run3.sparse-weights"
    dense.write_text("LM0= 0.5\nTM0= 0.25\nTM0= 0.125\nWordPenalty0= -1\n")
    known = {"LM0": 0.5, "TM0_0": 0.25, "TM0_1": 0.125, "WordPenalty0": -1.0}
    assert dict(nbest.load(dense).weights) == known
    sparse.write_text("pp_a~#b 0.5\npp_c=d -1e-3\n")
    assert dict(nbest.load(sparse).weights) == {"pp_a~#b": 0.5, "pp_c=d": -1e-3}
    assert dict(nbest.load(dense).weights) == known | {"pp_a~#b": 0.5, "pp_c=d": -1e-3}
    ini = tmp_path / "moses.ini"
    ini.write_text(f"[weight-file]\n/elsewhere/{sparse.name}\n\n[weight]\nLM0= 2\n")
    assert dict(nbest.load(ini).weights) == {"LM0": 2.0, "pp_a~#b": 0.5, "pp_c=d": -1e-3}
    sparse.unlink()
    with pytest.raises(
        FormatError, match=r"moses.ini: names the sparse weights /elsewhere/run3.sparse-weights, and there"
    ):
        nbest.load(ini)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("LM0= 1\nTM0= 1\nLM0= 2\n", "w.dense:3: the weight of 'LM0' is given twice"),
        ("LM0= 1\nTM0= 1 2\nTM0= 2 3\n", "w.dense:3: the weight of 'TM0_0' is given twice"),
        ("a_b 1\nx\n", "w.dense:2: expected 'Name= value value', got 'x'"),
        ("a_b 1\na_b 2\n", "w.dense:2: the weight of 'a_b' is given twice"),
    ],
)
def test_wrong_weights(text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_moses_weights("w.dense", text)
    assert str(caught.value) == message


@pytest.mark.usefixtures("lists")
def test_rerank_by_weights_of_a_run(capfd: pytest.CaptureFixture[str]) -> None:
    Path("run1.dense").write_text("am= 1\nlm= 0.5\nnoise= 0\n")
    Path("same.json").write_text(
        json.dumps({"format": "nbest-model/1", "kind": "loglinear", "weights": {"am": 1, "lm": 0.5, "noise": 0}})
    )
    chosen = []
    for model in ("run1.dense", "same.json"):
        capfd.readouterr()
        assert main(["rerank", "test.nbest", "--model", model, "-q"]) == 0
        chosen.append(capfd.readouterr().out)
    assert chosen[0] == chosen[1]


# lists of Phrasal -------------------------------------------------------------------------------------------------

PHRASAL = (
    "0 ||| a house ||| LM: -1.5E1 TM:FPT.0: -2 UnknownWord: 1 ||| -8.5 ||| 0=0\n"
    "0 ||| a mouse ||| LM: -1.25E1 TM:FPT.0: -3 ||| -9.5\n"
)


def test_absent_is_zero(tmp_path: Path) -> None:
    path = tmp_path / "dev.nbest"
    path.write_text(PHRASAL)
    with pytest.raises(FormatError, match="feature 'UnknownWord' is missing"):
        read(path)
    corpus = read(path, absent=0)
    assert corpus.feature_names == ("LM", "TM:FPT.0", "UnknownWord")
    assert corpus.features.tolist() == [[-15, -2, 1], [-12.5, -3, 0]]
    assert read(path, absent=0, total=True).column("total").tolist() == [-8.5, -9.5]
    with pytest.raises(ParameterError, match="'absent' of read_moses must be 0, got 1"):
        read(path, absent=1)
    with pytest.raises(ParameterError, match="'absent' of format moses must be a whole number, got True"):
        read(path, absent=True)
    assert main(["convert", str(path), str(tmp_path / "out.jsonl"), "--option", "absent=0", "-q"]) == 0
    assert nbest.read(tmp_path / "out.jsonl").features.tolist() == corpus.features.tolist()
