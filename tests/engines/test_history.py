"""What the history says of a run with an engine."""

import numpy as np
import pytest

import wolfpack as wp
from engines.cases import Flaky, cube, run
from wolfpack.engines import Processes
from wolfpack.loop.history import COLUMNS, ENGINE_COLUMNS
from wolfpack.report.run_page import run_page

TARGET = np.random.default_rng(0).random((6, 6))
F, K = wp.objectives.Quadratic(1.0, -TARGET), wp.sets.Birkhoff(6)
HOW = {"method": "anytime", "m": 6, "tol": 0, "record_every": 5, "block": 1}


@pytest.fixture(scope="module")
def engine():
    with Processes(2) as processes:
        yield processes


def traffic(log):
    return log["bytes_out"] + log["bytes_in"]


def test_rows_sum_up_the_rounds_since_the_row_before(engine):
    result = wp.minimize(F, K, max_rounds=12, engine=engine, **HOW)
    history, log = result.history, result.engine
    assert list(history) == [*COLUMNS, *ENGINE_COLUMNS]
    assert history["round"].tolist() == [0, 5, 10, 12]
    assert history["workers"].tolist() == [2, 2, 2, 2]
    ends = np.searchsorted(log["round"], [5, 10])
    parts = np.split(traffic(log), ends)
    assert history["bytes"].tolist() == [0, *(part.sum() for part in parts)]
    assert np.isnan(history["busy"][0])
    busy = [part.mean() for part in np.split(log["busy"], ends)]
    np.testing.assert_allclose(history["busy"][1:], busy)


def test_a_lost_worker_shows(tmp_path):
    with Processes(2) as processes:
        result = run(cube(Flaky("kill", tmp_path / "flag")), engine=processes)
    again = result.engine["recomputed"]
    assert again.sum() > 0
    assert result.history["recomputed"].sum() == again.sum()
    assert result.history["stragglers"].sum() == result.engine["stragglers"].sum()


def test_without_an_engine_there_are_no_such_columns():
    history = wp.minimize(F, K, max_rounds=5, **HOW).history
    assert list(history) == list(COLUMNS)
    with pytest.raises(KeyError, match="workers"):
        history["workers"]


def test_resumed_runs_count_what_was_not_recorded_before(engine, tmp_path):
    path = tmp_path / "run.ckpt"
    first = wp.minimize(F, K, max_rounds=7, engine=engine, checkpoint=path, **HOW)
    second = wp.resume(path, F, K, max_rounds=10, engine=engine)
    assert second.history["round"].tolist() == [0, 5, 10]
    assert second.engine["round"].min() == first.engine["round"].max() + 1
    both = traffic(first.engine).sum() + traffic(second.engine).sum()
    assert second.history["bytes"].sum() == both
    busy = np.append(first.engine["busy"], second.engine["busy"])
    np.testing.assert_allclose(second.history["busy"][1:], busy.reshape(2, 5).mean(axis=1))


@pytest.mark.parametrize("before", [True, False])
def test_an_engine_may_come_or_go_when_a_run_is_resumed(before, engine, tmp_path):
    path = tmp_path / "run.ckpt"
    there = {True: engine, False: None}
    wp.minimize(F, K, max_rounds=5, engine=there[before], checkpoint=path, **HOW)
    whole = wp.resume(path, F, K, max_rounds=15, engine=there[not before])
    assert list(whole.history) == [*COLUMNS, *ENGINE_COLUMNS]
    # the row of round 5, where the first run has ended, is the second one's
    assert whole.history["workers"].tolist() == ([2, 0, 0, 0] if before else [0, 2, 2, 2])
    alone = wp.minimize(F, K, max_rounds=15, **HOW).history
    for name in set(COLUMNS) - {"seconds"}:
        np.testing.assert_array_equal(whole.history[name], alone[name])


def test_files_and_pages_have_the_columns(engine, tmp_path):
    result = wp.minimize(F, K, max_rounds=10, engine=engine, **HOW)
    loaded = wp.load(result.save(tmp_path / "run"))
    for name in result.history:
        np.testing.assert_array_equal(loaded.history[name], result.history[name])
    result.history.to_csv(tmp_path / "history.csv")
    lines = (tmp_path / "history.csv").read_text().splitlines()
    assert lines[0].split(",")[-5:] == list(ENGINE_COLUMNS)
    assert lines[-1].split(",")[-2] == str(result.history["bytes"][-1])
    page = run_page(result, K)
    assert ">Stragglers</th>" in page
    assert f"{result.history['bytes'][-1]:,}" in page
    assert ">Stragglers</th>" not in run_page(wp.minimize(F, K, max_rounds=5, **HOW), K)
