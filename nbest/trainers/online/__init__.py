"""Trainers that pass over the lists, one at a time."""
