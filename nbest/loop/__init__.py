"""The outer loop: decode with the current weights, add the new candidates, optimise, and again."""

from nbest.loop.inputs import Inputs
from nbest.loop.loop import Loop

__all__ = ["Inputs", "Loop"]
