"""The example of a plug-in, installed beside nbest: every family knows it, on the command line and in checks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "examples" / "plugin"
PROJECT = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
FAMILIES = {group.removeprefix("nbest."): tuple(points) for group, points in PROJECT["entry-points"].items()}


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of processes that have the package installed, as pip would leave it."""
    folder = tmp_path_factory.mktemp("site")
    info = folder / f"{PROJECT['name'].replace('-', '_')}-{PROJECT['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PROJECT['name']}\nVersion: {PROJECT['version']}\n")
    rows = [f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in points.items())
            for group, points in PROJECT["entry-points"].items()]  # fmt: skip
    (info / "entry_points.txt").write_text("\n".join(rows))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, PLUGIN, folder)))}


def python(code: str, environment: dict[str, str], folder: Path) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_every_family_has_one() -> None:
    assert set(FAMILIES) == {"metrics", "trainers", "formats", "features", "decisions", "systems"}


def test_help_names_what_is_added(beside: dict[str, str], tmp_path: Path) -> None:
    code = """
import sys
from nbest.cli.main import main
for command in ("tune", "rerank", "convert", "train", "decode"):
    main([command, "--help"])
print([m for m in ("numba", "nbest_endings.trainer") if m in sys.modules])
"""
    out = python(code, {**beside, "COLUMNS": "200"}, tmp_path)
    for names in FAMILIES.values():
        assert all(name in out for name in names), names
    assert out.endswith("[]\n")


def test_commands_use_what_is_added(beside: dict[str, str], tmp_path: Path) -> None:
    rows = [f"{i} ||| {text} ||| am= {am} lm= {lm} ||| 0" for i in range(30)
            for text, am, lm in ((f"is it {i} then", i % 3, 1), (f"is it {i} now ?", 1, i % 5))]  # fmt: skip
    (tmp_path / "dev.nbest").write_text("\n".join(rows) + "\n")
    (tmp_path / "dev.ref").write_text("".join(f"was it {i} {'then' if i % 3 else 'now ?'}\n" for i in range(30)))
    (tmp_path / "news.txt").write_text("Paris is big\nwe saw Paris\n")
    (tmp_path / "in.txt").write_text("paris is big\n")
    calls = [
        ["tune", "dev.nbest", "--refs", "dev.ref", "-m", "last-word", "--lowercase", "--method", "one-feature",
         "--sign", "+", "--add", "questions:mark=?", "-o", "model.json", "-q"],
        ["rerank", "dev.nbest", "--model", "model.json", "-o", "best.txt"],
        ["rerank", "dev.nbest", "--decision", "shortest", "-o", "short.txt"],
        ["rerank", "dev.nbest", "--decision", "shortest", "--least", "13", "-o", "longer.txt"],
        ["rerank", "dev.nbest", "--decision", "shortest", "--lest", "13"],
        ["convert", "dev.nbest", "all.jsonl"],
        ["tune", "dev.nbest", "--refs", "dev.ref", "-m", "last-word", "--method", "one-feature", "--sign", "=", "-q"],
        ["tune", "dev.nbest", "--refs", "dev.ref", "-m", "wer", "--method", "one-featur", "-q"],
        ["train", "caser", "news.txt", "--often", "1", "-o", "caser", "-q"],
        ["decode", "caser", "caser", "in.txt", "-o", "out.txt", "-q"],
        ["loop", "in.txt", "--decoder", "caser", "--refs", "in.txt", "-m", "wer", "--method", "one-feature",
         "--rounds", "1", "-o", "run", "-q"],
    ]  # fmt: skip
    code = f"""
import json, sys
from nbest.cli.main import main
codes = [main(call) for call in json.loads({json.dumps(calls)!r})]
import nbest
lists = nbest.read("dev.nbest").only_features(["am"])
nbest.write(lists, "dev.tsv")
codes.append(main(["convert", "dev.tsv", "again.jsonl", "-q"]))
assert nbest.read("again.jsonl").hypotheses == 60
print(json.dumps([codes, nbest.load("model.json").trainer, [dict(r) for r in nbest.load("model.json").features]]))
"""
    codes, trainer, recipes = json.loads(python(code, beside, tmp_path).splitlines()[-1])
    assert codes == [0, 0, 0, 0, 2, 0, 2, 2, 0, 0, 0, 0]  # a wrong option, sign and method
    assert trainer == {"name": "OneFeature", "sign": "+"}
    assert recipes == [{"kind": "questions", "mark": "?"}]
    assert (tmp_path / "short.txt").read_text().splitlines()[3] == "is it 3 then"
    assert (tmp_path / "longer.txt").read_text().splitlines()[3] == "is it 3 now ?"
    assert (tmp_path / "out.txt").read_text() == "Paris is big\n"


def test_what_is_added_keeps_the_contracts(beside: dict[str, str], tmp_path: Path) -> None:
    code = """
from nbest.formats import FORMATS
from nbest.metrics import METRICS
from nbest.systems import SYSTEMS
from nbest.testing import check_format, check_metric, check_system, check_trainer
from nbest.trainers import TRAINERS
check_metric(METRICS["last-word"]())
check_trainer(TRAINERS["one-feature"])
check_format(FORMATS["tsv"])
from pathlib import Path
Path("news.txt").write_text("Paris is big\\nwe saw Paris\\n")
caser = SYSTEMS["caser"]
check_system(caser(), caser.data(text=["news.txt"]), ["paris is big", "we saw paris"])
"""
    python(code, beside, tmp_path)
