r"""Noise on the coordinates of the direction, as in the paper.

:math:`s_\alpha(u) = E\, s(u + \alpha\Delta)`, whose gradient is the mean of
:math:`\arg\max_{v\in K} \langle v, u + \alpha\Delta\rangle`.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from .. import theory
from ..atoms import Atoms
from ..noise import Noise
from ..sets import Set
from ._base import BIAS_MARGIN, Array, Smoothing, draw_noise, perturbed


class Ambient(Smoothing):
    """Noise on each coordinate; closed forms and direct samplers of the set are used."""

    name: ClassVar[str] = "ambient"

    def __init__(self, K: Set, law: Noise) -> None:
        super().__init__(K, law)
        self._uniform = isinstance(law.scale, float)
        # a set draws its first law without coordinates; that needs one scale for all of them
        self._direct = law.name in K.closed_forms[:1] and K.has("draw") and self._uniform

    @property
    def numbers_per_answer(self) -> int:
        return 1 if self._direct else self.K.dimension

    def answers(self, v: Array, alpha: Array, count: int, rng: np.random.Generator) -> Atoms:
        if self._direct and (isinstance(alpha, float) or np.ndim(alpha) == 0):
            return self.K.draw(-v, alpha * self.law.scale, count, rng)
        return super().answers(v, alpha, count, rng)

    def directions(self, v: Array, alpha: Array, count: int, rng: np.random.Generator) -> Array:
        return perturbed(v, alpha, draw_noise(self.law, rng, (count, *self.K.shape), v))

    @property
    def exact(self) -> bool:
        # Gumbel closed forms are softmaxes, which hold for equal scales only
        return self.law.name in self.K.closed_forms and (
            self._uniform or self.K.closed_forms[0] != "gumbel"
        )

    @property
    def closed_form(self) -> Noise:
        return self.law

    def curvature(self, constants: str, norm: theory.Norm = theory.EUCLIDEAN) -> float:
        return theory.smoothness(self.K, self.law, 1.0, constants, norm)

    @cached_property
    def bias(self) -> float:
        estimate = theory.s1(self.K, self.law, samples=self.bias_samples)
        return estimate.value + BIAS_MARGIN * estimate.error
