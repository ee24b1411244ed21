"""What the figures show, at a length that a test can afford."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from wolfpack.paper import FIGURES
from wolfpack.paper.experiments import solve
from wolfpack.paper.results import HEADER, Results
from wolfpack.paper.series import REFERENCES, runs_of


@pytest.fixture(scope="module")
def results() -> Results:
    figures = tuple(FIGURES.values())
    return Results(figures, {run: solve(run, 1_000) for run in runs_of(figures)}, 1_000)


def curve_named(results, figure, letter, series):
    return results.curves[figure, letter, series][1]


@pytest.mark.parametrize("reference", REFERENCES, ids=str)
def test_reference_values(results, reference):
    curve = curve_named(results, reference.figure, reference.letter, reference.series)
    if reference.round <= results.rounds:
        gap = results.value(curve, reference.round)
    else:
        gap = solve(curve.run, reference.round).columns["gap"][-1]
    # R-PFW has its own random numbers; Frank-Wolfe on the trace ball is sensitive to rounding
    assert gap == pytest.approx(reference.gap, rel=0.25)


def test_every_measured_curve_of_figure_1_is_below_its_bounds(results):
    for panel in FIGURES["figure1"].panels:
        for curve in panel.curves:
            if curve.bound:
                measured = results.records[curve.run].columns["gap"]
                assert (measured <= results.xy(curve)[1]).all()


def test_with_M_1_and_many_oracles_the_restarted_method_is_ahead_of_frank_wolfe(results):
    for letter in ("b", "d", "d2"):
        many = curve_named(results, "figure2", letter, "R-PFW m=1/sqrt(alpha)")
        fw = curve_named(results, "figure2", letter, "FW")
        assert results.value(many, 1_000) < 0.5 * results.value(fw, 1_000)


def test_M_1_is_faster_than_the_papers_M(results):
    for theory, one in (("a", "b"), ("c", "d"), ("c2", "d2")):
        slow = curve_named(results, "figure2", theory, "R-PFW m=1/sqrt(alpha)")
        fast = curve_named(results, "figure2", one, "R-PFW m=1/sqrt(alpha)")
        assert results.value(fast, 1_000) < 0.2 * results.value(slow, 1_000)


def test_csv_has_every_point_of_every_curve(results, tmp_path):
    figure = FIGURES["figure1"]
    results.write_csv(figure, tmp_path / "figure1.csv")
    with (tmp_path / "figure1.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == HEADER
    for panel, curve in figure.curves:
        x, y = results.xy(curve)
        mine = [r for r in rows if (r["panel"], r["series"]) == (panel.letter, curve.series)]
        assert [int(r["round"]) for r in mine] == x.tolist()
        assert [float(r["gap"]) for r in mine] == y.tolist()
        assert all((r["fun"] == "") == (curve.bound is not None) for r in mine)


def test_charts_have_the_figures_panels_and_lines(results):
    for figure in FIGURES.values():
        chart = results.chart(figure)
        assert [panel.title for panel in chart.panels] == [panel.title for panel in figure.panels]
        for panel, spec in zip(chart.panels, figure.panels, strict=True):
            assert len(panel.lines) == len(spec.curves)
            assert all(np.isfinite(line.y).all() and (line.y > 0).all() for line in panel.lines)


def test_figure_3_shows_that_many_answers_a_round_pay_in_high_dimension(results):
    def last(series):
        return results.last(curve_named(results, "figure3", "c", series))

    assert last("anytime m=256") < 0.1 * last("anytime m=16") < 0.01 * last("FW")
    assert last("anytime m=exact") < 1e-2 * last("anytime m=256")


def test_figure_3_counts_oracle_calls_in_its_lower_row(results):
    figure = FIGURES["figure3"]
    chart = results.chart(figure)
    for panel, spec in zip(chart.panels, figure.panels, strict=True):
        for line, curve in zip(panel.lines, spec.curves, strict=True):
            if curve.bound == "lower":
                continue  # it has a value for every number of calls
            column = results.records[curve.run].columns[spec.against]
            np.testing.assert_array_equal(line.x, column)


def test_figure_3_shows_a_lower_bound_below_every_method_that_mixes_answers(results):
    bounds = {letter: curve_named(results, "figure3", letter, "lower bound") for letter in "cf"}
    rounds, lower = results.xy(bounds["c"])
    assert np.all(lower > 0)
    assert len(rounds) > 100
    for series in ("FW", "FW-LS"):
        measured = results.xy(curve_named(results, "figure3", "c", series))[1][: len(rounds)]
        assert np.all(measured >= lower)
    for series in ("FW", "FW-LS", "R-PFW", "anytime m=1", "anytime m=16", "anytime m=256"):
        columns = results.records[curve_named(results, "figure3", "f", series).run].columns
        at_calls = np.interp(columns["nlmo"], rounds, lower, right=0.0)
        assert np.all(columns["gap"] >= at_calls * (1 - 1e-9))
    # it says something: after 1,000 rounds Frank-Wolfe is within a factor 10 of it
    fw = results.value(curve_named(results, "figure3", "c", "FW-LS"), 1_000)
    assert fw < 10 * results.value(bounds["c"], 1_000)
    exact = results.last(curve_named(results, "figure3", "c", "anytime m=exact"))
    assert exact < 0.1 * results.value(bounds["c"], 1_000)
