"""Adding a thing is one file and one line: twelve kinds of things are added to a copy of the package, and used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from numba.core.caching import UserProvidedCacheLocator

ROOT = Path(__file__).parents[1]
PLUGIN = ROOT / "examples" / "plugin" / "nbest_endings"

STUDY = '''
"""How long hypotheses are."""
from dataclasses import dataclass
from typing import Annotated, ClassVar
from nbest.corpus import NBest
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS
from nbest.studies.base import Study, about
from nbest.studies.keywords import StudyLists


@dataclass(frozen=True)
class Sizes(Study):
    """Rows: segment, hypotheses."""

    name: ClassVar[str] = "sizes"

    def picture(self) -> Picture:
        """One line."""
        x = [float(row["segment"]) for row in self.rows]
        series = [Series("hypotheses", x, [float(row["hypotheses"]) for row in self.rows], COLOURS[0])]
        return Picture("Sizes", "", [LineChart(series, "", "segment", "hypotheses")], width=400, height=300)


def sizes(dev: Annotated[NBest, StudyLists()]) -> Sizes:
    """How many hypotheses each list has."""
    rows = [{"segment": i, "hypotheses": int(size)} for i, size in enumerate(dev.lengths)]
    return Sizes(**about(dev), settings={}, rows=tuple(rows))
'''
PAPER = '''
"""A paper of one step."""
from nbest.papers.report import Report
from nbest.papers.run import Paper
from nbest.runs import Step

PAPER = Paper(
    "mine-2026", "Mine (2026)", "no data", lambda run: [Step("one", lambda: {"answer": 42}, 0.1)],
    lambda run: Report(()),
)
'''
EXECUTOR = '''
"""Shards from the last to the first."""
from nbest.compute.executors import Serial


class Backwards(Serial):
    """The results are in order all the same."""

    def map(self, function, shards, told=None):
        """In order."""
        return [function(shard) for shard in list(shards)[::-1]][::-1]
'''
BACKEND = '''
"""Counts its passes."""
from nbest.objectives.backends import NumbaBackend


class Counting(NumbaBackend):
    """As Numba's."""

    passes = 0

    def posteriors(self, *arguments):
        """See `Backend`."""
        Counting.passes += 1
        return super().posteriors(*arguments)


BACKEND = Counting()
'''
RENDERER = '''
"""Reports in capitals."""
from nbest.report.markdown import Markdown


class Loud(Markdown):
    """Markdown, louder."""

    suffix = ".loud"

    def paragraph(self, text):
        """Loud."""
        return super().paragraph(text.upper())


LOUD = Loud()
'''
COMMAND = '''
"""`nbest hello`."""
from dataclasses import dataclass
from nbest.base.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class Hello:
    """Say hello."""

    name: str = parameter("you", "Whom to greet.")

    def run(self) -> None:
        """Do it."""
        from nbest.cli.streams import put

        put(f"hello {self.name}")
'''


@dataclass(frozen=True)
class Task:
    """One file, and one line before the first entry of the registry in another."""

    file: str
    content: str
    registry: str
    variable: str
    line: str
    use: str


def of_plugin(name: str) -> str:
    return (PLUGIN / f"{name}.py").read_text()


TASKS = {
    "metric": Task(
        "metrics/mine.py",
        of_plugin("metric"),
        "metrics/__init__.py",
        "METRICS",
        '"last-word": "mine:LastWord",',
        "run('score', 'out.txt', '--refs', 'ref.txt', '--metric', 'last-word')",
    ),
    "trainer": Task(
        "trainers/mine.py",
        of_plugin("trainer"),
        "trainers/__init__.py",
        "TRAINERS",
        '"one-feature": "mine:OneFeature",',
        "tune('--method', 'one-feature', '--sign', '+')",
    ),
    "format": Task(
        "formats/lists/mine.py",
        of_plugin("format"),
        "formats/__init__.py",
        "FORMATS",
        '"tsv": "mine:FORMAT",',
        "nbest.write(dev, 'd.tsv', score=dev.feature_names[0]); assert nbest.read('d.tsv').ids == dev.ids",
    ),
    "feature": Task(
        "features/mine.py",
        of_plugin("feature"),
        "features/__init__.py",
        "FEATURES",
        '"questions": "mine:questions",',
        "tune('--method', 'mert', '--add', 'questions')",
    ),
    "decision": Task(
        "decisions/mine.py",
        of_plugin("decision"),
        "decisions/__init__.py",
        "DECISIONS",
        '"shortest": "mine:shortest",',
        "run('rerank', 'dev.jsonl', '--decision', 'shortest', '-o', 'short.txt')",
    ),
    "system": Task(
        "systems/mine.py",
        of_plugin("system"),
        "systems/__init__.py",
        "SYSTEMS",
        '"caser": "mine:CaserTraining",',
        "run('train', 'caser', 'ref.txt', '-o', 'caser'); run('decode', 'caser', 'caser', 'out.txt')",
    ),
    "study": Task(
        "studies/mine.py",
        STUDY,
        "studies/__init__.py",
        "STUDIES",
        '"sizes": "mine:sizes",',
        "run('study', 'sizes', 'dev.jsonl', '--metric', 'wer', '-o', 'sizes')",
    ),
    "paper": Task(
        "papers/mine.py",
        PAPER,
        "papers/__init__.py",
        "PAPERS",
        '"mine-2026": "mine:PAPER",',
        "run('reproduce', 'mine-2026', '--data', '.', '-o', 'mine')",
    ),
    "executor": Task(
        "compute/mine.py",
        EXECUTOR,
        "compute/executors.py",
        "EXECUTORS",
        '"backwards": "mine:Backwards",',
        """
from nbest.compute.executors import EXECUTORS, using
plain = nbest.MERT().fit(dev)
with using(EXECUTORS['backwards']()):
    assert nbest.MERT().fit(dev).weights == plain.weights
""",
    ),
    "backend": Task(
        "objectives/mine.py",
        BACKEND,
        "objectives/backends.py",
        "BACKENDS",
        '"counting": "mine:BACKEND",',
        """
from nbest.objectives.backends import BACKENDS
from nbest.objectives import Risk, value_and_gradient
from nbest.objectives.shard import Shard
import numpy as np
shard = Shard(dev, np.ones(len(dev.feature_names)), dev.metric.losses(dev.stats))
value_and_gradient(Risk(dev.metric, backend=BACKENDS['counting']), np.zeros(len(dev.feature_names)), [shard])
assert BACKENDS['counting'].passes == 1
""",
    ),
    "form of the report": Task(
        "report/mine.py",
        RENDERER,
        "report/renderers.py",
        "RENDERERS",
        '"loud": "mine:LOUD",',
        "from nbest.report import Page; assert 'HELLO' in Page('T', ['hello']).render('loud')",
    ),
    "command": Task(
        "cli/mine.py",
        COMMAND,
        "cli/main.py",
        "COMMANDS",
        '"hello": "mine:Hello",',
        "run('hello', '--name', 'x')",
    ),
}

BEFORE = """
import nbest
from nbest.cli.main import main
dev = nbest.read('dev.jsonl').with_metric(nbest.WER())

def run(*words):
    assert main(list(words)) == 0

def tune(*words):
    run('tune', 'dev.jsonl', '--metric', 'wer', '-o', 'm.json', *words)

"""


def add(package: Path, task: Task) -> None:
    """The file and the line; nothing else changes."""
    (package / task.file).write_text(task.content.lstrip())
    place = package / task.registry
    before, found, after = place.read_text().partition(f"\n{task.variable}: ")
    assert found, f"{task.registry} has no {task.variable}"
    lines = after.splitlines(keepends=True)
    entry = next(at for at, line in enumerate(lines) if line.startswith('        "'))
    place.write_text(before + found + "".join([*lines[:entry], f"        {task.line}\n", *lines[entry:]]))


def take_kernels(folder: Path) -> None:
    """What other tests have compiled: it holds in the copy, where the code is the same."""
    kept = os.environ.get("NUMBA_CACHE_DIR")
    for each in (ROOT / "nbest").rglob("*/"):
        own = UserProvidedCacheLocator.get_suitable_cache_subpath(str(each / "any.py"))
        for file in (Path(kept, own) if kept else each / "__pycache__").glob("*.nb[ic]"):
            target = folder / each.relative_to(ROOT) / "__pycache__"
            target.mkdir(exist_ok=True)
            shutil.copy(file, target)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with everything added, and something to work on."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "nbest", folder / "nbest", ignore=shutil.ignore_patterns("__pycache__"))
    take_kernels(folder)
    for task in TASKS.values():
        add(folder / "nbest", task)
    program = (
        "from nbest.formats.bundled import lists\nimport nbest\n"
        "nbest.write(nbest.split(lists('tune'), 0.2)[0], 'dev.jsonl')\n"
    )
    (folder / "out.txt").write_text("the cat\na dog\n")
    (folder / "ref.txt").write_text("The cat\na bird\n")
    python(folder, program)
    return folder


def python(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(folder)}
    environment.pop("NUMBA_CACHE_DIR", None)
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran


_SLOW = ("system", "trainer")  # they compile most


@pytest.mark.parametrize("name", [pytest.param(each, marks=[pytest.mark.slow] * (each in _SLOW)) for each in TASKS])
def test_one_file_and_one_line_are_enough(place: Path, name: str) -> None:
    ran = python(place, f"{BEFORE}{TASKS[name].use}\nimport nbest\nprint(nbest.__file__)")
    assert str(place) in ran.stdout, "the copy was used"


def test_without_the_line_there_is_nothing(place: Path) -> None:
    unknown = place / "metrics_only"
    shutil.copytree(ROOT / "nbest", unknown / "nbest", ignore=shutil.ignore_patterns("__pycache__"))
    (unknown / "nbest" / "metrics" / "mine.py").write_text(TASKS["metric"].content)
    program = "import sys\nfrom nbest.metrics import METRICS\nsys.exit('last-word' in METRICS)"
    python(unknown, program)
