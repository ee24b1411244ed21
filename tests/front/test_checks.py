"""What a run notices of wrong gradients, wrong oracles and functions that are not convex."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from problems import small_simplex
from wolfpack.front.methods import METHODS, PARTICULAR

D = 8
rng = np.random.default_rng(3)
A, b = rng.standard_normal((3 * D, D)), rng.standard_normal(3 * D)
NEEDS_L = ("pfw", "r-pfw", "fw-short", "cgs")
ALL = ["auto", *(name for name in METHODS if name not in PARTICULAR)]
LINEAR_ORACLES = [name for name in METHODS if name not in ("projected", *PARTICULAR)]


def least_squares(x: np.ndarray) -> tuple[float, np.ndarray]:
    r = A @ x - b
    return 0.5 * float(r @ r), A.T @ r


def one_zeroed(g: np.ndarray, i: int = 3) -> np.ndarray:
    return np.where(np.arange(len(g)) == i, 0.0, g)


WRONG: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "half": lambda g: 0.5 * g,
    "double": lambda g: 2.0 * g,
    "sign": lambda g: -g,
    "zero": lambda g: 0.0 * g,
    "constant": lambda g: np.ones(len(g)),
    "entry": one_zeroed,
}

SETS: dict[str, Callable[[], Any]] = {
    "simplex": lambda: wp.sets.Simplex(D),
    "l1": lambda: wp.sets.L1Ball(D),
    "oracle": lambda: wp.sets.Oracle(lambda g: np.eye(D)[g.argmin()], D, 1.0),
}


def run(f: Any, K: Any, x0: Any = None, method: str = "auto", **options: Any) -> wp.Result:
    options = {"max_rounds": 100, "tol": 1e-3} | options
    if method in NEEDS_L:
        options = {"L": float(np.linalg.norm(A, 2) ** 2)} | options
    if method == "pfw":
        options |= {"alpha": 0.1}  # otherwise it is chosen with the help of the oracle
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return wp.minimize(f, K, x0, method=method, **options)


def assert_refused(res: wp.Result, words: str) -> None:
    assert res.status == "contradiction"
    assert not res.success
    assert math.isinf(res.gap)
    assert res.lower_bound == -math.inf
    assert words in res.message


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_gradient_is_blamed(kind, method):
    def f(x):
        value, gradient = least_squares(x)
        return value, WRONG[kind](gradient)

    assert_refused(run(f, SETS["simplex"](), method=method), "gradient does not belong to f")


@pytest.mark.parametrize("method", ["auto", "corrective"])
@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("start", ["middle", "vertex"])
@pytest.mark.parametrize("K", ["l1", "oracle"])
def test_a_wrong_gradient_is_blamed_on_other_sets_and_from_vertices(K, kind, start, method):
    def f(x):
        value, gradient = least_squares(x)
        return value, WRONG[kind](gradient)

    x0 = None if start == "middle" else np.eye(D)[1]
    assert_refused(run(f, SETS[K](), x0, method), "gradient does not belong to f")


@pytest.mark.parametrize(
    ("factor", "words"), [(0.5, "0.5 times"), (-1.0, "-1 times the true one: its sign is wrong")]
)
def test_the_message_names_the_ratio(factor, words):
    def f(x):
        value, gradient = least_squares(x)
        return value, factor * gradient

    assert f"The gradient looks like {words}" in run(f, SETS["simplex"]()).message


def test_the_message_names_the_entry():
    def f(x):
        value, gradient = least_squares(x)
        return value, one_zeroed(gradient, 5)

    message = run(f, SETS["simplex"]()).message
    assert "Entry [5] is 0, and a central difference gives" in message


def test_a_gradient_that_goes_wrong_later_is_found_before_the_claim():
    """The first gradients are right, so that the check of the start finds nothing."""
    calls = []

    def f(x):
        calls.append(1)
        value, gradient = least_squares(x)
        return value, gradient if len(calls) <= 3 else 0.0 * gradient

    assert_refused(run(f, SETS["simplex"](), method="fw"), "gradient does not belong to f")


def test_gradients_may_differ_from_the_true_one_where_K_does_not_look():
    """On the simplex only differences of entries matter."""

    def f(x):
        value, gradient = least_squares(x)
        return value, gradient + 7.0

    res = run(f, SETS["simplex"](), method="bpcg")
    assert res.success


WRONG_ORACLES: dict[str, Callable[[np.ndarray, np.random.Generator], int]] = {
    "maximises": lambda g, draw: int(g.argmax()),
    "random": lambda g, draw: int(draw.integers(D)),
}


@pytest.mark.parametrize("method", LINEAR_ORACLES)
@pytest.mark.parametrize("kind", WRONG_ORACLES)
@pytest.mark.parametrize("start", ["its own", "middle"])
def test_a_wrong_oracle_is_blamed(kind, method, start):
    draw, answer = np.random.default_rng(0), WRONG_ORACLES[kind]
    K = wp.sets.Oracle(lambda g: np.eye(D)[answer(g, draw)], D, 1.0, contains=lambda x: True)
    f = wp.objectives.LeastSquares(A, b)
    x0 = None if start == "its own" else np.full(D, 1 / D)
    res = run(f, K, x0, method)
    assert_refused(res, "answers are not minimisers over K: for the direction g = [")


def test_an_oracle_of_a_class_of_its_own_is_watched_too():
    class Backwards(wp.sets.Simplex):
        def _lmo(self, g):
            return super()._lmo(-g)

    res = run(wp.objectives.LeastSquares(A, b), Backwards(D), method="fw")
    assert_refused(res, "not minimisers")


def test_a_product_with_a_wrong_oracle_is_watched():
    K = wp.sets.Product(wp.sets.Simplex(4), wp.sets.Oracle(lambda g: np.eye(4)[g.argmax()], 4, 1))
    res = run(wp.objectives.LeastSquares(A, b), K, method="fw")
    assert_refused(res, "not minimisers")


@pytest.mark.parametrize("declared", [False, True])
def test_an_inexact_oracle_is_remarked_on_unless_it_says_so(declared):
    draw = np.random.default_rng(0)

    def lmo(g):
        return np.eye(D)[(g + 4e-3 * np.linalg.norm(g) * draw.random(D)).argmin()]

    K = wp.sets.Oracle(lmo, D, 1.0, inexact=1e-2 if declared else 0.0)
    res = run(wp.objectives.LeastSquares(A, b), K, np.full(D, 1 / D), "fw", tol=0)
    assert res.status == "max_rounds"
    assert ("declare it with Oracle(..., inexact=" in res.message) is not declared


def two_wells(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Wells near x_0 = -1 and x_0 = 1, of which the first is deeper."""
    gradient = x.copy()
    gradient[0] = 4.0 * x[0] * (x[0] ** 2 - 1.0) + 0.3
    return (x[0] ** 2 - 1.0) ** 2 + 0.3 * x[0] + 0.5 * float(x[1:] @ x[1:]), gradient


def well_run(method: str, seed: int, d: int) -> wp.Result:
    K = wp.sets.Box(-2.0 * np.ones(d), 2.0 * np.ones(d))
    x0 = np.random.default_rng(seed).uniform(-2.0, 2.0, d)
    options: dict[str, Any] = {"L": 50.0} if method in NEEDS_L else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return wp.minimize(two_wells, K, x0, method=method, max_rounds=100, **options)


@pytest.mark.parametrize("method", ALL)
def test_two_wells_have_no_certificate(method):
    for seed in range(4):
        assert_refused(well_run(method, seed, 3), "f is not convex")


@pytest.mark.slow
@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("d", [2, 6])
def test_two_wells_have_no_certificate_from_forty_starts(method, d):
    for seed in range(40):
        assert_refused(well_run(method, seed, d), "f is not convex")


def test_two_wells_warn_of_convexity():
    from wolfpack.loop.monitor import ConvexityWarning

    with pytest.warns(ConvexityWarning, match="not convex"):
        wp.minimize(two_wells, wp.sets.Box(-2.0 * np.ones(2), 2.0 * np.ones(2)))


def awkward(name: str) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Convex functions that a careless check would suspect."""
    single = A.astype("f"), b.astype("f")
    draw = np.random.default_rng(1)

    def rounded(x):
        r = single[0] @ x.astype("f") - single[1]
        return float(np.float32(0.5) * (r @ r)), (single[0].T @ r).astype(float)

    def noisy(x):
        value, gradient = least_squares(x)
        return value * (1.0 + 1e-8 * draw.standard_normal()), gradient

    def shifted(x):
        value, gradient = least_squares(x)
        return value + 1e8, gradient

    functions = {
        "linear": lambda x: (float(x[0]), np.eye(D)[0]),
        "constant": lambda x: (3.0, 0.0 * x),
        "flat at the minimum": lambda x: (float(((x - 0.3) ** 4).sum()), 4.0 * (x - 0.3) ** 3),
        "kinks": lambda x: (float(abs(x - 1 / D).sum()), np.sign(x - 1 / D)),
        "steep": lambda x: (float(np.exp(9.0 * x).sum()), 9.0 * np.exp(9.0 * x)),
        "single precision inside": rounded,
        # Methods that go below the noise of f would contradict each other if it were not declared.
        "noise": wp.objectives.Function(noisy, error=1e-7),
        "far from zero": shifted,
        "barrier": lambda x: (-float(np.log(x + 1e-3).sum()), -1.0 / (x + 1e-3)),
    }
    return functions[name]


AWKWARD = ["linear", "constant", "flat at the minimum", "kinks", "steep", "noise"]
AWKWARD += ["single precision inside", "far from zero", "barrier"]


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("method", ["auto", "fw-ls", "bpcg", "anytime"])
@pytest.mark.parametrize("K", ["simplex", "oracle"])
def test_convex_functions_are_not_suspected(name, method, K):
    for x0 in (None, np.eye(D)[1]):
        res = run(awkward(name), SETS[K](), x0, method, tol=1e-6, max_rounds=40)
        assert res.status != "contradiction", res.message
        assert math.isfinite(res.gap)


def test_what_the_checks_cost():
    f, K, x0 = small_simplex()

    def cost(g: Any, **options: Any) -> np.ndarray:
        res = wp.minimize(g, K, x0, method="fw", tol=0, max_rounds=20, **options)
        return np.array([res.nfev, res.nlmo])

    plain = cost(f)
    np.testing.assert_array_equal(plain, [21, 21])
    np.testing.assert_array_equal(cost(f.value_and_gradient, checks=False), plain)
    np.testing.assert_array_less(cost(f.value_and_gradient, convex=True) - plain, [8, 1])
    np.testing.assert_array_less(cost(f.value_and_gradient) - plain, [17, 6])


@pytest.mark.parametrize("centre", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("method", ["fw", "auto", "bpcg"])
@pytest.mark.parametrize("own", [False, True])
def test_the_checks_cost_a_tenth_of_a_run_and_a_few_evaluations(centre, method, own):
    """Also where the gradient vanishes at the end, and with an oracle of the user's."""

    def f(x):
        return float((x - centre) @ (x - centre)), 2 * (x - centre)

    K = wp.sets.LinfBall(6)
    if own:
        K = wp.sets.Oracle(lambda g: np.where(g > 0, -1.0, 1.0), 6, 3.0)
    with_checks, without = (
        wp.minimize(f, K, method=method, max_rounds=300, checks=checks).nfev
        for checks in (True, False)
    )
    assert with_checks - without <= 22 + 0.1 * without


@pytest.mark.parametrize("method", [name for name in ALL if name != "projected"])
def test_two_wells_on_a_box_of_the_users_have_no_certificate(method):
    d = 10
    K = wp.sets.Oracle(lambda g: np.where(g > 0, -2.0, 2.0), d, 6.5, contains=lambda x: True)
    for seed in range(2):
        x0 = np.random.default_rng(seed).uniform(-2.0, 2.0, d)
        res = run(two_wells, K, x0, method, **({"L": 50.0} if method in NEEDS_L else {}))
        assert_refused(res, "f is not convex")


@pytest.mark.parametrize("i", range(4))
@pytest.mark.parametrize("method", ["auto", "fcfw"])
@pytest.mark.parametrize("tie", [-1.0, 1.0])
def test_an_entry_that_is_always_zero_is_noticed_on_a_cube_of_the_users(i, method, tie):
    """The oracle answers such an entry always in the same way, so that the run never moves it."""
    target = np.array([0.5, -0.3, 0.4, -0.2])

    def f(x):
        return float((x - target) @ (x - target)), one_zeroed(2 * (x - target), i)

    K = wp.sets.Oracle(lambda g: np.where(g == 0, tie, -np.sign(g)), 4, 2.0)
    assert_refused(run(f, K, None, method), "gradient does not belong to f")


def test_the_result_says_what_it_assumes():
    f, K, x0 = small_simplex()
    assumed = "assumes that f is convex, which was not declared"
    assert assumed in wp.minimize(f.value_and_gradient, K, x0).message
    assert assumed not in wp.minimize(f.value_and_gradient, K, x0, convex=True).message
    declared = wp.objectives.Function(f.value_and_gradient, convex=True)
    assert assumed not in wp.minimize(declared, K, x0).message
    assert assumed not in wp.minimize(f, K, x0).message


def test_oracles_are_asked_no_directions_of_other_signs():
    """Shortest paths need lengths that are not negative."""

    def lmo(g):
        assert g.min() >= 0
        return np.eye(D)[g.argmin()]

    K = wp.sets.Oracle(lmo, D, 1.0, contains=lambda x: True)
    res = run(lambda x: (0.5 * float(x @ x), x.copy()), K, np.full(D, 1 / D), "fw-ls")
    assert res.success


def test_a_resumed_run_is_checked_before_its_claim(tmp_path):
    def half(x):
        value, gradient = least_squares(x)
        return value, 0.5 * gradient

    K, path = wp.sets.Simplex(D), tmp_path / "run.ckpt"
    run(half, K, method="momentum", max_rounds=5, checks=False, checkpoint=path)
    resumed = wp.resume(path, half, K, max_rounds=6)
    assert resumed.status != "contradiction"  # the checkpoint says that nothing is to be checked
    right = wp.objectives.Function(least_squares)
    run(right, K, method="fw", max_rounds=5, tol=0, checkpoint=path)
    broken = []

    def late(x):
        value, gradient = least_squares(x)
        return value, 0.5 * gradient if broken else gradient

    def callback(intermediate_result):
        if intermediate_result.nit == 8:
            broken.append(1)

    res = wp.resume(path, late, K, max_rounds=8, callback=callback)
    assert_refused(res, "gradient does not belong to f")


def test_a_minimiser_in_the_interior_where_the_gradient_vanishes_is_no_trouble():
    t = np.full(3, 1e3, dtype=np.float32)

    def f(x):
        return 0.5 * float((x - t) @ (x - t)), x - t

    res = wp.minimize(f, wp.sets.Box(t - 1, t + 1), t, method="fw-ls", tol=1e-2)
    assert res.success
    assert res.fun == 0.0


FLAT = {
    "saddle": (
        lambda x: (float(x[0] * x[1]), np.concatenate([x[1::-1], 0 * x[2:]])),
        lambda: wp.sets.LinfBall(6),
    ),
    "indefinite": (
        lambda x: (float(x @ x - 1.05 * x[-1] ** 2), 2 * x - 2.1 * x[-1] * np.eye(6)[5]),
        lambda: wp.sets.L1Ball(6),
    ),
    "maximum": (
        lambda x: (float(((x * x - 0.01) ** 2).sum()), 4 * x * (x * x - 0.01)),
        lambda: wp.sets.L1Ball(6),
    ),
}


@pytest.mark.parametrize("method", ["auto", "fw", "fcfw", "anytime"])
@pytest.mark.parametrize("name", FLAT)
def test_a_start_where_the_gradient_vanishes_is_looked_around(name, method):
    f, make = FLAT[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = wp.minimize(f, make(), method=method)
    assert res.status == "contradiction"
    assert "not convex" in res.message


CENTRE = np.array([-0.5, -0.2, -0.3])
CORNERS = {
    "gradient": (lambda x: (float((x - CENTRE) @ (x - CENTRE)), 2 * (CENTRE - x)), -1.0),
    "convex": (lambda x: (-float((x - CENTRE) @ (x - CENTRE)), 2 * (CENTRE - x)), -1.0),
    "oracle": (lambda x: (float((x - 0.5) @ (x - 0.5)), 2 * (x - 0.5)), 1.0),
}


@pytest.mark.parametrize("method", ["auto", "fw", "bpcg"])
@pytest.mark.parametrize("culprit", CORNERS)
def test_an_oracle_that_gave_one_corner_only_is_asked_for_another(culprit, method):
    f, sign = CORNERS[culprit]
    K = wp.sets.Oracle(lambda g: np.where(g > 0, sign, -sign), shape=3, radius=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = wp.minimize(f, K, method=method)
    assert res.status == "contradiction"
    assert culprit in res.message


@pytest.mark.parametrize("scale", [1 / 30, 0.1, 1e5])
@pytest.mark.parametrize("ridge", [0.0, 0.005])
def test_single_precision_inside_is_not_accused(scale, ridge):
    rng = np.random.default_rng(0)
    A, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((30, 20), 30))

    def f(x):
        r = A @ x.astype(np.float32) - b
        value = scale * float(0.5 * r @ r) + ridge * float(x @ x)
        return value, scale * (A.T @ r).astype(float) + 2 * ridge * x

    for K in (wp.sets.Simplex(20), wp.sets.LinfBall(20), wp.sets.L2Ball(20)):
        assert wp.minimize(f, K, tol=1e-4 * scale).status != "contradiction"


def test_points_that_are_rounded_far_from_the_origin_accuse_nobody():
    t = np.array([-1000.39557], dtype=np.float32)

    def f(x):
        return 0.5 * float((x - t) @ (x - t)), x - t

    K = wp.sets.Box(np.array([-1000.5189209]), np.array([-1000.2722168]))
    for method in ("away", "anytime", "auto"):
        res = wp.minimize(f, K, np.float32(K.upper), method=method, tol=0, max_rounds=15)
        assert res.status != "contradiction"


def test_an_oracle_that_ignores_its_argument_is_remarked_on():
    """It cannot be told from the oracle of a set that is one point."""
    K = wp.sets.Oracle(lambda g: np.eye(D)[2], D, 1.0)
    message = run(wp.objectives.LeastSquares(A, b), K).message
    assert "answered every direction with the same point: either K is that point, or" in message
    right = run(wp.objectives.LeastSquares(A, b), SETS["oracle"]())
    assert "same point" not in right.message


@pytest.mark.parametrize("method", ["auto", "fw-ls", "corrective", "anytime"])
def test_a_saddle_in_the_middle_of_a_box_of_the_users_is_noticed(method):
    """All vertices that the run meets lie on one line, along which f is convex."""

    def f(x):
        gradient = 0.1 * x
        gradient[:2] += x[1::-1]
        return float(x[0] * x[1] + 0.05 * x @ x), gradient

    for d in (2, 5):
        K = wp.sets.Oracle(lambda g: np.where(g > 0, -3.0, 3.0), d, 3.0 * d**0.5)
        assert_refused(run(f, K, method=method), "f is not convex")


def test_a_run_that_time_ends_says_that_its_gap_was_not_checked():
    def slow(x):
        time.sleep(2e-3)
        return least_squares(x)

    res = run(slow, SETS["simplex"](), method="fw", tol=0, max_rounds=None, max_seconds=0.1)
    assert res.status == "max_seconds"
    assert "The time was over before the last check" in res.message


CANCELLING = {
    "log cosh": lambda z: (np.log(np.cosh(z)).sum(), np.tanh(z)),
    "pseudo-Huber": lambda z: ((np.sqrt(1 + z**2) - 1).sum(), z / np.sqrt(1 + z**2)),
    "exp": lambda z: ((np.exp(z) - 1 - z).sum(), np.exp(z) - 1),
}


@pytest.mark.parametrize("tol", [None, 1e-9])
@pytest.mark.parametrize("name", CANCELLING)
def test_terms_that_cancel_near_a_minimum_of_zero_are_not_accused(name, tol):
    for seed in range(8):
        A = np.random.default_rng(seed).standard_normal((3, 6))
        b = A @ np.full(6, 1 / 6)

        def f(x, A=A, b=b):
            value, slopes = CANCELLING[name](A @ x - b)
            return float(value), A.T @ slopes

        for K in (wp.sets.Box(-np.ones(6), np.ones(6)), wp.sets.L2Ball(6)):
            assert wp.minimize(f, K, tol=tol).status in ("converged", "stalled")
