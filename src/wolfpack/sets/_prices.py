r"""Prices of constraints: what the minimum of a linear function gains when a right-hand side grows.

For :math:`K = \{z : A z = b,\ G z \le h,\ \ell \le z \le u\}` the minimum of <c, z> is that of the
dual program, and its multipliers are the derivatives of the minimum by b, h, l and u.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..arrays import Array
from ..problem import Polyhedron
from ..problem.polyhedron import Rows
from ._highs import COST, Limits, Program

Prices = dict[str, Any]
"""An array or a number for each kind of constraint, or such a dictionary for each part of K."""


class RowPrices(NamedTuple):
    """Derivatives of min <c, z> by the right-hand sides of a polyhedron, in its order.

    Those of inequalities and of upper bounds are at most 0, those of lower bounds at least 0.
    """

    equations: Array
    inequalities: Array
    lower: Array
    upper: Array


def row_prices(K: Polyhedron, g: Array) -> RowPrices:
    """Return the prices of a polyhedron's constraints at the minimum of <g, x> over its points."""
    c = np.asarray(g, dtype=np.float64).reshape(-1)
    c = c if K.lift is None else K.lift.T @ c
    largest = float(abs(c).max(initial=0.0)) or 1.0
    none = Rows(sparse.csr_array((0, K.n)), np.zeros(0))
    (G, h), (A, b) = K.inequalities or none, K.equations or none
    low, high = (np.broadcast_to(side, (K.n,)).astype(np.float64) for side in (K.low, K.high))
    limits = Limits(
        np.concatenate([np.full(len(h), -np.inf), b]), np.concatenate([h, b]), low, high
    )
    rows = sparse.vstack([sparse.csr_array(G), sparse.csr_array(A)], format="csc")
    found = Program(rows, limits).solve_anew(c * (COST / largest))
    if found.status != "Optimal":
        raise RuntimeError(f"HiGHS found no minimiser: {found.status}")
    duals = found.duals * (largest / COST)
    inequalities, equations = np.minimum(duals[: len(h)], 0.0), duals[len(h) :]
    rest = c - G.T @ inequalities - A.T @ equations
    return RowPrices(equations, inequalities, np.maximum(rest, 0.0), np.minimum(rest, 0.0))


def named(
    prices: RowPrices, K: Polyhedron, names: dict[str, str], shape: tuple[int, ...]
) -> Prices:
    """Return the prices of the constraints that K has, under the names of the set's parameters.

    The price of a single row is a number. Prices of bounds on the entries of x have x's shape.
    """
    present = {
        "equations": len(prices.equations) > 0,
        "inequalities": len(prices.inequalities) > 0,
        "lower": bool(np.isfinite(K.low).any()),
        "upper": bool(np.isfinite(K.high).any()),
    }
    found: Prices = {}
    for kind, values in prices._asdict().items():
        if present[kind]:
            single = kind in ("equations", "inequalities") and len(values) == 1
            bounds = kind in ("lower", "upper") and K.lift is None
            value = float(values[0]) if single else values.reshape(shape) if bounds else values
            found[names.get(kind, kind)] = value
    return found


def distances(tails: Array, heads: Array, cost: Array, nodes: int, origins: Array) -> Array:
    """Return the least cost of a path from each origin to each node, infinite where there is none.

    Bellman and Ford's sweeps over all edges; no cycle may have a negative cost.
    """
    found = np.full((nodes, len(origins)), np.inf)
    found[origins, np.arange(len(origins))] = 0.0
    for _ in range(nodes):
        before = found.copy()
        np.minimum.at(found, heads, before[tails] + cost[:, None])
        if np.array_equal(found, before):
            break
    return found.T
