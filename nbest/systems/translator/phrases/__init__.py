"""Phrase pairs and their table."""
