"""The trace-norm ball beyond the contract: inexact oracles, large matrices, structure."""

from __future__ import annotations

import numpy as np
import pytest

from wolfpack.atoms import RankOne
from wolfpack.sets import TraceNormBall, _spectral


def test_answers_are_rank_one_and_never_dense_copies():
    K = TraceNormBall((50, 40), radius=2.0)
    g = np.random.default_rng(0).standard_normal((30, 50, 40))
    answers = K.lmo(g)
    assert isinstance(answers, RankOne)
    assert answers.u.shape == (30, 50)
    assert answers.v.shape == (30, 40)
    assert np.linalg.norm(answers.mean(), "nuc") <= 2.0 * (1 + 1e-12)


def test_the_paper_sized_batch_agrees_with_one_svd_each():
    K = TraceNormBall((10, 8))
    g = np.random.default_rng(1).standard_normal((100, 10, 8))
    U, _, Vt = np.linalg.svd(g)
    expected = -U[:, :, :1] @ Vt[:, :1, :]
    np.testing.assert_allclose(K.lmo(g).to_dense(), expected, atol=1e-7)


def test_a_careless_oracle_is_not_believed(monkeypatch):
    monkeypatch.setattr(_spectral, "TOLERANCE", 1e-1)
    K = TraceNormBall((400, 320), radius=3.0)
    g = np.random.default_rng(2).standard_normal((400, 320))
    vertex = K.lmo(g)
    least = -3.0 * np.linalg.norm(g, 2)
    missed = vertex.dot(g) - least
    assert missed > 1e-9 * abs(least)
    assert least - 8 * missed <= K.certify(g, vertex) <= least


def test_certify_holds_for_any_vertex():
    K = TraceNormBall((6, 5), radius=2.0)
    rng = np.random.default_rng(3)
    g, other = rng.standard_normal((2, 6, 5))
    least = -2.0 * np.linalg.norm(g, 2)
    for vertex in (K.lmo(g), K.lmo(-g), K.lmo(other), K.lmo(np.zeros((6, 5)))):
        assert -2.0 * np.linalg.norm(g) * (1 + 1e-12) <= K.certify(g, vertex) <= least


def test_single_precision_is_computed_in_double():
    K = TraceNormBall((7, 9))
    g = np.random.default_rng(4).standard_normal((7, 9)).astype(np.float32)
    vertex = K.lmo(g)
    top = np.linalg.norm(g.astype(float), 2)
    assert vertex.dot(g.astype(float)) == pytest.approx(-top, rel=1e-13)
    assert -top * (1 + 1e-12) <= K.certify(g, vertex) <= -top


def test_the_projection_shrinks_singular_values():
    K = TraceNormBall((2, 3), radius=1.0)
    x = np.array([[2.0, 0.0, 0.0], [0.0, 0.5, 0.0]])
    np.testing.assert_allclose(K.project(x), [[1.0, 0, 0], [0, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(K.project(0.2 * x), 0.2 * x)


def test_an_empty_batch_has_an_empty_answer():
    assert TraceNormBall((3, 2)).lmo(np.zeros((0, 3, 2))).to_dense().shape == (0, 3, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((3,),), r"shape must be \(p, q\)"),
        ((5,), r"shape must be \(p, q\)"),
        (((3, 0),), "shape must be at least 1"),
        (((3, 2), 0.0), "radius must be a positive"),
        (((3, 2), np.nan), "radius must be a positive"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        TraceNormBall(*arguments)
