"""Formats of packed forests, one file each."""
