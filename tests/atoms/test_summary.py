"""Means on the way from a worker: few bytes, the same bits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from contracts.registry import CASES
from wolfpack.atoms import Dense, OneHot, RankOne, Rows, portable, summarize

DIRECTIONS = np.random.default_rng(7)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("count", [1, 6])
def test_every_sets_answers_keep_their_bits(case, count):
    K = case.small()
    answers = K.lmo(DIRECTIONS.standard_normal((count, *K.shape)))
    summary = pickle.loads(pickle.dumps(summarize(answers)))
    mean = answers.mean()
    found = summary.mean()
    assert found.dtype == mean.dtype
    assert found.shape == mean.shape
    assert found.tobytes() == mean.tobytes()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_adding_a_summary_is_adding_the_mean(case):
    K = case.small()
    answers = K.lmo(DIRECTIONS.standard_normal((5, *K.shape)))
    total = DIRECTIONS.standard_normal(K.shape)
    expected = total + 5 * answers.mean()
    total = summarize(answers).added(total, 5)
    np.testing.assert_array_equal(total, expected)


def test_one_hot_answers_cost_what_their_distinct_vertices_cost():
    answers = OneHot(DIRECTIONS.integers(0, 40, 1000), -2.0, (10**6,))
    summary = summarize(answers)
    assert summary.nbytes <= 40 * 12
    assert np.signbit(summary.mean()[-1])  # -2 * 0 / 1000, as the dense mean has it
    assert summary.mean().tobytes() == answers.mean().tobytes()


def test_few_rank_one_answers_travel_as_factors_and_many_as_a_matrix():
    few = RankOne(DIRECTIONS.random((3, 100)), DIRECTIONS.random((3, 80)), -1.0)
    many = RankOne(DIRECTIONS.random((99, 100)), DIRECTIONS.random((99, 80)), -1.0)
    assert summarize(few).nbytes == 3 * 180 * 8
    assert summarize(many).nbytes == 100 * 80 * 8
    for atoms in (few, many):
        assert summarize(atoms).mean().tobytes() == atoms.mean().tobytes()


def test_factors_in_another_memory_order_are_multiplied_where_they_are():
    u, v = DIRECTIONS.random((100, 3)).T, DIRECTIONS.random((3, 80))
    atoms = RankOne(u, v)
    assert summarize(atoms).nbytes == 100 * 80 * 8
    assert summarize(atoms).mean().tobytes() == atoms.mean().tobytes()


def test_zeros_of_both_signs_are_kept():
    array = np.zeros(40)
    array[0], array[1] = 1.0, -0.0
    assert summarize(Dense(array, (40,))).mean().tobytes() == array.tobytes()


def test_rows_travel_without_their_table():
    table = DIRECTIONS.random((10_000, 4))
    for index in (np.array([3, 3, 9]), np.array(7)):
        atoms = Rows(table, index, (4,))
        sent = portable(atoms)
        assert len(pickle.dumps(sent)) < 2000
        np.testing.assert_array_equal(sent.to_dense(), atoms.to_dense())
        assert sent.count == atoms.count
