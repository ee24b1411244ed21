"""Anytime steps of many problems at once: closed forms, perturbed answers, and what they prove."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from backends import JAX, TORCH, TORCH32
from front.test_many import LOSSES, PAIRS, RADII, RHS, SETS, A, B, D, instance
from wolfpack import noise
from wolfpack.objectives.batched import batched as batched_objectives
from wolfpack.problem import Stacked
from wolfpack.sets.batched import batched
from wolfpack.solvers.batched import BatchedAnytime

objectives, sets = wp.objectives, wp.sets
RNG = np.random.default_rng(11)
MATRICES: dict[str, Any] = {
    "trace": sets.TraceNormBall((3, 4), RADII),
    "spectrahedron": sets.Spectrahedron(4, RADII),
    "at most": sets.Spectrahedron(4, 0.5, equality=False),
    "birkhoff": sets.Birkhoff(4),
}
HULLS = ("hull", "hulls")  # whose batched form is that of the weights


def together(K: Any) -> Any:
    """Return sets in their batched form."""
    if isinstance(K, sets.Box) and len(K.shape) == 2:
        K = Stacked(sets.Box, {"lower": K.lower, "upper": K.upper}, ("lower", "upper"))
    found = batched(K, B, np.zeros((B, 1)))
    assert found is not None
    return found


@pytest.mark.parametrize("options", [{}, {"m": 4}], ids=str)
@pytest.mark.parametrize(("loss", "region"), PAIRS)
def test_bounds_and_values_hold(loss: str, region: str, options: dict[str, Any]) -> None:
    f, K = LOSSES[loss], SETS[region]
    exact = wp.minimize_many(f, K, tol=1e-9)
    res = wp.minimize_many(f, K, rtol=1e-2, method="anytime", max_rounds=200, **options)
    assert "at once by 'anytime'" in res.message
    assert (res.lower_bound <= exact.fun).all()
    assert (exact.lower_bound <= res.fun + 1e-13).all()
    assert (res.gap > 0).all()
    assert res.success.mean() > 0.5 or np.median(res.gap) < 0.05
    for i in range(B):
        assert instance(K, i).contains(res.x[i])
        assert instance(f, i).value(res.x[i]) == pytest.approx(res.fun[i], abs=1e-12)


@pytest.mark.parametrize("region", MATRICES)
def test_matrices_need_no_projection(region: str) -> None:
    K = MATRICES[region]
    shape = K[0].shape if isinstance(K, Stacked) else K.shape
    M = RNG.normal(size=(B, *shape))
    M = M + M.mT if shape[0] == shape[1] else M
    f = objectives.Quadratic(1.0, M)
    exact = wp.minimize_many(f, K, tol=1e-9)
    res = wp.minimize_many(f, K, tol=1e-2, method="anytime", seed=3)
    assert "at once" in res.message
    assert res.success.all()
    assert (res.lower_bound <= exact.fun).all()
    assert (res.fun >= exact.lower_bound).all()


@pytest.mark.parametrize("region", [name for name in SETS if name not in HULLS] + [*MATRICES])
def test_answers_are_those_of_one_set(region: str) -> None:
    K = (SETS | MATRICES)[region]
    batch = together(K)
    Y = RNG.normal(size=(B, batch.dimension))
    if region == "at most":
        Y[0] = np.eye(4).reshape(-1)  # whose best point is 0
    least = batch.lowest(Y, batch.start())[0]
    V = batch.vertices(Y)
    assert (batch.violation(V) < 1e-12).all()
    found = (V * Y).sum(axis=1)
    if region == "birkhoff":  # proved by potentials, which are the best ones near solutions
        assert (least <= found + 1e-12).all()
    else:
        np.testing.assert_allclose(found, least, rtol=1e-12, atol=1e-14)
    for i in range(B):
        own = instance(K, i)
        best = np.asarray(own.lmo(Y[i].reshape(own.shape))).reshape(-1)
        assert Y[i] @ V[i] == pytest.approx(Y[i] @ best, rel=1e-12)


CLOSED = ["simplex", "box", "linf", "l1", "weighted l1"]


@pytest.mark.parametrize("law", [None, "gumbel", "logistic", noise.Gumbel(0.5)], ids=str)
@pytest.mark.parametrize("region", [*CLOSED, "product"])
def test_closed_forms_are_those_of_one_set(region: str, law: Any) -> None:
    K, batch = SETS[region], together(SETS[region])
    law = None if law is None else noise.get(law)
    if not batch.closes(law):
        assert region != "simplex" or law.name != "gumbel"
        return
    U, alpha = RNG.normal(size=(B, D)), RNG.uniform(0.1, 2.0, B)
    answers, values = batch.smoothed(U, alpha, law)
    for i in range(B):
        own = instance(K, i)
        blocks = [(own, slice(0, D))]
        if own.factors:  # each part has the noise that it has by itself
            blocks = [(own.factors[0], slice(0, 3)), (own.factors[1], slice(3, 6))]
        expected = [part.smoothed(U[i, at], alpha[i], law) for part, at in blocks]
        np.testing.assert_allclose(answers[i], np.concatenate(expected), rtol=1e-10, atol=1e-14)
        value = sum(part.smoothed_support(U[i, at], alpha[i], law) for part, at in blocks)
        assert values[i] == pytest.approx(value, rel=1e-10)
    # answers are the derivatives of the values
    step = 1e-6 * RNG.normal(size=U.shape)
    up, down = (batch.smoothed(U + sign * step, alpha, law)[1] for sign in (1.0, -1.0))
    np.testing.assert_allclose((up - down) / 2, (answers * step).sum(axis=1), rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"m": 3}, {"noise": "gaussian", "m": 2}], ids=str)
def test_no_problem_notices_its_company(options: dict[str, Any]) -> None:
    options = {"rtol": 1e-3, "method": "anytime", "seed": 5, "max_rounds": 300} | options
    K = sets.Simplex(D)
    res = wp.minimize_many(LOSSES["least squares"], K, **options)
    order = RNG.permutation(B)
    shuffled = wp.minimize_many(objectives.LeastSquares(A[order], RHS[order]), K, **options)
    assert np.array_equal(shuffled.x, res.x[order])
    assert np.array_equal(shuffled.gap, res.gap[order])
    for i in range(B):
        f = objectives.LeastSquares(A[i : i + 1], RHS[i : i + 1])
        alone = wp.minimize_many(f, K, **options)
        np.testing.assert_allclose(alone.x[0], res.x[i], rtol=1e-6, atol=1e-9)
        assert alone.nit[0] == res.nit[i]


@pytest.mark.parametrize("m", ["exact", 3])
def test_a_round_is_the_iteration_of_the_theorem(m: Any) -> None:
    K, C = sets.Simplex(D, radius=2.0), RNG.normal(size=(B, D))
    Q, k = np.arange(1.0, B + 1.0), 4  # the second derivatives are multiples of one
    model = batched_objectives(objectives.Quadratic(Q, C), B, (D,), C)
    method, region = BatchedAnytime(m, 0.7, seed=3), together(K)
    x, y, z = RNG.dirichlet(np.ones(D), (3, B))
    at = Q[:, None] * x + C
    state = method.begin(model, region, x, np.zeros(B), at)
    np.testing.assert_allclose(state.L, Q)  # measured along a step, exact for such functions
    state = state._replace(y=y, z=z, k=np.full(B, 4.0))
    found = method.advance(model, region, state, method.noises(k, region))
    tau, theta = 3 / (k + 1 + 3), 0.0 if m == "exact" else 0.5
    for i in range(B):
        v = (1 - tau) * y[i] + tau * at[i]
        alpha = 0.7 * Q[i] * wp.theory.smoothness(K, "gumbel", 1.0) * tau**2 / (1 - tau)
        if m == "exact":
            answer = K.smoothed(-v, alpha)
        else:
            alpha /= 1 - theta
            draws = noise.get("gumbel").sample(np.random.default_rng((3, k)), (m, D))
            answer = np.mean([np.asarray(K.lmo(v - alpha * draw)) for draw in draws], axis=0)
        x_next = (1 - tau) * x[i] + tau * answer
        np.testing.assert_allclose(found.x[i], x_next, rtol=1e-12)
        np.testing.assert_allclose(found.y[i], (1 - tau) * y[i] + tau * (Q[i] * x_next + C[i]))
        np.testing.assert_allclose(found.z[i], (1 - tau) * z[i] + tau * x_next)
    assert (found.k == 5.0).all()


def test_rounds_are_as_many_as_those_of_one_run() -> None:
    K = sets.Simplex(D)
    res = wp.minimize_many(LOSSES["least squares"], K, tol=1e-3, method="anytime")
    alone = [
        wp.minimize(LOSSES["least squares"][i], K, tol=1e-3, method="anytime").nit for i in range(B)
    ]
    assert res.success.all()
    assert res.nit.sum() < 2 * sum(alone)  # trials are rounds here


def test_closed_forms_gain_a_square() -> None:
    # O(1/N^2): four times the rounds, a sixteenth of the gap; sampled answers are slower
    f, K = objectives.Quadratic(1.0, RNG.normal(size=(50, 40))), sets.Simplex(40)
    gaps = [
        np.median(wp.minimize_many(f, K, tol=0.0, method="anytime", max_rounds=n).gap)
        for n in (40, 160)
    ]
    assert gaps[1] < gaps[0] / 10


def test_counts_are_what_was_asked() -> None:
    f, K = LOSSES["least squares"], sets.L2Ball(D)
    limits = {"tol": 0.0, "max_rounds": 8, "method": "anytime"}
    usual = wp.minimize_many(f, K, **limits)
    assert (usual.nlmo == 8 * 8 + 3).all()  # certificates at the start, at x and at z
    assert (wp.minimize_many(f, K, m=5, **limits).nlmo == 8 * 5 + 3).all()
    assert (wp.minimize_many(f, K, m="theory", **limits).nlmo == 36 + 3).all()
    assert (wp.minimize_many(f, SETS["l1"], **limits).nlmo == 3).all()
    few = wp.minimize_many(f, K, tol=0.0, method="anytime", m=10, max_lmo=25)
    assert set(few.status) == {wp.Status.MAX_LMO}


def test_seeds_and_laws_change_the_perturbations() -> None:
    f, K = LOSSES["least squares"], sets.L2Ball(D)
    runs = [
        wp.minimize_many(f, K, method="anytime", max_rounds=5, tol=0.0, **options)
        for options in ({}, {"seed": 1}, {"noise": "gumbel"}, {})
    ]
    assert np.array_equal(runs[0].x, runs[3].x)
    assert not np.array_equal(runs[0].x, runs[1].x)
    assert not np.array_equal(runs[0].x, runs[2].x)


def test_steps_shrink_back_into_the_domain() -> None:
    # log utility: -sum log(R x) is infinite where the returns of a portfolio are not positive
    returns = RNG.normal(0.1, 1.0, size=(B, 20, D))
    returns[:, :, 0] = 1.0  # cash

    def loss(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        worth = np.einsum("bnd,bd->bn", returns, X)
        inside = (worth > 0).all(axis=1)
        safe = np.where(worth > 0, worth, 1.0)
        values = np.where(inside, -np.log(safe).mean(axis=1), np.inf)
        return values, -np.einsum("bnd,bn->bd", returns, 1.0 / safe) / 20

    start = np.zeros((B, D))
    start[:, 0] = 1.0
    for options in ({}, {"m": 4, "noise": "gaussian"}):
        res = wp.minimize_many(
            objectives.Function(loss, convex=True),
            sets.Simplex(D),
            start,
            "anytime",
            1e-2,
            **options,
        )
        assert res.success.all()
        for i in range(B):
            f = objectives.LogUtility(returns[i])
            exact = wp.minimize(f, sets.Simplex(D), start[i], tol=1e-7)
            assert res.lower_bound[i] <= exact.fun
            assert exact.lower_bound <= res.fun[i] + 1e-12


def test_certificates_hold_in_rational_arithmetic() -> None:
    C = RNG.integers(-4, 5, (40, 2))
    f = objectives.Quadratic(1.0, C.astype(float))
    for options in ({}, {"m": 3}):
        res = wp.minimize_many(
            f, sets.Simplex(2), tol=1e-9, method="anytime", max_rounds=2000, **options
        )
        for i, (a, c) in enumerate(C.tolist()):
            t = min(max(Fraction(1 - a + c, 2), Fraction()), Fraction(1))
            least = (t * t + (1 - t) ** 2) / 2 + a * t + c * (1 - t)
            assert Fraction(res.lower_bound[i]) <= least
            assert Fraction(res.fun[i]) - least <= Fraction(res.gap[i])


def test_other_options_run_one_by_one() -> None:
    res = wp.minimize_many(LOSSES["least squares"], sets.Simplex(D), method="anytime", theta=0.2)
    assert "one by one" in res.message
    assert "option 'theta' takes one problem at a time" in res.message


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"m": 0}, "m must be an integer >= 1 or .auto. or .exact. or .theory., found 0"),
        ({"m": "some"}, "m must be .* found 'some'"),
        ({"kappa": -1.0}, "kappa must be a positive"),
        ({"noise": "nope"}, "noise must be one of gumbel"),
        ({"m": "exact"}, r"needs a closed form of the smoothed argmax, and L2Ball\(6, radius="),
        ({"m": "exact", "noise": "gumbel"}, "has none for gumbel noise"),
    ],
)
def test_mistakes_get_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence) as caught:
        wp.minimize_many(LOSSES["logistic"], SETS["l2"], method="anytime", **options)
    assert "\n" not in str(caught.value)


@pytest.mark.extras
@pytest.mark.parametrize("name", ["torch", "torch32", "jax"])
def test_other_libraries_give_the_same_answers(name: str) -> None:
    backend = {"torch": TORCH, "torch32": TORCH32, "jax": JAX}[name]
    pytest.importorskip(backend.library)
    tol = 1e-3
    with backend.active():
        f = objectives.LeastSquares(backend.array(A), backend.array(RHS))
        for region in ("simplex",) if name == "jax" else ("simplex", "product", "l1", "k-sparse"):
            K = SETS[region]
            res = wp.minimize_many(f, K, tol=tol, method="anytime")
            here = wp.minimize_many(LOSSES["least squares"], K, tol=tol, method="anytime")
            exact = wp.minimize_many(LOSSES["least squares"], K, tol=1e-9)
            assert res.success.all(), res.message
            assert (res.lower_bound <= exact.fun).all()
            if name != "torch32":
                assert (res.nit == here.nit).all()
