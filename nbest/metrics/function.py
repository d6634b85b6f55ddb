"""A metric of a plain function: the mean of what it says of each hypothesis."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nbest.base.errors import CapabilityError, ParameterError, shown
from nbest.base.parameters import parameter
from nbest.base.types import Floats, Ints, References
from nbest.corpus.texts import Texts
from nbest.metrics.rates import Mean, values_as_stats, versioned
from nbest.metrics.references import flatten


@dataclass(frozen=True, kw_only=True)
class OfFunction(Mean):
    """Mean of `function(hypothesis, references)`, in its own unit; also of `function(hypothesis)`, for which lists need
    no references, and of `function(hypothesis, references, source)`.

    Equal hypotheses of a segment are asked for once. Statistics: value, count (1). Losses are distances to the best of
    the values given together. Processes and clusters need a function with a name of its own, which can be pickled.
    """

    function: Callable[..., float] = parameter(..., "from a text and its references to a number")
    name: str = parameter("function", "its name in scores")
    higher_is_better: bool = parameter(True, "whether higher scores are better")

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterError(f"'function' of metric must be a function, got {shown(self.function)}")
        if not 1 <= self._arguments <= 3:
            raise ParameterError(
                f"'function' of metric must take a hypothesis, and may take its references, and the source; "
                f"it takes {self._arguments} arguments"
            )

    @property
    def _arguments(self) -> int:
        """How many arguments without a default the function has; 2 where nothing is known of them."""
        try:
            known = inspect.signature(self.function).parameters.values()
        except (TypeError, ValueError):
            return 2
        plain = [each for each in known if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
        needed = sum(each.default is each.empty for each in plain)
        return max(needed, 2) if any(each.kind is each.VAR_POSITIONAL for each in known) else needed

    @property
    def needs_sources(self) -> bool:
        """Whether the function takes the source, too."""
        return self._arguments == 3

    @property
    def needs_references(self) -> bool:
        """Whether the function takes more than the hypothesis."""
        return self._arguments > 1

    def stats(
        self, texts: Texts, offsets: Ints, references: References, sources: Sequence[str] | None = None
    ) -> Floats:
        """[H, 2] what the function says, and 1."""
        if self.needs_references:
            flatten(texts, offsets, references)  # sizes
        if self.needs_sources and sources is None:
            raise CapabilityError(f"the function of {self.name} takes the source, and there are none")
        values: list[Any] = []
        for segment, group in enumerate(references):
            more: tuple[Any, ...] = (tuple(group),) if self.needs_references else ()
            if self.needs_sources and sources is not None:
                more = (*more, sources[segment])
            known: dict[str, Any] = {}
            for h in range(offsets[segment], offsets[segment + 1]):
                text = texts[h]
                if text not in known:
                    known[text] = self._value(text, *more)
                values.append(known[text])
        return values_as_stats(self.name, values)

    def _value(self, text: str, *more: Any) -> float:
        found = self.function(text, *more)
        try:
            return float(found)
        except (TypeError, ValueError):
            raise ParameterError(
                f"the function of {self.name} must return a number, got {shown(found)} for {shown(text)}"
            ) from None

    def signature(self, references: int = 1) -> str:
        """The name, the function's own and which way is better."""
        own = getattr(self.function, "__qualname__", type(self.function).__name__)
        return versioned(
            references, label=self.name, function=own, better="higher" if self.higher_is_better else "lower"
        )


def metric(function: Callable[..., float], *, name: str = "function", higher_is_better: bool = True) -> OfFunction:
    """A metric of a function from a hypothesis (and its references, if it takes two arguments, and the source, if it
    takes three) to a number; the corpus score is their mean. It works wherever a metric does: training, MBR,
    significance."""
    return OfFunction(function=function, name=name, higher_is_better=higher_is_better)
