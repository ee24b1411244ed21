"""The one loop that drives every solver, and what it reports."""

from __future__ import annotations

from .history import History
from .result import Callback, Result, load
from .run import run
from .status import Status
from .stopping import Limits

__all__ = ["Callback", "History", "Limits", "Result", "Status", "load", "run"]
