"""What the default call of `minimize_composite` chooses, says, and leaves to the user."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.front import choose_composite
from wolfpack.objectives import LeastSquares, Logistic
from wolfpack.regularizers import BallRidge, ElasticNet, SimplexRidge, SquaredNorm

RNG = np.random.default_rng(3)
A = RNG.standard_normal((200, 12))
UNITS = np.logspace(-2, 2, 12)
B = A @ np.ones(12) + 0.1 * RNG.standard_normal(200)
EVEN = Logistic(A, np.sign(B))
UNEVEN = {
    "least squares": LeastSquares(A * UNITS, B, reduction="mean"),
    "logistic": Logistic(A * UNITS, np.sign(B)),
    "two outputs": LeastSquares(A * UNITS, np.stack([B, -B], axis=1), reduction="mean"),
}
SIMPLE = {"ridge": SquaredNorm(1e-3), "elastic net": ElasticNet(0.01, 1e-3)}


def test_exact_gradients_search_beta():
    H = BallRidge(12, 1e-3)
    assert wp.explain(EVEN, H).options == {"beta": "search"}
    res, named = (wp.minimize_composite(EVEN, H, tol=1e-8, **o) for o in ({}, {"beta": "search"}))
    plain = wp.minimize_composite(EVEN, H, method="accelerated", tol=1e-8)
    np.testing.assert_array_equal(res.x, named.x)
    assert res.passes < plain.passes
    assert "auto chose beta='search'" in res.message
    assert "auto" not in plain.message


def test_small_hessians_make_newton_steps():
    H = SIMPLE["ridge"]
    assert (wp.explain(EVEN, H).method, wp.explain(EVEN, H).options) == ("newton", {})
    res, named = (wp.minimize_composite(EVEN, H, tol=1e-8, **o) for o in ({}, {"method": "newton"}))
    searched = wp.minimize_composite(EVEN, H, beta="search", tol=1e-8)
    np.testing.assert_array_equal(res.x, named.x)
    assert res.passes < searched.passes
    assert "auto chose method='newton'" in res.message
    # Hessians of 3,000 coordinates are too large, unless few of them will not be zero.
    wide = Logistic(RNG.standard_normal((20, 3000)), np.ones(20))
    assert wp.explain(wide, H).options == {"beta": "search"}
    assert wp.explain(wide, SIMPLE["elastic net"]).method == "newton"


@pytest.mark.parametrize("H", SIMPLE.values(), ids=SIMPLE)
@pytest.mark.parametrize("G", UNEVEN.values(), ids=UNEVEN)
def test_columns_of_different_units_are_scaled(G, H):
    """The answer and its certificate are those of the given problem, in far fewer passes."""
    assert wp.explain(G, H).options == {"scale": "auto"}
    res = wp.minimize_composite(G, H, tol=1e-7)
    asked = wp.minimize_composite(G, H, beta="search", tol=1e-7, max_rounds=50_000)
    scaled = wp.minimize_composite(G, H, beta="search", scale="auto", tol=1e-7)
    assert res.success
    assert "scale='auto'" in res.message
    assert res.passes <= scaled.passes < 0.1 * asked.passes
    assert res.fun == pytest.approx(G.value(res.x) + H.value(res.x), abs=1e-13)
    assert res.lower_bound <= asked.fun
    assert asked.lower_bound <= res.fun
    assert set(np.frexp(res.scale)[0].ravel()) == {0.5}  # powers of 2, which change no digit


def test_a_start_is_in_the_units_of_the_answer():
    G, H = UNEVEN["least squares"], SIMPLE["ridge"]
    solved = wp.minimize_composite(G, H, tol=1e-9)
    again = wp.minimize_composite(G, H, solved.x, tol=1e-9)
    assert again.history["fun"][0] == pytest.approx(solved.fun, abs=1e-14)


def test_what_is_given_is_kept():
    G, H = UNEVEN["logistic"], SIMPLE["ridge"]
    for given in ({"beta": 3.0}, {"batch": 20}, {"variance_reduction": True}, {"beta": "stable"}):
        assert wp.explain(G, H, **given).options == {}
    assert wp.explain(G, H, scale=None).options == {}
    assert wp.explain(G, H, scale=np.ones(12)).method == "newton"
    assert wp.explain(G, H, batch=200, scale="auto").options == wp.explain(G, H).options
    assert wp.explain(G, H, w="euclidean").options == {"beta": "search"}
    assert wp.minimize_composite(G, H, scale=None, max_rounds=2).get("scale") is None
    assert wp.explain(G, SimplexRidge(12, 0.1)).options == {"beta": "search"}
    with pytest.raises(TypeError, match="explain takes batch, beta"):
        wp.explain(G, H, m=3)


def test_large_sums_are_sampled(monkeypatch):
    H = SquaredNorm(0.1)
    rows = np.random.default_rng(0).standard_normal((4000, 5))
    G = Logistic(rows, np.sign(rows[:, 0]))
    assert wp.explain(G, H).method == "newton"
    monkeypatch.setattr(choose_composite, "_MANY_ENTRIES", 20_000)
    assert wp.explain(G, H).method == "newton"  # whose steps on five columns are cheap
    monkeypatch.setattr(choose_composite, "_CHEAP_STEP", 0.0)
    assert wp.explain(G, H).options == {"variance_reduction": True}
    res = wp.minimize_composite(G, H, tol=1e-6)
    assert res.success
    assert "auto chose variance_reduction=True" in res.message


def test_runs_in_other_units_resume_to_the_same_bits(tmp_path):
    G, H, path = UNEVEN["logistic"], SIMPLE["elastic net"], tmp_path / "run.ckpt"
    whole = wp.minimize_composite(G, H, tol=1e-9)
    wp.minimize_composite(G, H, tol=1e-9, max_rounds=4, checkpoint=path)
    resumed = wp.resume(path, G, H, max_rounds=100_000)
    np.testing.assert_array_equal(whole.x, resumed.x)
    assert (whole.gap, whole.message) == (resumed.gap, resumed.message)


def test_automatic_batches_are_not_single_rows():
    rows = RNG.standard_normal((2000, 5))
    G = LeastSquares(rows, rows[:, 0], reduction="mean")
    res = wp.minimize_composite(G, SquaredNorm(1e3), variance_reduction=True, tol=1e-8)
    assert res.state.m == 16
