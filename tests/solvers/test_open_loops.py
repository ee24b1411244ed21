"""Open loops and their monotone form, the search by gradients alone and that by values alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import wolfpack as wp
from problems import paper_simplex, small_logistic, small_simplex
from wolfpack.problem import Problem
from wolfpack.solvers import (
    AdaptiveStep,
    Fixed,
    FrankWolfe,
    GoldenSection,
    LogOpenLoop,
    Monotone,
    OpenLoop,
    PowerLoop,
)
from wolfpack.solvers.parts.step_rules import SearchLine


def at_round(rule, k, max_step=1.0):
    return rule(None, SearchLine(k, None, None, None, max_step)).step


def test_open_loops_are_their_formulas():
    assert at_round(LogOpenLoop(), 4) == (2 + math.log(5)) / (6 + math.log(5))
    assert at_round(LogOpenLoop(3.0), 0) == 1.0
    assert at_round(PowerLoop(), 3) == 0.5
    assert at_round(PowerLoop(1.0), 3) == 0.25
    assert at_round(Fixed(0.25), 7) == 0.25
    for rule in (LogOpenLoop(), PowerLoop(), Fixed(0.5)):
        assert at_round(rule, 1, max_step=0.1) == 0.1


@pytest.mark.parametrize("inner", [OpenLoop(), LogOpenLoop(), PowerLoop(), Fixed(0.5)])
def test_monotone_never_goes_up_and_keeps_the_bound_of_its_open_loop(inner):
    f, K, x0 = paper_simplex()
    method, values = FrankWolfe(Monotone(inner)), []
    res = wp.minimize(
        f, K, x0, method=method, tol=0, max_rounds=300, callback=lambda r: values.append(r.state.at)
    )
    values = np.array([at.value for at in values])
    assert np.all(np.diff(values) <= 16 * np.finfo(float).eps * values[:-1])
    if inner == OpenLoop():
        best = wp.minimize(f, K, x0, method="fcfw", tol=1e-10).fun
        k = np.arange(1, len(values))
        assert np.all(values[1:] - best <= 2 * f.L * K.diameter**2 / (k + 2))
        plain = wp.minimize(f, K, x0, method="fw", tol=0, max_rounds=300)
        assert res.fun <= 1.5 * plain.fun


def test_the_plain_open_loop_goes_up_where_monotone_does_not():
    f, K, x0 = paper_simplex()
    values = []
    wp.minimize(
        f, K, x0, method="fw", tol=0, max_rounds=60, callback=lambda r: values.append(r.state.at)
    )
    assert np.diff([at.value for at in values]).max() > 0


def test_monotone_takes_the_longest_halved_step_that_does_not_lead_up():
    f = wp.objectives.Quadratic(1.0, np.zeros(1))
    problem = Problem(f, wp.sets.Box([-1.0], [1.0]))
    x = np.array([0.1])
    line = SearchLine(0, x, problem.evaluate(x), np.array([-1.0]) - x)
    # f(0.1 - 1.1 t) <= f(0.1) for t <= 2/11
    assert Monotone()(problem, line).step == 0.125


def test_adaptive_keeps_half_of_the_slope_and_asks_for_no_value():
    f, K, _ = small_logistic()
    problem, rule, memory = Problem(f, K), AdaptiveStep(), None
    rng, taken = np.random.default_rng(1), 0
    for _ in range(30):
        x, target = (K.r * rng.dirichlet(np.ones(K.shape[0])) for _ in range(2))
        line = SearchLine(0, x, problem.evaluate(x), target - x, 1.0, memory)
        before = problem.counts.nfev
        step, memory_next = rule(problem, line)
        assert problem.counts.nfev == before
        slope = line.at.gradient @ line.d
        if slope >= 0:
            assert step == 0.0
            assert memory_next == memory
            continue
        taken += 1
        assert f.gradient(x + step * line.d) @ line.d <= 0.5 * slope
        assert memory_next <= max(4 * f.L, memory or 0.0)
        memory = memory_next
    assert taken > 8


def test_adaptive_goes_on_where_values_are_useless():
    # a large constant swallows what values of f say of the minimum
    f, K, x0 = small_simplex()

    def lifted(x):
        value, gradient = f(x)
        return value + 1e10, gradient

    best = wp.minimize(f, K, x0, method="fcfw", tol=1e-12).fun
    found = wp.minimize(lifted, K, x0, method="away", rule="adaptive", tol=0, max_rounds=300)
    assert f.value(found.state.x) - best <= 1e-7


@pytest.mark.parametrize("make", [small_simplex, small_logistic])
def test_golden_sections_find_the_minimum_from_values_alone(make):
    f, K, _ = make()
    problem, rng = Problem(f, K), np.random.default_rng(2)
    for _ in range(15):
        x, target = (K.r * rng.dirichlet(np.ones(K.shape[0])) for _ in range(2))
        line = SearchLine(0, x, problem.evaluate(x), target - x)
        before = problem.counts.njev
        step, _ = GoldenSection()(problem, line)
        assert problem.counts.njev == before
        best = minimize_scalar(
            lambda t, line=line: f.value(line.x + t * line.d),
            bounds=(0, 1),
            method="bounded",
            options={"xatol": 1e-12},
        )
        assert f.value(x + step * line.d) <= min(best.fun, line.at.value) + 1e-11


RULES = [LogOpenLoop(), Fixed(0.3), PowerLoop(), Monotone(), AdaptiveStep(), GoldenSection()]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_every_rule_stays_in_the_domain_of_f(rule):
    def barrier(x):
        with np.errstate(divide="ignore", invalid="ignore"):
            return -float(np.log(x).sum()), -1.0 / x

    f = wp.objectives.Function(barrier)
    start = np.array([0.9, 0.05, 0.05])
    res = wp.minimize(f, wp.sets.Simplex(3), start, method="fw", rule=rule, tol=0.5, max_rounds=500)
    assert math.isfinite(res.fun)
    assert 3 * math.log(3) - 1e-9 <= res.fun <= 3 * math.log(3) + res.gap + 1e-9
    assert res.success or isinstance(rule, Fixed | PowerLoop | Monotone | LogOpenLoop)
    assert res.fun < 3.5


@pytest.mark.parametrize("rule", ["monotone", "adaptive", "golden-section", "log-open-loop"])
def test_runs_resume_to_the_same_bits(rule, tmp_path):
    f, K, x0 = small_logistic()
    given = {"method": "fw", "rule": rule, "tol": 0}
    whole = wp.minimize(f, K, x0, max_rounds=24, **given)
    wp.minimize(f, K, x0, max_rounds=9, checkpoint=tmp_path / "run.ckpt", **given)
    rest = wp.resume(tmp_path / "run.ckpt", f, K, max_rounds=24)
    assert rest.x.tobytes() == whole.x.tobytes()


def test_bad_arguments_are_one_sentence():
    f, K, _ = small_simplex()
    with pytest.raises(ValueError, match="ell belongs to the open loop"):
        wp.minimize(f, K, method="fw", rule="monotone", ell=3.0)
    with pytest.raises(TypeError, match="'golden-section'"):
        wp.minimize(f, K, method="fw", rule="golden")
    with pytest.raises(ValueError, match="step must"):
        Fixed(0.0)
    with pytest.raises(TypeError, match="rule must be a step rule"):
        Monotone("open-loop")  # type: ignore[arg-type]
