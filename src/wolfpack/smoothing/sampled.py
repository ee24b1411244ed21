r"""Sampled smoothing: answers to randomly perturbed directions.

With s the support function of K and :math:`s_\alpha(u) = E\, s(u + \alpha\Delta)`, the answer
:math:`\arg\max_{v\in K} \langle v, u + \alpha\Delta\rangle` is an unbiased estimate of
:math:`\nabla s_\alpha(u)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..atoms import Atoms

Array = Any

_ELEMENTS = 2**16
"""Random numbers per block: large enough to amortise a call, small enough to stay in cache."""


def block_length(K: Any, direct: bool) -> int:
    """Return how many samples make one block: a function of the set alone.

    Boundaries must not depend on the machine or the number of workers, so that the same seed gives
    the same sums everywhere.
    """
    return _ELEMENTS if direct else max(1, _ELEMENTS // K.dimension)


def sample_block(
    K: Any, law: Any, v: Array, alpha: float, count: int, rng: np.random.Generator
) -> Atoms:
    """Return ``count`` maximisers of <u, -v + alpha Delta> over u in K, Delta drawn from ``law``.

    Parameters
    ----------
    K : Set
        The set.
    law : Noise
        Law of the perturbation.
    v : array
        Query point: the clean answer would be ``K.lmo(v)``.
    alpha : float
        Scale of the perturbation.
    count : int
        Number of answers.
    rng : numpy.random.Generator
        The block's random stream.
    """
    delta = law.sample(rng, (count, *K.shape), dtype=v.dtype)
    return K._lmo(v - alpha * delta)
