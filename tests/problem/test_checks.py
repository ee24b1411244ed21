"""Kinds of arguments: what counts as a number, and what as a whole one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.arrays import ArgumentError
from wolfpack.problem.checks import as_shape, as_whole, count, is_number, number, shown, whole

SIX = [6, 6.0, np.int8(6), np.uint64(6), np.float32(6), np.array(6), np.array(6.0)]
NONE = [6.5, math.nan, math.inf, -math.inf, True, np.True_, np.array(True), "6", None, 6j, [6]]
NONE += [np.array([6]), np.array(6.5), np.ma.masked, np.array("6"), 2.0**54, np.array(6, object)]


@pytest.mark.parametrize("value", SIX)
def test_whole_numbers_count_by_their_values(value):
    for kind in (count, whole(0)):
        found = kind(value, "m")
        assert type(found) is int
        assert found == 6
    assert as_shape(value, "n") == (6,)
    assert as_shape([2, value], "n") == (2, 6)


@pytest.mark.parametrize("value", NONE)
def test_other_values_are_refused_in_a_sentence(value):
    assert as_whole(value) is None
    with pytest.raises(ArgumentError, match=r"^m must be an integer >= 1, found "):
        count(value, "m")
    with pytest.raises(ArgumentError, match=r"^n must be a positive integer or a tuple"):
        as_shape((3, value), "n")


def test_what_is_found_is_shown_by_its_value():
    assert shown(np.float64(1.5)) == "1.5"
    assert shown(np.array(True)) == "True"
    assert shown(np.ones(2)) == "a ndarray of shape (2,)"


def test_integers_beyond_floats_stay_exact():
    assert whole(0)(2**60 + 1, "seed") == 2**60 + 1
    assert whole(0)(np.uint64(2**63 + 1), "seed") == 2**63 + 1


@pytest.mark.parametrize("kind", [float, np.float32, np.array])
def test_arrays_without_axes_are_numbers(kind):
    assert is_number(kind(2.0))
    assert number(kind(2.0), "r") == 2.0
    c = np.array([-1.0, 0.5])
    one, other = wp.objectives.Quadratic(kind(2.0), c), wp.objectives.Quadratic(2.0, c)
    assert one.Q == other.Q == 2.0
    assert one.value(c) == other.value(c)


@pytest.mark.parametrize("Q", [np.array(-1.0), np.array(math.nan), np.array(0.0), -1.0])
def test_a_number_for_a_matrix_is_positive(Q):
    with pytest.raises(
        ValueError, match=r"Q must be a positive number or a matrix, found -?[0-9n]"
    ):
        wp.objectives.Quadratic(Q, np.ones(2))


@pytest.mark.parametrize("limit", ["max_rounds", "max_lmo"])
def test_limits_may_be_whole_floats(limit):
    f, K = wp.objectives.Quadratic(1.0, np.array([0.3, -0.2, 0.1])), wp.sets.Simplex(3)
    options = {"method": "fw", "tol": 0.0, "seed": 1}
    wanted = wp.minimize(f, K, **options, **{limit: 7})
    for value in (7.0, np.array(7.0), np.float32(7)):
        found = wp.minimize(f, K, **options, **{limit: value})
        assert (found.nit, found.fun) == (wanted.nit, wanted.fun)
        assert isinstance(found.nit, int)
    for value in (7.5, math.nan, math.inf, True):
        with pytest.raises(ArgumentError, match=f"{limit} must be an integer >= 0 or None, found"):
            wp.minimize(f, K, **options, **{limit: value})
