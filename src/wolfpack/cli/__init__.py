"""The command line."""

from __future__ import annotations

from .app import app, run

__all__ = ["app", "run"]
