"""Theorem R4: how many rounds the corrective method needs as a function of m."""

from __future__ import annotations

from math import expm1, log1p

import numpy as np

from . import _check


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
    q = int(_check.rounds("vertices", vertices))
    p = _check.number("probability", probability)
    m = _check.number("m", m, least=1.0, strict=False)
    if p > 1.0:
        raise ValueError(f"probability must satisfy 0 < p <= 1, found {probability!r}")
    found = 1.0 if p == 1.0 else -expm1(m * log1p(-p))
    return float(np.sum(1.0 / np.arange(1, q + 1))) / found + 1.0
