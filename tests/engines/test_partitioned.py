"""Blocks of data on every engine: the same bits, also when workers die or misbehave."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from engines.blocks import CUTS, D, arrays, check, loaded, reference, solve
from engines.cases import digest
from wolfpack.engines import Processes, _rescue
from wolfpack.engines._homes import Homes
from wolfpack.objectives import Partitioned
from wolfpack.objectives.partitioned import BlockError


@pytest.mark.parametrize("engine", ["local", "threads:1", "threads:2", "threads:3"])
def test_in_this_process(engine):
    check(engine, int(engine.partition(":")[2] or 1))


@pytest.fixture(scope="module")
def processes():
    with Processes(2) as engine:
        yield engine


def test_in_two_processes(processes):
    check(processes, 2)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_in_processes(workers):
    with Processes(workers) as engine:
        check(engine, workers)


def test_in_an_executor():
    with ThreadPoolExecutor(2) as pool:
        assert digest(solve("fw-ls", pool)) == reference("fw-ls")


@pytest.mark.parametrize("engine", ["auto", "threads:2"])
def test_composite_runs(engine):
    H = wp.regularizers.ElasticNet(0.01, mu=0.05)
    f = Partitioned("logistic", arrays())
    here = wp.minimize_composite(f, H, tol=1e-8)
    there = wp.minimize_composite(f, H, tol=1e-8, engine=engine)
    assert there.x.tobytes() == here.x.tobytes()
    assert there.lower_bound == here.lower_bound


def test_loading_goes_where_blocks_are_computed(processes, tmp_path):
    class Noted:
        def __call__(self, i: int) -> Any:
            with (tmp_path / "loads").open("a") as file:
                file.write(f"{os.getpid()} {i}\n")
            return arrays()[i]

    f = Partitioned("logistic", [(Noted(), i) for i in range(CUTS)])
    assert digest(solve("fw-ls", processes, f)) == reference("fw-ls")
    loads = [line.split() for line in (tmp_path / "loads").read_text().splitlines()]
    assert sorted(int(block) for _, block in loads) == list(range(CUTS))  # each once
    assert len({pid for pid, _ in loads} - {str(os.getpid())}) == 2


@pytest.mark.parametrize("method", ["fw-ls", "anytime"])
def test_a_worker_that_dies_while_it_loads(processes, tmp_path, method):
    result = solve(method, processes, loaded("kill", tmp_path / "flag"))
    assert (tmp_path / "flag").exists()
    assert digest(result) == reference(method)


@pytest.mark.parametrize("method", ["fw-ls", "corrective", "anytime"])
def test_kill_9_of_every_worker_between_rounds(processes, method):
    killed: list[int] = []

    def kill(intermediate_result: wp.Result) -> None:
        if intermediate_result.nit >= 3 and not killed:
            killed.append(intermediate_result.nit)
            for worker in processes.workers:
                os.kill(worker.address.pid, signal.SIGKILL)

    result = solve(method, processes, loaded(), callback=kill)
    assert digest(result) == reference(method)
    assert len(result.engine.per_worker) > 2


@pytest.mark.parametrize(
    ("kind", "message"),
    [("raise", r"block 4 \(loader\(4\)\) .*OSError: the disk is gone \(on process [0-9]+\)")],
)
def test_a_loader_that_raises_on_a_worker_is_named(processes, kind, message):
    with pytest.raises(BlockError, match=message):
        solve("fw", processes, loaded(kind))


def test_a_block_that_is_missing_on_one_worker_moves_to_another(processes, tmp_path):
    result = solve("fw-ls", processes, loaded("missing", tmp_path / "flag"))
    assert digest(result) == reference("fw-ls")
    # once: who has it keeps it
    assert len((tmp_path / "flag").read_text().split()) == 2
    assert result.engine["recomputed"].sum() <= CUTS


def test_blocks_of_a_frozen_worker_are_computed_twice_and_then_move(processes, monkeypatch):
    monkeypatch.setattr(_rescue, "_SLOW_SECONDS", 0.2)
    frozen: list[int] = []

    def freeze(intermediate_result: wp.Result) -> None:
        if intermediate_result.nit == 3:
            frozen.append(processes.workers[0].address.pid)
            os.kill(frozen[0], signal.SIGSTOP)
        if intermediate_result.nit == 6:
            time.sleep(0.3)  # by now it is silent
        if intermediate_result.nit == 8:
            os.kill(frozen[0], signal.SIGCONT)
            time.sleep(0.3)

    try:
        result = solve("fw", processes, callback=freeze, max_rounds=20)
    finally:
        os.kill(frozen[0], signal.SIGCONT)
    assert digest(result) == digest(solve("fw", None, max_rounds=20))
    assert 1 <= (result.engine["recomputed"] > 0).sum() <= 2  # not in every round
    assert result.engine["workers"].min() == 1
    assert result.engine.alive == 2  # it is used again
    assert result.engine.per_worker["blocks"].min() > 3 * 3


def test_a_loader_that_returns_nan_on_a_worker_is_named(processes):
    with pytest.raises(BlockError, match=r"block 4 .*features must hold finite|block 4 .*finite"):
        solve("fw", processes, loaded("nan"))


def test_files_and_mapped_files(processes, tmp_path):
    A, b = (np.concatenate(parts) for parts in zip(*arrays(), strict=True))
    np.save(tmp_path / "A.npy", A)
    np.save(tmp_path / "b.npy", b)
    files = [(tmp_path / "A.npy", tmp_path / "b.npy")]
    digests = set()
    for engine in (None, processes):
        for memory in (None, 8 * D * 20 * 4):
            f = Partitioned("logistic", files, rows=20, memory=memory)
            digests.add(digest(solve("fw-ls", engine, f)))
    assert len(digests) == 1


def test_a_checkpoint_goes_on_elsewhere(processes, tmp_path):
    path = tmp_path / "run.ckpt"
    solve("anytime", processes, max_rounds=5, checkpoint=path)
    f = Partitioned("logistic", arrays())
    resumed = wp.resume(path, f, wp.sets.L1Ball(D), engine="threads:2", max_rounds=12)
    assert digest(resumed) == reference("anytime")


def test_bytes_are_one_vector_for_each_worker(processes):
    d = 4096
    rng = np.random.default_rng(0)
    parts = [(rng.standard_normal((2, d)), rng.standard_normal(2)) for _ in range(8)]
    f = Partitioned("least_squares", parts)
    result = wp.minimize(f, wp.sets.L1Ball(d), method="fw", max_rounds=5, tol=0, engine=processes)
    sent = result.engine["bytes_in"][3:]
    assert 2 * 8 * d <= sent.max() <= 2 * 8 * d + 2000


def test_homes_are_even_and_stay():
    homes = Homes(np.ones(10))
    first = homes.assign(["a", "b", "c"])
    assert [(name, len(run)) for name, run in first] == [("a", 3), ("b", 4), ("c", 3)]
    assert homes.assign(["a", "b", "c"]) == first
    after = homes.assign(["a", "c"])
    assert {i for name, run in after if name == "a" for i in run} >= {0, 1, 2}
    assert sum(len(run) for _, run in after) == 10
    joined = homes.assign(["a", "c", "d"])
    assert sum(len(run) for name, run in joined if name == "d") >= 2
