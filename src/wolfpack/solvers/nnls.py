r"""Nonnegative least squares: a quadratic over the hull of few vertices, solved at one go.

Problem
    min f(x) over x in K, :math:`f(x) = \tfrac12 \|F x - s\|^2` with a matrix F that is known, K a
    polytope that lists its vertices :math:`v_1, \dots, v_N`.

Iteration
    The only round. With the residuals :math:`p_i = F v_i - s` at the vertices and a unit
    :math:`\sigma`,

    .. math::

        u = \arg\min_{u \ge 0} \Bigl\|\sum_i u_i p_i\Bigr\|^2
            + \sigma^2 \Bigl(\sum_i u_i - 1\Bigr)^2, \qquad
        x_1 = \sum_i \frac{u_i}{\sum_j u_j} v_i.

    This is the minimiser: where u has the sum t and the shares w, the best t leaves
    :math:`\sigma^2 \|Pw\|^2 / (\sigma^2 + \|Pw\|^2)`, which grows with :math:`\|Pw\|`, the norm of
    the residuals at :math:`\sum_i w_i v_i`.

Guarantee
    The active-set method of Lawson and Hanson ends after finitely many steps. The certificate is
    that of any other method: one oracle call at x_1. Where rounding errors, or a limit on its
    steps, keep it from the tolerance, the run has stalled.

Symbols
    x_1 ``state.x``; sigma is the mean length of the residuals.

Cost of a round
    For m rows and a solution on s vertices about s passes over a matrix with m N entries, in
    compiled code. One gradient, and one oracle call for the certificate. To list the vertices is
    not an oracle call.

Sources
    C. Lawson, R. Hanson, Solving Least Squares Problems, 1974, chapter 23.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import nnls
from scipy.sparse import issparse

from ..arrays import Array, like
from ..atoms import Atoms, combine, images
from ..problem import CapabilityError, Evaluation, Problem, QuadraticForm, Region, Solver
from ..smoothing import Oracles

MAX_VERTICES = 4_000
"""Vertices of K up to which they are listed."""


class State(NamedTuple):
    """Round, point and its evaluation."""

    k: int
    x: Array
    at: Evaluation

    @property
    def stalled(self) -> bool:
        """Whether the only round is over."""
        return self.k >= 1


@dataclass(frozen=True)
class NonnegativeLeastSquares(Solver[State]):
    """Nonnegative least squares over the weights of all vertices.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> f = wp.objectives.LeastSquares(np.eye(3), np.array([0.9, 0.4, 0.1]))
    >>> wp.minimize(f, wp.sets.Simplex(3), method="nnls", tol=1e-12).x.round(6)
    array([0.75, 0.25, 0.  ])
    """

    name: ClassVar[str] = "nnls"
    certificate_calls: ClassVar[int] = 1
    certificate_proofs: ClassVar[int] = 1
    round_calls: ClassVar[int] = 1_000  # the only round is worth a certificate

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        _vertices(problem.set)
        _form(problem)
        return State(0, x0, problem.evaluate(x0))

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        if state.stalled:  # which the loop sees in rounds that it certifies
            return state._replace(k=state.k + 1)
        vertices, form = _vertices(problem.set), _form(problem)
        weights = _weights(form, vertices)
        if weights is None:
            return State(1, state.x, state.at)
        x = like(combine(vertices, weights), state.x)
        at = problem.evaluate(x)
        if at.value > state.at.value:
            x, at = state.x, state.at
        return State(1, x, at)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the bound of the oracle's answer to the gradient at x_k."""
        at = state.at
        return problem.dual_bound(at.gradient, at.dual, oracles.lmo(at.gradient))


def listed(K: Region) -> Atoms | None:
    """Return all vertices of K, None where it does not list them or has too many."""
    if not (K.polytope and K.has("k_best")):
        return None
    none = np.zeros(K.shape)
    vertices = K.at(none).k_best(none, MAX_VERTICES + 1)  # on the host, where they are weighed
    return None if len(vertices) > MAX_VERTICES else vertices


def size_of(form: QuadraticForm, vertices: Atoms) -> tuple[int, int]:
    """Return the rows and columns of the matrix of all residuals."""
    matrix = form.P if form.factor is None else form.factor
    return matrix.shape[0], len(vertices)


def _weights(form: QuadraticForm, vertices: Atoms) -> Array | None:
    """Return the weights of the vertices at the minimiser, None where they are not found."""
    found = _factored(form)
    if found is None:
        return None
    F, s = found
    P = images(vertices, F) - s[:, None]
    unit = math.sqrt(float(np.vdot(P, P)) / len(vertices)) or 1.0
    right = np.zeros(len(P) + 1)
    right[-1] = unit
    if not math.isfinite(unit):
        return None
    try:
        u, _ = nnls(np.vstack([P, np.full(len(vertices), unit)]), right)
    except RuntimeError:  # its limit on steps
        return None
    total = float(u.sum())
    return u / total if 0.0 < total < math.inf else None


def _factored(form: QuadraticForm) -> tuple[Array, Array] | None:
    """Return F and s, None where P is singular and so has no Cholesky factor."""
    if form.factor is not None:
        F, s = form.factor, form.target
        return (F.toarray() if issparse(F) else F), s
    P = form.P.toarray() if issparse(form.P) else form.P
    F, info = lapack.dpotrf(P, lower=0, clean=1)
    if info:
        return None
    s, _ = lapack.dtrtrs(F, -form.q, trans=1)  # F'F = P and F's = -q
    return F, s


def _vertices(K: Region) -> Atoms:
    vertices = listed(K)
    if vertices is None:
        raise CapabilityError(
            f"method 'nnls' needs a polytope that lists its vertices, at most {MAX_VERTICES:,} of "
            f"them (simplices, l1 balls, ConvexHull), and {K} does not: choose 'corrective'"
        )
    return vertices


def _form(problem: Problem) -> QuadraticForm:
    form = problem.objective.quadratic_form()
    if form is None:
        raise CapabilityError(
            "method 'nnls' needs a quadratic f whose matrix is known (Quadratic or LeastSquares "
            f"with an array or a sparse matrix), and {type(problem.objective).__name__} gives "
            "none here: choose 'corrective'"
        )
    return form
