r"""Noise in the space of observations, for f(x) = loss(Ax).

The problem is min loss(z) over z in AK, and its smoothed support function is
:math:`E\, s(A'(\theta + \alpha\Delta))`: the answer is the oracle's to the direction perturbed by
:math:`\alpha A'\Delta`. The noise has as many coordinates as there are observations, the radius is
that of AK and the smoothness that of the loss; all theorems hold with these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar, Protocol, cast

import numpy as np

from .. import theory
from ..arrays import Streams, inner
from ..noise import Noise
from ..objectives import Objective
from ..problem import CapabilityError, Problem
from ..sets import Set
from ._base import BIAS_MARGIN, Array, Smoothing, draw_noise, perturbed


class LinearImage(Protocol):
    """What an objective loss(A x) tells about A."""

    A: Array
    like: Array
    image_shape: tuple[int, ...]
    spectral_norm_squared: float

    def pull_back(self, theta: Array) -> Array:
        """Return A' theta for each theta of a batch."""


class ImageSpace(Smoothing):
    """Noise on A x, for objectives that are linear models."""

    name: ClassVar[str] = "image"
    euclidean: ClassVar[bool] = False

    def __init__(self, K: Set, law: Noise, objective: Objective | None) -> None:
        super().__init__(K, law)
        if objective is None or objective.image_shape is None:
            raise CapabilityError(
                f"smoothing='image' needs an objective of the form loss(Ax), and "
                f"{type(objective).__name__} is none; use smoothing='ambient'"
            )
        self.objective = cast("LinearImage", objective)

    @property
    def numbers_per_answer(self) -> int:
        return max(self.K.dimension, math.prod(self.objective.image_shape))

    @property
    def matrix_size(self) -> int:
        shape = getattr(self.objective.A, "shape", (0, 0))
        return shape[0] * shape[1]

    def directions(self, v: Array, alpha: Array, count: int, rng: np.random.Generator) -> Array:
        delta = draw_noise(self.law, rng, (count, *self.objective.image_shape), v)
        return perturbed(v, alpha, self.objective.pull_back(delta))

    def radius(self, constants: str, norm: theory.Norm = theory.EUCLIDEAN) -> float:
        if norm.p != 2.0:
            raise CapabilityError(
                "smoothing='image' measures A x in the Euclidean norm: leave norm out, or use "
                "smoothing='ambient'"
            )
        return self.stretch * super().radius(constants)

    @property
    def stretch(self) -> float:
        return math.sqrt(self.objective.spectral_norm_squared)

    def curvature(self, constants: str, norm: theory.Norm = theory.EUCLIDEAN) -> float:
        return self.radius(constants, norm) * self.noise_constant(constants, norm)

    def noise_constant(self, constants: str, norm: theory.Norm = theory.EUCLIDEAN) -> float:
        return self.law.M(math.prod(self.objective.image_shape), constants)

    def need_L(self, problem: Problem, method: str, norm: theory.Norm = theory.EUCLIDEAN) -> float:
        """Return L of the loss (Proposition F6); the user's L bounds f and does not enter."""
        L = getattr(self.objective, "loss_smoothness", None)
        if L is None:
            raise CapabilityError(
                f"method {method!r} with smoothing='image' needs the Lipschitz constant of the "
                f"gradient of the loss, and {type(self.objective).__name__} has no "
                "`loss_smoothness`: define it, or use smoothing='ambient'"
            )
        return L

    @cached_property
    def bias(self) -> float:
        estimate = theory.mean_width(self.K, self._bias_directions())
        return estimate.value + BIAS_MARGIN * estimate.error

    def _bias_directions(self) -> Iterator[Array]:
        """Yield batches of A'Delta, `bias_samples` of them in all."""
        streams = Streams(2**127)
        place = np.empty(0) if self.objective.like is None else self.objective.like
        count = min(self.block, self.bias_samples)
        for block in range(math.ceil(self.bias_samples / count)):
            size = min(count, self.bias_samples - block * count)
            shape = (size, *self.objective.image_shape)
            delta = draw_noise(self.law, streams.at(0, block), shape, place)
            yield self.objective.pull_back(delta)

    def size(self, step: Array) -> float:
        image = self.objective.A @ step
        return inner(image, image)
