"""Yuan, Gao & Bu (2007), end to end on a made-up text in the files' formats."""

from __future__ import annotations

import json
import lzma
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from nbest.base.errors import FormatError, ParameterError
from nbest.base.sealed import sealed
from nbest.corpus import NBest
from nbest.decisions import oracle
from nbest.formats import read
from nbest.papers import paper
from nbest.papers.run import Run
from nbest.papers.yuan import isolate_li, text
from nbest.papers.yuan.isolate import ROWS, isolate
from nbest.papers.yuan.lists import Kana
from nbest.systems.converter.converter import Converter
from nbest.systems.converter.text import ReadSentence
from tests.papers.needs import check_needs

pytestmark = pytest.mark.filterwarnings("ignore::nbest.base.errors.ConvergenceWarning")

NOUNS = [
    ("柿|かき", "牡蠣|かき"),
    ("橋|はし", "箸|はし"),
    ("雨|あめ", "飴|あめ"),
    ("花|はな", "鼻|はな"),
    ("パン|ぱん", "ぱん"),
]
VERBS = [
    ("買う|かう", "飼う|かう"),
    ("見る|みる", "診る|みる"),
    ("着る|きる", "切る|きる"),
    ("食べる|たべる", "たべる"),
]
PAPER = paper("yuan-2007")


def sentences(count: int, seed: int, share: float = 0.9) -> list[str]:
    """Lines of words; `share` of them is the first of two that sound alike."""
    rng = random.Random(seed)
    lines = []
    for _ in range(count):
        pairs = [*rng.sample(NOUNS, rng.randint(1, 3)), rng.choice(VERBS)]
        *nouns, verb = [first if rng.random() < share else second for first, second in pairs]
        lines.append(" ".join([*" と ".join(nouns).split(), "を", verb, "。"]))
    return lines


def pack(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode()))


def make_data(folder: Path) -> Path:
    kana = folder / "kana"
    news = [f"wn{i // 3}\t{'2010 年|ねん ' * (i % 12 == 0)}{line}" for i, line in enumerate(sentences(120, 1))]
    pack(kana / "auto/wikinews.read.tsv.xz", news)
    pack(kana / "auto/tanaka.read.tsv.xz", [f"t.{i}\t{line}" for i, line in enumerate(sentences(300, 2, 0.1))])
    words = [word.split("|") for pair in (*NOUNS, *VERBS) for word in (*pair, "垣|かき") if "|" in word]
    pack(kana / "dict/ipadic.tsv.xz", ["surface\tkatakana\tcost", *(f"{a}\t{b}\t1" for a, b in words)])
    columns = [
        "# w1 train",
        "柿\tかき\t柿\t名詞",
        "\u3000\t\u3000\t\u3000\t特殊",
        "を\tを",
        "見る\tけん/みる\t見る\t動詞",
    ]
    pack(kana / "gold/kuwiki.gold.tsv.xz", [*columns, "# w2 test", "飴\tあめ"])
    ruby = ["R_1:柿(かき)を食(た)べる。,カキヲタベル。", "R_2:空を見(み)る。,ソラヲミル。"]
    pack(kana / "gold/rohan4600.txt.xz", ruby)
    for name in ("ita_recitation", "ita_emotion"):
        pack(kana / f"gold/{name}.ruby.txt.xz", ["I_1:パンと雨(あめ)、花(はな)。,パントアメ、ハナ。"])
    return folder


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished quick run."""
    folder = tmp_path_factory.mktemp("yuan")
    run = Run(folder / "run", make_data(folder / "data"), quick=True, threads=1)
    run.reproduce(PAPER)
    return run


def test_the_whole_report(done: Run) -> None:
    steps = [step.name for step in PAPER.steps(done)]
    assert all(done.result(name) is not None for name in steps)
    content = json.loads((done.folder / "report.json").read_text())
    first, gold, second, why, why_li, news, tanaka = content["tables"]
    assert [row[0] for row in first["rows"]][:3] == ["trigram", "MSR", "MSR-II"]
    trigram, *methods, oracle = first["rows"]
    assert all(cell is not None for row in methods for cell in row)
    for at in (1, 2, 5, 6):  # no choice is better than the oracle's
        assert all(0 <= oracle[at] <= row[at] for row in (trigram, *methods))
    assert first["paper"]["rows"][0] == ["MLE", 3.73, None]
    assert len(gold["rows"]) == len(first["rows"])
    assert [row[:2] for row in second["rows"]][:2] == [
        ["tanaka", 200],
        ["tanaka", done.need("data")["tanaka"]["train"]],
    ]
    assert second["rows"][-1][0] == "later news"
    assert [row[0] for row in why["rows"]] == [row.title for row in ROWS.values()]
    assert all(cell is not None for row in why["rows"] for cell in row if not isinstance(cell, str))
    assert [row[1] for row in why_li["rows"]] == [row.title for row in isolate_li.ROWS.values()]
    assert all(cell is not None for row in (*second["rows"], *why_li["rows"]) for cell in row)
    assert len(news["rows"]) == len(tanaka["rows"]) == 8
    assert content["differences"]
    text = (done.folder / "report.md").read_text()
    assert "all steps done" in text
    assert "| TuneUp | 800 | 5.81 |" in text
    for figure in content["figures"]:
        assert (done.folder / figure["file"]).read_text().endswith("</svg>\n")
    assert {figure["file"] for figure in content["figures"]} == {
        "alpha-jackknife.svg", "alpha-tanaka.svg", "adaptation.svg",
    }  # fmt: skip


def test_methods_learn_which_of_two_words_a_domain_uses(done: Run) -> None:
    """The domain prefers the words that the news avoid; the tables say what the lists say."""
    base = done.need("tanaka-test")["cer"]
    assert base > 10
    found = done.need("tanaka-2000-rerank")["methods"]
    assert all(method["cer"] < base and method["p"] < 0.05 for method in found.values())
    assert done.need("tanaka-2000-li")["cer"] < base
    lists = Kana(done).read("tanaka-test")
    assert lists.score(lists.offsets[:-1]) == pytest.approx(base)
    assert lists.feature_names == ("score",)
    assert (lists.features[lists.offsets[:-1]] >= lists.features[lists.offsets[1:] - 1]).all()


def test_rows_that_isolate_differ_in_one_thing(done: Run) -> None:
    """Documents: the same test, as many training lists, none of them of test; readings and converters likewise."""
    kana = Kana(done)
    other, same = (ROWS[f"documents-{name}"].lists(kana) for name in ("other", "same"))
    assert other.test.ids == same.test.ids
    assert len(other.train) == len(same.train)
    for three in (other, same):
        assert not {*three.train.ids} & {*three.test.ids, *three.dev.ids}
    sure, any_ = (ROWS[f"readings-{name}"].lists(kana) for name in ("sure", "any"))
    assert (len(sure.train), sure.test.ids) == (len(any_.train), any_.test.ids)
    whole, third = (ROWS[f"base-{name}"].lists(kana) for name in ("two-thirds", "third"))
    assert whole.train.ids == third.train.ids
    best = ROWS["reference-best"].lists(kana).train
    assert best.score(oracle(best)) == 0
    again = isolate(kana, "lists-all")
    assert again == done.need("why-lists-all")
    assert again["base"]["test"] == done.need("jackknife-test")["cer"]


def test_rows_about_interpolation_differ_in_one_thing(done: Run) -> None:
    """Unchanged it is what the table of adaptation has; models without readings and n-grams with them are others."""
    found = {name: done.need(f"why-li-tanaka-{name}") for name in isolate_li.ROWS}
    table = done.need("tanaka-li-fixed")["sizes"]["2000"]
    same = found["same"]
    assert same["cer"] == done.need("tanaka-test")["cer"]
    assert (same["li"]["cer"], same["li"]["weight"]) == (table["cer"], table["weight"])
    assert same["methods"]["msr2"]["cer"] == table["msr2"]["cer"]
    assert same["columns"] < found["trigrams"]["columns"] < found["readings"]["columns"]
    assert all(found[name]["li"] == same["li"] for name in ("trigrams", "readings"))
    assert isolate_li.converter_of(Kana(done), isolate_li.ROWS["surface"]).tokens == "surface"
    assert found["twelfth"]["cer"] > same["cer"]


def test_interpolation_on_the_same_lists(done: Run) -> None:
    """It chooses from the lists of the news, so that it is never better than their oracle, and prefers the domain's."""
    found, lists = done.need("tanaka-li-fixed")["sizes"], done.need("tanaka-test")
    assert {*found} == {"200", "2000"}
    for size, each in found.items():
        assert lists["oracle"] <= each["cer"] < lists["cer"]
        assert each["msr2"]["cer"] == done.need(f"tanaka-{size}-rerank")["methods"]["msr2"]["cer"]
    parts, earlier = text.later_news(done, 300, 300, 8000)
    assert {id(each) for each in parts.test}.isdisjoint({id(each) for each in earlier})
    assert len(parts.test) + len(parts.dev) + len(parts.train) + len(earlier) <= 120
    assert not any("2010" in each.surfaces for each in earlier)


class Watched(Kana):
    """Keeps which sentences converters were trained on, and which they converted."""

    def fit(self, sentences: Sequence[ReadSentence], adapt: Sequence[ReadSentence] = ()) -> Converter:
        self.seen = {id(sentence) for sentence in (*sentences, *adapt)}
        return super().fit(sentences, adapt)

    def decoded(self, converter: Converter, sentences: Sequence[ReadSentence], k: int, begin: int = 0) -> NBest:
        self.converted = {id(sentence) for sentence in sentences}
        return super().decoded(converter, sentences, k, begin)


def test_converters_have_not_seen_what_they_convert(done: Run, tmp_path: Path) -> None:
    run = Run(tmp_path / "run", done.data, quick=True, threads=1)
    for folder in (run.work, run.base):
        folder.mkdir(parents=True)
    kana = Watched(run)
    everything = {id(sentence) for sentence in kana.news.train}
    converted = set()
    for number in range(kana.sizes.parts["jackknife"]):
        kana.train_lists("jackknife", number)
        assert kana.seen == everything - kana.converted
        converted |= kana.converted
    assert converted == everything
    kana.train_lists("disjoint", 0)
    assert kana.seen == everything - kana.converted
    for part in ("dev", "test"):
        kana.held_lists("jackknife", part)
        assert kana.seen == everything
        assert not kana.converted & everything


def test_lists_are_in_the_order_of_the_sentences(done: Run) -> None:
    kana = Kana(done)
    parts = kana.parts("jackknife")
    train = [list(read(done.work / f"jackknife-train-{i}.jsonl.gz").references or ()) for i in range(3)]
    assert [refs[0] for part in train for refs in part] == [sentence.text for sentence in parts.train]
    assert len(parts.test) == len(parts.dev) == 24


def test_methods_that_are_worse_than_the_news_only_are_named(done: Run, tmp_path: Path) -> None:
    """A small p does not tell the direction."""
    run = Run(tmp_path / "run", done.data, quick=True)
    shutil.copytree(done.folder, run.folder)
    file = run.folder / "steps" / "tanaka-200-rerank.json"
    content = json.loads(file.read_text())
    del content["sha256"]
    worse = {"cer": run.need("tanaka-test")["cer"] + 1, "p": 0.001, "p_li": 0.001}
    content["result"]["methods"]["mira"].update(worse)
    file.write_text(json.dumps(sealed(content)))
    notes = PAPER.report(run).tables[2].notes
    assert "Worse than the news only at p < .05: tanaka 200 MIRA (0.0010)." in notes
    assert not any("MIRA" in note for note in notes if "Worse" not in note and "tanaka 200 " in note)


def test_resuming_runs_nothing_again(done: Run) -> None:
    said: list[str] = []
    again = Run(done.folder, done.data, quick=True, threads=1, say=said.append)
    again.reproduce(PAPER, resume=True)
    assert len(said) == 1
    assert f"{len(PAPER.steps(done))} of {len(PAPER.steps(done))} steps are done" in said[0]


def test_the_report_of_a_run_that_is_half_done(done: Run, tmp_path: Path) -> None:
    half = Run(tmp_path / "half", done.data, quick=True, threads=1)
    shutil.copytree(done.folder, half.folder)
    for pattern in ("jackknife-m*", "jackknife-pairs*", "kuwiki*", "*-2000-rerank*", "alpha-tanaka-msr2*", "*-200-li*"):
        for file in (half.folder / "steps").glob(pattern):
            file.unlink()
    half.reproduce(PAPER, resume=True, only=["data"])
    text = (half.folder / "report.md").read_text()
    assert "the others are missing below" in text
    empty = Run(tmp_path / "empty", done.data, quick=True, threads=1)
    empty.reproduce(PAPER, only=["data"])
    table = json.loads((empty.folder / "report.json").read_text())["tables"][0]
    assert table["rows"][1] == ["MSR"] + [None] * 8
    with pytest.raises(ParameterError, match="disjoint-train-0"):
        empty.reproduce(PAPER, resume=True, only=["disjoint-msr"])


def test_runs_end_alike_with_any_number_of_threads(done: Run, tmp_path: Path) -> None:
    again = Run(tmp_path / "again", done.data, quick=True, threads=2)
    again.reproduce(PAPER, only=["data", "disjoint-*"])
    for name in ("disjoint-dev", "disjoint-train-0", "disjoint-msr2", "disjoint-pairs"):
        first, second = dict(done.need(name)), dict(again.need(name))
        first.pop("seconds", None)
        second.pop("seconds", None)
        assert first == second


@pytest.mark.parametrize("name", ["auto/wikinews.read.tsv", "auto/tanaka.read.tsv", "gold/kuwiki.gold.tsv"])
def test_missing_files_are_named_at_once(tmp_path: Path, name: str) -> None:
    data = make_data(tmp_path / "data")
    (data / "kana" / f"{name}.xz").unlink()
    with pytest.raises(ParameterError, match=name):
        Run(tmp_path / "run", data, quick=True).reproduce(PAPER)


def test_too_few_sentences_are_an_error(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    pack(data / "kana/auto/tanaka.read.tsv.xz", sentences(5, 1))
    with pytest.raises(ParameterError, match="too few sentences"):
        Run(tmp_path / "run", data, quick=True).reproduce(PAPER)


def test_gold_readers(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", make_data(tmp_path), quick=True)
    longer = ReadSentence(("柿", "を", "見る"), ("かき", "を", "みる"))
    assert text.kuwiki(run, 10) == [longer, ReadSentence(("飴",), ("あめ",))]
    assert text.kuwiki(run, 1) == text.kuwiki(run, 10)[:1]
    ruby = text.ruby(run, 10)  # the second of ROHAN has a word without a reading
    assert ruby[0] == ReadSentence(("柿を食べる。",), ("かきをたべる。",))
    assert [sentence.kana for sentence in ruby[1:]] == ["ぱんとあめ、はな。"] * 2
    pack(tmp_path / "kana/gold/rohan4600.txt.xz", ["no colon"])
    with pytest.raises(FormatError, match=r"rohan4600\.txt\.xz:1"):
        text.ruby(run, 10)
    pack(tmp_path / "kana/gold/kuwiki.gold.tsv.xz", ["柿\tかき"])
    with pytest.raises(FormatError, match=r"kuwiki\.gold\.tsv\.xz:1"):
        text.kuwiki(run, 10)


def test_gold_sets_without_readings_are_an_error(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    for name in ("rohan4600.txt", "ita_recitation.ruby.txt", "ita_emotion.ruby.txt"):
        pack(data / f"kana/gold/{name}.xz", ["R_1:空を見る。,ソラヲミル。"])
    with pytest.raises(ParameterError, match="no sentence whose reading is given"):
        Run(tmp_path / "run", data, quick=True).reproduce(PAPER)


def test_documents_are_never_divided(tmp_path: Path) -> None:
    """Each document of the news is a sentence of its own kind, three times."""
    lines = [f"d{i // 3}\t言葉{i // 3}|ことば" for i in range(150)]
    pack(tmp_path / "kana/auto/wikinews.read.tsv.xz", lines)
    for seed in (1, 2):
        parts = text.news(Run(tmp_path / "run", tmp_path, seed=seed), 20, 50)
        kinds = [{sentence.text for sentence in part} for part in (parts.test, parts.dev, parts.train)]
        assert [len(part) for part in (parts.test, parts.dev, parts.train)] == [20, 20, 50]
        assert sum(map(len, kinds)) == len(set.union(*kinds))


def test_steps_need_what_they_say(tmp_path: Path, done: Run) -> None:
    check_needs(done, PAPER, tmp_path)
