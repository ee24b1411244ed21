"""Transport polytopes beyond the contract: solvers, degenerate sums, certificates, messages."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from wolfpack.problem import CapabilityError
from wolfpack.sets import Birkhoff, TransportPolytope

needs_pot = pytest.mark.skipif(find_spec("ot") is None, reason="needs POT")
network = pytest.param("network", marks=[pytest.mark.extras, needs_pot])
solvers = pytest.mark.parametrize("solver", ["highs", network])


def sums(seed, p, q):
    plan = np.random.default_rng(seed).random((p, q)) ** 3
    return plan.sum(axis=1), plan.sum(axis=0)


@solvers
@pytest.mark.parametrize("shape", [(1, 4), (5, 1), (6, 9), (20, 12)])
def test_vertices_have_few_entries_and_exact_sums(solver, shape):
    a, b = sums(0, *shape)
    K = TransportPolytope(a, b, solver=solver)
    g = np.random.default_rng(1).standard_normal((4, *shape))
    dense = K.lmo(g).to_dense()
    assert np.all((dense > 0).sum(axis=(1, 2)) <= sum(shape) - 1)
    for plan in dense:
        assert K.violation(plan) <= 1e-14 * K.total


@solvers
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("total", [1e-9, 1.0, 1e9])
def test_certify_is_tight_at_any_scale_of_costs_and_sums(solver, scale, total):
    a, b = sums(2, 8, 6)
    K = TransportPolytope(total * a, total * b, solver=solver)
    g = scale * np.random.default_rng(3).standard_normal((8, 6))
    vertex = K.lmo(g)
    value = vertex.dot(g)
    assert K.certify(g, vertex) <= value
    assert value - K.certify(g, vertex) <= 1e-13 * scale * K.total


@solvers
def test_zero_sums_and_degenerate_vertices(solver):
    K = TransportPolytope([1, 0, 2, 1], [0, 2, 2], solver=solver)
    for seed in range(5):
        g = np.round(2 * np.random.default_rng(seed).standard_normal((4, 3)))
        vertex = K.lmo(g)
        assert K.violation(vertex.to_dense()) <= 1e-14
        assert vertex.dot(g) - K.certify(g, vertex) <= 1e-13


@pytest.mark.extras
@needs_pot
def test_both_solvers_find_one_minimum():
    a, b = sums(4, 15, 11)
    by_highs, by_network = (TransportPolytope(a, b, solver=s) for s in ("highs", "network"))
    assert TransportPolytope(a, b).solver == "network"
    g = np.random.default_rng(5).standard_normal((6, 15, 11))
    np.testing.assert_allclose(by_highs.support(g), by_network.support(g), rtol=1e-12)


def test_a_wrong_answer_is_not_believed():
    a, b = sums(6, 5, 7)
    K = TransportPolytope(a, b, solver="highs")
    rng = np.random.default_rng(7)
    g = rng.standard_normal((5, 7))
    least = K.lmo(g).dot(g)
    for vertex in (K.lmo(-g), K.lmo(rng.standard_normal((5, 7)))):
        assert vertex.dot(g) > least + 0.1
        assert K.certify(g, vertex) <= least


def test_equal_sums_are_an_assignment():
    K = TransportPolytope(np.full(5, 3.0), np.full(5, 3.0))
    assert K.solver == "assignment"
    g = np.random.default_rng(8).standard_normal((5, 5))
    assert K.lmo(g).dot(g) == pytest.approx(3.0 * g[linear_sum_assignment(g)].sum(), rel=1e-14)
    assert TransportPolytope(np.full(5, 3.0), np.full(5, 3.0), "highs").support(g) == pytest.approx(
        K.support(g), rel=1e-12
    )
    assert K.radius == pytest.approx(3.0 * Birkhoff(5).radius)
    assert K.diameter == pytest.approx(3.0 * Birkhoff(5).diameter)


def test_the_radius_is_exact_when_the_sums_agree():
    a = np.array([3.0, 1.0, 0.5])
    K = TransportPolytope(a, a)
    assert K.radius == pytest.approx(np.linalg.norm(a))
    assert np.linalg.norm(K.lmo(-np.eye(3)).to_dense()) == pytest.approx(K.radius)


def test_one_row_is_one_point():
    K = TransportPolytope([3.0], [1.0, 2.0])
    assert K.diameter == 0.0
    for g in np.random.default_rng(9).standard_normal((3, 1, 2)):
        np.testing.assert_allclose(K.lmo(g).to_dense(), [[1.0, 2.0]])


def test_the_arguments_are_copied():
    a, b = np.array([1.0, 2.0]), np.array([2.0, 1.0])
    K = TransportPolytope(a, b)
    a[0] = 100.0
    assert K.contains(np.array([[1.0, 0.0], [1.0, 1.0]]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], [1.0, 1.0]), "one total, found 3 and 2"),
        (([1.0, -1.0, 1.0], [1.0]), "a has 1 negative entries of 3"),
        (([1.0], [np.nan]), "b has 1 NaN or infinite"),
        (([[1.0]], [1.0]), "a must be a vector of sums"),
        (([], [1.0]), "a must be a vector of sums"),
        (([0.0], [0.0]), "a must have a positive total"),
        (
            ([1.0], [1.0], "simplex"),
            "solver must be one of 'auto', 'assignment', 'network'",
        ),
        (([1.0, 2.0], [2.0, 1.0], "assignment"), "needs as many rows as columns"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        TransportPolytope(*arguments)


@pytest.mark.skipif(find_spec("ot") is not None, reason="POT is installed")
def test_a_missing_solver_says_what_to_install():
    with pytest.raises(CapabilityError, match=r"pip install 'wolfpack\[transport\]'"):
        TransportPolytope([1.0, 2.0], [2.0, 1.0], solver="network")
