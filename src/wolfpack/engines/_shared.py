"""Query points in memory that processes share: no name, hence nothing to leave behind."""

from __future__ import annotations

import math
import mmap
import os
import tempfile
from typing import Any

import numpy as np

SLOTS = 32
"""Arrays that can be kept; memory is used only for slots that were written to."""


class Slots:
    """A few arrays of one size in a file without a name, which child processes inherit.

    Parameters
    ----------
    nbytes : int
        Bytes of one array.
    handle : int, optional
        The file, when it is inherited; a new one otherwise.
    """

    def __init__(self, nbytes: int, handle: int | None = None) -> None:
        self.nbytes = max(1, nbytes)
        size = SLOTS * self.nbytes
        access = mmap.ACCESS_READ if handle is not None else mmap.ACCESS_WRITE
        if handle is None:
            handle = _nameless_file()
            os.ftruncate(handle, size)
        self.handle = handle
        self._map = mmap.mmap(handle, size, access=access)
        self._views: dict[Any, np.ndarray] = {}

    def write(self, slot: int, array: Any) -> tuple[int, str, tuple[int, ...]]:
        """Copy an array into a slot; return what `read` must be given to find it."""
        place = slot, array.dtype.str, array.shape
        self.read(*place)[...] = array
        return place

    def read(self, slot: int, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return the array in a slot, without a copy."""
        view = self._views.get((slot, dtype, shape))
        if view is None:
            flat = np.frombuffer(self._map, dtype, math.prod(shape), offset=slot * self.nbytes)
            view = self._views[slot, dtype, shape] = flat.reshape(shape)
        return view

    def close(self) -> None:
        """Free the memory, as soon as no array uses it."""
        os.close(self.handle)


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("wolfpack")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
