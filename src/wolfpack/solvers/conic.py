r"""Interior points: a quadratic over linear constraints as one conic program.

Problem
    min f(x) over x in K, f a convex quadratic whose matrix is known, K a polytope given by
    equations, inequalities and bounds.

Iteration
    In round k a primal-dual interior-point method solves the whole program to a relative tolerance
    epsilon_k = 1e-9, 1e-11, 1e-13. Its answer z is feasible up to that tolerance only, so that

    .. math:: x_k = \rho(z),

    with the set's own rule :math:`\rho`, whose values are points of K: its projection; for flows, a
    pass that divides what each node needs; for general constraints, a correction, or the nearest
    point by a linear program (`wolfpack.problem.polyhedron.Polyhedron.round`).

Guarantee
    The certificate is that of any other method: one oracle call at x_k. With complementary products
    x_i s_i <= mu of the n bounds the gap at z is at most n mu, and mu falls by a constant factor in
    each of the solver's steps, of which O(sqrt(n) log(1/epsilon)) suffice (Wright 1997, Theorem
    5.11). The best of the three points is kept; where none of them is within the tolerance, the run
    has stalled.

Symbols
    x_k ``state.x``, epsilon_k ``TOLERANCES[k-1]``.

Cost of a round
    One interior-point solve: ten to twenty factorisations of a matrix with the entries of the
    Hessian and of the constraints. One gradient, and one oracle call for the certificate.

Sources
    S. Wright, Primal-dual interior-point methods, SIAM 1997.
    P. Goulart, Y. Chen, Clarabel: an interior-point solver for conic programs with quadratic
    objectives, 2024.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ..arrays import Array, like
from ..problem import CapabilityError, Evaluation, Polyhedron, Problem, QuadraticForm, Solver
from ..smoothing import Oracles
from .parts.interior_point import load, program_of, solve

TOLERANCES = (1e-9, 1e-11, 1e-13)
"""What the rounds ask of the solver; a run ends after the last."""


class State(NamedTuple):
    """Round, the best point so far, and its evaluation."""

    k: int
    x: Array
    at: Evaluation

    @property
    def stalled(self) -> bool:
        """Whether no tighter solve is left to try."""
        return self.k >= len(TOLERANCES)


@dataclass(frozen=True)
class Conic(Solver[State]):
    """Interior-point solve of a quadratic over linear constraints, made feasible and certified.

    It needs Clarabel, ``pip install 'wolfpack[conic]'``.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> f = wp.objectives.LeastSquares(np.eye(3), np.array([0.9, 0.4, 0.1]))
    >>> wp.minimize(f, wp.sets.Simplex(3), method="conic", tol=1e-8).x.round(6)
    array([0.75, 0.25, 0.  ])
    """

    name: ClassVar[str] = "conic"
    certificate_calls: ClassVar[int] = 1
    certificate_proofs: ClassVar[int] = 1
    round_calls: ClassVar[int] = 1_000  # every solve is worth a certificate

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        _description(problem)
        _form(problem)
        load()
        return State(0, x0, problem.evaluate(x0))

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        K, counts = _description(problem), problem.counts
        tolerance = TOLERANCES[min(state.k, len(TOLERANCES) - 1)]
        left = counts.deadline - time.perf_counter()
        z = solve(program_of(_form(problem), K), tolerance, max(left, 0.0))
        counts.check_time()
        if z is None:
            return State(state.k + 1, state.x, state.at)
        x = like(K.round(z[: K.n]), state.x)
        at = problem.evaluate(x)
        if at.value > state.at.value:
            x, at = state.x, state.at
        return State(state.k + 1, x, at)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the bound of the oracle's answer to the gradient at x_k."""
        at = state.at
        return problem.dual_bound(at.gradient, at.dual, oracles.lmo(at.gradient))


def _description(problem: Problem) -> Polyhedron:
    """Return the set as matrices, or say why it cannot be given by them."""
    try:
        return problem.set.polyhedron()
    except CapabilityError as error:
        raise CapabilityError(
            f"method 'conic' needs a set of linear constraints: {error}. Choose a method of linear "
            "oracles ('corrective', 'anytime')"
        ) from None


def _form(problem: Problem) -> QuadraticForm:
    """Return the objective as matrices, or say that it has none."""
    form = problem.objective.quadratic_form()
    if form is None:
        raise CapabilityError(
            "method 'conic' needs a quadratic f whose matrix is known (Quadratic, LeastSquares or "
            "MatrixCompletion, with an array or a sparse matrix), and "
            f"{type(problem.objective).__name__} gives none here: choose 'corrective'"
        )
    return form
