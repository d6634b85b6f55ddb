"""`nbest convert`: from one format to another."""

from __future__ import annotations

from dataclasses import dataclass

from nbest.base.parameters import parameter
from nbest.cli import commands as c


@dataclass(frozen=True, kw_only=True)
class Convert(c.ReaderOption, c.Quiet):
    """Convert candidate lists and forests between formats; docs/formats.md says what each keeps.

    From forests to lists with --top: the best distinct strings. From lists to forests: a forest of one node each.

    [bold]Examples[/bold]

      nbest convert generate.log dev.jsonl

      nbest convert dev.nbest dev.store --refs dev.ref   (arrays on disk: read without parsing, larger than memory)

      nbest convert beams.tsv dev.jsonl.xz --from nemo --option manifest=dev.json

      nbest convert dev.jsonl dev.nbest --top 50 --dedupe

      nbest convert dev.nbest dev.jsonl --drop words,noise

      nbest convert all.jsonl dev.jsonl --split 0.5 --rest test.jsonl   (at random; whole documents, where it has any)

      nbest convert lattices/ dev.forests.jsonl.gz --prune 1e-4 --model model.json

      nbest convert lattices/ dev.jsonl --top 100 --model model.json

      nbest convert model.json moses.ini   (the weights of a model, for Moses)
    """

    source: str = parameter(
        ..., "Lists in any known format, - is stdin; or a model, if the target is .ini.", flags=("source",)
    )
    target: str = parameter(..., c.TARGET, flags=("target",))
    source_format: str | None = parameter(None, "Format of the source, where guessing fails.", flags=("--from",))
    target_format: str | None = parameter(
        None, "Format of the target (default: by suffix, else jsonl).", flags=("--to",)
    )
    refs: list[str] | None = parameter(None, c.REFS, flags=("--refs", "-r"))
    dedupe: bool = parameter(False, "Drop repeated texts of a list.")
    top: int | None = parameter(None, "Keep only the first hypotheses of each list; of forests: their best.", least=1)
    drop: str | None = parameter(None, "Leave these features out: NAME,NAME.")
    split: float | None = parameter(
        None, "Write only this share of the segments, drawn at random; groups are not parted.", least=0.0, most=1.0
    )
    rest: str | None = parameter(None, "With --split: where to write the others.")
    split_seed: int = parameter(1, "Seed of the split.")
    model: str | None = parameter(None, "Weights that rank the derivations of forests (default: their own).")
    prune: float | None = parameter(None, "Of forests: drop edges whose posterior is smaller.", least=0.0, most=1.0)
    gamma: float | None = parameter(
        None, "Sharpness of that posterior (default: the model's; for own weights 1 / largest).", least=0.0
    )

    def run(self) -> None:
        """Read, change, write, say what was written."""
        from nbest.cli.converting import run

        run(self)
