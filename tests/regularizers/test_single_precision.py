"""Runs in single precision: points are rounded, and no regulariser takes that for being outside."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp

D = 40
GROUPS = [range(D // 2), range(D // 2, D)]
RNG = np.random.default_rng(0)
A = RNG.standard_normal((60, D)).astype(np.float32)
B = (A @ abs(RNG.standard_normal(D)) / 4).astype(np.float32)
R, S = wp.regularizers, wp.sets
TERMS = {
    "ridge": R.SquaredNorm(0.1),
    "elastic net": R.ElasticNet(0.1, 0.1),
    "group lasso": R.GroupLasso(GROUPS, 0.1, 0.1),
    "sparse group lasso": R.SparseGroupLasso(GROUPS, 0.1, 0.1, 0.1),
    "box": R.BoxRidge(np.zeros(D), 1.0, 0.1),
    "ball": R.BallRidge(D, 0.1),
    "simplex": R.SimplexRidge(D, 0.1),
    "large simplex": R.SimplexRidge(D, 0.1, 1e5),
    "entropy": R.Entropy(0.1),
    "squared p-norm": R.SquaredPNorm(0.1, 1.5),
    "total variation": R.TotalVariation(0.1, 0.1),
    "l1 ball": R.IndicatorRidge(S.L1Ball(D, 5.0), 0.1),
    "capped simplex": R.IndicatorRidge(S.CappedSimplex(D, 0.5, 2.0), 0.1),
    "hypersimplex": R.IndicatorRidge(S.Hypersimplex(D, 3), 0.1),
    "permutahedron": R.IndicatorRidge(S.Permutahedron(np.arange(D) / 10), 0.1),
    "moved simplex": R.IndicatorRidge(S.Translate(S.Simplex(D), np.full(D, 100.0)), 0.1),
    "scaled simplex": R.IndicatorRidge(S.Scale(S.Simplex(D), 30.0), 0.1),
    "groups": R.IndicatorRidge(S.GroupL1Ball(GROUPS), 0.1),
}
WAYS = {
    "as usual": {},
    "search": {"beta": "search"},
    "same": {"w": "same"},
    "rows": {"batch": 16, "variance_reduction": True},
    "converging": {"method": "converging", "batch": 8},
}


def start(H) -> np.ndarray:
    if isinstance(H, R.IndicatorRidge):
        return H.K.start()
    return np.full(D, 1.0 / D if isinstance(H, R.Entropy) else 0.0)


def certified(G, H, y0, options):
    """Run, and return the result; skip where w is not known for H."""
    tol = 1e-3 * G.value(np.zeros(D))
    try:
        return wp.minimize_composite(G, H, y0, tol=tol, max_rounds=60, seed=0, **options)
    except wp.CapabilityError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("unit", [1.0, 1e3], ids=["unit", "thousands"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TERMS)
def test_a_run_in_single_precision_stays_inside(name, way, unit):
    H = TERMS[name]
    G = wp.objectives.LeastSquares(A * np.float32(unit), B, reduction="mean")
    found = certified(G, H, start(H).astype(np.float32), WAYS[way])
    assert found.x.dtype == np.float32
    assert found.status in ("converged", "max_rounds", "stalled")
    assert np.isfinite(found.fun)
    double = wp.objectives.LeastSquares(G.A.astype(float), G.b.astype(float), reduction="mean")
    other = certified(double, H, start(H), {"beta": "search"})
    assert found.lower_bound <= other.fun + 1e-4 * abs(other.fun)


def test_points_outside_are_outside_in_single_precision_too():
    H = R.SimplexRidge(3, 0.1)
    assert H.value(np.array([0.5, 0.5, 0.0], dtype=np.float32)) < 1.0
    assert H.value(np.array([0.5, 0.5, 1e-3], dtype=np.float32)) == np.inf
    assert H.value(np.array([0.5, 0.5, 1e-7])) == np.inf


def test_steps_from_far_away_meet_the_set_in_single_precision():
    """-g/c = 1e7 has no digits left for a sum of 1."""
    H = R.SimplexRidge(3, 0.1)
    y = H.argmin(np.array([1e6, 1e6 + 0.0625, 1e6], dtype=np.float32))
    assert y.dtype == np.float32
    assert y.sum() == pytest.approx(1.0, abs=1e-6)
