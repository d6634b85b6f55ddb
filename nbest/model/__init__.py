"""Models: recipes of added features, weights, how a choice is made, and their files."""

from nbest.model.loglinear import LogLinear, load

__all__ = ["LogLinear", "load"]
