"""Exact line search: the best place along a direction, over lists, forests and sparse columns."""
