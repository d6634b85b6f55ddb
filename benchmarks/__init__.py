"""Benchmarks: each prints ratios against a peer or a plain version in the same run."""
