"""Runs in worker processes, thinned records, and bounds."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.paper import FIGURES, Run, execute, instance
from wolfpack.paper.experiments import COLUMNS, RunsProgress, bound, kept_rounds, solve

RUN = Run("simplex-43", "r-pfw", (("m", "theory"), ("M", 1.0)))


@pytest.mark.parametrize("n", [1, 10, 50, 2_000, 100_000])
def test_kept_rounds_go_from_the_first_to_the_last_through_the_milestones(n):
    rounds = kept_rounds(n)
    assert rounds[0] == 1
    assert rounds[-1] == n
    assert (np.diff(rounds) > 0).all()
    assert rounds.size <= 503
    assert {k for k in (1_000, 10_000, 100_000) if k <= n} <= set(rounds.tolist())


def test_a_record_holds_the_best_gap_over_all_rounds():
    record = solve(RUN, 1_500)
    on = instance(RUN.problem)
    full = wp.minimize(
        on.f,
        on.K,
        on.x0,
        method="r-pfw",
        m="theory",
        M=1.0,
        tol=0,
        max_rounds=1_500,
        record_every=1,
    )
    rounds = record.columns["round"]
    assert set(record.columns) == set(COLUMNS)
    assert np.array_equal(record.columns["gap"], full.history["gap"][rounds])
    own = full.history["fun"] - full.history["lower_bound"]
    best_single = np.minimum.accumulate(own)[rounds]
    assert (record.columns["gap"] <= best_single + 1e-12).all()
    assert record.status == "max_rounds"
    assert 1_000 in rounds


def test_workers_find_the_same_bits_as_this_process_and_tell_where_they_are():
    runs = [RUN, Run("trace-43", "fw"), Run("simplex-43", "fw-ls")]
    seen: list[RunsProgress] = []
    records = execute(runs, 300, workers=2, watch=seen.append)
    assert set(records) == set(runs)
    for run in runs:
        here = solve(run, 300)
        for name in set(COLUMNS) - {"seconds"}:
            assert np.array_equal(
                records[run].columns[name], here.columns[name], equal_nan=name == "alpha"
            )
    fractions = [progress.fraction for progress in seen]
    assert fractions == sorted(fractions)
    assert seen[-1] == RunsProgress(1.0, 3, 3)
    assert not multiprocessing.active_children()


def test_an_error_in_a_worker_ends_all_runs():
    bad = replace(RUN, options=(("m", 0),))
    with pytest.raises(ValueError, match="m must be"):
        execute([bad, RUN], 10**7, workers=2)
    assert not multiprocessing.active_children()


def test_an_interrupt_in_the_parent_ends_the_workers():
    def interrupt(progress: RunsProgress) -> None:
        if progress.fraction > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute([RUN, Run("simplex-43", "fw")], 10**7, workers=2, watch=interrupt)
    assert not multiprocessing.active_children()


def test_the_sharp_bound_is_the_smaller_one_and_both_fall():
    rounds = kept_rounds(100_000)
    for panel in FIGURES["figure1"].panels:
        bounds = {
            (curve.run, curve.bound): bound(curve, rounds) for curve in panel.curves if curve.bound
        }
        for run in {run for run, _ in bounds}:
            paper, sharp = bounds[run, "paper"], bounds[run, "sharp"]
            assert (sharp < paper).all()
            assert (np.diff(paper) <= 0).all()
            assert (np.diff(sharp) <= 0).all()


def test_the_bound_of_figure_1_is_theorem_2():
    panel = FIGURES["figure1"].panels[0]
    curve = next(c for c in panel.curves if c.series == "Theorem 2 m=1/sqrt(alpha)")
    on = instance("simplex-42")
    L, M, alpha, m, k = on.spectral_L, np.sqrt(50), 1e-2, 10, 20_000
    rate = np.exp(-(k - 1) * np.sqrt(alpha) / (8 * np.sqrt(L * M)))
    expected = (
        rate * 2 * L * M / alpha * on.initial_gap
        + 2 / m * np.sqrt(alpha * L / M)
        + alpha * np.log(50)
    )
    assert bound(curve, np.array([k]))[0] == pytest.approx(expected, rel=1e-12)
