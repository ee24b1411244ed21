r"""Quadratics over the convex hull of known points, in their weights.

.. math:: \min_w\ \tfrac12 w^\top G w + c^\top w \quad\text{over } w \ge 0,\ \textstyle\sum_i w_i=1,

G being the Gram matrix of the points, by Wolfe's method: minimise over the affine hull of the
points that have weight (the face), stop at the first weight that becomes zero and drop it, and when
none does let the point with the smallest slope enter.

The face has a Cholesky factor R of :math:`G + \sigma 1 1^\top`, which has the same curvature along
steps of sum 0 and is positive definite where the points are affinely independent. A point that
enters adds a column to R, and points that leave are taken out by one triangular-pentagonal QR
factorisation. Both cost O(s^2), s being the size of the face. The factor is handed back, so that
the next correction of a hull begins with it; after `REFRESH` changes it is computed anew. A factor
that has lost digits makes steps shorter or less direct, never wrong: slopes and curvatures come
from G itself.

Sources
    P. Wolfe, Finding the nearest point in a polytope, Mathematical Programming 11, 1976.
"""

from __future__ import annotations

import copy
import math

import numpy as np
from scipy.linalg import blas, lapack

from ...arrays import Array
from ...problem import tick

REFRESH = 200
"""Points that enter or leave before the factor is computed anew."""

_PIVOT = 1e-12
_SMALLEST = 1e-100
_ROOM = 16
_PANEL = 32


class Face:
    """The factor of the points with weight, with which the next correction begins.

    Faces that grew out of each other share a factor. It knows how many columns have been written
    to, and a correction changes it in its place only if these are the points of its own face;
    otherwise it changes a copy.

    Parameters
    ----------
    order : array of int
        Positions of the points in the hull, in order of entrance; -1 for one that is gone.
    R : array
        The upper triangular factor.
    shift : float
        The number sigma.
    age : int
        Points that entered or left since the factor was computed anew.
    ones : array
        R^-T 1.
    room : int
        Points for which there is room; beyond those of the face R is an identity.
    """

    def __init__(
        self, order: Array, R: Array, shift: float, age: int, ones: Array, room: int
    ) -> None:
        self.order, self.shift, self.age, self.ones = order, shift, age, ones
        n = len(order)
        self.buffer, self.written = np.eye(room, order="F"), [n]
        self.buffer[:n, :n] = R[:n, :n]

    @classmethod
    def sharing(cls, face: _Face) -> Face:
        """Return the face whose factor a correction has made."""
        self = cls.__new__(cls)
        self.order, self.shift, self.age = face.order.copy(), face.shift, face.age
        self.ones, self.buffer, self.written = face.ones[: face.n].copy(), face.R, face.written
        return self

    def saved_fields(self) -> dict[str, object]:
        """Return what a checkpoint keeps, by the names of the constructor's arguments."""
        n, names = len(self.order), ("order", "shift", "age", "ones")
        kept: dict[str, object] = {name: getattr(self, name) for name in names}
        return kept | {"R": np.array(self.buffer[:n, :n]), "room": len(self.buffer)}

    def only(self, kept: Array, count: int) -> Face:
        """Return the face for a hull that keeps the points ``kept`` of ``count``."""
        place = np.full(count + 1, -1)
        place[kept] = np.arange(len(kept))
        moved = copy.copy(self)
        moved.order = place[self.order]
        return moved


def minimize_weights(
    gram: Array, slopes: Array, weights: Array, tol: float, known: Face | None = None
) -> tuple[Array, Face | None]:
    """Return weights with a smaller value of the quadratic, near its minimum over the simplex.

    ``gram`` is positive semidefinite and ``slopes`` is the gradient at ``weights``, the start. On
    return the slopes satisfy, rounding permitting, mean - min <= tol and max - mean <= tol, the
    mean taken with the weights and the max over the support; the first number bounds the distance
    to the minimum. The value never increases. ``known`` is the face that an earlier call has
    returned for this Gram matrix, or for a part of it.
    """
    w, r, used = weights, slopes, weights > 0
    mean = float(r.dot(w))
    if mean - r[r.argmin()] <= tol and r[used].max() - mean <= tol:
        return weights, known
    w, r, face = w.copy(), r.copy(), _Face(gram, known, used)
    spread_before, entered = math.inf, False
    # two turns per point that enters or leaves are typical; the limit ends what rounding prolongs
    for _ in range(20 + 10 * len(w)):
        tick()
        on_face = r[face.order]
        spread = float(on_face[on_face.argmax()] - on_face[on_face.argmin()])
        # more steps on one face only correct the rounding errors of the first
        if spread > 0.1 * tol and spread < 0.5 * spread_before:
            move = face.descent(on_face)
            slope = float(on_face.dot(move))
            uphill = slope >= 0 or (entered and move[-1] <= 0)
            if uphill and face.age:
                face.factor(face.order.copy())
                continue
            if uphill and entered:
                face.remove(np.array([len(move) - 1]))
                break  # the point that entered had the smallest slope by rounding only
            if slope < 0:
                spread_before, entered = spread, False
                if _advance(gram, w, r, face, move, slope):
                    spread_before = math.inf
                continue
        entering = int(r.argmin())
        if float(r.dot(w)) - r[entering] <= 0.5 * tol or face.has[entering]:
            break
        face.add(entering)
        spread_before, entered = math.inf, True
    return w / w.sum(), face.frozen()


def _advance(gram: Array, w: Array, r: Array, face: _Face, move: Array, slope: float) -> bool:
    """Move the weights to the minimum along ``move`` or until one vanishes; tell whether one did.

    ``w`` and the slopes ``r`` are written to. Points whose weight has vanished leave the face.
    """
    order = face.order
    change = _times(gram, order, move)
    curvature = float(change[order].dot(move))
    exact = -slope / curvature if curvature > 0 else math.inf
    shrinking = (move < 0).nonzero()[0]
    before = w[order]
    room = before[shrinking] / -move[shrinking]
    least = float(room[room.argmin()]) if len(room) else math.inf
    step = min(exact, least)
    if not math.isfinite(step):  # a factor of noise may give a move without a direction
        return False
    after = np.maximum(before + step * move, 0.0)
    r += step * change
    if least > step:
        w[order] = after
        return False
    gone = shrinking[room <= step]
    after[gone] = 0.0
    w[order] = after
    face.remove(gone)
    return True


def _times(gram: Array, order: Array, move: Array) -> Array:
    """Return G times the vector that has ``move`` at the positions ``order``."""
    if 3 * len(order) < len(gram):
        return move.dot(gram[order])
    whole = np.zeros(len(gram))
    whole[order] = move
    return gram.dot(whole)


class _Face:
    """Points with weight, in order of entrance, and R with R'R = G + sigma 1 1'.

    Pivots of affinely dependent points are raised, which keeps the step downhill and lets it grow
    until one of them loses its weight. ``ones`` is R^-T 1, and ``has`` tells of each point of the
    hull whether it is on the face. Beyond the points R is an identity, and vectors are 0.
    """

    def __init__(self, gram: Array, known: Face | None, used: Array) -> None:
        self.gram = gram
        if known is None or known.age >= REFRESH:
            self.factor(np.flatnonzero(used))
            return
        stays = (known.order >= 0) & used[known.order]
        left, needed = np.count_nonzero(stays), np.count_nonzero(used)
        if 2 * left < needed:
            self.factor(np.flatnonzero(used))
            return
        n, room = len(known.order), len(known.buffer)
        self.n, self.shift, self.age = n, known.shift, known.age
        self.R, self.written = known.buffer, known.written
        if known.written[0] != n:
            self._make_room(n, room)
            self.R[:n, :n] = known.buffer[:n, :n]
        self._order, self.ones = np.zeros(room, dtype=int), np.zeros(room)
        self._order[:n], self.ones[:n] = known.order, known.ones
        self.has = np.zeros(len(gram), dtype=bool)
        self.has[known.order[stays]] = True
        if left < n:
            self.remove(np.flatnonzero(~stays))
        if left < needed:
            for point in np.flatnonzero(used & ~self.has):
                self.add(int(point))

    @property
    def order(self) -> Array:
        """Positions of the points in the hull."""
        return self._order[: self.n]

    def frozen(self) -> Face:
        """Return what the next correction begins with."""
        return Face.sharing(self)

    def factor(self, points: Array) -> None:
        """Compute the factor of these points anew."""
        gram, self.n, self.age = self.gram, len(points), 0
        self.has = np.zeros(len(gram), dtype=bool)
        self.has[points] = True
        self.shift = max(float(gram.diagonal().mean()), _SMALLEST)
        matrix = gram[np.ix_(points, points)] + self.shift
        ridge = _PIVOT * self.shift
        while True:
            matrix[np.diag_indices(self.n)] += ridge
            R, info = lapack.dpotrf(matrix, lower=0, clean=1)
            if info == 0:
                break
            ridge *= 10.0
        self._make_room(self.n)
        self.R[: self.n, : self.n] = R
        self._order[: self.n] = points
        self._solve_ones()

    def descent(self, slopes: Array) -> Array:
        """Return the step to the minimiser over the face's affine hull, of sum 0.

        It is R^-1 (R^-T 1 a/b - R^-T slopes), with a and b such that it has the sum 0.
        """
        right = np.zeros(len(self.R))
        # a common slope changes nothing, and subtracting it keeps the digits of the rest
        np.subtract(slopes, slopes.sum() / self.n, out=right[: self.n])
        half, ones = blas.dtrsv(self.R, right, trans=1, overwrite_x=1), self.ones
        right = (float(ones.dot(half)) / float(ones.dot(ones))) * ones - half
        return blas.dtrsv(self.R, right, overwrite_x=1)[: self.n]

    def add(self, point: int) -> None:
        """Let a point enter: one more column of R."""
        n = self.n
        if n == len(self.R):
            R, order, ones = self.R, self._order, self.ones
            self._make_room(n)
            self.R[:n, :n], self._order[:n] = R, order
            self.ones = np.append(ones, np.zeros(len(self.R) - n))
        column = np.zeros(len(self.R))
        column[:n] = self.gram[point, self.order] + self.shift
        column = blas.dtrsv(self.R, column, trans=1, overwrite_x=1)
        square = self.gram[point, point] + self.shift - float(column.dot(column))
        pivot = math.sqrt(max(square, _PIVOT * self.shift))
        self.R[:n, n] = column[:n]
        self.R[n, n] = pivot
        self.ones[n] = (1.0 - float(column.dot(self.ones))) / pivot
        self._order[n] = point
        self.has[point] = True
        self.n, self.age = n + 1, self.age + 1
        self.written[0] = self.n

    def remove(self, gone: Array) -> None:
        """Let the points at these places of the order leave.

        Without their columns R consists of a triangle and one row for each of them, below which a
        QR factorisation makes zeros. What is before the first of them stays.
        """
        first, n = int(gone[0]), self.n
        stays = np.ones(n, dtype=bool)
        stays[gone] = False
        kept = np.flatnonzero(stays)
        old, order = self.R.T, self.order.copy()  # rows of the transpose are contiguous
        self.n, self.age = len(kept), self.age + len(gone)
        self._make_room(self.n)
        new, rest = self.R.T, kept[first:]
        new[:first, :first] = old[:first, :first]
        if len(rest):
            rows = old[rest]
            new[first : self.n, :first] = rows[:, :first]
            triangle, below = rows[:, rest].T, rows[:, gone].T
            R, _, _, _ = lapack.dtpqrt(
                0, min(_PANEL, len(rest)), triangle, below, overwrite_a=1, overwrite_b=1
            )
            new[first : self.n, first : self.n] = R.T
        self._order[: self.n] = order[kept]
        leaving = order[gone]
        self.has[leaving[leaving >= 0]] = False
        self._solve_ones()

    def _make_room(self, n: int, size: int = 0) -> None:
        """Make a factor for n points, without them, of ``size`` or with room for more to enter."""
        size = size or n + max(_ROOM, n // 16)
        self.R, self.written = np.eye(size, order="F"), [n]
        self._order = np.zeros(size, dtype=int)

    def _solve_ones(self) -> None:
        right = np.zeros(len(self.R))
        right[: self.n] = 1.0
        self.ones = blas.dtrsv(self.R, right, trans=1, overwrite_x=1)
