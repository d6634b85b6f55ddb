"""A dependency parser: experts over labelled projective trees, joined log-linearly; sentences in, forests out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from nbest.base.errors import ParameterError, _known
from nbest.base.types import Floats, Ints
from nbest.compute.parallel import counter, each
from nbest.corpus import Forests
from nbest.corpus.joining import join_forests
from nbest.formats.conllu import NO_HEAD, Sentence, read_conllu
from nbest.systems.base import SILENT, Listener, Progress, System, limits_of
from nbest.systems.parser.forest import ParserForest, forest, joined_forests
from nbest.systems.parser.labels import LabelOptions
from nbest.systems.parser.report import attachment
from nbest.systems.parser.system import ParserSearch
from nbest.systems.parser.trees import text_of, tree_of
from nbest.systems.parser.views import Vocabulary

_CHUNK = 16  # sentences that a thread takes at a time
_SHOWN = 5  # unknown tags that are named


@dataclass(frozen=True)
class Parser(System):
    """Trees by p(tree | words) ~ prod_j p_j(tree | words)^weight_j, exactly, over projective trees with one root.

    Expert j is a globally normalised model, p_j(tree) = exp(sum over its arcs of s_j(head, dependent, label)) / Z_j,
    with features of its own (see `views`) and the labels that arcs may have (see `labels`).
    Forests and lists have log p_j as the feature `names[j]`.
    Smith & Eisner (2006), COLING/ACL posters 787-794, section 6.2; Eisner (1996), COLING 340-345.
    Differs: their experts are not described; ours have one root word, as Universal Dependencies asks for.
    """

    names: tuple[str, ...]  # X experts
    labels: tuple[str, ...]  # L
    vocabulary: Vocabulary
    options: LabelOptions
    templates: Ints  # [T, 5]: expert, whether joined with labels, columns of head and dependent, kind
    tables: Floats  # [X, arc_size + rows * L] float32: weights of hashed features
    arc_size: int  # a power of 2
    weights: Mapping[str, float] = field(default_factory=dict)  # of the experts; default 1 / X each

    distinct: ClassVar[bool] = False  # a tree is one derivation

    def __post_init__(self) -> None:
        weights = dict(self.weights) or dict.fromkeys(self.names, 1.0 / len(self.names))
        object.__setattr__(self, "weights", weights)

    @property
    def rows(self) -> int:
        """Rows of weights for the features that are joined with labels, a power of 2."""
        return (self.tables.shape[1] - self.arc_size) // len(self.labels)

    @classmethod
    def load(cls, path: str | Path) -> Parser:
        """The parser of a directory; what is missing, cut short or of another version is a `FormatError`."""
        from nbest.systems.parser.files import load

        return load(path)

    def save(self, path: str | Path) -> None:
        """Write a directory; see `nbest.systems.parser.files`."""
        from nbest.systems.parser.files import save

        save(self, path)

    def forests(
        self,
        sentences: Sequence[Sentence],
        *,
        weights: Mapping[str, float] | None = None,
        ids: Sequence[str] | None = None,
        references: bool = False,
        threads: int | None = None,
        progress: Callable[[int, int], Any] | None = None,
        **search: Any,
    ) -> Forests:
        """One forest a sentence; every tree is one derivation, its words `head:deprel` in the order of the sentence.

        `search` is that of `ParserSearch`: left out are arcs with a posterior under `arc_floor` by the weights given
        (or the parser's own), and of an arc all but the best `labels_an_arc` labels; the best tree stays. 0 and a large
        number leave nothing out.
        `references`: the trees of the sentences, projective or not. Missing weights count 0.
        Cost: O(n^3) time an expert and sentence of n words; edges: about n^3 / 2 when nothing is left out,
        and one for every labelled arc.
        """
        values = self._values(self.weights if weights is None else weights)
        limits = limits_of(ParserSearch, search)
        offsets, atoms, tags = self.vocabulary.encode(sentences)
        tell = counter(progress, len(sentences))

        def chunk(low: int) -> list[ParserForest]:
            high = min(low + _CHUNK, len(sentences))
            parts = []
            for i in range(low, high):
                rows = slice(offsets[i], offsets[i + 1])
                parts.append(
                    forest(self, atoms[rows], tags[rows], values, limits.labels_an_arc, arc_floor=limits.arc_floor)
                )
            tell(high - low)
            return parts

        parts = [part for some in each(chunk, range(0, len(sentences), _CHUNK), threads) for part in some]
        return Forests(
            **joined_forests(parts, self.names, self.labels),
            ids=tuple(map(str, range(len(sentences)))) if ids is None else tuple(ids),
            references=tuple((text_of(s.heads, s.deprels),) for s in sentences) if references else None,
            sources=tuple(" ".join("_".join(form.split()) for form in s.forms) for s in sentences),
            own_weights=dict(zip(self.names, values.tolist(), strict=True)),
        )

    def _values(self, weights: Mapping[str, float]) -> Floats:
        strange = next((name for name in weights if name not in self.names), None)
        if strange is not None:
            raise ParameterError(f"no expert {strange!r} in this parser; {_known(self.names, strange)}")
        values: Floats = np.array([float(weights.get(name, 0.0)) for name in self.names])
        if not np.isfinite(values).all():
            raise ParameterError(f"'weights' of Parser.forests must be finite, got {dict(weights)}")
        return values

    # as a system ----------------------------------------------------------------------------------------------------

    def candidates(
        self,
        inputs: Sequence[Sentence],
        weights: Mapping[str, float],
        *,
        ids: Sequence[str] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        **search: Any,
    ) -> Forests:
        """The forests of sentences, whose trees are the references if all words have heads and relations."""
        with_trees = bool(inputs) and not _missing(inputs)
        return self.forests(
            inputs, weights=weights, ids=ids, references=with_trees, threads=threads, progress=progress, **search
        )

    def joined(self, parts: Sequence[Forests]) -> Forests:
        """The forests of parts; words `head:deprel` are numbered in the order of heads, then of labels."""
        number = {label: at for at, label in enumerate(self.labels)}

        def place(word: str) -> tuple[int, int]:
            head, _, label = word.partition(":")
            return int(head), number[label]

        return join_forests(parts, sorted({word for part in parts for word in part.vocabulary}, key=place))

    def read(self, path: str | Path) -> list[Sentence]:
        """Sentences of a treebank."""
        return read_conllu(path)

    def inputs(self, asked: Any, listener: Listener = SILENT) -> tuple[list[Sentence], None]:
        """Sentences; said where words have tags never seen (their arcs are guesses), or only some have heads."""
        found = self.read(asked.text)
        known = frozenset(self.vocabulary.tags)
        strange = Counter(tag for sentence in found for tag in sentence.upos if tag not in known)
        if strange:
            named = ", ".join(tag for tag, _ in strange.most_common(_SHOWN))
            listener.warn(
                f"{strange.total()} words have a UPOS that the parser was not trained on, such as {named}; "
                "tag the words as in its treebank for better trees"
            )
        missing = _missing(found)
        if 0 < missing < sum(map(len, found)):
            listener.warn(
                f"{missing} words have no HEAD or no DEPREL: no attachment scores are reported, no references are kept"
            )
        return found, None

    def treebank(self, inputs: Sequence[Sentence], texts: Sequence[str]) -> Iterator[Sentence]:
        """The sentences with their best trees."""
        for sentence, text in zip(inputs, texts, strict=True):
            heads, deprels = tree_of(text)
            yield sentence.with_column("head", heads).with_column("deprel", deprels)

    def parsed(self, sentences: Sequence[Sentence], **options: Any) -> list[Sentence]:
        """The sentences with the heads and relations of their best trees; options as for `batches`."""
        return list(self.treebank(sentences, list(self.lists(sentences, 1, **options).texts or ())))

    def report(self, inputs: Sequence[Sentence], texts: Sequence[str], listener: Listener) -> dict[str, Any] | None:
        """Labelled and unlabelled attachment of the best trees, where the sentences have trees."""
        if _missing(inputs) or not any(map(len, inputs)):
            return None
        las, uas, words = attachment(texts, inputs)
        listener.say(f"LAS {las:.2f} %, UAS {uas:.2f} % of {words} words")
        return {"las": las, "uas": uas, "words": words}


def _missing(sentences: Sequence[Sentence]) -> int:
    """Words without a head or a relation."""
    return sum(NO_HEAD in pair or "_" in pair for s in sentences for pair in zip(s.heads, s.deprels, strict=True))
