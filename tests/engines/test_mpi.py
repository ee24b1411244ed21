"""MPI, with real ranks under mpiexec."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import wolfpack as wp
from engines.cases import cube, digest, run

pytest.importorskip("mpi4py")
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
pytestmark = [
    pytest.mark.extras,
    pytest.mark.timeout(180),
    pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec"),
]
# ranks share cores here; as root, Open MPI wants to be told twice
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
TESTS = str(Path(__file__).parents[1])
SCRIPT = """
import os, sys
sys.path.insert(0, {tests!r})
import numpy as np
import wolfpack as wp
from engines.cases import Corner, Flaky, cube, digest, run
from mpi4py import MPI
rank = MPI.COMM_WORLD.Get_rank()
"""


def launch(ranks: int, code: str) -> subprocess.Popen[str]:
    assert MPIEXEC is not None
    script = textwrap.dedent(SCRIPT.format(tests=TESTS)) + textwrap.dedent(code)
    command = [MPIEXEC, "-n", str(ranks), sys.executable, "-c", script]
    return subprocess.Popen(
        command,
        env=os.environ | SETTINGS,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )


def finished(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=150)
    assert process.returncode == 0, errors
    return output


@pytest.fixture(scope="module")
def healthy() -> str:
    return digest(run(cube()))


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_all_ranks_return_the_same_bits(ranks, healthy):
    code = """
    result = run(cube(), engine="mpi")
    print(rank, digest(result), result.engine.name, result.method)
    """
    lines = sorted(finished(launch(ranks, code)).splitlines())
    assert lines == [f"{rank} {healthy} mpi:{ranks} anytime" for rank in range(ranks)]


def test_callbacks_and_several_runs(healthy):
    code = """
    def tell(res):
        print("callback on", rank)
    first = run(cube(), rounds=4, engine="mpi", callback=tell, record_every=2)
    second = run(cube(), engine="mpi")
    print(digest(second))
    """
    lines = finished(launch(2, code)).splitlines()
    assert lines.count("callback on 0") == 3
    assert lines.count(healthy) == 2
    assert len(lines) == 5


def test_an_oracle_that_raises_ends_every_rank_with_the_reason(tmp_path):
    code = f"""
    from pathlib import Path
    oracle = Flaky("raise", Path({str(tmp_path / "flag")!r}), always=True, after=4, anywhere=rank)
    try:
        run(cube(oracle), engine="mpi", record_every=100)
    except wp.engines.OracleError as error:
        print(rank, "OracleError", "round" in str(error) and "Flaky" in str(error))
    except wp.engines.EngineFailure as error:
        print(rank, error)
    """
    lines = sorted(finished(launch(2, code)).splitlines())
    assert lines == [
        "0 OracleError True",
        "1 rank 0 ended with an error, which it reports itself",
    ]


def test_a_rank_that_hangs_is_an_engine_failure_and_mpiexec_ends(tmp_path, healthy):
    path = tmp_path / "run.ckpt"
    code = f"""
    import time
    class Hang(Corner):
        calls = 0
        def __call__(self, g):
            self.calls += 1
            if MPI.COMM_WORLD.Get_rank() == 1 and self.calls > 20:
                time.sleep(1000)
            return super().__call__(g)
    result = run(cube(Hang()), engine="mpi", oracle_timeout=0.5, checkpoint={str(path)!r})
    print(rank, result.status, flush=True)
    """
    process = launch(2, code)
    output, _ = process.communicate(timeout=150)
    assert output.splitlines() == ["0 engine_failure"]
    assert process.returncode != 0
    assert digest(wp.resume(path, *cube())) == healthy


def test_kill_9_of_a_rank_and_resume_to_the_same_bits(tmp_path):
    path = tmp_path / "run.ckpt"
    code = f"""
    pid = MPI.COMM_WORLD.bcast(os.getpid(), root=1)
    def die(res):
        if res.nit == 8:
            os.kill(pid, 9)
    run(cube(Corner(0.01)), rounds=40, engine="mpi", callback=die,
        checkpoint=wp.Checkpoint({str(path)!r}, rounds=1))
    """
    process = launch(2, code)
    process.communicate(timeout=150)
    assert process.returncode != 0
    code = f"""
    result = wp.resume({str(path)!r}, *cube(), engine="mpi")
    print(digest(result))
    """
    expected = digest(run(cube(), rounds=40))
    assert finished(launch(3, code)).splitlines() == 3 * [expected]


def test_control_c_returns_the_best_so_far_on_every_rank():
    code = """
    import signal
    signal.signal(signal.SIGINT, signal.default_int_handler)
    def tell(res):
        if res.nit == 4:
            print("running", flush=True)
    result = run(cube(Corner(0.01)), rounds=10**6, engine="mpi", callback=tell)
    print(rank, result.status, flush=True)
    """
    process = launch(2, code)
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    for pid in ranks_of(process.pid):
        os.kill(pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert sorted(output.splitlines()) == ["0 interrupted", "1 interrupted"]


def ranks_of(launcher: int) -> list[int]:
    """The Python processes that mpiexec has started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(entry.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            command = entry.joinpath("cmdline").read_bytes()
        except OSError:
            continue
        if parent == launcher and b"python" in command:
            found.append(int(entry.name))
    return found


def test_what_mpi_cannot_do_is_said():
    code = """
    try:
        run(cube(), engine="mpi", stragglers="drop")
    except wp.CapabilityError as error:
        print(rank, error)
    except wp.engines.EngineFailure as error:
        print(rank, "EngineFailure")
    """
    lines = sorted(finished(launch(2, code)).splitlines())
    assert lines[0] == "0 engine='mpi' waits for every block: stragglers='wait' only"
    assert lines[1] == "1 EngineFailure"
