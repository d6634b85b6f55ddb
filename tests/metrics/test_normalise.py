"""Normalisation before a metric: by whom it is done, where it is refused, and Whisper's published behaviour."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from nbest.base.errors import CapabilityError, ParameterError
from nbest.cli.main import main
from nbest.corpus import NBest
from nbest.corpus.texts import Texts
from nbest.decisions.consensus import expected_stats
from nbest.forests.derivations import forests_of
from nbest.forests.edge_stats import adds_up
from nbest.forests.ngrams import ngram_stats
from nbest.forests.oracle import forest_oracle
from nbest.formats import read_forests
from nbest.metrics import BLEU, METRICS, WER, make_metric
from nbest.metrics.normalise import NORMALISERS, normalised, normaliser
from nbest.model.loglinear import LogLinear

OF_TEXTS = [name for name in METRICS if name not in ("las", "uas", "external")]

# what `BasicTextNormalizer` of whisper-normalizer 0.1.15 (the code of openai-whisper) makes of texts
BASIC = {
    "Hello, World!": "hello world ",
    "[noise] it's (laughs) ＡＢＣ１２": " it s abc12",  # noqa: RUF001
    "Café – déjà vu…": "café déjà vu ",  # noqa: RUF001
    "e\u0301te\u0301": "été",
    "नमस्ते": "नमस त ",
    "<unk> a_b  c\td": " a b c d",
    "()": " ",
    "x² ½ ﬁn": "x2 1 2 fin",
}

# of the tests of openai-whisper (tests/test_normalizer.py, v20231117)
WHISPER = {
    "Let's": "let us",
    "he's like": "he is like",
    "she's been like": "she has been like",
    "10km": "10 km",
    "10mm": "10 mm",
    "RC232": "rc 232",
    "Mr. Park visited Assoc. Prof. Kim Jr.": "mister park visited associate professor kim junior",
    "two": "2",
    "thirty one": "31",
    "five twenty four": "524",
    "nineteen ninety nine": "1999",
    "twenty nineteen": "2019",
    "two point five million": "2500000",
    "four point two billions": "4200000000s",
    "200 thousand": "200000",
    "200 thousand dollars": "$200000",
    "$20 million": "$20000000",
    "€52.4 million": "€52400000",
    "two double o eight": "2008",
    "three thousand twenty nine": "3029",
    "forty three thousand two hundred sixty": "43260",
    "nineteen seventies": "1970s",
    "double oh seven": "007",
    "two hundred and six": "206",
    "two and a half": "2.5",
    "one hundred and one": "101",
    "mobilisation": "mobilization",
    "cancelation": "cancellation",
}


@pytest.mark.parametrize(("text", "wanted"), BASIC.items())
def test_basic_is_whispers(text, wanted):
    assert normaliser("basic")(text) == normaliser("whisper-basic")(text) == wanted


def test_basic_is_whispers_on_every_character():
    oracle = pytest.importorskip("whisper_normalizer.basic").BasicTextNormalizer()
    points = [chr(p) for p in range(0x20000) if not 0xD800 <= p < 0xE000]
    texts = [f"A{c} ({c}b) [d{c}]{c}" for c in points] + ["".join(points[at : at + 40]) for at in range(0, 4000, 7)]
    assert [normaliser("basic")(text) for text in texts] == [oracle(text) for text in texts]


@pytest.mark.parametrize(("text", "wanted"), WHISPER.items())
def test_whispers_published_cases(text, wanted):
    pytest.importorskip("whisper_normalizer")
    assert normaliser("whisper")(text).strip() == wanted


def test_whisper_is_the_packages_on_texts_made_of_what_it_looks_for():
    oracle = pytest.importorskip("whisper_normalizer.english").EnglishTextNormalizer()
    special = [*oracle.standardize_numbers.words, *(p.replace(r"\b", "") for p in oracle.replacers), *WHISPER]
    special += ["half", "and a half", "$5", "3.50", "2nd", "%", "5%", "£", ".", "-", "+3", "um", "[x", "y]", "(z)"]
    others = ["the", "colour", "favourite", "É", "ﬁ", "don", "'", "I'd", "a.b", "x", "Straße", "9", "o'clock", "1,000"]
    random = np.random.default_rng(3)
    rows = [random.choice([*special, *others * 3], size) for size in random.integers(0, 12, 4000)]
    rare = ["and", "and", "point", "half", "a", "double", "triple", "minus", "colour", "and a half"]
    rows += [random.choice(rare, size) for size in random.integers(1, 5, 1000)]
    texts = ["".join(word + " " * int(random.random() < 0.9) for word in row) for row in rows]
    agreed, found = 0, normaliser("whisper")
    for text in texts:
        try:
            wanted = oracle(text)
        except Exception:  # of some numbers: the package stops at its own assertions
            assert found(text)
            continue
        assert found(text) == wanted, text
        agreed += 1
    assert agreed > 3000


@pytest.mark.parametrize(
    ("how", "text", "wanted"),
    [
        ("lower", "Ab É", "ab é"),
        ("punct", "Don't stop – now, it’s 3.5 $!", "Don't stop now it's 3 5"),  # noqa: RUF001
        ("diacritics", "café Ångström", "cafe Angstrom"),
        ("nfc", "e\u0301", "é"),
        ("nfkc", "ﬁ ５", "fi 5"),  # noqa: RUF001
        ("quotes", "“a” ‘b’ «c»", '"a" \'b\' "c"'),  # noqa: RUF001
        ("brackets", "a [b] (c) <d> e", "a e"),
        ("punct+lower", "A, B", "a b"),
        ("punct,lower", "A, B", "a b"),
    ],
)
def test_the_others(how, text, wanted):
    assert normaliser(how)(text) == wanted


def test_each_distinct_text_is_normalised_once(monkeypatch):
    asked: list[str] = []
    monkeypatch.setitem(NORMALISERS._things, "spy", lambda text: asked.append(text) or text.upper())
    parts = normalised("spy", Texts.of(["b", "a", "b"]), Texts.of([]), Texts.of(["a", "c"]))
    assert [list(part) for part in parts] == [["B", "A", "B"], [], ["A", "C"]]
    assert asked == ["b", "a", "c"]


@pytest.mark.parametrize("name", OF_TEXTS)
def test_the_metric_of_normalised_texts(name):
    hyps, refs = ["Hello, THE world!", "a (b) c", ""], [("hello the World",), ("A C.", "x"), ("Y",)]
    clean = normaliser("basic")
    offsets = np.arange(4)
    metric = make_metric(name, normalize="basic")
    plain = make_metric(name).stats(Texts.of(map(clean, hyps)), offsets, [tuple(map(clean, group)) for group in refs])
    np.testing.assert_array_equal(metric.stats(Texts.of(hyps), offsets, refs), plain)
    assert not np.array_equal(make_metric(name).stats(Texts.of(hyps), offsets, refs), plain)
    assert metric.signature(1) == make_metric(name).signature(1) + "|norm:basic"
    assert make_metric(name, normalize="nfkc,lower").signature(1).endswith("|norm:nfkc+lower")


def test_names_are_checked():
    with pytest.raises(ParameterError, match=r"unknown normaliser 'wisper'.*did you mean 'whisper'"):
        WER(normalize="wisper")
    with pytest.raises(ParameterError, match="must be names joined by"):
        BLEU(normalize="lower+")


def lists(metric) -> NBest:
    corpus = NBest(
        offsets=[0, 2, 4],
        features=np.array([[0.0], [1.0], [0.5], [0.2]]),
        feature_names=("s",),
        ids=("a", "b"),
        texts=Texts.of(["The cat!", "the cat", "a Dog sat", "dogs sat"]),
        references=(("the cat",), ("a dog sat",)),
    )
    return corpus.with_metric(metric)


def test_forests_refuse_or_go_by_strings():
    metric = BLEU(normalize="basic", max_ngram_order=2)
    corpus = lists(metric)
    with pytest.raises(CapabilityError, match="--normalize basic"):
        ngram_stats(forests_of(corpus), metric)
    assert adds_up(forests_of(corpus))  # of whole hypotheses: by strings
    assert corpus.stats[0, 2] == 2


def test_consensus_compares_normalised_texts():
    corpus, model = lists(WER()), LogLinear({"s": 0.0})
    found = expected_stats(model, corpus, gain=BLEU(normalize="basic", tokenize="none"))
    assert found[0, 2] == found[1, 2] == 2  # both words are expected in both
    plain = expected_stats(model, corpus, gain=BLEU(tokenize="none"))
    assert plain[0, 2] < 2


def test_on_the_command_line(tmp_path, capsys):
    (tmp_path / "out").write_text("Hello, world!\n", encoding="utf-8")
    (tmp_path / "ref").write_text("hello world\n", encoding="utf-8")
    args = ["score", str(tmp_path / "out"), "--refs", str(tmp_path / "ref"), "--metric", "wer", "--json"]
    assert main([*args, "--normalize", "punct+lower"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["score"] == 0
    assert row["signature"].endswith("|norm:punct+lower")
    assert main([*args[:-3], "--metric", "las", "--normalize", "basic"]) == 2
    assert "metric las has no --normalize" in capsys.readouterr().err


def test_every_normaliser_is_at_rest_after_two():
    text = unicodedata.normalize("NFD", "“É”, (x) [y] it’s 12!")  # noqa: RUF001
    for name in NORMALISERS:
        if name != "whisper":
            once = normaliser(name)(normaliser(name)(text))
            assert normaliser(name)(once) == once, name


def test_rerank_compares_normalised_texts(tmp_path, capsys):
    texts = ["b", "A!", "a", "A"]
    hypotheses = [{"text": text, "features": {"s": -k / 10}} for k, text in enumerate(texts)]
    (tmp_path / "l.jsonl").write_text(json.dumps({"id": "x", "hypotheses": hypotheses}) + "\n", encoding="utf-8")
    (tmp_path / "m").write_text("s= 1\n", encoding="utf-8")
    args = ["rerank", str(tmp_path / "l.jsonl"), "--model", str(tmp_path / "m"), "-d", "mbr", "--gain", "exact", "-q"]
    assert main(args) == 0
    assert capsys.readouterr().out == "b\n"
    assert main([*args, "--normalize", "basic"]) == 0
    assert capsys.readouterr().out == "A!\n"
    assert main([*args[:4], "--normalize", "basic"]) == 2
    assert (
        "--normalize is for --decision vote, best-of-majority, mbr or consensus, not for 1best"
        in capsys.readouterr().err
    )


def test_oracles_of_lattices_go_by_normalised_words():
    lattice = read_forests(Path(__file__).parent.parent / "data" / "pocketsphinx.slf")
    metric = WER(normalize="basic")
    forests = lattice.with_references([("A, NINE FIVE: A TWO!",)]).with_metric(metric)
    assert adds_up(forests.with_metric(BLEU()))
    assert not adds_up(forests.with_metric(BLEU(normalize="basic")))  # trained on best strings
    exact = lattice.with_references([("a nine five a two",)]).with_metric(WER())  # by all derivations
    best = forest_oracle(exact).lists().with_metric(WER()).stats[0, 0]
    assert forest_oracle(forests, beam=4).lists().with_metric(metric).stats[0, 0] == best
    with pytest.raises(CapabilityError, match="--normalize basic"):
        expected_stats(LogLinear({}), forest_oracle(forests).lists(), forests=forests, gain=BLEU(normalize="basic"))
