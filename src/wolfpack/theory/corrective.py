"""Theorem R4: how many rounds the corrective method needs as a function of m."""

from __future__ import annotations

from math import expm1, log1p

import numpy as np

from ..problem.checks import at_least, between, whole
from . import _check
from ._check import formula


@formula(
    vertices=whole(1, _check.MAX_TABLE), probability=between(0, 1, low_open=True), m=at_least(1)
)
def corrective_rounds(vertices: int, probability: float, m: float = 1) -> float:
    r"""Theorem R4: expected rounds until all optimal vertices are found, and one that certifies.

    .. math:: \frac{H_q}{1 - (1 - p)^m} + 1, \qquad H_q = 1 + \frac12 + \dots + \frac1q

    Parameters
    ----------
    vertices : int
        q, the vertices of the optimal face that are still to be found, >= 1.
    probability : float
        p in (0, 1]: every perturbed answer is each of them with at least this probability.
    m : float
        Perturbed answers in a round, >= 1.

    Examples
    --------
    >>> from wolfpack import theory
    >>> [round(theory.corrective_rounds(20, 0.02, m), 1) for m in (1, 16, 256)]
    [180.9, 14.0, 4.6]
    """
    q, p = vertices, probability
    found = 1.0 if p == 1.0 else -expm1(m * log1p(-p))
    return float(np.sum(1.0 / np.arange(1, q + 1))) / found + 1.0
