"""The phrasal ITG decoder: forests of translations of sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.parallel import counter, each
from nbest.corpus import Forests
from nbest.lm.model import LanguageModel
from nbest.lm.query import lm_arrays
from nbest.systems.translator.itg.chart import decode_sentence
from nbest.systems.translator.itg.cube import INVERTED, MONOTONE, ItgSearch
from nbest.systems.translator.itg.emit import (
    INVERSIONS,
    LENGTH,
    LM,
    MONOTONES,
    PHRASE_FEATURES,
    ItgForest,
    emit_sentence,
)
from nbest.systems.translator.itg.options import SentenceOptions
from nbest.systems.translator.itg.state import decoder_lm
from nbest.systems.translator.phrases.table import FEATURES as PHRASE_FEATURE_NAMES

FEATURES = (*PHRASE_FEATURE_NAMES, "lm", "length", "monotone", "inverted")
"""Nine features of an edge: those of the phrase pair; the natural log probability of the words that the edge
completes (goal: of </s>), its target words, and whether it is a monotone or an inverted rewrite."""

_ALL = 2**40


class ItgDecoder:
    """Translates by a phrasal inversion transduction grammar with an n-gram language model.

        X -> phrase pair | [X X] (monotone) | <X X> (inverted),  goal -> X

    Wu (1997), Computational Linguistics 23(3); Pauls, DeNero & Klein (2009), section 5.1; integrated language model and
    cube pruning as in Chiang (2007), section 5.3, and Huang & Chiang (2007). Spans have at most `span_limit` words;
    longer ones only begin the sentence and are joined in order only ("glue": counted as a monotone rewrite). Options of
    over `span_limit` words are not used. Nodes are spans with their first and last `order` - 1 target words, so that
    n-grams of up to `order` words are local to edges; beyond the limit, and for the whole sentence, with the last only.
    `beam`: nodes a span, with at most `edges_a_node` times as many edges; None: all of both (exhaustive, for a few
    words). More edges a node make richer forests, not better derivations, and cost memory rather than time.
    `normal_form`: no right part of a rewrite is a rewrite of the same orientation, so that every segmentation, choice
    of options and order of the target phrases is one derivation (the paper does not say; without it [[a b] c] and
    [a [b c]] are two). Nodes are then also split by orientation, which takes some of the beam.
    A sentence of no words gives the forest of the empty string, with ln p(</s> | <s>).
    Cost: n x span_limit spans; each beam x `edges_a_node` candidates at most, of `order` - 1 language-model queries.
    """

    def __init__(
        self,
        lm: LanguageModel,
        *,
        beam: int | None = 100,
        span_limit: int = 12,
        order: int = 4,
        edges_a_node: int = 16,
        normal_form: bool = True,
    ) -> None:
        sizes = {"beam": beam, "span_limit": span_limit, "order": order, "edges_a_node": edges_a_node}
        for name, value in sizes.items():
            if value is not None and value < 1:
                raise ParameterError(f"'{name}' of Decoder must be >= 1, got {value}")
        if lm.order > order:
            raise ParameterError(
                f"'order' of Decoder must be at least that of its language model, {lm.order}, got {order}"
            )
        self.lm, self.beam, self.span_limit, self.order = lm, beam, span_limit, order
        self.edges_a_node, self.normal_form = edges_a_node, normal_form

    def forests(
        self,
        sentences: Sequence[SentenceOptions],
        weights: Floats | Sequence[float],
        *,
        vocabulary: Sequence[str],
        ids: Sequence[str] | None = None,
        sources: Sequence[str] | None = None,
        threads: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Forests:
        """One forest a sentence, with the nine `FEATURES`; searched with these nine weights.

        `vocabulary`: the words that the options number. A sentence that its options cannot cover is an error.
        `own_weights` of the forests are the weights. Memory: about 80 bytes an edge.
        """
        values = _checked(weights)
        symbols = self.lm.ids(vocabulary)
        ids = [str(i) for i in range(len(sentences))] if ids is None else ids
        for name, rows in (("ids", ids), ("sources", sources)):
            if rows is not None and len(rows) != len(sentences):
                raise ParameterError(f"'{name}' of Decoder.forests must have {len(sentences)} entries, got {len(rows)}")
        tell = counter(progress, len(sentences))

        def one(i: int) -> ItgForest:
            part = self._forest(sentences[i], values, symbols, ids[i])
            tell(1)
            return part

        parts = each(one, range(len(sentences)), threads)
        return _joined(parts, ids, sources, vocabulary, values)

    def _forest(self, sentence: SentenceOptions, weights: Floats, symbols: Ints, name: str) -> ItgForest:
        if sentence.targets.min(initial=0) < 0 or sentence.targets.max(initial=-1) >= len(symbols):
            raise ParameterError(
                f"sentence {name!r} has target words that are no numbers into the vocabulary of {len(symbols)} words"
            )
        options, order = sentence.arranged(self.span_limit, weights[:PHRASE_FEATURES], weights[LENGTH])
        _, edges, made, met = decode_sentence(sentence.words, self.span_limit, options, self._search(weights, symbols))
        part = emit_sentence(edges, made, met, options, sentence.features[order])
        if not len(part.edges):
            raise CapabilityError(
                f"the options of sentence {name!r} do not cover its {sentence.words} words; "
                f"give each word at least one option (an unknown word: itself)"
            )
        return part

    def _search(self, weights: Floats, symbols: Ints) -> ItgSearch:
        rewrites = np.zeros(4)
        rewrites[MONOTONE], rewrites[INVERTED] = weights[MONOTONES], weights[INVERSIONS]
        beam = _ALL if self.beam is None else self.beam
        edges = beam if self.beam is None else beam * self.edges_a_node
        return ItgSearch(
            order=self.order,
            beam=beam,
            edges=edges,
            normal=self.normal_form,
            lm=decoder_lm(lm_arrays(self.lm), symbols, self.order - 1),
            lm_weight=float(weights[LM]),
            rewrites=rewrites,
        )


def _checked(weights: Floats | Sequence[float]) -> Floats:
    values: Floats = np.array(weights, np.float64)
    if values.shape != (len(FEATURES),) or not np.isfinite(values).all():
        raise ParameterError(
            f"'weights' of Decoder.forests must be {len(FEATURES)} finite numbers ({', '.join(FEATURES)}), "
            f"got {values.tolist()}"
        )
    return values


def _joined(
    parts: list[ItgForest],
    ids: Sequence[str],
    sources: Sequence[str] | None,
    vocabulary: Sequence[str],
    weights: Floats,
) -> Forests:
    """The forests of all sentences beside each other."""
    empty: Ints = np.zeros(0, np.int64)
    edges, arities, sizes = (np.concatenate([empty, *(part[k] for part in parts)]) for k in (0, 1, 4))
    tails, symbols = (np.concatenate([empty.astype(np.int32), *(part[k] for part in parts)]) for k in (2, 5))
    return Forests(
        node_offsets=segments.offsets_of(np.array([len(part.edges) for part in parts], np.int64)),
        edge_offsets=segments.offsets_of(edges),
        tail_offsets=segments.offsets_of(arities),
        tails=tails,
        features=np.concatenate([np.zeros((0, len(FEATURES)), np.float32), *(part.features for part in parts)]),
        feature_names=FEATURES,
        ids=tuple(ids),
        symbol_offsets=segments.offsets_of(sizes),
        symbols=symbols,
        vocabulary=tuple(vocabulary),
        sources=None if sources is None else tuple(sources),
        own_weights=dict(zip(FEATURES, weights.tolist(), strict=True)),
    )
