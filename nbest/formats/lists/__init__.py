"""Formats of n-best lists, one file each."""
