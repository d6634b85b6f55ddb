"""Files of recognisers and translators behind Python, and their objects. Those in `fixtures` were written by the
packages themselves, by the scripts beside them; results of Whisper and of cloud recognisers, and objects of vLLM, are
made here after their documentation."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import nbest
from nbest.base.errors import FormatError, FormatWarning, ParameterError
from nbest.formats import FORMATS, read, sniff
from nbest.formats.lists.tokens import joined

from .test_generators import FIXTURES, columns, lists

TRANSLATED = [json.loads(line) for line in (FIXTURES / "ctranslate2.jsonl").read_text("utf-8").splitlines()]
CUT = json.loads((FIXTURES / "tokens.json").read_text("utf-8"))
GENERATED = json.loads((FIXTURES / "generate.json").read_text("utf-8"))


# CTranslate2 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [1, 0.5, 0])
def test_sums_are_those_of_the_translator(tmp_path: Path, penalty: float) -> None:
    lines = [line for line in TRANSLATED if line["length_penalty"] == penalty]
    assert {len(tokens) < 8 for line in lines for tokens in line["hypotheses"]} == {True, False}  # ended, and cut
    path = tmp_path / "out.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    corpus = read(path, length_penalty=penalty, longest=8)
    wanted = [value for line in lines for value in line["sums"]]
    np.testing.assert_allclose(corpus.column("logprob"), wanted, atol=2e-5)
    assert lists(corpus) == [["".join(each).replace("▁", " ").strip() for each in line["hypotheses"]] for line in lines]
    results = [SimpleNamespace(**{key: line[key] for key in ("hypotheses", "scores")}) for line in lines]
    same = nbest.from_ctranslate2(results, length_penalty=penalty, longest=8)
    assert columns(same) == columns(corpus)
    assert ("logprob" in corpus.origins) == ("logprob" in same.origins) == (penalty > 0)
    if penalty:  # the penalty counts, and so does the end that is not among the tokens
        assert not np.allclose(read(path, length_penalty=0).column("logprob"), wanted, atol=0.1)
        assert not np.allclose(read(path, length_penalty=penalty, longest=1).column("logprob"), wanted, atol=0.1)


def test_texts_keep_their_scores(reading) -> None:
    corpus = reading("ctranslate2", '{"hypotheses": ["a house", ""], "scores": [-0.5, -1]}\n')
    assert (columns(corpus), str(corpus.origins["score"])) == ({"score": [-0.5, -1]}, "normalised by length^1")


def test_generators_and_results_without_scores() -> None:
    result = SimpleNamespace(sequences=[["Ġa", "Ġb", "<|endoftext|>"], ["5", "0"]], scores=[])
    corpus = nbest.from_ctranslate2([result], ids=["q"], sources=["s"])
    assert (corpus.ids, corpus.sources, lists(corpus)) == (("q",), ("s",), [["a b", "50"]])
    assert columns(corpus) == {"tokens": [3, 3]}
    result = SimpleNamespace(sequences=[["hou@@", "se"]], scores=[])
    assert lists(nbest.from_ctranslate2([result])) == [["house"]]
    assert lists(nbest.from_ctranslate2([result], pieces="words")) == [["hou@@ se"]]
    assert lists(nbest.from_ctranslate2([result], text="-".join)) == [["hou@@-se"]]


@pytest.mark.parametrize("kind", list(CUT))
def test_texts_of_tokens_are_those_of_the_tokeniser(kind: str, reading) -> None:
    tokens, wanted = [each["tokens"] for each in CUT[kind]], [each["text"].rstrip(" ") for each in CUT[kind]]
    assert joined("x", tokens) == joined("x", tokens, kind) == wanted
    shown = [(each, text) for each, text in zip(tokens, wanted, strict=True) if not all(map(str.isascii, each))]
    assert len(shown) > 5
    for each, text in shown:
        if text[0] != "\0":  # full of control characters: something else must show what its tokens are
            assert joined("x", [each]) == [text]
    line = json.dumps({"sequences": tokens, "scores": [-1.0] * len(tokens)})
    assert lists(reading("ctranslate2", line)) == [wanted]
    assert lists(reading("ctranslate2", line, pieces="words")) != [wanted]


@pytest.mark.parametrize(
    "words",
    [
        "größer als naïve Häuser",
        "été à Zürich",
        "łódź jest większa",
        "ł",
        "allé",  # read as bytes, a letter that was cut
        "ĉu ĝi iras",
        "東京 は",
        "a house",
    ],
)
def test_words_are_not_taken_for_bytes(words: str) -> None:
    assert joined("x", [words.split()]) == [words]


def test_unclear_tokens() -> None:
    for words in ("Ġa 東京 Ġb", "Ġa â Ĥ Ġb", "Ġorġ hu kbir"):  # the last is Maltese
        with pytest.warns(FormatWarning, match="x: 'Ġ.*' looks like byte-level BPE and other tokens do not: read as"):
            assert joined("x", [words.split()]) == [words]
    assert joined("x", [["Ġa", "東京", "Ġb"]], "bytes") == ["a東京 b"]  # a word that was added
    assert joined("x", [["Ġa", "  ", "b", "<|0.50|>", "Ċ"]]) == ["a  b\n"]
    assert joined("x", [["â", "Ĥ", "b"], ["Ġa"], ["Ġb"]]) == ["\ufffdb", "a", "b"]  # what a model may say, too
    with pytest.raises(ParameterError, match=r"unknown kind of pieces 'byte'; known: .*; did you mean 'bytes'"):
        joined("x", [["a"]], "byte")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"hypotheses": [["a"]], "scores": [1, 2]}', ":1: 1 hypotheses and 2 scores"),
        ('{"hypotheses": [[1]], "scores": [1]}', ":1: a token must be a string"),
        ('{"hypotheses": [["a"]], "scores": ["x"]}', ":1: a score must be a finite number"),
        ('{"hypotheses": [["a"], "b"], "scores": [1, 2]}', ":1: feature 'logprob' is missing"),
        ('{"id": 1, "hypotheses": []}\n{"id": 1, "hypotheses": []}', ":2: segment '1' is already on line 1"),
    ],
)
def test_wrong_results(complaint, line: str, said: str) -> None:
    assert said in complaint("ctranslate2", line + "\n")


def test_wrong_penalties(reading) -> None:
    for wrong in ({"length_penalty": -1}, {"longest": 0}, {"length_penalty": float("nan")}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            reading("ctranslate2", '{"hypotheses": [["a"]], "scores": [1]}\n', **wrong)


# generate of Hugging Face ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["sampled", "beam"])
def test_transition_scores_are_summed_to_the_end(how: str) -> None:
    given = GENERATED[how]
    texts = [f"text {h}" for h in range(len(given["sums"]))]
    made = {key: given[key] for key in ("transition_scores", "sequences_scores", "sequences")}
    corpus = nbest.from_generate(texts, GENERATED["n"], **made, end=GENERATED["end"], sources=["a", "b"])
    assert (len(corpus), lists(corpus)[1], corpus.sources) == (2, texts[4:], ("a", "b"))
    np.testing.assert_allclose(corpus.column("logprob"), given["sums"], atol=1e-5)
    rows = [row[: row.index(2) + 1] if 2 in row else row for row in given["sequences"]]
    assert corpus.column("tokens").tolist() == list(map(len, rows))
    padded = nbest.from_generate(texts, 4, transition_scores=given["transition_scores"])
    assert np.allclose(padded.column("logprob"), given["sums"], atol=1e-5) == (how == "beam")
    if how == "beam":  # generate was told a length penalty of 2
        lengths = corpus.column("tokens")
        np.testing.assert_allclose(corpus.column("score") * lengths**2.0, given["sums"], atol=1e-4)
        assert str(corpus.origins["score"]) == "normalised by length^length_penalty"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"n": 2}, "'n' of from_generate must divide the number of texts, 3, got 2"),
        ({"n": 3, "sequences_scores": [1, 2]}, "'sequences_scores' of from_generate must be 3, got 2"),
        ({"n": 3, "transition_scores": [[1], [1]]}, "'transition_scores' of from_generate must be 3 x T, got 2 x 1"),
        ({"n": 1, "ids": ["a", "b", "a"]}, "'ids' of from_generate must differ"),
        ({"n": 1, "sources": ["a"]}, "'sources' of from_generate must be one for each of the 3 segments, got 1"),
        ({"n": 3, "transition_scores": [[1]] * 3, "sequences": [[1, 2]] * 3}, "without those of the prompt"),
    ],
)
def test_wrong_generate(more: dict, said: str) -> None:
    with pytest.raises(ParameterError) as caught:
        nbest.from_generate(["a", "b", "c"], **more)
    assert said in str(caught.value)


# vLLM -----------------------------------------------------------------------------------------------------------


def completion(text: str, tokens: int, logprob: float | None, reason: str = "stop") -> SimpleNamespace:
    """As vllm/outputs.py has it, at a014e35."""
    more = {"index": 0, "logprobs": None, "finish_reason": reason, "stop_reason": None}
    return SimpleNamespace(text=text, token_ids=list(range(tokens)), cumulative_logprob=logprob, **more)


def request(prompt: str | None, *outputs: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(request_id="17", prompt=prompt, outputs=list(outputs), finished=True)


def test_objects_of_vllm() -> None:
    first = request("2 + 3?", completion("5", 2, -0.5), completion("6 or", 3, -4, "length"))
    corpus = nbest.from_vllm([first, request("so?", completion("no", 1, -1))])
    assert (corpus.ids, corpus.sources, lists(corpus)) == (("0", "1"), ("2 + 3?", "so?"), [["5", "6 or"], ["no"]])
    assert columns(corpus) == {"logprob": [-0.5, -4, -1], "tokens": [2, 3, 1], "finished": [1, 0, 1]}
    silent = nbest.from_vllm([request(None, completion("5", 2, None))], ids=["q"])
    assert (silent.ids, silent.sources, columns(silent)) == (("q",), None, {"tokens": [2], "finished": [1]})


def test_wrong_objects_of_vllm() -> None:
    with pytest.raises(FormatError, match="from_vllm:1: feature 'logprob' is missing"):
        nbest.from_vllm([request("p", completion("a", 1, -1), completion("b", 1, None))])
    with pytest.raises(ParameterError, match="str is not a RequestOutput"):
        nbest.from_vllm(["a text"])


# recognisers ----------------------------------------------------------------------------------------------------


def spoken(text: str, tokens: int, **more: float) -> dict:
    """A segment of Whisper (and of faster-whisper, as `dataclasses.asdict` gives it)."""
    times = {"id": 0, "seek": 0, "start": 0.0, "end": 1.0}
    return {**times, "text": text, "tokens": list(range(tokens)), "temperature": 0.0, **more}


def whisper(*segments: dict, **more: object) -> dict:
    return {"text": "".join(each["text"] for each in segments), "segments": list(segments), "language": "en", **more}


TOLD = {"avg_logprob": -0.25, "compression_ratio": 1.5, "no_speech_prob": 0.5}


@pytest.mark.parametrize("indent", [None, 2])
def test_one_result_of_whisper(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "interview.json"
    more = {"avg_logprob": -1.0, "compression_ratio": 2.5, "no_speech_prob": 0.0}
    path.write_text(json.dumps(whisper(spoken(" A house.", 3, **TOLD), spoken(" No.", 1, **more)), indent=indent))
    corpus = read(path)
    assert (corpus.ids, lists(corpus)) == (("interview",), [["A house. No."]])
    means = {"compression_ratio": [1.75], "no_speech_prob": [0.375], "temperature": [0.0]}
    assert columns(corpus) == {"logprob": [-1.75], "tokens": [4], **means}


def test_runs_of_whisper_are_put_together_by_id(reading) -> None:
    runs = [whisper(spoken(text, 2, **TOLD), audio=name) for name, text in (("a", "x"), ("b", "y"), ("a", " z"))]
    corpus = reading("whisper", "".join(json.dumps(run) + "\n" for run in runs))
    assert (corpus.ids, lists(corpus)) == (("a", "b"), [["x", "z"], ["y"]])
    silence = reading("whisper", json.dumps([*runs, whisper(audio="c")]))
    assert lists(silence)[2] == [""]
    assert silence.features[-1].tolist() == [0] * 5
    assert len(reading("whisper", json.dumps([whisper(audio="c")])).feature_names) == 5
    few = [whisper(audio="c"), whisper(spoken("x", 2, avg_logprob=-0.5), audio="a")]
    told = {"logprob": [0, -1], "tokens": [0, 2], "temperature": [0, 0]}
    assert (
        columns(reading("whisper", json.dumps(few))) == columns(reading("whisper", json.dumps(few), missing=7)) == told
    )
    assert columns(reading("whisper", json.dumps([few[0], whisper({"text": "y"}, audio="b")]))) == {"rank": [-1, -1]}


def test_lists_of_pocketsphinx() -> None:
    corpus = read(FIXTURES / "pocketsphinx.jsonl")
    assert corpus.ids == ("u1", "u2")
    assert corpus.references == (("the small house is near the river",), ("we will meet again tomorrow morning",))
    assert corpus.lengths.tolist() == [5, 5]
    assert corpus.feature_names == ("score",)
    assert lists(corpus)[0][0] == "while house easier to read where"
    assert corpus.features[0, 0] == 0.03933509245372581


SAID = {
    "Vosk": ({"alternatives": [{"confidence": 213.5, "text": "a"}, {"confidence": 200, "text": "b"}]}, "confidence"),
    "Azure": ({"NBest": [{"Confidence": 213.5, "Lexical": "a"}, {"Confidence": 200, "Lexical": "b"}]}, "confidence"),
    "sherpa": ({"audio": "x", "hypotheses": [{"text": "a", "score": 213.5}, {"text": "b", "score": 200}]}, "score"),
    "texts": ({"nbest": ["a", "b"]}, "rank"),
}


@pytest.mark.parametrize("name", SAID)
def test_alternatives(reading, name: str) -> None:
    said, feature = SAID[name]
    contents = json.dumps(said) + "\n"
    assert sniff("-", contents.encode()) == "whisper"
    corpus = reading("whisper", contents)
    assert lists(corpus) == [["a", "b"]]
    assert columns(corpus) == {feature: [-1, -2] if feature == "rank" else [213.5, 200]}


def test_numbers_that_are_missing(reading, complaint) -> None:
    contents = json.dumps(
        {"alternatives": [{"transcript": "a", "confidence": 0.5, "tokens": ["a"]}, {"transcript": "b"}]}
    )
    assert ":1: feature 'confidence' is missing" in complaint("whisper", contents)
    assert columns(reading("whisper", contents, missing=0)) == {"confidence": [0.5, 0], "tokens": [1, 0]}


OWN = [
    '{"id": "u1", "hypotheses": [{"text": "a", "score": 1}]}',
    '{"audio": "u1", "hypotheses": [{"text": "a", "features": {"f": 1}}]}',
    '{"audio": "u1", "hypotheses": [{"text": "a"}]}',
    '{"alternatives": 2, "hypotheses": [{"text": "a", "score": 1}]}',
]


def test_our_own_lines_are_our_own() -> None:
    assert [sniff("-", line.encode()) for line in OWN] == ["jsonl"] * len(OWN)
    assert sniff("-", next(iter(FORMATS["hyporadise"].example.values())).encode()) == "hyporadise"


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ('{"text": "a"}\n', ":1: no list of hypotheses; expected one of the keys segments, nbest,"),
        ('{"nbest": [{"text": 1}]}\n', ':1: "text" of a hypothesis must be a string'),
        ('{"nbest": []}\n{"nbest": [{"text": "a"}, 1]}\n', ":2: a hypothesis must be an object"),
        ('{"text": "a", "segments": [{"text": "a", "avg_logprob": "x"}]}\n', ':1: "avg_logprob" of a segment must be'),
        ('{"audio": [], "nbest": []}\n', ":1: the id must be a string or an integer, got a list"),
    ],
)
def test_wrong_recognisers(complaint, contents: str, said: str) -> None:
    assert said in complaint("whisper", contents)
