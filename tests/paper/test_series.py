"""The series of the figures as data."""

from __future__ import annotations

import pytest

import wolfpack as wp
from wolfpack.paper import FIGURES, Run, instance
from wolfpack.paper.series import REFERENCES, runs_of


def test_figure_1_has_two_smoothings_two_batches_and_two_bounds_for_each():
    figure = FIGURES["figure1"]
    assert [panel.letter for panel in figure.panels] == ["a", "b"]
    runs = runs_of([figure])
    assert {(run.option("alpha"), run.option("m")) for run in runs} == {
        (alpha, m) for alpha in (1e-2, 1e-3) for m in (1, "theory")
    }
    for panel in figure.panels:
        drawn = [(curve.run, curve.bound) for curve in panel.curves]
        assert set(drawn) == {(run, b) for run, _ in drawn for b in (None, "paper", "sharp")}


def test_figure_2_has_both_problems_both_M_and_both_L():
    found = {
        (panel.letter, curve.run.problem, curve.run.option("M"), curve.run.L)
        for panel, curve in FIGURES["figure2"].curves
        if curve.run.method == "r-pfw"
    }
    assert found == {
        ("a", "simplex-43", "paper", "spectral"),
        ("b", "simplex-43", 1.0, "spectral"),
        ("c", "trace-43", "paper", "frobenius"),
        ("d", "trace-43", 1.0, "frobenius"),
        ("c2", "trace-43", "paper", "spectral"),
        ("d2", "trace-43", 1.0, "spectral"),
    }


def test_frank_wolfe_runs_once_for_all_panels_of_a_problem():
    methods = [run.method for run in runs_of(FIGURES.values())]
    assert methods.count("fw") == methods.count("fw-ls") == 3
    assert methods.count("pfw") == 4
    assert methods.count("r-pfw") == 13


def test_names_identify_a_curve_and_references_name_one():
    names = [
        (figure.name, panel.letter, curve.series)
        for figure in FIGURES.values()
        for panel, curve in figure.curves
    ]
    assert len(names) == len(set(names))
    assert {(r.figure, r.letter, r.series) for r in REFERENCES} <= set(names)


@pytest.mark.parametrize(
    "run",
    [
        Run("simplex-43", "fw"),
        Run("simplex-43", "r-pfw", (("m", "theory"), ("M", 1.0))),
        Run("simplex-42", "pfw", (("alpha", 1e-3), ("m", "theory"), ("M", "paper"))),
        Run("trace-43", "r-pfw", (("m", 1), ("M", "paper")), "frobenius"),
        Run("trace-43", "r-pfw", (("m", "theory"), ("M", 1.0)), "frobenius"),
    ],
    ids=lambda run: run.name,
)
def test_oracle_calls_are_predicted_exactly(run):
    on = instance(run.problem)
    rounds = 257
    result = wp.minimize(
        on.f,
        on.K,
        on.x0,
        method=run.method,
        tol=0.0,
        max_rounds=rounds,
        L=run.smoothness(on),
        record_every=rounds,
        **dict(run.options),
    )
    # Frank-Wolfe asks once more, at the last iterate; the others for two certificates
    certificates = 1 if run.method == "fw" else 2
    assert run.oracle_calls(rounds) == result.nlmo - certificates
