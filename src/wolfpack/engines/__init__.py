"""Where the oracles of a round run."""

from __future__ import annotations

from ._protocol import EngineFailure

__all__ = ["EngineFailure"]
