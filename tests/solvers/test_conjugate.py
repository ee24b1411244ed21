"""Conjugate directions: conjugacy itself, and traffic assignment."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wolfpack as wp
from problems import small_simplex
from rival_problems import Traffic

ORDERS = {"conjugate": 1, "biconjugate": 2}


def directions(f, K, x0, method, rounds):
    states = []
    wp.minimize(
        f, K, x0, method=method, tol=0, max_rounds=rounds, callback=lambda r: states.append(r.state)
    )
    return states


@pytest.mark.parametrize("method", ORDERS)
def test_new_directions_are_conjugate_to_the_former_ones(method):
    f, K, x0 = small_simplex()
    states = directions(f, K, x0, method, 40)
    checked = 0
    for before, after in itertools.pairwise(states):
        if not before.targets or not after.targets:
            continue
        x, d = before.x, after.targets[0] - before.x
        vertex = before.vertex.to_dense() - x
        former = [before.targets[0] - x]
        if len(before.targets) == 2:
            gamma = before.gamma
            former.append(gamma * before.targets[0] + (1 - gamma) * before.targets[1] - x)
        for old in former:
            angle = (f.A @ d) @ (f.A @ old)
            size = np.linalg.norm(f.A @ d) * np.linalg.norm(f.A @ old)
            mixed = np.linalg.norm(d - vertex) > 1e-9
            # clipped combinations, where alpha, mu or nu meets a limit, are not conjugate
            checked += mixed and abs(angle) <= 1e-9 * size
    assert checked >= 10


@pytest.mark.parametrize("method", ORDERS)
def test_the_first_step_is_a_frank_wolfe_step(method):
    f, K, x0 = small_simplex()
    res = wp.minimize(f, K, x0, method=method, tol=0, max_rounds=1)
    plain = wp.minimize(f, K, x0, method="fw-ls", tol=0, max_rounds=1)
    np.testing.assert_allclose(res.state.x, plain.state.x, atol=1e-15)


@pytest.mark.parametrize("method", ORDERS)
def test_conjugacy_takes_fewer_rounds_than_line_searches_that_zigzag(method):
    f, K, x0 = small_simplex()
    rounds = {
        m: wp.minimize(f, K, x0, method=m, tol=1e-3, max_rounds=5000).nit for m in (method, "fw-ls")
    }
    assert rounds[method] < rounds["fw-ls"] / 3


@pytest.mark.parametrize("method", ORDERS)
def test_traffic_takes_far_fewer_rounds_than_frank_wolfe(method):
    street = Traffic()
    settings = {"tol": 0, "rtol": 1e-3, "max_rounds": 400}
    res = wp.minimize(street.f, street.K, street.x0, method=method, **settings)
    plain = wp.minimize(street.f, street.K, street.x0, method="fw-ls", **settings)
    assert res.success
    assert res.nit < plain.nit / 2
    assert res.fun <= plain.fun + res.gap


@pytest.mark.parametrize("method", ORDERS)
def test_a_known_hessian_saves_gradients_and_changes_nothing_else(method):
    street = Traffic()

    class Known(wp.objectives.Function):
        def hessian_product(self, x, d):
            return street.hessian_product(x, d)

    settings = {"method": method, "tol": 0, "max_rounds": 8}
    known = wp.minimize(Known(street.f), street.K, street.x0, **settings)
    blind = wp.minimize(street.f, street.K, street.x0, **settings)
    assert known.njev < blind.njev
    assert known.fun == pytest.approx(blind.fun, rel=1e-6)


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="order must be 1 or 2, found 3"):
        wp.solvers.Conjugate(3)
    with pytest.raises(ValueError, match=r"delta must be a number in .0, 1., found 0"):
        wp.solvers.Conjugate(1, delta=0)
