"""Pairwise Frank-Wolfe: the printed steps, and weight that only moves between two vertices."""

from __future__ import annotations

import itertools

import numpy as np

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
        v = int(np.argmin(g))
        a = max(weights, key=lambda name: float(g @ vertices[name]))
        d = vertices[v] - vertices[a]
        step = min(weights[a], -(g @ d) / (f.L * d @ d))
        weights[a] -= step
        weights[v] = weights.get(v, 0.0) + step
        weights = {name: w for name, w in weights.items() if w > 1e-15}
        points.append(x + step * d)
    return points


def test_the_steps_are_the_printed_ones():
    f, K, _ = small_simplex()
    x0 = np.eye(8)[3]
    # exact line searches end where two slopes are equal, and rounding would break the tie
    settings = {"method": "pairwise", "rule": "short-step", "tol": 0, "max_rounds": 25}
    _, points = iterates(f, K, x0=x0, **settings)
    np.testing.assert_allclose(points, reference(f, x0, 25), atol=1e-12)


def test_a_step_moves_weight_between_two_vertices_only():
    f, K, _ = paper_simplex()
    _, points = iterates(f, K, x0=np.eye(50)[0], method="pairwise", tol=0, max_rounds=60)
    changed = [np.count_nonzero(abs(b - a) > 1e-15) for a, b in itertools.pairwise(points)]
    assert max(changed) == 2


def test_the_paper_simplex_takes_fewer_rounds_than_away_steps():
    f, K, x0 = paper_simplex()
    rounds = {
        method: wp.minimize(f, K, x0, method=method, tol=1e-6, max_rounds=2000).nit
        for method in ("pairwise", "away")
    }
    assert rounds["pairwise"] <= 450
    assert rounds["pairwise"] < rounds["away"] <= 700
