"""Lists of any size, generated; then every command on text and on a store: seconds, and how much memory at most.

    python -m benchmarks.stores --gigabytes 5 [--folder DIR] [--only tune] [--limit 4]

Memory is read from /proc while a command runs: what it has for itself (anonymous), what is mapped from files, which
the system may drop whenever it likes, and what is mapped from memory. `--limit` runs each command once more with so
many gigabytes of address space (`ulimit -v`): it must end well or with one message.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

LIST = 100  # hypotheses of a segment
_WORDS, _LETTERS, _VOCABULARY, _FEATURES = 17, 5, 20_000, 5
_BLOCK = 1000  # segments that are made together
_LINE = 164  # bytes of a line, about
_PAUSE = 0.05  # seconds between two looks at the memory of a command


def generate(folder: Path, gigabytes: float, seed: int = 1) -> tuple[Path, Path, int]:
    """Moses lists of about this size and their references, always the same; how many segments there are."""
    count = max(1, round(gigabytes * 1e9 / _LINE / LIST))
    lists, references = folder / f"lists{count}.nbest", folder / f"lists{count}.ref"
    if not lists.exists():
        with open(f"{lists}.part", "wb") as hypotheses, open(references, "wb") as texts:
            for lines, refs in _blocks(count, seed):
                lines.tofile(hypotheses)
                refs.tofile(texts)
        Path(f"{lists}.part").rename(lists)
    return lists, references, count


def _blocks(count: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Lines of lists and of references, as bytes; all lines of a block are as long as each other."""
    vocabulary = np.random.default_rng(seed).integers(97, 123, (_VOCABULARY, _LETTERS + 1)).astype(np.uint8)
    vocabulary[:, -1] = 32
    ends = sorted({*range(0, count, _BLOCK), *(10**k for k in range(1, 12) if 10**k < count), count})
    for low, high in zip(ends[:-1], ends[1:], strict=True):
        rng = np.random.default_rng((seed, low))
        words = (rng.random((high - low, _WORDS)) ** 2 * _VOCABULARY).astype(np.int64)
        wrong = rng.random(((high - low) * LIST, _WORDS)) < rng.choice([0.1, 0.3, 0.6], ((high - low) * LIST, 1))
        others = (rng.random(wrong.shape) ** 2 * _VOCABULARY).astype(np.int64)
        chosen = np.where(wrong, others, np.repeat(words, LIST, axis=0))
        errors = wrong.mean(axis=1)[:, None]
        noise = rng.normal(0.0, [0.2, 0.3, 0.4, 0.5, 1.0], (len(wrong), _FEATURES))
        features = np.clip(errors * [-1.0, -1.0, 1.0, -0.5, 0.0] + noise, -9.0, 9.0)
        yield (
            _lines(np.repeat(np.arange(low, high), LIST), vocabulary[chosen], features),
            _references(vocabulary[words]),
        )


def _references(words: np.ndarray) -> np.ndarray:
    rows = words.reshape(len(words), -1)
    rows[:, -1] = 10
    return rows


def _lines(numbers: np.ndarray, words: np.ndarray, features: np.ndarray) -> np.ndarray:
    """[H, bytes] `id ||| text ||| F0= v F1= v ...`."""
    count = len(numbers)
    parts = [_digits(numbers, len(str(numbers[0]))), _said(" ||| ", count), words.reshape(count, -1)]
    parts.append(_said("|||", count))
    for d in range(features.shape[1]):
        sign = np.where(features[:, d] < 0, 45, 43).astype(np.uint8)[:, None]
        value = np.abs(np.rint(features[:, d] * 1e4)).astype(np.int64)
        parts += [
            _said(f" F{d}= ", count),
            sign,
            _digits(value // 10000, 1),
            _said(".", count),
            _digits(value % 10000, 4),
        ]
    return np.concatenate([*parts, _said("\n", count)], axis=1)


def _digits(values: np.ndarray, width: int) -> np.ndarray:
    return (values[:, None] // 10 ** np.arange(width)[::-1] % 10 + 48).astype(np.uint8)


def _said(text: str, count: int) -> np.ndarray:
    return np.broadcast_to(np.frombuffer(text.encode(), np.uint8), (count, len(text)))


# one command ----------------------------------------------------------------------------------------------------


def watched(arguments: Sequence[str], limit: float | None = None) -> tuple[float, dict[str, float], int, str]:
    """Run nbest: seconds, the most of each kind of memory in MB, the exit code, the end of what it said."""

    def limited() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (int(limit * 1e9), int(limit * 1e9)))

    most = dict.fromkeys(("RssAnon", "RssFile", "RssShmem"), 0.0)
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            [sys.executable, "-m", "nbest", *arguments], stdout=said, stderr=subprocess.STDOUT, preexec_fn=limited
        )
        while child.poll() is None:
            for kind, value in _memory(child.pid).items():
                most[kind] = max(most[kind], value)
            time.sleep(_PAUSE)
        said.seek(0)
        end = said.read().decode("utf-8", "replace").strip().splitlines()
    return time.perf_counter() - begin, most, child.returncode, end[-1] if end else ""


def _memory(process: int) -> dict[str, float]:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split() for line in lines if line.startswith("Rss"))
    return {pair[0].rstrip(":"): int(pair[1]) / 1000 for pair in pairs}


def commands(text: Path, references: Path, store: Path, folder: Path) -> dict[str, list[str]]:
    """The commands by name; of a store the references are in it."""
    refs = ["--refs", str(references)]
    model, best = str(folder / "model.json"), str(folder / "best.txt")
    metric = ["--metric", "bleu", "--tokenize", "none"]
    out = {"convert to a store": ["convert", str(text), str(store), *refs]}
    for method in ("mert", "risk", "likelihood", "softbleu"):
        few = {"mert": ["--restarts", "2", "--hops", "0"], "softbleu": ["--iterations", "10"]}.get(method, [])
        for kind, given in (("store", [str(store)]), ("text", [str(text), *refs])):
            name = str(folder / f"{method}-{kind}.json")
            out[f"tune {method}, {kind}"] = ["tune", *given, "--method", method, *metric, "-o", name, *few]
    out["tune again"] = ["tune", str(store), "--method", "likelihood", *metric, "-o", model]
    for kind, given in (("store", str(store)), ("text", str(text))):
        out[f"rerank, {kind}"] = ["rerank", given, "--model", model, "-o", best]
        out[f"inspect, {kind}"] = ["inspect", given]
        out[f"convert to jsonl, {kind}"] = ["convert", given, str(folder / f"{kind}.jsonl")]
    out["score"] = ["score", best, *refs, *metric]
    return out


def main(arguments: Sequence[str] = ()) -> None:
    """Print a line for each command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stores", description=__doc__.split("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=0.05)
    parser.add_argument("--folder", default="")
    parser.add_argument("--only", default="", help="commands whose names have this in them")
    parser.add_argument("--limit", type=float, help="gigabytes of address space, for a second run of each")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(given.folder or place)
        begin = time.perf_counter()
        text, references, count = generate(folder, given.gigabytes)
        size = text.stat().st_size / 1e9
        print(
            f"{size:.2f} GB of text, {count} segments, {count * LIST} hypotheses: {time.perf_counter() - begin:.0f} s"
        )
        print(f"{'command':28} {'seconds':>8} {'anonymous':>10} {'files':>8} MB")
        for name, command in commands(text, references, folder / "lists.store", folder).items():
            if given.only in name:
                _show(name, *watched(command))
                if given.limit is not None:
                    _show(f"  with {given.limit:g} GB", *watched(command, given.limit))
        _compare(folder)


def _show(name: str, seconds: float, most: dict[str, float], code: int, end: str) -> None:
    failed = f"  exit {code}: {end}" if code else ""
    print(
        f"{name:28} {seconds:8.1f} {most['RssAnon']:10.0f} {most['RssFile'] + most['RssShmem']:8.0f}{failed}",
        flush=True,
    )


def _compare(folder: Path) -> None:
    for path in sorted(folder.glob("*-store.json")):
        other = path.with_name(path.name.replace("-store", "-text"))
        if other.exists():
            same = path.read_bytes() == other.read_bytes()
            print(f"{path.name.partition('-')[0]}: model of the store and of the text {'equal' if same else 'DIFFER'}")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main(sys.argv[1:])
