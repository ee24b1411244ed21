"""Steps that noise allows: Theorem C4 over seeds, when runs begin anew, and blocks in turn."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

import wolfpack as wp
from wolfpack import theory
from wolfpack.gradients.minibatches import Minibatches
from wolfpack.objectives import Huber, LeastSquares, Logistic, Weighted
from wolfpack.regularizers import ElasticNet, SquaredNorm
from wolfpack.regularizers.mirrors import Euclidean, Shifted
from wolfpack.regularizers.pairs import composite_problem
from wolfpack.solvers import StochasticComposite
from wolfpack.solvers.composite import Policies, StepBound

N, D = 120, 5
RNG = np.random.default_rng(11)
A = RNG.standard_normal((N, D)) * np.linspace(0.5, 1.5, D)
B = A @ RNG.standard_normal(D) + RNG.standard_normal(N)
LABELS = np.where(B > 0, 1, -1)


@pytest.mark.parametrize("A_k", [0.0, 1e-9, 1e-3, 1.0, 1e6, np.inf])
@pytest.mark.parametrize("pace", [1e-6, 0.1, 3.0, 1e6])
def test_capped_weights(A_k, pace):
    beta, mu, nu = 3.0, 0.01, 0.7
    free, step = theory.next_weight(A_k, beta, mu, nu)
    A_next, tau = theory.capped_weight(A_k, free, step, pace, mu, beta * nu)
    assert A_next <= free
    assert tau <= step
    assert 0 < tau <= 1
    if np.isfinite(A_k):
        most = A_k + pace * (mu * A_k + beta * nu)
        assert A_next == pytest.approx(min(free, most), rel=1e-12)
        assert tau == pytest.approx(1 - A_k / A_next, abs=1e-9)
    else:
        assert tau == pytest.approx(min(step, pace * mu / (1 + pace * mu)))


@pytest.mark.parametrize("make", [LeastSquares, Huber, Logistic])
@pytest.mark.parametrize("batch", [1, 6])
@pytest.mark.parametrize("q", [0.25, 1.0])
def test_theorem_c4(make, batch, q):
    """An anchored epoch contracts the excess as the theorem says, in the mean over seeds."""
    G = make(A, LABELS, reduction="mean")
    H = SquaredNorm(30 * G.loss_smoothness * N)
    y0 = RNG.standard_normal(D)
    best = wp.minimize_composite(G, H, tol=1e-12).fun
    start = G.value(y0) + H.value(y0) - best
    rounds, excess = 2 * N // batch, []
    for seed in range(40):
        draws = Minibatches(G, batch, seed, "importance", "svrg")
        problem = composite_problem(G, H, Shifted(Euclidean(), y0), G.L)
        pace = min(q / (4 * draws.rows.noise(batch)), 0.5 / G.L)
        solver = StochasticComposite(batch, policies=Policies(bound=StepBound(pace)))
        state = solver.init(problem, y0, draws)
        for _ in range(rounds):
            state = solver.step(problem, state, draws)
        assert state.reading.variate.k == 0, "one anchor for all rounds"
        excess.append(G.value(state.x) + H.value(state.x) - best)
    bound = 4 * pace * draws.rows.noise(batch) + G.L / (H.mu * state.model.A_k)
    assert bound < 1.5 * q
    assert np.mean(excess) <= bound * start
    assert np.mean(excess) > 0


def states_of(G, H, **options):
    states = []
    options = {"variance_reduction": True, "tol": 0.0, "record_every": 1, **options}
    wp.minimize_composite(G, H, callback=lambda at: states.append(at.state), **options)
    return states


def test_runs_that_noise_slows_begin_anew_after_five_passes_at_least():
    rng = np.random.default_rng(2)
    data = rng.standard_normal((400, 20)) * np.geomspace(1, 0.1, 20)
    G = Logistic(data, np.sign(data @ rng.standard_normal(20) + rng.standard_normal(400)))
    slow = states_of(G, SquaredNorm(1e-6), batch=4, max_rounds=4000)
    anew = [now.k for last, now in pairwise(slow) if now.model.A_k < last.model.A_k]
    assert anew
    spells = np.diff([0, *anew])
    assert spells.min() >= 5 * 100
    assert all(2 * spell >= begun - 1 for spell, begun in zip(spells[1:], anew, strict=False))
    assert all(k % 100 == 0 for k in anew)
    for k in anew:
        assert slow[k].tuned.spell.begun == k
        np.testing.assert_array_equal(slow[k].z, slow[k].x)
    # where smoothness sets the pace the weights know the strong convexity that there is
    fast = states_of(G, SquaredNorm(0.1), batch=40, max_rounds=400)
    assert all(now.model.A_k > last.model.A_k for last, now in pairwise(fast))


@pytest.mark.parametrize("kind", ["saga", "svrg"])
@pytest.mark.parametrize("H", [SquaredNorm(1e-3), ElasticNet(1e-3, 1e-3)])
def test_blocks_in_turn_reach_the_minimum(kind, H):
    G = Logistic(csr_array(A), LABELS)
    options = {"variance_reduction": kind, "tol": 0, "max_rounds": 3000}
    res = wp.minimize_composite(G, H, batch=6, sampling="turns", **options)
    best = wp.minimize_composite(G, H, tol=1e-10).fun
    assert res.fun - best <= 1e-7


@pytest.mark.parametrize("sampling", ["turns", "shuffle"])
@pytest.mark.parametrize("batch", [5, 60])
def test_rounds_that_depend_on_each_other_settle(sampling, batch):
    """Rows that all point one way: with steps of constant length such runs do not end."""
    rng = np.random.default_rng(1)
    data = rng.random((300, 20))
    G = Logistic(data, np.sign(data @ rng.standard_normal(20) + rng.standard_normal(300)))
    H = ElasticNet(1e-4, 1e-4)
    best = wp.minimize_composite(G, H, beta="search", tol=1e-10, max_rounds=10_000).fun
    start = G.value(np.zeros(20)) - best
    options = {"sampling": sampling, "variance_reduction": True, "tol": 0}
    for beta in ("stable", "search"):
        res = wp.minimize_composite(
            G, H, batch=batch, beta=beta, max_rounds=200 * 300 // batch, **options
        )
        last = res.history["fun"][-20:] - best
        assert last.max() <= 1e-3 * start


def test_every_block_has_one_turn_in_a_pass():
    G = Logistic(A, LABELS)
    turns = Minibatches(G, 25, 3, "turns").rows
    passes = [[turns.of_round(5 * p + i, 25) for i in range(5)] for p in range(6)]
    for blocks in passes:
        rows = np.concatenate([block.rows for block in blocks])
        np.testing.assert_array_equal(np.sort(rows), np.arange(N))
    orders = {tuple(tuple(block.rows) for block in blocks) for blocks in passes}
    assert len(orders) > 3
    again = Minibatches(G, 25, 3, "turns").rows.of_round(17, 25)
    np.testing.assert_array_equal(again.rows, passes[3][2].rows)
    y = RNG.standard_normal(D)
    sums = [
        np.mean(
            [b.weights * G.minibatch_gradient(y, b.rows, np.ones(len(b.rows))) for b in blocks],
            axis=0,
        )
        for blocks in passes
    ]
    np.testing.assert_allclose(sums, np.tile(G.gradient(y), (6, 1)), atol=1e-12)


SPARSE = csr_array(np.where(RNG.random((N, D)) < 0.4, A, 0.0))


@pytest.mark.parametrize("data", [A, SPARSE, A[:, :1], csr_array((3, 4))])
@pytest.mark.parametrize("weights", [None, RNG.random(N)])
def test_bounds_on_the_smoothness(data, weights):
    G = Logistic(data, LABELS[: data.shape[0]])
    if weights is not None:
        G = Weighted(G, weights[: data.shape[0]])
    assert G.smoothness_bound() * (1 + 1e-9) >= G.L
    assert G.rough_smoothness() == pytest.approx(G.L, rel=0.1)
    for seed in range(5):
        g = np.random.default_rng(seed).standard_normal(data.shape[1])
        assert G.curvature_bound(g) <= G.L * (g @ g) * (1 + 1e-9)
        y = np.random.default_rng(seed + 9).standard_normal(data.shape[1])
        along = (G.gradient(y + 1e-4 * g) - G.gradient(y - 1e-4 * g)) @ g / 2e-4
        assert along <= G.curvature_bound(g) * (1 + 1e-6) + 1e-12


def test_rough_smoothness_of_many_columns():
    data = np.random.default_rng(0).standard_normal((700, 600))
    G = LeastSquares(data, np.ones(700))
    assert G.rough_smoothness() == pytest.approx(np.linalg.norm(data, 2) ** 2, rel=0.05)


def test_a_bound_stands_for_beta_where_noise_rules():
    G = Logistic(SPARSE, LABELS)
    H = SquaredNorm(1e-9)
    res = wp.minimize_composite(G, H, batch=1, variance_reduction=True, tol=0, max_rounds=10)
    assert res.beta == G.smoothness_bound()
    assert "spectral_norm_squared" not in vars(G), "no eigenvalue is computed"
    exact = wp.minimize_composite(
        G, SquaredNorm(1.0), batch=60, variance_reduction=True, max_rounds=3
    )
    assert exact.beta == G.L


def test_no_pace_without_noise():
    G = Logistic(A, LABELS)
    assert Minibatches(G, N, 0, "importance").largest_step() is None
    assert Minibatches(Logistic(np.zeros((4, 2)), [1, -1, 1, -1]), 2).largest_step() is None


def test_the_clock_includes_what_a_run_prepares():
    class Slow(Logistic):
        @property
        def L(self):
            time.sleep(0.2)
            return super().L

    G, H = Slow(A, LABELS), SquaredNorm(1.0)
    res = wp.minimize_composite(G, H, method="accelerated", max_rounds=1, tol=0)
    assert res.seconds >= 0.2


@pytest.mark.parametrize(
    ("n", "d", "density", "kappa", "batch"),
    [
        (60, 5, 0.4, 0.1, None),
        (200, 20, 0.3, 0.1, None),
        (60, 5, 1.0, 0.1, 10),
        (10, 40, 1, 1e-3, 9),
    ],
)
def test_fixed_blocks_of_least_squares_do_not_run_away(n, d, density, kappa, batch):
    """Nothing is spared by drawing from a fixed partition, and blocks may be small."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        data = np.where(rng.random((n, d)) < density, rng.standard_normal((n, d)), 0.0)
        targets = data.sum(axis=1) + rng.standard_normal(n)
        G = LeastSquares(csr_array(data), targets, reduction="mean")
        H = SquaredNorm(kappa * G.L)
        best = wp.minimize_composite(G, H, tol=1e-10).fun
        options = {"batch": batch, "variance_reduction": True, "max_seconds": 20}
        res = wp.minimize_composite(G, H, tol=0, max_rounds=2000, seed=seed, **options)
        start = G.value(np.zeros(d)) - best
        late = res.history["round"] >= min(0.75 * res.nit, res.nit - 4)
        assert res.history["fun"][late][-5:].max() - best <= 1e-3 * start
        assert "run away" not in res.message


def test_noise_of_blocks_is_that_of_their_real_size():
    G = Logistic(A, LABELS)
    ell = G.row_smoothness()
    assert Minibatches(G, 50, 0, "blocks").rows.noise(50) == ell / 40  # three blocks
    assert Minibatches(G, 119, 0, "turns").rows.noise(119) == ell / 60


@pytest.mark.parametrize("batch", [16, 50, 99])
def test_shuffled_rounds_that_meet_a_row_twice_keep_the_sum_of_the_table(batch):
    G, H = Logistic(A, LABELS), SquaredNorm(0.01)
    options = {"sampling": "shuffle", "variance_reduction": True, "tol": 0}
    res = wp.minimize_composite(G, H, batch=batch, max_rounds=150 * N // batch, **options)
    variate = res.state.reading.variate
    np.testing.assert_allclose(A.T @ variate.table.values, variate.gradient, atol=1e-12)
    assert res.fun - wp.minimize_composite(G, H, tol=1e-10).fun <= 1e-8


def test_a_given_beta_does_not_unbind_the_steps():
    G, H = Logistic(A, LABELS), SquaredNorm(1e-3)
    options = {"batch": 2, "variance_reduction": True, "max_rounds": 6000, "tol": 0}
    res = wp.minimize_composite(G, H, beta=G.L, **options)
    assert res.beta == G.L
    assert res.fun - wp.minimize_composite(G, H, tol=1e-10).fun <= 1e-6
