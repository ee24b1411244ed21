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
    GroupLasso,
    IndicatorRidge,
    NuclearNorm,
    PNormMirror,
    Product,
    Regularizer,
    Same,
    Shifted,
    SimplexRidge,
    SparseGroupLasso,
    SquaredNorm,
    SquaredPNorm,
    TotalVariation,
)
from wolfpack.regularizers.entropy import entropic_projection
from wolfpack.regularizers.pairs import as_mirror, minimization_step
from wolfpack.regularizers.total_variation import denoise

D = 6
MU = 0.7
LOWER = np.array([-0.5, -1.0, 0.0, 0.2, -2.0, -0.1])
UPPER = LOWER + np.array([1.0, 0.3, 0.7, 1.0, 1.5, 0.0])


def ridge(y):
    return MU / 2 * cp.sum_squares(y)


GROUPS = [[0, 3], [1], [2, 4, 5]]
WEIGHTS = [1.0, 0.2, 0.7]


def group_norms(y):
    return sum(w * cp.norm2(y[group]) for w, group in zip(WEIGHTS, GROUPS, strict=True))


# each regulariser, and the same term and constraints for CVXPY
TERMS = {
    "squared norm": (SquaredNorm(MU), ridge, lambda y: []),
    "elastic net": (ElasticNet(0.4, MU), lambda y: 0.4 * cp.norm1(y) + ridge(y), lambda y: []),
    "box": (BoxRidge(LOWER, UPPER, MU), ridge, lambda y: [y >= LOWER, y <= UPPER]),
    "ball": (BallRidge(D, MU, radius=0.8), ridge, lambda y: [cp.norm2(y) <= 0.8]),
    "simplex": (SimplexRidge(D, MU, 2.0), ridge, lambda y: [y >= 0, cp.sum(y) == 2]),
    "groups": (
        GroupLasso(GROUPS, 0.9, MU, WEIGHTS),
        lambda y: 0.9 * group_norms(y) + ridge(y),
        lambda y: [],
    ),
    "sparse groups": (
        SparseGroupLasso(GROUPS, 0.4, 0.9, MU, WEIGHTS),
        lambda y: 0.4 * cp.norm1(y) + 0.9 * group_norms(y) + ridge(y),
        lambda y: [],
    ),
    "total variation": (
        TotalVariation(0.8, MU),
        lambda y: 0.8 * cp.norm1(cp.diff(y)) + ridge(y),
        lambda y: [],
    ),
    "product": (
        Product((ElasticNet(0.4, MU), 2), SimplexRidge(3, 2 * MU), (SquaredNorm(3 * MU), 1)),
        lambda y: (
            0.4 * cp.norm1(y[:2])
            + MU / 2 * (cp.sum_squares(y[:2]) + 2 * cp.sum_squares(y[2:5]) + 3 * y[5] ** 2)
        ),
        lambda y: [y[2:5] >= 0, cp.sum(y[2:5]) == 1],
    ),
    "unit simplex": (SimplexRidge(D, MU), ridge, lambda y: [y >= 0, cp.sum(y) == 1]),
    "p-norm": (SquaredPNorm(MU, 1.5), lambda y: MU * cp.pnorm(y, 1.5) ** 2, lambda y: []),
    "entropy": (Entropy(MU), lambda y: -MU * cp.sum(cp.entr(y)), lambda y: [cp.sum(y) == 1]),
}
RNG = np.random.default_rng(5)
CENTRE = {name: RNG.dirichlet(np.ones(D)) for name in TERMS}


def mirrors(H, z0):
    """The mirror maps of H, with CVXPY's version of each."""
    yield Same(H), None
    yield Same(H, slope=z0), z0
    if isinstance(H, SquaredPNorm):
        yield PNormMirror(1.5), lambda y: cp.pnorm(y, 1.5) ** 2
        return
    if isinstance(H, Entropy) or (isinstance(H, SimplexRidge) and H.radius == 1):
        yield EntropyMirror(), lambda y: -cp.sum(cp.entr(y))
        yield EntropyMirror(z0), lambda y: cp.sum(cp.rel_entr(y, z0))
        yield Shifted(EntropyMirror(), z0), lambda y: cp.sum(cp.rel_entr(y, z0))
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
    order = float(H.norm[1:])
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


PNORM = PNormMirror(1.3, np.arange(D) / 9)


@pytest.mark.parametrize("w", [Euclidean(), Euclidean(np.full(D, 0.2)), EntropyMirror(), PNORM])
def test_mirror_maps_are_strongly_convex_and_minimised_at_z0(w):
    rng = np.random.default_rng(3)
    order = float(w.norm[1:])
    for _ in range(100):
        x, y = rng.dirichlet(np.ones(D), size=2)
        growth = w.value(x) - w.value(y) - w.gradient(y) @ (x - y)
        assert growth >= w.nu / 2 * np.linalg.norm(x - y, order) ** 2 - 1e-12
        shifted = Shifted(w, y)
        assert shifted.value(x) >= shifted.value(y) - 1e-12
        if w.norm != "l1":
            np.testing.assert_allclose(shifted.gradient(y), 0, atol=1e-12)
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
    with pytest.raises(CapabilityError, match=r"SquaredPNorm.*w = PNormMirror, Same\(H\)"):
        minimization_step(SquaredPNorm(1.0), Euclidean())
    with pytest.raises(ValueError, match=r"p must be H's, 1.5, found 1.2"):
        minimization_step(SquaredPNorm(1.0), PNormMirror(1.2))(np.ones(2), 1.0)
    with pytest.raises(CapabilityError, match=r"the simplex of sum 1.*has sum 2"):
        minimization_step(SimplexRidge(3, 1.0, 2.0), EntropyMirror())(np.ones(3), 1.0)


@pytest.mark.parametrize("lam", [0.0, 0.7])
def test_nuclear_norm_against_an_sdp(lam):
    g = np.random.default_rng(3).standard_normal((3, 4))
    Y = cp.Variable((3, 4))
    term = 1.5 * cp.normNuc(Y) + (MU + lam) / 2 * cp.sum_squares(Y)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(g, Y)) + term))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9)
    found = NuclearNorm(1.5, MU).prox(g, lam)
    np.testing.assert_allclose(found, Y.value, atol=1e-5)
    assert 0 < np.linalg.matrix_rank(found, tol=1e-6) < 3
    Y.value = found
    H = NuclearNorm(1.5, MU)
    assert H.value(found) == pytest.approx(term.value - lam / 2 * (found**2).sum())
    assert H.minimum(g) == pytest.approx(float((g * H.argmin(g)).sum()) + H.value(H.argmin(g)))
    with pytest.raises(ValueError, match=r"needs y to be a matrix, found shape \(3,\)"):
        H.argmin(np.ones(3))


@pytest.mark.parametrize("t", [1e-3, 0.5, 4.0, 1e4])
def test_total_variation_satisfies_its_optimality_conditions(t):
    """y = v + D'u with |u| <= t, and u_i = t sign(y_{i+1} - y_i) wherever y jumps."""
    v = np.random.default_rng(9).standard_normal(400).cumsum()
    y = denoise(v, t)
    u = np.cumsum(y - v)
    assert abs(u[-1]) <= 1e-9
    assert abs(u[:-1]).max() <= t * (1 + 1e-9) + 1e-9
    jumps = np.diff(y)
    at = abs(jumps) > 1e-9
    np.testing.assert_allclose(u[:-1][at], t * np.sign(jumps[at]), rtol=1e-6, atol=1e-9)
    assert not at.any() if t == 1e4 else at.any()


def test_simplex_steps_with_extreme_weights():
    g = np.random.default_rng(3).standard_normal(30)
    exact = SimplexRidge(30, 1.0).argmin(g)
    for a in (1e-3, 1e-6, 1e-12):
        np.testing.assert_allclose(entropic_projection(g, a, 1.0), exact, atol=40 * a)
        np.testing.assert_allclose(
            entropic_projection(g, 1.0, a), Entropy(1.0).argmin(g), atol=2 * a
        )


def test_products_keep_the_geometry_of_each_block():
    H = Product((SquaredNorm(2.0), (2, 2)), (Entropy(1.0), 3))
    g = np.arange(7.0)
    y = minimization_step(H, as_mirror(None, H))(g, 0.5)
    np.testing.assert_allclose(y[:4], -g[:4] / 2.5)
    np.testing.assert_allclose(y[4:], Entropy(1.0).entropic_prox(g[4:], 0.5))
    assert [block.shape for block in H.split(y)] == [(2, 2), (3,)]
    np.testing.assert_array_equal(H.join(H.split(y)), y)
    assert (H.mu, H.shape, H.norm) == (1.0, (7,), "l2")
    own = Shifted(as_mirror(None, H), y)
    np.testing.assert_allclose(minimization_step(H, own)(0 * g, 1e9), y, atol=1e-6)
    for bad, message in [
        ((), "parts must be at least one"),
        ((SquaredNorm(1.0),), "does not know its shape"),
        ((3,), "must be a regulariser"),
        (((SimplexRidge(3, 1.0), 4),), r"must have shape \(3,\), found \(4,\)"),
        (((SquaredNorm(1.0), 0),), "must be at least 1"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            Product(*bad)


def test_names_and_own_mirror_maps():
    H = SquaredNorm(2.0)
    assert isinstance(as_mirror(None, H), Euclidean)
    assert isinstance(as_mirror(None, Entropy(1.0)), EntropyMirror)
    assert as_mirror("same", H).nu == 2.0
    with pytest.raises(ValueError, match=r"'entropy', 'pnorm', 'same'.*found 'euclid'"):
        as_mirror("euclid", H)
    with pytest.raises(TypeError, match="which has no nu, z0, prox"):
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
        lambda mu: GroupLasso([[0], [1]], 1.0, mu),
        lambda mu: NuclearNorm(1.0, mu),
        lambda mu: TotalVariation(1.0, mu),
        SquaredPNorm,
    ],
)
def test_no_strong_convexity_names_the_ridge(make, mu):
    with pytest.raises(ValueError, match=r"mu must be positive, found .* add a ridge"):
        make(mu)


def test_bad_parameters():
    with pytest.raises(ValueError, match="mu must be a finite number"):
        SquaredNorm(float("nan"))
    with pytest.raises(TypeError, match="mu must be a finite number, found 'big'"):
        SquaredNorm("big")
    with pytest.raises(ValueError, match=r"l1 must be a number >= 0 .*, found -0.1"):
        ElasticNet(-0.1, 1.0)
    with pytest.raises(ValueError, match=r"nuclear must be a number from 0 to .*, found -1"):
        NuclearNorm(-1, 1.0)
    with pytest.raises(ValueError, match=r"p must be a number in .1, 2., found 3"):
        SquaredPNorm(1.0, 3)
    with pytest.raises(ValueError, match="weights must be 2 numbers >= 0"):
        GroupLasso([[0], [1]], 1.0, 1.0, weights=[1.0])
    with pytest.raises(ValueError, match="needs y to be a vector"):
        TotalVariation(1.0, 1.0).argmin(np.ones((2, 2)))
    with pytest.raises(TypeError, match="K must be a set"):
        IndicatorRidge(3, 1.0)
    with pytest.raises(CapabilityError, match="K must have a cheap projection"):
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
