"""Jobs: blocks that do not depend on who computes them, and oracles that are looked at."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from engines.cases import Flaky, cube
from wolfpack.smoothing import Ambient
from wolfpack.smoothing.job import BLOCKS, Job, Question

V = np.linspace(-1, 1, 6)


def job(K: Any, law: str = "gaussian", **options: Any) -> Job:
    return Job(Ambient(K, wp.noise.get(law)), 4, **options)


def test_blocks_depend_on_the_set_and_m_alone():
    _, K = cube()
    assert [job(K).length(m) for m in (1, 32, BLOCKS, BLOCKS + 1, 1000)] == [1, 1, 1, 2, 16]
    vectorised = wp.sets.Simplex(64)
    assert job(vectorised).length(32) == 1024
    assert job(vectorised).blocks(1025) == 2
    assert job(vectorised, block=5).length(10**6) == 5
    small, large = wp.sets.Birkhoff(8), wp.sets.Birkhoff(100)
    assert (job(small).length(32), job(large).length(32)) == (64, 1)


def test_coupled_draws_keep_large_blocks():
    _, K = cube()
    assert job(K, sampling="antithetic").length(32) == job(K).smoothing.block


@pytest.mark.parametrize("make", [lambda: cube()[1], lambda: wp.sets.Birkhoff(4)])
def test_blocks_asked_together_are_the_blocks_asked_alone(make):
    K = make()
    worker = job(K, block=3)
    question = Question(2, np.random.default_rng(0).random(K.shape), 0.3, 20)
    together = worker.compute(question, range(7))
    for block in (6, 0, 3):
        alone = worker.compute(question, range(block, block + 1))[0]
        count = 2 if block == 6 else 3
        direct = worker.answers(question.v, 0.3, count, 2, block)
        assert alone.count == together[block].count == len(direct) == count
        assert alone.mean.mean().tobytes() == together[block].mean.mean().tobytes()
        assert alone.mean.mean().tobytes() == direct.mean().tobytes()
        assert alone.squares == together[block].squares


def test_copies_have_streams_of_their_own_and_the_same_numbers():
    original = job(wp.sets.Simplex(6), block=2)
    question = Question(7, V, 0.5, 8)
    expected = [p.mean.mean().tobytes() for p in original.compute(question, range(4))]
    for other in (copy.copy(original), pickle.loads(pickle.dumps(original))):
        assert other.streams is not original.streams
        assert [p.mean.mean().tobytes() for p in other.compute(question, range(4))] == expected


def test_answers_are_kept_when_asked_for():
    worker = job(wp.sets.Simplex(6), block=3)
    kept = worker.compute(Question(1, V, 0.5, 6, keep=True), range(2))
    assert [len(partial.answers) for partial in kept] == [3, 3]
    np.testing.assert_allclose(kept[1].answers.mean(), kept[1].mean.mean())
    assert worker.compute(Question(1, V, 0.5, 6), range(2))[0].answers is None


def test_a_clean_question_is_answered_as_it_stands():
    K = wp.sets.Simplex(6)
    partial = job(K).compute(Question(-1, V, 0.0, 1, keep=True, clean=True), range(1))[0]
    assert partial.answers.key() == K.lmo(V).key()


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("raise", "divides by zero"),
        ("nan", "NaN"),
        ("shape", "shape"),
        ("outside", "outside the set|beyond radius"),
    ],
)
def test_bad_answers_are_named_with_round_and_block(kind, message, tmp_path):
    _, K = cube(Flaky(kind, tmp_path / "flag", always=True, anywhere=True))
    K.r = 3.0
    with pytest.raises((ValueError, ZeroDivisionError), match=message) as caught:
        job(K).compute(Question(4, V, 0.5, 3), range(3))
    notes = " ".join(caught.value.__notes__)
    assert "in the oracle of Oracle(" in notes
    assert "round 4" in notes


class Sloppy(wp.sets.Simplex):
    """A set whose oracle answers what is not in it."""

    factor = 2.0

    def _lmo(self, g: Any) -> Any:
        atoms = super()._lmo(g)
        atoms.value = self.factor * self.r
        return atoms


def test_answers_are_spot_checked_against_the_set():
    K = Sloppy(6)
    with pytest.raises(ValueError, match="a point outside the set, by 1"):
        job(K).answers(V, 0.5, 3, k=8)
    job(K).answers(V, 0.5, 3, k=9)  # rounds 0, 1, 2, 4, 8 and so on are looked at
    K.factor = np.nan
    with pytest.raises(ValueError, match="NaN or infinite"):
        job(K).compute(Question(9, V, 0.5, 3), range(1))


@pytest.mark.parametrize("block", [0, -1, 2.5, True])
def test_bad_blocks(block):
    with pytest.raises(ValueError, match="block must be an integer >= 1"):
        job(wp.sets.Simplex(6), block=block)
