"""Trainers that choose among many sparse features."""
