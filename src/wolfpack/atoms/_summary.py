"""The mean of a batch of vertices in few numbers, to be sent from a worker to the driver.

``summarize(atoms).mean()`` has the bits of ``atoms.mean()``: where a sum was computed, on another
machine or here, must not show.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ..arrays import concat, reshape
from ._base import Array, Atoms
from ._blocks import BlockAtoms
from ._rank_one import RankOne
from ._rows import Rows


class Summary(ABC):
    """The mean of some vertices."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""

    @abstractmethod
    def mean(self) -> Array:
        """Return the mean as a dense array."""

    def added(self, total: Array, weight: float) -> Array:
        """Return ``weight`` times the mean plus ``total``, which may be written to."""
        total += weight * self.mean()
        return total


class DenseSummary(Summary):
    """The mean itself."""

    def __init__(self, array: Array) -> None:
        self.array = array

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    def mean(self) -> Array:
        return self.array


class SparseSummary(Summary):
    """The entries of a mean that are not zero: for one-hot vertices, one per distinct vertex."""

    def __init__(self, positions: Array, entries: Array, fill: float, shape: tuple[int, ...]):
        self.positions = positions
        self.entries = entries
        self.fill = fill
        self.shape = shape

    def __reduce__(self) -> tuple[object, ...]:
        # bytes pickle several times faster than arrays, and a round waits for it
        return _sparse_from_bytes, (
            (self.positions.tobytes(), self.positions.dtype.str),
            (self.entries.tobytes(), self.entries.dtype.str),
            self.fill,
            self.shape,
        )

    @property
    def nbytes(self) -> int:
        return self.positions.nbytes + self.entries.nbytes

    def mean(self) -> Array:
        out = np.full(self.shape, self.fill, dtype=self.entries.dtype)
        out.reshape(-1)[self.positions] = self.entries
        return out

    def added(self, total: Array, weight: float) -> Array:
        total.reshape(-1)[self.positions] += weight * self.entries
        return total


def _sparse_from_bytes(
    positions: tuple[bytes, str], entries: tuple[bytes, str], fill: float, shape: tuple[int, ...]
) -> SparseSummary:
    return SparseSummary(np.frombuffer(*positions), np.frombuffer(*entries), fill, shape)


class FactoredSummary(Summary):
    """Rank-one vertices as their factors, when these are smaller than the matrix."""

    def __init__(self, atoms: RankOne) -> None:
        self.atoms = atoms

    @property
    def nbytes(self) -> int:
        return self.atoms.u.nbytes + self.atoms.v.nbytes

    def mean(self) -> Array:
        return self.atoms.mean()


class JoinedSummary(Summary):
    """Blocks side by side, each with a summary of its own."""

    def __init__(self, parts: list[Summary]) -> None:
        self.parts = parts

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.parts)

    def mean(self) -> Array:
        return concat([reshape(part.mean(), (-1,)) for part in self.parts])


def summarize(atoms: Atoms) -> Summary:
    """Return the mean of a batch in the form that takes the fewest bytes."""
    if isinstance(atoms, BlockAtoms):
        return JoinedSummary([summarize(part) for part in atoms.parts])
    if isinstance(atoms, RankOne):
        u, v = atoms.u, atoms.v
        # a copy in another memory order could be multiplied in another order, to other bits
        if u.size + v.size < atoms.size and u.flags.c_contiguous and v.flags.c_contiguous:
            return FactoredSummary(atoms)
    mean = atoms.mean()
    flat = mean.reshape(-1)
    positions = np.flatnonzero(flat)
    if 3 * positions.size > flat.size or not flat.size:
        return DenseSummary(mean)
    negative = int(np.signbit(flat[flat == 0]).sum())
    if negative not in (0, flat.size - positions.size):
        return DenseSummary(mean)
    kind = np.uint32 if flat.size < 2**32 else np.uint64
    fill = -0.0 if negative else 0.0
    return SparseSummary(positions.astype(kind), flat[positions], fill, mean.shape)


def portable(atoms: Atoms) -> Atoms:
    """Return the same vertices without what the receiver has or does not need: a hull's table."""
    if isinstance(atoms, Rows):
        rows = atoms.table[np.atleast_1d(atoms.index)]
        index = np.array(0) if atoms.count is None else np.arange(atoms.count)
        return Rows(rows, index, atoms.vertex_shape)
    return atoms
