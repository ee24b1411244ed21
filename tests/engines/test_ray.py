"""Ray, with a real cluster of two workers."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

import wolfpack as wp
from engines.cases import Flaky, children, cube, digest, run
from wolfpack.engines import EngineFailure, OracleError, Ray

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.extras,
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def engine():
    with Ray(2) as engine:
        yield engine
        folder = engine._folder
    assert not ray.is_initialized()
    assert not os.path.exists(folder)


@pytest.fixture(scope="module")
def healthy() -> str:
    return digest(run(cube()))


def test_same_bits(engine, healthy):
    result = run(cube(), engine=engine)
    assert digest(result) == healthy
    assert set(result.engine["workers"]) == {2}
    assert result.engine.name == "ray:2"


def test_all_services_listen_on_loopback_and_files_are_private(engine):
    psutil = pytest.importorskip("psutil")
    run(cube(), engine=engine)
    here = psutil.Process()
    addresses = [
        link.laddr.ip
        for process in (here, *here.children(recursive=True))
        for link in process.net_connections(kind="inet")
        if link.status == psutil.CONN_LISTEN
    ]
    assert len(addresses) >= 5  # the driver, the head, the node and two workers
    assert {address.removeprefix("::ffff:") for address in addresses} == {"127.0.0.1"}
    folder = Path(engine._folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.glob("ray/session_*/sockets/*"))
    assert os.environ.get("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER") is None


def test_a_second_cluster_in_one_process_is_refused_and_the_first_can_be_named(engine, healthy):
    with pytest.raises(EngineFailure, match="use engine='ray:auto'"):
        run(cube(), engine="ray:2")
    # actors of the first job have given their CPUs back only when that engine is told to
    engine._end_actors()
    result = run(cube(), engine="ray:auto")
    assert digest(result) == healthy
    assert ray.is_initialized()


def test_kill_9_of_a_worker_in_mid_oracle(engine, healthy, tmp_path):
    result = run(cube(Flaky("kill", tmp_path / "flag", after=5)), engine=engine)
    assert (tmp_path / "flag").exists()
    assert digest(result) == healthy
    assert result.engine["recomputed"].sum() > 0


def test_kill_9_of_every_worker_between_rounds(engine, healthy):
    def kill(intermediate_result: wp.Result) -> None:
        if intermediate_result.nit == 4:
            for pid in children():
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if file.read().startswith(b"ray::Actor"):
                        os.kill(pid, signal.SIGKILL)

    result = run(cube(), engine=engine, callback=kill)
    assert digest(result) == healthy


def test_an_oracle_that_raises_is_named(engine, tmp_path):
    problem = cube(Flaky("raise", tmp_path / "flag", always=True, after=4))
    with pytest.raises(OracleError, match=r"divides by zero.*in the oracle of Oracle\(Flaky") as e:
        run(problem, engine=engine)
    assert isinstance(e.value.__cause__, ZeroDivisionError)


def test_an_oracle_that_hangs_once_is_asked_elsewhere(engine, healthy, tmp_path):
    problem = cube(Flaky("hang", tmp_path / "flag", after=5))
    assert digest(run(problem, engine=engine, oracle_timeout=1.0)) == healthy
