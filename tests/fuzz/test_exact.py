"""The exact arithmetic agrees with itself, and the judge finds what is wrong."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from fuzz import exact
from fuzz.analytic import analytic_problem
from fuzz.problem import Problem, judge
from fuzz.rational import box, l1_ball, moved, rational_problem, simplex
from fuzz.runs import FUZZES, draw_settings, join, runs, tally


@pytest.mark.parametrize("make", [box, simplex, l1_ball, moved])
def test_formulas_agree_with_the_search_over_all_faces(make):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        place = make(rng, 3, np.asarray)
        target = place.centre + place.width * rng.standard_normal(3)
        form = exact.scaled_identity(0.5, -0.5 * target, 1.0)
        assert form(place.nearest(form)) == exact.hull_minimum(form, place.vertices)


def test_the_search_finds_minima_of_singular_quadratics():
    form = exact.least_squares([[1.0, 1.0]], [0.5])
    square = exact.matrix([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert exact.hull_minimum(form, square) == 0
    assert exact.hull_minimum(form, exact.matrix([[1.0, 0.0], [1.0, 1.0]])) == Fraction(1, 8)


@pytest.mark.parametrize("z", [-90.0, -1.5, 0.0, 0.25, 40.0])
def test_softplus_and_exp(z):
    assert float(exact.softplus(Fraction(z))) == pytest.approx(np.logaddexp(0, z), rel=1e-15)
    assert float(exact.exp(Fraction(z))) == pytest.approx(math.exp(z), rel=1e-15)


@pytest.mark.parametrize("make", [rational_problem, analytic_problem])
def test_exact_values_are_those_of_the_library(make):
    for seed in range(60):
        problem = make(np.random.default_rng(seed))
        x = np.asarray(problem.starts[0], dtype=np.float64)
        value = problem.f(x)[0] if callable(problem.f) else problem.f.value(x)
        scale = problem.K.radius**2 * (problem.options.get("L") or problem.f.L) + 1.0
        assert abs(value - float(problem.value(exact.vector(x)))) <= 1e-11 * scale


def _judged(**changes: Any) -> list[str]:
    """Return the faults of a good result with some fields changed; its true error is 0.125."""
    form = exact.scaled_identity(1.0, [Fraction(0)], 0.0)
    K = wp.sets.Box([0.5], [2.0])
    problem = Problem("", "", None, K, form, Fraction(1, 8))
    f = wp.objectives.Quadratic(1.0, np.zeros(1))
    res = wp.minimize(f, K, np.array([2.0]), method="fw-ls", max_rounds=3)
    res.x, res.fun, res.lower_bound, res.gap = np.sqrt([0.5]), 0.25, 0.12, 0.13
    res.status, res.success, res.nit = "max_rounds", False, 3
    for name, value in changes.items():
        setattr(res, name, value)
    return judge(problem, res, 1e-3, None, 3).faults


def test_a_good_result_has_no_faults():
    assert _judged() == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"gap": 0.124, "lower_bound": 0.1249}, "true error 0.125 exceeds gap 0.124"),
        ({"gap": 0.0}, "is not positive"),
        ({"gap": -1.0}, "is not positive"),
        ({"gap": math.nan}, "is not positive"),
        ({"lower_bound": 0.125 + 1e-16, "gap": 1.0}, "exceeds the minimum"),
        ({"lower_bound": math.nan}, "lower bound nan"),
        ({"lower_bound": -1.0}, "below fun - lower_bound"),
        ({"x": np.array([0.4]), "fun": 0.08}, "violates the constraints"),
        ({"success": True}, "success is True with status max_rounds"),
        ({"success": True, "status": "converged"}, "converged with gap 0.13 above 0.001"),
        ({"status": "contradiction"}, "status contradiction"),
        ({"nit": 2}, "max_rounds in round 2 of 3"),
    ],
)
def test_faults_are_found(changes, fault):
    assert fault in "; ".join(_judged(**changes))


def test_a_bound_that_is_too_high_is_found(monkeypatch):
    honest = wp.problem.Problem.dual_bound
    raised = lambda *arguments: honest(*arguments) + 1e-9  # noqa: E731
    monkeypatch.setattr(wp.problem.Problem, "dual_bound", raised)
    found = [run for run in runs(analytic_problem, 0, range(60)) if run.verdict.faults]
    assert len(found) > 5


def test_a_run_is_named_by_its_index():
    (first,) = runs(rational_problem, 3, range(9, 10))
    *_, again = runs(rational_problem, 3, range(10))
    assert str(first) == str(again)
    assert (
        first.settings["method"]
        == draw_settings(np.random.default_rng([3, 2, 9]), first.problem)["method"]
    )
    assert first.verdict == replace(again.verdict)


def test_tallies_of_parts_add_up_to_those_of_the_whole():
    """So that a benchmark may share its runs among processes."""
    make = FUZZES["rational"]()

    def part(start, end):
        return tally(runs(make, 1, range(start, end)), print)

    assert join([part(0, 8), part(8, 24)]) == part(0, 24)
