"""Nodes of the tree, what solving one has shown, and how one is cut in two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...arrays import Array
from ...problem import Region

KEPT = 24
"""Vertices, those of largest weight, that the nodes below begin with."""

FRACTIONAL = 1e-6
"""Distance from the nearest integer from which on an entry counts as fractional."""


class IntegerRegion(Region, Protocol):
    """A set of which bounds on the integer entries give a part; entries are counted flat."""

    integer: Array
    low: Array
    high: Array

    def within(self, low: Array, high: Array, known: Array | None = None) -> Any:
        """Return the part with integer entries in [low, high], None if it is empty."""
        ...

    def prices(self, g: Array) -> tuple[float, Array] | None:
        """Return a level and prices of a linear lower bound on <g, x>, None if unknown."""
        ...


class Node(NamedTuple):
    """Bounds on the integer entries, and what the node above has left.

    ``bound`` is proved for all integer points of the node. ``entry`` is the position among integer
    entries that the node above was branched on, -1 at the root; ``up`` whether this is the part
    above, and ``shift`` by how much the entry was moved.
    """

    low: Array
    high: Array
    bound: float
    depth: int
    number: int
    entry: int
    up: int
    shift: float
    vertices: Array
    weights: Array


class Outcome(NamedTuple):
    """What a node has shown.

    ``fun`` is f at the best integer ``point`` found, infinite without one. ``entry`` is the integer
    entry to branch on, -1 where the node is closed; ``x`` is the solution of the relaxation. The
    counts are what the node cost, ``rounding`` what its bound allows for rounding errors.
    """

    bound: float
    value: float
    fun: float
    entry: int
    nfev: int
    njev: int
    nlmo: int
    rounding: float
    x: Array
    point: Array
    low: Array
    high: Array
    vertices: Array
    weights: Array


class PseudoCosts(NamedTuple):
    """Sums of bound gained per unit of an entry moved down (column 0) and up, and their counts."""

    gains: Array
    counts: Array

    @classmethod
    def none(cls, q: int) -> PseudoCosts:
        """Return the costs of q entries of which nothing is known."""
        return cls(np.zeros((q, 2)), np.zeros((q, 2)))

    def learned(self, entry: int, side: int, gain: float, shift: float) -> PseudoCosts:
        """Return the costs after a branch has raised the bound by ``gain``."""
        gains, counts = self.gains.copy(), self.counts.copy()
        gains[entry, side] += max(gain, 0.0) / max(shift, FRACTIONAL)
        counts[entry, side] += 1.0
        return PseudoCosts(gains, counts)

    def scores(self, down: Array, up: Array) -> Array:
        """Return how much both branches of each entry promise, as a product."""
        total = self.counts.sum(axis=0)
        typical = np.where(total > 0, self.gains.sum(axis=0) / np.maximum(total, 1.0), 1.0)
        mean = np.where(self.counts > 0, self.gains / np.maximum(self.counts, 1.0), typical)
        least = 1e-6 * max(float(typical.max()), 1e-300)
        return np.maximum(mean[:, 0] * down, least) * np.maximum(mean[:, 1] * up, least)


class Aim(NamedTuple):
    """What a node is to be compared with: f at the best integer point, and the gap allowed."""

    fun: float
    goal: float

    @property
    def cutoff(self) -> float:
        """The bound from which on a node cannot improve the incumbent by more than the gap."""
        return self.fun - 0.9 * self.goal


@dataclass(frozen=True)
class Rules:
    """How nodes are solved: see `wolfpack.solvers.integer.BranchAndBound`."""

    branching: str = "pseudo-cost"
    sigma: float = 0.0


def inside(node: Node, region: IntegerRegion) -> Array:
    """Return which vertices of the node above satisfy this node's bounds."""
    entries = node.vertices[:, region.integer]
    inside = (entries >= node.low - FRACTIONAL) & (entries <= node.high + FRACTIONAL)
    return inside.all(axis=1)


def fractions(x: Array) -> tuple[Array, Array]:
    """Return how far each entry is above the integer below it, and below the one above."""
    whole = abs(x - np.round(x)) <= FRACTIONAL
    down = np.where(whole, 0.0, x - np.floor(x))
    return down, np.where(whole, 0.0, np.ceil(x) - x)


def split(
    node: Node,
    low: Array,
    high: Array,
    entry: int,
    at: float,
    vertices: Array,
    weights: Array,
    bound: float,
) -> tuple[Node, Node]:
    """Return the two parts of a node with these bounds; ``at`` is the entry's value."""
    floor = np.floor(at)
    if floor >= high[entry]:  # integral at the upper end
        floor = high[entry] - 1.0
    below, above = high.copy(), low.copy()
    below[entry], above[entry] = floor, floor + 1.0
    common = {"bound": bound, "depth": node.depth + 1, "number": -1, "entry": entry}
    known = {"vertices": vertices, "weights": weights}
    return (
        Node(low=low, high=below, up=0, shift=at - floor, **common, **known),
        Node(low=above, high=high, up=1, shift=floor + 1.0 - at, **common, **known),
    )
