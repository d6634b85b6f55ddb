"""What `--add` did, on stderr: columns that it made anew, and what `auto` tried."""

from __future__ import annotations

from collections.abc import Sequence

from nbest.base.errors import listed
from nbest.cli.console import Console
from nbest.corpus import NBest
from nbest.corpus.contract import Corpus, are_lists
from nbest.features.lm import unknown_words
from nbest.report import Column, Table
from nbest.trainers.adding import Added

_STRANGE = 0.5  # share of unknown words from which a language model is hardly one of these texts


def show_added(console: Console, added: Added | None, replaced: Sequence[str], corpus: Corpus) -> None:
    """Columns of the lists that are lost, language models that hardly know the words of the lists, and of `auto` what
    was tried, what each feature gave, and what is kept."""
    if replaced:
        console.warn(
            f"--add made {listed(replaced)} anew, and the lists have other values there, which do not count; to keep "
            "both, call one otherwise (--add lm:name=NAME, nbest features join --name NAME)"
        )
    if are_lists(corpus) and corpus.texts is not None:
        for recipe in corpus.recipes:
            if recipe["kind"] == "lm" and f"{recipe['name']}_oov" in corpus.feature_names:
                warn_of_unknown(console, corpus, recipe["name"], recipe["path"])
    if added is None:
        return
    kept = [each.kind for each in added.tried if each.kept]
    said = f"; it keeps {', '.join(kept)}" if kept else "; it keeps nothing" if added.tried else ""
    console.say(f"--add auto: {added.words}{said}")
    if added.tried:
        heads = ("feature", Column("gain", "+.3f"), Column("p", ".4f"), "")
        rows = [[each.kind, each.gain, each.p, "kept" if each.kept else each.why] for each in added.tried]
        console.show(Table(heads, rows, missing=""))


def warn_of_unknown(console: Console, lists: NBest, name: str, path: str) -> None:
    """A warning where a language model knows few words of the hypotheses."""
    unknown, words = unknown_words(lists, name)
    if unknown > _STRANGE * words:
        share = 100 * unknown / words
        console.warn(
            f"{path}: {share:.0f} % of the words of hypotheses are not in this language model; train it on texts like "
            "these, in the same case and tokens"
        )
