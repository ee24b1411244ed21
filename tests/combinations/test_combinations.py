"""A sample of all combinations of sets, objectives, libraries and methods ends as it must."""

from __future__ import annotations

import warnings

import pytest

from combinations.matrix import CALLS, OBJECTIVES, REGIONS, SMALL, Combination, sample, verdict
from hostile.judge import Outcome

FINE = (Outcome.RAN, Outcome.REFUSED)


def run(one: Combination) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = verdict(one, seconds=60.0)
    assert found.outcome in FINE, f"{one}: {found.outcome}: {found.reason}"


@pytest.mark.parametrize("one", sample(len(SMALL), ("numpy",), seed=0, regions=SMALL), ids=str)
def test_on_numpy(one):
    run(one)


@pytest.mark.slow
@pytest.mark.parametrize("one", sample(len(REGIONS), ("numpy",), seed=1), ids=str)
def test_more_on_numpy(one):
    run(one)


@pytest.mark.extras
@pytest.mark.parametrize("one", sample(len(SMALL), ("torch", "torch32"), seed=2), ids=str)
def test_on_torch(one):
    pytest.importorskip("torch")
    run(one)


@pytest.mark.extras
@pytest.mark.parametrize("one", sample(6, ("jax32",), seed=3, regions=SMALL), ids=str)
def test_on_jax(one):
    pytest.importorskip("jax")
    run(one)


def test_a_sample_has_all_there_is():
    found = sample(3000, ("numpy",), seed=0)
    assert {one.region for one in found} == set(REGIONS)
    assert {one.objective for one in found} == set(OBJECTIVES) - {"from_torch", "from_jax"}
    assert {one.method for one in found} == {name for name, _ in CALLS}
