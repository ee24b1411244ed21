"""What a round costs: calls of functions, and memory in vectors of the size of x."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections import Counter
from typing import Any

import numpy as np
import pytest

import wolfpack as wp


def quadratic(d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    B = rng.standard_normal((d, d))
    return wp.objectives.Quadratic(B @ B.T / d, -rng.random(d)), wp.sets.Simplex(d)


def calls(rounds: int, **options: Any) -> Counter[tuple[str, str]]:
    """Return how often Python functions were called in a run, by file and name."""
    found: Counter[tuple[str, str]] = Counter()

    def count(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            found[frame.f_code.co_filename.replace("\\", "/"), frame.f_code.co_name] += 1

    f, K = quadratic(50)
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        wp.minimize(f, K, max_rounds=rounds, tol=0, **options)
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize(
    ("method", "most"), [("fw", 76), ("momentum", 57), ("anytime", 114), ("projected", 110)]
)
def test_a_round_makes_few_calls_and_none_that_checks_or_formats(method, most):
    options: dict[str, Any] = {"method": method, "seed": 0}
    options |= {"m": 1} if method == "anytime" else {}
    calls(2, **options)  # what is computed once
    # rounds beyond the first hundred, all of which are compared with what L promises
    few, rounds = (130, 100) if method != "projected" else (8, 12)
    round_calls = calls(few + rounds, **options)
    round_calls.subtract(calls(few, **options))
    assert sum(round_calls.values()) / rounds <= most
    for (file, name), times in round_calls.items():
        if times > rounds // 10:
            assert "problem/checks.py" not in file, name
            assert "getlimits" not in file, name
            assert name not in ("__repr__", "__str__", "__format__", "shown"), file


@pytest.mark.parametrize(("method", "most"), [("fw", 7.2), ("anytime", 12.2), ("projected", 7.2)])
def test_memory_of_a_run_in_vectors(method, most):
    # the starting point is one of them, and the best point with its gradient are two
    d = 100_000
    target = np.random.default_rng(0).random(d) / d
    f, K = wp.objectives.Quadratic(1.0, -target), wp.sets.Simplex(d)
    options: dict[str, Any] = {"m": 1} if method == "anytime" else {}
    wp.minimize(f, K, method=method, max_rounds=2, tol=0, **options)
    tracemalloc.start()
    try:
        wp.minimize(f, K, method=method, max_rounds=130, tol=0, **options)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / (8 * d) <= most


def test_a_recorded_round_leaves_its_row_alone():
    f, K = quadratic(10)
    options: dict[str, Any] = {"method": "anytime", "m": 1, "tol": 0, "record_every": 1}
    wp.minimize(f, K, max_rounds=10, **options)
    tracemalloc.start()
    try:
        found = wp.minimize(f, K, max_rounds=3000, **options)
        gc.collect()
        left = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(found.history["round"]) == 3001
    assert left <= 3001 * 80 * 1.3 + 50_000  # ten numbers; an array grows by an eighth
