"""`nbest warmup`: after it, no command compiles anything."""

from __future__ import annotations

import os
import pkgutil
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher

import nbest
from nbest.cli import warming
from tests.cli.conftest import sausages, write_lists, write_sources
from tests.loop import toy_program
from tests.loop.toy import sentences

_UNKEPT = {"nbest.forests.semirings._inside_new", "nbest.forests.semirings._outside_new"}
_INLINED = {"nbest.compute.numba_intrinsics.fast_exp"}

_CHECK = """
import sys
from numba.core import event
from nbest.cli.main import main

class Listener(event.Listener):
    def on_start(self, happened):
        data = happened.data
        print("compiled", data["dispatcher"], data["args"], file=sys.stderr)
    def on_end(self, happened):
        pass

event.register("numba:compile", Listener())
for line in sys.stdin.read().splitlines():
    words = line.split("\\x1f")
    print("#", *words, file=sys.stderr)
    assert main(words) == 0, words
"""


def commands() -> list[list[str]]:
    """Ordinary work on lists and forests, of other sizes than the data of the warm-up."""
    bleu = "dev.forests.jsonl --metric bleu --tokenize none"
    lines = [f"tune dev.jsonl --metric wer --method {m} -o model.json -q" for m in nbest.TRAINERS if m != "cobleu"]
    lines += [f"tune {bleu} --method {m} -o forest.json -q" for m in ("mert", "risk", "softbleu", "cobleu", "pro")]
    lines += [f"tune dev.forests.jsonl --metric wer --method {m} -o forest.json -q" for m in ("mert", "risk")]
    for decision in ("1best", "mbr", "consensus"):
        lines.append(f"rerank dev.forests.jsonl --model forest.json -d {decision} -o out -q")
        lines.append(f"rerank dev.jsonl --model model.json -d {decision} -o out -q")
    metrics = ",".join(sorted(set(nbest.METRICS) - {"external", "las", "uas"}))
    lines += [f"score dev.first out --refs dev.ref --metric {metrics} --json", "inspect dev.jsonl --metric bleu --json"]
    lines += [
        "inspect dev.forests.jsonl --metric bleu --json",
        "demo --json -q",
        "convert dev.nbest out.jsonl --dedupe",
        "convert dev.jsonl dev.store",
        *(f"tune dev.store --metric wer --method {m} -o model.json -q" for m in ("mert", "risk", "likelihood", "msr2")),
        "rerank dev.store --model model.json -o out -q",
        "inspect dev.store --metric bleu --json",
    ]
    lines += ["compare dev.jsonl --metric wer --test test.jsonl --json -q"]
    lines += ["report dev.jsonl --metric wer --model model.json --test test.jsonl --draws 2 -o report.html -q"]
    program = f"{shlex.join([sys.executable, toy_program.__file__])} {{weights}} {{input}} {{k}} {{output}} 0"
    loop = ["loop", "loop.src", "--decoder", program, "--refs", "loop.ref", "--metric", "wer", "--k", "3", "-q"]
    loop += ["--rounds", "2", "--start", "am=0.1,lm=0.1,noise=0.1,words=0.1", "-o", "run"]
    return [*(line.split() for line in lines), loop]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, seed in (("dev", 1), ("test", 2)):
        write_lists(tmp_path, name, 40, seed)
        write_sources(tmp_path, name)
    nbest.write_forests(sausages(3), tmp_path / "dev.forests.jsonl")
    inputs, references = sentences(15, 1)
    (tmp_path / "loop.src").write_text("".join(f"{line}\n" for line in inputs))
    (tmp_path / "loop.ref").write_text("".join(f"{line}\n" for (line,) in references))
    return tmp_path


def kernels() -> dict[str, Dispatcher]:
    """All kernels of the package."""
    names = [each.name for each in pkgutil.walk_packages(nbest.__path__, "nbest.") if "__main__" not in each.name]
    found = {f"{name}.{key}": value for name in names for key, value in vars(import_module(name)).items()}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, Dispatcher) and name.startswith(value.py_func.__module__)
    }


def ran(words: list[str], cache: Path | None = None, **options: Any) -> str:
    """What a process said on stderr; with a cache of kernels of its own, or that of these tests."""
    variables = os.environ | ({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)})
    done = subprocess.run(
        [sys.executable, *words], env=variables, capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stderr


@pytest.mark.slow
def test_nothing_is_left_to_compile(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    cache = tmp_path_factory.mktemp("cache")
    assert ran(["-m", "nbest", "warmup", "-q"], cache) == ""
    kept = {path.name for path in cache.rglob("*.nbi")}
    needed = {name: kernel for name, kernel in kernels().items() if name not in _UNKEPT | _INLINED}
    assert [name for name, each in needed.items() if Path(each._cache._cache_file._index_path).name not in kept] == []
    said = ran(["-c", _CHECK], cache, input="\n".join("\x1f".join(words) for words in commands()), cwd=folder)
    assert [line for line in said.splitlines() if line.startswith("compiled")] == []


def test_every_command_of_the_warm_up_works() -> None:
    """Where other tests have compiled most kernels already; that nothing is left is for `make test-all`."""
    assert ran(["-m", "nbest", "warmup", "-q", "--threads", "1"]) == ""
    assert [name for name, each in kernels().items() if name not in _UNKEPT | _INLINED and not _kept(each)] == []


def _kept(kernel: Dispatcher) -> bool:
    return Path(kernel._cache._cache_file._index_path).exists()


def test_a_group_whose_package_is_missing_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No process is begun for it; a group that fails ends with its first error."""
    begun: list[str] = []
    monkeypatch.setattr(warming, "find_spec", lambda package: None)
    monkeypatch.setattr(warming, "_run_apart", lambda name, folder, step: begun.append(name))
    assert warming.left_out() == {"translator": "nbest[mt]"}
    warming.warm_up(1, lambda done, total: None)
    assert begun == [name for name in warming.GROUPS if name != "translator"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warming.plainly, "thrifty", True)  # which it sets for its process
    monkeypatch.setitem(warming.GROUPS, "lists", lambda: iter(["inspect absent.jsonl", "inspect other.jsonl"]))
    assert warming.run_group("lists") == "inspect absent.jsonl"
