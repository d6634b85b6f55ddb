"""nbest learns to pick the best of n: weights for candidate lists, by the metric that matters."""

__version__ = "0.1.0"
