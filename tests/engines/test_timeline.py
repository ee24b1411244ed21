"""Who computed which blocks, from when to when, and what became of it."""

from __future__ import annotations

import time
import zlib
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from engines.cases import Corner, Flaky, cube, run
from wolfpack.engines import EngineLog, Processes, Span, Stats, _log


def covered(rows: np.ndarray) -> list[int]:
    return sorted(
        block for row in rows for block in range(row["block_first"], row["block_last"] + 1)
    )


@pytest.mark.parametrize("engine", ["local", "threads:2", "processes:2"])
def test_every_block_of_every_round_has_one_worker(engine):
    log = run(cube(Corner(0.001)), engine=engine).engine
    line, people = log.timeline, log.per_worker
    assert set(line["status"]) <= {"ok", "recomputed", "late"}
    for k in range(12):
        used = line[(line["round"] == k) & (line["status"] != "late")]
        assert covered(used) == list(range(12))
    assert (line["begin_s"] >= 0).all()
    assert (line["end_s"] > line["begin_s"]).all()
    assert set(line["worker"]) == set(people["worker"])
    np.testing.assert_array_equal(people["worker"], np.arange(len(people)))
    assert len(set(people["name"])) == len(people) <= 2
    assert people["ok"].sum() == (line["status"] == "ok").sum()
    assert people["blocks"].sum() == len(covered(line[line["status"] != "late"])) == 144
    # twelve rounds of twelve oracles that sleep a millisecond
    assert people["busy_s"].sum() >= 0.144
    assert (people["last_s"] >= people["first_s"]).all()


def test_slow_blocks_are_handed_out_one_by_one():
    line = run(cube(Corner(0.02)), engine="threads:2", rounds=3).engine.timeline
    later = line[line["round"] > 0]
    assert len(later) >= 24
    np.testing.assert_array_equal(later["block_first"], later["block_last"])


def test_a_worker_that_dies_and_the_one_that_takes_over(tmp_path):
    problem = cube(Flaky("kill", tmp_path / "flag", after=5))
    log = run(problem, engine="processes:2").engine
    line, people = log.timeline, log.per_worker
    (failure,) = line[line["status"] == "failed"]
    again = line[line["status"] == "recomputed"]
    assert set(covered(line[line["status"] == "failed"])) <= set(covered(again))
    assert failure["worker"] not in again["worker"]
    assert people["failed"][failure["worker"]] == 1
    assert people["failed"].sum() == 1
    assert failure["end_s"] > failure["begin_s"] > 0
    assert log["recomputed"].sum() >= failure["block_last"] - failure["block_first"] + 1
    # the dead process does nothing more
    assert (line["end_s"][line["worker"] == failure["worker"]] <= failure["end_s"]).all()


@pytest.mark.slow  # the clock decides, which a busy machine stretches
def test_a_slow_worker_is_a_straggler(tmp_path):
    oracle = Flaky("slow", tmp_path / "flag", after=30)
    oracle.seconds = 0.002  # so that the run is not over before the slow worker answers
    with Processes(2) as engine:
        log = run(cube(oracle), engine=engine, rounds=40).engine
    assert 0 < log["stragglers"].sum() <= log["recomputed"].sum()
    line = log.timeline
    assert "recomputed" in line["status"]
    slow = line[np.argmax(line["end_s"] - line["begin_s"])]
    assert slow["end_s"] - slow["begin_s"] >= 0.3
    assert slow["status"] in ("ok", "late")


class Uneven(Corner):
    """The same oracle, which now and then takes a hundred times as long."""

    def __call__(self, g: np.ndarray) -> np.ndarray:
        if zlib.crc32(g.tobytes()) % 8 == 0:
            time.sleep(0.1)
        return super().__call__(g)


@pytest.mark.slow
def test_blocks_are_not_repeated_because_some_take_longer_than_others():
    log = run(cube(Uneven(0.001)), engine="threads:2", rounds=24).engine
    line = log.timeline
    long = line[line["end_s"] - line["begin_s"] > 0.09]
    assert len(long) > 20
    # until both workers have met one; later an idle worker may take a block that waits behind a
    # long one, and the long ones themselves are not repeated
    later = long[long["round"] >= 8]
    assert set(later["status"]) == {"ok"}
    assert log["recomputed"][8:].sum() <= 0.05 * log["blocks"][8:].sum()


def test_dropped_blocks_are_stragglers(tmp_path):
    problem = cube(Flaky("slow", tmp_path / "flag", after=30))
    log = run(problem, engine="threads:3", stragglers="drop", quorum=0.5, rounds=60).engine
    assert (log["stragglers"] >= log["dropped"]).all()
    assert log["dropped"].sum() > 0


def test_the_round_that_ends_a_run_is_recorded(tmp_path):
    problem = cube(Flaky("kill", tmp_path / "flag", always=True, after=30))
    result = run(problem, engine="processes:2")
    assert result.status == "engine_failure"
    log = result.engine
    assert log["round"][-1] == log["round"].max() == result.nit
    assert log["dropped"][-1] > 0
    assert log.per_worker["failed"].sum() >= 3
    # a worker that was late with an earlier round may have been lost too
    failed = log.timeline["round"][log.timeline["status"] == "failed"]
    assert (failed == result.nit).sum() >= 3


def test_certificates_asked_of_workers_are_round_minus_one():
    log = run(cube(), engine="threads:2", oracle_timeout=30.0).engine
    assert (log.timeline["round"] == -1).sum() >= 3
    assert -1 not in log["round"]


def test_a_callback_sees_the_log_grow():
    seen: list[tuple[int, int, int]] = []

    def look(intermediate_result: wp.Result) -> None:
        log = intermediate_result.engine
        seen.append((intermediate_result.nit, log.alive, len(log.timeline)))

    run(cube(), engine="threads:3", callback=look)
    assert [alive for _, alive, _ in seen] == [3] * len(seen)
    assert [k for k, _, _ in seen] == [0, 4, 8, 12]
    assert 0 == seen[0][2] < seen[1][2] < seen[2][2] < seen[3][2]
    found: list[Any] = []
    run(cube(), callback=lambda intermediate_result: found.append(intermediate_result.engine))
    assert found[-1] is None


def test_memory_is_bounded_and_totals_are_not():
    log, count = EngineLog("test"), _log.MAX_SPANS + 500
    for k in range(count):
        log.add(k, 2, 0, Stats(1, spans=(Span(k, "it", 0, 1, k, k + 0.5),)))
    assert len(log.timeline) == _log.MAX_SPANS
    assert log.timeline["round"][-1] == count - 1
    assert log.per_worker["ok"][0] == count
    assert log.per_worker["busy_s"][0] == 0.5 * count


def test_an_empty_log_and_its_csv(tmp_path):
    log = EngineLog("test")
    assert len(log.timeline) == len(log.per_worker) == 0
    run(cube(), engine="threads:2").engine.to_csv(tmp_path / "engine.csv")
    table = np.genfromtxt(tmp_path / "engine.csv", delimiter=",", names=True)
    assert table.dtype.names == tuple(log)
    assert len(table) == 12
