"""A beta that is searched: Theorem C3 along runs, what it saves, and where it stays honest."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import wolfpack as wp
from wolfpack import theory
from wolfpack.gradients.exact import ExactGradients
from wolfpack.gradients.minibatches import Minibatches
from wolfpack.regularizers import (
    BoxRidge,
    ElasticNet,
    Entropy,
    SimplexRidge,
    SquaredNorm,
    SquaredPNorm,
)
from wolfpack.regularizers.mirrors import Euclidean
from wolfpack.regularizers.pairs import composite_problem

N, D = 60, 6
RNG = np.random.default_rng(5)
A = RNG.standard_normal((N, D)) * np.array([1.0, 3.0, 0.3, 1.0, 2.0, 1.0])
B = A @ np.array([2.0, -1.0, 0.0, 1.0, 0.0, 1.0]) + 0.1 * RNG.standard_normal(N)
LOGISTIC = wp.objectives.Logistic(A, np.sign(B))
LEAST_SQUARES = wp.objectives.LeastSquares(A, B, reduction="mean")
PROBLEMS = {
    "ridge": (LOGISTIC, SquaredNorm(1e-3)),
    "elastic net": (LOGISTIC, ElasticNet(0.01, 1e-3)),
    "least squares": (LEAST_SQUARES, SquaredNorm(1e-2)),
    "simplex": (LEAST_SQUARES, SimplexRidge(D, 0.01)),
    "entropy": (LEAST_SQUARES, Entropy(0.05)),
    "p-norm": (LOGISTIC, SquaredPNorm(0.01, 1.5)),
    "callable": (LOGISTIC.value_and_gradient, SquaredNorm(1e-3)),
}


def searched(G, H, **options):
    """Return the result and the states of a run."""
    states = []
    res = wp.minimize_composite(
        G,
        H,
        None if isinstance(G, wp.objectives.Logistic | wp.objectives.LeastSquares) else np.zeros(D),
        beta="search",
        callback=lambda at: states.append(at.state),
        **{"record_every": 1, **options},
    )
    return res, states


def divergence(H, y, y0):
    """D_w(y, y0) in H's own geometry."""
    if isinstance(H, Entropy):
        return float((y * np.log(y / y0)).sum())
    if isinstance(H, SquaredPNorm):
        return wp.regularizers.PNormMirror(1.5).value(y)  # y0 = 0
    return 0.5 * float((y - y0) @ (y - y0))


@pytest.mark.parametrize("name", PROBLEMS)
def test_theorem_c3_holds_along_the_run(name):
    G, H = PROBLEMS[name]
    res, states = searched(G, H, tol=1e-10, max_rounds=3000)
    assert res.success
    assert res.gap <= 1e-10
    gamma, start, rounds = states[0].tuned.beta, states[0].x, 0
    for last, now in pairwise(states):
        assert now.model.slack >= 0
        if now.model.A_k == 0.0:  # restarted: the theorem begins anew there
            break
        assert now.model.A_k > last.model.A_k
        bound = gamma * divergence(H, res.x, start) / now.model.A_k
        assert now.at.value - res.fun <= bound * (1 + 1e-9) + 1e-10
        rounds += 1
    assert rounds > 3


@pytest.mark.parametrize("name", ["ridge", "elastic net", "entropy"])
def test_a_searched_beta_saves_passes(name):
    G, H = PROBLEMS[name]
    res, _ = searched(G, H, tol=1e-8)
    plain = wp.minimize_composite(G, H, method="accelerated", tol=1e-8)
    assert res.success
    assert plain.success
    assert res.passes < 0.6 * plain.passes
    assert res.beta < 1.01 * G.L
    assert abs(res.fun - plain.fun) <= 2e-8


def test_rounds_are_those_of_algorithm_1_with_their_own_betas():
    """Each accepted round solves the equation of the weights and the displayed updates."""
    G, H = PROBLEMS["elastic net"]
    _, states = searched(G, H, max_rounds=12, tol=0)
    gamma = states[0].tuned.gamma
    for last, now in pairwise(states):
        a = now.model.A_k - last.model.A_k
        if a <= 0:
            break
        tau = a / now.model.A_k
        beta = now.model.A_k * (H.mu * last.model.A_k + gamma) / a**2
        v = (1 - tau) * last.x + tau * last.z
        d = last.model.A_k * last.model.d + a * G.gradient(v)
        z = H.prox(d / now.model.A_k, gamma / now.model.A_k)
        np.testing.assert_allclose(now.z, z, atol=1e-8)
        np.testing.assert_allclose(now.x, (1 - tau) * last.x + tau * z, atol=1e-8)
        np.testing.assert_allclose(now.images.y, A @ now.x, atol=1e-10)
        excess = G.value(now.x) - G.value(v) - G.gradient(v) @ (now.x - v)
        saved = (1 - tau) * last.model.slack + 0.5 * beta * np.sum((now.x - v) ** 2) - excess
        assert now.model.slack == pytest.approx(saved, abs=1e-9)


@pytest.mark.parametrize("name", ["logistic", "huber"])
def test_rounds_that_do_not_move_shorten_none(name):
    # every coordinate ends at a bound, where z stays while y is still on its way
    G = {"logistic": LOGISTIC, "huber": wp.objectives.Huber(A, B + 50.0, 0.5)}[name]
    H = BoxRidge(np.full(D, -0.01), 0.01, 1e-3)
    res, states = searched(G, H, tol=1e-12, max_rounds=200)
    assert res.success
    assert max(state.tuned.beta for state in states) <= 1.5 * G.L
    assert res.nit < 60


@pytest.mark.parametrize(("batch", "mu"), [(5, 1e-3), (50, 0.03)])
def test_steps_of_batches_keep_to_the_pace(batch, mu):
    G, H = LOGISTIC, SquaredNorm(mu)
    options = {
        "batch": batch,
        "variance_reduction": True,
        "tol": 0.0,
        "max_rounds": 30_000 // batch,
    }
    options["sampling"] = "importance"
    res, states = searched(G, H, record_every=1, **options)
    pace = Minibatches(G, batch, 0, "importance").largest_step()
    steps = [
        (now.model.A_k - last.model.A_k) / (H.mu * last.model.A_k + G.L)
        for last, now in pairwise(states)
        if now.model.A_k > last.model.A_k
    ]
    assert max(steps) <= pace * (1 + 1e-12)
    if batch == 5:  # noise sets the pace, and there is nothing to search
        assert steps[50] == pytest.approx(pace)
        assert states[-1].tuned.beta == G.L
    else:
        assert min(state.tuned.beta for state in states) < 0.8 * G.L
    best = wp.minimize_composite(G, H, tol=1e-11, max_rounds=20_000).fun
    assert res.fun - best <= 1e-6


def test_a_search_begins_with_the_curvature_along_the_gradient():
    G, H = PROBLEMS["ridge"]
    _, states = searched(G, H, max_rounds=3, tol=0)
    g = A.T @ G.evaluate(np.zeros(D)).dual
    assert states[0].tuned.beta == pytest.approx(G.loss_smoothness * np.sum((A @ g) ** 2) / (g @ g))
    assert states[0].tuned.beta <= G.L
    assert states[0].reading.rows == N // 2
    assert states[1].reading.rows == N  # the first half of the round was read already
    assert "L" not in vars(G), "no eigenvalue is computed"


@pytest.mark.parametrize("batch", [None, 90])
def test_runs_begin_anew_only_where_structure_can_be_found(batch):
    rng = np.random.default_rng(5)
    data = rng.standard_normal((100, 30)) * np.geomspace(1, 0.05, 30)
    G = wp.objectives.LeastSquares(
        data, data @ (rng.random(30) < 0.2), batch=batch, reduction="mean"
    )
    options = {"variance_reduction": batch is not None, "tol": 1e-7, "max_rounds": 4000}
    for H in (ElasticNet(1e-3, 1e-4), SquaredNorm(1e-4)):
        res, states = searched(G, H, **options)
        anew = np.diff([state.model.A_k for state in states]) <= 0
        assert anew.any() == isinstance(H, ElasticNet)
        assert res.success


def test_noise_of_unknown_origin_cannot_be_searched():
    for G in (
        lambda y, rng: y + rng.standard_normal(D),
        wp.objectives.Batches("huber", [(A, B)]),
    ):
        with pytest.raises(TypeError, match="beta='search' needs exact gradients or a finite sum"):
            wp.minimize_composite(G, SquaredNorm(1.0), np.zeros(D), beta="search")


def test_all_rows_are_exact():
    G, H = PROBLEMS["ridge"]
    whole, _ = searched(G, H, tol=1e-8)
    batch, _ = searched(G, H, tol=1e-8, batch=N)
    np.testing.assert_array_equal(batch.x, whole.x)


@pytest.mark.parametrize("A_k", [0.0, 1e-3, 1.0, 1e6])
def test_weights_without_noise(A_k):
    beta, mu, nu = 3.0, 0.01, 0.7
    A_next, tau = theory.next_weight(A_k, beta, mu, nu, exact=True)
    assert beta * (A_next - A_k) ** 2 == pytest.approx(A_next * (mu * A_k + beta * nu), rel=1e-10)
    assert tau == pytest.approx(1 - A_k / A_next)
    assert A_next > theory.next_weight(A_k, beta, mu, nu)[0]


def test_a_failed_round_is_repeated_with_half_as_much_again():
    # one feature: the curvature is the same number c everywhere
    data = np.array([[1.0], [2.0]])
    G, H = wp.objectives.LeastSquares(data, np.array([1.0, 3.0])), SquaredNorm(0.1)
    c = 5.0
    problem = composite_problem(G, H, Euclidean(np.zeros(1)))
    solver = wp.solvers.SearchedComposite()
    gradients = ExactGradients(G)
    state = solver.init(problem, np.zeros(1), gradients)
    assert state.tuned.beta == pytest.approx(c)
    for beta, accepted in ((1.01 * c, 1.01 * c), (0.95 * c, 1.5 * 0.95 * c), (0.1 * c, 1.1 * c)):
        tried = state._replace(tuned=state.tuned._replace(beta=beta))
        following = solver.step(problem, tried, gradients)
        # A_1 = gamma nu / beta for the beta that was accepted
        assert state.tuned.gamma / following.model.A_k == pytest.approx(accepted)
        assert following.tuned.beta == pytest.approx(max(1.05 * c, 0.5 * accepted))


def test_a_beta_searched_from_batches_is_half_as_large_again_as_their_curvature():
    data = np.ones((40, 1)) * np.random.default_rng(0).choice([-2.0, 2.0], (40, 1))
    G = wp.objectives.LeastSquares(data, np.arange(40.0), reduction="mean")
    res, states = searched(G, SquaredNorm(1.0), batch=2, tol=0, max_rounds=60)
    assert res.beta == pytest.approx(1.5 * 4.0)
    assert states[-1].tuned.beta == pytest.approx(1.5 * 4.0)
