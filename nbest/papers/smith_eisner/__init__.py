"""Smith & Eisner (2006)."""
