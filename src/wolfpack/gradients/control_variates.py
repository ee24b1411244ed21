r"""Control variates: what is known of each row's gradient, to reduce the variance of minibatches.

With rows B drawn with probabilities :math:`p_i`, the mean of

.. math:: g = \frac1m \sum_{i \in B} \frac{1}{p_i} \bigl(\nabla \ell_i(v) -
    \nabla \ell_i(y_i)\bigr) + \sum_i \nabla \ell_i(y_i)

is :math:`\nabla G(v)` for any points :math:`y_i` that were chosen before the rows: where each row
was last seen ("saga": A. Defazio, F. Bach, S. Lacoste-Julien, SAGA, NIPS 2014), or one anchor for
all of them, moved now and then ("svrg": R. Johnson, T. Zhang, Accelerating stochastic gradient
descent using predictive variance reduction, NIPS 2013). The variance vanishes with the distances of
v and the :math:`y_i` from the minimum: Theorem 1 holds with a sigma that shrinks along the run. For
:math:`\ell_i(\langle a_i, y\rangle)` one number per row is kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, library, like, to_host

REDUCTIONS = ("saga", "svrg")


class Difference(NamedTuple):
    """Where a table differs from another one, and its own entries there."""

    other: SlopeTable
    places: Any
    entries: Array


class SlopeTable:
    """A column of numbers, one per row of the data; a value, though changes cost little.

    `replaced` returns a new table and leaves the old one as it was. Both share one array, which
    holds the entries of the table that was used last; the other one remembers where it differs.
    Whoever reads an older table exchanges these entries first (H. Baker, Shallow binding makes
    functional arrays fast, SIGPLAN Notices 26, 1991). Reading the newest one costs nothing.
    """

    def __init__(self, values: Array) -> None:
        # Either the array itself or, for an older table, a `Difference`.
        self._content: Any = values
        self._changes = 0

    @property
    def values(self) -> Array:
        """The entries; not to be written to."""
        if isinstance(self._content, Difference):
            self._exchange()
        return self._content

    def replaced(self, places: Any, fresh: Array) -> SlopeTable:
        """Return the table with the entries ``places`` replaced by ``fresh``."""
        values, changes = self.values, self._changes + fresh.shape[0]
        if library(values) == "jax":  # whose arrays cannot be written to
            return SlopeTable(values.at[places].set(fresh))
        if library(values) == "other":  # the standard knows no writing at places
            whole = np.array(to_host(values))
            whole[places] = to_host(fresh)
            return SlopeTable(like(whole, values))
        if changes >= values.shape[0]:
            # After as many changes as there are entries the new table gets an array of its own, so
            # that an old table that somebody keeps does not remember more than that.
            after = SlopeTable(1.0 * values)
            after._content[places] = fresh
            return after
        after = SlopeTable(values)
        after._changes = changes
        # From here on this table is whole, even if the write below is interrupted.
        self._content = Difference(after, places, 1.0 * values[places])
        values[places] = fresh
        return after

    def _exchange(self) -> None:
        """Take the array from the table that has it, and note there what differs from now on."""
        chain: list[SlopeTable] = [self]
        while isinstance(chain[-1]._content, Difference):
            chain.append(chain[-1]._content.other)
        values = chain[-1]._content
        for older, newer in zip(chain[-2::-1], chain[:0:-1], strict=True):
            _, places, entries = older._content
            newer._content = Difference(older, places, 1.0 * values[places])
            values[places] = entries
            older._content = values

    def __reduce__(self) -> tuple[Any, ...]:
        return SlopeTable, (1.0 * self.values,)

    def saved_fields(self) -> dict[str, Array]:
        """Return what a checkpoint keeps."""
        return {"values": self.values}


class Anchor(NamedTuple):
    """What is known of the gradient of a source of minibatches: that at one point.

    Attributes
    ----------
    k : int
        The round in which it was measured.
    y : array
        The point.
    gradient : array
        The full gradient there.
    dual : float
        Its dual point.
    """

    k: int
    y: Array
    gradient: Array
    dual: float


class ControlVariate(NamedTuple):
    """What is known of each row's gradient.

    Attributes
    ----------
    k : int
        The round that last changed it.
    table : SlopeTable
        Gradients of the loss, one per row, in the order in which a copy of the data has the rows if
        there is one (`Minibatches.table` returns them in their own order).
    gradient : array
        Their sum A' theta.
    """

    k: int
    table: SlopeTable
    gradient: Array
