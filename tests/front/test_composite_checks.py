"""What a composite run notices of a wrong gradient of G, and of a G that is not convex."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.regularizers import BoxRidge, ElasticNet, SimplexRidge, SquaredNorm

D = 8
rng = np.random.default_rng(3)
A, b = rng.standard_normal((3 * D, D)), rng.standard_normal(3 * D)
ONES = np.ones(D)


def least_squares(y: np.ndarray) -> tuple[float, np.ndarray]:
    r = A @ y - b
    return 0.5 * float(r @ r), A.T @ r


WRONG: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "half": lambda g: 0.5 * g,
    "double": lambda g: 2.0 * g,
    "sign": lambda g: -g,
    "zero": lambda g: 0.0 * g,
    "constant": lambda g: ONES.copy(),
    "entry": lambda g: np.where(np.arange(D) == 3, 0.0, g),
}
TERMS: dict[str, Callable[[], Any]] = {
    "ridge": lambda: SquaredNorm(0.1),
    "elastic net": lambda: ElasticNet(1.0, mu=0.1),
    "box": lambda: BoxRidge(-ONES, ONES, 0.1),
    "simplex": lambda: SimplexRidge(D, 0.1),
}
METHODS: dict[str, dict[str, Any]] = {
    "auto": {},
    "accelerated": {"method": "accelerated", "beta": 100.0},
    "converging": {"method": "converging", "beta": 100.0},
}


def run(G: Any, H: Any, y0: Any = None, **options: Any) -> wp.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y0 = np.zeros(D) if y0 is None and not isinstance(H, SimplexRidge) else y0
        return wp.minimize_composite(G, H, y0, **({"max_rounds": 200} | options))


def assert_refused(res: wp.Result, words: str) -> None:
    assert res.status == "contradiction"
    assert not res.success
    assert math.isinf(res.gap)
    assert words in res.message


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_gradient_is_blamed(kind, term, method):
    def G(y):
        value, gradient = least_squares(y)
        return value, WRONG[kind](gradient)

    res = run(G, TERMS[term](), **METHODS[method])
    assert_refused(res, "gradient does not belong to G: along a segment of the domain of H G")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("half", "looks like 0.5 times the true one"),
        ("sign", "its sign is wrong"),
        ("entry", "Entry [3] is 0, and a central difference gives"),
    ],
)
def test_the_message_says_what_is_wrong(kind, words):
    def G(y):
        value, gradient = least_squares(y)
        return value, WRONG[kind](gradient)

    assert_refused(run(G, TERMS["ridge"]()), words)


@pytest.mark.parametrize("term", ["ridge", "simplex"])
def test_a_gradient_that_goes_wrong_later_is_found_before_the_claim(term):
    calls = []

    def G(y):
        calls.append(1)
        value, gradient = least_squares(y)
        return value, gradient if len(calls) <= 8 else 0.0 * gradient

    assert_refused(run(G, TERMS[term](), beta=100.0), "gradient does not belong to G")


def test_a_concave_G_ends_the_run():
    def G(y):
        return -0.5 * float(y @ y), -y

    res = run(G, SquaredNorm(2.0), ONES, beta=1.0)
    assert_refused(res, "G is not convex")
    assert "convex=False" not in res.message
    assert "wolfpack.check" not in res.message


def awkward(name: str) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Convex functions that a careless check would suspect."""
    single = A.astype("f"), b.astype("f")

    def rounded(y):
        r = single[0] @ y.astype("f") - single[1]
        return float(np.float32(0.5) * (r @ r)), (single[0].T @ r).astype(float)

    functions = {
        "linear": lambda y: (float(y[0]), np.eye(D)[0]),
        "constant": lambda y: (3.0, 0.0 * y),
        "flat at the minimum": lambda y: (float(((y - 0.3) ** 4).sum()), 4.0 * (y - 0.3) ** 3),
        "kinks": lambda y: (float(abs(y - 0.1).sum()), np.sign(y - 0.1)),
        "steep": lambda y: (float(np.exp(9.0 * y).sum()), 9.0 * np.exp(9.0 * y)),
        "single precision inside": rounded,
        "far from zero": lambda y: (least_squares(y)[0] + 1e8, least_squares(y)[1]),
        "large numbers": lambda y: (1e9 * least_squares(y)[0], 1e9 * least_squares(y)[1]),
    }
    return functions[name]


AWKWARD = ["linear", "constant", "flat at the minimum", "kinks", "steep"]
AWKWARD += ["single precision inside", "far from zero", "large numbers"]


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("name", AWKWARD)
def test_convex_functions_are_not_suspected(name, term):
    for y0 in (None, np.eye(D)[1]):
        res = run(awkward(name), TERMS[term](), y0, max_rounds=40)
        assert res.status != "contradiction", res.message
        assert math.isfinite(res.gap)


def test_what_the_checks_cost():
    def cost(G: Any, **options: Any) -> int:
        return run(G, SquaredNorm(0.1), tol=0.0, beta=100.0, max_rounds=20, **options).nfev

    plain = cost(least_squares, checks=False)
    assert plain < cost(least_squares) <= plain + 7
    G = wp.objectives.LeastSquares(A, b, reduction="sum")
    assert cost(G) == cost(G, checks=False)


def test_random_gradients_are_not_checked():
    """A draw need not be the slope of anything."""
    res = run(lambda y, rng: 0.5 * least_squares(y)[1], SquaredNorm(0.1), beta=100.0, max_rounds=5)
    assert res.status == "max_rounds"


def test_a_resumed_run_is_checked_as_it_was(tmp_path):
    def backwards(y):
        value, gradient = least_squares(y)
        return value, -gradient

    H, path = SquaredNorm(0.1), tmp_path / "run.ckpt"
    options = {"beta": 100.0, "max_rounds": 2, "tol": 0.0, "checkpoint": path}
    run(backwards, H, checks=False, **options)
    assert wp.resume(path, backwards, H, max_rounds=3).status == "max_rounds"
    run(least_squares, H, **options)
    broken = []

    def late(y):
        value, gradient = least_squares(y)
        return value, -gradient if broken else gradient

    def callback(intermediate_result):
        broken.append(1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = wp.resume(path, late, H, max_rounds=4, callback=callback)
    assert_refused(res, "gradient does not belong to G")


def two_wells(x):
    return float(((x * x - 1) ** 2).sum() + 0.3 * x.sum()), 4 * x * (x * x - 1) + 0.3


def test_what_is_assumed_of_a_function_that_nobody_declared_convex_is_said():
    H, start = wp.regularizers.BoxRidge(-2 * np.ones(2), 2 * np.ones(2), mu=1e-3), np.full(2, 1.1)
    assumed = "assumes that G is convex"
    assert assumed in wp.minimize_composite(two_wells, H, start).message
    declared = wp.objectives.Function(lambda x: (float(x @ x), 2 * x), convex=True)
    assert assumed not in wp.minimize_composite(declared, H, start).message
    with pytest.raises(ValueError, match="G must be convex, and it says that it is not"):
        wp.minimize_composite(wp.objectives.Function(two_wells, convex=False), H, start)
