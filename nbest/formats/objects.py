"""Lists straight from what generators return in Python: vLLM, `generate` of Hugging Face, CTranslate2.

Nothing of these packages is imported: what counts are the attributes of their objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.corpus import NBest, Origin
from nbest.formats.lists.builder import Builder
from nbest.formats.lists.ctranslate2 import check_penalty, origins, tokens_features
from nbest.formats.lists.tokens import LONGEST, joined


def from_vllm(outputs: Iterable[Any], *, ids: Sequence[str] | None = None) -> NBest:
    """Lists from what `LLM.generate` or `LLM.chat` of vLLM returns: a `RequestOutput` is a segment.

        nbest.from_vllm(llm.generate(prompts, SamplingParams(n=8, logprobs=0)))

    Segments are called 0, 1, ... or by `ids`; the prompt is the source, where there is one. Features: `logprob` (the
    `cumulative_logprob`, which vLLM tells only where `logprobs` was asked for), `tokens`, and `finished`: 1 where the
    model stopped by itself, 0 where it was cut off. Log-probabilities are those before temperature and top-p.
    """
    requests = list(outputs)
    builder, names = Builder("from_vllm"), _names("from_vllm", ids, len(requests))
    for at, request in enumerate(requests):
        candidates = _attribute("from_vllm", request, "outputs", "a RequestOutput")
        builder.segment(names[at], source=getattr(request, "prompt", None), line=at + 1)
        for candidate in candidates:
            logprob = getattr(candidate, "cumulative_logprob", None)
            features = {} if logprob is None else {"logprob": float(logprob)}
            features["tokens"] = float(len(_attribute("from_vllm", candidate, "token_ids", "a CompletionOutput")))
            features["finished"] = float(candidate.finish_reason == "stop")
            builder.hypothesis(names[at], candidate.text, features, at + 1)
    return builder.build()


def from_generate(
    texts: Sequence[str],
    n: int = 1,
    *,
    transition_scores: Any = None,
    sequences_scores: Any = None,
    sequences: Any = None,
    end: int | Sequence[int] | None = None,
    ids: Sequence[str] | None = None,
    sources: Sequence[str] | None = None,
) -> NBest:
    """Lists from `generate` of Hugging Face transformers: N x `n` texts, `n` of each prompt together.

        out = model.generate(**inputs, num_return_sequences=8, do_sample=True, output_logits=True, ...)
        new = out.sequences[:, inputs["input_ids"].shape[1]:]
        scores = model.compute_transition_scores(out.sequences, out.logits, normalize_logits=True)
        nbest.from_generate(tokenizer.batch_decode(new, skip_special_tokens=True), 8, transition_scores=scores,
                            sequences=new, end=tokenizer.eos_token_id)

    `transition_scores` [H, T] become `logprob`, their sum. `sequences` [H, T], the new tokens, and `end`, the number of
    the token that ends a text (or several), say where a text ends: what comes after it is padding, whose scores mean
    nothing where texts were sampled. They also give `tokens`. `sequences_scores` [H] of a beam become `score` as they
    are, which is divided by length^length_penalty.
    """
    if n < 1 or len(texts) % n:
        raise ParameterError(f"'n' of from_generate must divide the number of texts, {len(texts)}, got {n}")
    columns = dict[str, Floats]()
    lengths = None if sequences is None else _lengths(_array("sequences", sequences, (len(texts), -1)), end)
    if transition_scores is not None:
        columns["logprob"] = _sums(_array("transition_scores", transition_scores, (len(texts), -1)), lengths)
    if sequences_scores is not None:
        columns["score"] = _array("sequences_scores", sequences_scores, (len(texts),))
    if lengths is not None:
        columns["tokens"] = lengths.astype(np.float64)
    count = len(texts) // n
    builder, names = Builder("from_generate"), _names("from_generate", ids, count)
    asked = [None] * count if sources is None else _all("from_generate", "sources", sources, count)
    for at, name in enumerate(names):
        builder.segment(name, source=asked[at], line=at + 1)
        for h in range(at * n, (at + 1) * n):
            builder.hypothesis(name, texts[h], {key: float(column[h]) for key, column in columns.items()}, at + 1)
    return builder.build({"score": Origin(normalised="length^length_penalty")} if "score" in columns else {})


def from_ctranslate2(
    results: Iterable[Any],
    *,
    text: Callable[[Sequence[str]], str] | None = None,
    pieces: str = "auto",
    length_penalty: float = 1.0,
    longest: int = LONGEST,
    ids: Sequence[str] | None = None,
    sources: Sequence[str] | None = None,
) -> NBest:
    """Lists from what `translate_batch` or `generate_batch` of CTranslate2 returns, with `return_scores=True`.

    `text` makes a text of tokens (`tokenizer.convert_tokens_to_string`, say). Without it `pieces` says what tokens are:
    "sentencepiece", "bytes" (byte-level BPE as of GPT-2), "bpe" (`@@`) or "words"; by default all of them together show
    it. Features: `logprob`, the sum that a score was before it was divided by length^`length_penalty` (which must be
    what the translator was given), and `tokens`. The length counts the end of the sentence, unless there are `longest`
    tokens: `max_decoding_length`.
    """
    check_penalty("from_ctranslate2", length_penalty, longest)
    given = list(results)
    builder, names = Builder("from_ctranslate2"), _names("from_ctranslate2", ids, len(given))
    asked = [None] * len(given) if sources is None else _all("from_ctranslate2", "sources", sources, len(given))
    lists = [_tokens(result) for result in given]
    every = [tokens for hypotheses in lists for tokens in hypotheses]
    texts = iter(joined("from_ctranslate2", every, pieces) if text is None else map(text, every))
    for at, (result, hypotheses) in enumerate(zip(given, lists, strict=True)):
        scores: Sequence[Any] = result.scores or [None] * len(hypotheses)
        builder.segment(names[at], source=asked[at], line=at + 1)
        for tokens, score in zip(hypotheses, scores, strict=True):
            features = tokens_features(tokens, score, length_penalty, longest)
            builder.hypothesis(names[at], next(texts), features, at + 1)
    return builder.build(origins(length_penalty, "logprob"))


def _tokens(result: Any) -> Sequence[Sequence[str]]:
    """The lists of tokens of a result of a translator, or of a generator."""
    lists = getattr(result, "hypotheses", None)
    return _attribute("from_ctranslate2", result, "sequences", "a result") if lists is None else lists


def _attribute(owner: str, value: Any, name: str, what: str) -> Any:
    if not hasattr(value, name):
        raise ParameterError(f"{owner} takes the objects of its package; {type(value).__name__} is not {what}")
    return getattr(value, name)


def _names(owner: str, ids: Sequence[str] | None, count: int) -> list[str]:
    names = [str(name) for name in (range(count) if ids is None else _all(owner, "ids", ids, count))]
    if len(set(names)) != len(names):
        raise ParameterError(f"'ids' of {owner} must differ from each other")
    return names


def _all(owner: str, what: str, values: Sequence[str], count: int) -> Sequence[str]:
    if len(values) != count:
        raise ParameterError(f"{what!r} of {owner} must be one for each of the {count} segments, got {len(values)}")
    return values


def _array(what: str, value: Any, shape: tuple[int, ...]) -> Floats:
    """Numbers out of an array, a tensor or lists."""
    if hasattr(value, "detach"):  # a tensor, of whatever device and precision
        value = value.detach().double().cpu().numpy()
    array = np.asarray(value, np.float64)
    if array.ndim != len(shape) or array.shape[0] != shape[0]:
        wanted = " x ".join("T" if size < 0 else str(size) for size in shape)
        raise ParameterError(f"{what!r} of from_generate must be {wanted}, got {' x '.join(map(str, array.shape))}")
    return array


def _lengths(sequences: Floats, end: int | Sequence[int] | None) -> Ints:
    """[H] tokens of each text, its end included."""
    ends = np.isin(sequences, [] if end is None else end)
    return np.where(ends.any(axis=1), ends.argmax(axis=1) + 1, sequences.shape[1])


def _sums(scores: Floats, lengths: Ints | None) -> Floats:
    """[H] sums over the tokens that count."""
    if lengths is None:
        return scores.sum(axis=1)
    if lengths.max(initial=0) > scores.shape[1]:
        got = f"{int(lengths.max())} tokens in 'sequences' and {scores.shape[1]} in 'transition_scores'"
        raise ParameterError(f"'sequences' of from_generate must be the new tokens, without those of the prompt: {got}")
    return np.where(np.arange(scores.shape[1]) < lengths[:, None], scores, 0.0).sum(axis=1)
