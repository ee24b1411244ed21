"""Figures (Matplotlib) and self-contained HTML pages."""

from __future__ import annotations

from .page import Figure, Page, Section, Table
from .plots import Chart, Line, Panel, need_matplotlib, save

__all__ = [
    "Chart",
    "Figure",
    "Line",
    "Page",
    "Panel",
    "Section",
    "Table",
    "need_matplotlib",
    "save",
]
