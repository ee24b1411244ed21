"""The experiments of the paper: its data, every series of its two figures, and what they show."""

from __future__ import annotations

from .data import Instance, instance
from .experiments import Record, execute
from .series import FIGURES, Curve, FigureSpec, PanelSpec, Run

__all__ = [
    "FIGURES",
    "Curve",
    "FigureSpec",
    "Instance",
    "PanelSpec",
    "Record",
    "Run",
    "execute",
    "instance",
]
