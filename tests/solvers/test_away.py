"""Away-step Frank-Wolfe: the printed steps, the theorem's rate, drops."""

from __future__ import annotations

import math

import numpy as np

import wolfpack as wp
from problems import minimum, small_simplex
from rival_problems import iterates


def reference(f, x0, rounds):
    """The printed iteration on the simplex, with weights in a dictionary and dense vertices."""
    weights, vertices = {"start": 1.0}, {"start": x0, **dict(enumerate(np.eye(len(x0))))}
    points = [x0]
    for _ in range(rounds):
        x = sum(w * vertices[name] for name, w in weights.items())
        g = f.gradient(x)
        v = int(np.argmin(g))
        a = max(weights, key=lambda name: float(g @ vertices[name]))
        if g @ (x - vertices[v]) >= g @ (vertices[a] - x):
            d, longest = vertices[v] - x, 1.0
        else:
            d, longest = x - vertices[a], weights[a] / (1 - weights[a])
        step = min(longest, -(g @ d) / (f.L * d @ d))
        forward = longest == 1.0 and np.array_equal(d, vertices[v] - x)
        sign = -step if forward else step
        weights = {name: (1 + sign) * w for name, w in weights.items()}
        name, change = (v, step) if forward else (a, -step)
        weights[name] = weights.get(name, 0.0) + change
        weights = {name: w for name, w in weights.items() if w > 1e-15}
        points.append(x + step * d)
    return points


def test_the_steps_are_the_printed_ones():
    f, K, _ = small_simplex()
    x0 = np.eye(8)[3]
    # exact line searches end where two slopes are equal, and rounding would break the tie
    settings = {"method": "away", "rule": "short-step", "tol": 0, "max_rounds": 25}
    _, points = iterates(f, K, x0=x0, **settings)
    np.testing.assert_allclose(points, reference(f, x0, 25), atol=1e-12)


def test_the_rate_is_that_of_the_theorem():
    # the pyramidal width of the simplex in even dimension d is 2/sqrt(d)
    f, K, _ = small_simplex()
    best = minimum("small_simplex")
    mu = float(np.linalg.eigvalsh(f.A.T @ f.A)[0])
    rho = mu * (2 / math.sqrt(8)) ** 2 / (4 * f.L * K.diameter**2)
    res = wp.minimize(f, K, np.eye(8)[3], method="away", tol=0, max_rounds=400)
    values = res.history["fun"] - best
    allowed = values[0] * (1 - rho) ** (res.history["round"] / 2)
    assert np.all(values <= allowed + 1e-7)


def test_bad_vertices_are_dropped():
    f, K, _ = small_simplex()
    worst = np.eye(8)[np.argmax(f.gradient(np.full(8, 1 / 8)))]
    res = wp.minimize(f, K, worst, method="away", tol=1e-10)
    assert res.success
    active = res.state.active
    assert active.weights[0] == 0.0
    assert len(active.keys) == np.count_nonzero(res.x > 1e-12)


def test_counts_are_one_gradient_and_one_oracle_per_round():
    f, K, _ = small_simplex()
    res = wp.minimize(f, K, method="away", tol=0, max_rounds=20)
    assert (res.njev, res.nlmo) == (21, 21)
    res = wp.minimize(f, K, np.eye(8)[3], method="away", tol=0, max_rounds=20)
    assert res.njev == 21
    assert res.nlmo <= 23  # two at most show that the start is a vertex
