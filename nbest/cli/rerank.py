"""`nbest rerank`: choose with a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nbest.base.parameters import parameter
from nbest.cli import commands as c


@dataclass(frozen=True, kw_only=True)
class Rerank(c.Further, c.AnswerOption, c.FormatOption, c.EngineOption, c.Quiet, c.AsJson):
    """Choose the best hypothesis of each list, or derivation of each forest, with a tuned model; texts, one a line.

    Lines stand in the order of the ids where these are numbers, else in that of the lists. An empty list gives an empty
    line, and so does a number that is missing among the ids; --ids and --json carry the ids.
    vote takes the answer that most hypotheses have, or, with a model, the one that most of its probability has;
    best-of-majority the best score among the frequent answers; mbr the hypothesis that is nearest to all others;
    consensus the one whose n-grams are nearest to those the model expects, over the whole list or forest. vote and mbr
    need no model.

    --json tells how sure each choice is: the probability that it is right, where the model was calibrated (nbest
    calibrate, tune --calibrate), else the share of votes or weight of its answer. --abstain-below, --coverage or --risk
    leave segments of which it is not sure enough without an answer: an empty line, "index": null in JSON.

    [bold]Examples[/bold]

      nbest rerank test.nbest --model model.json > out.txt

      nbest rerank test.nbest --decision first > first.txt

      nbest rerank test.jsonl --weights kiwi=1 --json > kiwi.jsonl

      nbest rerank test.nbest --model model.json --decision mbr --gain chrf -o out.txt

      nbest rerank test.jsonl --decision vote --answer last-number > majority.txt

      nbest rerank test.jsonl --weights verifier=1 --decision best-of-majority --answer boxed > guarded.txt

      nbest rerank test.jsonl --model calibrated.json --risk 0.05 --json > sure.jsonl

      nbest rerank test.jsonl --model model.json --top 5 -o best.jsonl   (reranked lists)

      echo '{"candidates": [{"text": "4", "logprob": -1.5}, ...]}' | nbest rerank --stream --model model.json

      nbest rerank kaldi/ --model model.json --ids -o out.tsv && nbest score out.tsv --refs text -m wer

      nbest rerank lattices/ --model model.json --decision consensus > out.txt
    """

    panels: ClassVar[c.Panels] = {
        "Choosing": ("gain", "normalize", "gamma", "pool", "share", "evidence", "order", "among", "k"),
        "Giving no answer": ("abstain_below", "coverage", "risk", "delta"),
        "What is printed": ("top", "to", "stream", "ids"),
    }
    test: list[str] = parameter((), c.LISTS, flags=("test",))  # type: ignore[arg-type]
    model: str | None = parameter(None, "Model of nbest tune, or a Moses weight file; not for first.")
    weights: str | None = parameter(None, "Instead of a model: NAME=VALUE,NAME=VALUE; NAME=1 is one score alone.")
    lm: list[str] | None = parameter(None, "Language model of the model's features, if not in its folder; repeat.")
    decision: str | None = parameter(
        None,
        "1best, vote, best-of-majority, mbr, consensus, or first (of each list); default the model's own.",
        flags=("--decision", "-d"),
    )
    gain: str | None = parameter(None, "What mbr measures: wer, bleu, chrf, ... (default: the model's metric).")
    normalize: str | None = parameter(
        None,
        "Normalise texts before vote, mbr or consensus compare them: whisper, basic, ... (default: as in the model).",
    )
    gamma: float | None = parameter(
        None,
        "Sharpness of vote (default 1), mbr and consensus (the model's); large is 1best, 0 is without any model.",
        least=0.0,
    )
    pool: str | None = parameter(
        None,
        "How voters of an answer count: by their posteriors (default), or by the sum of their scores.",
        choices=("posteriors", "scores"),
    )
    share: float | None = parameter(
        None,
        "best-of-majority: votes that count as enough, of those of the most frequent answer (default 0.5).",
        least=0.0,
        most=1.0,
    )
    evidence: int | None = parameter(None, "Most probable hypotheses mbr measures against (default 100).", least=1)
    order: int | None = parameter(None, "Longest n-grams of consensus (default 4); 1 is word counts.", least=1)
    among: int | None = parameter(
        None, "mbr and consensus choose among the best-scored so many hypotheses (default: all).", least=1
    )
    k: int = parameter(1000, "From a forest: mbr and consensus choose among its k best strings.", least=1)
    abstain_below: float | None = parameter(
        None, "Give no answer where the confidence is below this.", least=0.0, most=1.0
    )
    coverage: float | None = parameter(
        None, "Answer this share of the segments, the surest, by the calibration of the model.", least=0.0, most=1.0
    )
    risk: float | None = parameter(
        None, "Answer as many as may be with at most this share of wrong answers, by the same.", least=0.0, most=1.0
    )
    delta: float | None = parameter(
        None, "How often the bound of --risk may fail, by the draw of held-out segments (default 0.1).", least=0.0
    )
    top: int | None = parameter(
        None,
        "Write lists of so many best hypotheses: what is chosen, then by score, which is added to the features.",
        least=1,
    )
    to: str | None = parameter(None, "With --top: format of the output (default: by suffix, else jsonl).")
    stream: bool = parameter(
        False, "Answer lists that come on stdin, one a line of JSON, one by one, as --json does; for services."
    )
    output: str = parameter("-", "Chosen texts, one a line (with --top: lists); - is stdout.", flags=("--output", "-o"))
    ids: bool = parameter(False, "Write id TAB text, which nbest score matches by id.")
    as_json: bool = parameter(
        False,
        "A JSON object a line: id, text, index, score, confidence; gain and group where the lists have them.",
        flags=("--json",),
    )

    def run(self) -> None:
        """Read, choose, write."""
        if self.stream:
            from nbest.cli.streaming import run
        else:
            from nbest.cli.reranking import run
        run(self)
