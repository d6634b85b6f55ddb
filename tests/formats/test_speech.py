"""Formats of recognisers: ESPnet, Kaldi, NeMo, WeNet."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbest.base.errors import CapabilityError, FormatError, ParameterError
from nbest.corpus import Origin
from nbest.formats import read, write


def put(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def complaint_of(root: Path, path: Path, **options: object) -> str:
    with pytest.raises(FormatError) as caught:
        read(path, **options)
    return str(caught.value).replace(f"{root}/", "")


# ESPnet ---------------------------------------------------------------------------------------------------------

ESPNET = {
    "output.10/1best_recog/text": "w z\n",
    "output.10/1best_recog/token": "w z\n",
    "output.10/1best_recog/score": "w -9\n",
    "output.2/1best_recog/text": "u a b\nv c\n",
    "output.2/1best_recog/token": "u a b\nv c c c\n",
    "output.2/1best_recog/score": "u tensor(-1.5)\nv -2\n",
    "output.2/2best_recog/text": "u a b\n",
    "output.2/2best_recog/token": "u a b\n",
    "output.2/2best_recog/score": "u tensor(-3.5, device='cuda:0')\n",
}


@pytest.mark.parametrize("below", ["", "logdir/"])
def test_espnet(tmp_path: Path, below: str) -> None:
    corpus = read(put(tmp_path / "x", {below + name: text for name, text in ESPNET.items()}))
    assert corpus.ids == ("u", "v", "w")
    assert list(corpus.texts) == ["a b", "a b", "c", "z"]  # equal texts stay
    assert corpus.column("score").tolist() == [-1.5, -3.5, -2, -9]
    assert corpus.column("tokens").tolist() == [2, 2, 3, 1]


def test_espnet_one_job_without_tokens(tmp_path: Path) -> None:
    root = put(tmp_path, {name: text for name, text in ESPNET.items() if "token" not in name})
    corpus = read(root / "output.2")
    assert corpus.ids == ("u", "v")
    assert corpus.feature_names == ("score",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"output.2/1best_recog/score": "u -1\nv x\n"},
            "output.2/1best_recog/score:2: the score must be a finite number",
        ),
        ({"output.2/1best_recog/score": "u tensor(nan)\nv 1\n"}, "output.2/1best_recog/score:1: the score must be"),
        (
            {"output.2/1best_recog/score": "u -1\n"},
            "output.2/1best_recog/text:2: key 'v' is not in output.2/1best_recog/s",
        ),
        (
            {"output.2/1best_recog/text": "u a\n"},
            "output.2/1best_recog/score:2: key 'v' is not in output.2/1best_recog/t",
        ),
        ({"output.2/1best_recog/text": "u a\nu b\n"}, "output.2/1best_recog/text:2: key 'u' is already on line 1"),
        ({"output.2/1best_recog/text": "u a\n v b\n"}, "output.2/1best_recog/text:2: expected a key and a value"),
        (
            {"output.2/2best_recog/token": ""},
            "output.2/2best_recog/text:1: key 'u' is not in output.2/2best_recog/token",
        ),
    ],
)
def test_espnet_bad_input(tmp_path: Path, change: dict[str, str], message: str) -> None:
    assert complaint_of(tmp_path, put(tmp_path, {**ESPNET, **change})).startswith(message)


def test_espnet_missing_files(tmp_path: Path) -> None:
    put(tmp_path, ESPNET)
    (tmp_path / "output.2/2best_recog/score").unlink()
    assert complaint_of(tmp_path, tmp_path).startswith("output.2/2best_recog/score: cannot be read")
    assert "expected a directory" in complaint_of(tmp_path, tmp_path / "output.2/1best_recog/text", format="espnet")
    assert "no {n}best_recog directory" in complaint_of(tmp_path, tmp_path / "output.2/1best_recog", format="espnet")


# Kaldi ----------------------------------------------------------------------------------------------------------

KALDI = {
    "words": "a-b-1 1 2\na-b-2 2\nc-1\n",
    "acwt": "a-b-1 10.5\na-b-2 11\nc-1 0\n",
    "lmwt": "a-b-1 3\na-b-2 4\nc-1 5\n",
    "ali": "a-b-1 4 4 4\na-b-2 4\nc-1 9\n",
}
TABLE = "<eps> 0\nhello 1\nworld 2\n"


def test_kaldi(tmp_path: Path) -> None:
    put(tmp_path / "x", KALDI)
    put(tmp_path, {"lang/words.txt": TABLE})
    corpus = read(tmp_path / "x", symbols=tmp_path / "lang/words.txt")
    assert corpus.ids == ("a-b", "c")
    assert list(corpus.texts) == ["hello world", "world", ""]
    assert corpus.feature_names == ("acwt", "lmwt")
    assert corpus.features.tolist() == [[-10.5, -3], [-11, -4], [0, -5]]
    assert corpus.origins == {"acwt": Origin(sign=-1), "lmwt": Origin(sign=-1)}
    assert list(read(tmp_path / "x").texts) == ["1 2", "2", ""]


def test_kaldi_table_beside(tmp_path: Path) -> None:
    assert read(put(tmp_path, {**KALDI, "words.txt": TABLE})).texts[0] == "hello world"


def test_kaldi_words_that_are_words(tmp_path: Path) -> None:
    words = "a-b-1 hello 2\na-b-2 x\nc-1\n"
    assert read(put(tmp_path, {**KALDI, "words": words, "words.txt": TABLE})).texts[0] == "hello 2"
    assert read(put(tmp_path, {"words_text": words})).texts[1] == "x"


def test_kaldi_prefix(tmp_path: Path) -> None:
    put(tmp_path, {f"dev.{name}": text for name, text in KALDI.items()})
    assert read(tmp_path / "dev").hypotheses == 3


def test_kaldi_archives_and_other_scores(tmp_path: Path) -> None:
    put(tmp_path, {f"archives.2/{name}": text for name, text in KALDI.items()})
    put(tmp_path, {f"archives.10/{name}": text.replace("a-b", "z") for name, text in KALDI.items()})
    put(tmp_path / "archives.10", {"words": "z-1 1\n", "acwt": "z-1 1\n", "lmwt": "z-1 1\n"})
    assert read(tmp_path).ids == ("a-b", "c", "z")
    assert read(tmp_path, scores=["lmwt"]).feature_names == ("lmwt",)
    assert complaint_of(tmp_path, tmp_path, scores=["lmwt.rnn"]).startswith("archives.2/lmwt.rnn: cannot be read")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"acwt": "a-b-1 x\na-b-2 1\nc-1 1\n"}, "acwt:1: the cost acwt must be a finite number, got 'x'"),
        ({"acwt": "a-b-1 1\na-b-2 1\n"}, "words:3: key 'c-1' is not in acwt"),
        ({"words": "a-b-1 1\nab 1\nc-1 1\n"}, "words:2: key 'ab' is not in acwt"),
        ({"words": "ab 1\n", "acwt": "ab 1\n", "lmwt": "ab 1\n"}, "words:1: expected a key such as 'utt-1', got 'ab'"),
        ({"words": "a-b-1 1\na-b-2 9\nc-1 1\n", "words.txt": TABLE}, "words:2: word 9 is not in the symbol table"),
        ({"words.txt": "<eps> 0\nhello\n"}, "words.txt:2: expected 'word number', got 'hello'"),
    ],
)
def test_kaldi_bad_input(tmp_path: Path, change: dict[str, str], message: str) -> None:
    assert complaint_of(tmp_path, put(tmp_path, {**KALDI, **change})).startswith(message)


def test_kaldi_without_scores(tmp_path: Path) -> None:
    assert "no acwt and no lmwt" in complaint_of(tmp_path, put(tmp_path, {"words": KALDI["words"]}))
    assert "no archive 'words'" in complaint_of(tmp_path, tmp_path / "none", format="kaldi")


# NeMo -----------------------------------------------------------------------------------------------------------

BEAMS = "a\t-1\nb c\t-2.5\nd\t-3\n\t-4\n"
MANIFEST = '{"audio_filepath": "1.wav", "text": "r"}\n{"audio_filepath": "2.wav", "text": "q"}\n'


def test_nemo(tmp_path: Path) -> None:
    put(tmp_path, {"b.tsv": BEAMS, "m.json": MANIFEST})
    corpus = read(tmp_path / "b.tsv", manifest=tmp_path / "m.json", beam=2)
    assert corpus.ids == ("1.wav", "2.wav")
    assert corpus.references == (("r",), ("q",))
    assert list(corpus.texts) == ["a", "b c", "d", ""]
    assert corpus.column("score").tolist() == [-1, -2.5, -3, -4]


def test_nemo_one_audio_file_many_segments(tmp_path: Path) -> None:
    manifest = '{"audio_filepath": "1.wav", "offset": 0}\n{"audio_filepath": "1.wav", "offset": 2}\n'
    corpus = read(put(tmp_path, {"b.tsv": BEAMS, "b.tsv.manifest.json": manifest}) / "b.tsv")
    assert corpus.ids == ("1.wav#1", "1.wav#2")
    assert corpus.references is None


@pytest.mark.parametrize(
    ("beams", "manifest", "options", "message"),
    [
        (BEAMS + "e\t1\n", MANIFEST, {}, "b.tsv: 5 hypotheses for 2 lines of the manifest; every line needs the same"),
        (BEAMS, MANIFEST, {"beam": 3}, "b.tsv: 4 hypotheses for 2 lines of the manifest, 3 each; every line needs"),
        ("a\t1\n", MANIFEST, {}, "b.tsv: 1 hypotheses for 2 lines of the manifest"),
        ("a\t1\nb 2\n", MANIFEST, {}, "b.tsv:2: expected 2 fields, 'text TAB score', got 1"),
        ("a\t1\nb\tx\n", MANIFEST, {}, "b.tsv:2: the score must be a finite number, got 'x'"),
        (BEAMS, MANIFEST + "[]\n", {}, "b.tsv.manifest.json:3: a line of the manifest must be an object, got a list"),
        (BEAMS, MANIFEST + '{"text": 3}\n', {}, 'b.tsv.manifest.json:3: "text" must be a string, got a number: 3'),
        (BEAMS, "", {}, "b.tsv.manifest.json: the file is empty; expected JSON lines"),
        (BEAMS, None, {}, "b.tsv: NeMo beams need their manifest: say where with manifest="),
    ],
)
def test_nemo_bad_input(tmp_path: Path, beams: str, manifest: str | None, options: dict, message: str) -> None:
    put(tmp_path, {"b.tsv": beams, **({} if manifest is None else {"b.tsv.manifest.json": manifest})})
    assert complaint_of(tmp_path, tmp_path / "b.tsv", **options).startswith(message)


def test_nemo_options_and_writing(tmp_path: Path, reading) -> None:
    put(tmp_path, {"b.tsv": BEAMS, "m.json": MANIFEST})
    with pytest.raises(ParameterError, match="'beam' of read_nemo must be >= 1, got 0"):
        read(tmp_path / "b.tsv", beam=0)
    corpus = read(tmp_path / "b.tsv", manifest=tmp_path / "m.json")
    write(corpus, tmp_path / "c.tsv", manifest=tmp_path / "n.json")
    assert (tmp_path / "c.tsv").read_text() == "a\t-1.0\nb c\t-2.5\nd\t-3.0\n\t-4.0\n"
    assert (tmp_path / "n.json").read_text() == MANIFEST
    with pytest.raises(CapabilityError, match="nemo needs lists of one length, and these have 1 to 2"):
        write(reading("moses", "0 ||| a ||| 1\n1 ||| a ||| 1\n1 ||| b ||| 1\n"), tmp_path / "d.tsv")
    with pytest.raises(
        CapabilityError, match=r"nemo holds one score .* 2 features; say which with score=NAME \(F, G\)"
    ):
        write(reading("moses", "0 ||| a ||| F= 1 G= 2\n"), tmp_path / "d.tsv")
    write(reading("moses", "0 ||| a ||| F= 1 G= 2\n"), tmp_path / "d.tsv", score="G")
    assert (tmp_path / "d.tsv").read_text() == "a\t2.0\n"


# WeNet ----------------------------------------------------------------------------------------------------------


def test_wenet(reading) -> None:
    corpus = reading(
        "wenet", "wav u 1\ncandidate -1.5 a b\ncandidate -2 \nwav v\nwav w\ncandidate 3 c\nwav u 1\ncandidate 4\n"
    )
    assert corpus.ids == ("u 1", "v", "w")
    assert corpus.lengths.tolist() == [3, 0, 1]
    assert list(corpus.texts) == ["a b", "", "", "c"]
    assert corpus.column("score").tolist() == [-1.5, -2, 4, 3]


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("candidate -1 a\n", "1: a candidate before the first 'wav <id>'"),
        ("wav u\ncandidate x a\n", "2: the score must be a finite number, got 'x'"),
        ("wav u\ncandidate\n", "2: the score must be a finite number, got ''"),
        ("wav u\nwav\n", "2: expected 'wav <id>' or 'candidate <score> <text>', got 'wav'"),
        ("wav u\n\nwav v\n", "2: expected 'wav <id>' or 'candidate <score> <text>', got ''"),
    ],
)
def test_wenet_bad_input(complaint, contents: str, message: str) -> None:
    assert complaint("wenet", contents) == "input:" + message
