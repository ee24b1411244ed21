"""Blended pairwise conditional gradients: the printed steps, counts, small active sets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wolfpack as wp
from problems import paper_simplex, small_simplex
from rival_problems import iterates


def reference(f, x0, rounds):
    """The printed iteration on the simplex."""
    weights, vertices = {"start": 1.0}, {"start": x0, **dict(enumerate(np.eye(len(x0))))}
    points = [x0]
    for _ in range(rounds):
        x = points[-1]
        g = f.gradient(x)
        scores = {name: float(g @ vertices[name]) for name in weights}
        a, s, v = max(scores, key=scores.get), min(scores, key=scores.get), int(np.argmin(g))
        if scores[a] - scores[s] >= g @ (x - vertices[v]):
            d, longest = vertices[s] - vertices[a], weights[a]
        else:
            d, longest = vertices[v] - x, 1.0
        step = min(longest, -(g @ d) / (f.L * d @ d))
        if scores[a] - scores[s] >= g @ (x - vertices[v]):
            weights[a] -= step
            weights[s] += step
        else:
            weights = {name: (1 - step) * w for name, w in weights.items()}
            weights[v] = weights.get(v, 0.0) + step
        weights = {name: w for name, w in weights.items() if w > 1e-15}
        points.append(x + step * d)
    return points


def test_the_steps_are_the_printed_ones():
    f, K, _ = small_simplex()
    x0 = np.eye(8)[3]
    # exact line searches end where two slopes are equal, and rounding would break the tie
    settings = {"method": "bpcg", "rule": "short-step", "tol": 0, "max_rounds": 25}
    _, points = iterates(f, K, x0=x0, **settings)
    np.testing.assert_allclose(points, reference(f, x0, 25), atol=1e-12)


def test_the_paper_simplex_takes_at_most_700_rounds():
    f, K, x0 = paper_simplex()
    assert wp.minimize(f, K, x0, method="bpcg", tol=1e-6, max_rounds=700).success
    res = wp.minimize(f, K, method="bpcg", tol=1e-6, max_rounds=700)
    assert res.success
    assert (res.njev, res.nlmo) == (res.nit + 1, res.nit + 1)


@pytest.mark.parametrize("J", [1.0, 2.0, 4.0])
def test_laziness_saves_oracle_calls_and_keeps_the_rate(J):
    f, K, x0 = paper_simplex()
    res = wp.minimize(f, K, x0, method="bpcg", lazy=True, J=J, tol=1e-6, max_rounds=700)
    assert res.success
    assert res.nlmo <= 340
    assert res.nlmo < 0.6 * res.nit


def test_active_sets_are_smaller_than_those_of_pairwise_steps():
    f, _, _ = paper_simplex()
    K = wp.sets.Box(np.full(50, -0.02), np.full(50, 0.03))
    sizes = {
        method: max(len(state.active.keys) for state in states(f, K, method))
        for method in ("bpcg", "pairwise")
    }
    assert sizes["bpcg"] < 0.5 * sizes["pairwise"]


def states(f, K, method):
    seen = []
    wp.minimize(f, K, method=method, tol=1e-4, callback=lambda r: seen.append(r.state))
    return seen


def test_pairwise_steps_bring_no_new_vertex():
    f, K, x0 = paper_simplex()
    seen = []
    wp.minimize(f, K, x0, method="bpcg", lazy=True, tol=1e-4, callback=lambda r: seen.append(r))
    for before, after in itertools.pairwise(seen):
        if after.nlmo == before.nlmo and before.state.vertex is None:
            assert set(after.state.active.keys) <= set(before.state.active.keys)


def test_laziness_below_one_is_refused():
    f, K, _ = small_simplex()
    with pytest.raises(ValueError, match=r"J must be a number in .1, inf., found 0\.5"):
        wp.minimize(f, K, method="bpcg", J=0.5)
