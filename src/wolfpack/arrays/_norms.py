"""Norms by name: "l2", "l1", and "l" with an exponent between."""

from __future__ import annotations

from ._ops import inner
from ._place import to_host
from ._types import Array


def dual_norm_squared(g: Array, norm: str) -> float:
    """Return ||g||_*^2, the squared dual norm: of "l2" it is l2, of "l1" l_inf."""
    if norm == "l2":
        return inner(g, g)
    g = to_host(g)
    top, p = float(abs(g).max()), norm_order(norm)
    if p == 1.0 or top == 0.0:
        return top**2
    return (top * float(((abs(g) / top) ** (p / (p - 1))).sum()) ** (1 - 1 / p)) ** 2


def norm_squared(y: Array, norm: str) -> float:
    """Return ||y||^2 in the norm "l2", "l1", or "l" and an exponent between."""
    if norm == "l2":
        return inner(y, y)
    p = norm_order(norm)
    return float((abs(to_host(y)) ** p).sum()) ** (2 / p)


def norm_order(norm: str) -> float:
    """Return the exponent p of a norm's name: 2 for "l2", 1.5 for "l1.5"."""
    return float(norm[1:])
