"""Methods of `minimize` with random gradients: bounds, tables, bits, words, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

import wolfpack as wp
from wolfpack import theory
from wolfpack.front.random import attach_gradients
from wolfpack.gradients import InTurn, Minibatches, Slopes, SlopeTable
from wolfpack.gradients.rows import Passes
from wolfpack.loop import Limits
from wolfpack.problem import Problem
from wolfpack.problem_file import read_problem
from wolfpack.smoothing import Oracles, make_smoothing
from wolfpack.solvers import StochasticAnytime, StochasticFrankWolfe

RNG = np.random.default_rng(4)
N, D = 120, 8
A = RNG.standard_normal((N, D))
B = A @ np.array([0.5, -0.3, 0.2, 0, 0, 0, 0, 0]) + 0.3 * RNG.standard_normal(N)
LABELS = np.sign(B)
TARGET = np.linspace(-0.6, 0.5, D)
OPTIONS = {
    "table": {"method": "stochastic"},
    "shuffled": {"method": "stochastic", "order": "shuffled"},
    "substitute": {"method": "stochastic", "estimate": "substitute"},
    "momentum": {"method": "stochastic", "estimate": "momentum"},
    "recursive": {"method": "stochastic", "estimate": "recursive"},
    "saga": {"method": "stochastic-anytime"},
    "saga, sampled": {"method": "stochastic-anytime", "m": 3},
    "plain": {"method": "stochastic-anytime", "estimate": "plain"},
}
LOSSES = {
    "logistic": lambda **more: wp.objectives.Logistic(A, LABELS, **more),
    "least squares": lambda **more: wp.objectives.LeastSquares(0.2 * A, 0.2 * B, **more),
    "huber": lambda **more: wp.objectives.Huber(A, B, delta=0.3, **more),
    "sparse": lambda **more: wp.objectives.Logistic(csr_array(A * (A > 0)), LABELS, **more),
    "several": lambda **more: wp.objectives.Multinomial(
        A, (B > 0) + (B > 0.4).astype(int), classes=3, **more
    ),
}


def pair(name="logistic", **more):
    f = LOSSES[name](**more)
    return f, wp.sets.L1Ball(f.shape, radius=2.0)


def minimum(name="logistic"):
    return wp.minimize(*pair(name), tol=1e-9).fun


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("kind", OPTIONS)
def test_bounds_hold_in_every_round_and_gaps_shrink(kind, name):
    f, K = pair(name, batch=7)
    best = minimum(name)
    seen = []
    res = wp.minimize(
        f, K, tol=0, max_rounds=300, record_every=10, seed=1, callback=seen.append, **OPTIONS[kind]
    )
    assert max(res.history["lower_bound"]) <= best + 1e-9
    assert all(K.violation(one.x) <= 1e-12 for one in seen)
    assert res.fun >= best - 1e-9
    assert res.gap <= 0.35 * res.history["gap"][0]


def test_a_table_proves_more_than_the_gradient_at_the_iterate():
    f, K = pair(batch=6)
    res = wp.minimize(f, K, method="stochastic", tol=0, max_rounds=400, record_every=20)
    whole = f.evaluate(res.x)
    alone = float(np.vdot(whole.gradient, res.x)) + 2.0 * abs(whole.gradient).max()
    assert res.gap < 0.5 * alone


def test_the_average_of_tables_is_that_of_all_rounds():
    f, _ = pair(batch=7)
    draws = Minibatches(f, 7, 3, Passes)
    x, slopes = RNG.standard_normal(D), Slopes.none_seen((N,), np.zeros(D))
    tables, weights = [], []
    for k in range(40):
        batch = draws.rows.of_round(k, 7)
        point = x + 0.1 * k
        slopes = slopes.renewed(batch, batch.slopes(batch.part @ point), float(k * (k + 1)))
        tables.append(slopes.current.values.copy())
        weights.append(2.0 * (k + 1))
    theta, gradient = slopes.average(40.0 * 41.0)
    np.testing.assert_allclose(theta, np.average(tables, axis=0, weights=weights), atol=1e-13)
    np.testing.assert_allclose(gradient, A.T @ theta, atol=1e-12)
    np.testing.assert_allclose(slopes.gradient, A.T @ tables[-1], atol=1e-12)


def test_passes_read_each_row_once():
    f, _ = pair(batch=7)
    rows = Minibatches(f, 7, 0, Passes).rows
    rounds = -(-N // 7)
    for turn in range(3):
        read = np.concatenate([rows.of_round(turn * rounds + j, 7).rows for j in range(rounds)])
        assert sorted(read) == list(range(N))


def test_gradients_from_a_table_are_unbiased_and_their_spread_is_their_variance():
    f, _ = pair(batch=10)
    x, old = 0.3 * RNG.standard_normal(D), f.evaluate(0.1 * RNG.standard_normal(D)).dual
    draws = Minibatches(f, 10, 5)
    start = Slopes.none_seen((N,), x)
    table = start._replace(current=SlopeTable(1.0 * old), gradient=A.T @ old)
    found, spreads = [], []
    for k in range(4000):
        batch = draws.rows.of_round(k, 10)
        fresh = batch.slopes(batch.part @ x)
        spreads.append(table.spread(batch, fresh))
        change = batch.transposed @ (fresh - old[batch.rows])
        found.append(table.gradient + batch.weights * change)
    error = np.mean(found, axis=0) - f.gradient(x)
    variance = np.mean(np.sum((found - np.mean(found, axis=0)) ** 2, axis=1))
    assert np.linalg.norm(error) <= 4 * math.sqrt(variance / 4000)
    # without replacement, and about the mean, the variance is a little smaller
    assert variance <= 1.1 * np.mean(spreads) <= 1.6 * variance


def test_reads_are_counted_in_full():
    f, K = pair(batch=10)
    res = wp.minimize(f, K, method="stochastic", tol=0, max_rounds=50, record_every=25)
    proofs = res.history["read"][-1] - (510 + 3 * N)
    assert proofs in (0, N, 2 * N, 3 * N)
    assert res.nfev == 3
    assert res.passes == res.history["passes"][-1] == res.history["read"][-1] / N
    twice = wp.minimize(f, K, tol=0, max_rounds=50, record_every=50, **OPTIONS["recursive"])
    assert twice.history["read"][-1] == 10 + 50 * 20 + 2 * N


def test_max_passes_limits_what_is_read():
    f, K = pair(batch=10)
    res = wp.minimize(f, K, tol=0, max_passes=12)
    assert res.status == "max_rounds"
    assert "max_passes" in res.message
    assert 11 <= res.passes <= 14  # a certificate may come on top
    assert math.isfinite(res.gap)
    assert res.history["lower_bound"][-1] > -math.inf


@pytest.mark.parametrize("kind", OPTIONS)
def test_a_run_resumes_to_the_same_bits(kind, tmp_path):
    f, K = pair(batch=11)
    settings = {"tol": 0, "seed": 2, **OPTIONS[kind]}
    whole = wp.minimize(f, K, max_rounds=60, **settings)
    wp.minimize(f, K, max_rounds=23, checkpoint=tmp_path / "run.ckpt", **settings)
    rest = wp.resume(tmp_path / "run.ckpt", f, K, max_rounds=60)
    assert rest.x.tobytes() == whole.x.tobytes()
    assert rest.lower_bound == whole.lower_bound
    assert rest.passes == whole.passes
    assert rest.history["read"].tolist() == whole.history["read"].tolist()


@pytest.mark.parametrize("kind", OPTIONS)
def test_steps_are_pure(kind):
    f, K = pair(batch=11)
    options = dict(OPTIONS[kind])
    solver = {"stochastic": StochasticFrankWolfe, "stochastic-anytime": StochasticAnytime}[
        options.pop("method")
    ](**options).for_rows(True)
    problem = Problem(f, K)
    oracles = oracles_for(problem, solver)
    attach_gradients(oracles, solver, f, 0, Limits())
    state = solver.init(problem, np.zeros(D), oracles)
    for _ in range(5):
        state = solver.step(problem, state, oracles)
    once = solver.step(problem, state, oracles)
    solver.step(problem, once, oracles)
    again = solver.step(problem, state, oracles)
    assert once.x.tobytes() == again.x.tobytes()
    if once.slopes is not None:
        assert once.slopes.current.values.tobytes() == again.slopes.current.values.tobytes()


def oracles_for(problem, solver):
    smoothing = None
    if getattr(solver, "samples", False):
        law = wp.noise.get(problem.set.default_noise)
        smoothing = make_smoothing("lifted", problem.objective, problem.set, law)
    return Oracles(problem, smoothing, 0)


def test_engines_give_the_same_bits():
    f, K = pair(batch=11)
    settings = {"method": "stochastic-anytime", "m": 12, "block": 5, "max_rounds": 20, "tol": 0}
    alone = wp.minimize(f, K, **settings)
    shared = wp.minimize(f, K, engine="threads:2", **settings)
    assert alone.x.tobytes() == shared.x.tobytes()
    assert "passes" in shared.history.columns
    assert "workers" in shared.history.columns


def sources():
    parts = [(A[i : i + 10], LABELS[i : i + 10]) for i in range(0, N, 10)]
    return {"list": parts, "function": lambda: iter(parts)}


@pytest.mark.parametrize("kind", ["list", "function"])
@pytest.mark.parametrize("method", ["auto", "stochastic"])
def test_sources_of_minibatches(kind, method):
    K = wp.sets.L1Ball(D, 2.0)
    f = wp.objectives.Batches("logistic", sources()[kind])
    res = wp.minimize(f, K, method=method, tol=0, max_rounds=300)
    assert minimum() <= res.fun + 1e-9 <= minimum() + 0.03
    assert res.lower_bound <= minimum() + 1e-9
    assert res.passes > 25
    assert res.expected_gap >= 0.0


def test_a_source_that_is_read_once():
    f = wp.objectives.Batches("logistic", iter(sources()["list"]))
    res = wp.minimize(f, wp.sets.L1Ball(D, 2.0))
    assert res.status == "data_end"
    assert res.gap == math.inf
    assert math.isnan(res.passes)
    assert res.history["read"][-1] >= 12
    assert 0.0 <= res.expected_gap < res.probable_gap < math.inf


def test_rounds_of_a_source_use_one_minibatch_at_two_points():
    f = wp.objectives.Batches("logistic", iter(sources()["list"]))
    draws = InTurn(f)
    x = np.ones(D)
    first = draws.at(x, 3, 1).mean
    np.testing.assert_array_equal(draws.at(0.0 * x, 3, 1).mean, f.first[3].gradient(0.0 * x))
    np.testing.assert_array_equal(first, f.first[3].gradient(x))


def quadratic(noise=0.5, declared=True):
    return wp.objectives.Stochastic(
        lambda x, rng: x - TARGET + noise * rng.standard_normal(D),
        beta=1.0,
        variance=noise**2 * D if declared else None,
        value=lambda x: 0.5 * float((x - TARGET) @ (x - TARGET)),
    )


RANDOM = {
    "anytime": {},
    "momentum": {"method": "stochastic"},
    "recursive": {"method": "stochastic", "estimate": "recursive"},
}


@pytest.mark.parametrize("kind", RANDOM)
def test_bounds_in_expectation_and_with_a_probability(kind):
    K = wp.sets.L1Ball(D, 1.5)
    exact = lambda x: (0.5 * float((x - TARGET) @ (x - TARGET)), x - TARGET)  # noqa: E731
    best = wp.minimize(exact, K, convex=True, tol=1e-10).fun
    excess, expected, covered = [], [], []
    for seed in range(40):
        settings = {"max_rounds": 60, "confidence": 0.8, "seed": seed, **RANDOM[kind]}
        res = wp.minimize(quadratic(), K, record_every=60, **settings)
        assert res.gap == math.inf
        excess.append(res.state.at.value - best)
        expected.append(res.expected_gap)
        covered.append(excess[-1] <= res.probable_gap)
    # means over seeds: the bound exceeds the mean by several standard errors
    error = np.std(np.subtract(expected, excess)) / math.sqrt(40)
    assert np.mean(excess) <= np.mean(expected) + 3 * error
    assert np.mean(expected) <= 60 * np.mean(excess)
    assert np.mean(covered) >= 0.8


def test_the_bound_with_a_probability_is_cantellis():
    res = wp.minimize(quadratic(), wp.sets.L1Ball(D, 1.5), max_rounds=40, confidence=0.9)
    q = 1.0
    for k in range(1, 41):
        tau = 3.0 / (k + 3.0)
        q = (1 - tau) ** 2 * q + tau**2
    assert res.sigma2 == pytest.approx(0.25 * D)
    more = 3.0 * math.sqrt(res.sigma2 * q * 0.9 / 0.1)
    assert res.probable_gap - res.expected_gap == pytest.approx(more)


def test_theorem_n3_holds_for_the_mean_over_seeds():
    K, noise = wp.sets.L1Ball(D, 1.5), 0.5
    exact = lambda x: (0.5 * float((x - TARGET) @ (x - TARGET)), x - TARGET)  # noqa: E731
    best = wp.minimize(exact, K, convex=True, tol=1e-10).fun
    C, b, variance = 1.5**2 / 2, math.log(2 * D), noise**2 * D
    first = 1.5 * abs(TARGET).max() + math.sqrt(variance) * 3.0
    bound = theory.bound_stochastic(81, L=1.0, C=C, s1=b, variance=variance, initial_gap=first)
    excess = [
        wp.minimize(
            quadratic(noise), K, kappa=1.0, max_rounds=80, record_every=80, seed=seed
        ).state.at.value
        - best
        for seed in range(20)
    ]
    assert np.mean(excess) <= bound
    assert np.mean(excess) >= 0.02 * bound  # not met by an order of magnitude only


def test_the_smoothing_of_the_theorem_is_used():
    K = wp.sets.L1Ball(D, 1.5)
    res = wp.minimize(quadratic(), K, kappa=1.0, max_rounds=6, record_every=1)
    k = np.arange(1, 7)
    expected = theory.stochastic_alpha(
        k, L=1.0, C=1.5**2 / 2, s1=math.log(2 * D), variance=0.25 * D
    )
    np.testing.assert_allclose(res.history["alpha"][1:], expected)


@pytest.mark.parametrize("batch", [20, 40, 120])
def test_theorem_n1_holds_in_every_round(batch):
    f = wp.objectives.LeastSquares(0.2 * A, 0.2 * B)
    K = wp.sets.L1Ball(D, 2.0)
    widths = 4.0 * 0.2 * abs(A).max(axis=1)
    W = float(widths @ widths)
    images = 2.0 * 0.2 * A
    C = max(
        float(np.sum((s * images[:, i] - t * images[:, j]) ** 2))
        for i in range(D)
        for j in range(D)
        for s in (1, -1)
        for t in (1, -1)
    )
    slopes = 0.2 * abs(B) + 2.0 * 0.2 * abs(A).max(axis=1)
    E = float(slopes @ widths + 0.5 * slopes @ slopes)
    age = 2 * math.ceil(N / batch) - 2
    res = wp.minimize(
        f,
        K,
        method="stochastic",
        batch=batch,
        order="shuffled",
        tol=0,
        max_rounds=200,
        record_every=1,
    )
    rounds, gaps = (
        res.history["round"][1:],
        res.history["fun"][1:] - np.maximum.accumulate(res.history["lower_bound"])[1:],
    )
    assert np.all(gaps <= theory.bound_table(rounds, width=W, curvature=C, first=E, age=age) + 1e-9)


def test_a_table_of_all_rows_is_frank_wolfe():
    f, K = pair()
    one = wp.minimize(f, K, method="stochastic", batch=N, tol=0, max_rounds=30)
    other = wp.minimize(f, K, method="fw", tol=0, max_rounds=30)
    np.testing.assert_allclose(one.state.x, other.state.x, atol=1e-12)


def test_theorem_n2_holds_for_the_mean_over_seeds():
    K, s = wp.sets.L2Ball(D, 1.0), 0.5
    f = wp.objectives.Stochastic(
        lambda x, rng: x - TARGET + s / math.sqrt(D) * rng.standard_normal(D),
        beta=1.0,
        value=lambda x: 0.5 * float((x - TARGET) @ (x - TARGET)),
    )
    V = 8 * s**2 + 8 * 4.0
    excess, errors = [], []
    for seed in range(15):
        res = wp.minimize(
            f,
            K,
            method="stochastic",
            estimate="recursive",
            max_rounds=50,
            seed=seed,
            record_every=50,
        )
        excess.append(res.state.at.value - 0.5 * max(0.0, np.linalg.norm(TARGET) - 1.0) ** 2)
        errors.append(float(np.sum((res.state.estimate - (res.state.x - TARGET)) ** 2)))
    assert np.mean(errors) <= V / 51
    assert np.mean(errors) <= s**2 / 8  # far less than the variance of a single gradient
    assert np.mean(excess) <= 8 * math.sqrt(V) / (3 * math.sqrt(50)) * 1.02 + 8.0 / 51


def test_few_passes_where_there_are_many_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 20))
    y = np.sign(X @ np.r_[np.ones(4), np.zeros(16)] + 0.5 * rng.standard_normal(4000))
    K = wp.sets.L1Ball(20, 5.0)
    whole = wp.minimize(wp.objectives.Logistic(X, y), K, method="fw", rtol=0.05, tol=0)
    few = wp.minimize(wp.objectives.Logistic(X, y, batch=20), K, rtol=0.05, tol=0)
    assert few.success
    assert few.passes <= 0.2 * whole.njev


class TestWords:
    def test_auto_chooses_and_explains(self):
        f, K = pair(batch=10)
        choice = wp.explain(f, K)
        assert choice.method == "stochastic-anytime"
        assert "batch=10" in choice.reason
        assert f"{N} rows" in choice.reason
        res = wp.minimize(f, K, max_rounds=3)
        assert res.method == "stochastic-anytime"
        again = wp.minimize(f, K, method=res.plan, max_rounds=3)
        assert again.x.tobytes() == res.x.tobytes()
        assert wp.explain(quadratic(), K).method == "stochastic-anytime"
        assert wp.explain(pair()[0], K).method != "stochastic-anytime"
        assert wp.explain(pair(batch=N)[0], K).method != "stochastic-anytime"

    def test_whole_gradients_of_a_sum_with_a_batch_are_said(self):
        f, K = pair(batch=10)
        res = wp.minimize(f, K, method="fw", max_rounds=3)
        assert "f has batch=10, which method 'fw' does not use" in res.message
        assert "passes" not in res
        assert "does not use" not in wp.minimize(pair()[0], K, method="fw", max_rounds=3).message

    def test_what_the_bounds_rest_on_is_said(self):
        K = wp.sets.L1Ball(D, 1.5)
        declared = wp.minimize(quadratic(), K, max_rounds=5).message
        estimated = wp.minimize(quadratic(declared=False), K, max_rounds=5).message
        assert "Without proof for this run" in declared
        assert "estimated" not in declared
        assert "if the variance estimated from 32 random gradients is right" in estimated
        source = wp.objectives.Batches("logistic", sources()["list"])
        assert "drawn independently" in wp.minimize(source, K, max_rounds=5).message

    @pytest.mark.parametrize(
        ("call", "words"),
        [
            (lambda K: wp.minimize(quadratic(), K, method="fw"), "needs whole gradients"),
            (lambda K: wp.minimize(quadratic(), K, convex=False), "needs whole gradients"),
            (lambda K: wp.minimize(quadratic(), K, max_passes=3), "whose size is known"),
            (
                lambda K: wp.minimize(pair(batch=5)[0], K, method="fw", max_passes=3),
                "max_passes limits methods that read random gradients",
            ),
            (
                lambda K: wp.minimize(quadratic(), K, method="stochastic", estimate="table"),
                "a table of slopes needs a sum",
            ),
            (
                lambda K: wp.minimize(
                    wp.objectives.Quadratic(1.0, -np.ones(D)), K, method="stochastic"
                ),
                "need a sum over rows",
            ),
            (
                lambda K: wp.minimize(
                    wp.objectives.LeastSquares(aslinearoperator(np.eye(D)), np.ones(D)),
                    K,
                    method="stochastic",
                ),
                "an operator",
            ),
            (
                lambda K: wp.minimize(pair(batch=5)[0], K, method="stochastic", convex=False),
                "convex=False needs whole gradients",
            ),
            (lambda K: wp.minimize(quadratic(), K, confidence=1.0), "confidence must be"),
            (
                lambda K: wp.minimize(pair()[0], K, method="stochastic", batch=1000),
                "batch must be between 1 and the 120 observations",
            ),
            (lambda K: wp.minimize(pair()[0], K, method="stochastic", estimate="x"), "estimate"),
        ],
    )
    def test_refusals(self, call, words):
        with pytest.raises((TypeError, ValueError), match=words):
            call(wp.sets.L1Ball(D, 1.5))

    @pytest.mark.parametrize("method", ["auto", "fw", "bpcg"])
    @pytest.mark.parametrize("in_values", [0.0, 0.02])
    def test_a_random_callable_is_told_from_one_that_is_not_convex(self, method, in_values):
        rng = np.random.default_rng(1)

        def f(x):
            value = 0.5 * float((x - TARGET) @ (x - TARGET)) + in_values * rng.standard_normal()
            return value, x - TARGET + 0.3 * rng.standard_normal(D)

        K = wp.sets.L1Ball(D, 1.5)
        res = wp.minimize(f, K, method=method, max_rounds=100)
        assert res.gap == math.inf
        assert "f is random" in res.message
        assert "(x, rng)" in res.message
        findings = wp.check(f, K, quiet=True).findings
        assert [found.culprit for found in findings] == ["values"]

    def test_a_callable_of_two_arguments_is_random(self):
        draw = lambda x, rng: x - TARGET + rng.standard_normal(D)  # noqa: E731
        res = wp.minimize(draw, wp.sets.L1Ball(D, 1.5), max_rounds=200)
        assert res.method == "stochastic-anytime"
        assert np.linalg.norm(res.x - TARGET) < 1.0


def test_problem_files_take_batches(tmp_path):
    np.savez(tmp_path / "data.npz", X=A, y=LABELS)
    (tmp_path / "p.toml").write_text(
        '[data]\nX = { file = "data.npz", key = "X" }\ny = { file = "data.npz", key = "y" }\n'
        '[objective]\ntype = "Logistic"\nfeatures = "X"\nlabels = "y"\nbatch = 10\n'
        '[set]\ntype = "L1Ball"\nradius = 2.0\n[stop]\nmax_passes = 6\n'
    )
    task = read_problem(tmp_path / "p.toml")
    assert task.objective.batch == 10
    assert task.choice is not None
    assert task.choice.method == "stochastic-anytime"
    res = wp.minimize(task.objective, task.set, **task.settings)
    assert res.passes <= 9
