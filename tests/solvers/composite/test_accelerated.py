"""Algorithm 1: as printed, certified, repeatable, and clear about bad input."""

from __future__ import annotations

import math

import cvxpy as cp
import numpy as np
import pytest

import wolfpack as wp
from wolfpack.loop.monitor import ConvexityWarning, SmoothnessWarning
from wolfpack.problem import CapabilityError
from wolfpack.regularizers import (
    BallRidge,
    BoxRidge,
    ElasticNet,
    Entropy,
    EntropyMirror,
    Euclidean,
    Same,
    Shifted,
    SimplexRidge,
    SquaredNorm,
)

N, D, MU = 40, 6, 0.05
RNG = np.random.default_rng(7)
A = RNG.standard_normal((N, D)) / np.sqrt(N)
B = A @ RNG.standard_normal(D) + 0.1 * RNG.standard_normal(N)
LABELS = np.sign(A @ RNG.standard_normal(D) + 0.05 * RNG.standard_normal(N))
FEATURES = 3 * math.sqrt(N) * A

SMOOTH = {
    "least squares": (
        lambda batch=None: wp.objectives.LeastSquares(A, B, batch),
        lambda y: cp.sum_squares(A @ y - B) / 2,
    ),
    "logistic": (
        lambda batch=None: wp.objectives.Logistic(FEATURES, LABELS, batch=batch),
        lambda y: cp.sum(cp.logistic(cp.multiply(-LABELS, FEATURES @ y))) / N,
    ),
}
SIMPLE = {
    "ridge": (SquaredNorm(MU), lambda y: 0.0, lambda y: []),
    "elastic net": (ElasticNet(0.03, MU), lambda y: 0.03 * cp.norm1(y), lambda y: []),
    "box": (BoxRidge(np.full(D, -0.2), 0.3, MU), lambda y: 0.0, lambda y: [y >= -0.2, y <= 0.3]),
    "ball": (BallRidge(D, MU, 0.5), lambda y: 0.0, lambda y: [cp.norm2(y) <= 0.5]),
    "simplex": (SimplexRidge(D, MU), lambda y: 0.0, lambda y: [y >= 0, cp.sum(y) == 1]),
    "entropy": (Entropy(MU), None, lambda y: [cp.sum(y) == 1]),
}


def independent_minimum(smooth, simple):
    y = cp.Variable(D)
    _, rest, domain = SIMPLE[simple]
    ridge = cp.sum_squares(y) * MU / 2
    term = -MU * cp.sum(cp.entr(y)) if rest is None else rest(y) + ridge
    problem = cp.Problem(cp.Minimize(SMOOTH[smooth][1](y) + term), domain(y))
    return problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9), y.value


def printed_algorithm(G, H, y0, beta, mu, nu, rounds):
    """Algorithm 1 as the paper prints it, with w = ||y - y0||^2 / 2 and exact gradients."""
    rho = math.sqrt(mu * beta)
    y = z = y0
    A_k, d = 0.0, 0.0 * y0
    for _ in range(rounds):
        root = (beta * nu + mu * A_k) ** 2 + 4 * A_k * beta**2 * nu + 5 * A_k**2 * mu * beta
        root += 2 * A_k * rho * (beta * nu + A_k * mu)
        A_next = (A_k * (mu + 2 * beta + rho) + beta * nu + math.sqrt(root)) / (2 * (beta + rho))
        tau = 1 - A_k / A_next
        v = (1 - tau) * y + tau * z
        d = d + (A_next - A_k) * G.gradient(v)
        # argmin <d, y> + A H(y) + beta ||y - y0||^2 / 2 through H's prox at scale A
        z = H.prox((d - beta * y0) / A_next, beta / A_next)
        y = (1 - tau) * y + tau * z
        A_k = A_next
    return y, z, A_k, d


@pytest.mark.parametrize("simple", ["ridge", "elastic net", "simplex"])
def test_iterates_are_those_of_the_printed_algorithm(simple):
    G, H = SMOOTH["logistic"][0](), SIMPLE[simple][0]
    y0 = np.full(D, 1 / D)
    res = wp.minimize_composite(G, H, y0, method="accelerated", max_rounds=60, tol=0)
    y, z, A_k, d = printed_algorithm(G, H, y0, G.L, MU, 1.0, res.nit)
    assert res.nit > 20
    np.testing.assert_allclose(res.state.x, y, atol=1e-12)
    np.testing.assert_allclose(res.state.z, z, atol=1e-12)
    np.testing.assert_allclose(res.state.model.A_k, A_k, rtol=1e-12)
    np.testing.assert_allclose(res.state.model.d * A_k, d, rtol=1e-9)


@pytest.mark.parametrize("method", ["accelerated", "converging"])
@pytest.mark.parametrize("simple", SIMPLE)
@pytest.mark.parametrize("smooth", SMOOTH)
def test_certificate_brackets_an_independent_minimum(smooth, simple, method):
    best, y_star = independent_minimum(smooth, simple)
    H = SIMPLE[simple][0]
    for batch in (None, 5):
        res = wp.minimize_composite(
            SMOOTH[smooth][0](batch), H, method=method, tol=1e-7, max_rounds=400, record_every=1
        )
        assert res.lower_bound <= best + 1e-7
        assert np.all(res.history["fun"] >= best - 1e-7)
        assert res.gap >= res.fun - best - 1e-7
        assert res.gap == pytest.approx(res.fun - res.lower_bound)
        assert math.isfinite(H.value(res.x))
        if batch is None:
            assert res.gap <= 1e-4
            np.testing.assert_allclose(res.x, y_star, atol=math.sqrt(2 * 2e-4 / MU))
        else:
            assert res.gap <= 0.3 * res.history["gap"][0]


def test_averaged_certificate_of_any_callable():
    """A callable has no conjugate: its dual points are numbers, averaged along the run."""
    best, _ = independent_minimum("logistic", "elastic net")
    G = SMOOTH["logistic"][0]()
    res = wp.minimize_composite(
        lambda y: G(y), SIMPLE["elastic net"][0], np.zeros(D), beta=G.L, tol=1e-8
    )
    assert res.success
    assert -1e-7 <= best - res.lower_bound <= 1e-6


def test_averaged_certificate_of_minibatches():
    """y_k fluctuates: a bound at one gradient is loose by beta/mu, at their average it is not."""
    G, H = wp.objectives.LeastSquares(FEATURES, B, batch=20), SquaredNorm(10.0)
    best = wp.minimize_composite(G, H, batch=N, tol=1e-9)
    res = wp.minimize_composite(G, H, tol=0, max_rounds=2000)
    alone = wp.minimize_composite(G, H, res.x, tol=0, max_rounds=0)
    assert best.fun - res.lower_bound <= 0.2 * (best.fun - alone.lower_bound)
    assert res.lower_bound <= best.fun


def test_random_gradients_alone_have_no_certificate():
    G = wp.objectives.LeastSquares(A, B)

    def draw(y, rng):
        return G.gradient(y) + 0.01 * rng.standard_normal(D)

    res = wp.minimize_composite(draw, SquaredNorm(MU), np.zeros(D), beta=G.L, max_rounds=300)
    assert math.isnan(res.fun)
    assert (res.gap, res.lower_bound, res.status) == (math.inf, -math.inf, "max_rounds")
    assert res.nfev == 301
    np.testing.assert_array_equal(res.x, res.state.x)
    assert res.sigma2 == pytest.approx(D * 1e-4, rel=0.5)
    assert res.neighbourhood == res.sigma2 / (2 * math.sqrt(MU * G.L))
    valued = wp.objectives.Stochastic(draw, beta=G.L, variance=D * 1e-4, value=G.value)
    res = wp.minimize_composite(valued, SquaredNorm(MU), np.zeros(D), max_rounds=300, batch=4)
    assert res.fun == G.value(res.x) + MU / 2 * res.x @ res.x
    assert (res.gap, res.sigma2) == (math.inf, pytest.approx(D * 1e-4 / 4))


@pytest.mark.parametrize("method", ["accelerated", "converging"])
def test_same_seed_same_bits(method):
    def solve(seed, **options):
        G = SMOOTH["logistic"][0](3)
        options = {"method": method, "max_rounds": 50, "tol": 0, "seed": seed} | options
        return wp.minimize_composite(G, ElasticNet(0.01, MU), **options)

    one, two, other = solve(1), solve(1, record_every=7), solve(2)
    np.testing.assert_array_equal(one.state.x, two.state.x)
    assert one.history["fun"][-1] == two.history["fun"][-1]
    assert not np.array_equal(one.state.x, other.state.x)


def test_a_batch_of_everything_is_exact():
    H = SquaredNorm(MU)
    exact = wp.minimize_composite(SMOOTH["logistic"][0](), H, max_rounds=30, tol=0)
    whole = wp.minimize_composite(SMOOTH["logistic"][0](N), H, max_rounds=30, tol=0)
    np.testing.assert_array_equal(exact.state.x, whole.state.x)
    assert whole.sigma2 == pytest.approx(0, abs=1e-25)


def test_full_evaluations_once_per_pass():
    res = wp.minimize_composite(SMOOTH["logistic"][0](4), SquaredNorm(MU), max_rounds=95, tol=0)
    assert res.history["round"].tolist() == [*range(0, 95, 10), 95]
    assert (res.nfev, res.njev, res.nit) == (11, 95, 95)
    assert set(res.history["m"]) == {4}


def test_growing_batches():
    res = wp.minimize_composite(
        SMOOTH["logistic"][0](), SquaredNorm(MU), method="converging", batch=lambda k: k + 1,
        max_rounds=30, tol=0, record_every=1,
    )  # fmt: skip
    assert res.history["m"].tolist() == list(range(1, 32))
    for wrong in (lambda k: k, lambda k: None, lambda k: 0.5):
        for beta in (None, "search"):
            with pytest.raises((TypeError, ValueError), match=r"batch\(0\) must be an integer"):
                wp.minimize_composite(
                    SMOOTH["logistic"][0](), SquaredNorm(MU), batch=wrong, beta=beta
                )


def test_batches_that_follow_the_measured_variance():
    G, H = SMOOTH["logistic"][0](), SquaredNorm(MU)
    best = wp.minimize_composite(G, H, tol=1e-10)
    options = {"method": "converging", "batch": "auto", "tol": 0, "max_rounds": 60}
    options["record_every"] = 1

    def noisy(sigma, **more):
        def draw(y, rng):
            return G.gradient(y) + sigma / math.sqrt(D) * rng.standard_normal(D)

        G_noisy = wp.objectives.Stochastic(draw, G.L, shape=(D,), value=G.value)
        return wp.minimize_composite(G_noisy, H, **(options | more))

    quiet, loud = noisy(0.5), noisy(1.0)
    m = loud.history["m"][1:]
    c = 9 / 16 * 1.0**2 / (MU * G.L * 0.5 * best.x @ best.x)
    np.testing.assert_allclose(m[32:] / np.arange(34, 62), c, rtol=0.5)
    assert np.all(quiet.history["m"][8:] <= 0.5 * loud.history["m"][8:])
    assert loud.fun - best.fun <= 0.1 * (noisy(1.0, batch=1).fun - best.fun)
    rows = wp.minimize_composite(G, H, **options)
    assert rows.history["m"].max() == N


def test_long_runs_do_not_overflow():
    G = wp.objectives.Quadratic(1.0, np.ones(2))
    res = wp.minimize_composite(
        lambda y, rng: G.gradient(y), SquaredNorm(1.0), np.ones(2), beta=1.0, max_rounds=3000
    )
    assert res.state.model.A_k == math.inf
    np.testing.assert_allclose(res.x, -0.5, atol=1e-12)


class OwnDistance:
    """A user's mirror map: ||y - z0||^2 with its own minimisation step for a ridge."""

    nu = 2.0

    def __init__(self, z0):
        self.z0 = z0

    def prox(self, H, g, lam):
        return (2 * lam * self.z0 - g) / (H.mu + 2 * lam)

    def gradient(self, y):
        return 2 * (y - self.z0)


def run_from(z0, H, w, y0=None):
    G = SMOOTH["least squares"][0](4)
    return wp.minimize_composite(G, H, y0, w=w, max_rounds=40, tol=0).state.x


def test_any_start_by_the_shift():
    """The shifted w gives the run of a w that is minimised there in the first place."""
    z0 = np.random.default_rng(8).dirichlet(np.ones(D))
    H, E = SquaredNorm(MU), Entropy(MU)
    centred = run_from(z0, H, Euclidean(z0))
    for w in (Euclidean(), "euclidean", None, Shifted(Euclidean(-z0), 2 * z0)):
        np.testing.assert_allclose(run_from(z0, H, w, z0), centred, atol=1e-13)
    own = run_from(z0, H, OwnDistance(z0))
    np.testing.assert_allclose(run_from(z0, H, OwnDistance(0 * z0), z0), own, atol=1e-13)
    # a multiple of w has a multiple of nu, hence of A_k: the run is the same
    np.testing.assert_allclose(own, centred, atol=1e-13)
    entropic = run_from(z0, E, EntropyMirror(z0))
    np.testing.assert_allclose(run_from(z0, E, "entropy", z0), entropic, atol=1e-13)
    # for the ridge w = H has nu = mu, and its subgradient at z0 is mu z0
    same = run_from(z0, H, Same(H, slope=MU * z0))
    assert np.linalg.norm(same - z0) < np.linalg.norm(run_from(z0, H, "same") - z0)
    np.testing.assert_allclose(run_from(z0, H, "same", z0), same, atol=1e-13)
    # for the entropy it is mu log z0, and w = H is mu times the relative entropy
    for w in ("same", Same(E, slope=MU * np.log(z0))):
        np.testing.assert_allclose(
            run_from(z0, E, w, z0 if w == "same" else None), entropic, atol=1e-12
        )


def test_dtypes_and_shapes():
    G = wp.objectives.LeastSquares(A.astype(np.float32), B.astype(np.float32))
    res = wp.minimize_composite(G, ElasticNet(0.01, MU), np.zeros(D, np.float32), tol=1e-3)
    assert (res.x.dtype, res.success) == (np.float32, True)
    start = np.zeros(D, dtype=int)
    assert wp.minimize_composite(SMOOTH["logistic"][0](), SquaredNorm(MU), start).success
    assert start.dtype == int
    assert not start.any()
    matrix = wp.objectives.LeastSquares(A, np.stack([B, -B], axis=1))
    assert wp.minimize_composite(matrix, SquaredNorm(MU), tol=1e-6).x.shape == (D, 2)


def test_callback_stops_and_result_is_complete(tmp_path):
    def stop(intermediate_result):
        if intermediate_result.nit == 3:
            raise StopIteration

    G, H = SMOOTH["logistic"][0](), SquaredNorm(MU)
    options = {"callback": stop, "record_every": 1}
    res = wp.minimize_composite(G, H, method="accelerated", tol=0, **options)
    assert (res.status, res.nit, res.method) == ("callback_stop", 3, "accelerated")
    assert (res.beta, res.mu, res.nu, res.sigma2) == (SMOOTH["logistic"][0]().L, MU, 1.0, 0.0)
    assert wp.load(res.save(tmp_path / "run")).fun == res.fun


def test_values_that_turn_bad_end_the_run():
    def G(y):
        bad = np.linalg.norm(y) > 0.5
        return (np.nan if bad else 0.5 * (y - 1) @ (y - 1)), y - 1

    res = wp.minimize_composite(G, SquaredNorm(0.1), np.zeros(2), beta=1.0)
    assert res.status == "nonfinite"
    assert math.isfinite(res.fun)
    with pytest.raises(ValueError, match="not finite at the starting point"):
        wp.minimize_composite(lambda y: (np.inf, y), SquaredNorm(1.0), np.zeros(2), beta=1.0)


def test_wrong_constants_are_noticed():
    G = wp.objectives.LeastSquares(A, B)
    with pytest.warns(SmoothnessWarning, match="beta = .* is too small.*pass a larger beta"):
        wp.minimize_composite(G, SquaredNorm(MU), beta=G.L / 50, max_rounds=20)
    with pytest.warns(ConvexityWarning, match="not convex"):
        res = wp.minimize_composite(
            lambda y: (-0.5 * y @ y, -y), SquaredNorm(2.0), np.ones(2), beta=1.0, max_rounds=20
        )
    assert res.gap == math.inf


BAD = [
    ({"G": 3}, TypeError, "G must be an objective"),
    ({"G": lambda a, b, c: a}, TypeError, r"callable \(y, rng\) -> gradient"),
    ({"H": wp.sets.Simplex(D)}, TypeError, "H must be a regulariser"),
    ({"y0": np.zeros(D + 1)}, ValueError, r"y0 must have shape \(6,\), found \(7,\)"),
    ({"y0": np.full(D, np.nan)}, ValueError, "y0 has 6 NaN"),
    ({"y0": "start"}, TypeError, "y0 must be an array"),
    ({"H": SimplexRidge(D, MU), "y0": np.zeros(D)}, ValueError, "y0 is outside the domain of H"),
    ({"H": SimplexRidge(D + 1, MU)}, ValueError, r"y of shape \(6,\), H has shape \(7,\)"),
    ({"w": "entropy"}, CapabilityError, "Euclidean, Same"),
    ({"sampling": "random"}, ValueError, "sampling must be one of"),
    ({"sampling": ["uniform"]}, ValueError, "sampling must be one of"),
    ({"sampling": "shuffle", "batch": lambda k: 2}, ValueError, "stays the same in all rounds"),
    ({"sampling": "blocks", "batch": lambda k: 2}, ValueError, "stays the same in all rounds"),
    ({"G": lambda y: (0.0, y), "y0": B[:D], "sampling": "shuffle"}, TypeError, "need a finite sum"),
    ({"scale": "rows"}, TypeError, "scale must be an array of real numbers"),
    ({"scale": np.zeros(D)}, ValueError, "6 positive numbers"),
    ({"G": lambda y: (0.0, y), "scale": "columns"}, TypeError, "needs an objective with a data"),
    (
        {"beta": "big"},
        ValueError,
        "beta must be a positive .* or 'stable' or 'search'",
    ),
    ({"beta": "search", "method": "converging"}, ValueError, "pass method='accelerated'"),
    ({"variance_reduction": "sag"}, ValueError, "must be True or False or 'saga' or 'svrg'"),
    ({"w": "mirror"}, ValueError, "w must be one of"),
    (
        {"H": ElasticNet(0.1, MU), "w": "same", "y0": np.ones(D)},
        CapabilityError,
        r"Same\(H, slope=s\)",
    ),
    (
        {"H": Entropy(MU), "w": "same", "y0": np.eye(D)[0]},
        ValueError,
        "y0 must have positive entries of sum 1",
    ),
    ({"w": Euclidean(np.zeros(D + 1))}, ValueError, r"minimiser z0 of w must have shape \(6,\)"),
    ({"beta": 0.0}, ValueError, "beta must be a positive finite number"),
    ({"beta": -1}, ValueError, "beta must be a positive finite number"),
    ({"beta": np.inf}, ValueError, "beta must be a positive finite number"),
    ({"variance": -1.0}, ValueError, "variance must be"),
    ({"batch": 0}, ValueError, "batch must be an integer >= 1"),
    ({"batch": "auto"}, ValueError, "batch must be an integer >= 1, found 'auto'"),
    ({"batch": N + 1}, ValueError, f"batch must be between 1 and the {N} observations"),
    ({"G": wp.objectives.Quadratic(1.0, np.ones(D)), "batch": 2}, TypeError, "finite sum"),
    ({"method": "acelerated"}, ValueError, "did you mean 'accelerated'"),
    ({"method": 3}, TypeError, "method must be a name or a solver object"),
    ({"method": wp.solvers.Anytime()}, TypeError, "a name or a composite solver"),
    ({"theta": 0.5}, TypeError, "has no option 'theta'; it has batch, record_every"),
    ({"method": "converging", "order": 3}, TypeError, "it has batch, record_every"),
    (
        {"method": wp.solvers.StochasticComposite(), "batch": 2},
        TypeError,
        "options must be set",
    ),
    ({"record_every": 0}, ValueError, "record_every must be an integer >= 1"),
    ({"tol": -1}, ValueError, "tol must be"),
    ({"seed": -1}, ValueError, "seed must be an integer >= 0"),
]


@pytest.mark.parametrize(("change", "error", "message"), BAD)
def test_bad_input(change, error, message):
    arguments = {"G": SMOOTH["least squares"][0](), "H": SquaredNorm(MU)} | change
    with pytest.raises(error, match=message):
        wp.minimize_composite(arguments.pop("G"), arguments.pop("H"), **arguments)


def test_a_callable_may_write_into_its_argument():
    def smooth(y):
        y -= 1.0
        return float(y @ y), 2.0 * y

    def random(y, rng):
        y -= 1.0
        y *= 2.0
        return y

    ridge = SquaredNorm(1.0)
    res = wp.minimize_composite(smooth, ridge, np.zeros(3), beta=2.0, tol=1e-9)
    np.testing.assert_allclose(res.x, 2 / 3, atol=1e-4)
    assert res.fun == pytest.approx(1.0)
    noisy = wp.minimize_composite(random, ridge, np.zeros(3), beta=2.0, batch=2, max_rounds=50)
    np.testing.assert_allclose(noisy.x, 2 / 3, atol=1e-4)


def test_missing_shape():
    with pytest.raises(ValueError, match="neither G nor H knows the shape of y: pass y0"):
        wp.minimize_composite(lambda y, rng: y, SquaredNorm(1.0), beta=1.0)


def test_raise_on_failure():
    with pytest.raises(wp.ConvergenceError, match="max_rounds"):
        wp.minimize_composite(
            SMOOTH["logistic"][0](), SquaredNorm(MU), max_rounds=1, raise_on_failure=True, tol=0
        )


def test_iterates_that_run_away_are_not_called_stalled():
    """One row of least squares at a time: the variance grows with y and nothing bounds it."""
    G = wp.objectives.LeastSquares(FEATURES, B, batch=1)
    res = wp.minimize_composite(G, SquaredNorm(0.1), max_rounds=200, tol=0, record_every=1)
    assert res.history["fun"][-1] > 1e6 * res.fun
    assert (res.status, res.nit) == ("max_rounds", 200)
    assert "diverged" in res.message
    tame = wp.minimize_composite(G, SquaredNorm(0.1), max_rounds=200, tol=0, batch=20)
    assert "run away" not in tame.message
    assert tame.gap < 1.0
    assert res.fun == res.history["fun"].min()


def test_sentences_about_solver_objects(tmp_path):
    G, H = wp.objectives.LeastSquares(np.eye(3), np.ones(3)), SquaredNorm(1.0)
    with pytest.raises(TypeError, match="has no option 'policies'"):
        wp.minimize_composite(G, H, policies=3)
    with pytest.raises(TypeError, match="policies must be a Policies object, found 3"):
        wp.solvers.StochasticComposite(policies=3)
    with pytest.raises(ValueError, match=r"beta='search' chooses the solver: pass method="):
        wp.minimize_composite(G, H, method=wp.solvers.StochasticComposite(3), beta="search")
    few = wp.objectives.LeastSquares(np.eye(3), np.ones(3), batch=2)
    with pytest.raises(TypeError, match=r"exact gradients, and those of LeastSquares are random"):
        wp.minimize_composite(few, H, method=wp.solvers.SearchedComposite())
    searched = wp.minimize_composite(G, H, method=wp.solvers.SearchedComposite(), beta="stable")
    assert "save nothing" not in searched.message
    estimated = wp.minimize_composite(
        lambda y: (0.5 * float(y @ y), y), H, np.ones(2), method=wp.solvers.SearchedComposite()
    )
    assert "was estimated" in estimated.message
    path = tmp_path / "run.ckpt"
    wp.minimize_composite(G, H, tol=0, max_rounds=3, checkpoint=path)
    with pytest.raises(TypeError, match="composite runs ask for gradients"):
        wp.resume(path, G, H, engine="threads:2")
