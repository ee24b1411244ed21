r"""How accurate are values and gradients? Evaluations at equal distances on a short segment of K.

The k-th differences of a smooth function at nearby points are next to nothing. Of values with
independent errors of standard deviation s they have the standard deviation

.. math:: s \sqrt{\tbinom{2k}{k}},

and so they tell s (Hamming 1962, section 1.5; More and Wild 2011). Errors that are the same at all
of these points, such as that of a constant term, change neither differences nor gaps. A gradient
that is off by the same vector at all of them has no differences, but the integral of its slopes
is not the change of the values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays import (
    Array,
    epsilon,
    inners,
    namespace,
    norm,
    row_norms,
    sum_last,
    to_host,
)
from ..problem import NonFiniteError, Scatter
from .slopes import Smooth

POINTS = 8
"""Evaluations beside the one at the best point."""

ORDERS = (3, 4, 5)
"""Orders of the differences; the least of their answers excludes what f's own bending adds."""

FACTOR = 8.0
"""Errors in standard deviations. A run keeps the luckiest of its values and of its bounds, and the
estimate from so few points may be half of the true deviation."""

_STEP = 1.1e-6
"""Distance of neighbouring points, as a part of the segment. Points should not be multiples of a
power of two, at which many functions have no rounding errors at all."""

_UNITS = 64.0
"""The same at least, in rounding units of the point, because closer points may coincide. Also the
rounding errors of values, and of slopes, that are not looked into."""

_COARSER = 97.0
"""Factor of the step where most values are equal."""

_SIMPSON = np.array([1.0, 4.0, 2.0, 4.0, 2.0, 4.0, 2.0, 4.0, 1.0]) / 3.0
_WIDER = np.array([2.0, 0.0, 8.0, 0.0, 4.0, 0.0, 8.0, 0.0, 2.0]) / 3.0


def scatter(smooth: Smooth, x: Array, at: Any, d: Array) -> Scatter | None:
    """Measure the errors of values and gradients between x and x + d, a point of K.

    It takes `POINTS` evaluations; up to twice more where most values are equal, because they are
    multiples of a unit that the segment was too short for. None where f is not finite, or the
    segment is no longer than the rounding errors of x.
    """
    length = norm(d)
    if not (length > 0.0 and math.isfinite(length)):
        return None
    step = max(_STEP, _UNITS * epsilon(x) * norm(x) / length)
    found = None
    while step * POINTS <= 1.0:
        # multiples of the rounded step are exact, so that x itself adds no error
        part = (x + step * d) - x
        try:
            ats = [at, *(smooth.evaluate(x + j * part) for j in range(1, POINTS + 1))]
        except NonFiniteError:
            return found
        values = np.array([float(one.value) for one in ats])
        gradients = [one.gradient for one in ats]
        slopes = np.array(inners(*((g, part) for g in gradients)))
        found = _measured(
            values,
            slopes,
            [norm(g) for g in gradients],
            _differences(gradients, norm),
            norm(part) if norm(((x + POINTS * part) - x) - POINTS * part) == 0.0 else math.inf,
            math.prod(x.shape),
            epsilon(at.gradient),
        )
        if 2 * len(set(values.tolist())) > len(values) or not values.any():
            break
        step *= _COARSER
    return found


def scatter_of_rows(
    sample: Callable[[Array], Any], here: Any, d: Array, asked: np.ndarray
) -> Scatter:
    """Measure the same for many functions at once; each field has an entry for each of them.

    ``sample`` returns the values and gradients of all functions at the rows of a matrix, ``here``
    are those at the first rows. The segments are made longer while most values of one of the
    functions that are ``asked`` for are equal. Entries are NaN where a function is not finite.
    """
    x, lengths, xp = here.x, row_norms(d), namespace(d)
    lengths = xp.where(lengths > 0, lengths, xp.ones_like(lengths))
    step = _UNITS * epsilon(x) * row_norms(x) / lengths
    step = xp.where(step > _STEP, step, _STEP)[:, None]
    found, left = np.full((len(Scatter._fields), len(asked)), np.nan), asked.copy()
    while bool(left.any()) and POINTS * float(xp.min(step)) <= 1.0:
        part = (x + xp.where(POINTS * step <= 1.0, step, 1.0 / POINTS) * d) - x
        ats = [here, *(sample(x + j * part) for j in range(1, POINTS + 1))]
        gradients = [one.gradients for one in ats]
        values = _hosts([one.values for one in ats])
        inexact = row_norms(((x + POINTS * part) - x) - POINTS * part)
        now = _measured(
            values,
            _hosts([sum_last(g * part, 1) for g in gradients]),
            _hosts([row_norms(g) for g in gradients]),
            _differences(gradients, row_norms),
            np.where(to_host(inexact) == 0.0, to_host(row_norms(part)), np.inf),
            x.shape[1],
            epsilon(here.gradients),
        )
        found = np.where(left, np.stack(now), found)
        distinct = 1 + (np.diff(np.sort(values, axis=0), axis=0) > 0).sum(axis=0)
        left &= (2 * distinct <= len(values)) & (values != 0).any(axis=0)
        step = step * _COARSER
    return Scatter(*found)


def _measured(
    values: np.ndarray,
    slopes: np.ndarray,
    sizes: Any,
    differences: Any,
    length: Any,
    dimension: int,
    eps: float,
) -> Scatter:
    """Return what values and slopes at equal distances say, the first axis of all arrays.

    ``slopes`` are products of gradients with the step, whose length is ``length``; infinite where
    the steps are not exactly equal. ``sizes`` are the norms of the gradients, and ``differences``
    those of their differences, as standard deviations.
    """
    with np.errstate(invalid="ignore"):
        scales = [abs(np.diff(values, k, axis=0)).max(axis=0) / _growth(k) for k in ORDERS]
        value = FACTOR * np.min(scales, axis=0)
        largest, steepest = abs(values).max(axis=0), np.max(sizes, axis=0)
        integral, rough = _SIMPSON @ slopes, _WIDER @ slopes
        known = 2.0 * value + abs(integral - rough)
        known = known + _UNITS * eps * (largest + abs(slopes).sum(axis=0))
        missing = np.maximum(abs(values[-1] - values[0] - integral) - known, 0.0)
        # of an error vector a segment shows one component
        constant = missing / (POINTS * length) * math.sqrt(dimension)
    return Scatter(value, FACTOR * differences, constant, largest, steepest)


def _differences(gradients: Sequence[Array], length: Callable[[Array], Any]) -> Any:
    """Return the norm of the standard deviations of the errors of gradients at equal distances."""
    longest: list[Any] = []
    rows = list(gradients)
    for k in range(1, max(ORDERS) + 1):
        rows = [after - before for before, after in pairwise(rows)]
        if k in ORDERS:
            longest.append(np.max([to_host(length(one)) for one in rows], axis=0) / _growth(k))
    return np.min(longest, axis=0)


def _growth(k: int) -> float:
    """Return the standard deviation of k-th differences of independent numbers of deviation 1."""
    return math.sqrt(math.comb(2 * k, k))


def _hosts(rows: Sequence[Array]) -> np.ndarray:
    return np.array([to_host(row) for row in rows], dtype=np.float64)
