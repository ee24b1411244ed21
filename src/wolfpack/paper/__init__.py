"""The experiments of the paper: data, every series of the figures, and what they show."""

from __future__ import annotations

from .experiments import Record, execute
from .instances import Instance, instance
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
