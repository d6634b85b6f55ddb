"""ESPnet2 decoding directories: `logdir/output.K/{n}best_recog/{text,token,score}`, each of `utt-id value` lines."""

from __future__ import annotations

import re
from pathlib import Path

from nbest.base.errors import FormatError
from nbest.corpus import NBest
from nbest.formats.archives import check_same_keys, read_archive
from nbest.formats.lists.base import Format, number
from nbest.formats.lists.builder import Builder

_JOB = re.compile(r"output\.([0-9]+)")
_RANK = re.compile(r"([0-9]+)best_recog")
_TENSOR = re.compile(r"tensor\(([^,()]+)(?:,.*)?\)").fullmatch


def read_espnet(path: str | Path) -> NBest:
    """Read the n-best lists of a decoding directory, its `logdir`, or one `output.K` of it.

    Features: `score`, the total (ESPnet keeps no parts), and `tokens`, the number of tokens, where every list has its
    `token` file. Hypotheses are in the order of their rank; equal texts, which transducers give, stay.
    """
    root = Path(path)
    if not root.is_dir():
        raise FormatError(path, None, "expected a directory with output.*/1best_recog in it")
    jobs = _jobs(root)
    with_tokens = all((rank / "token").is_file() for ranks in jobs for rank in ranks)
    builder = Builder(path)
    for ranks in jobs:
        for rank in ranks:
            _read_rank(builder, rank, with_tokens)
    builder.path = path
    return builder.build()


def _jobs(root: Path) -> list[list[Path]]:
    """For each `output.K`, its `1best_recog`, `2best_recog`, ... in order."""
    inner = root / "logdir"
    outputs = _numbered(inner, _JOB) if inner.is_dir() else []
    outputs = outputs or _numbered(root, _JOB) or [root]
    jobs = [_numbered(output, _RANK) for output in outputs]
    if not any(jobs):
        raise FormatError(root, None, "no {n}best_recog directory in it; expected output.*/1best_recog/{text,score}")
    return jobs


def _numbered(root: Path, pattern: re.Pattern[str]) -> list[Path]:
    found = [
        (int(match[1]), child)
        for child in root.iterdir()
        if (match := pattern.fullmatch(child.name)) and child.is_dir()
    ]
    return [child for _, child in sorted(found)]


def _read_rank(builder: Builder, rank: Path, with_tokens: bool) -> None:
    texts, scores = read_archive(rank / "text"), read_archive(rank / "score")
    check_same_keys(rank / "text", texts, rank / "score", scores)
    tokens = read_archive(rank / "token") if with_tokens else {}
    if with_tokens:
        check_same_keys(rank / "text", texts, rank / "token", tokens)
    builder.path = rank / "text"
    for key, (line, text) in texts.items():
        at, score = scores[key]
        inner = _TENSOR(score)  # PyTorch's way of printing one number
        features = {"score": number(rank / "score", at, "the score", inner[1] if inner else score)}
        if with_tokens:
            features["tokens"] = float(len(tokens[key][1].split()))
        builder.hypothesis(key, text, features, line)


def _sniff(path: Path, head: bytes) -> bool:
    if not path.is_dir():
        return False
    inner = path / "logdir"
    return any(_numbered(root, _JOB) or _numbered(root, _RANK) for root in (path, inner) if root.is_dir())


FORMAT = Format(
    name="espnet",
    read=read_espnet,
    write=None,
    sniff=_sniff,
    suffixes=(),
    summary="ESPnet2 decoding directory: output.K/{n}best_recog/{text,token,score}",
    directory=True,
    example={
        "output.1/1best_recog/text": "u1 a house\nu2 größer\n",
        "output.1/1best_recog/token": "u1 ▁a ▁house\nu2 ▁größ er\n",
        "output.1/1best_recog/score": "u1 tensor(-3.25)\nu2 -1.5\n",
        "output.1/2best_recog/text": "u1 a mouse\nu2 \n",
        "output.1/2best_recog/token": "u1 ▁a ▁mouse\nu2\n",
        "output.1/2best_recog/score": "u1 tensor(-4.5, device='cuda:0')\nu2 -2\n",
    },
)
