"""The phrase-based translator."""
