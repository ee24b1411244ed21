"""What certificates cost a run, in evaluations and rounds, and how late they let it end."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.loop.monitor import SmoothnessWarning
from wolfpack.problem import CompositeProblem
from wolfpack.solvers.composite.foresight import foreseen

N, D = 150, 40
RUNS = {
    "accelerated": {"method": "accelerated"},
    "search": {"method": "accelerated", "beta": "search"},
    "converging": {"method": "converging"},
}


def data(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((N, D))
    return A, A @ rng.standard_normal(D) * 0.1 + rng.standard_normal(N)


def smooth_parts(seed: int) -> dict[str, Any]:
    A, b = data(seed)

    def own(y: np.ndarray) -> tuple[float, np.ndarray]:
        residual = A @ y - b
        return 0.5 * float(residual @ residual), A.T @ residual

    return {
        "squares": (wp.objectives.LeastSquares(A, b), 0.5),
        "logistic": (wp.objectives.Logistic(A, np.sign(b)), 1e-3),
        "callable": (own, 0.5),
    }


def composite(G: Any, H: Any, **options: Any) -> wp.Result:
    y0, rest = np.zeros(D), {"tol": 1e-6, "rtol": 1e-6, "max_rounds": 3000, "checks": False}
    return wp.minimize_composite(G, H, y0, **rest, **options)


@pytest.mark.parametrize("kind", ["squares", "logistic", "callable"])
@pytest.mark.parametrize("run", RUNS)
def test_exact_composite_runs(kind, run):
    """A tenth of the rounds, one for each power of two, three that fail; at most 5% more rounds."""
    rounds = {1: 0, "auto": 0}
    for seed in range(3):
        G, mu = smooth_parts(seed)[kind]
        for H in (wp.regularizers.SquaredNorm(mu), wp.regularizers.ElasticNet(0.1, mu=mu)):
            for every in rounds:
                res = composite(G, H, record_every=every, **RUNS[run])
                assert res.success
                rounds[every] += res.nit
            certified = len(res.history["round"])
            # 1.5: the certificates that end the run, and those of the last tenth
            assert certified <= 1.5 * (res.nit / 10 + np.log2(res.nit) + 3)
            assert res.history["round"][-1] == res.nit
    assert rounds[1] <= rounds["auto"] <= 1.05 * rounds[1]


def test_a_composite_certificate_that_is_not_made_costs_no_pass():
    passes = [0]
    A, b = data(0)

    def own(y: np.ndarray) -> tuple[float, np.ndarray]:
        passes[0] += 1
        residual = A @ y - b
        return 0.5 * float(residual @ residual), A.T @ residual

    H = wp.regularizers.SquaredNorm(0.5)
    res = composite(own, H, beta=float(np.linalg.norm(A, 2) ** 2), method="accelerated")
    assert res.success
    assert passes[0] == res.njev + res.nfev
    assert res.nfev == len(res.history["round"])
    assert res.nfev <= res.nit / 2


@pytest.mark.parametrize("run", RUNS)
def test_what_is_foreseen_is_below_what_a_certificate_finds(run):
    G, mu = smooth_parts(0)["logistic"]
    H = wp.regularizers.ElasticNet(0.01, mu=mu)
    problem = CompositeProblem(G, H, H, lambda g, lam: g)
    seen: list[tuple[float, float, float]] = []

    def look(now: wp.Result) -> None:
        if now.state.query is not None:
            seen.append((*foreseen(problem, now.state), now.state.at.value))

    res = composite(G, H, record_every=1, callback=look, **RUNS[run])
    least, bound, value = np.array(seen).T
    assert (least <= value * (1 + 1e-12)).all()
    assert (bound <= res.fun).all()
    assert res.fun - bound[-1] <= 100 * res.gap
    assert value[-1] - least[-1] <= 10 * res.gap


@pytest.mark.parametrize("run", RUNS)
def test_when_certificates_are_made_does_not_change_the_path(run):
    G, mu = smooth_parts(1)["squares"]
    H = wp.regularizers.ElasticNet(0.1, mu=mu)
    ends = [
        wp.minimize_composite(G, H, tol=0, max_rounds=20, record_every=every, **RUNS[run])
        for every in (1, "auto", 7)
    ]
    assert all((end.state.x == ends[0].state.x).all() for end in ends)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("stop", [3, 17, 33])
def test_a_resumed_run_is_certified_in_the_same_rounds(run, stop, tmp_path):
    G, mu = smooth_parts(2)["logistic"]
    H, path = wp.regularizers.SquaredNorm(mu), tmp_path / "run.ckpt"
    settings: dict[str, Any] = {"tol": 1e-6, **RUNS[run]}
    whole = wp.minimize_composite(G, H, **settings)
    wp.minimize_composite(G, H, max_rounds=stop, checkpoint=path, **settings)
    res = wp.resume(path, G, H, max_rounds=10**6)
    assert res.success
    assert res.nit == whole.nit
    assert set(whole.history["round"]) <= {*res.history["round"], stop}
    assert (res.x == whole.x).all()


def test_a_beta_that_is_too_small_is_noticed_where_rounds_are_not_certified():
    G, _ = smooth_parts(0)["squares"]
    H = wp.regularizers.SquaredNorm(1e-3)
    with pytest.warns(SmoothnessWarning, match="beta = .* is too small"):
        wp.minimize_composite(G, H, method="accelerated", beta=0.2 * G.L, max_rounds=40, tol=0)


def test_proofs_that_cost_much_are_made_where_they_raise_the_bound():
    rounds = {1: 0, "auto": 0}
    for seed in range(3):
        f = wp.objectives.Quadratic(1.0, -np.random.default_rng(seed).standard_normal((6, 6)))
        for every in rounds:
            options: dict[str, Any] = {"kind": "heavy-ball", "tol": 1e-3, "record_every": every}
            res = wp.minimize(f, wp.sets.Birkhoff(6), method="momentum", **options)
            assert res.success
            rounds[every] += res.nit
        assert len(res.history["round"]) <= 0.1 * res.nit + np.log2(res.nit) + 8
    assert rounds[1] <= rounds["auto"] <= 1.05 * rounds[1]


def quadratic(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return wp.objectives.LeastSquares(rng.standard_normal((60, 30)), rng.standard_normal(60))


SETS: dict[str, Callable[[], Any]] = {
    "simplex": lambda: wp.sets.Simplex(30),
    "l1": lambda: wp.sets.L1Ball(30),
    "box": lambda: wp.sets.Box(-1.0, np.ones(30)),
}
METHODS: dict[str, dict[str, Any]] = {
    "momentum": {"method": "momentum"},
    "anytime exact": {"method": "anytime", "m": "exact"},
    "anytime m=8": {"method": "anytime", "m": 8},
    "cgs": {"method": "cgs"},
}


@pytest.mark.parametrize(
    ("name", "method"),
    # a box has no smoothed argmax in closed form
    [pair for pair in product(SETS, METHODS) if pair != ("box", "anytime exact")],
)
def test_runs_over_sets_end_soon_after_their_tolerance_is_met(name, method):
    rounds = {1: 0, "auto": 0}
    for seed in range(4):
        for every in rounds:
            options = METHODS[method] | {"record_every": every, "tol": 0.5, "max_rounds": 3000}
            res = wp.minimize(quadratic(seed), SETS[name](), seed=seed, **options)
            assert res.success
            rounds[every] += res.nit
    assert rounds[1] <= rounds["auto"] <= 1.05 * rounds[1] + 4
