r"""Accelerated projected gradient, for sets with a cheap exact projection.

Problem
    min f(x) over x in K, f convex and smooth, K with a Euclidean projection P.

Iteration
    .. math::

        &y_k = x_k + \tfrac{t_k - 1}{t_{k+1}} (x_k - x_{k-1}), \qquad
            t_{k+1} = \tfrac12 (1 + \sqrt{1 + 4 t_k^2}) \\
        &x_{k+1} = P(y_k - \tfrac1{L_k} \nabla f(y_k)),

    with L_k found along the way, by backtracking and by letting it fall, and t = 1 again where the
    momentum points uphill. `wolfpack.solvers.parts.accelerated` has the details.

Guarantee
    f(x_k) - min f <= 2 max(2L, L_0) ||x_0 - x*||^2 / (k + 1)^2 between restarts when L_k does not
    fall (Beck and Teboulle 2009, Theorem 4.4); letting it fall and restarting are heuristics that
    make the method linear on strongly convex f in practice. The certificate holds in all cases.

Symbols
    x_k ``motion.x``, t_k ``motion.t``, L_k ``motion.L``.

Cost of a round
    One projection; one gradient for quadratics, two otherwise (at y_k and at x_{k+1}); more where L
    must rise. No oracle call, but one clean one for each certificate, at recorded rounds.

Sources
    A. Beck, M. Teboulle, A fast iterative shrinkage-thresholding algorithm for linear inverse
    problems, SIAM J. Imaging Sciences 2, 2009.
    B. O'Donoghue, E. Candes, Adaptive restart for accelerated gradient schemes, Foundations of
    Computational Mathematics 15, 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar, NamedTuple

from ..arrays import Array, epsilon, inner, norm, same_type
from ..problem import CapabilityError, Evaluation, Problem, Solver
from ..problem.checks import checked, extent, optional
from ..smoothing import Oracles
from .parts.projected_gradient import Motion, Probe, Space, advance, rounding_of
from .parts.stall import Stall


class State(NamedTuple):
    """Round, the motion of the iterate, and for how long nothing has improved.

    ``affine`` tells whether gradients are affine in x, that is f is quadratic.
    """

    k: int
    motion: Motion[Evaluation]
    stall: Stall
    affine: bool

    @property
    def x(self) -> Array:
        return self.motion.x

    @property
    def at(self) -> Evaluation:
        return self.motion.at.details

    stalled = property(attrgetter("stall.reached"))


@checked(L0=optional(extent))
@dataclass(frozen=True)
class Projected(Solver[State]):
    """Accelerated projected gradient with adaptive L and restarts.

    Parameters
    ----------
    L0 : float, optional
        First estimate of L, with which the first step is made. By default it is ``L`` where that is
        given, the curvature along the first gradient where f is quadratic, and else a small number
        that the first step corrects.
    """

    L0: float | None = None
    name: ClassVar[str] = "projected"
    certificate_calls: ClassVar[int] = 1
    certificate_proofs: ClassVar[int] = 1
    round_calls: ClassVar[int] = 2  # a projection costs more than an oracle call

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        K = problem.set
        if not K.has("project"):
            raise CapabilityError(
                f"method 'projected' needs a set with a projection, and {K} has none: choose a "
                "method of linear oracles ('corrective', 'anytime', 'away')"
            )
        at = problem.evaluate(x0)
        # for a step across K; where L is larger, the first test says by how much
        across = norm(at.gradient) / max(K.diameter, 1e-300) or 1.0
        curvature = problem.objective.curvature(x0, at.gradient)
        L = self.L0 or problem.L or _quotient(curvature, at.gradient) or across
        # an absurdly large L would not move x; where L must rise again, the tests say so
        L = min(L, across / epsilon(x0) ** 0.5)
        motion = Motion.start(x0, Probe(at.value, at.gradient, at), L)
        return State(0, motion, Stall(at.value, 0.0), affine=curvature is not None)

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        motion = advance(_Ambient(problem, state.affine, state.x), state.motion)
        stall = state.stall.updated(motion.at.value, 0.0)
        return State(state.k + 1, motion, stall, state.affine)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the bound of the oracle's answer to the gradient at x_k."""
        at = state.at
        return problem.dual_bound(at.gradient, at.dual, oracles.lmo(at.gradient))


def _quotient(curvature: float | None, gradient: Array) -> float | None:
    """Return the curvature <g, Hg> per square of the length of g, None where it is unknown."""
    square = inner(gradient, gradient)
    return curvature / square if curvature and square > 0 else None


class _Ambient(Space[Evaluation]):
    """The points of K as they are."""

    def __init__(self, problem: Problem, affine: bool, x: Array) -> None:
        self.problem = problem
        self.affine = affine
        self.rounding = rounding_of(x)

    def evaluate(self, x: Array) -> Probe[Evaluation]:
        at = self.problem.evaluate(x)
        return Probe(at.value, at.gradient, at)

    def project(self, y: Array, gradient: Array, L: float) -> Array:
        return same_type(self.problem.set.project(y - (1.0 / L) * gradient), y)
