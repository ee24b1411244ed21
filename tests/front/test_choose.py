"""What auto chooses, by the rules that the guide states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wolfpack as wp

ENTRIES = wp.objectives.MatrixCompletion([0, 1], [1, 0], [1.0, 2.0], (4, 4))
PATHS = wp.sets.DagFlow([(0, 1), (1, 2), (0, 2)], 0, 2)
BALL = wp.sets.Oracle(lambda g: -g / max(np.linalg.norm(g), 1e-300), shape=3, radius=1.0)


def nearest(K: Any) -> Any:
    return wp.objectives.Quadratic(1.0, np.ones(K.shape))


CASES: dict[str, tuple[Any, Any, dict[str, Any], str, dict[str, Any]]] = {
    "projection": (None, wp.sets.Simplex(4), {}, "projected", {}),
    "small spectral set": (None, wp.sets.TraceNormBall((4, 4)), {}, "projected", {}),
    "large spectral set": (None, wp.sets.TraceNormBall((400, 301)), {}, "corrective", {"m": 8}),
    "factored objective": (ENTRIES, wp.sets.TraceNormBall((4, 4)), {}, "projected", {}),
    "spectral set and m": (None, wp.sets.TraceNormBall((4, 4)), {"m": 2}, "corrective", {}),
    "spectral set and engine": (
        None, wp.sets.TraceNormBall((4, 4)), {"engine": "threads"}, "anytime", {}
    ),
    "linear constraints": (None, PATHS, {}, "conic", {}),
    "polytope": (None, wp.sets.SpanningTree([(0, 1), (1, 2), (0, 2)]), {}, "corrective", {}),
    "polytope that lists": (
        None, wp.sets.ConvexHull(np.eye(3)), {}, "corrective", {"m": 16}
    ),
    "polytope and m": (None, wp.sets.Birkhoff(3), {"m": 4}, "corrective", {}),
    "polytope and engine": (
        None, wp.sets.Birkhoff(3), {"engine": "threads"}, "corrective", {"m": 16}
    ),
    "closed form and m": (None, wp.sets.Simplex(3), {"m": 4}, "anytime", {}),
    "noise": (None, wp.sets.Birkhoff(3), {"noise": "gaussian"}, "anytime", {}),
    "smoothing": (None, wp.sets.Simplex(3), {"smoothing": "ambient"}, "anytime", {}),
    "an option of anytime": (None, wp.sets.Simplex(3), {"kappa": 0.3}, "anytime", {}),
    "m exact": (None, wp.sets.Simplex(3), {"m": "exact"}, "anytime", {}),
    "nothing known": (None, BALL, {}, "conjugate", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rules(name):
    f, K, settings, method, options = CASES[name]
    choice = wp.explain(nearest(K) if f is None else f, K, **settings)
    assert (choice.method, choice.options) == (method, options)
    assert choice.reason in str(choice)


@pytest.mark.parametrize("name", [name for name in CASES if "large" not in name])
def test_what_is_chosen_runs(name):
    f, K, settings, method, _ = CASES[name]
    res = wp.minimize(nearest(K) if f is None else f, K, tol=0.3, max_rounds=500, **settings)
    assert res.success
    opening = wp.explain(nearest(K) if f is None else f, K, **settings).opening
    assert res.method == method or (opening is not None and res.method == opening[0])
    assert f"chose '{method}'" in res.message


def test_an_oracle_may_say_that_it_answers_with_vertices():
    K = wp.sets.Simplex(5)
    known = wp.sets.Oracle(lambda g: K.lmo(g).to_dense(), shape=5, radius=1.0, polytope=True)
    res = wp.minimize(nearest(known), known, tol=1e-6)
    assert res.success
    assert res.method == "corrective"
    assert res.plan.switches == ()


def test_what_minimize_refuses_is_not_explained():
    f = wp.objectives.LeastSquares(np.eye(6), np.ones(6))
    with pytest.raises(ValueError, match="f takes x of shape"):
        wp.explain(f, wp.sets.Simplex(7))
    with pytest.raises(ValueError, match="leave method out, found 'fw'"):
        wp.explain(f, wp.sets.Simplex(6), method="fw")
    assert wp.explain(f, wp.sets.Simplex(6), method="auto").method == "projected"
