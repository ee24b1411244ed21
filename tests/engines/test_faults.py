"""Workers that die, oracles that misbehave: nothing lost, nothing left behind."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from engines.cases import Corner, Flaky, children, cube, digest, run, shared_memory, wait_until
from wolfpack.engines import EngineFailure, Executor, OracleError, Processes, Threads


@pytest.fixture(scope="module")
def processes():
    with Processes(2) as engine:
        yield engine


@pytest.fixture(scope="module")
def healthy() -> str:
    return digest(run(cube()))


@pytest.fixture(autouse=True)
def nothing_left_behind():
    before = shared_memory()
    yield
    assert shared_memory() == before


def pids(engine: Processes) -> list[int]:
    return [worker.address.pid for worker in engine.workers]


def test_a_worker_that_dies_in_mid_oracle_is_replaced(processes, healthy, tmp_path):
    result = run(cube(Flaky("kill", tmp_path / "flag", after=5)), engine=processes)
    assert (tmp_path / "flag").exists()
    assert digest(result) == healthy
    assert result.engine["recomputed"].sum() > 0
    assert wait_until(lambda: len(processes.workers) + len(processes._joining) == 2)


def test_kill_9_of_every_worker_between_rounds(processes, healthy):
    def kill(intermediate_result: wp.Result) -> None:
        if intermediate_result.nit == 4:
            for pid in pids(processes):
                os.kill(pid, signal.SIGKILL)

    result = run(cube(), engine=processes, callback=kill)
    assert digest(result) == healthy
    assert result.status == "max_rounds"


@pytest.mark.slow
def test_soak_with_random_kills(processes):
    problem = cube(Corner(0.0005))
    expected = digest(run(problem, rounds=1000))
    stop, rng, killed = threading.Event(), np.random.default_rng(0), []

    def killer() -> None:
        while not stop.wait(rng.uniform(0.2, 0.9)):
            victims = [*processes.workers, *processes._joining]
            if victims:
                pid = victims[rng.integers(len(victims))].address.pid
                killed.append(pid)
                os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        result = run(problem, rounds=1000, engine=processes)
    finally:
        stop.set()
        thread.join()
    assert result.status == "max_rounds", result.message
    assert digest(result) == expected
    assert len(killed) >= 5
    assert result.engine["recomputed"].sum() > 0


@pytest.mark.parametrize("engine", ["threads:2", "processes"])
@pytest.mark.parametrize(
    ("kind", "cause", "message"),
    [
        ("raise", ZeroDivisionError, "divides by zero"),
        ("exit", SystemExit, "SystemExit: 4"),
        ("nan", ValueError, "NaN or infinite"),
        ("shape", ValueError, r"shape \(6,\), found \(5,\)"),
        ("outside", ValueError, "beyond radius"),
    ],
)
def test_an_oracle_that_misbehaves_is_named(kind, cause, message, engine, processes, tmp_path):
    engine = processes if engine == "processes" else engine
    f, K = cube(Flaky(kind, tmp_path / "flag", always=True, after=4))
    K.r = 3.0
    with pytest.raises(OracleError, match=message) as caught:
        run((f, K), engine=engine, x0=np.zeros(6), record_every=100)
    assert isinstance(caught.value.__cause__, cause)
    text = str(caught.value)
    assert "in the oracle of Oracle(Flaky" in text
    assert "round " in text
    assert "block" in text


def test_an_oracle_that_raises_on_one_worker_is_asked_on_another(
    processes, healthy, tmp_path, caplog
):
    caplog.set_level("INFO", "wolfpack")
    result = run(cube(Flaky("raise", tmp_path / "flag", after=5)), engine=processes)
    assert (tmp_path / "flag").exists()
    assert digest(result) == healthy
    assert result.engine["recomputed"].sum() > 0
    assert set(result.engine["workers"]) == {2}
    (line,) = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert line.startswith("process ")
    assert "tried on another worker after ZeroDivisionError: the oracle divides by zero" in line


def test_an_oracle_that_always_raises_names_the_worker(processes, tmp_path):
    with pytest.raises(OracleError, match=r"divides by zero.*, round 0.*, on process [0-9]+") as e:
        run(cube(Flaky("raise", tmp_path / "flag", always=True)), engine=processes)
    assert e.value.worker in str(e.value)
    assert "On the worker:\nTraceback" in str(e.value)
    assert pickle.loads(pickle.dumps(e.value)).worker == e.value.worker


@pytest.mark.parametrize("engine", ["threads:2", "processes"])
def test_an_oracle_that_hangs_once_is_asked_elsewhere(engine, processes, healthy, tmp_path):
    engine = processes if engine == "processes" else engine
    problem = cube(Flaky("hang", tmp_path / "flag", after=2))
    result = run(problem, engine=engine, oracle_timeout=0.5)
    assert (tmp_path / "flag").exists()
    assert digest(result) == healthy
    assert result.engine["recomputed"].sum() > 0


def test_an_oracle_that_always_hangs_ends_the_run_with_a_checkpoint(processes, healthy, tmp_path):
    path = tmp_path / "run.ckpt"
    problem = cube(Flaky("hang", tmp_path / "flag", always=True, after=40))
    result = run(problem, engine=processes, oracle_timeout=0.2, checkpoint=path)
    assert result.status == "engine_failure"
    assert "workers were lost one after the other" in result.message
    assert 0 < result.nit < 12
    assert np.isfinite(result.gap)
    f, K = cube()
    assert digest(wp.resume(path, f, K)) == healthy


def test_an_oracle_that_always_kills_ends_the_run_with_a_checkpoint(processes, healthy, tmp_path):
    path = tmp_path / "run.ckpt"
    problem = cube(Flaky("kill", tmp_path / "flag", always=True, after=30))
    result = run(problem, engine=processes, checkpoint=path)
    assert result.status == "engine_failure"
    assert "to end its process" in result.message
    assert digest(wp.resume(path, *cube())) == healthy


def test_a_failure_in_the_first_round_still_returns_the_start(processes, tmp_path):
    problem = cube(Flaky("kill", tmp_path / "flag", always=True))
    result = run(problem, engine=processes)
    assert result.status == "engine_failure"
    assert result.nit == 0
    assert result.fun == problem[0].value(result.x)


def test_what_cannot_be_sent_is_said(processes):
    oracle = Corner()
    oracle.lock = threading.Lock()  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError, match=r"cannot be sent to workers.*engine='threads'"):
        run(cube(oracle), engine=processes)
    assert run(cube(oracle), engine="threads:2").status == "max_rounds"


class Unreadable(Corner):
    def __setstate__(self, state: Any) -> None:
        raise ImportError("no such library on this worker")


def test_a_job_that_workers_cannot_read_is_said():
    before = children()
    with pytest.raises(EngineFailure, match="could not read the job: ImportError: no such library"):
        run(cube(Unreadable()), engine="processes:2")
    assert children() == before


@pytest.mark.parametrize("end", ["normal", "raise", "interrupt"])
def test_no_process_is_left_after_any_end(end, tmp_path):
    before = children()
    oracle = Flaky("raise", tmp_path / "flag", True, after=30) if end == "raise" else Corner()

    def stop(intermediate_result: wp.Result) -> None:
        assert len(children() - before) == 3  # two workers and the process that forks them
        if end == "interrupt" and intermediate_result.nit >= 8:
            raise KeyboardInterrupt

    if end == "raise":
        with pytest.raises(OracleError):
            run(cube(oracle), rounds=100, engine="processes:2", callback=stop)
    else:
        result = run(cube(oracle), engine="processes:2", callback=stop)
        assert result.status == ("interrupted" if end == "interrupt" else "max_rounds")
    assert children() == before


DRIVER = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs inherit SIG_IGN
sys.path.insert(0, sys.argv[1])
import wolfpack as wp
from engines.cases import Corner, children, cube, run

def tell(res):
    if res.nit == 4:
        print(*sorted(children()), flush=True)

res = run(cube(Corner(0.05)), rounds=10**6, engine="processes:2", callback=tell)
print(res.status, len(children()), flush=True)
"""


def driver() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(DRIVER), str(Path(__file__).parents[1])]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    )


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_workers_end_when_the_driver_is_killed():
    with driver() as process:
        assert process.stdout is not None
        workers = [int(pid) for pid in process.stdout.readline().split()]
        assert len(workers) == 3
        assert not any(map(gone, workers))
        process.kill()
    assert wait_until(lambda: all(map(gone, workers)))


def test_control_c_in_a_terminal_returns_the_best_so_far_and_ends_the_workers():
    with driver() as process:
        assert process.stdout is not None
        workers = [int(pid) for pid in process.stdout.readline().split()]
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to the whole group
        output, errors = process.communicate(timeout=30)
    assert output.split() == ["interrupted", "0"]
    assert errors == ""
    assert wait_until(lambda: all(map(gone, workers)))


def test_a_users_broken_executor_is_an_engine_failure(tmp_path):
    path = tmp_path / "run.ckpt"
    problem = cube(Flaky("kill", tmp_path / "flag", after=20))
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as pool:
        result = run(problem, engine=pool, checkpoint=path)
    assert result.status == "engine_failure"
    assert "pass a function that makes it" in result.message
    assert digest(wp.resume(path, *cube())) == digest(run(cube()))


def test_an_executor_that_can_be_made_again_is(healthy, tmp_path):
    problem = cube(Flaky("kill", tmp_path / "flag", after=20))
    made = []

    def make() -> ProcessPoolExecutor:
        made.append(1)
        return ProcessPoolExecutor(2, mp_context=get_context("forkserver"))

    result = run(problem, engine=make)
    assert digest(result) == healthy
    assert len(made) == 2


def test_executors_that_hide_their_size_or_are_none():
    class Shy(ProcessPoolExecutor):
        _max_workers = property(lambda self: None, lambda self, value: None)

    with pytest.raises(wp.CapabilityError, match=r"does not tell its number of workers"):
        run(cube(), engine=Executor(Shy.__new__(Shy)))
    with pytest.raises(TypeError, match=r"must make a concurrent\.futures\.Executor, found int"):
        run(cube(), engine=lambda: 3)


def test_engines_are_context_managers_and_can_be_used_again(healthy):
    with Threads(2) as engine:
        assert digest(run(cube(), engine=engine)) == healthy
        assert digest(run(cube(), engine=engine)) == healthy
    assert digest(run(cube(), engine=engine)) == healthy
    engine.close()
