"""No certificate is wrong: random runs against minima that are known without the library."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

import wolfpack as wp
from fuzz import exact
from fuzz.problem import Problem
from fuzz.runs import FUZZES, NAMES, SAMPLED, attempt, runs

FEW, MANY = 300, 10_000


def _violations(name: str, count: int, seed: int) -> list[str]:
    found = runs(FUZZES[name](), seed, range(count))
    return [f"{name}, seed {seed}, {run}" for run in found if run.verdict.faults]


@pytest.mark.parametrize("name", ["rational", "analytic"])
def test_no_certificate_is_wrong(name):
    assert _violations(name, FEW, seed=1) == []


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", ["rational", "analytic"])
def test_no_certificate_is_wrong_in_many_runs(name):
    assert _violations(name, MANY, seed=2) == []


FOUND = [("rational", 66808), ("rational", 69233), ("analytic", 25094), ("analytic", 95010)]
"""Runs of seed 0 that once ended with a warning, an error or the status nonfinite."""


@pytest.mark.parametrize(("name", "number"), FOUND)
def test_runs_that_once_failed(name, number):
    found = runs(FUZZES[name](), 0, range(number, number + 1))
    assert [str(run) for run in found if run.verdict.faults] == []


@pytest.mark.extras
@pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch")
def test_no_certificate_is_wrong_with_half_precision():
    assert _violations("half", 2000, seed=3) == []


def _settings(method: str, start: np.ndarray, rounds: int) -> dict:
    settings = {"x0": start, "method": method, "tol": 0.0, "rtol": None, "max_rounds": rounds}
    return settings | ({"m": SAMPLED[method][1]} if method in SAMPLED else {})


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("distance", [1e3, 3e4])
def test_single_precision_far_from_the_origin(method, distance):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        lower = (distance + rng.random(3)).astype(np.float32)
        upper, t = lower + np.float32(1), (distance + 3 * rng.random(3)).astype(np.float32)
        r = 0.5 * float(t @ t)
        form = exact.scaled_identity(1.0, -t, r)
        least = form(exact.box_point(form, exact.vector(lower), exact.vector(upper)))
        f, K = wp.objectives.Quadratic(1.0, -t, r), wp.sets.Box(lower, upper)
        verdict = attempt(Problem("", "", f, K, form, least), _settings(method, lower, 30))
        assert verdict.faults == []


def test_a_large_simplex_in_single_precision():
    for seed in (13, 107, 133, 185):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((6, 4)).astype(np.float32)
        b = A @ (1e6 * rng.dirichlet(np.ones(4))).astype(np.float32)
        form = exact.least_squares(A, b)
        least = exact.hull_minimum(form, exact.matrix(1e6 * np.eye(4)))
        f, K = wp.objectives.LeastSquares(A, b), wp.sets.Simplex(4, 1e6)
        start = K.start().astype(np.float32)
        verdict = attempt(Problem("", "", f, K, form, least), _settings("projected", start, 300))
        assert verdict.faults == []
