"""The phrasal ITG decoder."""
