"""`nbest features`: add columns to lists and write them."""

from __future__ import annotations

from dataclasses import dataclass

from nbest.base.parameters import parameter
from nbest.cli import commands as c

app = c.group("features", "Add features to lists.")


@app.callback()
def _kinds() -> None:
    """Keeps `add-lm` a command of its own while it is the only one."""


@dataclass(frozen=True, kw_only=True)
class AddLm(c.ThreadsOption, c.Quiet):
    """Add to every hypothesis its log probability by an n-gram language model, and how many words that does not know.

    The words must be those of the model: tokenised and cased as the text it was trained on.

    [bold]Examples[/bold]

      nbest features add-lm dev.nbest dev.lm.jsonl --lm lm.nlm

      nbest features add-lm dev.jsonl.xz out.nbest.gz --lm news.arpa.gz --name news
    """

    lists: str = parameter(..., "Candidate lists, any known format; - is stdin.", flags=("lists",))
    output: str = parameter(..., c.TARGET, flags=("output",))
    lm: str = parameter(..., "Language model: ARPA (SRILM, lmplz, ...; packed or not) or .nlm.")
    name: str = parameter("lm", "Name of the feature; NAME_oov counts unknown words.")
    source_format: str | None = parameter(None, "Format of the lists, where guessing fails.", flags=("--from",))
    target_format: str | None = parameter(None, "Format to write (default: by suffix, else jsonl).", flags=("--to",))

    def run(self) -> None:
        """Add the columns, write the lists."""
        from nbest.base.errors import ParameterError
        from nbest.base.unpacking import need_rereadable
        from nbest.cli.console import Console
        from nbest.cli.loading import Source, read_lists
        from nbest.cli.targets import refuse_overwriting, written
        from nbest.features.lm import add_lm
        from nbest.formats import FOREST_FORMATS, format_of_target, write
        from nbest.lm.file import load_lm

        console = Console(quiet=self.quiet)
        wanted = format_of_target(self.output, self.target_format)
        if wanted in FOREST_FORMATS:
            raise ParameterError(f"{self.output}: {wanted} holds forests, and this command writes lists")
        refuse_overwriting(written(self.output, wanted), [self.lists, self.lm])
        need_rereadable(self.lm, "a language model is read more than once")
        corpus = read_lists(Source([self.lists], None, self.source_format), console, "nbest features add-lm")
        with console.progress("reading the language model") as progress:
            model = load_lm(self.lm, progress)
        with console.progress("scoring") as progress:
            corpus = add_lm(corpus, model, self.name, threads=self.threads, progress=progress)
        write(corpus, self.output, wanted)
        unknown = int(corpus.column(f"{self.name}_oov").sum())
        console.say(f"{self.output}: {corpus.hypotheses} hypotheses with {self.name!r} and '{self.name}_oov'")
        console.say(f"{unknown} words of all hypotheses are not in the {model.order}-gram model {self.lm}")


c.add_command(app, "add-lm", AddLm)
