"""Make n-best lists from a real speech recogniser.

Every sentence of ``sentences.txt`` is spoken by espeak-ng, recognised by
pocketsphinx, and the word lattice of the recogniser is searched for the best
distinct word strings.  Each string becomes one hypothesis with a handful of
features: what the acoustic model thinks, what the language model thinks, how
sure the lattice is, and so on.  The recogniser adds these up with fixed
weights; the lists exist to show that weights learned from a few sentences with
known transcripts do better.

The result is deterministic for given versions of espeak-ng and pocketsphinx:
voice, speed, pitch and noise depend on the position of the sentence only.
Every finished utterance is kept in the work directory, so an interrupted run
continues where it stopped.

Needs the program ``espeak-ng`` and the Python packages ``pocketsphinx`` (its
wheel brings the English models) and ``numpy``.
"""

from __future__ import annotations

import argparse
import gc
import heapq
import io
import json
import lzma
import math
import multiprocessing
import re
import subprocess
import sys
import tempfile
import wave
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from pocketsphinx import Decoder, NGramModel, get_model_path

SAMPLE_RATE = 16000

#: The sets an utterance can go to, cycled through by index: of every six
#: sentences two are for tuning, one is held out and three are for testing, so
#: that all sets see the same mixture of topics.
SET_CYCLE = ("tune", "test", "heldout", "test", "tune", "test")

#: Sentences used per set; the rest are spares for utterances that fail.
SET_SIZES = {"tune": 200, "heldout": 100, "test": 300}

#: The espeak-ng voices.  Seven of them, a number that shares no factor with
#: the length of SET_CYCLE, so that every voice occurs equally in every set.
VOICES = (
    "en-us+klatt",
    "en-us+f2",
    "en-us+klatt2",
    "en-us+klatt3",
    "en-us+klatt4",
    "en-us+f5",
    "en-gb-x-rp+klatt4",
)
SPEEDS = (150, 140, 160, 145, 155)  # words per minute
PITCHES = (50, 42, 58, 46)  # espeak-ng's scale, 0 to 99
NOISE_DB = (45.0, 40.0, 35.0)  # ratio of signal to noise power

#: Temperature of the lattice posteriors.  Acoustic scores of neighbouring
#: frames are far from independent, which makes the raw path scores much too
#: sure of themselves.
POSTERIOR_SCALE = 1.0 / 15.0

#: Floor for word posteriors, so that their logarithm stays finite.
MIN_POSTERIOR = 1e-6

#: Links that pocketsphinx itself finds this unlikely are left out before the
#: search: the best strings hardly ever use them, and they are half of all links.
MIN_LINK_POSTERIOR = 1e-6

#: Paths this much worse than the best one (after scaling, in natural logarithms)
#: are left out of the posteriors to save time.
POSTERIOR_BEAM = 20.0

#: Hypotheses with these words are left out of the lists, which are meant to be
#: shown to anybody; the recogniser's vocabulary has no such scruples.
VULGAR = re.compile(
    r"\b(ass|asses|asshole\w*|bastards?|bitch\w*|boobs?|cocks?|cunt\w*|dicks?|fag|fags|faggot\w*|fuck\w*"
    r"|motherfuck\w*|nigg\w*|penis|piss\w*|pussy|rape|raped|rapes|raping|shit\w*|bullshit|sluts?|slutty|tits|whores?)\b"
)

#: Settings of the recogniser: the defaults throughout.
WORD_SETTINGS: dict[str, Any] = {"samprate": SAMPLE_RATE, "loglevel": "FATAL"}

#: Settings of the phone recogniser: a loop over all phones with a language model of
#: phones instead of words, a low language weight and narrow beams.
PHONE_SETTINGS: dict[str, Any] = {
    **WORD_SETTINGS,
    "lm": None,
    "allphone": get_model_path("en-us/en-us-phone.lm.bin"),
    "lw": 2.0,
    "beam": 1e-20,
    "pbeam": 1e-20,
}

#: The features in the lists and the decimals kept of each.
FEATURES = {
    "acoustic": 1,
    "lm": 2,
    "unigram": 2,
    "words": 0,
    "pauses": 0,
    "confidence": 2,
    "rhythm": 2,
    "phones": 0,
    "phone_match": 0,
}

START, END, SILENCE = "<s>", "</s>", "<sil>"


def normalise(sentence: str) -> list[str]:
    """Split a sentence into words as the recogniser writes them.

    >>> normalise("What's that, a dog?")
    ["what's", 'that', 'a', 'dog']
    """
    return re.sub(r"[^a-z' ]+", " ", sentence.lower()).split()


def is_filler(word: str) -> bool:
    """Whether a dictionary entry is a silence or noise and not a word."""
    return word[0] in "<["


def base_word(word: str) -> str:
    """Drop the mark of a pronunciation variant: ``the(2)`` is ``the``."""
    return re.sub(r"\(\d+\)$", "", word)


# ---------------------------------------------------------------------------
# Audio


def resample(samples: np.ndarray, rate: int) -> np.ndarray:
    """Resample to SAMPLE_RATE by cutting the spectrum (with a soft edge)."""
    if rate == SAMPLE_RATE:
        return samples
    length = round(len(samples) * SAMPLE_RATE / rate)
    spectrum = np.fft.rfft(samples)
    keep = length // 2 + 1
    out = np.zeros(keep, dtype=complex)
    shared = min(keep, len(spectrum))
    out[:shared] = spectrum[:shared]
    edge = max(1, shared // 25)
    out[shared - edge : shared] *= np.linspace(1.0, 0.0, edge)
    return np.fft.irfft(out, length) * (length / len(samples))


def synthesise(sentence: str, index: int) -> bytes:
    """Speak one sentence; returns 16-bit mono samples at SAMPLE_RATE.

    A little white noise, seeded by the index, stands in for a microphone: the
    perfect digital silence of a synthesiser upsets recognisers that were
    trained on recordings.
    """
    result = subprocess.run(
        [
            "espeak-ng",
            "-v", VOICES[index % len(VOICES)],
            "-s", str(SPEEDS[index % len(SPEEDS)]),
            "-p", str(PITCHES[(index // 3) % len(PITCHES)]),
            "--stdout",
            sentence,
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    with wave.open(io.BytesIO(result.stdout)) as audio:
        rate = audio.getframerate()
        # espeak-ng cannot seek back in a pipe, so the header holds no usable
        # length: read whatever there is.
        raw = audio.readframes(len(result.stdout) // 2)
    raw = raw[: len(raw) // 2 * 2]
    samples = resample(np.frombuffer(raw, dtype="<i2").astype(float), rate)
    samples *= 8000.0 / np.abs(samples).max()
    power = float(np.mean(samples**2))
    pause = np.zeros(SAMPLE_RATE // 5)
    samples = np.concatenate([pause, samples, pause])
    noise_db = NOISE_DB[(index // 2) % len(NOISE_DB)]
    sigma = math.sqrt(power * 10.0 ** (-noise_db / 10.0))
    samples += np.random.default_rng(index).normal(0.0, sigma, len(samples))
    return np.round(samples).clip(-32768, 32767).astype("<i2").tobytes()


# ---------------------------------------------------------------------------
# Lattices


@dataclass(frozen=True)
class Lattice:
    """The word graph of one utterance.

    A node is a word that starts at some frame; a link says that the word of
    its first node can end where its second node starts, and carries the
    acoustic log-likelihood of the first word over that time.
    """

    words: list[str]
    starts: list[int]
    initial: int
    final: int
    frames: int
    links: dict[int, list[tuple[int, float]]]

    def pruned(self, posteriors: dict[tuple[int, int], float]) -> Lattice:
        """The same lattice without links below MIN_LINK_POSTERIOR."""
        links = {
            node: [(target, score) for target, score in outgoing if posteriors[node, target] >= MIN_LINK_POSTERIOR]
            for node, outgoing in self.links.items()
        }
        return replace(self, links=links)

    def topological(self) -> list[int]:
        """Node numbers, every node before its successors."""
        degree: dict[int, int] = defaultdict(int)
        for outgoing in self.links.values():
            for target, _ in outgoing:
                degree[target] += 1
        order = [node for node in range(len(self.words)) if not degree[node]]
        for node in order:
            for target, _ in self.links.get(node, ()):
                degree[target] -= 1
                if not degree[target]:
                    order.append(target)
        return order


def read_posteriors(path: Path) -> dict[tuple[int, int], float]:
    """Read pocketsphinx's own link posteriors from a lattice in HTK's format."""
    posteriors = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("J="):
            fields = dict(field.split("=", 1) for field in line.split())
            posteriors[int(fields["S"]), int(fields["E"])] = float(fields["p"])
    return posteriors


def read_lattice(path: Path) -> Lattice:
    """Read a lattice in the Sphinx format.

    This format is preferred to HTK's because it tells silence from noise and
    keeps the pronunciation variants.  Its scores are integer logarithms to the
    base given in the header; they become natural logarithms here.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    words: list[str] = []
    starts: list[int] = []
    links: dict[int, list[tuple[int, float]]] = defaultdict(list)
    initial = final = frames = -1
    unit = math.log(1.0001)
    section = ""
    for line in lines:
        fields = line.split()
        if line.startswith("# -logbase"):
            unit = math.log(float(fields[2]))
        elif not fields or fields[0] in ("#", "End"):
            section = ""
        elif fields[0] in ("Nodes", "Edges", "BestSegAscr"):
            section = fields[0]
        elif fields[0] == "Frames":
            frames = int(fields[1])
        elif fields[0] == "Initial":
            initial = int(fields[1])
        elif fields[0] == "Final":
            final = int(fields[1])
        elif section == "Nodes":
            words.append(fields[1])
            starts.append(int(fields[2]))
        elif section == "Edges":
            source, target, score = map(int, fields)
            links[source].append((target, score * unit))
    return Lattice(words, starts, initial, final, frames, dict(links))


def save_lattice(decoder: Decoder, directory: Path) -> Lattice:
    """Write the decoder's lattice to `directory` as ``sphinx`` and ``htk``; read and prune it."""
    sphinx, htk = directory / "sphinx", directory / "htk"
    lattice = decoder.get_lattice()
    lattice.write(str(sphinx))
    lattice.write_htk(str(htk))
    return read_lattice(sphinx).pruned(read_posteriors(htk))


class LanguageModel:
    """Natural-log probabilities of the recogniser's own trigram model."""

    def __init__(self, model: NGramModel, unit: float) -> None:
        self._model = model
        self._unit = unit
        self._cache: dict[tuple[str, ...], float] = {}

    def forget(self) -> None:
        """Drop the cache, which otherwise grows with every utterance."""
        self._cache.clear()

    def logprob(self, word: str, *history: str) -> float:
        """log P(word | history), the most recent word of history first."""
        key = (word, *history)
        value = self._cache.get(key)
        if value is None:
            value = self._model.prob(list(key)) * self._unit
            self._cache[key] = value
        return value

    def trigram(self, words: Sequence[str]) -> float:
        """Log probability of a sentence and its end."""
        context = [START, *words, END]
        total = self.logprob(context[1], START)
        for i in range(2, len(context)):
            total += self.logprob(context[i], context[i - 1], context[i - 2])
        return total

    def unigram(self, words: Iterable[str]) -> float:
        """Log probability of the words without any context."""
        return sum(self.logprob(word) for word in words)


@dataclass(frozen=True)
class Weights:
    """How pocketsphinx adds up a path: natural logarithms throughout."""

    lm: float
    word: float
    silence: float
    noise: float

    @classmethod
    def of(cls, decoder: Decoder) -> Weights:
        """Take the weights of the final (lattice) pass from the settings.

        The word penalty is scaled along with the language weight because
        pocketsphinx rescales the first pass's language scores, in which the
        penalty is already included.
        """
        config = decoder.config
        ratio = config["bestpathlw"] / config["lw"]
        pip = math.log(config["pip"])
        return cls(
            lm=config["bestpathlw"],
            word=math.log(config["wip"]) * ratio,
            silence=math.log(config["silprob"]) + pip,
            noise=math.log(config["fillprob"]) + pip,
        )


#: A place in the search: lattice node, the last two real words up to it.
State = tuple[int, str, str]


@dataclass
class Found:
    """One way through the lattice that yields a word string."""

    total: float
    nodes: list[int]
    acoustic: float


class Search:
    """Exact search of a lattice under a trigram language model.

    The lattice is unfolded so that a state knows the last two real words;
    fillers do not count as words.  On the unfolded graph everything is exact:
    best completions (for A* search) and posteriors (for confidences).
    """

    def __init__(self, lattice: Lattice, lm: LanguageModel, weights: Weights) -> None:
        self.lattice = lattice
        self._lm = lm
        self._weights = weights
        self._base = [base_word(word) for word in lattice.words]
        self._filler = [is_filler(word) for word in lattice.words]
        self._filler[lattice.initial] = False
        self._filler[lattice.final] = False
        # A path that ends in a filler ends the sentence all the same.
        if is_filler(lattice.words[lattice.final]):
            self._base[lattice.final] = END
        self.start: State = (lattice.initial, "", START)
        self.arcs: dict[State, list[tuple[State, float]]] = {}
        self._unfold()
        self.order = self._state_order()
        self.completion = self._best_completions()

    def penalty(self, node: int) -> float:
        """What pocketsphinx adds to every link into a filler."""
        if not self._filler[node]:
            return 0.0
        silence = self.lattice.words[node] == SILENCE
        return self._weights.silence if silence else self._weights.noise

    def _unfold(self) -> None:
        lattice, weights = self.lattice, self._weights
        todo = [self.start]
        self.arcs[self.start] = []
        while todo:
            state = todo.pop()
            node, older, newer = state
            outgoing = self.arcs[state]
            for target, acoustic in lattice.links.get(node, ()):
                if self._filler[target]:
                    score = acoustic
                    following = (target, older, newer)
                else:
                    word = self._base[target]
                    history = (newer, older) if older else (newer,)
                    score = acoustic + weights.lm * self._lm.logprob(word, *history) + weights.word
                    following = (target, newer, word)
                outgoing.append((following, score))
                if following not in self.arcs:
                    self.arcs[following] = []
                    todo.append(following)

    def _state_order(self) -> list[State]:
        position = {node: i for i, node in enumerate(self.lattice.topological())}
        return sorted(self.arcs, key=lambda state: position[state[0]])

    def _best_completions(self) -> dict[State, float]:
        best: dict[State, float] = {}
        for state in reversed(self.order):
            if state[0] == self.lattice.final:
                best[state] = 0.0
            else:
                best[state] = max(
                    (score + best[target] for target, score in self.arcs[state]),
                    default=-math.inf,
                )
        return best

    def words_of(self, nodes: Iterable[int]) -> list[str]:
        """The word string of a path."""
        return [self._base[node] for node in nodes if not is_filler(self.lattice.words[node])]

    def best_strings(self, count: int) -> list[Found]:
        """The best paths of the `count` best distinct word strings, in order.

        A* with exact completions.  Partial paths that read the same words up
        to the same node can only differ in the past, so all but the best are
        dropped; without this the many alignments of each string would swamp
        the queue.
        """
        prefixes: dict[tuple[int, str], int] = {}
        done: set[tuple[int, int]] = set()
        found: set[int] = set()
        results: list[Found] = []
        serial = 0
        queue: list[tuple[float, int, float, State, int, Any]] = [
            (-self.completion[self.start], 0, 0.0, self.start, 0, None)
        ]
        while queue and len(results) < count:
            _, _, score, state, prefix, back = heapq.heappop(queue)
            if (state[0], prefix) in done:
                continue
            done.add((state[0], prefix))
            here = (back, state[0])
            if state[0] == self.lattice.final:
                if prefix not in found:
                    found.add(prefix)
                    results.append(self._trace(here, score))
                continue
            for target, cost in self.arcs[state]:
                completion = self.completion[target]
                if completion == -math.inf:
                    continue
                node = target[0]
                following = prefix
                if not is_filler(self.lattice.words[node]):
                    key = (prefix, self._base[node])
                    following = prefixes.setdefault(key, len(prefixes) + 1)
                serial += 1
                total = score + cost
                heapq.heappush(
                    queue,
                    (-(total + completion), serial, total, target, following, here),
                )
        return results

    def _trace(self, here: Any, total: float) -> Found:
        nodes = []
        while here is not None:
            here, node = here
            nodes.append(node)
        nodes.reverse()
        acoustic = 0.0
        for node, following in pairwise(nodes):
            acoustic += dict(self.lattice.links[node])[following]
            acoustic -= self.penalty(following)
        return Found(total, nodes, acoustic)

    def _likely_arcs(self, beam: float) -> dict[State, list[tuple[State, float]]]:
        """The arcs on paths at most `beam` worse than the best, scores scaled."""
        best = {self.start: 0.0}
        limit = self.completion[self.start] - beam / POSTERIOR_SCALE
        likely: dict[State, list[tuple[State, float]]] = {}
        for state in self.order:
            so_far = best.get(state)
            if so_far is None:
                continue
            kept = likely[state] = []
            for target, score in self.arcs[state]:
                total = so_far + score
                if total + self.completion[target] >= limit:
                    kept.append((target, score * POSTERIOR_SCALE))
                    if total > best.get(target, -math.inf):
                        best[target] = total
        return likely

    def word_posteriors(self) -> dict[str, np.ndarray]:
        """For every word, the posterior that it is being said at each frame."""
        likely = self._likely_arcs(POSTERIOR_BEAM)
        forward: dict[State, float] = defaultdict(lambda: -math.inf)
        backward: dict[State, float] = {}
        forward[self.start] = 0.0
        for state, arcs in likely.items():
            value = forward[state]
            for target, score in arcs:
                forward[target] = _logadd(forward[target], value + score)
        for state in reversed(likely):
            if state[0] == self.lattice.final:
                backward[state] = 0.0
                continue
            total = -math.inf
            for target, score in likely[state]:
                total = _logadd(total, score + backward[target])
            backward[state] = total
        norm = backward[self.start]
        starts = self.lattice.starts
        mass: dict[tuple[str, int, int], float] = defaultdict(float)
        for state, arcs in likely.items():
            node = state[0]
            if self._filler[node]:
                continue
            for target, score in arcs:
                log = forward[state] + score + backward[target] - norm
                key = (self._base[node], starts[node], starts[target[0]])
                mass[key] += math.exp(log)
        posteriors: dict[str, np.ndarray] = {}
        for (word, begin, end), value in mass.items():
            if word not in posteriors:
                posteriors[word] = np.zeros(self.lattice.frames)
            posteriors[word][begin:end] += value
        return posteriors


def _logadd(a: float, b: float) -> float:
    if a < b:
        a, b = b, a
    if b == -math.inf:
        return a
    return a + math.log1p(math.exp(b - a))


# ---------------------------------------------------------------------------
# Recognition


def distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Edit distance of two sequences."""
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            diagonal, row[j] = (
                row[j],
                min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b)),
            )
    return row[-1]


class Recogniser:
    """pocketsphinx with its bundled English models, and the features."""

    def __init__(self, nbest: int) -> None:
        self._nbest = nbest
        decoder = Decoder(**WORD_SETTINGS)
        # The scores are integers, logarithms to a base just above one.
        unit = decoder.logmath.log_to_ln(1_000_000) / 1_000_000
        self._lm = LanguageModel(decoder.get_lm(), unit)
        self._weights = Weights.of(decoder)

    def _decode(self, audio: bytes, settings: dict[str, Any]) -> Decoder:
        """Recognise one utterance by a new decoder.

        A decoder that has heard something before gives slightly different
        scores, so that the result would depend on the order of the utterances.
        """
        decoder = Decoder(**settings)
        decoder.start_utt()
        decoder.process_raw(audio, no_search=False, full_utt=True)
        decoder.end_utt()
        return decoder

    def _free_phones(self, audio: bytes) -> list[str]:
        """The phones that are heard when nothing is known about words."""
        decoder = self._decode(audio, PHONE_SETTINGS)
        phones = [segment.word for segment in decoder.seg()]
        return [phone for phone in phones if phone != "SIL" and phone[0] != "+"]

    def recognise(self, audio: bytes) -> dict[str, Any] | None:
        """Recognise one utterance; None if nothing came out."""
        self._lm.forget()
        decoder = self._decode(audio, WORD_SETTINGS)
        hypothesis = decoder.hyp()
        if hypothesis is None:
            return None
        with tempfile.TemporaryDirectory() as directory:
            graph = save_lattice(decoder, Path(directory))
        search = Search(graph, self._lm, self._weights)
        paths = search.best_strings(self._nbest)
        posteriors = search.word_posteriors()
        heard = self._free_phones(audio)
        return {
            "onebest": hypothesis.hypstr,
            "hypotheses": [self._describe(decoder, search, found, posteriors, heard) for found in paths],
        }

    def _describe(
        self,
        decoder: Decoder,
        search: Search,
        found: Found,
        posteriors: dict[str, np.ndarray],
        heard: list[str],
    ) -> dict[str, Any]:
        lattice = search.lattice
        words = search.words_of(found.nodes)
        pauses = 0
        phones: list[str] = []
        rhythm: list[tuple[int, int]] = []
        confidence = 0.0
        ends = [lattice.starts[node] for node in found.nodes[1:]] + [lattice.frames]
        for node, end in zip(found.nodes, ends, strict=True):
            entry = lattice.words[node]
            begin = lattice.starts[node]
            if is_filler(entry):
                pauses += node not in (lattice.initial, lattice.final)
                continue
            pronunciation = decoder.lookup_word(entry).split()
            phones.extend(pronunciation)
            rhythm.append((len(pronunciation), end - begin))
            frames = posteriors.get(base_word(entry))
            posterior = 0.0 if frames is None else float(frames[begin:end].mean())
            confidence += math.log(max(posterior, MIN_POSTERIOR))
        return {
            "text": " ".join(words),
            "total": found.total,
            "features": {
                "acoustic": found.acoustic,
                "lm": self._lm.trigram(words),
                "unigram": self._lm.unigram(words),
                "words": len(words),
                "pauses": pauses,
                "confidence": confidence,
                "rhythm": rhythm_score(rhythm),
                "phones": len(phones),
                "phone_match": -distance(phones, heard),
            },
        }


def rhythm_score(words: Sequence[tuple[int, int]]) -> float:
    """How evenly a hypothesis spreads its phones over the time.

    `words` are pairs (phones, frames).  Wrong words tend to be too long or too
    short for the time they claim; the score is the weighted squared deviation
    of each word's log speaking rate from the hypothesis's own, negated.
    """
    phones = sum(n for n, _ in words)
    frames = sum(d for _, d in words)
    if not phones or not frames:
        return 0.0
    rate = frames / phones
    return -sum(n * math.log(max(d, 1) / (n * rate)) ** 2 for n, d in words)


# ---------------------------------------------------------------------------
# Program

_recogniser: Recogniser | None = None


@dataclass(frozen=True)
class Utterance:
    """One sentence at its position in the file."""

    index: int
    sentence: str

    @property
    def name(self) -> str:
        """The identifier of the utterance."""
        return f"utt{self.index + 1:04d}"

    @property
    def set(self) -> str:
        """The set the utterance goes to."""
        return SET_CYCLE[self.index % len(SET_CYCLE)]


@dataclass(frozen=True)
class Job(Utterance):
    """One sentence to be recognised."""

    nbest: int
    result: Path


def run(job: Job) -> str:
    """Speak and recognise one sentence unless that was done before.

    The recogniser is loaded once per process, on first use.
    """
    global _recogniser
    if job.result.exists():
        known = json.loads(job.result.read_text(encoding="utf-8"))
        if (known["sentence"], known["nbest"]) == (job.sentence, job.nbest):
            return job.name
    if _recogniser is None:
        _recogniser = Recogniser(job.nbest)
        # The search makes millions of small objects, none of them in cycles:
        # looking for cycles would take longer than the search itself.
        gc.disable()
    recognised = _recogniser.recognise(synthesise(job.sentence, job.index))
    record = {
        "id": job.name,
        "sentence": job.sentence,
        "nbest": job.nbest,
        "result": recognised,
    }
    partial = job.result.with_suffix(".part")
    partial.write_text(json.dumps(record), encoding="utf-8")
    partial.replace(job.result)
    return job.name


def to_segment(record: dict[str, Any]) -> dict[str, Any] | None:
    """Turn a stored result into a line of the lists; None if it is useless.

    Hypotheses keep the order of the recogniser's own totals, except that its
    actual answer goes first.  The two differ now and then because the
    recogniser approximates the language model's context around pauses.
    """
    result = record["result"]
    if result is None:
        return None
    own = result["onebest"]
    hypotheses = [h for h in result["hypotheses"] if not VULGAR.search(h["text"])]
    hypotheses.sort(key=lambda h: (h["text"] != own, -h["total"]))
    if len(hypotheses) < 2:
        return None
    return {
        "id": record["id"],
        "references": [" ".join(normalise(record["sentence"]))],
        "hypotheses": [
            {
                "text": hypothesis["text"],
                "features": {name: round(hypothesis["features"][name], digits) for name, digits in FEATURES.items()},
            }
            for hypothesis in hypotheses
        ],
    }


def write_lines(path: Path, segments: Iterable[dict[str, Any]]) -> None:
    """Write JSON lines, compressed by xz."""
    text = "".join(json.dumps(segment, separators=(",", ":")) + "\n" for segment in segments)
    packed = lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
    path.write_bytes(packed)


def summary(name: str, segments: Sequence[dict[str, Any]]) -> str:
    """Word error rates of the first and of the best hypotheses."""
    words = first = best = 0
    for segment in segments:
        reference = segment["references"][0].split()
        errors = [distance(reference, hypothesis["text"].split()) for hypothesis in segment["hypotheses"]]
        words += len(reference)
        first += errors[0]
        best += min(errors)
    hypotheses = sum(len(segment["hypotheses"]) for segment in segments)
    return (
        f"{name}: {len(segments)} segments, {hypotheses} hypotheses, "
        f"word error rate {first / max(words, 1):.2%} "
        f"(oracle {best / max(words, 1):.2%})"
    )


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(
        description="Make n-best lists with espeak-ng and pocketsphinx.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--sentences",
        type=Path,
        default=here / "sentences.txt",
        help="text file, one sentence a line",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path(),
        help="directory for asr-{tune,heldout,test}.jsonl.xz",
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=Path("asr-work"),
        help="directory for finished utterances; delete it to start afresh",
    )
    parser.add_argument("--nbest", type=int, default=100, help="hypotheses a sentence")
    parser.add_argument("--jobs", type=int, default=1, help="processes to use")
    parser.add_argument("--limit", type=int, default=None, help="use only this many sentences")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the whole chain."""
    options = parse_arguments(arguments)
    sentences = options.sentences.read_text(encoding="utf-8").splitlines()
    options.work.mkdir(parents=True, exist_ok=True)
    options.output.mkdir(parents=True, exist_ok=True)
    jobs = [
        Job(index, sentence, options.nbest, options.work / f"{index + 1:04d}.json")
        for index, sentence in enumerate(sentences[: options.limit])
    ]
    with multiprocessing.Pool(options.jobs) as pool:
        for count, name in enumerate(pool.imap(run, jobs), 1):
            print(f"{name}: {count} of {len(jobs)} done", file=sys.stderr)

    sets: dict[str, list[dict[str, Any]]] = {name: [] for name in SET_SIZES}
    same = total = 0
    for job in jobs:
        record = json.loads(job.result.read_text(encoding="utf-8"))
        segment = to_segment(record)
        members = sets[job.set]
        if segment is None or len(members) == SET_SIZES[job.set]:
            continue
        members.append(segment)
        total += 1
        best = max(record["result"]["hypotheses"], key=lambda h: h["total"])
        same += best["text"] == record["result"]["onebest"]
    for name, members in sets.items():
        path = options.output / f"asr-{name}.jsonl.xz"
        write_lines(path, members)
        print(summary(name, members), f"{path.stat().st_size} bytes", sep=", ")
    print(f"the best string is the recogniser's own answer in {same} of {total} cases")


if __name__ == "__main__":
    main()
