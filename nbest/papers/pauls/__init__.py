"""Pauls, DeNero & Klein (2009)."""
