"""Commands on small data that between them run every kernel: what `nbest warmup` does.

Each group of commands is a process of its own (`python -m nbest.cli.warming GROUP`, in a folder with the data), so that
several cores compile at once.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from nbest import formats
from nbest.base.errors import NbestError
from nbest.cli import warming_library
from nbest.corpus import NBest, Texts
from nbest.features import FEATURES
from nbest.forests.derivations import forests_of
from nbest.formats.conllu import Sentence, sentence_of, write_conllu
from nbest.formats.lists import plainly
from nbest.metrics import METRICS
from nbest.trainers import TRAINERS

_GAINS = ("bleu", "chrf", "ter", "wer", "cer", "exact", "accuracy", "f1")
_SPARSE = ("boosting", "mira", "msr", "msr2", "perceptron", "pro")  # need sparse features, or gain by them
_WORDS = np.array(list("abcdefgh"))

Step = str | Callable[[], None]
"""A command, or something of the library."""


# data ------------------------------------------------------------------------------------------------------------


def make_data(folder: Path) -> None:
    """Small lists, forests, texts and treebanks."""
    lists = _lists(12, 6, np.random.default_rng(1))
    formats.write(lists, folder / "dev.jsonl")
    formats.write(replace(lists, references=None, sources=None), folder / "dev.nbest")
    formats.write(_with_sparse(lists), folder / "sparse.jsonl")
    formats.write(_lists(12, 6, np.random.default_rng(2)), folder / "test.jsonl")
    formats.write_forests(forests_of(lists), folder / "dev.forests.jsonl")
    (folder / "dev.ref").write_text("".join(f"{refs[0]}\n" for refs in lists.references or ()))
    pairs = ["木 の 下 に 山 が 見 え る", "山 の 上 に 木 が あ る", "下 に 見 え る 山 の 木"] * 4
    for name in ("text.ja", "text.zh"):
        (folder / name).write_text("".join(f"{line.replace(' ', '')}\n" for line in pairs), encoding="utf-8")
    (folder / "text.words").write_text("".join(f"{line}\n" for line in pairs), encoding="utf-8")
    (folder / "read.tsv").write_text("s1\t柿|かき を 見る|みる 。\ns2\t花|はな を 見る|みる 。\n" * 4, encoding="utf-8")
    write_conllu([_tree(k) for k in range(12)], folder / "trees.conllu")


def _lists(segments: int, size: int, rng: np.random.Generator) -> NBest:
    references = [rng.choice(_WORDS, rng.integers(5, 8)) for _ in range(segments)]
    texts, errors = [], []
    for words in references:
        for _ in range(size):
            wrong = rng.random(len(words)) < 0.3
            texts.append(" ".join(np.where(wrong, rng.choice(_WORDS, len(words)), words)))
            errors.append(wrong.sum())
    features = -0.3 * np.array(errors)[:, None] + rng.normal(size=(len(texts), 3))
    return NBest(
        offsets=np.arange(segments + 1) * size,
        features=features,
        feature_names=("f", "g", "h"),
        ids=tuple(map(str, range(segments))),
        texts=Texts.of(texts),
        references=tuple((" ".join(words),) for words in references),
        sources=tuple(" ".join(word * 4 for word in words) for words in references),
    )


def _with_sparse(lists: NBest) -> NBest:
    from scipy.sparse import csr_array

    rng = np.random.default_rng(3)
    values = np.where(rng.random((lists.hypotheses, 3)) < 0.5, lists.features + 0.1 * rng.normal(size=(1, 3)), 0.0)
    return replace(lists, sparse=csr_array(values), sparse_names=("x", "y", "z"))


def _tree(k: int) -> Sentence:
    words = ["the", ("dog", "cat", "saw")[k % 3], "saw", "a", f"tree{k % 4}", "."]
    tags = ["D", "N", "V", "D", "N", "."]
    out = sentence_of(words).with_column("upos", tags).with_column("xpos", tags)
    labels = ["det", "nsubj", "root", "det", "obj", "punct"]
    return out.with_column("head", [2, 3, 0, 5, 3, 3]).with_column("deprel", labels)


# commands --------------------------------------------------------------------------------------------------------


def _of_lists() -> Iterator[Step]:
    bleu, wer = "dev.nbest --refs dev.ref --metric bleu", "dev.jsonl --metric wer"
    yield f"inspect {bleu} --against test.jsonl"
    for method in ("auto", "risk", "mert", "likelihood", "softbleu", "grid", "random"):
        for what in (bleu, wer):
            yield f"tune {what} --method {method} --split 0.25 -o model.json"
    yield f"tune {bleu} --folds 2"
    yield f"tune {wer} --method softbleu --optimiser lbfgs"
    yield "tune dev.jsonl --metric external --column h"
    best = "--method mert --restarts 1 --ascent best"
    for metric in ("external --column h", "bleu", "chrf"):  # statistics that are no counts; counts; without a formula
        yield f"tune dev.jsonl --metric {metric} {best}"
    yield "tune dev.jsonl --metric external --column h --method mert"
    for gain in _GAINS:
        yield f"rerank dev.jsonl --model model.json --decision mbr --gain {gain} -o out"
    yield "rerank dev.jsonl --model model.json --decision consensus -o out"
    yield "convert dev.nbest out.jsonl --dedupe --top 3"
    for test in ("permutation", "bootstrap", "wilcoxon"):
        yield f"score out dev.ref --refs dev.ref --metric bleu,wer --test {test}"
    for metric in set(METRICS) - {"external", "las", "uas"}:
        yield f"score out --refs dev.ref --metric {metric}"
    yield "compare dev.jsonl --metric wer --test test.jsonl --methods risk,mert"
    for lists in ("dev.nbest", "dev.jsonl"):
        decoder = f"sh -c 'cp {lists} $0' {{output}} {{weights}}"
        loop = f'loop dev.ref --decoder "{decoder}" --refs dev.ref --metric wer --start f=1,g=1,h=1 --rounds 2'
        yield f"{loop} --method mert -o run.{lists}"


def _of_sparse() -> Iterator[Step]:
    for method in (*_SPARSE, "auto", "risk", "likelihood", "softbleu"):
        yield f"tune dev.jsonl --metric wer --add ngrams:order=2 --method {method} --split 0.25 -o sparse.json"
        yield f"tune sparse.jsonl --metric bleu --method {method}"
    for method in _SPARSE:
        for metric in ("bleu", "wer"):
            yield f"tune dev.jsonl --metric {metric} --method {method}"
    yield "rerank test.jsonl --model sparse.json -o out"
    yield warming_library.of_columns
    yield "tune dev.jsonl --metric wer --add ngrams:tokens=characters:boundaries=true --method msr2"


def _of_features() -> Iterator[Step]:
    yield "train lm text.words --order 3 -o lm.nlm"
    yield "train lm text.words --order 2 --prune 1e-9 --heldout text.words -o lm.arpa"
    yield "features add-lm dev.jsonl out.jsonl --lm lm.nlm"
    yield "features add-lm dev.jsonl out.jsonl --lm lm.arpa"
    more = {"lm": ":path=lm.nlm", "gaussians": ":kernels=3", "bins": ":bins=2"}
    for kind in FEATURES:
        yield f"tune dev.jsonl --metric wer --add {kind}{more.get(kind, '')} -o added.json"
        yield "rerank test.jsonl --model added.json -o out"
    yield "tune dev.jsonl --metric wer --method lowdim --split 0.25 -o lowdim.json"
    yield "tune dev.jsonl --metric wer --add bins:bins=2:soft=true -o added.json"


def _of_forests() -> Iterator[Step]:
    for metric in ("bleu --tokenize none", "wer"):
        for method in set(TRAINERS) - {"lowdim", "vote", "weak"}:
            if method != "cobleu" or metric != "wer":
                yield f"tune dev.forests.jsonl --metric {metric} --method {method} -o forest.json"
        yield f"inspect dev.forests.jsonl --metric {metric}"
    for decision in ("1best", "mbr", "consensus"):
        yield f"rerank dev.forests.jsonl --model forest.json --decision {decision} -o out"
    yield "convert dev.forests.jsonl out.jsonl --model forest.json --top 3"
    yield "convert dev.forests.jsonl out.forests.jsonl --model forest.json --prune 1e-2"
    yield "study path dev.forests.jsonl --metric bleu --tokenize none --k 3 --rounds 2 -o path"
    yield warming_library.of_forests
    yield warming_library.of_large_corpora


def _of_studies() -> Iterator[Step]:
    bleu = "dev.jsonl --metric bleu -o study"
    yield f"study surface {bleu} --x f --y g --points 3"
    yield f"study sharpness {bleu} --feature f --points 3"
    yield f"study consensus {bleu} --feature f --points 3"
    yield f"study alpha {bleu} --add ngrams:order=2:minimum=1 --alphas 0.9,1"
    yield f"study annealing {bleu} --split 0.25"
    yield f"study learning {bleu} --methods risk,mert --repeats 1 --split 0.25"
    yield f"study starts {bleu} --count 5"
    yield f"study bins {bleu} --bins 3 --split 0.25"


def _of_systems() -> Iterator[Step]:
    yield "train tagger trees.conllu --tags xpos -o tagger"
    yield "decode tagger tagger trees.conllu -o out.conllu"
    yield "decode tagger tagger trees.conllu -o tags.jsonl --k 3"
    yield "loop trees.conllu --decoder tagger --metric accuracy --k 3 --rounds 2 -o run.tagger"
    yield "train converter read.tsv --order 2 -o converter"
    yield "decode converter converter read.tsv --input read -o out.jsonl --k 3"
    yield "train converter read.tsv --adapt read.tsv --order 2 -o adapted"


def _of_parser() -> Iterator[Step]:
    yield "train parser trees.conllu -o parser --epochs 2 --arc-bits 10 --label-bits 8"
    yield "decode parser parser trees.conllu -o out.conllu"
    yield "decode parser parser trees.conllu -o trees.jsonl --k 3"
    for metric in ("las", "uas"):
        yield f"tune trees.jsonl --metric {metric}"
    yield "loop trees.conllu --decoder parser --metric las --k 3 --rounds 2 -o run.parser"


def _of_translator() -> Iterator[Step]:
    yield "train translator text.ja text.zh -l ja-zh --lm-order 3 -o translator"
    yield "decode translator translator text.ja --refs text.zh -o out.forests.jsonl"
    yield "decode translator translator text.ja --refs text.zh -o out.jsonl --k 3"
    loop = "loop text.ja --decoder translator --refs text.zh --metric bleu --tokenize none --k 3 --rounds 2"
    yield f"{loop} -o run.lists"
    yield f"{loop} --forests --method cobleu -o run.forests"
    for method in ("mert", "risk", "softbleu", "cobleu"):
        yield f"tune out.forests.jsonl --metric bleu --tokenize none --method {method} -o forest.json"
    for decision in ("1best", "mbr", "consensus"):
        yield f"rerank out.forests.jsonl --model forest.json --decision {decision} -o out"
    yield warming_library.of_systems


GROUPS: dict[str, Callable[[], Iterator[Step]]] = {
    "lists": _of_lists,
    "forests": _of_forests,
    "sparse": _of_sparse,
    "features": _of_features,
    "parser": _of_parser,
    "translator": _of_translator,
    "systems": _of_systems,
    "studies": _of_studies,
}
"""Groups of commands, the longest first."""
_NEEDS = {"translator": ("sacremoses", "nbest[mt]")}
"""The package that a group needs, and the extra that it comes with."""


def left_out() -> dict[str, str]:
    """The groups that need a package which is not installed, and the extra with it."""
    return {name: extra for name, (package, extra) in _NEEDS.items() if find_spec(package) is None}


def run_group(name: str) -> str | None:
    """Run the commands of a group here and in this folder, up to the first that fails, which is returned."""
    from nbest.cli.main import main

    plainly.thrifty = False
    for step in GROUPS[name]():
        with open("shown", "w", encoding="utf-8") as shown, redirect_stdout(shown):
            if not isinstance(step, str):
                step()
            elif main([*shlex.split(step), *([] if step.split()[0] in ("inspect", "score") else ["--quiet"])]):
                return step
        print(".", end="", flush=True)
    return None


# processes -------------------------------------------------------------------------------------------------------


def warm_up(processes: int, progress: Callable[[int, int], None]) -> None:
    """Run all groups, each in a process and a folder of its own; a command that fails is an error."""
    names = [name for name in GROUPS if name not in left_out()]
    total, done, lock = sum(len(list(GROUPS[name]())) for name in names), 0, threading.Lock()

    def step() -> None:
        nonlocal done
        with lock:
            done += 1
            progress(done, total)

    with tempfile.TemporaryDirectory(prefix="nbest-warmup-") as folder, ThreadPoolExecutor(processes) as pool:
        list(pool.map(lambda name: _run_apart(name, Path(folder, name), step), names))


def _run_apart(name: str, folder: Path, step: Callable[[], None]) -> None:
    folder.mkdir()
    make_data(folder)
    with open(folder / "messages", "w+", encoding="utf-8") as messages:
        command = [sys.executable, "-m", "nbest.cli.warming", name]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=messages) as process:
            assert process.stdout is not None
            while process.stdout.read(1):
                step()
        if process.returncode:
            messages.seek(0)
            raise NbestError(f"kernels of {name} could not all be compiled: {messages.read()[-500:].strip()}")


if __name__ == "__main__":
    bad = run_group(sys.argv[1])
    sys.exit(0 if bad is None else f"failed: nbest {bad}")
