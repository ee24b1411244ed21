"""The Birkhoff polytope beyond the contract: threads, certificates, projections."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from wolfpack.atoms import Permutation
from wolfpack.sets import Birkhoff


@pytest.mark.parametrize("n", [3, 45])
def test_a_batch_in_threads_or_not_is_one_assignment_each(n):
    g = np.random.default_rng(0).standard_normal((9, n, n))
    answers = Birkhoff(n).lmo(g)
    assert isinstance(answers, Permutation)
    for row, columns in zip(g, answers.columns, strict=True):
        np.testing.assert_array_equal(columns, linear_sum_assignment(row)[1])
    assert Birkhoff(n).lmo(g[:0]).to_dense().shape == (0, n, n)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_certify_is_tight_for_the_answer_and_true_for_any_vertex(scale):
    rng = np.random.default_rng(1)
    K = Birkhoff(30)
    g = rng.standard_normal((30, 30))
    least = g[linear_sum_assignment(g)].sum()
    proved = K.certify(scale * g, K.lmo(scale * g)) / scale
    assert least - 1e-11 <= proved <= least
    for columns in (np.arange(30), rng.permutation(30)):
        assert K.certify(scale * g, Permutation(columns)) / scale <= least


def test_certify_with_ties_everywhere():
    K = Birkhoff(6)
    for g in (np.zeros((6, 6)), np.ones((6, 6)), np.round(np.random.default_rng(2).random((6, 6)))):
        least = g[linear_sum_assignment(g)].sum()
        assert least - 1e-13 <= K.certify(g, K.lmo(g)) <= least


@pytest.mark.parametrize("n", [2, 17, 60])
@pytest.mark.parametrize("size", [1e-6, 0.1, 1.0, 30.0, 1e4])
def test_projections_near_and_far(n, size):
    K = Birkhoff(n)
    x = size * np.random.default_rng(n).standard_normal((n, n))
    p = K.project(x)
    assert K.violation(p) <= 1e-12 * max(1.0, 10 * size)
    # <x - p, v - p> <= 0 for every v in K
    gap = K.support(x - p) - float(np.vdot(x - p, p))
    assert gap <= 1e-10 * np.linalg.norm(x) + 1e-12


def test_a_far_point_is_projected_onto_its_vertex():
    K = Birkhoff(20)
    x = 1e3 * np.random.default_rng(4).standard_normal((20, 20))
    np.testing.assert_allclose(K.project(x), K.lmo(-x).to_dense(), atol=1e-10)


def test_exact_sizes():
    assert Birkhoff(1).diameter == 0.0
    assert Birkhoff(8).radius == pytest.approx(np.sqrt(8))
    assert Birkhoff(8).diameter == 4.0


@pytest.mark.parametrize("n", [0, (2, 2), -3])
def test_bad_sizes_are_refused(n):
    with pytest.raises(ValueError, match="n must be"):
        Birkhoff(n)
