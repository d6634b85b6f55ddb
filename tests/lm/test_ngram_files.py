"""ARPA in and out, our own file, other tools' files, and damaged ones."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from nbest.base.errors import FormatError, ParameterError
from nbest.corpus import Texts
from nbest.lm.arpa_read import read_arpa
from nbest.lm.arpa_write import write_arpa
from nbest.lm.count import count_ngrams, read_word_lines
from nbest.lm.estimate import KneserNey
from nbest.lm.file import load_lm, save_lm
from nbest.lm.model import LanguageModel
from nbest.lm.query import lm_arrays

SRILM = """this line is not part of it
\\data\\
ngram 1=6
ngram 2=3
ngram 3=2

\\1-grams:
-0.7781513 </s>
-99 <s> -0.30103
-0.7781513 a -0.1
-0.60206 b -0.2
-1 c
-99 never

\\2-grams:
-0.2 <s> a 0.05
-0.4 a b -0.3
-0.5 b </s>

\\3-grams:
-0.1 <s> a b
-0.15 c a b

\\end\\
"""
LMPLZ = (
    "\\data\\\nngram 1=5\nngram 2=2\n\n\\1-grams:\n-1.5\t<unk>\t0\n0\t<s>\t-0.25\n-0.75\t</s>\t0\n"
    "-0.5\tx\u00a0y\t-0.125\n-0.625\tb\t-1e-1\n\n\\2-grams:\n-0.25\t<s> b\n-0.375\tb </s>\n\n\\end\\\n"
)


def sample(order: int = 3, threshold: float = 0.0, seed: int = 1) -> LanguageModel:
    rng = np.random.default_rng(seed)
    words = ["the", "cat", "é", "日本", "\\data\\", "-1.5", "dog", "."]
    lines = [" ".join(rng.choice(words, size=rng.integers(1, 9))) for _ in range(150)]
    return KneserNey(order, threshold=threshold).fit(Texts.of(lines))


def same(a: LanguageModel, b: LanguageModel) -> bool:
    return a.vocabulary == b.vocabulary and all(
        np.array_equal(x, y) for x, y in zip(lm_arrays(a), lm_arrays(b), strict=True)
    )


@pytest.mark.parametrize("name", ["m.arpa", "m.arpa.gz", "m.arpa.xz", "m.nlm"])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_what_is_written_reads_back_bit_by_bit(tmp_path: Path, name: str, order: int) -> None:
    for threshold in (0.0, 1e-3):
        model = sample(order, threshold)
        save_lm(model, tmp_path / name)
        assert same(load_lm(tmp_path / name), model)


def test_kenlm_gives_the_same_scores(tmp_path: Path) -> None:
    """kenlm 0.3.0 on our ARPA, sentences with unknown words; kenlm adds float32 numbers."""
    kenlm = pytest.importorskip("kenlm")
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(["the", "cat", "é", "日本", "new", "."], size=size)) for size in range(60)]
    for order, threshold in ((2, 0.0), (3, 1e-3), (5, 0.0), (5, 1e-4)):
        model = sample(order, threshold)
        write_arpa(model, tmp_path / "m.arpa")
        other = kenlm.Model(str(tmp_path / "m.arpa"))
        found = model.score(Texts.of(texts))
        for text, ours, oov in zip(texts, found.logprobs, found.unknown, strict=True):
            assert ours == pytest.approx(other.score(text) * math.log(10), rel=1e-5, abs=1e-5)
            assert oov == sum(unknown for _, _, unknown in other.full_scores(text, eos=False))


def test_a_file_of_srilm(tmp_path: Path) -> None:
    """Spaces for tabs, backoffs left out, -99, no <unk>, and a trigram whose bigram suffix or context was pruned."""
    (tmp_path / "s.lm").write_bytes(gzip.compress(SRILM.encode()))
    model = load_lm(tmp_path / "s.lm")
    assert model.order == 3
    assert model.sizes == (7, 3, 2)

    def log10(*words: str) -> float:
        return model.logprob(words[:-1], words[-1]) / math.log(10)

    assert log10("<s>", "a", "b") == pytest.approx(-0.1)
    assert log10("c", "a", "b") == pytest.approx(-0.15)
    assert log10("b", "a", "b") == pytest.approx(-0.4)
    assert log10("<s>", "a", "c") == pytest.approx(0.05 - 0.1 - 1)
    assert log10("a", "b", "</s>") == pytest.approx(-0.3 - 0.5)
    assert log10("<s>", "b") == pytest.approx(-0.30103 - 0.60206)
    for word in ("never", "zz", "<s>"):
        assert log10("a", word) == -math.inf
    scores = model.score(Texts.of(["a zz b"]))
    assert scores.perplexity() == math.inf
    assert (scores.unknown[0], scores.zero[0]) == (1, 1)
    known = log10("<s>", "a") + log10("zz", "b") + log10("b", "</s>")
    assert scores.logprobs[0] == pytest.approx(known * math.log(10), rel=1e-6)


def test_pruned_suffixes_are_put_back_without_changing_any_answer(tmp_path: Path) -> None:
    text = SRILM.replace("-0.15 c a b", "-0.15 b c a")  # c a is not among the bigrams
    (tmp_path / "s.arpa").write_text(text)
    model = load_lm(tmp_path / "s.arpa")
    assert model.sizes == (7, 4, 2)
    assert model.logprob(("b", "c"), "a") / math.log(10) == pytest.approx(-0.15)
    assert model.logprob(("c",), "a") / math.log(10) == pytest.approx(-0.7781513)
    four = text.replace("ngram 3=2\n", "ngram 3=2\nngram 4=1\n").replace("\\end", "\\4-grams:\n-0.3 b b c c\n\n\\end")
    (tmp_path / "f.arpa").write_text(four)
    model = load_lm(tmp_path / "f.arpa")
    assert model.sizes == (7, 5, 3, 1)
    assert model.logprob(("b", "b", "c"), "c") / math.log(10) == pytest.approx(-0.3)
    assert model.logprob(("a", "b", "c"), "c") / math.log(10) == pytest.approx(-1)


def tabbed(text: str) -> str:
    """With tabs, which kenlm wants; from the head on."""
    out, order = [], 0
    for line in text[text.index("\\data") :].split("\n"):
        order = int(line[1]) if line.endswith("-grams:") else order
        fields = line.split(" ")
        is_gram = line[:1] in ("-", "0") and order
        parts = [fields[0], " ".join(fields[1 : order + 1]), *fields[order + 1 :]]
        out.append("\t".join(parts) if is_gram and "\t" not in line else line)
    return "\n".join(out)


def test_kenlm_agrees_on_files_of_other_tools(tmp_path: Path) -> None:
    kenlm = pytest.importorskip("kenlm")
    srilm = SRILM.replace("-0.15 c a b", "-0.15 a b c").replace("-99 never", "-3 never")  # b c is not there
    more = "-0.4 b b -0.1\n-0.6 c b -0.2\n-0.7 b a\n-0.9 c a 0.1\n"  # kenlm's table needs some room
    srilm = srilm.replace("ngram 2=3", "ngram 2=7").replace("\n\n\\3", f"\n{more}\n\\3")
    for text in (LMPLZ, srilm):
        (tmp_path / "s.arpa").write_text(tabbed(text))
        model, other = load_lm(tmp_path / "s.arpa"), kenlm.Model(str(tmp_path / "s.arpa"))
        for sentence in ("a b", "b c a b", "a b c b", "b", "", "never a", "a b c a b c"):
            if all(w in model.numbers for w in sentence.split()) or np.isfinite(model.logprobs[0]):
                expected = other.score(sentence) * math.log(10)
                assert model.score(Texts.of([sentence])).logprobs[0] == pytest.approx(expected, rel=1e-5)


def test_a_file_of_lmplz(tmp_path: Path) -> None:
    """Tabs, <s> with log10 0, no backoff in the highest order, words with a no-break space, CRLF."""
    for text in (LMPLZ, LMPLZ.replace("\n", "\r\n"), LMPLZ.replace("<unk>", "<UNK>")):
        (tmp_path / "l.arpa").write_bytes(text.encode())
        model = read_arpa(tmp_path / "l.arpa")
        assert model.vocabulary == ("<unk>", "<s>", "</s>", "x\u00a0y", "b")
        assert model.logprobs[1] == -math.inf
        assert model.logprob(("b",), "zz") / math.log(10) == pytest.approx(-0.1 - 1.5)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\\data\\", "\\date\\", "has no line"),
        ("ngram 2=3", "ngram 2=4", r":20: expected 4 2-grams, got 3"),
        ("ngram 2=3", "ngram 2=2", r":18: expected \\3-grams:, got '-0.5 b </s>'"),
        ("ngram 2=3", "ngram 3=3", r":4: expected 'ngram 2=COUNT'"),
        ("ngram 2=3", "ngram 2=99999999999", "more than it can hold"),
        ("-0.4 a b -0.3", "-0.4 a", r":17: expected a log10 probability, 2 words"),
        ("-0.4 a b -0.3", "-0.4 a b c -0.3", r":17: expected a log10 probability, 2 words"),
        ("-0.4 a b -0.3", "-0.4 a b 1e400", r":17: a log10 backoff must be <= 99, got inf"),
        ("-0.4 a b -0.3", "-0.4 a b 1e300", r":17: a log10 backoff must be <= 99, got 1e\+300"),
        ("-0.4 a b -0.3", "-0.4 a b nan", r":17: expected a base-10 logarithm"),
        ("-0.4 a b -0.3", "1e400 a b", r":17: a log10 probability must be <= 0, got inf"),
        ("ngram 2=3", f"ngram 2={'9' * 4301}", r":4: expected \\1-grams:"),
        ("ngram 2=3", f"ngram {'9' * 4301}=3", r":4: expected \\1-grams:"),
        ("ngram 2=3", "ngram 2=60", "more than it can hold"),
        ("-0.4 a b -0.3", "-0.4x a b", r":17: expected a base-10 logarithm"),
        ("-0.4 a b -0.3", "-0.4 a b --3", r":17: expected a base-10 logarithm"),
        ("-0.4 a b -0.3", "0.4 a b", r":17: a log10 probability must be <= 0, got 0.4"),
        ("-0.4 a b -0.3", "-0.4 a zz", r":17: a word of this 2-gram is not among the 1-grams"),
        ("-0.4 a b -0.3", "-0.4 <s> a", r":17: this 2-gram stands in the file twice"),
        ("-1 c", "-1 a", r":12: the word 'a' stands in the file twice"),
        ("\n\\end\\\n", "", r"expected \\end\\, got the end of the file"),
        ("-0.15 c a b\n\n\\end\\\n", "", r"expected 2 3-grams, got 1"),
    ],
)
def test_bad_arpa(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SRILM
    (tmp_path / "bad.arpa").write_text(SRILM.replace(old, new, 1))
    with pytest.raises(FormatError, match=message):
        load_lm(tmp_path / "bad.arpa")


def test_every_cut_of_an_arpa_file_is_an_error(tmp_path: Path) -> None:
    for size in range(len(SRILM) - 2):
        with pytest.raises(FormatError):
            read_arpa("cut.arpa", data=SRILM[:size].encode())
    with pytest.raises(FormatError, match="not valid UTF-8"):
        read_arpa("cut.arpa", data=SRILM.replace("never", "\udcff").encode(errors="surrogateescape"))
    with pytest.raises(FormatError, match="cannot be read"):
        load_lm(tmp_path / "none.arpa")


def test_damage_of_our_file_is_found(tmp_path: Path) -> None:
    model = sample()
    save_lm(model, tmp_path / "m.nlm")
    data = (tmp_path / "m.nlm").read_bytes()
    bad = tmp_path / "bad.nlm"
    for size in (12, 100, len(data) // 2, len(data) - 1):
        bad.write_bytes(data[:size])
        with pytest.raises(FormatError, match=r"cut short|damaged"):
            load_lm(bad, verify=False)
    for at in np.random.default_rng(1).integers(256, len(data), 40):
        bad.write_bytes(data[:at] + bytes([data[at] ^ 64]) + data[at + 1 :])
        with pytest.raises(FormatError, match=r"damaged"):
            load_lm(bad)
    bad.write_bytes(data.replace(b"nbest-lm/1", b"nbest-lm/2", 1))
    with pytest.raises(FormatError, match="another version"):
        load_lm(bad)
    bad.write_bytes(data.replace(b'"words": ', b'"words": -', 1))
    with pytest.raises(FormatError, match="description of itself"):
        load_lm(bad)


def test_names_of_files_are_checked_and_nothing_is_left_half_written(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"\.nlm, \.arpa"):
        save_lm(sample(), tmp_path / "m.lm")
    assert list(tmp_path.iterdir()) == []


def test_corpora_are_read_as_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffa b\r\n\nc\u2028d".encode())
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"x <s>y\n"))
    texts = read_word_lines([tmp_path / "a.txt", tmp_path / "b.gz"])
    assert [text.split() for text in texts] == [["a", "b"], [], ["c", "d"], ["x", "<s>y"]]
    assert count_ngrams(texts, 1).vocabulary[3:] == ("a", "b", "c", "d", "x", "<s>y")
    (tmp_path / "c.txt").write_text("fine\nnot </s> fine\n")
    with pytest.raises(FormatError, match=r"c.txt:2: </s> is a word"):
        read_word_lines([tmp_path / "c.txt"])
    (tmp_path / "d.txt").write_bytes(b"a\nb\xff\n")
    with pytest.raises(FormatError, match=r"d.txt:2: not valid UTF-8"):
        read_word_lines([tmp_path / "d.txt"])


@pytest.mark.data
def test_real_text(data: Path, tmp_path: Path) -> None:
    folder = data / "mt" / "europarl"
    model = KneserNey(3, (1, 1, 2), 1e-8).fit(read_word_lines([folder / "dev.en.xz", folder / "devtest.en.xz"]))
    test = read_word_lines([folder / "test.en.xz"])
    write_arpa(model, tmp_path / "m.arpa")
    assert same(read_arpa(tmp_path / "m.arpa"), model)
    scores = model.score(test)
    assert scores.perplexity(unknown=False) < 250
    kenlm = pytest.importorskip("kenlm")
    other = kenlm.Model(str(tmp_path / "m.arpa"))
    theirs = [other.score(" ".join(text.split())) * math.log(10) for text in test]
    np.testing.assert_allclose(scores.logprobs, theirs, rtol=1e-5)
