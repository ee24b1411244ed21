r"""Noise in the space of observations, for f(x) = loss(Ax).

The problem is min loss(z) over z in AK, and its smoothed support function is
:math:`E\, s(A'(\theta + \alpha\Delta))`: the answer is the oracle's to the direction perturbed by
:math:`\alpha A'\Delta`. The noise has as many coordinates as there are observations, the radius is
that of AK and the smoothness that of the loss; all theorems hold with these.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import ClassVar, Protocol, cast

import numpy as np

from ..arrays import Streams, inner, to_host
from ..noise import Noise
from ..objectives import Objective
from ..problem import CapabilityError, affordable, spend
from ..sets import Set
from ._base import Array, Smoothing, draw_noise, perturbed


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

    @cached_property
    def smoothness(self) -> float:
        radius = math.sqrt(self.objective.spectral_norm_squared) * self.K.radius
        return radius * self.law.M(math.prod(self.objective.image_shape), "sharp")

    @cached_property
    def bias(self) -> float:
        streams, total = Streams(2**127), 0.0
        place = np.empty(0) if self.objective.like is None else self.objective.like
        # a rough value will do where every draw costs a call of an expensive oracle
        samples = affordable(16 if self.K.batch_hint == 1 else 1024)
        count = min(self.block, samples)
        for block in range(math.ceil(samples / count)):
            rng = streams.at(0, block)
            delta = draw_noise(self.law, rng, (count, *self.objective.image_shape), place)
            spend(count)
            total += float(np.mean(to_host(self.K.support(self.objective.pull_back(delta)))))
        return total / math.ceil(samples / count)

    def size(self, step: Array) -> float:
        image = self.objective.A @ step
        return inner(image, image)
