"""Stochastic gradients: unbiased, repeatable, with the variance that they are said to have."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

import wolfpack as wp
from wolfpack.gradients import Draws, ExactGradients
from wolfpack.gradients.minibatches import Minibatches
from wolfpack.objectives import LeastSquares, Logistic, Stochastic

RNG = np.random.default_rng(0)
A = RNG.standard_normal((7, 3))
B = RNG.standard_normal((7, 2))
LABELS = np.array([1, -1, 1, 1, -1, -1, 1])

SUMS = {
    "vector": LeastSquares(A, B[:, 0]),
    "matrix": LeastSquares(A, B),
    "sparse": LeastSquares(csr_array(A), B[:, 0]),
    "logistic mean": Logistic(A, LABELS),
    "logistic sum": Logistic(csr_array(A), LABELS, reduction="sum"),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("batch", [1, 3, 7])
def test_minibatches_are_unbiased(name, batch):
    f = SUMS[name]
    x = RNG.standard_normal(f.shape)
    parts = [f.minibatch_gradient(x, np.array(rows)) for rows in combinations(range(7), batch)]
    np.testing.assert_allclose(sum(parts) / len(parts), f.gradient(x), atol=1e-12)


def test_rows_are_drawn_uniformly_without_replacement():
    f = LeastSquares(np.eye(5), np.zeros(5))
    draws = Minibatches(f, 2, seed=3)
    seen = np.zeros(5)
    for k in range(2000):
        g = draws.at(np.ones(5), k, 2).mean
        assert sorted(g) == [0, 0, 0, 2.5, 2.5]
        seen += g > 0
    # each row is in a batch with probability 2/5: five standard deviations are 0.055
    np.testing.assert_allclose(seen / 2000, 0.4, atol=0.055)


def test_streams_are_addressed_by_the_round():
    f = Logistic(A, LABELS)
    one, two = Minibatches(f, 2, seed=1), Minibatches(f, 2, seed=1)
    x = np.ones(3)
    later = [two.at(x, k, 2).mean for k in (5, 0)][::-1]
    np.testing.assert_array_equal(one.at(x, 0, 2).mean, later[0])
    np.testing.assert_array_equal(one.at(x, 5, 2).mean, later[1])
    before = one.at(x, 5, 2).mean
    one.variance(x, 2, "l2")
    np.testing.assert_array_equal(one.at(x, 5, 2).mean, before)


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_estimated_variance(norm):
    f = LeastSquares(A, B[:, 0])
    x = RNG.standard_normal(3)
    order = {"l2": 2, "l1": np.inf}[norm]
    parts = [f.minibatch_gradient(x, np.array(rows)) for rows in combinations(range(7), 2)]
    exact = np.mean([np.linalg.norm(g - f.gradient(x), order) ** 2 for g in parts])
    estimate = Minibatches(f, 2).variance(x, 2, norm, draws=4000)
    assert estimate == pytest.approx(exact, rel=0.1)
    assert ExactGradients(f).variance(x, "exact", norm) == 0.0
    assert Minibatches(f, 7).variance(x, 7, norm) == pytest.approx(0.0, abs=1e-20)


def test_means_of_draws_have_the_variance_of_one_over_m():
    G = Stochastic(lambda y, rng: y + rng.standard_normal(4), beta=1.0)
    draws = Draws(G, seed=2)
    assert draws.variance(np.zeros(4), 1, "l2", 3000) == pytest.approx(4.0, rel=0.1)
    assert draws.variance(np.zeros(4), 8, "l2", 3000) == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize("name", SUMS)
def test_l1_smoothness(name):
    """L1 bounds the Hessian's entries and is attained for least squares."""
    f = SUMS[name]
    largest = 0.0
    for x in RNG.standard_normal((20, *f.shape)):
        for index in np.ndindex(f.shape):
            step = np.zeros(f.shape)
            step[index] = 1e-4
            slope = (f.gradient(x + step) - f.gradient(x - step)) / 2e-4
            largest = max(largest, float(abs(slope).max()))
    assert largest <= f.L1 * (1 + 1e-6) <= f.L * (1 + 1e-6)
    if isinstance(f, LeastSquares):
        assert largest == pytest.approx(f.L1, rel=1e-6)


@pytest.mark.parametrize(
    "make", [lambda b: LeastSquares(A, B, b), lambda b: Logistic(A, LABELS, batch=b)]
)
def test_bad_batches(make):
    for batch in (0, -1, 8):
        with pytest.raises(ValueError, match=f"(>= 1|the 7 observations), found {batch}"):
            make(batch)
    with pytest.raises(TypeError, match=r"batch must be an integer .*, found 2\.5"):
        make(2.5)
    assert make(7).batch == 7


def test_operators_have_no_rows():
    with pytest.raises(TypeError, match="batch needs rows"):
        LeastSquares(aslinearoperator(A), B[:, 0], batch=2)
    assert LeastSquares(aslinearoperator(A), B[:, 0]).L1 >= LeastSquares(A, B[:, 0]).L1


def test_other_front_doors_want_whole_gradients():
    with pytest.raises(TypeError, match=r"only random gradients.*minimize and minimize_composite"):
        wp.minimize_integer(Stochastic(lambda y, rng: y), wp.sets.Simplex(2))


def test_bad_draws():
    with pytest.raises(TypeError, match="draw must be callable, found 3"):
        Stochastic(3)  # pyright: ignore[reportArgumentType]
    wrong = Draws(Stochastic(lambda y, rng: np.ones(2)))
    with pytest.raises(ValueError, match=r"y's shape \(3,\), found \(2,\)"):
        wrong.at(np.zeros(3), 0, 1)
