"""What a user's own function raises comes out as it is: the same object, wherever it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.front.methods import METHODS, PARTICULAR


class Own(Exception):
    """An exception that the library cannot know."""


ERRORS = (Own, ValueError, TypeError, ArithmeticError, StopIteration, np.linalg.LinAlgError)
K = wp.sets.L2Ball(4)
G = wp.objectives.LeastSquares(np.diag([3.0, 2.0, 1.0, 0.5]), np.ones(4))
H = wp.regularizers.ElasticNet(0.1, mu=0.3)


class Failing:
    """A function that works so often, and raises ``error`` then."""

    def __init__(self, function: Callable[..., Any], error: Exception, often: int = 0) -> None:
        self.function, self.error, self.left = function, error, often

    def __call__(self, *arguments: Any) -> Any:
        if self.left == 0:
            raise self.error
        self.left -= 1
        return self.function(*arguments)


def f(x):
    at = G.evaluate(x)
    return at.value, at.gradient


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("often", [0, 1, 4, 9])
# Others take no function, or no set, of the user's own.
@pytest.mark.parametrize("method", [name for name in METHODS if name not in PARTICULAR])
def test_what_f_raises_comes_out_of_every_method(method, often, kind):
    error = kind("mine")
    fails = wp.objectives.Function(Failing(f, error, often), L=9.0)
    with pytest.raises(kind) as caught:
        wp.minimize(fails, K, method=method, tol=1e-14, max_rounds=50)
    assert caught.value is error
    assert caught.value.args == ("mine",)
    if often:
        assert "raised by f" in error.__notes__[0]


def test_a_run_that_f_ends_leaves_its_best_point():
    error = ValueError("mine")
    fails = wp.objectives.Function(Failing(f, error, 20), L=9.0)
    with pytest.raises(ValueError, match="mine") as caught:
        wp.minimize(fails, K, method="fw", tol=1e-14)
    found: Any = caught.value
    assert found.result.fun == pytest.approx(G.value(found.result.x))


class Mirror:
    """A mirror map of a user's own."""

    nu, z0 = 1.0, np.zeros(4)

    def __init__(self, prox: Callable[..., Any]) -> None:
        self.prox = prox


class OwnTerm(wp.regularizers.Regularizer):
    """A ridge whose methods are given."""

    mu = 0.3

    def __init__(self, **methods: Any) -> None:
        self.methods = methods

    def value(self, y):
        return self.methods.get("value", lambda y: 0.15 * float(y @ y))(y)

    def argmin(self, g):
        return self.methods.get("argmin", lambda g: -g / 0.3)(g)

    def prox(self, g, lam):
        return self.methods.get("prox", lambda g, lam: -g / (0.3 + lam))(g, lam)


def composite(G=G, H=H, **options):
    return wp.minimize_composite(G, H, tol=1e-14, max_rounds=30, **options)


def gradient(y, rng):
    return G.evaluate(y).gradient


def pairs():
    return [(np.eye(4), np.ones(4))] * 3


def stochastic(draw=gradient, value=None, **options):
    known = wp.objectives.Stochastic(draw, beta=9.0, variance=1.0, shape=4, value=value)
    return composite(known, **options)


PLACES = {
    "G": lambda raising: composite(wp.objectives.Function(raising, L=9.0, shape=4)),
    "draw": lambda raising: stochastic(raising),
    "draws": lambda raising: stochastic(raising, batch=3),
    "value": lambda raising: stochastic(value=raising),
    "H.value": lambda raising: composite(H=OwnTerm(value=raising)),
    "H.argmin": lambda raising: composite(H=OwnTerm(argmin=raising), w="same"),
    "H.prox": lambda raising: composite(H=OwnTerm(prox=raising)),
    "w.prox": lambda raising: composite(w=Mirror(raising)),
    "batch": lambda raising: stochastic(batch=raising),
    "source": lambda raising: wp.objectives.Batches("huber", lambda: raising()),
    "loss": lambda raising: wp.objectives.Batches(lambda A, b: raising(), pairs()),
    "lmo": lambda raising: wp.minimize(G, wp.sets.Oracle(raising, 4, 2.0)),
    "contains": lambda raising: wp.sets.Oracle(K.lmo, 4, 1.0, contains=raising).contains(K.start()),
    "rank": lambda raising: wp.sets.MatroidBase(raising, 4),
    "check": lambda raising: wp.check(raising, K, quiet=True),
}


@pytest.mark.parametrize("kind", [Own, ValueError, TypeError, ArithmeticError])
@pytest.mark.parametrize("place", PLACES)
def test_what_other_functions_raise_comes_out(place, kind):
    error = kind("mine")
    with pytest.raises(kind) as caught:
        PLACES[place](Failing(lambda *_: None, error))
    assert caught.value is error


@pytest.mark.parametrize("kind", [Own, ValueError, TypeError])
def test_what_callbacks_raise_comes_out(kind):
    error = kind("mine")
    with pytest.raises(kind) as caught:
        wp.minimize(G, K, callback=Failing(lambda now: None, error, 2), method="fw", tol=0)
    assert caught.value is error
    assert caught.value.result.nit == 2
    with pytest.raises(kind) as caught:
        composite(callback=Failing(lambda now: None, error, 2), method="accelerated")
    assert caught.value is error


def test_values_of_random_functions_must_be_numbers():
    with pytest.raises(TypeError, match=r"value\(y\) must return a number, found 'high'"):
        stochastic(value=lambda y: "high")


def test_gradients_of_other_kinds_are_converted_or_refused():
    pandas, sparse = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    K = wp.sets.Simplex(3)
    series = wp.minimize(lambda x: (float(x @ x), pandas.Series(2.0 * x)), K)
    assert series.success
    assert series.fun == wp.minimize(lambda x: (float(x @ x), 2.0 * x), K).fun
    with pytest.raises(ValueError, match=r"the gradient of f must be a dense array .* sparse"):
        wp.minimize(lambda x: (float(x @ x), sparse.coo_array(2.0 * x)), K)


def test_slopes_whose_squares_overflow_leave_fcfw_a_step():
    def f(x):
        size = abs(x) + 1e-300
        return float(-np.log(size).sum()), -1.0 / size

    K = wp.sets.L1Ball(3, 2.0)
    res = wp.minimize(wp.objectives.Function(f, convex=False), K, method="fcfw", max_rounds=5)
    assert np.isfinite(res.x).all()


def test_callbacks_can_save(tmp_path):
    f, K = wp.objectives.Quadratic(1.0, -np.arange(3.0)), wp.sets.Simplex(3)
    wp.minimize(f, K, method="fw", callback=lambda found: found.save(tmp_path / "now.npz"))
    assert wp.load(tmp_path / "now.npz").method == "fw"
