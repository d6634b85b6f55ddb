"""`nbest demo`: the whole job on bundled lists."""

from __future__ import annotations

from dataclasses import dataclass

from nbest.cli import commands as c


@dataclass(frozen=True, kw_only=True)
class Demo(c.ThreadsOption, c.Quiet, c.AsJson):
    """Tune, rerank and compare on bundled lists of a speech recogniser, in under a minute.

    [bold]Example[/bold]

      nbest demo
    """

    def run(self) -> None:
        """Do it and say so."""
        from nbest.cli.comparing import show
        from nbest.cli.console import Console, number
        from nbest.cli.streams import put
        from nbest.decisions import first, mbr
        from nbest.evaluation.comparison import compare
        from nbest.evaluation.significance import permutation
        from nbest.formats import bundled
        from nbest.metrics import WER
        from nbest.report.page import probability

        console = Console(quiet=self.quiet)
        tune, heldout, test = (bundled.lists(name).with_metric(WER()) for name in bundled.SETS)
        console.say(
            f"A recogniser's lists for {len(tune)} tune, {len(heldout)} held-out and {len(test)} test sentences, "
            f"up to {tune.lengths.max()} candidates each, with the features {', '.join(tune.feature_names)}"
        )
        with console.progress("tuning") as update, console.convergence():
            methods = ["auto", "risk", "mert", "likelihood", "softbleu", "grid", "random"]
            table = compare(tune, test, methods, heldout=heldout, progress=update)
        show(table, console, self.as_json)
        if self.as_json:
            return
        model = next(row.model for row in table.rows if row.name == table.best and row.model is not None)
        shown, tuned = first(None, test), model.predict(test)
        assert test.stats is not None
        assert test.texts is not None
        assert test.references is not None
        risk = mbr(model, test, gain="wer")
        tested = permutation(WER(), test.stats[shown], test.stats[risk])
        put(f"mbr with the {table.best} model: test {number(tested.second)}, p {probability(tested.p)}")
        gains = test.stats[shown, 0] - test.stats[tuned, 0]
        best = int(gains.argmax())
        put(f"\nA sentence that got better by {gains[best]:.0f} words:")
        for name, text in (
            ("said", test.references[best][0]),
            ("first", test.texts[shown[best]]),
            ("tuned", test.texts[tuned[best]]),
        ):
            put(f"  {name:6} {text}")
        put("\nNow with your own lists: nbest inspect, nbest tune, nbest rerank (each has --help with examples).")
