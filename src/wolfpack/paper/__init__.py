"""The experiments of the paper: data, every series of the figures, and what they show."""

from __future__ import annotations

from .experiments import execute
from .instances import Instance, instance
from .series import FIGURES, Run

__all__ = ["FIGURES", "Instance", "Run", "execute", "instance"]
