"""Algorithms on packed forests: semirings, posteriors, expectations, k-best, sampling, envelopes, consensus."""
