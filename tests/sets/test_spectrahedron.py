"""The spectrahedron beyond the contract."""

from __future__ import annotations

import numpy as np
import pytest

from wolfpack.sets import Spectrahedron


@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("count", [3, 12])
def test_only_the_symmetric_part_of_a_direction_matters(equality, count):
    K = Spectrahedron(5, 2.0, equality)
    g = np.random.default_rng(0).standard_normal((count, 5, 5))
    symmetric = 0.5 * (g + g.swapaxes(-1, -2))
    dense = K.lmo(g).to_dense()
    np.testing.assert_allclose(dense, K.lmo(symmetric).to_dense(), atol=1e-9)
    np.testing.assert_array_equal(dense, dense.swapaxes(-1, -2))
    least = 2.0 * np.linalg.eigvalsh(symmetric)[:, 0]
    expected = least if equality else np.minimum(least, 0.0)
    np.testing.assert_allclose((dense * g).sum(axis=(1, 2)), expected, rtol=1e-12)


@pytest.mark.parametrize("count", [2, 12])
def test_a_positive_direction_is_answered_by_zero_where_allowed(count):
    K = Spectrahedron(4, equality=False)
    g = np.tile(np.diag([1.0, 2.0, 3.0, 4.0]), (count, 1, 1))
    g[1] *= -1.0
    answers = K.lmo(g)
    assert not answers.take(0).to_dense().any()
    np.testing.assert_allclose(answers.take(1).to_dense(), np.diag([0, 0, 0, 1.0]), atol=1e-12)
    assert -1e-13 <= K.certify(g[0], answers.take(0)) <= 0.0
    # all zeros are one vertex
    assert K.lmo(g[0]).key() == K.lmo(2.0 * g[0] + 1.0).key()


def test_large_matrices_and_their_certificate():
    K = Spectrahedron(330, trace=2.0)
    rng = np.random.default_rng(1)
    g = rng.standard_normal((330, 330))
    least = 2.0 * np.linalg.eigvalsh(0.5 * (g + g.T))[0]
    vertex = K.lmo(g)
    assert vertex.dot(g) == pytest.approx(least, rel=1e-9)
    assert least - 1e-8 * abs(least) <= K.certify(g, vertex) <= least + 1e-13 * abs(least)


def test_size_one():
    g = np.array([[2.0]])
    assert Spectrahedron(1, 3.0).lmo(g).to_dense() == 3.0
    assert Spectrahedron(1, 3.0, equality=False).lmo(g).to_dense() == 0.0
    assert Spectrahedron(1, 3.0).diameter == 0.0
    assert Spectrahedron(1, 3.0, equality=False).diameter == 3.0


def test_what_violates():
    K = Spectrahedron(2)
    assert K.contains(np.eye(2) / 2)
    assert not K.contains(np.array([[0.5, 0.1], [-0.1, 0.5]]))
    assert not K.contains(np.diag([1.5, -0.5]))
    assert not K.contains(0.4 * np.eye(2))
    assert Spectrahedron(2, equality=False).contains(0.4 * np.eye(2))
    assert not K.contains(np.full((2, 2), np.inf))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (((2, 3),), ValueError, "n must be a positive integer"),
        ((0,), ValueError, "n must be at least 1"),
        ((2.5,), TypeError, "n must be a positive integer"),
        ((2, -1.0), ValueError, "trace must be a positive"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        Spectrahedron(*arguments)
