"""Theorems 1, 2 and 3: values, order of strength, limits, agreement with each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wolfpack import theory

COMPOSITE = {"beta": 20.0, "mu": 0.1, "nu": 0.5, "divergence": 3.0, "variance": 0.2}
PFW = {"L": 30.0, "R": 1.0, "M": 1.0, "alpha": 0.01, "m": 10, "initial_gap": 5.0, "s1": 4.0}
K = np.array([1, 2, 10, 100, 1000, 10_000])


def test_theorem_1_as_printed():
    root = math.sqrt(20.0) + math.sqrt(0.1)
    front = root / (0.5 * math.sqrt(20.0))
    first = front * math.exp(-9 * math.sqrt(0.1) / (4 * root)) * 20.0 * 3.0
    expected = first + 0.2 / (2 * math.sqrt(2.0))
    assert theory.bound_composite(10, **COMPOSITE) == pytest.approx(expected, rel=1e-14)


def test_theorem_2_as_printed():
    decay = math.exp(-9 * math.sqrt(0.01) / (8 * math.sqrt(30.0))) * 2 * 30.0 * 1.0 / 0.01 * 5.0
    expected = decay + 2.0 / 10 * math.sqrt(0.01 * 30.0) + 0.01 * 4.0
    assert theory.bound_pfw(10, **PFW) == pytest.approx(expected, rel=1e-14)
    with_norm = theory.bound_pfw(10, **PFW, rho=3.0)
    assert with_norm - expected == pytest.approx(2 * 2.0 / 10 * math.sqrt(0.3), rel=1e-10)


@pytest.mark.parametrize("constants", ["paper", "sharp"])
@pytest.mark.parametrize("beta_over_mu", [1e-2, 1.0, 1e2, 1e6])
def test_exponentials_are_above_the_exact_weights(constants, beta_over_mu):
    problem = COMPOSITE | {"beta": 0.1 * beta_over_mu, "variance": 0.0}
    loose = theory.bound_composite(K, **problem, constants=constants)
    exact = theory.bound_composite(K, **problem, exact_weights=True)
    assert np.all(loose >= exact * (1 - 1e-12))
    assert np.all(np.diff(loose) <= 0)
    if constants == "sharp":
        assert np.all(loose <= theory.bound_composite(K, **problem) * (1 + 1e-12))


def test_sharp_rate_is_the_rate_of_the_weights():
    problem = {"beta": 100.0, "mu": 1.0, "nu": 1.0, "divergence": 1.0}
    sharp = theory.bound_composite([400, 401], **problem, constants="sharp")
    exact = theory.bound_composite([400, 401], **problem, exact_weights=True)
    assert sharp[1] / sharp[0] == pytest.approx(exact[1] / exact[0], rel=1e-9)


@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 1.0, 29.9, 30.1, 300.0])
def test_theorem_2_strengths_are_ordered(alpha):
    problem = PFW | {"alpha": alpha}
    paper = theory.bound_pfw(K, **problem)
    paper_exact = theory.bound_pfw(K, **problem, exact_weights=True)
    sharp = theory.bound_pfw(K, **problem, constants="sharp")
    sharp_exact = theory.bound_pfw(K, **problem, constants="sharp", exact_weights=True)
    up = 1 + 1e-12
    assert np.all(paper_exact <= paper * up)
    assert np.all(sharp <= paper * up)
    assert np.all(sharp_exact <= sharp * up)
    assert np.all(sharp_exact <= paper_exact * up)
    assert np.all(np.diff(paper) <= 0)


def test_theorem_2_is_continuous_where_its_assumption_ends():
    below = theory.bound_pfw(50, **PFW | {"alpha": 30.0 * (1 - 1e-12)})
    above = theory.bound_pfw(50, **PFW | {"alpha": 30.0 * (1 + 1e-12)})
    assert above == pytest.approx(below, rel=1e-9)


def test_limits():
    floor = theory.bound_pfw(10**9, **PFW | {"m": math.inf})
    assert floor == pytest.approx(PFW["alpha"] * PFW["s1"])
    assert theory.bound_composite(10**6, **COMPOSITE) == pytest.approx(0.2 / (2 * math.sqrt(2.0)))
    # weights beyond the range of a float contribute nothing, and no NaN
    assert theory.bound_composite(20_000, **COMPOSITE, exact_weights=True) == pytest.approx(
        0.2 / (2 * math.sqrt(2.0))
    )


def test_scalars_give_floats_and_arrays_give_arrays():
    assert isinstance(theory.bound_pfw(3, **PFW), float)
    assert theory.bound_pfw([[3, 4]], **PFW).shape == (1, 2)


@pytest.mark.parametrize("constants", ["paper", "sharp"])
@pytest.mark.parametrize("epsilon", [30.0, 1.0, 1e-2, 1e-4])
@pytest.mark.parametrize("m", [1, 30])
def test_parameters_reach_the_target(constants, epsilon, m):
    problem = {"L": 30.0, "R": 0.7, "M": 2.0, "initial_gap": 5.0, "s1": 4.0}
    rho = 2.5 if constants == "paper" else 1.0
    choice = theory.parameters_for(epsilon, m=m, rho=rho, constants=constants, **problem)
    settings = {"alpha": choice.alpha, "m": choice.m, "constants": constants, "rho": rho}
    assert choice.m == m
    assert theory.bound_pfw(choice.rounds, **settings, **problem) <= epsilon
    if choice.rounds > 2:  # no more rounds than the first term needs
        quiet = problem | {"s1": 0.0}
        first = theory.bound_pfw(choice.rounds - 1, **settings | {"m": math.inf}, **quiet)
        assert first > epsilon / 3 * (1 - 1e-9)


def test_theorem_3_as_printed():
    problem = {"L": 30.0, "R": 0.7, "M": 2.0, "initial_gap": 5.0, "s1": 4.0}
    epsilon, m, rho = 0.05, 3, 1.7
    alpha = min(epsilon / 12.0, 2.0 * epsilon**2 * m**2 / (36 * 30.0 * 0.7**3 * rho**2))
    T = 1 + 8 * math.sqrt(42.0 / alpha) * math.log(6 * 42.0 * 5.0 / (epsilon * alpha))
    choice = theory.parameters_for(epsilon, m=m, rho=rho, **problem)
    assert choice.alpha == pytest.approx(alpha, rel=1e-14)
    assert choice.rounds == math.ceil(T)


def test_sharp_parameters_need_fewer_rounds():
    problem = {"L": 30.0, "R": 1.0, "m": 10, "initial_gap": 5.0, "s1": 4.0}
    paper = theory.parameters_for(1e-2, M=math.sqrt(50.0), **problem)
    sharp = theory.parameters_for(1e-2, M=1.0, constants="sharp", **problem)
    assert sharp.rounds * 10 < paper.rounds


def test_parameters_at_the_optimum_and_for_a_point():
    at_optimum = theory.parameters_for(0.1, L=1.0, R=1.0, M=1.0, m=1, initial_gap=0.0, s1=1.0)
    assert at_optimum.rounds == 1
    no_bias = theory.parameters_for(0.1, L=1.0, R=1.0, M=1.0, m=9, initial_gap=1.0, s1=0.0)
    assert 0 < no_bias.alpha <= 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must be an integer .* >= 1 .*, found 0"),
        ({"k": [1, -3]}, "k must be an integer"),
        ({"k": []}, "k must be an integer"),
        ({"L": 0.0}, "L must be a positive finite number"),
        ({"R": -1.0}, "R must be"),
        ({"M": math.inf}, "M must be"),
        ({"alpha": 0.0}, "alpha must be a positive finite number, found 0.0"),
        ({"m": 0}, "m must be a number >= 1, found 0"),
        ({"initial_gap": -1.0}, "initial_gap must be a number >= 0"),
        ({"s1": None}, "s1 must be a number >= 0, found None"),
        ({"constants": "tight"}, "constants must be 'paper' or 'sharp', found 'tight'"),
        ({"rho": 0.5}, "rho must be a number >= 1"),
        ({"constants": "sharp", "rho": 2.0}, "rho must be 1, found 2.0"),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        theory.bound_pfw(**{"k": 5, **PFW} | change)


def test_sharp_theorem_2_term_by_term():
    # the noise is R^2 / (2 m) sqrt(alpha L / (R M)), a quarter of the paper's
    problem = PFW | {"R": 0.7, "M": 2.0}
    parts = {"initial_gap": 0.0, "s1": 0.0}
    noise = theory.bound_pfw(7, **problem | parts, constants="sharp")
    assert noise == pytest.approx(0.7**2 / 20 * math.sqrt(0.01 * 30.0 / 1.4), rel=1e-12)
    paper = theory.bound_pfw(7, **problem | parts)
    assert paper == pytest.approx(4 * noise, rel=1e-12)
    bias = theory.bound_pfw(7, **problem | {"initial_gap": 0.0, "m": math.inf}, constants="sharp")
    assert bias == pytest.approx(0.01 * 4.0, rel=1e-12)


@pytest.mark.parametrize("m", [1, 2, 7, math.inf])
def test_sharp_theorem_3_as_printed(m):
    problem = {"L": 30.0, "R": 0.7, "M": 2.0, "initial_gap": 5.0, "s1": 4.0}
    epsilon = 0.05
    entries = [epsilon / 12.0, 30.0 * 1.4]
    if m < math.inf:
        entries.append(4 * 1.4 * epsilon**2 * m**2 / (9 * 30.0 * 0.7**4))
    choice = theory.parameters_for(epsilon, m=m, constants="sharp", **problem)
    assert choice.alpha == pytest.approx(min(entries), rel=1e-12)
    assert choice.m == m


@pytest.mark.parametrize("constants", ["paper", "sharp"])
def test_best_m_balances_noise_and_bias(constants):
    problem = {"L": 3e4, "R": 2.0, "M": 0.3, "s1": 0.02}
    alpha = 1e-4
    best = theory.best_m(**problem, alpha=alpha, constants=constants)
    noise = theory.bound_pfw(
        1, **problem | {"s1": 0.0}, alpha=alpha, m=best, initial_gap=0.0, constants=constants
    )
    assert best > 1000
    assert noise == pytest.approx(alpha * problem["s1"], rel=2 / best)
    # units: f in cents, x in millimetres
    for f, x in ((100.0, 1.0), (1.0, 1000.0)):
        # alpha is compared with gradients, f / x
        scaled = {"L": 3e4 * f / x**2, "R": 2.0 * x, "M": 0.3, "s1": 0.02 * x}
        assert theory.best_m(**scaled, alpha=alpha * f / x, constants=constants) == best


def test_more_oracles_than_the_best_m_save_no_rounds():
    problem = {"L": 300.0, "R": 1.0, "M": 1.0, "s1": 4.0}
    best = theory.best_m(**problem, epsilon=1e-3)

    def rounds(m):
        return theory.parameters_for(
            1e-3, m=m, initial_gap=1.0, constants="sharp", **problem
        ).rounds

    assert rounds(best) == rounds(math.inf) == rounds(100 * best)
    assert rounds(best // 2) > 1.9 * rounds(best)  # as many calls as before, in twice the rounds
    assert rounds(best // 2) < 2.4 * rounds(best)
    assert theory.best_m(**problem | {"s1": 0.0}, alpha=1.0) == 1
    for target in ({}, {"alpha": 1.0, "epsilon": 1.0}):
        with pytest.raises(ValueError, match="needs one of alpha and epsilon"):
            theory.best_m(**problem, **target)


def test_bad_target():
    problem = {"L": 1.0, "R": 1.0, "M": 1.0, "m": 1, "initial_gap": 1.0, "s1": 1.0}
    with pytest.raises(ValueError, match="epsilon must be a positive finite number, found 0"):
        theory.parameters_for(0, **problem)
    with pytest.raises(ValueError, match="m must be an integer"):
        theory.parameters_for(0.1, **problem | {"m": 1.5})
