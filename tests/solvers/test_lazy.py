"""Lazy Frank-Wolfe: the cache is used first, stays small, and costs no correctness."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wolfpack as wp
from problems import paper_simplex
from rival_problems import case
from wolfpack.atoms import OneHot
from wolfpack.solvers.parts.cache import used
from wolfpack.solvers.parts.hull import Hull


def test_most_rounds_need_no_oracle():
    f, K, x0 = paper_simplex()
    res = wp.minimize(f, K, x0, method="lazy", tol=1e-1, max_rounds=5000)
    eager = wp.minimize(f, K, x0, method="fw-ls", tol=1e-1, max_rounds=5000)
    assert res.success
    assert res.nlmo < 0.2 * res.nit
    assert res.nlmo < 0.2 * eager.nlmo


def test_phi_follows_the_gap_and_every_step_is_good_enough():
    f, K, x0 = paper_simplex()
    seen = []
    wp.minimize(
        f, K, x0, method="lazy", tol=1e-1, callback=lambda r: seen.append((r.nlmo, r.state))
    )
    for (calls, before), (calls_next, after) in itertools.pairwise(seen):
        g = before.at.gradient
        promise = g @ before.x - before.active.atoms.dot(g).min()
        if calls_next == calls:
            assert promise >= before.phi / 2
            assert after.phi == before.phi
        else:
            assert promise < before.phi / 2
            assert after.phi <= before.phi


def test_the_cache_forgets_what_is_unused_for_longest():
    cache = Hull.start(np.full(5, 0.2))
    for i in [0, 1, 2, 0, 3]:
        cache = used(*cache.add(OneHot(i, 1.0, (5,))), 3)
    # 1 was used in round 1, 2 in round 2, 0 again in round 3
    assert cache.atoms is not None
    assert [int(cache.atoms[i].index) for i in range(3)] == [0, 2, 3]
    cache = used(cache, 2, 3)
    cache = used(*cache.add(OneHot(4, 1.0, (5,))), 3)
    assert cache.atoms is not None
    assert [int(cache.atoms[i].index) for i in range(3)] == [2, 3, 4]


def test_the_cache_respects_its_size():
    f, K = case("quadratic box")
    sizes = []
    res = wp.minimize(
        f,
        K,
        method="lazy",
        size=4,
        tol=5e-2,
        max_rounds=3000,
        callback=lambda r: sizes.append(len(r.state.active.keys)),
    )
    assert res.success
    assert max(sizes) == 4


@pytest.mark.parametrize("options", [{"J": 0.5}, {"size": 0}])
def test_bad_options_are_refused(options):
    with pytest.raises(ValueError, match="must be"):
        wp.solvers.LazyFrankWolfe(**options)
