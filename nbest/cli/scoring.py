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
from nbest.cli.scored import Covered, Row, Scored, pairs_table, scores_table
from nbest.cli.streams import put
from nbest.corpus import Texts
from nbest.corpus.answers import answer_rule
from nbest.evaluation.pooling import Pooled, pooled_permutation
from nbest.evaluation.significance import TESTS, Comparison, by_group, clustered
from nbest.formats.groups import read_groups
from nbest.formats.outputs import Outputs, groups_of, own_gains, read_output_scores, read_outputs
from nbest.formats.whole_objects import refuse_objects
from nbest.metrics import METRICS, External
from nbest.metrics.rates import Mean
from nbest.report import RENDERERS
from nbest.report.page import telling

_UNTESTED: Row = {"p": None, "difference": 0.0}


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
    systems = _systems(words)
    if call.pairs and len(systems) < 2:
        raise ParameterError(f"--pairs tests each output against each other; got one, {next(iter(systems))!r}")
    scoring = _Scoring.of(call, systems, console)
    found = []
    for name in dict.fromkeys(names):
        mine = {key: value for key, value in given.items() if key in _options(name)}
        found.append(scoring.scored(measure(name, mine, call, beside=names)))
    rest = {k: v for k, v in given.items() if not any(k in _options(n) for n in names)}
    refuse_rest(rest, *map(_kind, names), own=Score)
    _print(call, scoring, found, console)


def _print(call: Score, scoring: _Scoring, found: Sequence[Scored], console: Console) -> None:
    """The result on stdout: all metrics together as JSON or as a table for a paper, else one after the other."""
    if call.as_json:
        print_json([row for each in found for row in each.rows])
        return
    for together in [found] if call.table is not None else [[each] for each in found]:
        tables = [scores_table(together, scoring.covered, scoring.note)]
        tables += [pairs_table(together)] if call.pairs else []
        for table in tables:
            if call.table is None:
                console.show(table, out=True)
                put("")
            else:
                put(("" if table is tables[0] else "\n") + table.render(call.table).rstrip("\n"))


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
        of = "references but " if call.refs else ""
        if outputs.left_out:
            console.warn(f"{paths[0]}: {outputs.left_out} segments have {of}no output; they are left out")
        if outputs.abstained:
            console.warn(f"{outputs.abstained} segments that a system gives no answer to are left out, for all systems")
        groups = groups_of(outputs) if call.groups is None else read_groups(call.groups, outputs.ids)
        return cls._made(call, systems, outputs, groups, console)

    @classmethod
    def _made(
        cls, call: Score, systems: dict[str, list[str]], outputs: Outputs, groups: list[str] | None, console: Console
    ) -> _Scoring:
        """Of outputs that were read: what is compared of their texts."""
        texts, references = outputs.systems, outputs.references
        if not (call.answer or "").startswith("json:"):
            refuse_objects(texts, references, call.refs or (), within=call.answer is not None)
        if call.answer is not None:
            rule = answer_rule(call.answer)
            texts = {path: [rule.answer(text) for text in mine] for path, mine in texts.items()}
            for path, mine in texts.items():
                if "" in mine:
                    console.say(f"{path}: {mine.count('')} of {len(mine)} outputs have no answer")
            references = [[rule.of_reference(text) for text in group] for group in references]
        return cls(call, systems, texts, references, outputs=outputs, groups=groups)

    @property
    def note(self) -> str:
        """What tables say of groups."""
        return clustered(self.groups) if len(self.systems) > 1 else ""

    @property
    def covered(self) -> Covered:
        """How many outputs each system gives."""
        counts = {name: [self.outputs.covered[path] for path in runs] for name, runs in self.systems.items()}
        return Covered(counts, self.outputs.segments, self.outputs.scored)

    def _alone(self, how: Measure) -> dict[str, float]:
        """The score of each system on all segments that it answers, by its name; nothing where all answer the same."""
        if len(self.systems) == 1 or self.call.scores or any(len(runs) > 1 for runs in self.systems.values()):
            return {}
        found = {}
        for name, runs in self.systems.items():
            mine = self.outputs.alone.get(runs[0])
            if mine is not None and mine.scored:
                own = _Scoring._made(self.call, {name: runs}, mine, None, Console(quiet=True))
                found[name] = Pooled.of(how.metric, own._stats(how)[name]).mean
        return found

    def scored(self, how: Measure) -> Scored:
        """One row a system for one metric."""
        metric = how.metric
        stats = {name: [by_group(run, self.groups) for run in runs] for name, runs in self._stats(how).items()}
        covered, alone, rows = self.covered, self._alone(how), []
        answer = f"|answer:{self.call.answer}" if self.call.answer and not isinstance(metric, External) else ""
        signature = metric.signature(len(self.references[0]) if self.references else 0) + answer
        for name, runs in stats.items():
            found = Pooled.of(metric, runs)
            row: Row = {"system": name, "name": metric.name, "score": found.mean, "signature": signature}
            row |= covered.of(name)
            if alone:
                row["alone"] = alone.get(name)
            if max(map(len, stats.values())) > 1:
                row |= {"runs": list(found.scores), "spread": found.spread}
            if len(stats) > 1:
                row |= self._tested(metric, name, stats)
            rows.append(row)
        form = telling((row["score"] for row in rows), least=4 if isinstance(metric, Mean) else 2)
        return Scored(rows, form, self.call.test)

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

    def _tested(self, metric: Any, name: str, stats: dict[str, list[Floats]]) -> Row:
        """How a system differs from the first, and from all that come before it where pairs are tested."""
        before = list(stats)[: list(stats).index(name)]
        against = before if self.call.pairs else before[:1]
        pairs = [{"against": base, **self._gap(metric, stats[base], stats[name])} for base in against]
        found = {key: value for key, value in pairs[0].items() if key != "against"} if pairs else _UNTESTED
        return {**found, "pairs": pairs} if self.call.pairs else found

    def _gap(self, metric: Any, base: Sequence[Floats], runs: Sequence[Floats]) -> Row:
        """How a system differs from another, and whether by chance."""
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
