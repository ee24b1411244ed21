"""Theorem A1: its sums, its asymptotics, and its proof followed step by step on a small problem."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from wolfpack import theory

UNIT = {"L": 2.0, "R": 0.5, "M": 3.0, "s1": 4.0, "initial_gap": 7.0}


def brute_force(N, m, theta, order):
    """The right-hand side of Theorem A1, term by term with Python loops."""
    L, R, M, s1, gap = UNIT.values()

    def A(k):
        return math.comb(k + order - 1, order)

    total = 0.0
    for k in range(1, N):
        a = A(k + 1) - A(k)
        tau = a / A(k + 1)
        alpha = L * R * M * tau**2 / ((1 - theta) * (1 - tau))
        if k == 1:
            total += A(1) * (gap + alpha * s1)
        total += a * alpha * s1
        if theta > 0:
            total += a**2 * L * R**2 / m(k) / (2 * theta * A(k))
    return total / A(N)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize(
    ("m", "theta"), [("exact", 0.0), (lambda k: 1.0 + 0 * k, 0.3), (lambda k: 2.0 * k, 0.5)]
)
def test_sums_term_by_term(m, theta, order):
    N = np.array([2, 3, 10, 57])
    bound = theory.bound_anytime(N, **UNIT, m=m, theta=theta, order=order)
    np.testing.assert_allclose(bound, [brute_force(n, m, theta, order) for n in N], rtol=1e-12)


def test_first_iterate():
    alpha_1 = theory.anytime_alpha(1, 2.0, 0.5, 3.0, theta=0.5)
    assert alpha_1 == pytest.approx(3.0 * (3 / 4) ** 2 / (0.5 * (1 / 4)))
    assert theory.bound_anytime(1, **UNIT) == pytest.approx(7.0 + 4.0 * alpha_1)


def test_asymptotic_constants():
    N = 10**6
    L, R, M, s1, _ = UNIT.values()
    exact = theory.bound_anytime(N, **UNIT, m="exact")
    assert exact * N**2 == pytest.approx(27 * L * R * M * s1, rel=1e-4)
    grown = theory.bound_anytime(N, **UNIT, m=lambda k: 3 * k, theta=0.25)
    expected = 27 * L * R * M * s1 / 0.75 + 4.5 * L * R**2 / (0.25 * 3)
    assert grown * N**2 == pytest.approx(expected, rel=1e-4)
    one = theory.bound_anytime(N, **UNIT, m=1, theta=0.25)
    assert one * N == pytest.approx(2.25 * L * R**2 / 0.25, rel=1e-2)
    at = np.array([10**4, 10**6])
    second = theory.bound_anytime(at, **UNIT, m="exact", order=2)
    slope = np.diff(second * at**2.0) / math.log(100)
    assert slope == pytest.approx(8 * L * R * M * s1, rel=1e-2)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("theta", [0.0, 0.5])
def test_alpha_meets_the_condition_with_equality(order, theta):
    k = np.arange(1, 200)
    tau = order / (k + order)
    beta = 0.5 * 3.0 / theory.anytime_alpha(k, 2.0, 0.5, 3.0, theta=theta, order=order)
    rho = theta / 2.0 * (1 - tau) / tau
    np.testing.assert_allclose(beta * tau**2 + rho * tau, (1 - tau) / 2.0, rtol=1e-12)
    assert np.all(np.diff(1 / beta) < 0)


class LeastSquares:
    """(1/2)||Ax - b||^2 over the simplex, with its conjugate and the closed form of s_alpha."""

    def __init__(self, n=30, d=10, seed=0):
        rng = np.random.default_rng(seed)
        self.A = rng.standard_normal((n, d))
        x = rng.random(d)
        self.b = self.A @ (1.5 * x / x.sum())
        self.Q, self.q = self.A.T @ self.A, self.A.T @ self.b
        self.L = float(np.linalg.eigvalsh(self.Q)[-1])
        self.d = d

    def value(self, x):
        return 0.5 * np.sum((self.A @ x - self.b) ** 2)

    def gradient(self, x):
        return self.Q @ x - self.q

    def conjugate(self, y):
        return 0.5 * (y + self.q) @ np.linalg.solve(self.Q, y + self.q) - 0.5 * self.b @ self.b


def run(f, rounds, theta, m, rng, shrink=1.0):
    """The method of Theorem A1 on the simplex; yields what the proof speaks of."""
    x = np.full(f.d, 1 / f.d)
    z = f.gradient(x)
    y, phi, A_k = z, x @ z - f.value(x), 1.0
    for k in range(1, rounds):
        tau = 3 / (k + 3)
        alpha = shrink * theory.anytime_alpha(k, f.L, 1.0, 0.5, theta=theta)
        v = (1 - tau) * y + tau * z
        p = softmax(-v / alpha)
        answer = p if m is None else rng.multinomial(m(k), p) / m(k)
        x_next = (1 - tau) * x + tau * answer
        z_next = f.gradient(x_next)
        y_next = (1 - tau) * y + tau * z_next
        phi = (1 - tau) * phi + tau * (x_next @ z_next - f.value(x_next))
        yield {
            "alpha": alpha, "A": A_k, "tau": tau, "v": v, "p": p, "phi": phi,
            "old": (x, y, z), "new": (x_next, y_next, z_next),
        }  # fmt: skip
        x, y, z, A_k = x_next, y_next, z_next, A_k / (1 - tau)


def potential_change(f, s):
    """Phi_{k+1} - Phi_k for the potential of the proof, both with the smoothing of round k."""

    def G(y):
        return s["alpha"] * logsumexp(-y / s["alpha"])

    A_next = s["A"] / (1 - s["tau"])
    added = (A_next - s["A"]) * (G(s["v"]) + s["p"] @ s["v"])
    (x, y, _), (x_next, y_next, _) = s["old"], s["new"]
    after = A_next * (G(y_next) + f.conjugate(y_next) + f.value(x_next))
    return after - s["A"] * (G(y) + f.conjugate(y) + f.value(x)) - added


def step_test(f, s):
    """(1 - tau) (D_f(x_k, x_{k+1}) + D_G(y_k, v_k)) - D_G(y_{k+1}, v_k) of Proposition A2."""

    def bregman_G(y):
        g = [s["alpha"] * logsumexp(-u / s["alpha"]) for u in (y, s["v"])]
        return g[0] - g[1] + s["p"] @ (y - s["v"])

    (x, y, _), (x_next, y_next, z_next) = s["old"], s["new"]
    bregman_f = f.value(x) - f.value(x_next) - z_next @ (x - x_next)
    return (1 - s["tau"]) * (bregman_f + bregman_G(y)) - bregman_G(y_next)


def test_potential_decreases_at_every_step_with_exact_smoothing():
    f = LeastSquares()
    for s in run(f, 300, 0.0, None, None):
        assert potential_change(f, s) <= 1e-9 * s["A"]
        assert step_test(f, s) >= -1e-12


def test_step_test_detects_a_smoothing_that_is_too_small():
    f = LeastSquares()
    steps = list(run(f, 100, 0.0, None, None, shrink=0.01))
    failed = [step_test(f, s) < -1e-12 for s in steps]
    assert any(failed)
    # whenever the test passes the potential decreases, whatever the smoothing
    for s, bad in zip(steps, failed, strict=True):
        assert bad or potential_change(f, s) <= 1e-9 * s["A"]


def test_doubling_needs_no_constant():
    # Corollary A3: alpha_k = 9 kappa / (k (k+3)), kappa doubled whenever the step test fails
    f = LeastSquares()
    kappa, rounds, failures = 1e-6, 200, 0
    x = np.full(f.d, 1 / f.d)
    z = f.gradient(x)
    gap_1 = x @ z - z.min()
    y, phi = z, x @ z - f.value(x)
    for k in range(1, rounds):
        tau = 3 / (k + 3)
        v = (1 - tau) * y + tau * z
        while True:
            alpha = 9 * kappa / (k * (k + 3))
            p = softmax(-v / alpha)
            x_next = (1 - tau) * x + tau * p
            z_next = f.gradient(x_next)
            y_next = (1 - tau) * y + tau * z_next
            step = {"alpha": alpha, "tau": tau, "v": v, "p": p}
            step |= {"old": (x, y, z), "new": (x_next, y_next, z_next)}
            if step_test(f, step) >= -1e-13:
                break
            kappa, failures = 2 * kappa, failures + 1
        x, y, z = x_next, y_next, z_next
        phi = (1 - tau) * phi + tau * (x @ z - f.value(x))
    assert kappa <= 2 * f.L * 0.5
    assert failures == round(math.log2(kappa / 1e-6))
    cubic = rounds * (rounds + 1) * (rounds + 2)
    bound = 6 * gap_1 / cubic + 36 * 2 * f.L * 0.5 * math.log(f.d) / (rounds * (rounds + 1))
    assert 0 <= f.value(x) + phi - y.min() <= bound


def doubled_kappa(A, loss, slope, x, rounds, kappa=1e-9):
    """Corollary A3 on the simplex for loss(A x): the last kappa, and the least A x that was met."""
    z = A.T @ slope(A @ x)
    y, least = z, A @ x
    for k in range(1, rounds):
        tau = 3 / (k + 3)
        v = (1 - tau) * y + tau * z
        while True:
            alpha = 9 * kappa / (k * (k + 3))
            p = softmax(-v / alpha)
            x_next = (1 - tau) * x + tau * p
            least = np.minimum(least, A @ x_next)
            z_next = A.T @ slope(A @ x_next)
            y_next = (1 - tau) * y + tau * z_next
            step = {"alpha": alpha, "tau": tau, "v": v, "p": p}
            step |= {"old": (x, y, z), "new": (x_next, y_next, z_next)}
            f = type("f", (), {"value": staticmethod(lambda x: loss(A @ x))})
            if step_test(f, step) >= -1e-14 * abs(v).max():
                break
            kappa *= 2
        x, y, z = x_next, y_next, z_next
    return kappa, least


@pytest.mark.parametrize("d", [20, 400])
def test_kappa_is_bounded_by_the_best_norm_and_not_by_the_dimension(d):
    # columns that nearly agree: the Euclidean L B grows with d, the affine one does not
    rng = np.random.default_rng(0)
    A = 3.0 + 0.2 * rng.standard_normal((15, d))
    b = A @ rng.dirichlet(np.ones(d)) + 0.1 * rng.standard_normal(15)
    best = theory.affine_curvature(A.T)
    x = np.eye(d)[0]
    kappa, _ = doubled_kappa(A, lambda t: 0.5 * np.sum((t - b) ** 2), lambda t: t - b, x, 120)
    assert kappa <= 2 * best
    assert kappa >= best / 100
    euclidean = 0.5 * np.linalg.norm(A, 2) ** 2
    assert best < (0.05 if d == 20 else 0.005) * euclidean
    assert best == pytest.approx(
        0.25 * max(np.sum((a - c) ** 2) for a in A.T for c in A.T), rel=1e-9
    )


def test_kappa_of_a_logarithmic_loss_is_bounded_by_its_curvature_on_the_way():
    # f(x) = -sum log(<a_i, x>) has no L on the simplex; the curvature is that of the iterates
    rng = np.random.default_rng(3)
    A = 0.02 + rng.random((12, 30)) ** 4
    x = np.full(30, 1 / 30)
    kappa, least = doubled_kappa(A, lambda t: -np.sum(np.log(t)), lambda t: -1 / t, x, 150)
    on_the_way = theory.affine_curvature(A.T / least)
    anywhere = theory.affine_curvature(A.T / A.min(axis=1))
    assert kappa <= 2 * on_the_way
    assert on_the_way < 0.05 * anywhere


@pytest.mark.parametrize(("factor", "passes"), [(0.97, False), (1.03, True)])
def test_the_affine_curvature_is_the_threshold_of_the_step_test(factor, passes):
    # two vertices and a small step near the middle: every inequality of the proof is an equality
    A = np.array([[1.0, 3.0], [2.0, 0.5]])
    kappa = factor * theory.affine_curvature(A.T)
    x = np.array([0.5 + 1e-3, 0.5 - 1e-3])
    b = A @ np.array([0.5, 0.5])
    z = A.T @ (A @ x - b)
    tau, alpha = 3 / 4, 9 * kappa / 4
    p = softmax(-z / alpha)
    x_next = (1 - tau) * x + tau * p
    z_next = A.T @ (A @ x_next - b)
    step = {"alpha": alpha, "tau": tau, "v": z, "p": p}
    step |= {"old": (x, z, z), "new": (x_next, (1 - tau) * z + tau * z_next, z_next)}
    f = type("f", (), {"value": staticmethod(lambda x: 0.5 * np.sum((A @ x - b) ** 2))})
    assert (step_test(f, step) > 0) == passes


def test_affine_curvature_arguments():
    rng = np.random.default_rng(0)
    images = rng.standard_normal((600, 3))  # more rows than a block of distances
    widest = max(np.sum((images - row) ** 2, axis=1).max() for row in images)
    assert theory.affine_curvature(images, L=3.0) == pytest.approx(0.75 * widest, rel=1e-12)
    for bad, said in ((images[0], "a finite table"), (np.full((2, 2), np.nan), "has 4 NaN")):
        with pytest.raises(ValueError, match=said):
            theory.affine_curvature(bad)


def certified_gaps(f, steps):
    """f(x) + phi + s(-y), the gap of the certificate, after every step."""
    return np.array([f.value(s["new"][0]) + s["phi"] - s["new"][1].min() for s in steps])


@pytest.mark.parametrize(
    ("m", "theta", "seeds"), [(None, 0.0, 1), (lambda k: int(k), 0.5, 20), (lambda k: 1, 0.5, 20)]
)
def test_mean_certified_gap_is_below_the_bound(m, theta, seeds):
    f = LeastSquares()
    runs = [run(f, 200, theta, m, np.random.default_rng(seed)) for seed in range(seeds)]
    mean = np.mean([certified_gaps(f, steps) for steps in runs], axis=0)
    x = np.full(f.d, 1 / f.d)
    z = f.gradient(x)
    bound = theory.bound_anytime(
        np.arange(2, 201), L=f.L, R=1.0, M=0.5, s1=math.log(f.d), initial_gap=x @ z - z.min(),
        m="exact" if m is None else np.vectorize(m), theta=theta,
    )  # fmt: skip
    assert np.all(mean >= 0)
    assert np.all(mean <= bound)


def test_certificate_is_above_the_exact_gap_and_above_zero():
    f = LeastSquares()
    for s in run(f, 100, 0.5, lambda k: 1, np.random.default_rng(0)):
        assert s["phi"] >= f.conjugate(s["new"][1]) - 1e-9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"N": 0}, "N must be an integer .* >= 1"),
        ({"theta": 1.0}, "theta must be a number in .0, 1"),
        ({"theta": 0.0}, "theta must be positive unless m='exact'"),
        ({"m": "auto"}, "m must be 'exact', found 'auto'"),
        ({"m": 0.5}, "m must be at least 1 in every round, found 0.5"),
        ({"m": lambda k: k - 1}, "m must be at least 1 in every round, found"),
        ({"order": 4}, "order must be 2 or 3, found 4"),
        ({"L": -1.0}, "L must be a positive finite number"),
        ({"initial_gap": -1.0}, "initial_gap must be"),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        theory.bound_anytime(**{"N": 5, **UNIT} | change)
