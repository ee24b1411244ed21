"""The thorough check of f and K, and its report."""

from __future__ import annotations

import time

import numpy as np
import pytest

import wolfpack as wp

D = 5
SIMPLEX = wp.sets.Simplex(D)


def half_square(x):
    return 0.5 * float(x @ x), x.copy()


def culprits(f, K, x=None):
    report = wp.check(f, K, x, quiet=True)
    assert report.ok is not bool(report.findings)
    return {found.culprit for found in report.findings}


@pytest.mark.parametrize(
    "K",
    [
        SIMPLEX,
        wp.sets.L1Ball(D),
        wp.sets.L2Ball(D),
        wp.sets.Birkhoff(3),
        wp.sets.Permutahedron(np.arange(5.0)),
    ],
    ids=str,
)
def test_nothing_is_found_where_nothing_is_wrong(K):
    f = wp.objectives.Function(lambda x: (0.5 * float((x * x).sum()), x.copy()), L=1.0)
    assert wp.check(f, K, quiet=True).ok


def test_the_report_is_printed_and_returned(capsys):
    report = wp.check(half_square, SIMPLEX)
    assert capsys.readouterr().out == f"{report}\n"
    assert "Nothing wrong was found" in str(report)
    assert "inequalities of convexity: none is violated" in str(report)
    assert report.nfev > 0
    assert f"{report.nfev} evaluations of f and {report.nlmo} oracle calls" in str(report)
    wp.check(half_square, SIMPLEX, quiet=True)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda g: 0.5 * g, "looks like 0.5 times the true one"),
        (lambda g: -g, "its sign is wrong"),
        (lambda g: 0.0 * g, "zero at a point where f is not flat"),
        (lambda g: np.where(np.arange(D) == 2, 0.0, g), "Entry [2] is 0, and a central difference"),
    ],
)
def test_wrong_gradients_are_described(wrong, words):
    def f(x):
        value, gradient = half_square(x)
        return value, wrong(gradient)

    report = wp.check(f, SIMPLEX, quiet=True)
    assert [found.culprit for found in report.findings] == ["gradient"]
    assert words in str(report)


def test_functions_that_are_not_convex_are_found_unless_they_say_so():
    def wells(x):
        return float(((x * x - 1.0) ** 2).sum()), 4.0 * x * (x * x - 1.0)

    box = wp.sets.Box(-2.0 * np.ones(D), 2.0 * np.ones(D))
    assert culprits(wells, box) == {"convexity"}
    assert culprits(wp.objectives.Function(wells, convex=False), box) == set()


def test_a_declared_L_that_is_too_small_is_found():
    assert culprits(wp.objectives.Function(half_square, L=0.5), SIMPLEX) == {"L"}


def test_oracles_that_maximise_leave_K_or_ignore_directions_are_found():
    f = wp.objectives.LeastSquares(np.eye(D), np.ones(D))
    assert "oracle" in culprits(f, wp.sets.Oracle(lambda g: np.eye(D)[g.argmax()], D, 1.0))
    assert "oracle" in culprits(f, wp.sets.Oracle(lambda g: np.eye(D)[0], D, 1.0))

    class TooFar(wp.sets.Simplex):
        def _lmo(self, g):
            return wp.sets.Simplex(self.shape[0], radius=2.0)._lmo(g)

    assert {"oracle", "set"} <= culprits(f, TooFar(D))


def test_batches_that_differ_from_single_answers_are_found():
    def lmo(g):
        i = g.argmin(-1) if g.ndim == 1 else np.zeros(len(g), int)
        return np.eye(D)[i]

    K = wp.sets.Oracle(lmo, D, 1.0, batched=True, contains=lambda x: True)
    report = wp.check(half_square, K, np.full(D, 1 / D) - 0.4, quiet=True)
    assert any("In a batch" in found.text for found in report.findings)


def test_a_start_outside_K_is_found():
    class Astray(wp.sets.Simplex):
        def start(self):
            return np.ones(self.shape[0])

    report = wp.check(half_square, Astray(D), np.eye(D)[0], quiet=True)
    assert any("K.start() is outside K" in found.text for found in report.findings)


def test_a_domain_is_no_fault():
    def barrier(x):
        if x.min() <= 0.01:
            return np.inf, x
        return -float(np.log(x).sum()), -1.0 / x

    report = wp.check(barrier, SIMPLEX, quiet=True)
    assert report.ok, str(report)
    assert "it has a domain of its own" in str(report)


def test_values_that_are_never_finite_are_found():
    assert culprits(lambda x: (np.nan, x), SIMPLEX) == {"values"}


def test_oracles_are_asked_no_directions_of_other_signs():
    def lmo(g):
        assert g.min() >= 0
        return np.eye(D)[g.argmin()]

    K = wp.sets.Oracle(lmo, D, 1.0, contains=lambda x: True)
    assert culprits(half_square, K) == set()


class Clock:
    """A clock that moves only when it is told to."""

    now = 1000.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize("seconds", [0, 0.5, 7.5, 39.5, 60.5, 300.0])
@pytest.mark.parametrize("slow", ["f", "oracle"])
def test_max_seconds_is_exceeded_by_one_call_at_most(monkeypatch, seconds, slow):
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)

    def f(x):
        clock.now += slow == "f"
        return half_square(x)

    def lmo(g):
        clock.now += slow == "oracle"
        return np.eye(D)[int(g.argmin())]

    K = wp.sets.Oracle(lmo, shape=D, radius=1.0, contains=lambda x: True)
    began = clock.now
    report = wp.check(f, K, np.full(D, 0.2), quiet=True, max_seconds=seconds)
    assert clock.now - began <= np.ceil(seconds)
    assert report.ok
    assert bool(report.left_out) is (seconds < 300)
    assert ("max_seconds left no time" in str(report)) is bool(report.left_out)
    if slow == "f" and 0 < seconds < 300:
        assert report.left_out[0] == "values, gradient and convexity"
        assert f"{report.nfev} evaluations" in str(report)
        assert report.nfev == clock.now - began


def test_what_was_found_before_the_time_was_over_is_told(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)

    def f(x):
        clock.now += 1.0
        return half_square(x)

    K = wp.sets.Oracle(lambda g: np.eye(D)[int(g.argmax())], shape=D, radius=1.0)
    report = wp.check(f, K, np.full(D, 0.2), quiet=True, max_seconds=5)
    assert {found.culprit for found in report.findings} == {"oracle"}
    assert not report.ok
    assert report.left_out == ("values, gradient and convexity", "L")
