"""Ellipsoids, full or flat."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, scaled_norm
from ..atoms import Atoms, Dense
from ..problem.checks import as_array
from ._base import Set
from .l2_ball import L2Ball

_U = 2.0**-53


class Ellipsoid(Set):
    r"""The ellipsoid :math:`\{x : (x - c)^\top S^{-1} (x - c) \le 1\}`.

    Parameters
    ----------
    center : array, shape (n,)
        The centre c.
    matrix : array, shape (n, n) or (n,)
        The shape matrix S, symmetric and positive semidefinite; or its diagonal, the squares of the
        half axes. Where S is singular the ellipsoid is flat.

    Notes
    -----
    The ellipsoid is c + F times the unit ball, where S = F F' and F = V diag(a) has the axes as
    its columns. So the oracle is c - F w/||w|| with w = F'g, O(n^2), or O(n) for a diagonal. The
    diameter is twice the longest half axis, and the radius is at most ||c|| and that half axis.
    `certify` subtracts the rounding errors of <c, g> - ||F'g||.

    Projection is the root t of :math:`\sum_i a_i^2 y_i^2/(a_i^2 + t)^2 = 1` with y = V'(x - c).
    The reciprocal of the root of that sum is concave in t, so Newton's method rises to the solution
    from below. `violation` is the distance.

    Examples
    --------
    >>> K = Ellipsoid([1.0, 0.0], [[4.0, 0.0], [0.0, 9.0]])
    >>> np.asarray(K.lmo(np.array([-1.0, 0.0])))
    array([3., 0.])
    """

    summary = "{K.sizes}"
    _derived = ("axes", "half_axes", "_factor", "_ball")

    def __init__(self, center: ArrayLike, matrix: ArrayLike) -> None:
        c, S = as_array(center, "center"), as_array(matrix, "matrix")
        if c.ndim != 1 or c.size == 0:
            raise ValueError(f"center must be a vector that is not empty, found shape {c.shape}")
        n = len(c)
        if S.shape not in ((n, n), (n,)):
            raise ValueError(
                f"matrix must have shape {(n, n)}, or {(n,)} for a diagonal, found {S.shape}"
            )
        self.center, self.matrix = c.astype(np.float64), S.astype(np.float64)
        self.shape = (n,)
        self.half_axes, self.axes = _axes(self.matrix)
        self._factor = self.half_axes if self.axes is None else self.axes * self.half_axes
        self._ball = L2Ball(n)
        longest = float(self.half_axes.max())
        if self.axes is not None:
            longest *= 1.0 + 8.0 * n * _U  # the axes are orthonormal up to rounding
        self.radius = scaled_norm(self.center) + longest
        self.diameter, self.centred_radius = 2.0 * longest, longest

    def _lmo(self, g: Array) -> Dense:
        w = self._ball._lmo(self._pulled(g)).to_dense()
        spread = w * self._factor if self.axes is None else w @ self._factor.T
        return Dense(self.center + spread, self.shape)

    def _pulled(self, g: Array) -> Array:
        """Return F'g."""
        g = g.astype(np.float64, copy=False)
        return g * self._factor if self.axes is None else g @ self._factor

    def certify(self, g: Array, vertex: Atoms) -> float:
        w, c = self._pulled(g), self.center
        largest = float(abs(w).max())
        length = largest * float(np.linalg.norm(w / largest)) if largest > 0.0 else 0.0
        # |fl(F'g) - F'g| <= gamma_n |F|'|g|, whose norm is at most ||F||_F ||g||
        size = scaled_norm(c) + scaled_norm(self._factor)
        rounding = 2.0 * (len(c) + 8) * _U * size * scaled_norm(g)
        return float(c @ g) - length - rounding

    def violation(self, x: Array) -> float:
        y, longest = self._coordinates(x), float(self.half_axes.max())
        far = float(abs(y).max())
        if far > 4.0 * longest:  # at most the distance, and of its size
            return far - longest
        return scaled_norm(y - self._nearest(y))

    def start(self) -> Array:
        return self.center.copy()

    def _project(self, x: Array) -> Array:
        y = self._coordinates(x)
        z = self._nearest(y)
        if z is y:
            return x + 0.0
        return self.center + (z if self.axes is None else self.axes @ z)

    def _coordinates(self, x: Array) -> Array:
        """Return V'(x - c)."""
        with np.errstate(over="ignore", invalid="ignore"):
            moved = x - self.center
            return moved if self.axes is None else moved @ self.axes

    def _nearest(self, y: Array) -> Array:
        """Return the nearest point of the ellipsoid with these axes, ``y`` itself if inside."""
        a = self.half_axes
        flat = a <= 0.0
        scaled = np.divide(y, a, out=np.zeros_like(y), where=~flat)
        with np.errstate(over="ignore"):
            inside = float(np.linalg.norm(scaled)) <= 1.0
        if inside:
            return np.where(flat, 0.0, y) if y[flat].any() else y
        # each term alone is at most 1 at the solution
        t = max(0.0, float((a * (abs(y) - a)).max()))
        for _ in range(100):
            below = a * a + t
            q = np.divide(a * y, below, out=np.zeros_like(y), where=below > 0.0)
            length = float(np.linalg.norm(q))
            slope = float((q * q / np.where(below > 0.0, below, 1.0)).sum())
            step = length * length * (length - 1.0) / slope if slope > 0.0 else 0.0
            if not t + step > t * (1.0 + 4.0 * _U):
                break
            t += step
        below = a * a + t
        q = np.divide(a * y, below, out=np.zeros_like(y), where=below > 0.0)
        return a * q / max(1.0, float(np.linalg.norm(q)))


def _axes(S: Array) -> tuple[Array, Array | None]:
    """Return the half axes and the directions of the axes as columns, None for a diagonal."""
    if S.ndim == 1:
        values, V = S, None
        rounding = 0.0
    else:
        skew, size = float(abs(S - S.T).max()), float(abs(S).max())
        if skew > 1e-10 * size:
            raise ValueError(f"matrix must be symmetric, found entries that differ by {skew:.3g}")
        values, V = np.linalg.eigh(0.5 * S + 0.5 * S.T)
        rounding = 8.0 * len(S) * _U * size
    if float(values.min()) < -1e3 * rounding:
        raise ValueError(
            "matrix must be positive semidefinite, found an eigenvalue of "
            f"{float(values.min()):.3g}"
        )
    # eigenvalues that rounding may have made are 0
    return np.sqrt(np.where(values <= rounding, 0.0, values)), V
