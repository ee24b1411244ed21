"""What all kinds of parts share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, cast

import numpy as np
from scipy.sparse import issparse

from ...readers import ProblemError


class Part(ABC):
    """A block of rows that has not been loaded.

    Attributes
    ----------
    name : str
        What messages call it.
    nbytes : int or None
        Its size, where that is known before it is loaded.
    resident : bool
        Whether its data are in the memory of this process anyway.
    """

    name: str
    nbytes: int | None = None
    resident: bool = False

    @abstractmethod
    def load(self) -> Any:
        """Return the data: mostly a pair of arrays."""

    def check(self) -> None:
        """Raise if the data are not those that were named any more; most kinds cannot change."""
        return


def size_of(array: Any) -> int:
    """Return the bytes of an array, dense or sparse; 0 where they are unknown."""
    if issparse(array):
        csr: Any = array
        parts = [getattr(csr, name, None) for name in ("data", "indices", "indptr", "row", "col")]
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
    return int(getattr(array, "nbytes", 0))


_TARGETS = ("b", "labels", "targets", "counts", "y")


def split_frame(found: Any, target: str | None) -> Any:
    """Return the matrix and the targets of a data frame; anything else as it is.

    The targets are the column ``target``, or one with a usual name, or the last one.
    """
    frame: Any = found
    if isinstance(found, tuple):
        frame = found[0] if len(cast("tuple[Any, ...]", found)) == 1 else None
    if not (hasattr(frame, "columns") and hasattr(frame, "to_numpy")):
        return found
    names = list(frame.columns)
    if target is None:
        target = next((name for name in _TARGETS if name in names), names[-1])
    if target not in names:
        raise ProblemError(f"there is no column {target!r}, found {', '.join(map(str, names))}")
    others = [name for name in names if name != target]
    return frame[others].to_numpy(), frame[target].to_numpy()
