r"""Solutions as functions of the data, with derivatives by the implicit function theorem.

For f strongly convex in x, the solution is the fixed point x = P(x - eta grad f(x, theta)) of a
projected gradient step. With J the derivative of the projection P and H that of grad f in x,

.. math::

    M\,dx = -\eta J\,\partial_\theta \nabla f\,d\theta, \qquad M = I - J (I - \eta H) .

J is symmetric, so that weights u on x give theta the gradient :math:`-\eta\,(\partial_\theta\nabla
f)^\top J M^{-\top} u`.

At a kink of P, where an entry enters or leaves the face, J is that of one side: the gradient is one
of the limits of gradients nearby. M is inverted by its singular values, those near 0 left out, so
that a degenerate problem gives finite numbers.
"""

from __future__ import annotations

from typing import Any

from ..arrays import Array, epsilon, like, namespace, reshape, row_norms
from ..front.choose import as_set
from ..front.many import minimize_many
from ..problem import CapabilityError
from ..problem.checks import checked, function, optional, positive
from ..sets import Set
from ..sets.batched import BatchedSet, batched
from ._bridge import Layer, batch_of
from .calculus import Function, hessians, pulled_back, values_and_gradients

_NEWTON = 6
"""Newton steps on the equation of the fixed point, after the first method has come near."""


class Solution(Layer):
    r"""The minimiser x*(theta) of f(x, theta) over x in K, with gradients in theta.

    Parameters
    ----------
    K : Set
        A set with a batched form (see `wolfpack.minimize_many`) whose projection has a derivative:
        simplices, capped or not, boxes, l1, l2, linf, k-sparse and trace-norm balls, spectrahedra,
        the Birkhoff polytope, and products of them.
    objective : callable, optional
        ``(x, theta) -> values``: x of shape (batch, \*K.shape), theta of shape (batch, ...), values
        (batch,), written in PyTorch or JAX, twice differentiable and strongly convex in x. By
        default half the squared distance of x from theta: the layer is then the projection onto K.
    tol : float
        Certified gap at which Newton steps take over.

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
        self.K, self.objective, self.tol = as_set(K), objective, tol

    def __repr__(self) -> str:
        return f"Solution({self.K})"

    def forward(self, theta: Array) -> tuple[Array, tuple[Array, ...]]:
        if self.objective is None:
            batch_of(theta, self.K.shape)
            K = self._batched(theta)
            z = reshape(theta, (theta.shape[0], -1))
            x = K.project(z)
            return reshape(x, tuple(theta.shape)), (theta, x)
        K = self._batched(theta)
        x = self._solve(K, self.objective, theta)
        return reshape(x, (theta.shape[0], *self.K.shape)), (theta, x)

    def backward(self, saved: tuple[Array, ...], weights: Array) -> Array:
        theta, x = saved
        u = reshape(weights, tuple(x.shape))
        K = self._batched(theta)
        if self.objective is None:
            J = K.jacobian(reshape(theta, tuple(x.shape)), x)
            return reshape(_times(J, u), tuple(theta.shape))
        J, H, eta, _ = self._linearised(K, self.objective, theta, x)
        M = _fixed_point(J, H, eta)
        w = _times(J, _times(_inverse(M).mT, u))
        w = reshape(-eta * w, (theta.shape[0], *self.K.shape))
        return pulled_back(self.objective, self._shaped(x), theta, w)

    def _batched(self, theta: Array) -> BatchedSet:
        K = batched(self.K, theta.shape[0], theta)
        if K is None or type(K).jacobian is BatchedSet.jacobian:
            raise CapabilityError(
                f"Solution needs the derivative of the projection, which {self.K} has not: choose "
                "PerturbedArgmax, which needs the oracle alone, or another set"
            )
        return K

    def _shaped(self, x: Array) -> Array:
        return reshape(x, (x.shape[0], *self.K.shape))

    def _solve(self, K: BatchedSet, f: Function, theta: Array) -> Array:
        def fun(X: Array) -> tuple[Array, Array]:
            return values_and_gradients(f, X, theta)

        start = self._shaped(like(K.start(), theta))
        start = start if start.dtype == theta.dtype else namespace(theta).astype(start, theta.dtype)
        res = minimize_many(fun, self.K, start, tol=self.tol, max_rounds=10_000, progress=False)
        x = reshape(res.x, (theta.shape[0], -1))
        xp = namespace(x)
        J, H, eta, z = self._linearised(K, f, theta, x)
        r = K.project(z) - x
        for _ in range(_NEWTON):
            y = K.project(x + _times(_inverse(_fixed_point(J, H, eta)), r))
            J_y, H_y, eta, z = self._linearised(K, f, theta, y)
            r_y = K.project(z) - y
            closer = row_norms(r_y) < row_norms(r)
            if not bool(xp.any(closer)):
                break
            row, matrix = closer[:, None], closer[:, None, None]
            x, r = xp.where(row, y, x), xp.where(row, r_y, r)
            J, H = xp.where(matrix, J_y, J), xp.where(matrix, H_y, H)
        return x

    def _linearised(
        self, K: BatchedSet, f: Function, theta: Array, x: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Return J, H, eta and the point z that the projected gradient step projects."""
        xp = namespace(x)
        _, g = values_and_gradients(f, self._shaped(x), theta)
        H = hessians(f, self._shaped(x), theta)
        size = xp.max(xp.sum(abs(H), axis=2), axis=1)  # at least the largest eigenvalue
        eta = (1.0 / xp.where(size > 0, size, xp.ones_like(size)))[:, None]
        z = x - eta * reshape(g, tuple(x.shape))
        return K.jacobian(z, K.project(z)), H, eta, z


def _fixed_point(J: Array, H: Array, eta: Array) -> Array:
    from ..arrays import eye

    one = eye(H.shape[1], H)[None, ...]
    return one - J @ (one - eta[:, :, None] * H)


def _inverse(M: Array) -> Any:
    xp = namespace(M)
    return xp.linalg.pinv(M, rtol=1e3 * M.shape[1] * epsilon(M))


def _times(M: Array, v: Array) -> Array:
    return namespace(v).matmul(M, v[:, :, None])[:, :, 0]
