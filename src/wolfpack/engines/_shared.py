"""Query points in memory that processes share. It has no name, so nothing can be left behind."""

from __future__ import annotations

import math
import mmap
import os
import sys
import tempfile
from typing import TypeAlias

import numpy as np

SLOTS = 32
"""Number of arrays that fit; memory is used only for slots that were written to."""

Place: TypeAlias = tuple[int, str, tuple[int, ...]]
"""Slot, type and shape of an array."""


class Slots:
    """A few arrays of ``nbytes`` each in a file without a name, which child processes inherit.

    ``handle`` is the file when it is inherited. Without it a new file is made.
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
        self._views: dict[Place, np.ndarray] = {}

    def write(self, slot: int, array: np.ndarray) -> Place:
        """Copy an array into a slot; return where `read` finds it."""
        place = slot, array.dtype.str, array.shape
        self.read(place)[...] = array
        return place

    def read(self, place: Place) -> np.ndarray:
        """Return the array at a place, without a copy."""
        view = self._views.get(place)
        if view is None:
            slot, dtype, shape = place
            flat = np.frombuffer(self._map, dtype, math.prod(shape), offset=slot * self.nbytes)
            view = self._views[place] = flat.reshape(shape)
        return view

    def close(self) -> None:
        """Free the memory, as soon as no array uses it."""
        os.close(self.handle)


def _nameless_file() -> int:
    if sys.platform == "linux":
        return os.memfd_create("wolfpack")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
