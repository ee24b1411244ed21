"""Random least squares of PyTorch arrays, with matrices in half precision, single or double."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import wolfpack as wp
from fuzz import exact, rational
from fuzz.problem import Problem

TYPES = {
    "bfloat16": ("bfloat16", "float32"),
    "float16": ("float16", "float32"),
    "float32": ("float32", "float32"),
    "float64": ("float64", "float64"),
}


def half_problem(rng: np.random.Generator) -> Problem:
    """Return least squares or a projection over a small polytope, with data of PyTorch."""
    import torch

    name = list(TYPES)[rng.integers(len(TYPES))]
    narrow, wide = (getattr(torch, kind) for kind in TYPES[name])
    single = np.float32 if wide is torch.float32 else np.float64

    def rounded(values: object) -> np.ndarray:
        return np.asarray(values, dtype=single).astype(np.float64)

    place = rational._small(rng, rounded)
    d, n = len(place.centre), int(rng.integers(1, 7))
    t = rational._target(rng, place)
    if name in ("float32", "float64") and rng.random() < 0.5:
        c, r = torch.as_tensor(-t).to(wide), 0.5 * float(t @ t)
        form = exact.scaled_identity(1.0, c, r)
        f, family = wp.objectives.Quadratic(1.0, c, r), "projection"
    else:
        A = torch.as_tensor(rng.standard_normal((n, d))).to(narrow)
        b = (A.double() @ torch.as_tensor(t) + rng.choice([0.0, 1.0])).to(wide)
        form, family = exact.least_squares(A, b), "least squares"
        f = wp.objectives.LeastSquares(A, b)
    starts = [torch.as_tensor(place.K.start()).to(wide), None]
    least: Fraction = place.minimum(form)
    return Problem(f"{family}, {name}", place.name, f, place.K, form, least, starts)
