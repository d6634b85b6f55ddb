"""`nbest features`: add columns to lists and write them."""

from __future__ import annotations

from dataclasses import dataclass

from nbest.base.parameters import parameter
from nbest.cli import commands as c

app = c.group(
    "features", "Add scores of other models to lists (--add of tune adds what lists tell: length, rank, ...)."
)


@dataclass(frozen=True, kw_only=True)
class AddLm(c.ReaderOption, c.ThreadsOption, c.Quiet):
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
        from nbest.base.unpacking import need_rereadable
        from nbest.cli.adding import warn_of_unknown
        from nbest.cli.console import Console
        from nbest.cli.loading import Source, files_of_options, read_lists, reader_options
        from nbest.cli.targets import need_columns, refuse_overwriting, written
        from nbest.features.lm import add_lm
        from nbest.formats import format_of_target, write
        from nbest.lm.file import load_lm

        console = Console(quiet=self.quiet)
        wanted = format_of_target(self.output, self.target_format)
        need_columns(self.output, wanted)
        refuse_overwriting(written(self.output, wanted), [self.lists, self.lm, files_of_options(self.option)])
        need_rereadable(self.lm, "a language model is read more than once")
        corpus = read_lists(
            Source([self.lists], None, self.source_format, reader_options(self.option)),
            console,
            "nbest features add-lm",
        )
        with console.progress("reading the language model") as progress:
            model = load_lm(self.lm, progress)
        if self.name in corpus.feature_names:
            console.warn(f"the column {self.name!r} of the lists is replaced; --name NAME keeps both")
        with console.progress("scoring") as progress:
            corpus = add_lm(corpus, model, self.name, threads=self.threads, progress=progress)
        write(corpus, self.output, wanted)
        unknown = int(corpus.column(f"{self.name}_oov").sum())
        warn_of_unknown(console, corpus, self.name, self.lm)
        console.say(f"{self.output}: {corpus.hypotheses} hypotheses with {self.name!r} and '{self.name}_oov'")
        console.say(f"{unknown} words of all hypotheses are not in the {model.order}-gram model {self.lm}")


@dataclass(frozen=True, kw_only=True)
class Join(c.ReaderOption, c.Quiet):
    """Add columns of other files to the hypotheses: scores of a reward model, of quality estimation, of a large model.

    Tables are CSV or TSV with a header, JSON lines, Parquet or Arrow. A row belongs to a hypothesis by the id of its
    segment (column id) and its number in the list from 0 (index, hyp, candidate or rank), or its text (text,
    hypothesis, hyp or candidate); with an id alone there is a row for each hypothesis, in their order. Without ids, and
    in files of one number a line, rows go by position: that is said, and the number of rows must fit. All other columns
    of numbers are taken, booleans as 0 and 1.

    [bold]Examples[/bold]

      nbest features join dev.jsonl reward.csv -o dev.scored.jsonl

      nbest features join dev.nbest comet.tsv llm.jsonl --columns comet,logprob --missing flag -o dev.scored.jsonl

      nbest features join dev.jsonl scores.txt --name qe -o dev.scored.jsonl   (one number a line)

      nbest features join outputs.tsv kiwi.csv human.csv --gain mqm --group doc -o all.jsonl
    """

    lists: str = parameter(..., "Candidate lists, any known format; - is stdin.", flags=("lists",))
    scores: list[str] = parameter(..., "Tables of scores, or files with one number a line.", flags=("scores",))
    output: str = parameter(..., c.TARGET, flags=("--output", "-o"))
    by: str | None = parameter(None, "index, text, system, order or position (default: by the columns that are there).")
    columns: str | None = parameter(None, "Columns to take, NAME,NAME (default: all of numbers).")
    name: str | None = parameter(None, "What the column is called; of several: what stands before their names, NAME_.")
    id: str | None = parameter(None, "Column with the ids of segments, where it is called otherwise (custom_id, ...).")
    gain: str | None = parameter(None, "Column that says what a hypothesis is worth: what is tuned for, no feature.")
    group: str | None = parameter(None, "Column that says what a segment belongs to: a document, a speaker.")
    missing: str = parameter("error", "No score: error, 0, mean, or flag (0, and 1 in a further column NAME_missing).")
    first: int = parameter(0, "Index of the first hypothesis of a list in the tables.", least=0)
    source_format: str | None = parameter(None, "Format of the lists, where guessing fails.", flags=("--from",))
    target_format: str | None = parameter(None, "Format to write (default: by suffix, else jsonl).", flags=("--to",))

    def run(self) -> None:
        """Join, write."""
        from nbest.cli.joining import run

        run(self)


c.add_command(app, "add-lm", AddLm)
c.add_command(app, "join", Join)
