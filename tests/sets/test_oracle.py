"""A user's own oracle: what it may answer, and what happens when it misbehaves."""

from __future__ import annotations

import numpy as np
import pytest

from wolfpack.atoms import OneHot, RankOne
from wolfpack.sets import Oracle


def signs(g):
    return np.where(g < 0, 1.0, -1.0)


def test_answers_may_be_lists_single_precision_or_structured():
    g = np.array([3.0, -1.0])
    for answer in ([0, 1], np.float32([0, 1]), OneHot(1, 1.0, (2,)), (0.0, 1.0)):
        K = Oracle(lambda g, answer=answer: answer, 2, 1.0)
        vertex = K.lmo(g)
        np.testing.assert_array_equal(vertex.to_dense(), [0, 1])
        assert vertex.to_dense().dtype == np.float64
        np.testing.assert_array_equal(K.lmo(np.stack([g, g])).to_dense(), [[0, 1], [0, 1]])


def test_arrays_and_vertices_may_be_mixed():
    K = Oracle(lambda g: OneHot(0, 1.0, (2,)) if g[0] < 0 else [0.0, 1.0], 2, 1.0)
    answers = K.lmo(np.array([[-1.0, 0.0], [1.0, 0.0]]))
    np.testing.assert_array_equal(answers.to_dense(), [[1, 0], [0, 1]])


def test_a_batched_oracle_is_called_once_and_keeps_its_structure():
    calls = []

    def top_pair(g):
        calls.append(g.shape)
        u, _, vt = np.linalg.svd(g)
        return RankOne(u[..., 0], vt[..., 0, :], -1.0)

    K = Oracle(top_pair, (2, 3), 1.0, batched=True)
    answers = K.lmo(np.random.default_rng(0).standard_normal((5, 2, 3)))
    assert isinstance(answers, RankOne)
    assert calls == [(5, 2, 3)]


def test_an_unbatched_oracle_sees_one_direction_at_a_time():
    shapes = []
    K = Oracle(lambda g: shapes.append(g.shape) or signs(g), (2, 2), 2.0)
    K.lmo(np.ones((3, 2, 2)))
    assert shapes == [(2, 2)] * 3


def test_an_oracle_may_write_to_its_argument():
    def greedy(g):
        g[:] = -1.0
        return g

    g = np.ones(2)
    g.flags.writeable = False
    Oracle(greedy, 2, 2.0).lmo(g)
    np.testing.assert_array_equal(g, [1, 1])


def test_an_answer_that_is_changed_later_does_not_change_the_vertex():
    kept = np.array([0.0, 1.0])
    K = Oracle(lambda g: kept, 2, 1.0)
    vertex = K.lmo(np.ones(2))
    kept[:] = 5.0
    np.testing.assert_array_equal(vertex.to_dense(), [0, 1])


@pytest.mark.parametrize("direction", [np.ones(2), np.ones((3, 2))])
def test_what_the_oracle_raises_is_raised_with_the_sets_name(direction):
    class Mine(Exception):
        pass

    def my_oracle(g):
        raise Mine("out of licences")

    with pytest.raises(Mine, match="out of licences") as error:
        Oracle(my_oracle, 2, 1.0).lmo(direction)
    assert any("Oracle(my_oracle, shape=(2,))" in note for note in error.value.__notes__)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (np.zeros(3), ValueError, r"my_lmo.*: lmo must answer shape \(2,\), found \(3,\)"),
        (OneHot(0, 1.0, (3,)), ValueError, r"lmo must answer shape \(2,\), found \(3,\)"),
        ([np.nan, 0.0], ValueError, "lmo must answer finite numbers, found NaN"),
        ([3.0, 4.0], ValueError, "found a norm of 5, beyond radius=1"),
        (OneHot(0, -2.0, (2,)), ValueError, "found a norm of 2, beyond radius=1"),
        (
            None,
            TypeError,
            "what lmo answers must be an array .*, found Python objects",
        ),
        ("x", TypeError, "what lmo answers must be an array of real numbers, found words"),
        (np.ones(2) * 1j, TypeError, "what lmo answers must be .* found complex numbers"),
    ],
)
def test_a_wrong_answer_is_named(answer, error, message):
    def my_lmo(g):
        return answer

    with pytest.raises(error, match=message):
        Oracle(my_lmo, 2, 1.0).lmo(np.ones(2))


def test_membership_by_the_users_own_function_costs_no_oracle_call():
    calls = []
    K = Oracle(lambda g: calls.append(g) or signs(g), 2, 2.0, contains=lambda x: abs(x).max() <= 1)
    assert K.contains(np.array([1.0, -0.5]))
    assert not K.contains(np.array([1.5, 0.0]))
    assert not calls


def test_membership_by_the_oracle_is_exact_and_cheap():
    calls = []
    K = Oracle(lambda g: calls.append(g) or signs(g), 30, 30**0.5)
    x = np.random.default_rng(1).uniform(-1, 1, 30)
    assert K.contains(x)
    x[7] = 1.0 + 1e-7
    assert 0.5e-7 <= K.violation(x) <= 1.001e-7
    assert len(calls) < 200


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"lmo": 3}, TypeError, "lmo must be callable, found 3"),
        ({"contains": 3}, TypeError, "contains must be callable or None, found 3"),
        ({"radius": -1.0}, ValueError, "radius must be a positive finite number, .*, found -1.0"),
        ({"radius": np.inf}, ValueError, "radius must be a positive finite number"),
        ({"shape": 0}, ValueError, "shape must be at least 1, found 0"),
        ({"diameter": 0.0}, ValueError, "diameter must be a positive finite number"),
    ],
)
def test_what_is_no_oracle_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        Oracle(**({"lmo": signs, "shape": 2, "radius": 1.0} | arguments))


def test_the_diameter_is_at_most_twice_the_radius():
    assert Oracle(signs, 2, 1.5).diameter == 3.0
    assert Oracle(signs, 2, 1.5, diameter=9.0).diameter == 3.0
    assert Oracle(signs, 2, 1.5, diameter=2.0).diameter == 2.0
