"""What `nbest score` does, once its arguments are known."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError, look_up
from nbest.base.types import Floats, References
from nbest.cli.console import Console, print_json
from nbest.cli.further import refuse_rest, separate, settable
from nbest.cli.loading import Measure, measure
from nbest.cli.score import Score
from nbest.cli.streams import put
from nbest.corpus import Texts
from nbest.corpus.answers import answer_rule
from nbest.evaluation.pooling import POOLED, Pooled, pooled_permutation
from nbest.evaluation.significance import TESTS, Comparison, by_group, clustered
from nbest.formats.groups import read_groups
from nbest.formats.outputs import Outputs, groups_of, own_gains, read_output_scores, read_outputs
from nbest.metrics import METRICS, External
from nbest.metrics.rates import Mean
from nbest.report import RENDERERS, Cell, Column, Table
from nbest.report.page import probability, telling

Row = dict[str, Any]


def run(call: Score) -> None:
    """Score, test, print."""
    console = Console(quiet=call.quiet)
    look_up(TESTS, call.test, "test")
    if call.table is not None:
        RENDERERS.look_up(call.table)
    words, given = separate(call.outputs)
    names = [name for name in call.metric.split(",") if name]
    if not names:
        raise ParameterError(f"--metric names none; known: {', '.join(METRICS)}")
    scoring = _Scoring.of(call, _systems(words), console)
    found = []
    for name in dict.fromkeys(names):
        mine = {key: value for key, value in given.items() if key in _options(name)}
        found.append(scoring.scored(measure(name, mine, call, beside=names)))
    rest = {k: v for k, v in given.items() if not any(k in _options(n) for n in names)}
    refuse_rest(rest, *map(_kind, names), own=Score)
    if call.as_json:
        print_json([row for each in found for row in each.rows])
    elif call.table is not None:
        put(_table(found, scoring.note).render(call.table).rstrip("\n"))
    else:
        for each in found:
            console.show(_table([each], scoring.note), out=True)
            put("")


def _systems(words: Sequence[str]) -> dict[str, list[str]]:
    """The files of the runs of each system, by its name, which are its files where none is said."""
    systems: dict[str, list[str]] = {}
    for word in words:
        name, runs = _system(word)
        if systems.setdefault(name, runs) != runs:
            raise ParameterError(f"two systems are called {name!r}; names of systems must differ")
    return systems


def _system(word: str) -> tuple[str, list[str]]:
    """FILE, RUN,RUN or NAME= before them; commas and signs of names of files that exist mean nothing."""
    if os.path.exists(word):
        return word, [word]
    if all(map(os.path.exists, _runs(word))):
        return word, _runs(word)
    name, equals, rest = word.partition("=")
    if not (name and equals and rest):
        return word, _runs(word)
    return name, [rest] if os.path.exists(rest) else _runs(rest)


def _runs(word: str) -> list[str]:
    return [path for path in word.split(",") if path]


def _kind(name: str) -> type:
    return look_up(METRICS, name, "metric")


def _options(name: str) -> list[str]:
    return list(settable(_kind(name)))


@dataclass(frozen=True)
class _Scored:
    """The systems by one metric, the format of its scores, and the test of their differences."""

    rows: list[Row]
    form: str
    test: str


@dataclass(frozen=True)
class _Scoring:
    """The outputs of all systems, and how they are compared."""

    call: Score
    systems: dict[str, list[str]]  # files of the runs of each
    texts: dict[str, list[str]]  # of each file
    references: References
    outputs: Outputs
    groups: list[str] | None

    @classmethod
    def of(cls, call: Score, systems: dict[str, list[str]], console: Console) -> _Scoring:
        """Read everything."""
        paths = [path for runs in systems.values() for path in runs]
        outputs = read_outputs(paths, call.refs or ())
        if outputs.left_out:
            console.warn(f"{paths[0]}: {outputs.left_out} segments have references but no output; they are left out")
        if outputs.abstained:
            console.warn(f"{outputs.abstained} segments that a system gives no answer to are left out, for all systems")
        texts, references = outputs.systems, outputs.references
        if call.answer is not None:
            rule = answer_rule(call.answer)
            texts = {path: [rule.answer(text) for text in mine] for path, mine in texts.items()}
            for path, mine in texts.items():
                if "" in mine:
                    console.say(f"{path}: {mine.count('')} of {len(mine)} outputs have no answer")
            references = [[rule.of_reference(text) for text in group] for group in references]
        groups = groups_of(outputs) if call.groups is None else read_groups(call.groups, outputs.ids)
        return cls(call, systems, texts, references, outputs=outputs, groups=groups)

    @property
    def note(self) -> str:
        """What tables say of groups."""
        return clustered(self.groups) if len(self.systems) > 1 else ""

    def scored(self, how: Measure) -> _Scored:
        """One row a system for one metric."""
        metric = how.metric
        stats = {name: [by_group(run, self.groups) for run in runs] for name, runs in self._stats(how).items()}
        base, rows = next(iter(stats.values())), []
        answer = f"|answer:{self.call.answer}" if self.call.answer and not isinstance(metric, External) else ""
        signature = metric.signature(len(self.references[0]) if self.references else 0) + answer
        for name, runs in stats.items():
            found = Pooled.of(metric, runs)
            row: Row = {"system": name, "name": metric.name, "score": found.mean, "signature": signature}
            if max(map(len, stats.values())) > 1:
                row |= {"runs": list(found.scores), "spread": found.spread}
            if len(stats) > 1:
                row |= self._tested(metric, base, runs)
            rows.append(row)
        form = telling((row["score"] for row in rows), least=4 if isinstance(metric, Mean) else 2)
        return _Scored(rows, form, self.call.test)

    def _stats(self, how: Measure) -> dict[str, list[Floats]]:
        """Statistics [N, M] of the runs of each system."""
        if isinstance(how.metric, External):
            return self._given(how.metric)
        if not self.call.refs:
            raise ParameterError(f"nbest score --metric {how.metric.name} needs --refs FILE")
        offsets = np.arange(len(self.references) + 1)
        with how.progress(len(self.texts) * len(self.references)):
            known = {path: how.metric.stats(Texts.of(t), offsets, self.references) for path, t in self.texts.items()}
        return {name: [known[path] for path in runs] for name, runs in self.systems.items()}

    def _given(self, metric: External) -> dict[str, list[Floats]]:
        paths = [path for runs in self.systems.values() for path in runs]
        files = self.call.scores or []
        if not files and self.outputs.gains:
            own = {path: metric.stats_of(own_gains(path, self.outputs)) for path in paths}
            return {name: [own[path] for path in runs] for name, runs in self.systems.items()}
        if len(files) != len(paths):
            raise ParameterError(
                f"--metric external needs --scores FILE once for each of the {len(paths)} outputs, in their order; "
                f"got {len(files)} (or outputs of nbest rerank --json, of lists that know what hypotheses are worth)"
            )
        read = [metric.stats_of(read_output_scores(file, self.outputs, self.call.column)) for file in files]
        known = iter(read)
        return {name: [next(known) for _ in runs] for name, runs in self.systems.items()}

    def _tested(self, metric: Any, base: Sequence[Floats], runs: Sequence[Floats]) -> Row:
        """How a system differs from the first."""
        if runs is base:
            return {"p": None, "difference": 0.0}
        found = asdict(self._comparison(metric, base, runs))
        return found | {"difference": found["second"] - found["first"]}

    def _comparison(self, metric: Any, base: Sequence[Floats], runs: Sequence[Floats]) -> Comparison:
        call, test = self.call, TESTS[self.call.test]
        if len(base) > 1 or len(runs) > 1:
            if call.test != "permutation":
                raise ParameterError(f"several runs of a system are tested by permutation, not by {call.test}")
            return pooled_permutation(metric, base, runs, seed=call.seed)
        if call.test == "wilcoxon":  # a group is a batch
            return test(metric, base[0], runs[0], **({} if self.groups is None else {"batch": 1}))
        return test(metric, base[0], runs[0], seed=call.seed)


# tables ---------------------------------------------------------------------------------------------------------


def _columns(found: _Scored, *, alone: bool) -> list[tuple[Column, str]]:
    """The columns of one metric with their keys; beside those of other metrics their names tell whose they are."""
    first = found.rows[0]
    columns = [(Column(first["name"], found.form), "score")]
    of = "" if alone else f"{first['name']} "
    if "spread" in first:
        columns.append((Column(f"{of}spread", found.form), "spread"))
    if "p" in first:
        columns.append((Column(f"{of}difference", f"+{found.form}"), "difference"))
        test = f"p ({found.test})" if alone else f"{of}p"
        columns.append((Column(test, probability), "p"))
    return columns


def _table(found: Sequence[_Scored], note: str) -> Table:
    """The systems by one metric or several; of several systems, how they differ from the first."""
    sets = [(each, _columns(each, alone=len(found) == 1)) for each in found]
    values: list[list[Cell]] = []
    for at, row in enumerate(found[0].rows):
        mine = [(each.rows[at], key) for each, columns in sets for _, key in columns]
        untested = [None if key == "difference" and each["p"] is None else each[key] for each, key in mine]
        values.append([row["system"], *untested])
    notes = [f"signature: {each.rows[0]['name']}|{each.rows[0]['signature']}" for each in found]
    if "spread" in found[0].rows[0]:
        notes.append(f"means over runs; spread: standard deviation over runs; {POOLED}")
    if len(found) > 1 and "p" in found[0].rows[0]:
        notes.append(f"p: {found[0].test} test against the first system")
    heads = [column for _, columns in sets for column, _ in columns]
    return Table([Column("system"), *heads], values, notes=[*notes, *([note] if note else [])], missing="")
