"""Yuan, Gao & Bu (2007)."""
