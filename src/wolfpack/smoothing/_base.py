r"""What a smoothing offers to the solvers.

With s the support function of K, every smoothing replaces s by a smooth :math:`s_\alpha \ge s`
whose gradient is the mean of the oracle's answers to randomly perturbed questions. Smoothings
differ in what the noise is added to, and with it in the constants: :math:`s_\alpha` is
C/alpha-smooth and exceeds s by at most alpha times the bias.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, cast

import numpy as np

from .. import theory
from ..arrays import Array, inner, like, minus_scaled, reshape
from ..atoms import Atoms
from ..noise import Noise
from ..problem import CapabilityError, Problem
from ..sets import Set

BLOCK_NUMBERS = 2**16
"""Random numbers per block: large enough to amortise a call, small enough to stay in cache."""


BIAS_MARGIN = 2.0
"""Standard errors that are added to an estimate of s_1(0), so that it is a bound with 97.5%."""


class Smoothing(ABC):
    """Perturbed answers of a set K under a noise law, and their mean where it is known."""

    name: ClassVar[str]
    euclidean: ClassVar[bool] = True  # whether `size` is the squared Euclidean norm
    perturbs: ClassVar[bool] = True  # whether `directions` are what the oracle is asked

    def __init__(self, K: Set, law: Noise | None) -> None:
        self.K = K
        self.law = cast("Noise", law)  # None where the noise is on the scores of vertices

    @property
    def matrix_size(self) -> int:
        """Entries of the matrix that maps noise to directions, 0 without one."""
        return 0

    @property
    def native(self) -> bool:
        """Whether the array library draws the noise with its own generator."""
        return isinstance(self.law, Noise) and self.law.native

    def directions(self, v: Array, alpha: Array, count: int, rng: np.random.Generator) -> Array:
        """Return ``count`` directions for the oracle: v minus noise of scale alpha."""
        raise NotImplementedError

    def answers(self, v: Array, alpha: Array, count: int, rng: np.random.Generator) -> Atoms:
        """Return ``count`` answers to -v perturbed with scale alpha, drawn from ``rng``.

        ``alpha`` is a number, or an array with one for each answer, of which zeros ask -v itself.
        """
        return self.K._lmo(self.directions(v, alpha, count, rng))

    @property
    @abstractmethod
    def numbers_per_answer(self) -> int:
        """Random numbers that one answer takes."""

    @cached_property
    def smoothness(self) -> float:
        """C such that s_alpha is C/alpha-smooth in the Euclidean norm, the smallest known one."""
        return self.curvature("sharp")

    @abstractmethod
    def curvature(self, constants: str, norm: theory.Norm = theory.EUCLIDEAN) -> float:
        """Return C such that s_alpha is C/alpha-smooth in a norm, "sharp" or as in the "paper"."""

    @cached_property
    @abstractmethod
    def bias(self) -> float:
        """A bound on (s_alpha - s)/alpha, which is s_1(0).

        Where it is estimated, that takes `bias_samples` oracle calls, on first use.
        """

    @property
    def bias_samples(self) -> int:
        """How many oracle calls an estimate of `bias` takes."""
        # a rough value will do where every draw costs a call of an expensive oracle
        return 16 if self.K.batch_hint == 1 else 256

    def radius(self, constants: str, norm: theory.Norm = theory.EUCLIDEAN) -> float:
        """Return the radius of the set that is smoothed, about 0 with the "paper"'s constants."""
        return norm.radius_of(self.K, constants)

    @property
    def stretch(self) -> float:
        """How much longer the noise is in the space of directions than where it is drawn."""
        return 1.0

    def noise_constant(self, constants: str, norm: theory.Norm = theory.EUCLIDEAN) -> float:
        """Return M, so that s_alpha is R M/alpha-smooth with the radius R."""
        return norm.C * self.law.M(self.K.dimension, constants)

    def need_L(self, problem: Problem, method: str, norm: theory.Norm = theory.EUCLIDEAN) -> float:
        """Return the smoothness constant of the function that is minimised over that set."""
        L = problem.need_L(method)
        return L if norm.p == 2.0 else norm.smoothness_of(L, problem.objective.L1)

    @property
    def exact(self) -> bool:
        """Whether `mean_answer` is known in closed form."""
        return False

    @property
    def closed_form(self) -> Noise | str:
        """The noise as the set's closed forms take it; raise where there is none."""
        raise CapabilityError(self.why_not_exact())

    def mean_answer(self, v: Array, alpha: float) -> Array:
        """Return the mean of the answers to -v in closed form."""
        return self.K.smoothed(-v, alpha, self.closed_form)

    @property
    def tells_support(self) -> bool:
        """Whether `support` is known, which the step test of the anytime method needs."""
        return self.exact and self.K.has("smoothed_support")

    def support(self, y: Array, alpha: float) -> float:
        """Return s_alpha(-y) in closed form."""
        return self.K.smoothed_support(-y, alpha, self.closed_form)

    def supports(self, points: Sequence[Array], alpha: float) -> list[Array]:
        """Return s_alpha(-y) for several y: numbers, or arrays of shape () where the points are."""
        if self.K.like is None:
            return [self.support(y, alpha) for y in points]
        return self.K.smoothed_supports(points, -alpha, self.closed_form)

    def why_not_exact(self) -> str:
        """Return the sentence that explains a missing closed form, and who has one."""
        law = self.law.name if self.law else "lifted"
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

    @cached_property
    def block(self) -> int:
        """Answers per block of draws: fixed by the set and the smoothing alone.

        Boundaries must not depend on the machine or on the number of workers, so that the same
        seed gives the same sums everywhere.
        """
        return max(1, BLOCK_NUMBERS // self.numbers_per_answer)


def perturbed(v: Array, alpha: Array, delta: Array) -> Array:
    """Return v - alpha delta for a batch of delta; alpha is a number, or one for each of them."""
    if isinstance(alpha, float) or np.ndim(alpha) == 0:
        return minus_scaled(v, float(alpha), delta)
    return v - reshape(like(alpha, v), (-1, *[1] * (delta.ndim - 1))) * delta


def draw_noise(law: Noise, rng: np.random.Generator, shape: tuple[int, ...], v: Array) -> Array:
    """Draw noise of the library, device and type of ``v``.

    For other libraries than NumPy the numbers come from the host in double precision, the same for
    every device and type, unless the law is to be drawn natively.
    """
    if type(v) is np.ndarray:
        return law.sample(rng, shape, dtype=v.dtype)
    if isinstance(law, Noise) and law.native:
        return law.sample_at(v, rng, shape)
    return like(law.sample(rng, shape), v)
