"""Curves of results, tables of rounds, and what notebooks show."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import wolfpack as wp


def problem():
    target = np.random.default_rng(0).random((8, 8))
    return wp.objectives.Quadratic(1.0, -target), wp.sets.Birkhoff(8)


@pytest.fixture(scope="module")
def runs():
    f, K = problem()
    return [wp.minimize(f, K, method=m, tol=1e-3, max_rounds=80) for m in ("fw", "bpcg")]


@pytest.fixture
def axes():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    yield pyplot.subplots()[1]
    pyplot.close("all")


def test_plot_draws_the_gap_of_each_run(runs, axes):
    assert wp.plot(runs, "nlmo", labels=["one", "two"], ax=axes) is axes
    assert [line.get_label() for line in axes.lines] == ["one", "two"]
    for line, run in zip(axes.lines, runs, strict=True):
        assert np.array_equal(line.get_xdata(), run.history["nlmo"])
        assert np.array_equal(line.get_ydata(), run.history["gap"])
    assert axes.get_yscale() == "log"
    assert axes.get_xlabel() == "oracle calls"


def test_the_band_holds_the_value_and_the_bound(runs, axes):
    runs[0].plot(kind="band", ax=axes)
    best, bound = (line.get_ydata() for line in axes.lines)
    assert best[-1] == pytest.approx(runs[0].fun)
    assert bound[-1] == pytest.approx(runs[0].lower_bound, abs=1e-9)
    assert (np.diff(best) <= 1e-12).all()
    assert (np.diff(bound) >= 0).all()


def test_new_axes_are_made_when_none_are_given(runs, axes):
    assert runs[0].plot() is not axes


@pytest.fixture(scope="module")
def tree():
    rng = np.random.default_rng(2)
    f = wp.objectives.LeastSquares(rng.standard_normal((9, 6)), 3.0 * rng.standard_normal(9))
    return wp.minimize_integer(f, wp.sets.Box(np.full(6, -2.0), np.full(6, 2.0)))


def test_a_tree_is_drawn_with_its_open_nodes(tree, axes):
    history = tree.history
    tree.plot("seconds", kind="tree", ax=axes)
    best, bound = (line.get_ydata() for line in axes.lines)
    assert np.array_equal(best, history["fun"])
    assert np.array_equal(bound, np.maximum.accumulate(history["lower_bound"]))
    (right,) = (other for other in axes.figure.axes if other is not axes)
    assert right.get_ylim()[0] == 0.0
    assert right.dataLim.y1 == history["open"].max()
    low, high = axes.get_ylim()
    assert low <= tree.lower_bound <= tree.fun <= high
    assert axes.get_xlabel() == "seconds"
    assert tree.plot(ax=axes).get_xlabel() == "nodes solved"


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"kind": "tree"}, "kind='tree' needs results of minimize_integer"),
        ({"x": "time"}, "x must be"),
        ({"kind": "error"}, "kind must be"),
        ({"labels": ["only one"]}, "one name per result, found 1 for 2"),
    ],
)
def test_what_cannot_be_drawn_is_said(runs, arguments, found):
    with pytest.raises((TypeError, ValueError), match=found):
        wp.plot(runs, **arguments)


def test_only_results_can_be_drawn():
    with pytest.raises(TypeError, match="results of wolfpack"):
        wp.plot([1.0])


def test_report_is_a_page(runs, tmp_path):
    path = runs[0].report(tmp_path / "run.html", title="Eight by eight")
    page = path.read_text(encoding="utf-8")
    assert "<h1>Eight by eight</h1>" in page
    assert repr(float(runs[0].fun)) in page


def test_notebooks_show_the_numbers(runs):
    html = runs[0]._repr_html_()
    assert f"{runs[0].gap:.3g}" in html
    assert html.count("<tr>") == html.count("</tr>") == 8


def test_verbose_prints_a_table_that_ends_with_the_last_round(capsys):
    f, K = problem()
    res = wp.minimize(f, K, method="fw", tol=0.0, max_rounds=77, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    rounds = [int(line.split()[0]) for line in lines[1:]]
    assert rounds == [0, 1, 2, 5, 10, 20, 50, 77]
    assert float(lines[-1].split()[1]) == pytest.approx(res.fun, rel=1e-5)
    assert float(lines[-1].split()[3]) == pytest.approx(res.gap, rel=1e-2)


def test_every_run_is_logged(caplog):
    f, K = problem()
    with caplog.at_level(logging.INFO, logger="wolfpack"):
        wp.minimize(f, K, method="fw", max_rounds=3)
    assert caplog.messages == ["fw: max_rounds after 3 rounds"]


def test_objectives_say_what_they_are():
    f = wp.objectives.LeastSquares(np.eye(4, 3), np.ones(4))
    assert repr(f) == "LeastSquares(x of shape (3,), 4 observations)"


@pytest.mark.extras
def test_histories_are_tables_for_pandas(runs):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(runs[0].history)
    assert list(table.columns) == list(runs[0].history)
    assert np.array_equal(table["gap"], runs[0].history["gap"])


def test_functions_and_sets_say_what_they_are():
    def risk(x):
        return float(x @ x), 2 * x

    assert repr(wp.objectives.as_objective(risk)) == "Function(risk)"
    assert repr(wp.objectives.Function(risk, shape=(3,))) == "Function(risk, x of shape (3,))"
    html = wp.sets.Simplex(4)._repr_html_()
    assert "<td>Simplex(4" in html
    assert "projection</th><td>yes" in html
    assert "with gumbel noise" in html
    assert "projection</th><td>no" in wp.sets.SpanningTree([(0, 1), (1, 2)])._repr_html_()
