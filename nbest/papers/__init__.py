"""The papers' tables and figures on real data, one command a paper. `PAPERS` names them all; adding one is one module
and one line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from nbest.base.errors import look_up

if TYPE_CHECKING:
    from nbest.papers.run import Paper

PAPERS = {
    "jagarlamudi-2012": "jagarlamudi",
    "nguyen-2007": "nguyen",
    "pauls-2009": "pauls",
    "smith-eisner-2006": "smith_eisner",
    "yuan-2007": "yuan",
}
"""Modules by the name of the paper on the command line; each has a `PAPER`."""

__all__ = ["PAPERS", "paper"]


def paper(name: str) -> Paper:
    """A paper by its name; its module is imported only now."""
    module = look_up(PAPERS, name, "paper")
    found: Paper = import_module(f"nbest.papers.{module}.paper").PAPER
    return found
