r"""The converging form of Algorithm 1, with polynomial weights.

Iteration
    That of `wolfpack.solvers.composite.accelerated` with other weights: A_k grows like k^2, then
    k^3 (`wolfpack.theory.converging_weight`).

Guarantee
    Theorem C1: E[F(y_k) - min F] is at most O(1/k^2) + O(sigma^2/(mu k)), without a floor; see
    `wolfpack.theory.bound_converging`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ...arrays import Array
from ...gradients import Gradients
from ...problem import CompositeProblem
from ...theory import unchecked
from .accelerated import State, StochasticComposite, Tuned

THETA = 0.5
"""Share of the curvature that is kept to absorb the noise of random gradients."""


@dataclass(frozen=True)
class ConvergingComposite(StochasticComposite):
    r"""Algorithm 1 with polynomial weights, which converges to the minimum.

    Parameters
    ----------
    batch : int, callable, "auto" or None
        As in `StochasticComposite`. "auto" takes c (k+1) gradients in round k, with the c for which
        both terms of Theorem C1 are equal where its weights turn cubic,
        :math:`c = \frac{9 (1-\theta) \nu \sigma^2}{8 \mu \beta D}`. The variance sigma^2 of one
        gradient and D = D_w(z_k, z_0) are measured in the rounds k = 0, 1, 3, 7, 15, ...; c is at
        most beta/mu. The theorem holds for these batches, the choice of c is a heuristic.
    """

    name: ClassVar[str] = "converging"
    batch_names: ClassVar[tuple[str, ...]] = ("auto",)

    def weight(
        self, problem: CompositeProblem, k: int, A_k: float, tuned: Tuned, exact: bool
    ) -> tuple[float, float]:
        theta = 0.0 if exact else THETA
        return unchecked.next_converging_weight(k, A_k, tuned.beta, problem.mu, problem.nu, theta)

    def rounds_to_floor(self, problem: CompositeProblem, gradients: Gradients) -> float:
        return math.inf

    def growth(
        self,
        problem: CompositeProblem,
        state: State,
        v: Array,
        z_next: Array,
        gradients: Gradients,
    ) -> float:
        """Return c, measured again when the number of rounds has doubled."""
        k, beta = state.k, state.tuned.beta
        if self.batch != "auto" or k & (k + 1):
            return state.reading.growth
        variance = gradients.variance(v, 1, problem.norm, k=k)
        scale = 8.0 * problem.mu * beta * problem.divergence(z_next)
        free = 9.0 * (1.0 - THETA) * problem.nu * variance
        # Where z has not moved, noise does not move it: one gradient is enough.
        return min(free / scale, beta / problem.mu) if scale > 0 else 0.0

    def size(self, k: int, m: Any, growth: float, gradients: Gradients) -> int | str:
        if self.batch != "auto":
            return super().size(k, m, growth, gradients)
        # Batches at most double, since D is underestimated while z has not travelled far.
        return math.ceil(min(gradients.max_draws, 2 * m, max(1.0, growth * (k + 1))))
