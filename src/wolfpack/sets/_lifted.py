"""Lifted smoothing: Gumbel noise on the scores of the vertices.

The vertex v is then drawn with probability proportional to exp(<y, v>/alpha), and
s_alpha(y) = alpha log sum_v exp(<y, v>/alpha).
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ._base import Set
from ._laws import LIFTED, NoiseLike, is_lifted, need_lifted, smoothing_arguments


class LiftedSet(Set):
    """A polytope whose lifted smoothing has a closed form.

    With N vertices s_1(0) = log N. The Hessian of s_alpha is 1/alpha times a covariance of
    vertices, and the variance of a number in an interval of length D, the diameter, is at most
    D^2/4: s_alpha is D^2/(4 alpha)-smooth.
    """

    polytope = True
    closed_forms = (LIFTED,)
    log_count: float  # log N

    def start(self) -> Array:
        return self.smoothed(np.zeros(self.shape), 1.0)

    def smoothed_at_zero(self, noise: NoiseLike) -> float | None:
        return self.log_count if is_lifted(noise) else None

    def smoothness(self, noise: NoiseLike) -> float | None:
        return 0.25 * self.diameter**2 if is_lifted(noise) else None

    def _lifted_arguments(self, y: Array, alpha: float, noise: NoiseLike) -> tuple[Array, float]:
        """Return the checked y and alpha; raise for other noise."""
        need_lifted(self, noise)
        return smoothing_arguments(self, y, alpha)


def exponentials(scores: Array, alpha: float) -> tuple[Array, float]:
    """Return exp((scores - max)/alpha) and max: softmax without overflow.

    For alpha = 0, which a set of a single point asks for, only the largest scores have a weight.
    """
    largest, smallest = scores.item(scores.argmax()), scores.item(scores.argmin())
    below = scores - largest
    if alpha == 0.0:
        return 1.0 * (below == 0.0), largest
    if largest - smallest > 1e30 * alpha:
        # the quotients of such entries would overflow; their weight is 0
        below = np.maximum(below, -1e30 * alpha)
    return np.exp(below / alpha), largest


def draw_indices(weights: Array, count: int, rng: np.random.Generator) -> Array:
    """Draw ``count`` positions with probabilities proportional to the weights."""
    cumulative = np.cumsum(weights)
    drawn = cumulative.searchsorted(rng.random(count) * cumulative[-1], side="right")
    # rounding may lift a product to the total, which lies beyond the last entry
    return np.minimum(drawn, len(cumulative) - 1)
