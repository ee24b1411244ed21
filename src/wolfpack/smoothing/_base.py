r"""What a way of smoothing offers to the solvers.

With s the support function of K, all ways replace s by a smooth :math:`s_\alpha \ge s` whose
gradient is the mean of the oracle's answers to randomly perturbed questions. They differ in where
the noise lives, and with it in the constants: :math:`s_\alpha` is C/alpha-smooth and exceeds s by
at most alpha times the bias.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array, inner, like, minus_scaled, reshape
from ..atoms import Atoms
from ..problem import CapabilityError

BLOCK_NUMBERS = 2**16
"""Random numbers per block: large enough to amortise a call, small enough to stay in cache."""


class Smoothing(ABC):
    """Perturbed answers of one set under one law, and their mean where it is known.

    Parameters
    ----------
    K : Set
        The set.
    law : Noise
        Law of the perturbation.
    """

    name: ClassVar[str]
    euclidean: ClassVar[bool] = True  # whether `size` is the squared Euclidean norm

    def __init__(self, K: Any, law: Any) -> None:
        self.K = K
        self.law = law

    @abstractmethod
    def answers(self, v: Array, alpha: Any, count: int, rng: Any) -> Atoms:
        """Return ``count`` answers to -v perturbed with scale alpha, drawn from ``rng``.

        ``alpha`` is a number, or an array with one for each answer, of which zeros ask -v itself.
        """

    @property
    @abstractmethod
    def numbers_per_answer(self) -> int:
        """Random numbers that one answer takes."""

    @cached_property
    @abstractmethod
    def smoothness(self) -> float:
        """C such that s_alpha is C/alpha-smooth."""

    @cached_property
    @abstractmethod
    def bias(self) -> float:
        """A bound on (s_alpha - s)/alpha."""

    @property
    def exact(self) -> bool:
        """Whether `mean_answer` is known in closed form."""
        return False

    def mean_answer(self, v: Array, alpha: float) -> Array:
        """Return the mean of the answers to -v in closed form."""
        raise CapabilityError(self.why_not_exact())

    @property
    def tells_support(self) -> bool:
        """Whether `support` is known, which the step test of the anytime method needs."""
        return self.exact and self.K.has("smoothed_support")

    def support(self, y: Array, alpha: float) -> float:
        """Return s_alpha(-y) in closed form."""
        raise CapabilityError(self.why_not_exact())

    def supports(self, points: Sequence[Array], alpha: float) -> list[Any]:
        """Return s_alpha(-y) for several y: numbers, or arrays of shape () where the points are."""
        return [self.support(y, alpha) for y in points]

    def why_not_exact(self) -> str:
        """Return the sentence that explains a missing closed form, and who has one."""
        law = getattr(self.law, "name", "lifted")
        own = ", ".join(self.K.closed_forms)
        return (
            f"m='exact' needs a closed form of the smoothed argmax, and {self.K} has "
            + (f"one for {own} noise, not for {law} noise" if own else "none")
            + "; these have: Simplex, L1Ball, WeightedL1Ball, Box, LinfBall, ConvexHull, DagFlow, "
            "SpanningTree and products of them"
        )

    def size(self, step: Array) -> float:
        """Return ||step||^2 in the norm in which the curvature of f is to be measured."""
        return inner(step, step)

    @property
    def block(self) -> int:
        """Answers per block of draws: fixed by the set and the way of smoothing alone.

        Boundaries must not depend on the machine or on the number of workers, so that the same
        seed gives the same sums everywhere.
        """
        return max(1, BLOCK_NUMBERS // self.numbers_per_answer)


def perturbed(v: Array, alpha: Any, delta: Array) -> Array:
    """Return v - alpha delta for a batch of delta; alpha is a number, or one for each of them."""
    if isinstance(alpha, float) or np.ndim(alpha) == 0:
        return minus_scaled(v, float(alpha), delta)
    return v - reshape(like(alpha, v), (-1, *[1] * (delta.ndim - 1))) * delta


def draw_noise(law: Any, rng: Any, shape: tuple[int, ...], v: Array) -> Array:
    """Draw noise of the type of ``v`` and where it is.

    For other libraries than NumPy the numbers come from the host in double precision, the same
    wherever ``v`` is and whatever its type, unless the law is to be drawn natively.
    """
    if type(v) is np.ndarray:
        return law.sample(rng, shape, dtype=v.dtype)
    if getattr(law, "native", False):
        return law.sample_at(v, rng, shape)
    return like(law.sample(rng, shape), v)
