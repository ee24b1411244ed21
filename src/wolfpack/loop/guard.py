"""What a callback may look at, and cannot write to."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np

from ..arrays import is_foreign, read_only

_PACKAGE = __name__.partition(".")[0]


def guarded(value: Any) -> Any:
    """Return a state, or a part of one, whose arrays cannot be written to.

    NumPy's arrays become read-only views, those of other libraries copies. Tuples, dataclasses and
    the library's own objects are copied; lists and dictionaries too.
    """
    if isinstance(value, np.ndarray) or is_foreign(value):
        return read_only(value)
    if isinstance(value, tuple):
        parts = map(guarded, value)
        return type(value)._make(parts) if hasattr(value, "_make") else tuple(parts)  # pyright: ignore
    if isinstance(value, list):
        return [guarded(entry) for entry in value]
    if isinstance(value, dict):
        return {name: guarded(entry) for name, entry in value.items()}
    if type(value).__module__.partition(".")[0] != _PACKAGE or isinstance(value, type):
        return value
    if not (dataclasses.is_dataclass(value) or hasattr(value, "__dict__")):
        return value
    twin = copy.copy(value)
    for name, entry in vars(value).items():
        object.__setattr__(twin, name, guarded(entry))
    return twin
