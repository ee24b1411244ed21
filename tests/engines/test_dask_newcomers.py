"""Workers that join a run on Dask and cannot be used: the run goes on, and names them once."""

from __future__ import annotations

import http.server
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager

import pytest

import wolfpack as wp
from engines.cases import Corner, cube, digest, run, wait_until
from wolfpack.arrays import ArgumentError
from wolfpack.engines import EngineFailure, _dask_newcomers

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.extras,
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
WITHOUT_US = "import sys; sys.modules['wolfpack'] = None"


class Freezing(Corner):
    """An oracle that stops the process that reads it, where the environment says so."""

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        if "FREEZES_HERE" in os.environ:
            os.kill(os.getpid(), signal.SIGSTOP)


@pytest.fixture
def client():
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def newcomer(client, arrived: Callable[[int], bool], *options: str, **environment: str):
    """A worker of its own process, and a callback that lets it join in round 4.

    Later rounds take longer until it has ``arrived``, so that it does so within the run.
    """
    command = [sys.executable, "-m", "distributed.cli.dask_worker", client.scheduler.address]
    command += ["--nthreads", "1", "--no-dashboard", "--no-nanny", *options]
    started: list[subprocess.Popen[bytes]] = []

    def join(intermediate_result: wp.Result) -> None:
        if intermediate_result.nit == 4 and not started:
            environ = os.environ | environment
            started.append(subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL))
            client.wait_for_workers(2, timeout=60)
        elif started and not arrived(started[0].pid):
            time.sleep(0.5)

    try:
        yield join, started
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_a_worker_without_the_library_is_set_aside_and_left_alone(client, tmp_path, caplog):
    (tmp_path / "without.py").write_text(WITHOUT_US)

    def named(pid: int = 0) -> list[str]:
        ours = [record for record in caplog.records if record.name == "wolfpack"]
        return [r.getMessage() for r in ours if r.levelno == logging.WARNING]

    with newcomer(client, named, "--preload", str(tmp_path / "without.py")) as (join, started):
        result = run(cube(Corner()), rounds=60, engine=client, callback=join)
        assert digest(result) == digest(run(cube(), rounds=60))
        assert result.engine.alive == 1
        (message,) = named()
        assert "is not used by dask:client: ModuleNotFoundError" in message
        assert f" on {os.uname().nodename}" in message
        # whoever has nobody else is told why, and the worker goes on living for others
        pids = {pid: place for place, pid in client.run(os.getpid).items()}
        bad = pids.pop(started[0].pid)
        client.cluster.scale(0)
        assert wait_until(lambda: places(client) == {bad})
        with pytest.raises(EngineFailure, match=rf"ModuleNotFoundError: .*wolfpack.* {bad}"):
            run(cube(), engine=client)
        assert started[0].poll() is None
        assert places(client) == {bad}


def places(client) -> set[str]:
    return set(client.scheduler_info(n_workers=-1)["workers"])


def test_a_worker_that_freezes_while_it_joins_delays_nobody(client):
    with newcomer(client, frozen, FREEZES_HERE="1") as (join, started):
        result = run(cube(Freezing()), rounds=60, engine=client, callback=join)
        assert frozen(started[0].pid)
    assert result.status == "max_rounds"
    assert digest(result) == digest(run(cube(), rounds=60))
    assert len(result.engine.per_worker) == 1


def frozen(pid: int) -> bool:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


def test_the_address_of_a_web_page_is_refused(monkeypatch):
    monkeypatch.setattr(_dask_newcomers, "_SPEAKS_SECONDS", 0.2)
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_port}"
        for text in (address, f"tcp://{address}"):
            with pytest.raises(ArgumentError, match=r"must name a scheduler, .*web pages"):
                run(cube(), engine=f"dask:{text}")
        server.shutdown()
