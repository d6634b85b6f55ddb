"""The n-gram language model: counting, smoothing, pruning, files, and queries from kernels."""
