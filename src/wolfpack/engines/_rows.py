"""Rows of numbers that are added one by one, kept as compact as an array."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import overload

import numpy as np


class Rows(Sequence[tuple[float, ...]]):
    """Rows of equal length in one array of doubles, which grows as a list does.

    A copy made by `view` costs nothing: it shares the array with the original, which only appends
    to it. A view that is added to takes a copy first.

    Parameters
    ----------
    width : int
        Numbers in a row.
    rows : iterable of tuples
        What to begin with.
    """

    def __init__(self, width: int, rows: Iterable[Sequence[float]] = ()) -> None:
        self.width = width
        self._data = array("d")
        self._length: int | None = None  # of a view
        for row in rows:
            self.append(row)

    @classmethod
    def of(cls, table: np.ndarray) -> Rows:
        """Return the rows of a matrix."""
        rows = cls(table.shape[1])
        rows._data.frombytes(np.ascontiguousarray(table, dtype=np.float64).tobytes())
        return rows

    def append(self, row: Sequence[float]) -> None:
        """Add a row."""
        if self._length is not None:
            self._data, self._length = self._data[: self._length * self.width], None
        self._data.frombytes(_packer(self.width)(*row))  # `extend` takes three times as long

    def clear(self) -> None:
        """Remove all rows; views keep theirs."""
        self._data, self._length = array("d"), None

    def view(self, length: int | None = None) -> Rows:
        """Return the first ``length`` rows, all by default, unaffected by what is added later."""
        rows = Rows(self.width)
        rows._data, rows._length = self._data, len(self) if length is None else length
        return rows

    def table(self) -> np.ndarray:
        """Return the rows as a new matrix."""
        # A copy: while memory is lent to NumPy, nothing can be appended.
        whole = np.frombuffer(self._data, dtype=np.float64, count=len(self) * self.width)
        return whole.reshape(-1, self.width).copy()

    def column(self, index: int) -> np.ndarray:
        """Return one column as a new array."""
        whole = np.frombuffer(self._data, dtype=np.float64, count=len(self) * self.width)
        return whole[index :: self.width].copy()

    def __len__(self) -> int:
        return len(self._data) // self.width if self._length is None else self._length

    @overload
    def __getitem__(self, index: int) -> tuple[float, ...]: ...

    @overload
    def __getitem__(self, index: slice) -> Rows: ...

    def __getitem__(self, index: int | slice) -> tuple[float, ...] | Rows:
        if isinstance(index, slice):
            if index.start in (None, 0) and index.step in (None, 1):
                return self.view(range(len(self))[index].stop)
            return Rows.of(self.table()[index])
        first = range(len(self))[index] * self.width
        return tuple(self._data[first : first + self.width])

    def __iter__(self) -> Iterator[tuple[float, ...]]:
        for first in range(0, len(self) * self.width, self.width):
            yield tuple(self._data[first : first + self.width])


@cache
def _packer(width: int) -> Callable[..., bytes]:
    """Return what turns so many numbers into the bytes of doubles."""
    return struct.Struct(f"{width}d").pack
