"""Step rules: their formulas, their limits, what they count and what they remember."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import wolfpack as wp
from problems import small_logistic, small_simplex
from wolfpack.problem import Problem
from wolfpack.solvers.parts.rules import RULES, as_rule
from wolfpack.solvers.parts.step_rules import (
    Backtracking,
    LineSearch,
    OpenLoop,
    SearchLine,
    Secant,
    ShortStep,
)

LOOKING = [name for name in RULES if as_rule(name).looks and name != "monotone"]
EXACT = [LineSearch(), Secant(tol=1e-12)]


def ray(problem, x, target, max_step=1.0, k=3):
    return SearchLine(k, x, problem.evaluate(x), target - x, max_step)


def random_rays(problem, K, rule, count=20):
    rng = np.random.default_rng(0)
    for _ in range(count):
        x, target = (K.r * rng.dirichlet(np.ones(K.shape[0])) for _ in range(2))
        yield ray(problem, x, target, rng.choice([1.0, 0.3, 1e-3]))


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("make", [small_simplex, small_logistic])
def test_steps_stay_between_zero_and_the_longest_one(name, make):
    f, K, _ = make()
    problem, rule = Problem(f, K), as_rule(name)
    for along in random_rays(problem, K, rule):
        step, _ = rule(problem, along)
        assert 0.0 <= step <= along.max_step
        assert isinstance(step, float)
        if name in LOOKING and along.at.gradient @ along.d >= 0:
            assert step == 0.0


@pytest.mark.parametrize("name", LOOKING)
def test_every_rule_that_looks_decreases_f(name):
    f, K, _ = small_logistic()
    problem, rule = Problem(f, K), as_rule(name)
    falling = 0
    for along in random_rays(problem, K, rule):
        step, _ = rule(problem, along)
        if along.at.gradient @ along.d < 0:
            falling += 1
            assert f.value(along.x + step * along.d) < along.at.value
    assert falling >= 5


@pytest.mark.parametrize("rule", EXACT)
@pytest.mark.parametrize("make", [small_simplex, small_logistic])
def test_exact_rules_find_the_minimum_along_the_ray(rule, make):
    f, K, _ = make()
    problem = Problem(f, K)
    for along in random_rays(problem, K, rule):
        step, _ = rule(problem, along)
        best = minimize_scalar(
            lambda t, along=along: f.value(along.x + t * along.d),
            bounds=(0, along.max_step),
            method="bounded",
            options={"xatol": 1e-12},
        )
        assert f.value(along.x + step * along.d) <= best.fun + 1e-12


def test_open_loop_is_its_formula():
    assert OpenLoop(3.0)(None, SearchLine(4, None, None, None, 1.0)).step == 3 / 7
    assert OpenLoop()(None, SearchLine(0, None, None, None, 0.2)).step == 0.2


def test_short_step_is_its_formula_and_needs_L():
    f, K, x0 = small_simplex()
    problem = Problem(f, K)
    along = ray(problem, x0, np.eye(8)[np.argmin(f.gradient(x0))])
    expected = -(along.at.gradient @ along.d) / (f.L * (along.d @ along.d))
    assert ShortStep()(problem, along).step == pytest.approx(expected)
    unknown = wp.objectives.Function(lambda x: (float(x @ x), 2 * x))
    with pytest.raises(ValueError, match="needs L"):
        wp.minimize(unknown, K, method=wp.solvers.FrankWolfe("short-step"))


def test_backtracking_satisfies_its_inequality_and_stays_below_tau_L():
    f, K, _ = small_logistic()
    problem, rule = Problem(f, K), Backtracking()
    M = None
    for along in random_rays(problem, K, rule):
        before = M
        step, M = rule(problem, along._replace(memory=M))
        if step == 0.0:
            assert before == M
            continue
        slope, square = along.at.gradient @ along.d, along.d @ along.d
        model = along.at.value + step * slope + 0.5 * M * step**2 * square
        assert f.value(along.x + step * along.d) <= model + 1e-14
        assert step == pytest.approx(min(-slope / (M * square), along.max_step))
        assert max(rule.tau * f.L, before or 0.0) >= M


def test_backtracking_lives_in_the_state_and_counts_values():
    f, K, x0 = small_logistic()
    memories, counts = [], []

    def watch(r):
        memories.append(r.state.memory)
        counts.append((r.nfev, r.njev))

    solver = wp.solvers.FrankWolfe(Backtracking())
    wp.minimize(f, K, x0, method=solver, tol=0, max_rounds=15, callback=watch)
    assert memories[0] is None
    assert len(set(memories[1:])) > 1
    nfev, njev = np.diff(counts, axis=0).T
    assert np.all(nfev[1:] >= 2)  # the evaluation of the round, and at least one trial
    assert np.all(njev[1:] == 1)


def test_backtracking_keeps_away_from_where_f_is_not_defined():
    def barrier(x):
        with np.errstate(divide="ignore", invalid="ignore"):
            return -float(np.log(x).sum()), -1.0 / x

    f = wp.objectives.Function(barrier)
    start = np.array([0.9, 0.05, 0.05])
    solver = wp.solvers.FrankWolfe(Backtracking())
    res = wp.minimize(f, wp.sets.Simplex(3), start, method=solver, tol=1e-2, max_rounds=1000)
    assert res.success
    np.testing.assert_allclose(res.x, np.full(3, 1 / 3), atol=0.02)


def test_secant_takes_few_gradients():
    f, K, x0 = small_logistic()
    res = wp.minimize(f, K, x0, method=wp.solvers.FrankWolfe("secant"), tol=0, max_rounds=50)
    exact = wp.minimize(f, K, x0, method="fw-ls", tol=0, max_rounds=50)
    assert (res.njev - 51) / 50 <= 2.5
    assert res.njev - 51 < 0.6 * (exact.njev - 51)
    assert res.gap <= 2 * exact.gap


@pytest.mark.parametrize("name", ["line-search", "secant"])
def test_a_slope_that_is_not_finite_ends_the_run(name):
    def broken(x):
        gradient = np.array([-1.0, 1.0]) if x[0] < 0.9 else np.full(2, np.nan)
        return float(-x[0] + x[1]), gradient

    solver = wp.solvers.FrankWolfe(name)
    res = wp.minimize(broken, wp.sets.Simplex(2), np.array([0.5, 0.5]), method=solver, tol=0)
    assert res.status == "nonfinite"


def test_bad_rules_and_numbers_are_refused():
    with pytest.raises(TypeError, match="'line-search'"):
        as_rule("exact")
    with pytest.raises(TypeError, match="found 3"):
        wp.solvers.FrankWolfe(3)
    for make in (
        lambda: Backtracking(tau=1.0),
        lambda: Backtracking(eta=2.0),
        lambda: Secant(tol=1.5),
        lambda: LineSearch(xtol=0.0),
        lambda: Secant(max_looks=0),
    ):
        with pytest.raises(ValueError, match="must be"):
            make()


def test_secant_asks_no_slope_outside_the_bracket_that_it_knows():
    """Where phi' is flat up to a cliff, a secant leads beyond what was found to be too far."""
    asked = []

    def cliff(x):
        asked.append(float(x[0]))
        return float(-x[0] + 50 / 40 * x[0] ** 40), np.array([-1 + 50 * x[0] ** 39])

    problem = Problem(wp.objectives.Function(cliff), wp.sets.Box([0.0], [1.0]))
    line = ray(problem, np.zeros(1), np.ones(1))
    asked.clear()
    step, _ = Secant()(problem, line)
    assert step == pytest.approx(50 ** (-1 / 39), abs=1e-3)
    low, high = 0.0, math.inf
    for t in asked:
        assert low < t < high
        low, high = (t, high) if 50 * t**39 < 1 else (low, t)
