"""Texts that somebody else wrote, before any form of report gives them a place."""

from __future__ import annotations

import re

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # not allowed in XML 1.0
_CONTROL = re.compile("[\x7f-\x9f]")


def clean(text: str) -> str:
    """Text without the characters that XML cannot hold, even escaped."""
    return _FORBIDDEN.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Text on one line, without control characters."""
    return _CONTROL.sub("\ufffd", clean(" ".join(text.splitlines())).replace("\t", " "))
