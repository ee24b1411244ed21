r"""Batches of objectives: values, gradients and certificates of many problems at once.

`wolfpack.minimize_many` asks them. The points of B problems are the rows of a matrix. Certificates
are those of docs/theory/rounding.md, row by row: Lemmas E2 and E3 for losses of a linear model, E4
for quadratics, E5 for callables.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..arrays import (
    ArgumentError,
    Array,
    arange,
    full,
    is_foreign,
    like,
    namespace,
    reshape,
    row_norms,
    rows,
    same_place,
    spare,
    sum_last,
    sums_are_wide,
    to_host,
    wide_dtype,
    zeros,
)
from ..problem import Stacked, accumulation, sum_unit, unit_of
from ..problem.checks import shown
from ..problem.rounding import MODEL, UNIT
from ._base import Objective
from .finite_sum import FiniteSum
from .function import Function
from .quadratic import Quadratic

MAX_GRAM = 512
"""Dimension up to which the second derivatives of a least-squares problem are kept as a matrix."""


class Batch(NamedTuple):
    """Values (B,) and gradients (B, d) of B problems."""

    values: Array
    gradients: Array


class Bounds(NamedTuple):
    """Values and affine functions below f: f(v) >= level + <slope, v> - error on each set.

    Attributes
    ----------
    values, value_errors : array (B,)
        f at the points, and bounds on their rounding errors.
    slopes : array (B, d)
        The slopes, gradients at the points.
    levels, errors : array (B,)
        The levels as computed, and by how much rounding may have lifted the functions.
    """

    values: Array
    value_errors: Array
    slopes: Array
    levels: Array
    errors: Array


class BatchedObjective(ABC):
    """B objectives of one kind on points that are rows.

    Attributes
    ----------
    count, dimension : int
        B and d.
    affine : bool
        Whether gradients are affine in x, that is every f is quadratic.
    compacts : bool
        Whether `take` is possible. A callable on a whole batch knows all its problems only.
    isotropic : bool
        Whether every f is a multiple of the distance from a point, squared.
    recordable : bool
        Whether `evaluate` and `product` never wait for the device, so that rounds can be recorded.
    convex : bool or None
        As for a single objective.
    tested : bool
        Whether values and gradients belong to the library, which tests them; False for a callable.
    mixes : bool
        Whether a matrix is multiplied with all rows at once. The rounding of a row may then depend
        on its place.
    """

    affine: bool = False
    isotropic: bool = False
    recordable: bool = True
    compacts: bool = True
    convex: bool | None = True
    tested: bool = True
    mixes: bool = False
    varying: ClassVar[tuple[str, ...]] = ()
    count: int
    dimension: int
    place: Array

    @abstractmethod
    def evaluate(self, X: Array) -> Batch:
        """Return values and gradients."""

    @abstractmethod
    def certify(self, X: Array) -> Bounds:
        """Return values and minorants with their rounding errors; `on` has been called."""

    @property
    def plain(self) -> BatchedObjective:
        """The objectives of the points themselves, where rows are their weights."""
        return self

    def points_of(self, X: Array) -> Array:
        """Return the points that rows stand for."""
        return X

    def on(self, K: Any) -> None:
        """Take what certificates need to know of the sets."""
        self.radius, self.diameter = K.radius, K.diameter

    def key(self) -> Array:
        """Return a number for each problem that follows from its data, where `mixes` holds."""
        raise NotImplementedError

    def finite(self) -> np.ndarray:
        """Return which problems have finite data."""
        return np.ones(self.count, dtype=bool)

    @property
    def hessian(self) -> Array | None:
        """The second derivatives (B, d, d) of quadratic f where they are known, else None."""
        return None

    def product(self, V: Array) -> Array:
        """Return the second derivatives times the rows of V, for quadratic f."""
        raise NotImplementedError

    def take(self, index: np.ndarray) -> Self:
        """Return some of the objectives."""
        other = copy.copy(self)
        other.count = len(index)
        for name in ("radius", "diameter", *self.varying):
            value = getattr(self, name, None)
            if value is not None and not isinstance(value, float):
                setattr(other, name, rows(value, index))
        return other


class LinearModels(BatchedObjective):
    """Losses of A x: A for all problems or (B, n, d), with data (B, n)."""

    def __init__(self, loss: FiniteSum, A: Array, data: Array) -> None:
        self.A, self.shared = A, A.ndim == 2
        self.loss = copy.copy(loss)
        setattr(self.loss, loss.row_data, data)
        self.count, self.n = data.shape
        self.dimension = A.shape[-1]
        self.place = A
        self.affine, self.mixes = loss.row_data == "b", self.shared
        self.gram: Array | None = None
        if self.affine and self.dimension <= min(MAX_GRAM, 4 * self.n):
            self.gram = loss.loss_smoothness * _times(A.mT, A)
        self.error = 0.0

    def evaluate(self, X: Array) -> Batch:
        values, theta = self.loss.stacked_loss(self._image(X))
        return Batch(values, self._pull_back(theta))

    def on(self, K: Any) -> None:
        super().on(K)
        # sigma >= sum_j ||A_j|| |v_j| on the set, with the columns A_j
        columns = self._columns()
        if self.shared:
            columns = columns[None, :] + 0.0 * self.radius[:, None]
        self.reach = 1.01 * K.absolute_support(columns)

    def certify(self, X: Array) -> Bounds:
        if self._double is not None:
            return self._double.certify(namespace(X).astype(X, wide_dtype(X)))
        unit, loss = unit_of(X), self.loss
        values, theta = loss.stacked_loss(self._image(X))
        slopes, length, reach = self._pull_back(theta), row_norms(theta), self.reach
        terms = 8.0 * unit + accumulation(self.n) * sum_unit(X)
        product = reach * ((accumulation(self.dimension) + 1.0) * unit)
        transposed = reach * ((accumulation(self.n) + 1.0) * unit)
        value_errors = product * length + 0.5 * loss.loss_smoothness * product * product
        value_errors = value_errors + terms * abs(values)
        numbers, sizes = loss.stacked_conjugate(theta, reach)
        errors = terms * sizes + transposed * length
        return Bounds(values, value_errors, slopes, -numbers, errors)

    def finite(self) -> np.ndarray:
        xp = namespace(self.A)
        data = getattr(self.loss, self.loss.row_data)
        known = xp.isfinite(sum_last(data * data, 1))
        if not self.shared:
            known = known & xp.isfinite(sum_last(self._columns(), 1))
        return _host(known)

    def key(self) -> Array:
        return weighed(getattr(self.loss, self.loss.row_data))

    @property
    def hessian(self) -> Array | None:
        return self.gram

    def product(self, V: Array) -> Array:
        if self.gram is not None:
            return _apply(self.gram, V)
        return self.loss.loss_smoothness * self._pull_back(self._image(V))

    def take(self, index: np.ndarray) -> Self:
        other = super().take(index)
        data = rows(getattr(self.loss, self.loss.row_data), index)
        other.loss = copy.copy(self.loss)
        setattr(other.loss, self.loss.row_data, data)
        vars(other).pop("_double", None)
        if not self.shared:
            other.A = rows(self.A, index)
            other.gram = None if self.gram is None else rows(self.gram, index)
        if getattr(self, "reach", None) is not None:
            other.reach = rows(self.reach, index)
        return other

    @cached_property
    def _double(self) -> LinearModels | None:
        """The same models in double precision, None where they are that or it is not known."""
        if sums_are_wide(self.A) is False or unit_of(self.A) < 1e-10:
            return None
        xp, wide = namespace(self.A), wide_dtype(self.A)
        other = copy.copy(self)
        other.A, other.loss = xp.astype(self.A, wide), copy.copy(self.loss)
        data = getattr(self.loss, self.loss.row_data)
        setattr(other.loss, self.loss.row_data, xp.astype(data, wide))
        vars(other)["_double"] = None
        return other

    def _image(self, X: Array) -> Array:
        return X @ self.A.mT if self.shared else _times(self.A, X[:, :, None])[:, :, 0]

    def _pull_back(self, theta: Array) -> Array:
        return theta @ self.A if self.shared else _times(theta[:, None, :], self.A)[:, 0, :]

    def _columns(self) -> Array:
        """Return the norms of the columns of A."""
        if self.gram is not None:
            diagonal = namespace(self.A).linalg.diagonal(self.gram)
            return namespace(self.A).sqrt(diagonal / self.loss.loss_smoothness)
        return namespace(self.A).sqrt(namespace(self.A).sum(self.A * self.A, axis=-2))


class Quadratics(BatchedObjective):
    """<x, Q x>/2 + <c, x> + r: Q (B, d, d), (d, d) or numbers (B,), c (B, d), r (B,)."""

    affine = True
    varying = ("c", "r", "size")

    def __init__(self, Q: Array, c: Array, r: Array) -> None:
        self.Q, self.c, self.r = Q, c, r
        self.count, self.dimension = c.shape
        self.place = c
        self.isotropic, self.mixes = Q.ndim == 1, Q.ndim == 2
        if self.isotropic:
            self.size = abs(Q)
        else:
            xp = namespace(Q)
            size = xp.sqrt(xp.sum(Q * Q, axis=(-2, -1)))
            self.size = size + 0.0 * r if Q.ndim == 2 else size

    def evaluate(self, X: Array) -> Batch:
        QX = self.product(X)
        return Batch(self._values(X, QX), QX + self.c)

    def certify(self, X: Array) -> Bounds:
        QX = self.product(X)
        values, slopes, unit = self._values(X, QX), QX + self.c, unit_of(X)
        length, c_norm = row_norms(X), row_norms(self.c)
        d = self.dimension
        pi = unit if self.Q.ndim == 1 else (accumulation(d) + 1.0) * unit
        sums = (accumulation(d) + 3.0) * sum_unit(X) + 2.0 * unit
        square = 0.5 * self.size * length * length
        errors = sums * (square + c_norm * length) + 2.0 * UNIT * abs(self.r) + pi * square
        slope_error = pi * self.size * length + unit * row_norms(slopes)
        levels = values - sum_last(slopes * X, 1)
        return Bounds(values, errors, slopes, levels, errors + slope_error * self.diameter)

    def finite(self) -> np.ndarray:
        return _host(namespace(self.c).isfinite(self.size + sum_last(self.c * self.c, 1) + self.r))

    def key(self) -> Array:
        return weighed(self.c) + self.r

    @property
    def hessian(self) -> Array | None:
        return self.Q if self.Q.ndim > 1 and self.dimension <= MAX_GRAM else None

    def product(self, V: Array) -> Array:
        return self.Q[:, None] * V if self.Q.ndim == 1 else _apply(self.Q, V)

    def take(self, index: np.ndarray) -> Self:
        other = super().take(index)
        if self.Q.ndim != 2:
            other.Q = rows(self.Q, index)
        return other

    def _values(self, X: Array, QX: Array) -> Array:
        return 0.5 * sum_last(X * QX, 1) + sum_last(self.c * X, 1) + self.r


class Functions(BatchedObjective):
    """A callable on a batch, X (B, *shape) -> (values (B,), gradients (B, *shape))."""

    compacts = False
    recordable = False
    convex = None
    tested = False

    def __init__(
        self, fun: Callable[..., Any], count: int, shape: tuple[int, ...], place: Array
    ) -> None:
        self.fun, self.count, self.shape, self.place = fun, count, shape, place
        self.dimension = math.prod(shape)
        self.error = self.absolute_error = self.gradient_error = 0.0
        self.scale: Array | None = None
        if isinstance(fun, Function):
            self.fun, self.error, self.convex = fun.fun, fun.error, fun.convex
            self.absolute_error, self.gradient_error = fun.absolute_error, fun.gradient_error

    def evaluate(self, X: Array) -> Batch:
        answer = self.fun(reshape(spare(X), (-1, *self.shape)))
        try:
            values, gradients = answer
        except (TypeError, ValueError):
            raise TypeError(
                f"f(X) must return (values, gradients), found {shown(answer)}"
            ) from None
        wanted = (
            ("values", values, (self.count,)),
            ("gradients", gradients, (self.count, *self.shape)),
        )
        for name, found, shape in wanted:
            if tuple(getattr(found, "shape", ())) != shape:
                raise ArgumentError(
                    f"f(X) must return {name} of shape {shape} for X of shape "
                    f"{(self.count, *self.shape)}, found {shown(found)}"
                )
        if is_foreign(X) or is_foreign(gradients):
            same_place(X=X, **{"the gradients of f": gradients})
        else:
            values, gradients = np.asarray(values), np.array(gradients, dtype=X.dtype)
        if self.scale is None:
            self.scale = abs(values)
        return Batch(values, reshape(gradients, (self.count, self.dimension)))

    def certify(self, X: Array) -> Bounds:
        values, slopes = self.evaluate(X)
        unit, size = unit_of(X), abs(values)
        value_errors = self.user_errors(size, unit)
        relative = self.relative_error(unit) + 4.0 * unit
        relative += accumulation(self.dimension) * sum_unit(X)
        errors = relative * (row_norms(slopes) * self.radius + size) + value_errors
        if self.gradient_error:
            errors = errors + self.gradient_error * self.diameter
        return Bounds(values, value_errors, slopes, values - sum_last(slopes * X, 1), errors)

    def relative_error(self, unit: float) -> float:
        """Return the relative error of values and of the entries of gradients."""
        return max(self.error, MODEL * unit)

    def user_errors(self, size: Array, unit: float) -> Array:
        """Return the errors of values of these sizes, by model M of docs/theory/rounding.md."""
        rho, scale = self.relative_error(unit), self.scale
        assert scale is not None
        root = namespace(size).sqrt(size * scale)
        return rho * (size + root + rho * scale) + self.absolute_error


class Lifted(BatchedObjective):
    """f(w P): objectives of the weights w of given points P, (N, d) or (B, N, d)."""

    def __init__(self, inside: BatchedObjective, points: Array, reach: Array) -> None:
        self.inside, self.points, self.reach = inside, points, reach
        self.count, self.dimension = inside.count, points.shape[-2]
        self.affine, self.compacts = inside.affine, inside.compacts
        self.recordable = inside.recordable
        self.mixes = inside.mixes or points.ndim == 2
        self.convex, self.tested, self.place = inside.convex, inside.tested, inside.place

    @property
    def plain(self) -> BatchedObjective:
        return self.inside

    def points_of(self, X: Array) -> Array:
        """Return the points with weights X."""
        return (
            X @ self.points
            if self.points.ndim == 2
            else _times(X[:, None, :], self.points)[:, 0, :]
        )

    def evaluate(self, X: Array) -> Batch:
        values, gradients = self.inside.evaluate(self.points_of(X))
        return Batch(values, self._scores(gradients))

    def certify(self, X: Array) -> Bounds:
        found = self.inside.certify(self.points_of(X))
        slopes = self._scores(found.slopes)
        d = self.points.shape[-1]
        lost = (accumulation(d) + 1.0) * unit_of(slopes) * row_norms(found.slopes) * self.reach
        return found._replace(slopes=slopes, errors=found.errors + lost)

    def key(self) -> Array:
        return self.inside.key()

    def finite(self) -> np.ndarray:
        return self.inside.finite()

    @cached_property
    def hessian(self) -> Array | None:
        H = self.inside.hessian
        if H is None or self.dimension > MAX_GRAM:
            return None
        return _times(_times(self.points, H), self.points.mT)

    def product(self, V: Array) -> Array:
        if self.hessian is not None:
            return _apply(self.hessian, V)
        return self._scores(self.inside.product(self.points_of(V)))

    def take(self, index: np.ndarray) -> Self:
        other = super().take(index)
        other.inside, other.reach = self.inside.take(index), rows(self.reach, index)
        if self.points.ndim == 3:
            other.points = rows(self.points, index)
        H = self.hessian
        vars(other)["hessian"] = rows(H, index) if H is not None and H.ndim == 3 else H
        return other

    def _scores(self, G: Array) -> Array:
        points = self.points
        if points.dtype != G.dtype:  # certificates of single precision are in double
            points = namespace(points).astype(points, G.dtype)
        return G @ points.mT if points.ndim == 2 else _times(points, G[:, :, None])[:, :, 0]


def batched(f: Any, count: int, shape: tuple[int, ...], place: Array) -> BatchedObjective | str:
    """Return the objectives of ``count`` problems as one object, or why there is no batched form.

    ``f`` is a `Stacked` objective, a list of objectives, or a callable on a batch.
    """
    if isinstance(f, list):
        f = stack_of(f) or f
    if isinstance(f, Stacked):
        return _of_stack(f, count)
    if isinstance(f, list):
        return "the objectives of the list are not of one kind and one shape"
    return Functions(f, count, shape, place)


def _of_stack(f: Stacked, count: int) -> BatchedObjective | str:
    arguments = f.arguments
    if f.kind is Quadratic:
        return _quadratics(f, count)
    if not (issubclass(f.kind, FiniteSum) and f.kind.row_data):
        return f"{f.kind.__name__} has no batched form"
    matrix, name = f.kind.stack_axes
    A, data = arguments[matrix], arguments[name]
    if not (isinstance(A, np.ndarray) or is_foreign(A)):
        return f"{matrix} is no dense array"
    _check_rows(f.kind, matrix, A, name, data)
    same_place(**{matrix: A, name: data})
    one = {matrix: zeros(tuple(A.shape[-2:]), A), name: full((A.shape[-2],), 1.0, A)}
    loss = f.kind(**(arguments | one))
    if data.ndim == 1:
        data = namespace(data).broadcast_to(data, (count, data.shape[0]))
    return LinearModels(loss, A, _as_labels(data, name) if name == "labels" else data)


def _check_rows(kind: type, matrix: str, A: Array, name: str, data: Array) -> None:
    if data.shape[-1] != A.shape[-2]:
        raise ArgumentError(
            f"{name} must have one entry per row of {matrix}, {A.shape[-2]} for each problem, "
            f"found shape {tuple(data.shape)} beside {tuple(A.shape)}"
        )


def _as_labels(labels: Array, name: str) -> Array:
    """Return labels -1/+1 from -1/+1 or 0/1."""
    xp = namespace(labels)
    known = (labels == 1.0) | (labels == 0.0) | (labels == -1.0) | ~xp.isfinite(labels)
    mixed = xp.any(labels == 0.0, axis=1) & xp.any(labels == -1.0, axis=1)
    bad = _host(~xp.all(known, axis=1) | mixed)
    if bad.any():
        raise ArgumentError(
            f"{name}[{int(bad.argmax())}] must be -1/+1 or 0/1, found other numbers"
        )
    return xp.where(labels == 0.0, -xp.ones_like(labels), labels)


def _quadratics(f: Stacked, count: int) -> BatchedObjective | str:
    Q, c, r = (f.arguments.get(name, 0.0) for name in ("Q", "c", "r"))
    if not (isinstance(c, np.ndarray) or is_foreign(c)):
        c = np.asarray(c, dtype=np.float64)
    if "c" not in f.varying:
        c = namespace(c).broadcast_to(c, (count, *c.shape))
    flat = reshape(c, (count, -1))
    r = like(np.broadcast_to(np.asarray(r, dtype=np.float64), (count,)), c)
    if isinstance(Q, np.ndarray) or is_foreign(Q):
        same_place(c=c, Q=Q)
    else:
        if not isinstance(Q, float | int):
            return "Q is no dense array"
        Q = full((count,), float(Q), c)
    if Q.ndim > 1:
        if tuple(Q.shape[-2:]) != (flat.shape[1],) * 2:
            raise ArgumentError(
                f"Q must have shape {(flat.shape[1],) * 2} for each problem, to match c, found "
                f"{tuple(Q.shape)}"
            )
        _check_convex(Q)
    elif (bad := _host(~(Q > 0) & namespace(Q).isfinite(Q))).any():
        raise ArgumentError(
            f"Q[{int(bad.argmax())}] must be a positive number, found {Q[int(bad.argmax())]}"
        )
    return Quadratics(Q, flat, r)


def _check_convex(Q: Array) -> None:
    """Refuse matrices that are not symmetric positive semidefinite, by their number."""
    xp = namespace(Q)
    stack = Q if Q.ndim == 3 else Q[None, ...]
    finite = xp.isfinite(xp.sum(stack * stack, axis=(-2, -1)))
    stack = xp.where(finite[:, None, None], stack, xp.zeros_like(stack))
    top = xp.max(abs(stack), axis=(-2, -1))
    slack = 1e-10 if unit_of(Q) < 1e-10 else 1e-5
    skew = _host(xp.max(abs(stack - stack.mT), axis=(-2, -1)) > slack * top)
    if skew.any():
        raise ArgumentError(f"Q[{int(skew.argmax())}] must be symmetric: use (Q + Q.T) / 2")
    values = xp.linalg.eigvalsh(stack)
    negative = _host(values[:, 0] < -slack * xp.max(abs(values), axis=1))
    if negative.any():
        i = int(negative.argmax())
        raise ArgumentError(
            f"Q[{i}] must be positive semidefinite, found the eigenvalue {float(values[i, 0]):.4g}"
        )


def stack_of(objectives: Sequence[Objective]) -> Stacked | None:
    """Return objectives of one kind and shape as a stack, None where they differ."""
    first = objectives[0]
    kind, axes = type(first), getattr(type(first), "stack_axes", {})
    if not axes or any(type(f) is not kind or f.shape != first.shape for f in objectives):
        return None
    if isinstance(first, Quadratic):
        parts: list[Any] = [*objectives]
        if any(type(f.Q) is not type(first.Q) for f in parts):
            return None
        if not (isinstance(first.Q, float | np.ndarray) or is_foreign(first.Q)):
            return None
        values = {"Q": _stack([f.Q for f in parts]), "c": _stack([f.c for f in parts])}
        values["r"] = np.asarray([f.r for f in parts])
        return Stacked(kind, values, ("Q", "c", "r"))
    if not (isinstance(first, FiniteSum) and first.row_data) or len(first.shape or ()) != 1:
        return None
    models: list[Any] = [*objectives]
    matrix, name = axes
    same = [_settings(f) for f in models]
    if any(other != same[0] for other in same) or any(
        not (type(f.A) is np.ndarray or is_foreign(f.A)) or f.A.shape != first.A.shape
        for f in models
    ):
        return None
    values = {matrix: _stack([f.A for f in models])}
    values[name] = _stack([getattr(f, f.row_data) for f in models])
    return Stacked(kind, values | same[0], (matrix, name))


def _settings(f: Any) -> dict[str, Any]:
    """Return the arguments of a loss beside its data."""
    settings = {name: getattr(f, name) for name in ("delta", "q") if name in vars(f)}
    return settings | {"reduction": "mean" if f.weight != 1.0 or f.n == 1 else "sum"}


def _stack(parts: list[Any]) -> Array:
    if isinstance(parts[0], float):
        return np.asarray(parts)
    return namespace(parts[0]).stack(parts)


def weighed(X: Array) -> Array:
    """Return a sum of the entries of each row in which every place has a weight of its own."""
    xp = namespace(X)
    weights = xp.cos(xp.astype(arange(X.shape[1], X), X.dtype))
    return sum_last(X * weights[None, :], 1)


def _times(A: Array, B: Array) -> Array:
    return namespace(B).matmul(A, B)


def _apply(H: Array, V: Array) -> Array:
    """Return symmetric matrices, or one for all, times the rows of V."""
    return V @ H if H.ndim == 2 else _times(H, V[:, :, None])[:, :, 0]


def _host(flags: Array) -> np.ndarray:
    return np.asarray(to_host(flags))
