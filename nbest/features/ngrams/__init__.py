"""Counts of n-grams and of pairs as sparse columns."""
