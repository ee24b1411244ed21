r"""Solutions as functions of the data, with derivatives by the implicit function theorem.

For f strongly convex in x, the solution is the fixed point x = P(x - eta grad f(x, theta)) of a
projected gradient step. With J the derivative of the projection P and H that of grad f in x,

.. math::

    M\,dx = -\eta J\,\partial_\theta \nabla f\,d\theta, \qquad M = I - J (I - \eta H) .

J is symmetric, so that weights u on x give theta the gradient :math:`-\eta\,(\partial_\theta\nabla
f)^\top J M^{-\top} u`.

At a kink of P, where an entry enters or leaves the face, J is that of one side: the gradient is one
of the limits of gradients nearby. A matrix M that is singular, or nearly, is inverted by its
singular values, those near 0 left out, so that a degenerate problem gives finite numbers.

The solution itself comes from Newton's method: each step goes toward the minimum over K of the
quadratic model of f, which batches of quadratics find together (`wolfpack.solvers.batched`), by at
most its whole length and so that f falls. A few Newton steps on the equation of the fixed point
follow, which end at the last digit.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..arrays import (
    ArgumentError,
    Array,
    arange,
    concat,
    device_of,
    epsilon,
    eye,
    like,
    namespace,
    reshape,
    row_norms,
    rows,
    sum_last,
    to_host,
)
from ..front.choose import as_set
from ..front.many import minimize_many
from ..loop import Limits
from ..loop.many import BatchRun
from ..loop.progress import Progress
from ..objectives.batched import Quadratics
from ..problem import CapabilityError, Stacked
from ..problem.checks import checked, function, optional, positive
from ..problem.stacked import is_sequence
from ..sets import Set
from ..sets.batched import BatchedSet, batched
from ..solvers.batched import BatchedProjected
from ._bridge import Layer, batch_of
from .calculus import Function, hessians, pulled_back, values_and_gradients

_MODELS = 30
"""Quadratic models of f that are minimised before gradient steps take over."""

_HALVINGS = 30
"""Halvings of a step toward the minimum of a model."""

_ROUNDS = 5_000
"""Rounds for the minimum of a model, where no search of faces finds it."""

_NEWTON = 6
"""Newton steps on the equation of the fixed point, after the models have come near."""


class Solution(Layer):
    r"""The minimiser x*(theta) of f(x, theta) over x in K, with gradients in theta.

    Parameters
    ----------
    K : Set, set with stacked parameters, or list of sets
        A set with a batched form (see `wolfpack.minimize_many`) whose projection has a derivative:
        simplices, capped or not, boxes, l1, l2, linf, k-sparse and trace-norm balls, spectrahedra,
        the Birkhoff polytope, and products of them. With a set for each problem, for example
        ``Simplex(d, radius=r)`` with r of shape (batch,), all batches have as many rows.
    objective : callable, optional
        ``(x, theta) -> values``: x of shape (batch, \*K.shape), theta of shape (batch, ...), values
        (batch,), written in PyTorch or JAX, twice differentiable and strongly convex in x. By
        default half the squared distance of x from theta: the layer is then the projection onto K.
    tol : float
        Gap at which Newton steps on the equation of the fixed point take over.

    Notes
    -----
    The derivative is that of this module's formula, from one system of the order of x for each
    problem. It has no second derivative: differentiating twice is refused.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> wp.layers.Solution(wp.sets.Simplex(2))(np.array([[1.0, 0.0], [0.5, 0.25]]))
    array([[1.   , 0.   ],
           [0.625, 0.375]])
    """

    @checked(tol=positive, objective=optional(function))
    def __init__(self, K: Set, objective: Function | None = None, tol: float = 1e-8) -> None:
        self.K = _region(K)
        self.shape = self.K.shape if isinstance(self.K, Set) else self.K[0].shape
        self.objective, self.tol = objective, tol

    def __repr__(self) -> str:
        return f"Solution({self.K})"

    def forward(self, theta: Array) -> tuple[Array, tuple[Array, ...]]:
        if self.objective is None:
            batch_of(theta, self.shape)
            K = self._batched(theta)
            z = reshape(theta, (theta.shape[0], -1))
            x = K.project(z)
            return reshape(x, tuple(theta.shape)), (theta, x)
        x, H = self._solve(self._batched(theta), self.objective, theta)
        return reshape(x, (theta.shape[0], *self.shape)), (theta, x, H)

    def backward(self, saved: tuple[Array, ...], weights: Array) -> Array:
        theta, x = saved[:2]
        u = reshape(weights, tuple(x.shape))
        K = self._batched(theta)
        if self.objective is None:
            found = K.derivative(reshape(theta, tuple(x.shape)), x, u)
            return reshape(found, tuple(theta.shape))
        H = saved[2]
        J, eta, _ = self._linearised(K, self.objective, theta, x, H)
        w = _times(J, _solved(_fixed_point(J, H, eta).mT, u))
        w = reshape(-eta * w, (theta.shape[0], *self.shape))
        return pulled_back(self.objective, self._shaped(x), theta, w)

    def _batched(self, theta: Array) -> BatchedSet:
        if not isinstance(self.K, Set) and len(self.K) != theta.shape[0]:
            raise ArgumentError(
                f"theta must have one row for each of the {len(self.K)} sets, found a batch of "
                f"{theta.shape[0]}"
            )
        K = batched(self.K, theta.shape[0], theta)
        if K is None or type(K).jacobian is BatchedSet.jacobian:
            raise CapabilityError(
                f"Solution needs the derivative of the projection, which {self.K} has not: choose "
                "PerturbedArgmax, which needs the oracle alone, or another set"
            )
        return K

    def _shaped(self, x: Array) -> Array:
        return reshape(x, (x.shape[0], *self.shape))

    def _solve(self, K: BatchedSet, f: Function, theta: Array) -> tuple[Array, Array]:
        """Return the solutions, and the second derivatives there."""
        start = like(K.start(), theta)
        start = start if start.dtype == theta.dtype else namespace(theta).astype(start, theta.dtype)
        x, near = self._descended(K, f, theta, start)
        if not near:
            x = self._by_gradients(f, theta, x)
        H = hessians(f, self._shaped(x), theta)
        self._need_finite(f, theta, x, H)
        y = self._polished(K, f, theta, x, H)
        moved = row_norms(y - x) > epsilon(x) ** 0.5 * row_norms(x)
        if bool(namespace(x).any(moved)):
            H = hessians(f, self._shaped(y), theta)
        return y, H

    def _need_finite(self, f: Function, theta: Array, x: Array, H: Array) -> None:
        """Raise where f has no value or no derivatives at the points found."""
        values, g = self._evaluated(f, x, theta)
        xp = namespace(x)
        known = xp.isfinite(values + xp.sum(g, axis=1) + xp.sum(H, axis=(1, 2)))
        flags = np.asarray(to_host(known))
        if not flags.all():
            raise ArgumentError(
                "objective must have finite values and derivatives on the way from the middle of "
                f"K to the solution, found NaN or infinite ones in problem {int(flags.argmin())}"
            )

    def _polished(self, K: BatchedSet, f: Function, theta: Array, x: Array, H: Array) -> Array:
        """Return points after Newton steps on the equation of the fixed point, with one H."""
        xp = namespace(x)
        J, eta, z = self._linearised(K, f, theta, x, H)
        r = K.project(z) - x
        for _ in range(_NEWTON):
            y = K.project(x + _solved(_fixed_point(J, H, eta), r))
            J_y, _, z = self._linearised(K, f, theta, y, H)
            r_y = K.project(z) - y
            closer = row_norms(r_y) < row_norms(r)
            x = xp.where(closer[:, None], y, x)
            # steps gain several digits each, until rounding ends them
            if not bool(xp.any(row_norms(r_y) < 0.1 * row_norms(r))):
                break
            r = xp.where(closer[:, None], r_y, r)
            J = xp.where(closer[:, None, None], J_y, J)
        return x

    def _descended(self, K: BatchedSet, f: Function, theta: Array, x: Array) -> tuple[Array, bool]:
        """Return points after steps toward the minima of models, and whether all have arrived.

        A problem has arrived where the tangent of f shows that its gap is at most ``tol``.
        """
        xp = namespace(x)
        values, g = self._evaluated(f, x, theta)
        for _ in range(_MODELS):
            noise = 64.0 * epsilon(x) * (abs(values) + K.radius * row_norms(g))
            gap = sum_last(g * x, 1) - K.lowest(g, x)[0]
            if not bool(xp.all(xp.isfinite(gap + values))):
                break
            moving = (gap > noise) & (gap > self.tol)
            if not bool(xp.any(moving)):
                return x, True
            d = self._model_minimum(x, g, hessians(f, self._shaped(x), theta)) - x
            slope = sum_last(g * d, 1)
            t = xp.where(moving, xp.ones_like(values), 0.0 * values)
            for _ in range(_HALVINGS):
                y = x + (t if t.dtype == x.dtype else xp.astype(t, x.dtype))[:, None] * d
                f_y, g_y = self._evaluated(f, y, theta)
                lower = f_y <= values + 1e-4 * t * slope + noise
                if bool(xp.all(lower)):
                    break
                t = xp.where(lower, t, 0.5 * t)
            x, g = (xp.where(lower[:, None], new, old) for new, old in ((y, x), (g_y, g)))
            values = xp.where(lower, f_y, values)
        return x, False

    def _model_minimum(self, x: Array, g: Array, H: Array) -> Array:
        """Return the minima over K of <g, y - x> + <y - x, H (y - x)>/2.

        What is in the memory of the host is computed by NumPy, which starts small operations
        sooner than the libraries that know derivatives.
        """
        given = x
        if "cpu" in str(device_of(x)).lower():
            x, g, H = (to_host(part) for part in (x, g, H))
        K, c = self._batched(x), g - _times(H, x)
        model = Quadratics(H, c, 0.0 * sum_last(c, 1))
        model.on(K)
        limits = Limits(self.tol, None, _ROUNDS)
        run = BatchRun(BatchedProjected(), model, K, x, limits, time.perf_counter())
        run.run(Progress(False, None), None)
        return like(run.answers(), given)

    def _by_gradients(self, f: Function, theta: Array, x: Array) -> Array:
        """Return points near the minima by gradient steps, where models have failed."""

        def fun(X: Array) -> tuple[Array, Array]:
            return values_and_gradients(f, X, theta)

        start = self._shaped(x)
        res = minimize_many(fun, self.K, start, tol=self.tol, max_rounds=10_000, progress=False)
        return reshape(res.x, tuple(x.shape))

    def _evaluated(self, f: Function, x: Array, theta: Array) -> tuple[Array, Array]:
        """Return values and gradients as rows."""
        values, g = values_and_gradients(f, self._shaped(x), theta)
        return values, reshape(g, tuple(x.shape))

    def _linearised(
        self, K: BatchedSet, f: Function, theta: Array, x: Array, H: Array
    ) -> tuple[Array, Array, Array]:
        """Return J, eta and the point z that the projected gradient step projects."""
        xp = namespace(x)
        _, g = self._evaluated(f, x, theta)
        size = xp.max(xp.sum(abs(H), axis=2), axis=1)  # at least the largest eigenvalue
        eta = (1.0 / xp.where(size > 0, size, xp.ones_like(size)))[:, None]
        z = x - eta * g
        return K.jacobian(z, K.project(z)), eta, z


def _region(K: Any) -> Any:
    """Return one set, or the sets of a batch."""
    if is_sequence(K) and K:
        parts: list[Set] = [as_set(part) for part in K]
        for i, part in enumerate(parts):
            if (type(part), part.shape) != (type(parts[0]), parts[0].shape):
                raise ArgumentError(f"K[{i}] must be of the kind of {parts[0]}, found {part}")
        return parts
    return K if isinstance(K, Stacked) and issubclass(K.kind, Set) else as_set(K)


def _fixed_point(J: Array, H: Array, eta: Array) -> Array:
    one = eye(H.shape[1], H)[None, ...]
    return one - J @ (one - eta[:, :, None] * H)


def _solved(M: Array, v: Array) -> Array:
    """Return M^{-1} v for each row; of matrices that are singular or nearly, the pseudoinverse.

    A matrix is nearly singular if a right-hand side of no particular direction has a solution as
    long as one along a singular value that the pseudoinverse leaves out.
    """
    xp, d = namespace(M), M.shape[1]
    rtol = 1e3 * d * epsilon(M)
    probe = xp.cos(xp.astype(arange(d, v), v.dtype))[None, :] + 0.0 * v
    try:
        both = xp.linalg.solve(M, xp.stack([v, probe], axis=2))
    except (np.linalg.LinAlgError, RuntimeError):  # NumPy and PyTorch raise for an exact zero
        return _times(xp.linalg.pinv(M, rtol=rtol), v)
    x, p = both[:, :, 0], both[:, :, 1]
    size = xp.max(xp.sum(abs(M), axis=2), axis=1)
    regular = xp.isfinite(row_norms(x)) & (rtol * size * row_norms(p) < row_norms(probe))
    flags = np.asarray(to_host(regular))
    if flags.all():
        return x
    good, bad = np.flatnonzero(flags), np.flatnonzero(~flags)
    other = _times(xp.linalg.pinv(rows(M, bad), rtol=rtol), rows(v, bad))
    return rows(concat([rows(x, good), other]), np.argsort(np.concatenate([good, bad])))


def _times(M: Array, v: Array) -> Array:
    return namespace(v).matmul(M, v[:, :, None])[:, :, 0]
