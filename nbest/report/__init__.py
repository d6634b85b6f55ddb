"""Tables, figures and pages of results, and what writes them: to the terminal, as Markdown, LaTeX or CSV, as SVG."""

from nbest.report.page import Cell, Column, Figure, Items, Live, Page, Table
from nbest.report.renderers import RENDERERS, Renderer

__all__ = ["RENDERERS", "Cell", "Column", "Figure", "Items", "Live", "Page", "Renderer", "Table"]
