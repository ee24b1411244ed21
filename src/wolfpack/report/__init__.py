"""Figures (Matplotlib) and self-contained HTML pages."""

from __future__ import annotations

from .page import Figure, Page, Section, Table
from .plots import Chart, Line, Panel, need_matplotlib, save
from .run_page import run_page

__all__ = [
    "Chart",
    "Figure",
    "Line",
    "Page",
    "Panel",
    "Section",
    "Table",
    "need_matplotlib",
    "run_page",
    "save",
]
