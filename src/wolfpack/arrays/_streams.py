"""Counter-based random streams: the same numbers for any worker, order or restart."""

from __future__ import annotations

import operator

import numpy as np


class Streams:
    """Random streams addressed by (round, block), all derived from one seed.

    ``at(k, block)`` is the generator ``Philox(key=seed, counter=[0, 0, block, k])``. Nothing is
    carried from one call to the next, so blocks may be drawn anywhere, in any order, again after a
    failure, and a run resumed at round k draws what the undisturbed run would have drawn. Streams
    do not overlap: each has 2**128 numbers to itself. The seed is an integer in [0, 2**128).

    One generator object is kept and its state reset, which is ten times cheaper than a new one.
    Threads must therefore not share an instance.
    """

    __slots__ = ("_bits", "_counter", "_generator", "_state", "seed")

    def __init__(self, seed: int = 0) -> None:
        try:
            seed = operator.index(seed)
        except TypeError:
            raise TypeError(f"seed must be an integer, found {type(seed).__name__}") from None
        if not 0 <= seed < 2**128:
            raise ValueError(f"seed must satisfy 0 <= seed < 2**128, found {seed}")
        self.seed = seed
        self._bits = np.random.Philox(key=seed)
        self._state = self._bits.state
        self._counter = self._state["state"]["counter"]
        self._generator = np.random.Generator(self._bits)

    def at(self, k: int, block: int = 0) -> np.random.Generator:
        """Return the generator of round ``k`` and block ``block``, at its beginning."""
        self._counter[2] = block
        self._counter[3] = k
        self._bits.state = self._state
        return self._generator
