"""Shapes of matrices as arguments."""

from __future__ import annotations

from typing import Any

from ._base import as_shape


def matrix_shape(shape: Any) -> tuple[int, int]:
    """Return ``shape`` as a pair (p, q) of positive integers."""
    sizes = as_shape(shape, "shape")
    if len(sizes) != 2:
        raise ValueError(f"shape must be (p, q), found {shape!r}")
    return sizes


def square_shape(n: Any) -> tuple[int, int]:
    """Return (n, n) for a positive integer n."""
    sizes = as_shape(n)
    if len(sizes) != 1:
        raise ValueError(f"n must be one positive integer, found {n!r}")
    return sizes[0], sizes[0]
