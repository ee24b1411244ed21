"""`mpiexec -n N wolfpack solve problem.toml`, with real ranks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engines.test_mpi import MPIEXEC, SETTINGS
from wolfpack import cli, load

pytest.importorskip("mpi4py")
pytestmark = [
    pytest.mark.extras,
    pytest.mark.timeout(180),
    pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec"),
]
WOLFPACK = str(Path(sys.executable).with_name("wolfpack"))
PROBLEM = """
[objective]
type = "Quadratic"
Q = 1.0
c = [[-0.9, -0.2, -0.1], [-0.4, -0.8, -0.3], [-0.7, -0.1, -0.2]]
[set]
type = "Birkhoff"
[method]
name = "anytime"
m = 6
[stop]
tol = 1e-2
max_rounds = 200
[output]
figure = false
report = false
"""


@pytest.fixture
def problem(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(PROBLEM)
    return tmp_path


def mpiexec(*arguments: str) -> subprocess.CompletedProcess[str]:
    assert MPIEXEC is not None
    command = [MPIEXEC, "-n", "2", WOLFPACK, *arguments]
    return subprocess.run(
        command, env=os.environ | SETTINGS, capture_output=True, text=True, timeout=120
    )


def test_ranks_are_used_without_being_asked_for(problem):
    done = mpiexec("solve", "small.toml", "--out", "there")
    assert done.returncode == 0, done.stderr
    assert cli.run(["solve", "small.toml", "--out", "here"]) == 0
    there, here = load("there/result.npz"), load("here/result.npz")
    np.testing.assert_array_equal(there.x, here.x)
    assert there.lower_bound == here.lower_bound
    assert json.loads(Path("there/result.json").read_text())["engine"] == "mpi:2"
    # one rank speaks and writes
    assert done.stdout.count("converged") == 1


def test_a_run_goes_on_under_mpiexec(problem):
    assert cli.run(["solve", "small.toml", "--out", "whole"]) == 0
    text = PROBLEM.replace("max_rounds = 200", "max_rounds = 2")
    Path("short.toml").write_text(text)
    assert mpiexec("solve", "short.toml", "--out", "out", "--quiet").returncode == 1
    done = mpiexec("resume", "out", "--max-rounds", "200")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(load("out/result.npz").x, load("whole/result.npz").x)


def test_what_the_first_rank_refuses_ends_all_of_them(problem):
    assert cli.run(["solve", "small.toml", "--out", "out"]) == 0
    done = mpiexec("solve", "small.toml", "--out", "out")
    assert done.returncode == 2
    assert done.stderr.count("--overwrite") == 1


def test_other_engines_are_refused(problem):
    done = mpiexec("solve", "small.toml", "--engine", "threads:2")
    assert done.returncode == 2
    assert "2 ranks were started" in done.stderr
    assert not Path("small-out").exists()
