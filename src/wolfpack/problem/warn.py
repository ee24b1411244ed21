"""Warnings that name the user's line, not one of this library."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

_HOME = str(Path(__file__).resolve().parents[1]) + os.sep


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of the library that led here."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_HOME):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
