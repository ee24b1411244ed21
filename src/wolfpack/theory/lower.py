r"""What no method can do: lower bounds for iterates that mix oracle answers (docs/theory/lower.md).

A vertex of the simplex has one nonzero. An iterate that mixes a vertex x_0 and n answers has at
most 1 + n of them, however they were chosen, and a sparse point cannot be close to a dense one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ..problem.checks import as_array, optional, positive, whole
from . import _check
from ._check import PerRound, Rounds, formula
from .anytime import batch_sizes


@formula(d=optional(whole(1, 2**53)), L=positive, radius=positive)
def lower_bound(
    k: Rounds,
    d: int | None = None,
    *,
    m: float | Callable[[np.ndarray], ArrayLike] = 1,
    L: float = 1.0,
    radius: float = 1.0,
    target: ArrayLike | None = None,
) -> PerRound:
    r"""Theorem B1: f(x_k) - min f is at least this after k rounds, whatever the method.

    .. math:: \frac{L r^2}{2} \Bigl( \frac{1}{1 + \sum_{i<k} m_i} - \frac1d \Bigr)_+

    for f(x) = (L/2) ||x||^2 on the simplex of sum r in dimension d, from a vertex, when x_k mixes
    x_0 and the answers of the k rounds. With ``target`` = t, for f(x) = (L/2) ||x - t||^2, it is
    the error of the best point with that many nonzeros (Theorem B2).

    Parameters
    ----------
    k : int or array of int
        Rounds done, >= 0.
    d : int, optional
        Dimension of the simplex; that of ``target`` where it is given.
    m : number or callable
        Answers in a round: a number, or i -> m_i for i = 1, 2, ... (vectorised).
    L, radius : float
        Smoothness of f, and the sum r of the entries of a point.
    target : array, optional
        The point t that is projected onto the simplex; 0 by default.

    Notes
    -----
    It says nothing about means of answers in closed form, which have d nonzeros at once, and about
    methods that do not mix answers, such as projections.

    Examples
    --------
    >>> from wolfpack import theory
    >>> theory.lower_bound([9, 99], 1000).round(4).tolist()
    [0.0495, 0.0045]
    >>> round(theory.lower_bound(9, 1000, m=100), 7)
    5.49e-05
    """
    at, r = _check.rounds("k", k, least=0, most=_check.MAX_TABLE), radius
    if target is None:
        if d is None:
            raise ValueError("lower_bound needs the dimension d, or a target, found neither")
        size = d
    else:
        t = np.asarray(as_array(target, "target"), dtype=np.float64).reshape(-1)
        size = t.size if d is None else d
        if not t.size or size != t.size:
            raise ValueError(f"target must hold {size} finite numbers, found {np.shape(target)}")
    rounds = np.arange(1, int(at.max()) + 1)
    answers = np.concatenate([[0.0], np.cumsum(batch_sizes(m, rounds))]) if rounds.size else [0.0]
    nonzeros = np.minimum(1.0 + np.asarray(answers)[at], float(size))
    if target is None:
        return _check.like(at, 0.5 * L * r**2 * (1.0 / nonzeros - 1.0 / size))
    errors = 0.5 * L * _sparse_errors(t, r)
    return _check.like(at, errors[nonzeros.astype(np.int64) - 1] - errors[-1])


def _sparse_errors(t: np.ndarray, r: float) -> np.ndarray:
    """||x - t||^2 for the nearest x on the simplex of sum r with s nonzeros, s = 1, ..., d.

    The nearest point keeps the s largest entries of t. Of those it lowers (or raises) all by one
    number, and drops those that would become negative: from then on more nonzeros do not help.
    """
    t = -np.sort(-t)
    s = np.arange(1, t.size + 1)
    shift = (np.cumsum(t) - r) / s
    used = np.maximum.accumulate(np.where(t > shift, s, 0))
    tail = np.concatenate([np.cumsum((t**2)[::-1])[::-1], [0.0]])
    return used * shift[used - 1] ** 2 + tail[used]
