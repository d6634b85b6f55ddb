"""Nguyen, Mahajan & He (2007)."""
