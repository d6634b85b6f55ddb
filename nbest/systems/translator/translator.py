"""The translator: a directory with truecasers, a language model, a phrase table and weights; texts in, forests out.

    manifest.json            {"format": "nbest-translator/1", "source": "fr", "target": "en", "settings": {...},
                             "files": {name: {"bytes": n, "sha256": h}}, ..., "sha256": of all this}
    source.truecase.json     casing of words that begin a sentence
    target.truecase.json
    lm.nlm                   language model of the target language
    phrases/                 phrase table
    weights.json             a model of nbest tune; default weights where it is missing

Arrays are memory-mapped, so a translator loads in under a second. `work/` holds what training made on the way, for
resuming; it is not read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from nbest.base.errors import FormatError, ParameterError
from nbest.base.folders import MANIFEST, check_files, inside, read_manifest
from nbest.base.types import Ints
from nbest.compute.compilation import kernel
from nbest.corpus import Forests
from nbest.lm.file import load_lm
from nbest.lm.model import LanguageModel
from nbest.systems.base import Progress, System, limits_of
from nbest.systems.folders import weights_of
from nbest.systems.translator.itg.decoder import FEATURES, ItgDecoder
from nbest.systems.translator.itg.options import SentenceOptions
from nbest.systems.translator.phrases.table import PhraseTable, find_phrase
from nbest.systems.translator.system import TranslatorSearch, TranslatorTraining
from nbest.systems.translator.tokenising import Tokeniser
from nbest.systems.translator.truecasing import Truecaser, capitalised

FORMAT = TranslatorTraining.form
PARTS = TranslatorTraining.files
"""Files whose sums the manifest lists; those of the phrase table are in its own manifest."""
DEFAULT_WEIGHTS = {
    "p(e|f)": 0.2, "p(f|e)": 0.2, "lex(e|f)": 0.2, "lex(f|e)": 0.2, "phrases": 0.2, "lm": 0.5, "length": 1.0,
    "monotone": 0.0, "inverted": -0.6,
}  # fmt: skip
"""Weights before tuning, much like those that Moses starts from."""


@dataclass(frozen=True)
class Translator(System):
    """Translates texts of one language into forests of translations."""

    source: str  # language codes
    target: str
    source_case: Truecaser
    target_case: Truecaser
    lm: LanguageModel
    table: PhraseTable
    weights: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_WEIGHTS))

    by_forests: ClassVar[bool] = True

    @classmethod
    def load(cls, path: str | Path) -> Translator:
        """The translator of a directory; what is missing, cut short or of another version is a `FormatError`."""
        folder = Path(path)
        manifest = _manifest(folder)
        listed = "files" in manifest  # not in those of earlier versions, of which each part is checked alone
        if listed:
            check_files(folder, PARTS, manifest["files"])
        return cls(
            manifest["source"],
            manifest["target"],
            Truecaser.load(inside(folder, "source.truecase.json")),
            Truecaser.load(inside(folder, "target.truecase.json")),
            load_lm(inside(folder, "lm.nlm"), verify=not listed),
            table=PhraseTable.load(inside(folder, "phrases")),
            weights=weights_of(folder, DEFAULT_WEIGHTS, FEATURES, "feature of the translator"),
        )

    def tokens(self, texts: Sequence[str], *, of_target: bool = False) -> list[list[str]]:
        """Tokens of raw texts as the translator sees them: truecased, of the source or (references) the target."""
        language, case = (self.target, self.target_case) if of_target else (self.source, self.source_case)
        tokeniser = Tokeniser(language)
        return [case.apply(tokeniser.tokens(text)) for text in texts]

    def text(self, words: str) -> str:
        """A translation as it is written: tokens joined, the first letter in upper case."""
        return capitalised(Tokeniser(self.target).detokenise(words.split()))

    def forests(
        self,
        texts: Sequence[str],
        *,
        weights: Mapping[str, float] | None = None,
        ids: Sequence[str] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        **search: Any,
    ) -> Forests:
        """One forest a text, n-grams of up to 4 words local to edges; `search` is that of `TranslatorSearch`.

        Texts of over `longest` tokens are an error.
        """
        how, sentences = limits_of(TranslatorSearch, search), self.tokens(texts)
        over = next((i for i, words in enumerate(sentences) if len(words) > how.longest), None)
        if over is not None:
            number = int(ids[over]) if ids is not None and ids[over].isdecimal() else over
            raise ParameterError(
                f"text {number + 1} has {len(sentences[over])} tokens, more than {how.longest}; cut it into sentences, "
                "or raise 'longest'"
            )
        options, vocabulary = self.options(sentences)
        decoder = ItgDecoder(
            self.lm,
            beam=how.beam,
            span_limit=how.span_limit,
            order=max(4, self.lm.order),
            edges_a_node=how.edges_a_node,
        )
        values = [float((weights or self.weights).get(name, 0.0)) for name in FEATURES]
        return decoder.forests(
            options,
            values,
            vocabulary=vocabulary,
            ids=ids,
            sources=[" ".join(words) for words in sentences],
            threads=threads,
            progress=progress,
        )

    def candidates(self, inputs: Sequence[str], weights: Mapping[str, float], **options: Any) -> Forests:
        """The forests of texts."""
        return self.forests(inputs, weights=weights, **options)

    def references(self, texts: Sequence[str]) -> list[str]:
        """Tokens of the target language, truecased."""
        return [" ".join(tokens) for tokens in self.tokens(texts, of_target=True)]

    def lines(self, asked: Any, texts: Iterable[str]) -> Iterable[str]:
        """Detokenised, unless tokens are wanted."""
        return texts if asked.raw else map(self.text, texts)

    def options(self, sentences: Sequence[Sequence[str]]) -> tuple[list[SentenceOptions], list[str]]:
        """The phrase pairs that apply to each sentence, and the target vocabulary that they number.

        A word that the table does not have alone is passed through as it is, with log probabilities 0: the language
        model does not know it either, most of the time.
        """
        table = self.table
        numbers = {word: at for at, word in enumerate(table.source_words)}
        vocabulary = list(table.target_words)
        places = {word: at for at, word in enumerate(vocabulary)}
        longest = int(np.diff(table.source_offsets).max(initial=1))
        out = []
        for words in sentences:
            ids = np.array([numbers.get(word, -1) for word in words], np.int32)
            most = min(longest, len(words))
            spans, pairs = _applying(table.source_offsets, table.source_ids, table.option_offsets, ids, most)
            rows = np.asarray(pairs)
            starts, ends = spans[:, 0], spans[:, 1]
            known = set(starts[ends - starts == 1].tolist())
            missing = [at for at in range(len(words)) if at not in known]
            for at in missing:
                places.setdefault(words[at], len(places))
            out.append(
                _options(
                    table, rows, starts, ends, missing, passed=[places[words[at]] for at in missing], words=len(words)
                )
            )
        vocabulary += [word for word in places if places[word] >= len(vocabulary)]
        return out, vocabulary


def _options(
    table: PhraseTable, rows: Ints, starts: Ints, ends: Ints, missing: list[int], passed: list[int], words: int
) -> SentenceOptions:
    targets = table.targets[rows]
    sizes = table.target_offsets[targets + 1] - table.target_offsets[targets]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([sizes, np.ones(len(missing), np.int64)]))])
    places = np.repeat(table.target_offsets[targets] - offsets[: len(rows)], sizes) + np.arange(sizes.sum())
    passing = np.zeros((len(missing), table.features.shape[1]), np.float32)
    passing[:, -1] = 1.0  # a phrase like any other
    return SentenceOptions(
        words,
        np.concatenate([starts, missing]),
        np.concatenate([ends, np.array(missing, np.int64) + 1]),
        offsets,
        np.concatenate([table.target_ids[places], np.array(passed, np.int32)]),
        features=np.concatenate([table.features[rows], passing]),
    )


@kernel
def _applying(source_offsets, source_ids, option_offsets, words, longest):
    """Spans [P, 2] and numbers [P] of the pairs of all source phrases that occur in a sentence."""
    count = 0
    found = np.full((len(words), longest), -1, np.int64)
    for start in range(len(words)):
        for size in range(1, min(longest, len(words) - start) + 1):
            if words[start + size - 1] < 0:
                break
            phrase = find_phrase(source_offsets, source_ids, words, start, start + size)
            found[start, size - 1] = phrase
            if phrase >= 0:
                count += option_offsets[phrase + 1] - option_offsets[phrase]
    spans = np.empty((count, 2), np.int64)
    pairs = np.empty(count, np.int64)
    at = 0
    for start in range(len(words)):
        for size in range(1, longest + 1):
            phrase = found[start, size - 1]
            if phrase >= 0:
                for pair in range(option_offsets[phrase], option_offsets[phrase + 1]):
                    spans[at, 0] = start
                    spans[at, 1] = start + size
                    pairs[at] = pair
                    at += 1
    return spans, pairs


def _manifest(folder: Path) -> dict[str, Any]:
    manifest = read_manifest(folder, FORMAT, "translator", "train it to the end")
    path = folder / MANIFEST
    for key in ("source", "target"):
        if not isinstance(manifest.get(key), str):
            raise FormatError(path, None, f"expected a language code as {key!r}")
    return manifest
