"""How files are written: whole or not at all, and by one run at a time."""

from __future__ import annotations

from .lock import NAME as LOCK
from .lock import FolderInUse, locked
from .whole import replacing, staging, write_text

__all__ = ["LOCK", "FolderInUse", "locked", "replacing", "staging", "write_text"]
