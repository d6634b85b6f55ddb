"""A model as a file that Moses reads."""

from __future__ import annotations

from nbest.base.errors import CapabilityError
from nbest.cli.console import Console
from nbest.formats.moses_weights import write_moses_weights
from nbest.model.loglinear import LogLinear

WEIGHTS = ".ini"
"""How the name of such a file ends."""


def put_weights(model: LogLinear, output: str, console: Console) -> None:
    """Write the weights, and say that they are all."""
    if model.features:  # of the method itself, lowdim's, or added
        raise CapabilityError(f"{output}: a Moses weight file cannot hold features that a model adds; use .json")
    write_moses_weights(output, model.weights)
    own = model.decision.get("kind", "1best")
    lost = "a .json model may decide better" if own == "1best" else f"the model decides by {own}"
    console.say(f"{output} holds weights alone: choices by it are 1-best; {lost}")
