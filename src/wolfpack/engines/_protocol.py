"""What an engine is."""

from __future__ import annotations


class EngineFailure(RuntimeError):
    """No worker is left, or the oracle's answers cannot be had from the engine."""
