"""Kinds of files that are read, valid ones of each, and what must be true of whatever is accepted."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nbest import formats
from nbest.base.errors import NbestError
from nbest.corpus import Texts
from nbest.decisions.chosen import best_lists
from nbest.features import apply_recipes, fit_recipes
from nbest.formats.conllu import read_conllu, sentence_of, write_conllu
from nbest.formats.joining import join_scores
from nbest.formats.moses_weights import write_moses_weights
from nbest.formats.records import from_records
from nbest.formats.references import read_references
from nbest.lm.estimate import KneserNey
from nbest.lm.file import load_lm, save_lm
from nbest.model.loglinear import LogLinear, load
from nbest.testing.corpora import toy_lists
from nbest.testing.flips import reseal
from nbest.testing.forests import toy_forests
from nbest.testing.stores import make_stores, reseal_stores, use_store
from nbest.testing.tiny_systems import TINY

Targets = Mapping[Path, Path]
"""Files that may be damaged, and what is read then: the file, or the folder it is in."""


@dataclass(frozen=True)
class Kind:
    """One kind of files."""

    make: Callable[[Path], Targets]
    read: Callable[[Path], None]  # raises `AssertionError` where something is accepted that breaks a rule
    weight: int  # its share of all mutants
    reseal: Callable[[Path], None] | None = None  # makes checksums of a folder anew, as someone with malice would


# lists and forests ----------------------------------------------------------------------------------------------


def _examples(folder: Path, family: Mapping[str, Any]) -> dict[Path, Path]:
    """The example of every format: a file, or a folder of files."""
    targets: dict[Path, Path] = {}
    for name, format in family.items():
        place = folder / name
        place.mkdir(parents=True)
        if getattr(format, "binary", False):  # stores are a kind of their own
            continue
        files = [place / file for file in format.example]
        for file, text in zip(files, format.example.values(), strict=True):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        targets |= dict.fromkeys(files, place) if getattr(format, "directory", False) else {files[0]: files[0]}
    return targets


def _packed(folder: Path, data: bytes, name: str) -> dict[Path, Path]:
    for suffix, pack in ((".gz", gzip.compress), (".xz", lzma.compress)):
        (folder / f"{name}{suffix}").write_bytes(pack(data))
    return {folder / f"{name}{suffix}": folder / f"{name}{suffix}" for suffix in (".gz", ".xz")}


def _archives(folder: Path) -> dict[Path, Path]:
    """Logs of inspect_ai as archives, packed and not."""
    samples = json.loads(formats.FORMATS["inspect"].example["log.json"])["samples"]
    made = {}
    for name, method in (("packed", zipfile.ZIP_DEFLATED), ("stored", zipfile.ZIP_STORED)):
        path = made[folder / f"{name}.eval"] = folder / f"{name}.eval"
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("header.json", "{}")
            for sample in samples:
                archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
    return made


def _make_lists(folder: Path) -> Targets:
    targets = _examples(folder, formats.FORMATS)
    for sparse in (False, True):
        corpus = toy_lists(2, segments_=6, longest=4, sparse=sparse)
        for suffix in ("jsonl", "nbest"):
            path = folder / f"toy{sparse}.{suffix}"
            formats.write(corpus, path)
            targets[path] = path
    return targets | _archives(folder) | _packed(folder, path.read_bytes(), "packed.nbest")


def _make_forests(folder: Path) -> Targets:
    targets = _examples(folder, formats.FOREST_FORMATS)
    path = folder / "toy.forests.jsonl"
    formats.write_forests(toy_forests(2), path)
    return targets | {path: path} | _packed(folder, path.read_bytes(), "packed.forests.jsonl")


def _read_corpus(path: Path) -> None:
    corpus = formats.read_any(path)
    again = replace(corpus)  # all that is checked at construction, once more
    assert again.ids == corpus.ids
    assert np.isfinite(corpus.features).all()
    model = LogLinear(dict.fromkeys(corpus.feature_names, 0.0))
    lists, _ = best_lists(corpus, model, 2)
    assert len(lists) == len(corpus)
    assert lists.texts is None or sum(map(len, lists.texts)) >= 0  # every text is UTF-8
    choice = model.predict(lists)
    inside = (choice >= lists.offsets[:-1]) & (choice < lists.offsets[1:])
    assert (inside | (choice == -1) & (lists.lengths == 0)).all()


# texts ----------------------------------------------------------------------------------------------------------

_IDS = ("u2", "u1", "u10")


def _make_references(folder: Path) -> Targets:
    rows = [(name, f"the text of {name}") for name in _IDS]
    contents = {
        "plain": "".join(f"{text}\n" for _, text in rows),
        "spaces": "".join(f"{name} {text}\n" for name, text in rows),
        "tabs": "".join(f"{name}\t{text}\n" for name, text in rows),
    }
    folder.mkdir(parents=True)
    for name, text in contents.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {folder / name: folder / name for name in contents}


def _read_references(path: Path) -> None:
    wrong = []
    for segments in (_IDS, ("0", "1", "2"), ("x", "1", "2"), 3):
        try:
            rows = read_references([path], segments)
        except NbestError as error:
            wrong.append(error)
            continue
        assert len(rows) == 3
        assert all(len(row) == 1 for row in rows)
    if len(wrong) == 4:
        raise wrong[0]


_LISTS = {"u": ("a b", "c"), "v": ('say "no"',), "w": ("x", "y", "z")}


def _make_scores(folder: Path) -> Targets:
    rows = [(name, k, text, 0.5 * k - 1) for name, texts in _LISTS.items() for k, text in enumerate(texts)]
    contents = {
        "index.csv": "id,index,qe,ok\n" + "".join(f"{name},{k},{v},{k < 1}\n" for name, k, _, v in rows),
        "text.tsv": "id\ttext\tqe\n" + "".join(f"{name}\t{text}\t{v}\n" for name, _, text, v in rows),
        "quoted.csv": 'id,text,qe\nu,"a b",1\nu,c,2\nv,"say ""no""",3\nw,x,1\nw,"y",2\nw,"z",\n',
        "order.tsv": "".join(f"{name}\t{v}\n" for name, _, _, v in rows),
        "plain.txt": "".join(f"{v}\n" for *_, v in rows),
        "rows.jsonl": "".join(json.dumps({"id": n, "hyp": k, "qe": v, "no": None}) + "\n" for n, k, _, v in rows),
        "list.json": json.dumps([{"id": n, "text": text, "qe": v} for n, _, text, v in rows], indent=1),
        "QE.seg.score": "A\t1\nA\t-2.5\nB\t3\nB\tNone\n",
    }
    folder.mkdir(parents=True)
    for name, text in contents.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {folder / name: folder / name for name in contents}


def _read_scores(path: Path) -> None:
    systems = path.name.startswith("QE")
    texts = {"0": ("a", "b"), "1": ("c", "d")} if systems else _LISTS
    lists = from_records([{"id": name, "text": text} for name, each in texts.items() for text in each])
    joined = join_scores(lists, path, missing="flag")
    assert joined.hypotheses == lists.hypotheses
    assert np.isfinite(joined.features).all()
    assert set(joined.feature_names[len(joined.feature_names) // 2 :]) == {
        f"{name}_missing" for name in joined.feature_names[: len(joined.feature_names) // 2]
    }


def _make_treebanks(folder: Path) -> Targets:
    folder.mkdir(parents=True)
    path = folder / "trees.conllu"
    columns = {"upos": ("D", "N", "V", "."), "head": ("2", "3", "0", "3"), "deprel": ("det", "nsubj", "root", "punct")}
    sentence = sentence_of(("The", "cat", "saw", "."))
    for column, values in columns.items():
        sentence = sentence.with_column(column, values)
    write_conllu([sentence] * 2, path)
    rich = "# id = 1\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tP\tP\tA=b|C=d\t2\tcase\t_\t_\n"
    rich += "2\tle\tle\tD\tD\t_\t0\troot\t_\tSpaceAfter=No\n2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    (folder / "rich.conllu").write_text(rich, encoding="utf-8")
    return {path: path, folder / "rich.conllu": folder / "rich.conllu"}


def _read_treebank(path: Path) -> None:
    for sentence in read_conllu(path):
        assert len(sentence) == len(sentence.forms)


# models ---------------------------------------------------------------------------------------------------------


def _make_models(folder: Path) -> Targets:
    corpus = toy_lists(3, segments_=8, longest=5)
    kinds = {"length": {}, "bins": {"bins": 2}, "gaussians": {"kernels": 2}, "lowdim": {"k": 2}, "ngrams": {"order": 1}}
    models = {}
    for kind, options in kinds.items():
        recipes = fit_recipes(corpus, [{"kind": kind, **options}])
        wide = apply_recipes(corpus, recipes)
        weights = dict.fromkeys((*wide.feature_names, *wide.sparse_names), 0.5)
        models[kind] = LogLinear(weights, features=recipes, dense=wide.feature_names, seed=1)
    models["many"] = LogLinear({"first": 1.0} | {f"w{k}": k + 1.0 for k in range(10_100)}, dense=("first",), gamma=2.0)
    targets: dict[Path, Path] = {}
    for name, model in models.items():
        place = folder / name
        place.mkdir(parents=True)
        model.save(place / "model.json")
        targets |= dict.fromkeys(place.iterdir(), place / "model.json")
    write_moses_weights(folder / "moses.ini", {"first": 0.5, "second": 0.1, "third": 0.2})
    (folder / "run1.dense").write_text("first= 0.5\nsecond= 0.25\nthird= 0.125\n")
    return targets | {folder / name: folder / name for name in ("moses.ini", "run1.dense")}


def _read_model(path: Path) -> None:
    model = load(path)
    assert np.isfinite(list(model.weights.values())).all()
    assert np.isfinite(model.gamma)
    assert len(repr(model)) < 2000
    scores = model.scores(toy_lists(3, segments_=4, longest=3))
    assert np.isfinite(scores).all()


def _reseal_model(folder: Path) -> None:
    """The sums of arrays as they are now."""
    for path in folder.rglob("model.json"):
        try:
            content = json.loads(path.read_bytes())
            data = (path.parent / Path(content["arrays"]["file"]).name).read_bytes()  # not /dev/zero
            content["arrays"]["sha256"] = hashlib.sha256(data).hexdigest()
            path.write_text(json.dumps(content), encoding="utf-8")
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # nothing to make anew


# language models and systems ------------------------------------------------------------------------------------


def _make_lms(folder: Path) -> Targets:
    folder.mkdir(parents=True)
    lm = KneserNey(3).fit(Texts.of(["a b c a b", "b a c c", "c b"]))
    for name in ("lm.nlm", "lm.arpa", "lm.arpa.gz"):
        save_lm(lm, folder / name)
    return {path: path for path in folder.iterdir()}


def _read_lm(path: Path) -> None:
    columns = load_lm(path).score(Texts.of(["a b x", ""]), threads=1).columns
    assert not np.isnan(columns).any()


def _make_system(name: str, folder: Path) -> Targets:
    TINY[name].make(folder)
    return {path: folder for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size}


def _use_store(path: Path) -> None:
    use_store(path)


def _use_system(name: str, folder: Path) -> None:
    TINY[name].use(folder)


KINDS: dict[str, Kind] = {
    "lists": Kind(_make_lists, _read_corpus, 70),
    "forests": Kind(_make_forests, _read_corpus, 45),
    "stores": Kind(make_stores, _use_store, 12, reseal_stores),
    "references": Kind(_make_references, _read_references, 12),
    "scores": Kind(_make_scores, _read_scores, 12),
    "treebanks": Kind(_make_treebanks, _read_treebank, 12),
    "models": Kind(_make_models, _read_model, 24, _reseal_model),
    "language models": Kind(_make_lms, _read_lm, 16, reseal),
    **{
        name: Kind(partial(_make_system, name), partial(_use_system, name), weight, reseal)
        for name, weight in (("tagger", 3), ("parser", 3), ("converter", 3), ("translator", 1), ("loop", 1))
    },
}
"""Kinds by name. Adding one is one line; `python -m nbest.testing.fuzz` and the tests find it."""
