"""Jagarlamudi & Daume III (2012)."""
