"""Objectives that are infinite outside a domain: designs, log utility, Poisson without a cap."""

from __future__ import annotations

import math
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from scipy.sparse import csr_array

import wolfpack as wp
from wolfpack.objectives import AOptimal, DOptimal, LogUtility, Poisson, Weighted
from wolfpack.objectives._move import on_device

RNG = np.random.default_rng(0)
V = RNG.standard_normal((15, 4))
RETURNS = np.exp(0.3 * RNG.standard_normal((20, 6)))
RETURNS[:, 0] -= 0.9  # loses more than everything in some periods
A = RNG.standard_normal((12, 5))
COUNTS = RNG.poisson(2.0, 12)
CASES = {
    "d-optimal": DOptimal(V),
    "a-optimal": AOptimal(V),
    "log utility": LogUtility(RETURNS),
    "poisson, no cap": Poisson(A, COUNTS, cap=math.inf),
}


@pytest.fixture(params=CASES)
def f(request):
    return CASES[request.param]


def points(f, count=2, seed=1):
    """Points of the simplex's interior, where all these functions are finite."""
    rng = np.random.default_rng(seed)
    found = [rng.dirichlet(np.full(f.shape[0], 2.0)) for _ in range(50 * count)]
    return [x for x in found if math.isfinite(f.value(x))][:count]


def test_gradient_against_differences(f):
    x, other = points(f)
    d, h = other - x, 1e-6
    difference = (f.value(x + h * d) - f.value(x - h * d)) / (2 * h)
    assert float(f.gradient(x) @ d) == pytest.approx(difference, rel=1e-6)


def test_hessian_products_and_the_metric_of_images_against_differences(f):
    x, other = points(f)
    d, h = other - x, 1e-5
    if f.hessian_product(x, d) is None:
        pytest.skip("no Hessian")
    difference = (f.gradient(x + h * d) - f.gradient(x - h * d)) / (2 * h)
    np.testing.assert_allclose(f.hessian_product(x, d), difference, rtol=1e-6)
    vectors = [d, x, np.eye(len(x))[1]]
    gram = [[float(u @ f.hessian_product(x, v)) for v in vectors] for u in vectors]
    metric = f.image_metric(x)
    np.testing.assert_allclose(metric([f.image(u) for u in vectors]), gram, rtol=1e-9)


def test_slopes_along_a_line(f):
    x, other = points(f)
    d = other - x
    slope = f.slope_along(x, d)
    for t in (0.0, 0.3, 1.0):
        assert slope(t) == pytest.approx(float(f.gradient(x + t * d) @ d), rel=1e-9)


def test_conjugate_bound_is_one_and_is_tight_at_a_gradient(f):
    x, other = points(f)
    first, second = f.evaluate(x), f.evaluate(other)
    exact = float(x @ first.gradient) - first.value  # f*(grad f(x)), Fenchel-Young
    assert f.conjugate_bound(first.dual) == pytest.approx(exact, abs=1e-9)
    y = 0.3 * first.gradient + 0.7 * second.gradient
    bound = f.conjugate_bound(0.3 * first.dual + 0.7 * second.dual)
    trials = [t * float(z @ y) - f.value(t * z) for z in points(f, 50, 2) for t in (0.5, 1, 2)]
    assert bound >= max(trials)
    numbers = 0.3 * f.conjugate_bound(first.dual) + 0.7 * f.conjugate_bound(second.dual)
    assert bound < numbers - 1e-6  # tighter than the averaged numbers


def test_images_give_the_same_evaluations(f):
    (x,) = points(f, 1)
    at, z = f.evaluate(x), f.image(x)
    found = f.evaluate_image(z)
    assert found.value == at.value == f.image_value(z) == pytest.approx(f.value(x))
    np.testing.assert_array_equal(found.gradient, at.gradient)
    np.testing.assert_array_equal(f.image_slopes(z), f.image_gradient(at))


@pytest.mark.parametrize("name", ["d-optimal", "a-optimal"])
def test_designs_are_infinite_where_the_information_is_singular(name):
    f = CASES[name]
    (inside,) = points(f, 1)
    three = np.where(np.arange(15) < 3, 1 / 3, 0.0)  # three candidates of dimension four
    for x in (*np.eye(15), three, -inside):
        assert f.value(x) == math.inf
        at = f.evaluate(x)
        assert at.value == math.inf
        assert f.slope_along(inside, x - inside)(1.0) == math.inf
        assert np.isnan(f.image_slopes(f.image(x))).all()
    # a sparse design is summed over its support alone
    four = np.where(np.arange(15) < 4, 0.25, 0.0)
    _, logdet = np.linalg.slogdet(V[:4].T @ V[:4] / 4)
    assert DOptimal(V).value(four) == pytest.approx(-logdet)


def test_log_utility_is_infinite_where_wealth_is_lost():
    f = CASES["log utility"]
    assert f.value(np.eye(6)[0]) == math.inf
    assert f.value(np.eye(6)[1]) == pytest.approx(-np.log(RETURNS[:, 1]).mean())
    assert f.L is None


def test_poisson_without_a_cap_is_the_exponential():
    f, x = CASES["poisson, no cap"], RNG.standard_normal(5)
    z = A @ x
    assert f.value(x) == pytest.approx((np.exp(z) - COUNTS * z).mean())
    assert (f.L, f.L1, f.within_cap(x)) == (None, None, True)
    assert f.value(1e4 * x) == math.inf
    assert Weighted(f, np.ones(12)).L is None
    with pytest.raises(ValueError, match="batch needs a smoothness constant"):
        Poisson(A, COUNTS, cap=math.inf, batch=3)


def test_a_run_says_that_its_answer_is_beyond_the_cap():
    K, low = wp.sets.L1Ball(5, 3.0), Poisson(A, COUNTS, cap=-1.0)
    res = wp.minimize(low, K, tol=1e-6)
    assert "beyond Poisson's cap" in res.message
    composite = wp.minimize_composite(low, wp.regularizers.SquaredNorm(0.1), tol=1e-4)
    assert "beyond Poisson's cap" in composite.message
    assert "beyond Poisson's cap" in Weighted(low, np.ones(12)).remark(res.x)
    full = wp.minimize(CASES["poisson, no cap"], K, tol=1e-6)
    assert full.success
    assert "cap" not in full.message
    assert full.fun == pytest.approx(wp.minimize(Poisson(A, COUNTS, cap=20.0), K, tol=1e-7).fun)


def test_a_regular_polygon_needs_equal_weights():
    angles = 2 * np.pi * np.arange(7) / 7
    f = DOptimal(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    x0 = np.array([0.4, 0.3, 0.3, 0, 0, 0, 0])
    res = wp.minimize(f, wp.sets.Simplex(7), x0, tol=1e-9)
    assert res.fun == pytest.approx(2 * math.log(2), abs=1e-9)  # M = I/2
    assert res.lower_bound <= 2 * math.log(2) + 1e-12


@pytest.mark.parametrize("method", ["auto", "away", "projected"])
def test_orthogonal_candidates_have_known_designs(method):
    sizes = np.array([1.0, 2.0, 4.0])
    K = wp.sets.Simplex(3)
    x0 = np.array([0.8, 0.1, 0.1])
    d = wp.minimize(DOptimal(np.diag(sizes)), K, x0, method, tol=1e-10)
    np.testing.assert_allclose(d.x, np.full(3, 1 / 3), atol=1e-4)
    # the variances 1/(x_i s_i^2) are smallest in the mean for x_i in proportion to 1/s_i
    a = wp.minimize(AOptimal(np.diag(sizes)), K, x0, method, tol=1e-9)
    np.testing.assert_allclose(a.x, (1 / sizes) / (1 / sizes).sum(), atol=1e-4)
    assert a.fun == pytest.approx((1 / sizes).sum() ** 2, abs=1e-8)


def test_two_assets_have_kelly_s_share():
    # cash, or a coin that wins b times the stake with probability p: the share p - (1 - p)/b
    p, b = 0.6, 1.5
    returns = np.array([[1.0, 1.0 + b]] * 6 + [[1.0, 0.0]] * 4)
    share = p - (1 - p) / b
    exact = -p * math.log(1 + b * share) - (1 - p) * math.log(1 - share)
    for method in ("auto", "fw-ls", "anytime"):
        res = wp.minimize(LogUtility(returns), wp.sets.Simplex(2), method=method, tol=1e-7)
        assert res.success
        assert res.x[1] == pytest.approx(share, abs=1e-3)
        assert res.lower_bound <= exact <= res.fun + 1e-12


@pytest.mark.parametrize("name", ["d-optimal", "a-optimal", "log utility"])
def test_minimum_against_an_independent_solver(name):
    f = CASES[name]
    x = cp.Variable(f.shape[0], nonneg=True)
    M = V.T @ cp.diag(x) @ V if name != "log utility" else None
    formula = {
        "d-optimal": lambda: -cp.log_det(M),
        "a-optimal": lambda: cp.tr_inv(M),
        "log utility": lambda: -cp.sum(cp.log(RETURNS @ x)) / 20,
    }[name]()
    problem = cp.Problem(cp.Minimize(formula), [cp.sum(x) == 1])
    problem.solve(solver=cp.CLARABEL)
    res = wp.minimize(f, wp.sets.Simplex(f.shape[0]), tol=1e-8)
    assert res.success
    assert res.fun == pytest.approx(problem.value, abs=1e-5)
    assert res.lower_bound <= problem.value + 1e-6


def test_auto_takes_newton_steps_where_there_is_no_L():
    K = wp.sets.Simplex(15)
    choice = wp.explain(DOptimal(V), K)
    assert (choice.method, choice.options) == ("corrective", {"m": 64})
    assert "Newton" in choice.reason
    assert wp.explain(DOptimal(V), wp.sets.L2Ball(15)).method == "projected"


def test_designs_move_to_tensors_and_resume(tmp_path):
    torch = pytest.importorskip("torch")
    f, (x,) = DOptimal(V), points(DOptimal(V), 1)
    there = on_device(f, "cpu")
    np.testing.assert_allclose(there.gradient(torch.asarray(x)).numpy(), f.gradient(x))
    assert there.value(torch.asarray(np.eye(15)[0])) == math.inf
    K, path = wp.sets.Simplex(15), tmp_path / "run.ckpt"
    whole = wp.minimize(f, K, method="away", tol=0, max_rounds=8)
    wp.minimize(f, K, method="away", tol=0, max_rounds=4, checkpoint=path)
    res = wp.resume(path, f, K, max_rounds=8)
    np.testing.assert_array_equal(res.x, whole.x)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: DOptimal(np.eye(3)[0]), ValueError, "V must be a matrix"),
        (lambda: DOptimal(V * np.nan), ValueError, "V has .* NaN"),
        (lambda: AOptimal(csr_array(V)), TypeError, "V must be a dense .* found csr_array"),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_half_precision_is_refused():
    torch = pytest.importorskip("torch")
    narrow = torch.ones((3, 2), dtype=torch.bfloat16)
    with pytest.raises(TypeError, match="returns must be float32 or float64"):
        LogUtility(narrow)
    with pytest.raises(TypeError, match="V must be a dense float32 or float64"):
        DOptimal(narrow)


def exact_information(V, x):
    """Return M(x) in rational numbers."""
    rows = [[Fraction(float(entry)) for entry in row] for row in V]
    size = len(rows[0])
    weights = [Fraction(float(entry)) for entry in x]
    return [
        [sum(w * v[i] * v[j] for w, v in zip(weights, rows, strict=True)) for j in range(size)]
        for i in range(size)
    ]


def exact_determinant(M):
    """Return the determinant by elimination, exact for rational numbers."""
    M, found = [row[:] for row in M], Fraction(1)
    for i in range(len(M)):
        found *= M[i][i]
        for below in M[i + 1 :]:
            factor = below[i] / M[i][i]
            below[:] = [a - factor * b for a, b in zip(below, M[i], strict=True)]
    return found


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(4))
def test_rounding_errors_of_designs_are_within_their_bounds(seed, dtype):
    rng = np.random.default_rng(seed)
    # columns of sizes 1 to 1e-4 make the information matrix ill-conditioned
    V = (rng.standard_normal((30, 3)) * [1.0, 1e-1 if dtype == np.float32 else 1e-4, 1.0]).astype(
        dtype
    )
    f, K = DOptimal(V), wp.sets.Simplex(30)
    x = rng.dirichlet(np.ones(30)).astype(dtype)
    at, determinant = f.evaluate(x), exact_determinant(exact_information(V, x))
    exact = -(math.log(determinant.numerator) - math.log(determinant.denominator))
    bound = f.value_error(x, at, K)
    assert abs(at.value - exact) <= bound <= 1e-2
    # the affine function is below f at another point, up to its error
    below = f.minorant(at.dual, at.gradient, K)
    other = rng.dirichlet(np.ones(30)).astype(dtype)
    determinant = exact_determinant(exact_information(V, other))
    value = -(math.log(determinant.numerator) - math.log(determinant.denominator))
    assert below.level + float(other.astype(float) @ at.gradient) - below.error <= value
