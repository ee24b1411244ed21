r"""Gumbel noise on the scores of the vertices.

For K the hull of vertices :math:`v_1, \dots, v_N`,
:math:`s_\alpha(u) = E \max_i (\langle v_i, u\rangle + \alpha\Delta_i)
= \alpha \log \sum_i e^{\langle v_i, u\rangle/\alpha}`: smooth with constant R^2/alpha and biased by
at most alpha log N, whatever the vertices. Sets with few vertices, and those whose vertices are
paths or trees, compute its gradient exactly.
"""

from __future__ import annotations

from functools import cached_property
from itertools import groupby
from typing import ClassVar, cast

import numpy as np

from .. import theory
from ..arrays import namespace
from ..atoms import Atoms, join
from ..problem import CapabilityError
from ..sets import Set
from ._base import Array, Smoothing


class Lifted(Smoothing):
    """Noise on the vertices' scores, for sets that list "lifted" among their closed forms."""

    name: ClassVar[str] = "lifted"
    perturbs: ClassVar[bool] = False

    def __init__(self, K: Set) -> None:
        super().__init__(K, None)
        if "lifted" not in K.closed_forms:
            raise CapabilityError(
                f"smoothing='lifted' puts noise on the scores of vertices, which {K} does not "
                "offer; smoothing='ambient' works with every set"
            )

    @property
    def numbers_per_answer(self) -> int:
        return 1 if self.K.closed_forms[0] == "lifted" else self.K.dimension

    def answers(self, v: Array, alpha: Array, count: int, rng: np.random.Generator) -> Atoms:
        if np.ndim(alpha) == 0:
            return self.K.draw(-v, alpha, count, rng)
        # a set draws many answers of one scale at a time
        runs = [(scale, len(list(run))) for scale, run in groupby(alpha.tolist())]
        return join([self._run(v, scale, n, rng) for scale, n in runs])

    def _run(self, v: Array, alpha: float, count: int, rng: np.random.Generator) -> Atoms:
        if alpha:
            return self.K.draw(-v, alpha, count, rng)
        return self.K._lmo(namespace(v).broadcast_to(v, (count, *v.shape)))

    @property
    def exact(self) -> bool:
        return True

    @property
    def closed_form(self) -> str:
        return "lifted"

    def curvature(self, constants: str, norm: theory.Norm = theory.EUCLIDEAN) -> float:
        known = self.K.smoothness("lifted")
        # the variance of numbers in an interval of the length of the diameter
        B = 0.25 * self.K.diameter**2 if known is None else known
        return B if norm.p == 2.0 else norm.curvature_of(self.K, "lifted", B, constants)

    def noise_constant(self, constants: str, norm: theory.Norm = theory.EUCLIDEAN) -> float:
        return self.curvature(constants, norm) / self.radius(constants, norm)

    @cached_property
    def bias(self) -> float:
        return float(cast("float", self.K.smoothed_at_zero("lifted")))
