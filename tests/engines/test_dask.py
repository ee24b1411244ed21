"""Dask distributed, with real schedulers and workers on loopback."""

from __future__ import annotations

import logging
import os
import signal
import threading
import warnings
from multiprocessing import resource_tracker

import numpy as np
import pytest

import wolfpack as wp
from engines.cases import Corner, Flaky, children, cube, digest, run, wait_until
from wolfpack.engines import Dask, OracleError

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.extras,
    pytest.mark.timeout(240),
    # what Dask's own threads leave open when its workers are killed under them
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def make_cluster(workers: int):
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
        silence_logs=logging.CRITICAL,
    )


@pytest.fixture(scope="module")
def client():
    with make_cluster(2) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="module")
def engine(client):
    with Dask(client) as engine:
        yield engine


@pytest.fixture(scope="module")
def healthy() -> str:
    return digest(run(cube()))


def pids(client) -> list[int]:
    return list(client.run(os.getpid).values())


def test_same_bits_on_a_users_client_which_is_left_alone(client, healthy):
    result = run(cube(), engine=client)
    assert digest(result) == healthy
    assert set(result.engine["workers"]) == {2}
    assert (result.engine["bytes_in"] > 0).all()
    assert client.status == "running"
    assert len(pids(client)) == 2


def test_same_bits_by_address(client, healthy):
    address = client.scheduler.address
    result = run(cube(), engine=f"dask:{address}")
    assert digest(result) == healthy
    assert result.engine.name == f"dask:{address}"


def test_the_query_point_travels_once_per_worker_and_round(engine):
    f = wp.objectives.Quadratic(1.0, -np.linspace(0, 1, 3000))
    K = wp.sets.Simplex(3000)
    result = wp.minimize(
        f, K, method="anytime", m=64, block=4, L=1.0, tol=0, max_rounds=8, engine=engine
    )
    assert (result.engine["bytes_out"] <= 2 * 3000 * 8).all()
    assert (result.engine["bytes_in"] < 16 * 1000).all()


def test_kill_9_of_a_worker_in_mid_oracle(client, engine, healthy, tmp_path):
    result = run(cube(Flaky("kill", tmp_path / "flag", after=5)), engine=engine)
    assert (tmp_path / "flag").exists()
    assert digest(result) == healthy
    assert result.engine["recomputed"].sum() > 0
    client.wait_for_workers(2, timeout=60)


@pytest.mark.parametrize(
    ("kind", "cause", "message"),
    [("raise", ZeroDivisionError, "divides by zero"), ("exit", SystemExit, "SystemExit: 4")],
)
def test_an_oracle_that_raises_is_named(client, engine, tmp_path, kind, cause, message):
    before = pids(client)
    problem = cube(Flaky(kind, tmp_path / "flag", always=True, after=4))
    with pytest.raises(OracleError, match=rf"{message}.*in the oracle of Oracle\(Flaky") as e:
        run(problem, engine=engine)
    assert isinstance(e.value.__cause__, cause)
    assert pids(client) == before


def blocked() -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_ctrl_c_in_a_terminal_does_not_reach_workers_of_our_own():
    with Dask(1) as engine:
        run(cube(), engine=engine)
        assert list(engine._client.run(blocked).values()) == [True]


def test_ctrl_c_while_a_cluster_starts_leaves_nothing_behind(healthy):
    resource_tracker.ensure_running()
    before = set(children())
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        run(cube(), engine="dask:2")
    assert wait_until(lambda: set(children()) <= before)
    assert digest(run(cube(), engine="dask:2")) == healthy


def test_an_oracle_that_hangs_once_is_asked_elsewhere(client, engine, healthy, tmp_path):
    result = run(cube(Flaky("hang", tmp_path / "flag", after=5)), engine=engine, oracle_timeout=1.0)
    assert digest(result) == healthy
    client.wait_for_workers(2, timeout=60)


def test_a_worker_that_joins_late_is_used(healthy):
    with make_cluster(1) as cluster, distributed.Client(cluster, set_as_default=False) as client:

        def grow(intermediate_result: wp.Result) -> None:
            if intermediate_result.nit == 4:
                cluster.scale(2)
                client.wait_for_workers(2, timeout=60)

        result = run(cube(Corner(0.02)), rounds=60, engine=client, callback=grow)
    workers = result.engine["workers"]
    assert workers[0] == 1
    assert workers[-1] == 2
    assert digest(result) == digest(run(cube(), rounds=60))


def test_a_scheduler_that_dies_is_an_engine_failure_with_a_checkpoint(healthy, tmp_path):
    cluster = make_cluster(2)
    client = distributed.Client(cluster, set_as_default=False)
    path = tmp_path / "run.ckpt"

    def stop(intermediate_result: wp.Result) -> None:
        if intermediate_result.nit == 4:
            cluster.close()

    try:
        engine = Dask(client, patience=3.0)
        result = run(cube(), engine=engine, callback=stop, checkpoint=path)
    finally:
        client.close()
    assert result.status == "engine_failure"
    assert 4 <= result.nit < 12
    assert digest(wp.resume(path, *cube())) == healthy


def test_a_cluster_of_our_own_listens_on_loopback_and_is_stopped(healthy):
    before = children()
    seen = {}

    def look(intermediate_result: wp.Result) -> None:
        client = engine._client
        seen["address"] = client.scheduler.address
        seen["dashboard"] = client.cluster.dashboard_link
        seen["workers"] = set(client.scheduler_info(n_workers=-1)["workers"])

    engine = Dask(2)
    with engine:
        result = run(cube(), engine=engine, callback=look)
    assert digest(result) == healthy
    assert seen["address"].startswith("tcp://127.0.0.1:")
    assert all(address.startswith("tcp://127.0.0.1:") for address in seen["workers"])
    assert ":8787" not in str(seen["dashboard"])
    assert wait_until(lambda: not descendants(before))


def descendants(before: set[int]) -> set[int]:
    """Processes of ours but for Python's resource trackers, which end with the session."""
    names = {}
    for pid in children() - before:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                names[pid] = file.read()
        except OSError:
            continue
    return {pid for pid, name in names.items() if name and b"resource_tracker" not in name}


@pytest.mark.slow
def test_soak_with_random_kills(client, engine):
    problem = cube(Corner(0.0005))
    expected = digest(run(problem, rounds=1000))
    stop, rng, killed = threading.Event(), np.random.default_rng(0), []

    def killer() -> None:
        while not stop.wait(rng.uniform(2, 5)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = pids(client)
            if found:
                killed.append(found[rng.integers(len(found))])
                os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        result = run(problem, rounds=1000, engine=engine)
    finally:
        stop.set()
        thread.join()
    assert result.status == "max_rounds", result.message
    assert digest(result) == expected
    assert len(killed) >= 2
