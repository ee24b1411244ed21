"""Histories: compact, thinned by a rule, and out of a callback's reach."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.engines._rows import Rows
from wolfpack.loop import History
from wolfpack.loop.history import COLUMNS, ENGINE_COLUMNS, TREE_COLUMNS


def row(k: int, fun: float, bound: float = 0.0) -> tuple[float, ...]:
    return (k, 0.1 * k, fun, bound, fun - bound, k, k, 2 * k, np.nan, 0)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(History, "max_rows", 64)
    monkeypatch.setattr(History, "kept_at_first", 4)


def test_rows_are_compact_and_views_are_apart():
    rows = Rows(2, [(1, 2.0), (3, 4.0)])
    early = rows.view()
    rows.append((5, np.inf))
    assert list(early) == [(1.0, 2.0), (3.0, 4.0)]
    assert len(rows) == 3
    early.append((7, 8.0))
    assert rows[2] == (5.0, np.inf)
    assert early[2] == (7.0, 8.0)
    assert early[-1] == early[2]
    assert list(rows[1:]) == [(3.0, 4.0), (5.0, np.inf)]
    assert list(rows[:1]) == [(1.0, 2.0)]
    table = rows.table()
    table[:] = 0.0
    rows.append((9, 9))  # what NumPy borrowed was given back
    assert rows[0] == (1.0, 2.0)
    with pytest.raises(IndexError):
        rows[4]


def test_columns_have_their_types(tmp_path):
    history = History()
    history.add(row(0, 2.0))
    history.add(row(1, 1.0), (3, 0, 1, 500, 0.5))
    assert tuple(history) == COLUMNS + ENGINE_COLUMNS
    assert history["workers"].tolist() == [0, 3]
    assert history["workers"].dtype == np.int64
    assert history["nlmo"].dtype == np.int64
    assert history["fun"].dtype == np.float64
    assert np.isnan(history["busy"][0])
    history.to_csv(tmp_path / "history.csv")
    lines = (tmp_path / "history.csv").read_text().splitlines()
    assert lines[2].startswith("1,0.1,1.0,0.0,1.0,1,1,2,nan,0.0,3,")
    again = History.from_columns(dict(history))
    np.testing.assert_array_equal(again.rows.table(), history.rows.table())
    with pytest.raises(ValueError, match="equal lengths"):
        History.from_columns(dict(history) | {"round": np.zeros(5)})


def test_a_resumed_tree_may_get_columns_later():
    history = History()
    history.add(row(0, 3.0))
    history.add(row(1, 2.0), tree=(7,))
    history.add(row(2, 1.0), (3, 0, 1, 500, 0.5), (5,))
    history.add(row(3, 1.0))
    assert tuple(history) == COLUMNS + TREE_COLUMNS + ENGINE_COLUMNS
    assert history["open"].tolist() == [0, 7, 5, 0]
    assert history["workers"].tolist() == [0, 0, 3, 0]
    assert history["fun"].tolist() == [3.0, 2.0, 1.0, 1.0]


def test_a_long_history_keeps_first_last_and_best_rows(small):
    history = History()
    for k in range(1000):
        history.add(row(k, 1.0 + abs(k - 137) / 1000.0, -abs(k - 411.0)))
        assert len(history.rows) < 64
        assert history["round"][-1] == k
    rounds = history["round"]
    assert rounds[:4].tolist() == [0, 1, 2, 3]
    assert (np.diff(rounds) > 0).all()
    assert 137 in rounds
    assert history["fun"].min() == 1.0
    assert 411 in rounds
    assert history["lower_bound"].max() == 0.0
    # evenly spread: no stretch of the run is lost
    assert np.diff(rounds).max() <= 4 * 1000 / 32


def test_thinning_leaves_a_checkpoints_rows_alone(small):
    history = History()
    for k in range(63):
        history.add(row(k, 1.0))
    kept = history.view()
    history.add(row(63, 1.0))
    assert len(history.rows) < 63
    assert kept["round"].tolist() == list(range(63))


@pytest.mark.slow
def test_a_million_rounds_take_little_memory():
    history = History()
    for k in range(10**6):
        history.add(row(k, 1.0 / (k + 1.0)))
    assert len(history.rows) <= 2**17
    assert sys.getsizeof(history.rows._data) < 20e6
    assert history["round"][-1] == 10**6 - 1


def test_thinned_runs_resume_to_the_same_bits(small, tmp_path):
    f, K = wp.objectives.Quadratic(1.0, -np.linspace(-1.0, 1.0, 5)), wp.sets.Simplex(5)
    run: dict[str, Any] = {"method": "fw", "tol": 0}
    path = tmp_path / "run.ckpt"
    whole = wp.minimize(f, K, max_rounds=300, **run)
    wp.minimize(f, K, max_rounds=170, checkpoint=path, **run)
    res = wp.resume(path, f, K, max_rounds=300)
    for name in set(COLUMNS) - {"seconds"}:
        np.testing.assert_array_equal(res.history[name], whole.history[name])


METHODS = ["fw", "away", "lazy", "anytime", "corrective", "projected", "momentum", "cgs", "r-pfw"]


@pytest.mark.parametrize("method", METHODS)
def test_callbacks_cannot_write_into_a_run(method):
    f = wp.objectives.LeastSquares(np.eye(6)[:5], np.linspace(-0.3, 0.9, 5))
    K = wp.sets.Simplex(6)
    options: dict[str, Any] = {"m": 3} if method in ("anytime", "corrective", "r-pfw") else {}
    run: dict[str, Any] = {"method": method, "tol": 0, "max_rounds": 12, **options}
    written = 0

    def spoil(value: Any) -> None:
        nonlocal written
        if isinstance(value, np.ndarray) and value.size:
            with pytest.raises(ValueError, match="read-only"):
                value[...] = 7.0
            written += 1
        elif isinstance(value, tuple | list):
            for entry in value:
                spoil(entry)
        elif type(value).__module__.startswith("wolfpack"):
            for entry in vars(value).values():
                spoil(entry)

    def callback(intermediate_result: wp.Result) -> None:
        spoil(intermediate_result.x)
        spoil(intermediate_result.state)
        history = intermediate_result.history
        history["fun"][:] = -1.0
        history.add(row(10**6, -5.0))
        intermediate_result.x = np.zeros(6)
        intermediate_result.gap = 0.0

    plain = wp.minimize(f, K, **run)
    res = wp.minimize(f, K, callback=callback, **run)
    assert written > 0
    assert (res.x == plain.x).all()
    assert res.gap == plain.gap
    for name in set(COLUMNS) - {"seconds"}:
        np.testing.assert_array_equal(res.history[name], plain.history[name])


def test_a_callback_may_keep_what_it_saw():
    f, K = wp.objectives.Quadratic(1.0, -np.linspace(-1.0, 1.0, 5)), wp.sets.Simplex(5)
    seen: list[wp.Result] = []
    wp.minimize(f, K, method="fw", tol=0, max_rounds=5, callback=seen.append)
    assert [len(now.history["round"]) for now in seen] == [1, 2, 3, 4, 5, 6]
    assert all(f.value(now.x) == now.fun for now in seen)


def test_composite_callbacks_cannot_write_either():
    G = wp.objectives.LeastSquares(np.eye(4), np.arange(4.0))

    def callback(intermediate_result: wp.Result) -> None:
        for array in (intermediate_result.x, intermediate_result.state.z):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 7.0

    wp.minimize_composite(G, wp.regularizers.SquaredNorm(1.0), callback=callback, max_rounds=5)


def test_results_of_earlier_versions_are_read(tmp_path):
    import json

    f, K = wp.objectives.Quadratic(1.0, -np.linspace(-1.0, 1.0, 5)), wp.sets.Simplex(5)
    res = wp.minimize(f, K, method="fw", tol=0, max_rounds=5)
    path = res.save(tmp_path / "result")
    assert wp.load(path).solver_seconds == res.solver_seconds
    with np.load(path) as data:
        parts = dict(data)
    header = json.loads(str(parts["header"]))
    del header["solver_seconds"]
    parts["header"] = np.array(json.dumps(header))
    np.savez(tmp_path / "old.npz", **parts)
    assert wp.load(tmp_path / "old.npz").solver_seconds == res.seconds
