"""The outer loop: decode with the current weights, add the new candidates, optimise, and again."""

from nbest.loop.loop import Inputs, Loop

__all__ = ["Inputs", "Loop"]
