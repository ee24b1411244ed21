"""What a run writes while it goes on: readable at any time, at a bounded price, gone when stale."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.loop import live_file
from wolfpack.loop.forecast import GapForecast
from wolfpack.loop.live_file import NAME, LiveFile

F = wp.objectives.LeastSquares(np.diag([3.0, 2.0, 1.0]), np.array([0.93, 0.41, 0.17]))
K = wp.sets.Simplex(3)


@pytest.fixture
def at_once(monkeypatch):
    """Let files be written in every round."""
    for name in ("_LOOK", "_PAUSE"):
        monkeypatch.setattr(live_file, name, 0.0)
    monkeypatch.setattr(live_file, "_SHARE", 1e9)


def facts(folder: Path) -> dict:
    with np.load(folder / NAME) as data:
        return json.loads(str(data["facts"]))


@pytest.mark.parametrize("method", ["fw", "anytime", "corrective"])
def test_the_result_so_far_can_be_loaded_in_every_round(method, tmp_path, at_once):
    seen = []

    def look(intermediate_result):
        if (tmp_path / NAME).exists():
            found = wp.load(tmp_path / NAME)
            assert found.status is None
            assert found.method == method
            assert found.nit < intermediate_result.nit
            assert found.fun == pytest.approx(F(found.x)[0])
            assert found.gap >= intermediate_result.gap
            seen.append(found.nit)

    res = wp.minimize(F, K, method=method, tol=1e-9, max_rounds=30, callback=look, watch=tmp_path)
    assert seen == sorted(seen)
    assert len(seen) >= min(res.nit, 2)
    last = wp.load(tmp_path / NAME)
    assert (last.status, last.nit, last.gap) == (res.status, res.nit, res.gap)


def test_writing_changes_no_bit_of_the_run(tmp_path, at_once):
    settings = {"method": "anytime", "m": 4, "max_rounds": 20, "tol": 0.0}
    alone = wp.minimize(F, K, **settings)
    watched = wp.minimize(F, K, watch=tmp_path / "new" / "folder", **settings)
    assert np.array_equal(alone.x, watched.x)
    assert np.array_equal(alone.history["gap"], watched.history["gap"])


def test_the_other_front_doors_write_too(tmp_path, at_once):
    checkpoint = tmp_path / "run.ckpt"
    H = wp.regularizers.ElasticNet(0.1, mu=1.0)
    first = wp.minimize_composite(F, H, max_rounds=3, tol=0, watch=tmp_path, checkpoint=checkpoint)
    assert wp.load(tmp_path / NAME).nit == first.nit
    second = wp.resume(checkpoint, F, H, max_rounds=5, watch=tmp_path / "again")
    assert wp.load(tmp_path / "again" / NAME).nit == second.nit
    res = wp.minimize_integer(F, wp.sets.Box([0.0] * 3, [2.0] * 3), watch=tmp_path)
    assert wp.load(tmp_path / NAME).nodes == res.nodes


def test_a_short_run_writes_its_end_alone_and_removes_an_older_one(tmp_path, monkeypatch):
    monkeypatch.setattr(live_file, "_PAUSE", 60.0)
    (tmp_path / NAME).write_text("of an earlier run")
    there = []
    look = lambda now: there.append((tmp_path / NAME).exists())  # noqa: E731
    wp.minimize(F, K, method="fw", max_rounds=5, callback=look, watch=tmp_path)
    assert not any(there)
    assert wp.load(tmp_path / NAME).nit == 5


def test_an_error_is_told(tmp_path, at_once):
    def broken(now):
        if now.nit == 4:
            raise RuntimeError("the disk is on fire")

    with pytest.raises(RuntimeError):
        wp.minimize(F, K, method="fw", tol=0, max_rounds=9, callback=broken, watch=tmp_path)
    assert facts(tmp_path)["ended"] == "RuntimeError: the disk is on fire"
    assert wp.load(tmp_path / NAME).nit == 4


def test_large_answers_are_left_out_with_their_shape(tmp_path, at_once, monkeypatch):
    monkeypatch.setattr(live_file, "MAX_ENTRIES", 2)
    wp.minimize(F, K, method="fw", max_rounds=3, watch=tmp_path)
    assert facts(tmp_path)["shape"] == [3]
    assert wp.load(tmp_path / NAME).x.size == 0


def test_files_are_so_rare_that_they_cost_two_percent(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    taken = []

    def slow(columns, state):
        now[0] += 0.5
        taken.append(now[0])
        return {"header": np.array("{}")}

    monkeypatch.setattr(live_file, "as_columns", slow)
    writer, run = LiveFile(tmp_path), wp.minimize(F, K, method="fw", max_rounds=2)

    class Tracker:
        x, gap, seconds, log = run.x, 1.0, 1.0, None
        problem = type("P", (), {"counts": type("C", (), {"nlmo": 1})})
        goal = staticmethod(lambda limits: 0.1)
        result = staticmethod(lambda state, status, message: wp.Result(x=run.x))

    limits = wp.loop.Limits(max_rounds=1000)
    for k in range(2000):
        writer.update(type("S", (), {"k": k}), "fw", Tracker, limits)
        now[0] += 0.1
    assert taken[0] == pytest.approx(101.5, abs=0.3)
    assert np.diff(taken).min() >= 25.0
    assert facts(tmp_path)["pause"] == pytest.approx(25.0 + 0.6, abs=0.6)


def test_a_full_disk_costs_a_warning_and_no_run(tmp_path, at_once, monkeypatch):
    def full(path, durable):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(live_file, "replacing", full)
    with pytest.warns(UserWarning, match=r"watch cannot be written.*the run goes on"):
        res = wp.minimize(F, K, method="fw", tol=0, max_rounds=5, watch=tmp_path)
    assert res.nit == 5


def test_what_cannot_be_watched_is_refused(tmp_path):
    with pytest.raises(ValueError, match="watch must be a path"):
        wp.minimize(F, K, watch=3)
    with pytest.raises(ValueError, match="leave watch out, or starts"):
        wp.minimize(F, K, convex=False, starts=2, watch=tmp_path)


def test_a_limit_that_comes_first_is_the_end():
    pace = GapForecast()
    assert pace.until(1e-3, []) is None
    assert pace.until(1e-3, [7.0, 9.0]) == (7.0, 7.0)
    for t in np.linspace(0.25, 50.0, 200):
        pace.see(t, 1.0 / t)
    low, high = pace.until(1 / 80.0, [1000.0])
    assert (low, high) == (pytest.approx(30.0, rel=0.01), pytest.approx(30.0, rel=0.01))
    assert pace.until(1 / 80.0, [12.0]) == (12.0, 12.0)
    assert pace.until(1e-9, [math.inf]) == (math.inf, math.inf)
