"""Schatten and operator-norm balls beyond the contract."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wolfpack.noise import get as law
from wolfpack.problem import CapabilityError
from wolfpack.sets import L2Ball, OperatorNormBall, SchattenBall, TraceNormBall


@pytest.mark.parametrize("shape", [(4, 3), (3, 5)])
def test_the_ends_of_the_family_are_the_trace_and_operator_norm_balls(shape):
    rng = np.random.default_rng(0)
    g = rng.standard_normal((9, *shape))
    x = 3.0 * rng.standard_normal(shape)
    for order, other in (
        (1, TraceNormBall(shape, 2.0)),
        (2, L2Ball(shape, 2.0)),
        (math.inf, OperatorNormBall(shape, 2.0)),
    ):
        K = SchattenBall(shape, order, 2.0)
        np.testing.assert_allclose(K.lmo(g).to_dense(), other.lmo(g).to_dense(), atol=1e-7)
        np.testing.assert_allclose(K.support(g), other.support(g), rtol=1e-12)
        np.testing.assert_allclose(K.project(x), other.project(x), atol=1e-12)
        assert K.violation(x) == pytest.approx(other.violation(x))
        assert K.radius == pytest.approx(other.radius)


def test_the_operator_norm_oracle_is_the_polar_factor():
    g = np.random.default_rng(1).standard_normal((6, 4))
    Q = -OperatorNormBall((6, 4)).lmo(g).to_dense()
    np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-13)
    H = Q.T @ g
    np.testing.assert_allclose(H, H.T, atol=1e-13)
    assert np.linalg.eigvalsh(H)[0] > 0


@pytest.mark.parametrize("order", [1.0, 1.2, 3.0, 50.0, math.inf])
def test_the_radius_is_attained(order):
    K = SchattenBall((5, 3), order, 2.0)
    # equal singular values are farthest for large orders, a single one for small
    g = (
        np.eye(5, 3)
        if order > 2
        else np.diag([1.0, 0, 0])[[0, 1, 2, 2, 2]] * [[1], [1], [1], [0], [0]]
    )
    assert np.linalg.norm(K.lmo(g).to_dense()) == pytest.approx(K.radius, rel=1e-12)


def test_only_three_orders_have_a_projection():
    assert SchattenBall((2, 2), 1).has("project")
    assert SchattenBall((2, 2), 2).has("project")
    assert OperatorNormBall((2, 2)).has("project")
    K = SchattenBall((2, 2), 3)
    assert not K.has("project")
    with pytest.raises(CapabilityError, match="SchattenBall"):
        K.project(np.eye(2))


def test_the_mean_width_is_known_for_the_frobenius_norm():
    gaussian = law("gaussian")
    width = SchattenBall((3, 4), 2, 1.5).smoothed_at_zero(gaussian)
    assert width == pytest.approx(L2Ball(12, 1.5).smoothed_at_zero(gaussian))
    assert SchattenBall((3, 4), 3, 1.5).smoothed_at_zero(gaussian) is None


@pytest.mark.parametrize("order", [0.5, -1.0, math.nan])
def test_orders_below_one_are_refused(order):
    with pytest.raises(ValueError, match="order must be a number >= 1"):
        SchattenBall((2, 2), order)


def test_an_order_that_is_no_number_is_refused():
    with pytest.raises(TypeError, match="order must be a number >= 1, found 'nuc'"):
        SchattenBall((2, 2), "nuc")  # type: ignore[arg-type]
