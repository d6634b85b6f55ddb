"""The papers' tables and figures on real data, one command a paper. `PAPERS` names them all; adding one is one folder
and one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbest.base.registry import Registry

if TYPE_CHECKING:
    from nbest.papers.run import Paper

PAPERS: Registry[Paper] = Registry(
    "paper",
    {
        "jagarlamudi-2012": "jagarlamudi.paper:PAPER",
        "nguyen-2007": "nguyen.paper:PAPER",
        "pauls-2009": "pauls.paper:PAPER",
        "smith-eisner-2006": "smith_eisner.paper:PAPER",
        "yuan-2007": "yuan.paper:PAPER",
    },
    room=__name__,
)
"""Papers by their name on the command line; a module is imported when its paper is asked for."""

__all__ = ["PAPERS", "paper"]


def paper(name: str) -> Paper:
    """A paper by its name; its module is imported only now."""
    return PAPERS.look_up(name)
