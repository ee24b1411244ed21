"""Every minimisation step against an independent solver, every constant against its definition."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import wolfpack as wp
from wolfpack.problem import CapabilityError
from wolfpack.regularizers import (
    BallRidge,
    BoxRidge,
    ElasticNet,
    Entropy,
    EntropyMirror,
    Euclidean,
    IndicatorRidge,
    Regularizer,
    Same,
    Shifted,
    SimplexRidge,
    SquaredNorm,
)
from wolfpack.regularizers.pairs import as_mirror, minimization_step

D = 6
MU = 0.7
LOWER = np.array([-0.5, -1.0, 0.0, 0.2, -2.0, -0.1])
UPPER = LOWER + np.array([1.0, 0.3, 0.7, 1.0, 1.5, 0.0])


def ridge(y):
    return MU / 2 * cp.sum_squares(y)


# each regulariser, and the same term and constraints for CVXPY
TERMS = {
    "squared norm": (SquaredNorm(MU), ridge, lambda y: []),
    "elastic net": (ElasticNet(0.4, MU), lambda y: 0.4 * cp.norm1(y) + ridge(y), lambda y: []),
    "box": (BoxRidge(LOWER, UPPER, MU), ridge, lambda y: [y >= LOWER, y <= UPPER]),
    "ball": (BallRidge(D, MU, radius=0.8), ridge, lambda y: [cp.norm2(y) <= 0.8]),
    "simplex": (SimplexRidge(D, MU, 2.0), ridge, lambda y: [y >= 0, cp.sum(y) == 2]),
    "entropy": (Entropy(MU), lambda y: -MU * cp.sum(cp.entr(y)), lambda y: [cp.sum(y) == 1]),
}
RNG = np.random.default_rng(5)
CENTRE = {name: RNG.dirichlet(np.ones(D)) for name in TERMS}


def mirrors(H, z0):
    """The mirror maps of H, with CVXPY's version of each."""
    yield Same(H), None
    yield Same(H, slope=z0), z0
    if isinstance(H, Entropy):
        yield EntropyMirror(), lambda y: -cp.sum(cp.entr(y))
        yield EntropyMirror(z0), lambda y: cp.sum(cp.rel_entr(y, z0))
        yield Shifted(EntropyMirror(), z0), lambda y: cp.sum(cp.rel_entr(y, z0))
    else:
        yield Euclidean(), lambda y: cp.sum_squares(y) / 2
        yield Euclidean(z0), lambda y: cp.sum_squares(y - z0) / 2
        yield Shifted(Euclidean(-z0), z0), lambda y: cp.sum_squares(y - z0) / 2


@pytest.mark.parametrize("lam", [0.0, 0.3, 25.0])
@pytest.mark.parametrize("name", TERMS)
def test_step_solves_the_minimisation_problem(name, lam):
    H, term, domain = TERMS[name]
    z0 = CENTRE[name]
    g = 2.0 * np.random.default_rng(1).standard_normal(D)
    for w, mirror in mirrors(H, z0):
        y = cp.Variable(D)
        objective = g @ y + term(y)
        if mirror is None:
            objective = objective + lam * term(y)
        elif isinstance(w, Same):
            objective = objective + lam * (term(y) - z0 @ y)
        else:
            objective = objective + lam * mirror(y)
        problem = cp.Problem(cp.Minimize(objective), domain(y))
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        found = minimization_step(H, w)(g, lam)
        np.testing.assert_allclose(found, y.value, atol=1e-4, err_msg=f"{H} {w}")
        assert np.isfinite(H.value(found))
        y.value = found
        assert objective.value <= problem.value + 1e-8


@pytest.mark.parametrize("name", TERMS)
def test_minimum_is_minus_the_conjugate(name):
    H, term, domain = TERMS[name]
    for seed in range(5):
        g = 3.0 * np.random.default_rng(seed).standard_normal(D)
        y = cp.Variable(D)
        problem = cp.Problem(cp.Minimize(g @ y + term(y)), domain(y))
        assert H.minimum(g) == pytest.approx(problem.solve(solver=cp.CLARABEL), abs=1e-6)
        y.value = H.argmin(g)
        assert H.value(y.value) == pytest.approx(float(np.asarray(term(y).value)), abs=1e-9)


@pytest.mark.parametrize("name", TERMS)
def test_strong_convexity_in_the_declared_norm(name):
    """At the minimiser of <g, y> + H the growth is at least mu/2 ||.||^2; so it is for w."""
    H = TERMS[name][0]
    rng = np.random.default_rng(2)
    order = {"l1": 1, "l2": 2}[H.norm]
    tight = np.inf
    for _ in range(200):
        g = rng.standard_normal(D) * rng.choice([0.1, 3.0])
        y = H.argmin(g)
        x = H.argmin(g + rng.standard_normal(D) * rng.choice([0.01, 1.0]))
        growth = g @ (x - y) + H.value(x) - H.value(y)
        distance = np.linalg.norm(x - y, order)
        assert growth >= MU / 2 * distance**2 - 1e-12
        if distance > 1e-3:
            tight = min(tight, growth / (MU / 2 * distance**2))
    assert tight < 1.5, "mu could be larger"


@pytest.mark.parametrize("w", [Euclidean(), Euclidean(np.full(D, 0.2)), EntropyMirror()])
def test_mirror_maps_are_strongly_convex_and_minimised_at_z0(w):
    rng = np.random.default_rng(3)
    order = {"l1": 1, "l2": 2}[w.norm]
    for _ in range(100):
        x, y = rng.dirichlet(np.ones(D), size=2)
        growth = w.value(x) - w.value(y) - w.gradient(y) @ (x - y)
        assert growth >= w.nu / 2 * np.linalg.norm(x - y, order) ** 2 - 1e-12
        shifted = Shifted(w, y)
        assert shifted.value(x) >= shifted.value(y) - 1e-12
        assert np.ptp(shifted.gradient(y)) == pytest.approx(0, abs=1e-12)
        assert w.z0 is None or w.value(w.z0) <= w.value(x)


def test_values_outside_the_domain_are_infinite():
    assert BoxRidge(LOWER, UPPER, MU).value(UPPER + 0.1) == np.inf
    assert BallRidge(D, MU).value(np.ones(D)) == np.inf
    assert SimplexRidge(D, MU).value(np.zeros(D)) == np.inf
    assert Entropy(MU).value(np.full(D, 0.5)) == np.inf
    assert Entropy(MU).value(np.array([1.0, 0.0])) == 0.0


def test_any_shape():
    G = np.random.default_rng(4).standard_normal((2, 3))
    for H in (SquaredNorm(1.0), ElasticNet(0.1, 1.0), Entropy(1.0), BallRidge((2, 3), 1.0)):
        np.testing.assert_allclose(
            H.argmin(G).ravel(), type_like(H, 6).argmin(G.ravel()), rtol=1e-14
        )


def type_like(H, n):
    return BallRidge(n, H.mu) if isinstance(H, BallRidge) else H


def test_a_missing_pair_says_what_there_is():
    with pytest.raises(CapabilityError, match=r"ElasticNet.*EntropyMirror.*Euclidean, Same\(H\)"):
        minimization_step(ElasticNet(1.0, 1.0), EntropyMirror())
    with pytest.raises(CapabilityError, match=r"Entropy\(mu=1\).*w = EntropyMirror, Same\(H\)"):
        minimization_step(Entropy(1.0), Euclidean())


def test_names_and_own_mirror_maps():
    H = SquaredNorm(2.0)
    assert isinstance(as_mirror(None, H), Euclidean)
    assert isinstance(as_mirror(None, Entropy(1.0)), EntropyMirror)
    assert as_mirror("same", H).nu == 2.0
    with pytest.raises(ValueError, match=r"'euclidean', 'entropy', 'same'.*found 'euclid'"):
        as_mirror("euclid", H)
    with pytest.raises(TypeError, match="object has no nu, z0, prox"):
        as_mirror(object(), H)


@pytest.mark.parametrize("mu", [0, -1.0, 0.0])
@pytest.mark.parametrize(
    "make",
    [
        SquaredNorm,
        Entropy,
        lambda mu: ElasticNet(1.0, mu),
        lambda mu: BallRidge(3, mu),
        lambda mu: BoxRidge(np.zeros(2), 1.0, mu),
        lambda mu: SimplexRidge(3, mu),
    ],
)
def test_no_strong_convexity_names_the_ridge(make, mu):
    with pytest.raises(ValueError, match=r"mu must be positive, found .* add a ridge"):
        make(mu)


def test_bad_parameters():
    with pytest.raises(ValueError, match="mu must be finite"):
        SquaredNorm(float("nan"))
    with pytest.raises(TypeError, match="mu must be a number, found 'big'"):
        SquaredNorm("big")
    with pytest.raises(ValueError, match=r"l1 must be at least 0, found -0.1"):
        ElasticNet(-0.1, 1.0)
    with pytest.raises(TypeError, match="K must be a set"):
        IndicatorRidge(3, 1.0)
    with pytest.raises(CapabilityError, match="no cheap projection"):
        IndicatorRidge(wp.sets.Oracle(lambda g: -np.sign(g), shape=(2,), radius=2.0), 1.0)
    with pytest.raises(ValueError, match="z0 has 1 NaN"):
        Euclidean([0.0, np.nan])
    with pytest.raises(ValueError, match="positive entries of sum 1"):
        EntropyMirror([0.5, 0.5, 0.0])


def test_an_own_regulariser_needs_only_value_and_argmin():
    class Huge(Regularizer):
        mu = 3.0

        def value(self, y):
            return 1.5 * float(y @ y)

        def argmin(self, g):
            return -g / 3.0

    g = np.array([3.0, -6.0])
    np.testing.assert_allclose(minimization_step(Huge(), Same(Huge()))(g, 1.0), [-0.5, 1.0])
    with pytest.raises(CapabilityError, match=r"w = Same\(H\)"):
        minimization_step(Huge(), Euclidean())
