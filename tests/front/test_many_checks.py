"""What `minimize_many` notices of a function of a batch: wrong gradients, missing convexity."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from backends import TORCH, TORCH32

B, D = 12, 6
RNG = np.random.default_rng(5)
A, RHS = RNG.normal(size=(B, 12, D)), RNG.normal(size=(B, 12))
CENTRES = np.full((B, D), 1.0 / D)
SETS: dict[str, Any] = {
    "simplex": wp.sets.Simplex(D),
    "box": wp.sets.Box(-np.ones(D), np.ones(D)),
    "l1": wp.sets.L1Ball(D, np.linspace(1.0, 2.0, B)),
    "hulls": [wp.sets.ConvexHull(RNG.normal(size=(9, D))) for _ in range(B)],
}


def residuals(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rest = np.einsum("bnd,bd->bn", A, X) - RHS
    return 0.5 * (rest * rest).sum(axis=1), np.einsum("bnd,bn->bd", A, rest)


def only(i: int, factor: float) -> np.ndarray:
    return np.where(np.arange(B) == i, factor, 1.0)[:, None]


WRONG: dict[str, tuple[Any, str]] = {
    "half": (lambda g: 0.5 * g, "looks like 0.5 times|changes by"),
    "sign": (lambda g: -g, "its sign is wrong"),
    "zero": (lambda g: 0.0 * g, "zero at a point where f is not flat"),
    "constant": (np.ones_like, "The gradient does not belong to f"),
    "entry": (lambda g: g * (np.arange(D) != 3), r"Entry \[3\] is -?0, and a central difference"),
    "other rows": (lambda g: g[::-1], "The gradient does not belong to f"),
}


def many(f: Any, K: str, **options: Any) -> wp.ManyResult:
    x0 = None if K == "hulls" else CENTRES
    return wp.minimize_many(f, SETS[K], x0, **({"tol": 1e-4} | options))


@pytest.mark.parametrize("K", SETS)
@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_gradient_of_a_batch_is_blamed(kind: str, K: str) -> None:
    change, words = WRONG[kind]

    def f(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = residuals(X)
        return values, change(gradients)

    res = many(f, K)
    assert [str(status) for status in res.status] == ["contradiction"] * B
    assert np.isinf(res.gap).all()
    assert (res.lower_bound == -np.inf).all()
    assert re.search(words, res.message), res.message
    assert "and 11 more that look alike" in res.message
    assert many(f, K, checks=False, max_rounds=50).status.tolist() != res.status.tolist()


@pytest.mark.parametrize("K", SETS)
def test_one_problem_with_a_wrong_gradient_ends_alone(K: str) -> None:
    factors = only(7, 0.9)
    res = many(lambda X: (residuals(X)[0], factors * residuals(X)[1]), K)
    others = np.arange(B) != 7
    assert res.status[7] == "contradiction"
    assert res.success[others].all()
    assert "Problem 7: The gradient does not belong to f" in res.message
    assert res.nit[7] == 0


@pytest.mark.parametrize("convex", [None, True])
def test_a_gradient_that_goes_wrong_later_is_found_before_the_claim(convex: bool | None) -> None:
    calls: list[int] = []

    def f(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        calls.append(1)
        values, gradients = residuals(X)
        return values, gradients if len(calls) <= 4 else 0.0 * gradients

    res = many(wp.objectives.Function(f, convex=convex), "simplex")
    assert not res.success.any()
    assert "The gradient does not belong to f" in res.message
    assert res.nit.min() > 0


def two_wells(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    gradients = X.copy()
    gradients[:, 0] = 4.0 * X[:, 0] * (X[:, 0] ** 2 - 1.0) + 0.3
    values = (X[:, 0] ** 2 - 1.0) ** 2 + 0.3 * X[:, 0] + 0.5 * (X[:, 1:] ** 2).sum(axis=1)
    return values, gradients


@pytest.mark.parametrize("d", [2, 6])
def test_two_wells_have_no_certificate_from_forty_starts(d: int) -> None:
    K, x0 = wp.sets.LinfBall(d, 2.0), np.random.default_rng(d).uniform(-2.0, 2.0, (40, d))
    res = wp.minimize_many(two_wells, K, x0)
    assert [str(status) for status in res.status] == ["contradiction"] * 40
    assert "f is not convex: it is" in res.message
    declared = wp.objectives.Function(two_wells, convex=True)
    assert wp.minimize_many(declared, K, x0).success.any()  # what was declared is believed
    with pytest.raises(ValueError, match="f must be convex, found a function with convex=False"):
        wp.minimize_many(wp.objectives.Function(two_wells, convex=False), K, x0)


CONVEX: dict[str, Any] = {
    "least squares": residuals,
    "linear": lambda X: (X[:, 0].copy(), np.eye(D)[np.zeros(B, dtype=int)]),
    "constant": lambda X: (np.full(B, 3.0), 0.0 * X),
    "flat": lambda X: (((X - 0.3) ** 4).sum(axis=1), 4.0 * (X - 0.3) ** 3),
    "kinks": lambda X: (abs(X - CENTRES).sum(axis=1), np.sign(X - CENTRES)),
    "steep": lambda X: (np.exp(9.0 * X).sum(axis=1), 9.0 * np.exp(9.0 * X)),
    "shifted": lambda X: (residuals(X)[0] + 1e8, residuals(X)[1]),
    "single": lambda X: tuple(part.astype("f").astype(float) for part in residuals(X)),
    "far": lambda X: (1e-9 * residuals(X)[0], 1e-9 * residuals(X)[1]),
    "some broken": lambda X: (residuals(X)[0] + np.log(only(3, 0.0)[:, 0] - 0.5), residuals(X)[1]),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("K", SETS)
@pytest.mark.parametrize("name", CONVEX)
def test_convex_functions_of_a_batch_are_not_suspected(name: str, K: str) -> None:
    res = many(CONVEX[name], K, tol=1e-6, max_rounds=60)
    assert "contradiction" not in res.message, res.message


def test_what_the_checks_of_a_batch_cost() -> None:
    evaluations = {
        checks: many(residuals, "simplex", checks=checks).nfev.max() for checks in (True, False)
    }
    assert evaluations[True] - evaluations[False] <= 3 + 3 + 8 + 9 + 0.1 * evaluations[False] + 4


def test_time_that_is_over_leaves_the_last_check_out() -> None:
    res = many(residuals, "simplex", tol=0.0, max_seconds=0.0)
    assert "The time was over before the last check of f" in res.message


def test_functions_that_are_solved_one_by_one_tell_what_was_found() -> None:
    def wrong(x: np.ndarray) -> tuple[float, np.ndarray]:
        return float(x @ x), x

    res = wp.minimize_many([wrong, lambda x: (float(x @ x), 2 * x)], wp.sets.Simplex(D))
    assert [str(status) for status in res.status] == ["contradiction", "converged"]
    assert "Problem 0: " in res.message
    assert "The gradient looks like 0.5 times the true one" in res.message
    blind = wp.minimize_many([wrong], wp.sets.Simplex(D), checks=False)
    assert "Problem 0" not in blind.message


@pytest.mark.extras
@pytest.mark.parametrize("name", ["torch", "torch32"])
def test_batches_of_other_libraries_are_checked_too(name: str) -> None:
    backend = {"torch": TORCH, "torch32": TORCH32}[name]
    pytest.importorskip(backend.library)
    target, tol = backend.array(RNG.normal(size=(B, D))), 1e-4
    x0 = backend.array(CENTRES)
    for K in (wp.sets.Simplex(D), wp.sets.LinfBall(D)):
        for factor in (1.0, 0.5):
            res = wp.minimize_many(
                lambda X, factor=factor: (
                    0.5 * ((X - target) ** 2).sum(axis=1),
                    factor * (X - target),
                ),
                K,
                x0,
                tol=tol,
            )
            if factor == 1.0:
                assert res.success.all(), res.message
            else:
                assert "looks like 0.5 times the true one" in res.message
                assert not res.success.any()
