"""Differences of convex functions: descent, the proved decrease, stationarity, boosts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import wolfpack as wp

S = wp.sets
D = 8


def indefinite(seed=0):
    """Convex f and g whose difference is an indefinite quadratic with a linear term."""
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((6, D)), rng.standard_normal((5, D))
    c = rng.standard_normal(D)
    return wp.objectives.Quadratic(A.T @ A, c), wp.objectives.Quadratic(B.T @ B, np.zeros(D))


REGIONS = {
    "simplex": S.Simplex(D, 2.0),
    "box": S.Box(-np.ones(D), np.ones(D)),
    "l1": S.L1Ball(D, 2.0),
    "l2": S.L2Ball(D, 2.0),
}


@pytest.mark.parametrize("boosted", [False, True])
@pytest.mark.parametrize("name", REGIONS)
def test_rounds_fall_by_what_is_proved_and_end_at_a_stationary_point(name, boosted):
    (f, g), K = indefinite(), REGIONS[name]
    if boosted and not K.has("max_step"):
        with pytest.raises(wp.CapabilityError, match="leave boosted out"):
            wp.minimize_difference(f, g, K, boosted=True)
        return
    rng, states = np.random.default_rng(1), []
    x0 = K.lmo(rng.standard_normal((30, D))).mean()
    given = {"boosted": boosted, "tol": 1e-6, "record_every": 1}
    res = wp.minimize_difference(f, g, K, x0, **given, callback=lambda r: states.append(r.state))
    assert res.success
    assert res.status == "stationary"
    assert math.isinf(res.gap)
    gradient = f.gradient(res.x) - g.gradient(res.x)
    slack = float(gradient @ res.x + K.support(-gradient))
    assert res.stationarity == pytest.approx(slack, abs=1e-10)
    assert slack <= 1e-6
    assert res.fun == pytest.approx(f.value(res.x) - g.value(res.x))
    assert all(K.contains(state.x) for state in states)
    L, width = np.linalg.eigvalsh(np.asarray(f.Q)).max(), K.diameter
    for before, after in itertools.pairwise(states):
        gradient = f.gradient(before.x) - g.gradient(before.x)
        slack = float(gradient @ before.x + K.support(-gradient))
        promise = 0.5 * min(0.5 * slack, slack**2 / (2 * L * width**2))
        assert before.at.value - after.at.value >= promise - 1e-10


def test_starts_find_the_minimum_over_the_corners():
    # f - g is concave, so that its minimum is at a corner of the box
    rng = np.random.default_rng(3)
    A, c = rng.standard_normal((D, D)), rng.standard_normal(D)
    f, g = wp.objectives.Quadratic(1e-3, c), wp.objectives.Quadratic(A.T @ A, np.zeros(D))
    corners = np.array(list(itertools.product([-1.0, 1.0], repeat=D)))
    best = min(f.value(x) - g.value(x) for x in corners)
    res = wp.minimize_difference(f, g, REGIONS["box"], starts=30, tol=1e-9)
    assert res.success
    assert res.fun == pytest.approx(best)


def test_boosts_save_rounds():
    (f, g), K = indefinite(5), REGIONS["box"]
    f = wp.objectives.Quadratic(np.asarray(f.Q) + 30 * np.eye(D), f.c)  # a long way in short steps
    g = wp.objectives.Quadratic(np.asarray(g.Q) + 29 * np.eye(D), g.c)
    x0 = np.linspace(-0.1, 0.1, D)
    plain, boosted = (
        wp.minimize_difference(f, g, K, x0, boosted=on, tol=1e-6) for on in (False, True)
    )
    assert plain.success
    assert boosted.success
    assert boosted.nit < plain.nit


def test_callables_subgradients_and_other_methods():
    target = np.array([0.9, 0.3, -0.2, 0.0])
    K = S.L2Ball(4, 1.0)

    def f(x):
        r = x - target
        return 0.5 * float(r @ r), r

    def g(x):
        size = float(np.linalg.norm(x))
        return 0.2 * size, 0.2 * x / max(size, 1e-300)

    res = wp.minimize_difference(f, g, K, np.array([0.0, 0.1, 0.0, 0.0]), tol=1e-6)
    assert res.success
    # f - g is least where x = t target/|target| with t = |target| + 0.2, beyond the ball
    np.testing.assert_allclose(res.x, target / np.linalg.norm(target), atol=1e-3)
    h = wp.objectives.Difference(wp.objectives.as_objective(f), wp.objectives.as_objective(g))
    other = wp.minimize(h, K, np.array([0.0, 0.1, 0.0, 0.0]), tol=1e-6)
    assert other.fun == pytest.approx(res.fun, abs=1e-5)
    assert h.convex is False


@pytest.mark.parametrize("boosted", [False, True])
def test_a_run_resumes_to_the_same_bits(boosted, tmp_path):
    (f, g), K = indefinite(2), REGIONS["l1"]
    x0, path = K.lmo(np.random.default_rng(1).standard_normal((30, D))).mean(), tmp_path / "a.ckpt"
    given = {"boosted": boosted, "tol": 0}
    whole = wp.minimize_difference(f, g, K, x0, max_rounds=9, **given)
    wp.minimize_difference(f, g, K, x0, max_rounds=3, checkpoint=path, **given)
    rest = wp.resume(path, wp.objectives.Difference(f, g), K, max_rounds=9)
    assert rest.x.tobytes() == whole.x.tobytes()
    assert rest.nlmo == whole.nlmo


def test_limits_hold_in_inner_runs():
    (f, g), K = indefinite(), REGIONS["l1"]
    res = wp.minimize_difference(f, g, K, tol=0, max_lmo=7)
    assert res.nlmo <= 7
    assert res.status == "max_lmo"
    assert K.contains(res.x)


def test_arrays_of_torch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((9, D)), rng.standard_normal(9)
    C, e = 0.3 * rng.standard_normal((4, D)), rng.standard_normal(4)
    K = S.Simplex(D)
    made = wp.objectives.LeastSquares
    expected = wp.minimize_difference(made(A, b), made(C, e), K, tol=1e-8)
    found = wp.minimize_difference(
        made(torch.tensor(A), torch.tensor(b)), made(torch.tensor(C), torch.tensor(e)), K, tol=1e-8
    )
    assert isinstance(found.x, torch.Tensor)
    assert found.fun == pytest.approx(expected.fun, abs=1e-9)


def test_values_gradients_and_curvature_are_those_of_the_difference():
    f, g = indefinite(7)
    h, rng = wp.objectives.Difference(f, g), np.random.default_rng(0)
    x, d = rng.standard_normal((2, D))
    assert h.value(x) == pytest.approx(f.value(x) - g.value(x))
    slope = (h.value(x + 1e-6 * d) - h.value(x - 1e-6 * d)) / 2e-6
    assert h.gradient(x) @ d == pytest.approx(slope, rel=1e-6)
    second = (h.gradient(x + d) - h.gradient(x)) @ d
    assert h.curvature(x, d) == pytest.approx(second)
    tilted = h.linearised(x)
    y = x + d  # above f - g, and equal at x, up to the constant
    constant = g.gradient(x) @ x - g.value(x)
    assert tilted.value(x) + constant == pytest.approx(h.value(x))
    assert tilted.value(y) + constant >= h.value(y) - 1e-12
    np.testing.assert_allclose(tilted.gradient(x), h.gradient(x))


def test_bad_arguments_are_one_sentence():
    f, g = indefinite()
    K = REGIONS["box"]
    with pytest.raises(TypeError, match="has no argument 'method'"):
        wp.minimize_difference(f, g, K, method="fw")
    with pytest.raises(ValueError, match="f takes x of shape"):
        wp.minimize_difference(f, wp.objectives.Quadratic(1.0, np.zeros(3)), K)
    with pytest.raises(wp.CapabilityError, match="minimize_difference"):
        wp.minimize(f, K, method=wp.solvers.DifferenceOfConvex(), convex=False)
    with pytest.raises(TypeError, match="f must be an objective"):
        wp.minimize_difference(3, g, K)
