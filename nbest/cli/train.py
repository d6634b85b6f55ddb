"""`nbest train`: estimate base systems and their models."""

from __future__ import annotations

from typing import Annotated

import typer

from nbest.cli import options as o

app = typer.Typer(
    name="train",
    help="Train base systems and their models from plain text.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def lm(
    corpus: Annotated[
        list[str],
        typer.Argument(help="Text, one sentence a line, words between spaces (.gz, .xz too); - is stdin."),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Model: .nlm (loads at once), .arpa, .arpa.gz, .arpa.xz; - is stdout.")
    ],
    order: Annotated[int, typer.Option("--order", "-n", min=1, help="Longest n-grams.")] = 4,
    cutoff: Annotated[
        str,
        typer.Option(
            "--cutoff", help="Least count of n-grams of order 1, 2, ... that are kept; rarer words are <unk>."
        ),
    ] = "1",
    prune: Annotated[
        float, typer.Option("--prune", min=0.0, help="Leave out n-grams that change the perplexity by a smaller share.")
    ] = 0.0,
    heldout: Annotated[
        list[str] | None, typer.Option("--heldout", help="Text to report the perplexity on; repeat for several.")
    ] = None,
    threads: o.Threads = None,
    quiet: o.Quiet = False,
    as_json: o.AsJson = False,
) -> None:
    """Estimate an n-gram language model: interpolated modified Kneser-Ney.

    Use it as a feature of lists with nbest features add-lm, or with nbest tune --add lm:path=lm.nlm.

    [bold]Examples[/bold]

      nbest train lm train.en --order 4 -o lm.nlm

      nbest train lm news.en.xz web.en.gz --order 5 --cutoff 1,1,2 --prune 1e-9 --heldout dev.en -o lm.arpa.gz
    """
    from nbest.cli.training_lm import TrainCall, run

    run(TrainCall(corpus, output, order, cutoff, prune, heldout, threads, quiet, as_json))


@app.command()
def translator(
    source: Annotated[str, typer.Argument(help="Source side, raw text, one sentence a line (.gz, .xz too).")],
    target: Annotated[str, typer.Argument(help="Target side, line by line its translation.")],
    output: Annotated[str, typer.Option("--output", "-o", help="Directory of the translator.")],
    languages: Annotated[
        str, typer.Option("--languages", "-l", help="Codes of both languages, for their tokenisers: fr-en.")
    ],
    lm_text: Annotated[
        list[str] | None,
        typer.Option("--lm-text", help="Further text of the target language for the language model; repeat."),
    ] = None,
    lm_order: Annotated[int, typer.Option("--lm-order", min=1, max=4, help="Order of the language model.")] = 4,
    longest: Annotated[int, typer.Option("--longest", min=1, max=20, help="Longest phrases, in words.")] = 7,
    options: Annotated[int, typer.Option("--options", min=1, help="Translations kept of each phrase.")] = 20,
    threads: o.Threads = None,
    quiet: o.Quiet = False,
) -> None:
    """Train a phrase-based translator: tokens, language model, word alignment, phrase table.

    A run that was stopped goes on after the last stage that was finished; with the same texts and settings there is
    nothing to do.

    [bold]Examples[/bold]

      nbest train translator train.fr train.en --languages fr-en -o fr-en

      nbest train translator train.es.xz train.en.xz -l es-en --lm-text news.en.gz --lm-order 3 -o es-en
    """
    from nbest.base.errors import ParameterError
    from nbest.cli.training_translator import TrainCall, run
    from nbest.systems.translator.train import Settings

    first, dash, second = languages.partition("-")
    if not dash:
        raise ParameterError(f"--languages must be two codes, such as fr-en, got {languages!r}")
    settings = Settings(longest=longest, options=options, lm_order=lm_order)
    run(TrainCall(source, target, first, second, output, lm_text, settings, threads, quiet))


@app.command()
def tagger(
    treebanks: Annotated[list[str], typer.Argument(help="Treebanks in CoNLL-U (.gz, .xz too); - is stdin.")],
    output: Annotated[str | None, typer.Option("--output", "-o", help="Directory of the tagger.")] = None,
    tags: Annotated[str, typer.Option("--tags", help="xpos or upos: the column that is learned.")] = "xpos",
    longest: Annotated[int, typer.Option("--longest", min=0, help="Letters of the endings of unknown words.")] = 8,
    rare: Annotated[int, typer.Option("--rare", min=1, help="Words seen at most so often teach the endings.")] = 5,
    prior: Annotated[
        float, typer.Option("--prior", min=0.0, help="Of the ending of a rare word, in sights; 0: its seen tags only.")
    ] = 1.0,
    contexts: Annotated[bool, typer.Option(help="Words depend on the tag before theirs too.")] = True,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Tags tried for an unknown or rare word.")] = 10,
    jackknife: Annotated[
        int | None, typer.Option("--jackknife", help="Parts for --lists: each is tagged by a tagger of the others.")
    ] = None,
    lists: Annotated[str | None, typer.Option("--lists", help="Training lists to write, with --jackknife.")] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="Tag sequences a list.")] = 10,
    threads: o.Threads = None,
    quiet: o.Quiet = False,
) -> None:
    """Train a tagger, a second-order hidden Markov model; and make lists to train a reranker on.

    [bold]Examples[/bold]

      nbest train tagger train.conllu --tags xpos -o tagger

      nbest train tagger train.conllu --tags upos --jackknife 10 --lists train.jsonl --k 10
    """
    from nbest.cli.training_tagger import TrainCall, run
    from nbest.systems.tagger.tagger import Settings

    settings = Settings(longest=longest, rare=rare, prior=prior, contexts=contexts, limit=limit)
    run(TrainCall(treebanks, output, tags, settings, jackknife, lists, k, threads, quiet))


@app.command()
def parser(
    treebanks: Annotated[list[str], typer.Argument(help="Treebanks in CoNLL-U (.gz, .xz too); - is stdin.")],
    output: Annotated[str | None, typer.Option("--output", "-o", help="Directory of the parser.")] = None,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Passes over the sentences.")] = 5,
    rate: Annotated[float, typer.Option("--rate", help="First size of a step.")] = 0.3,
    l2: Annotated[float, typer.Option("--l2", min=0.0, help="Penalty on the squares of weights.")] = 1.0,
    arc_bits: Annotated[
        int, typer.Option("--arc-bits", min=1, max=30, help="2^bits weights an expert for features of arcs.")
    ] = 20,
    label_bits: Annotated[
        int, typer.Option("--label-bits", min=1, max=26, help="2^bits rows of weights for features with relations.")
    ] = 14,
    frequent: Annotated[int, typer.Option("--frequent", min=1, help="Forms seen so often count as frequent.")] = 10,
    lists: Annotated[
        str | None, typer.Option("--lists", help="Training lists to write, by parsers that have not seen them.")
    ] = None,
    folds: Annotated[
        int, typer.Option("--folds", min=2, help="Parts for --lists: each is parsed by a parser of the others.")
    ] = 10,
    k: Annotated[int, typer.Option("--k", min=1, help="Trees a list.")] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Of the order of sentences.")] = 1,
    threads: o.Threads = None,
    quiet: o.Quiet = False,
) -> None:
    """Train a dependency parser: experts over labelled projective trees; and make lists to train a reranker on.

    [bold]Examples[/bold]

      nbest train parser train.conllu -o parser

      nbest train parser train.conllu --lists train.lists.jsonl.gz --folds 10 --k 200
    """
    from nbest.cli.training_parser import TrainCall, run
    from nbest.systems.parser.train import Settings

    settings = Settings(epochs=epochs, rate=rate, l2=l2, arc_bits=arc_bits, label_bits=label_bits, frequent=frequent)
    run(TrainCall(treebanks, output, settings, lists, folds, k, seed, threads, quiet))


@app.command()
def converter(
    texts: Annotated[
        list[str],
        typer.Argument(help="Text with readings, 'surface|reading surface|reading ...' a line (.gz, .xz too)."),
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="Directory of the converter.")],
    dictionary: Annotated[
        list[str] | None, typer.Option("--dictionary", help="Further words, 'surface TAB reading' a line; repeat.")
    ] = None,
    order: Annotated[int, typer.Option("--order", "-n", min=1, max=6, help="Order of the language model.")] = 3,
    tokens: Annotated[
        str, typer.Option("--tokens", help="What the language model sees of a word: pair (with its reading), surface.")
    ] = "pair",
    adapt: Annotated[
        list[str] | None, typer.Option("--adapt", help="Text with readings to adapt to: a second language model.")
    ] = None,
    heldout: Annotated[
        list[str] | None,
        typer.Option("--heldout", help="Text that sets the weight of --adapt (default: a tenth of it)."),
    ] = None,
    threads: o.Threads = None,
    quiet: o.Quiet = False,
) -> None:
    """Train a kana-kanji converter: dictionary and language model from text with readings.

    [bold]Examples[/bold]

      nbest train converter news.read.tsv.xz --dictionary words.tsv -o news

      nbest train converter news.read.tsv --adapt novels.read.tsv --order 3 -o novels
    """
    from nbest.cli.training_converter import TrainCall, run
    from nbest.systems.converter.train import ConverterTraining

    run(TrainCall(texts, output, dictionary, adapt, heldout, ConverterTraining(order, tokens), threads, quiet))
