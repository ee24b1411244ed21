"""`wolfpack solve`, `check`, `init` and `resume`: files, printed lines, exit codes."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import wolfpack as wp
from report.document import Document
from wolfpack import cli
from wolfpack.engines import EngineFailure
from wolfpack.files import locked
from wolfpack.loop import History
from wolfpack.report import plots, run_figure

MAIN = [sys.executable, "-c", "from _wolfpack_start import main; main()"]
PROBLEM = """
title = "small"
[objective]
type = "LeastSquares"
A = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
b = [0.93, 0.41, 0.17]
[set]
type = "Simplex"
[method]
name = "fw"
[stop]
tol = 1e-3
max_rounds = 500
[output]
figure = false
report = false
"""
FILES = {"result.npz", "result.json", "history.csv"}


@pytest.fixture
def problem(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(PROBLEM)
    return Path("small.toml")


def refused(capsys, *arguments: str) -> str:
    """Run a command line that must end with code 2 and one line; return that line."""
    assert cli.run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("wolfpack: ")
    assert printed.err.count("\n") == 1
    return printed.err


def names(folder) -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


def test_from_init_to_resume(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["init"]) == 0
    assert "wolfpack solve problem.toml" in capsys.readouterr().out
    assert cli.run(["check", "problem.toml"]) == 0
    out = capsys.readouterr().out
    assert "auto chooses method=" in out
    assert "one oracle call" in out
    assert cli.run(["solve", "problem.toml"]) == 0
    assert "converged" in capsys.readouterr().out
    assert FILES | {"convergence.png", "convergence.svg", "run.ckpt"} <= names("problem-out")
    assert cli.run(["resume", "problem-out", "--tol", "1e-5"]) == 0
    assert wp.load("problem-out/result.npz").gap <= 1e-5


def test_the_files_agree_with_python_and_with_each_other(capsys, problem):
    assert cli.run(["solve", str(problem), "--out", "there"]) == 0
    capsys.readouterr()
    f = wp.objectives.LeastSquares(np.eye(3), np.array([0.93, 0.41, 0.17]))
    expected = wp.minimize(f, wp.sets.Simplex(3), method="fw", tol=1e-3, max_rounds=500)
    saved = wp.load("there/result.npz")
    np.testing.assert_array_equal(saved.x, expected.x)
    summary = json.loads(Path("there/result.json").read_text())
    assert summary["x"] == expected.x.tolist()
    for name in ("fun", "gap", "lower_bound", "nit", "nlmo"):
        assert summary[name] == expected[name] == saved[name]
    assert summary["status"] == "converged"
    assert summary["problem"]["set"] == {"type": "Simplex"}
    assert summary["command"] == "wolfpack solve small.toml --out there"
    with Path("there/history.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["gap"]) for row in rows] == expected.history["gap"].tolist()


def test_the_page_shows_the_numbers_of_the_result_file(capsys, problem):
    problem.write_text(PROBLEM.replace("report = false", "report = true"))
    assert cli.run(["solve", str(problem), "--out", "there", "--quiet"]) == 0
    document = Document(Path("there/report.html").read_text(encoding="utf-8"))
    shown = {row[0]: row[1] for row in document.tables[0][1:]}
    summary = json.loads(Path("there/result.json").read_text())
    assert float(shown["f(x)"]) == summary["fun"]
    assert float(shown["Certified gap"]) == summary["gap"]
    assert shown["Oracle calls"] == f"{summary['nlmo']:,}"
    assert summary["command"] in document.text


def test_json_and_quiet(capsys, problem):
    assert cli.run(["solve", str(problem), "--json", "--out", "a"]) == 0
    printed = capsys.readouterr()
    summary = json.loads(printed.out)
    assert printed.err == ""
    assert {Path(path).name for path in summary["files"]} == FILES
    assert {**summary, "files": 0} == {**json.loads(Path("a/result.json").read_text()), "files": 0}
    assert cli.run(["solve", str(problem), "--quiet", "--out", "b"]) == 0
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""
    assert cli.run(["check", str(problem), "--json"]) == 0
    cost = json.loads(capsys.readouterr().out)
    assert (cost["dimension"], cost["x_bytes"], cost["method"]) == (3, 24, "fw")
    assert cost["round_oracles"] == 1.0
    assert 0 < cost["oracle_seconds"] < 1


def test_no_convergence_is_exit_1_with_the_result(capsys, problem):
    problem.write_text(PROBLEM.replace("max_rounds = 500", "max_rounds = 2"))
    assert cli.run(["solve", str(problem), "--out", "there"]) == 1
    printed = capsys.readouterr()
    assert "max_rounds" in printed.out
    assert printed.err == ""
    assert wp.load("there/result.npz").nit == 2


def test_resume_continues_to_the_same_bits(capsys, problem):
    problem.write_text(PROBLEM.replace("max_rounds = 500", "max_rounds = 7"))
    assert cli.run(["solve", str(problem), "--out", "there"]) == 1
    assert cli.run(["resume", "there/run.ckpt", "--max-rounds", "500", "--json"]) == 0
    capsys.readouterr()
    f = wp.objectives.LeastSquares(np.eye(3), np.array([0.93, 0.41, 0.17]))
    expected = wp.minimize(f, wp.sets.Simplex(3), method="fw", tol=1e-3, max_rounds=500)
    np.testing.assert_array_equal(wp.load("there/result.npz").x, expected.x)
    assert wp.load("there/result.npz").nit == expected.nit > 7


def test_resume_lifts_a_limit(capsys, problem):
    problem.write_text(PROBLEM.replace("max_rounds = 500", "max_rounds = 7"))
    assert cli.run(["solve", str(problem), "--out", "there", "--quiet"]) == 1
    said = refused(capsys, "resume", "there", "--lift", "max_rounds", "--max-rounds", "7")
    assert "leave one out" in said
    assert cli.run(["resume", "there", "--lift", "max_rounds", "--tol", "1e-3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "converged"


def test_resume_finds_the_problem_or_says_how(capsys, problem, tmp_path):
    assert cli.run(["solve", str(problem), "--out", "there"]) == 0
    capsys.readouterr()
    problem.rename("moved.toml")
    assert "there is no such file" in refused(capsys, "resume", "there")
    assert cli.run(["resume", "there", "--problem", "moved.toml", "--quiet"]) == 0
    Path("there/run.json").write_text("{")
    assert "--problem" in refused(capsys, "resume", "there")
    assert "there is no checkpoint" in refused(capsys, "resume", "nowhere")
    Path("moved.toml").write_text(PROBLEM.replace("0.93, 0.41", "0.8, 0.41"))
    line = refused(capsys, "resume", "there", "--problem", "moved.toml")
    assert "another problem" in line
    Path("there/run.ckpt").write_bytes(b"PK nonsense")
    Path("there/run.ckpt.1").unlink()  # the generation before would be used
    assert "not a readable checkpoint" in refused(
        capsys, "resume", "there", "--problem", "moved.toml"
    )


def test_an_engine_gives_the_same_bits(capsys, problem):
    text = PROBLEM.replace('name = "fw"', 'name = "anytime"\nm = 4\nblock = 1')
    problem.write_text(text.replace("tol = 1e-3", "tol = 1e-3\nmax_seconds = 100"))
    assert cli.run(["solve", str(problem), "--out", "a", "--quiet"]) == 0
    assert cli.run(["solve", str(problem), "--out", "b", "--engine", "threads:2", "--quiet"]) == 0
    capsys.readouterr()
    np.testing.assert_array_equal(wp.load("a/result.npz").x, wp.load("b/result.npz").x)
    assert json.loads(Path("b/result.json").read_text())["engine"] == "threads:2"
    assert "unknown engine 'cluster'" in refused(
        capsys, "solve", str(problem), "--out", "c", "--engine", "cluster"
    )


def test_bad_problems_are_one_line_and_leave_nothing(capsys, problem):
    problem.write_text(PROBLEM.replace('type = "Simplex"', 'type = "Simplx"'))
    for command in ("solve", "check"):
        assert "small.toml: [set] type: no such name 'Simplx'; did you mean 'Simplex'?" in refused(
            capsys, command, str(problem)
        )
    assert names(".") == {"small.toml"}
    assert "there is no such file" in refused(capsys, "solve", "gone.toml")
    assert "problem" in refused(capsys, "solve")
    assert "--data-root" in refused(capsys, "solve", str(problem), "--data-root", "gone")


def test_results_of_an_earlier_run_are_kept(capsys, problem):
    assert cli.run(["solve", str(problem), "--out", "there", "--quiet"]) == 0
    Path("there/mine.txt").write_text("mine")
    before = Path("there/result.npz").read_bytes()
    assert "--overwrite" in refused(capsys, "solve", str(problem), "--out", "there")
    assert Path("there/result.npz").read_bytes() == before
    problem.write_text(PROBLEM.replace("max_rounds = 500", "max_rounds = 2"))
    assert cli.run(["solve", str(problem), "--out", "there", "--overwrite", "--quiet"]) == 1
    assert wp.load("there/result.npz").nit == 2
    assert Path("there/mine.txt").read_text() == "mine"


def test_a_run_that_came_to_nothing_is_no_obstacle(capsys, problem):
    assert cli.run(["solve", str(problem), "--out", "there", "--engine", "gone"]) == 2
    assert names("there") == {"run.json"}
    assert cli.run(["solve", str(problem), "--out", "there", "--quiet"]) == 0


def test_ctrl_c_between_the_last_round_and_the_results(capsys, problem, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("wolfpack.problem_file.write", interrupted)
        assert cli.run(["solve", str(problem), "--out", "there", "--quiet"]) == 130
    assert "wolfpack resume there goes on" in capsys.readouterr().err
    assert cli.run(["resume", "there", "--quiet"]) == 0


def test_folders_that_cannot_be_written(capsys, problem):
    Path("taken").write_text("mine")
    assert "found a file: taken" in refused(capsys, "solve", str(problem), "--out", "taken")
    assert "--out cannot be written" in refused(
        capsys, "solve", str(problem), "--out", "taken/below"
    )
    assert Path("taken").read_text() == "mine"


def test_large_answers_are_in_the_archive_alone(capsys, problem):
    n = 10_001
    np.save("c.npy", np.linspace(0.0, 1.0, n))
    text = '[data]\nc = "c.npy"\n[objective]\ntype = "Quadratic"\nQ = 1.0\nc = "c"\n'
    problem.write_text(text + '[set]\ntype = "Simplex"\n[stop]\nmax_rounds = 3\n')
    assert cli.run(["solve", str(problem), "--out", "there", "--json"]) in (0, 1)
    summary = json.loads(capsys.readouterr().out)
    assert "x" not in summary
    assert summary["shape"] == [n]
    assert wp.load("there/result.npz").x.shape == (n,)


def test_a_disk_that_fails_at_the_end_is_one_line(capsys, problem, monkeypatch):
    def save(self, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(wp.Result, "save", save)
    assert cli.run(["solve", str(problem), "--out", "there", "--quiet"]) == 3
    err = capsys.readouterr().err
    assert err.startswith("wolfpack: cannot write to there: No space left on device; no file is")
    assert err.count("\n") == 1

    def too_large(self, path):
        raise MemoryError

    monkeypatch.setattr(wp.Result, "save", too_large)
    assert cli.run(["solve", str(problem), "--out", "there", "--quiet", "--overwrite"]) == 3
    assert "not enough memory" in capsys.readouterr().err


@pytest.mark.parametrize("broken", ["save", "to_csv", "draw"])
def test_a_full_disk_leaves_the_files_of_the_earlier_run(capsys, problem, monkeypatch, broken):
    problem.write_text(PROBLEM.replace("false", "true"))
    assert cli.run(["solve", str(problem), "--out", "there", "--quiet"]) == 0
    before = {path.name: path.read_bytes() for path in Path("there").iterdir()}

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        owners = {"save": wp.Result, "to_csv": History, "draw": run_figure}
        patch.setattr(owners[broken], broken, full)
        assert cli.run(["solve", str(problem), "--out", "there", "--quiet", "--overwrite"]) == 3
    assert "No space left on device; no file is left half written" in capsys.readouterr().err
    after = {path.name: path.read_bytes() for path in Path("there").iterdir()}
    if broken != "draw":  # the numbers of the new run are not there
        kept = set(before) - {"run.json", "run.ckpt", "run.ckpt.1"}
        assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    else:  # they are, so that no page and no figure of the earlier run may stand beside them
        assert set(after) >= FILES
        assert "report.html" not in after
        assert "convergence.png" not in after
    assert not [name for name in after if name.startswith(".")]


def test_each_exit_code_means_one_thing(capsys, problem, monkeypatch):
    """0 converged, 1 not converged but written, 2 bad input, 3 not carried out or not written."""
    command = ["solve", str(problem), "--out", "there", "--quiet", "--overwrite"]
    assert cli.run(command) == 0
    problem.write_text(PROBLEM.replace("max_rounds = 500", "max_rounds = 1"))
    assert cli.run(command) == 1
    assert names("there") >= FILES
    assert cli.run([*command, "--engine", "gone"]) == 2
    for error in (EngineFailure("no worker is left"), MemoryError(), OSError(28, "No space left")):

        def failing(*_, error=error, **__):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr("wolfpack.front.minimize.minimize", failing)
            assert cli.run(command) == 3

    def mistaken(*_, **__):
        raise AssertionError("unthinkable")

    monkeypatch.setattr("wolfpack.front.minimize.minimize", mistaken)
    capsys.readouterr()
    assert cli.run(command) == 3
    said = capsys.readouterr().err
    assert "unthinkable" in said
    assert said.endswith(
        "this is a mistake of wolfpack's own: please report it with the lines above\n"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_full_standard_output_is_not_called_no_convergence(problem):
    with open("/dev/full", "w") as full:
        command = [*MAIN, "solve", str(problem), "--out", "there"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 3
    assert "cannot write to the standard output" in done.stderr
    assert names("there") >= FILES


def test_check_says_by_its_code_that_something_is_wrong(capsys, problem, monkeypatch):
    wrong = wp.check(lambda x: (float(x @ x), x), wp.sets.Simplex(3), quiet=True)
    assert not wrong.ok
    monkeypatch.setattr("wolfpack.front.check.check", lambda *_, **__: wrong)
    assert cli.run(["check", str(problem)]) == 1
    assert cli.run(["check", str(problem), "--json"]) == 1


def test_help_tells_the_exit_codes(capsys):
    assert cli.run(["solve", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "3 if the run could not be carried out or written" in said


def test_overwriting_removes_what_the_new_run_does_not_write(problem):
    problem.write_text(PROBLEM.replace("figure = false", "figure = true"))
    assert cli.run(["solve", str(problem), "--out", "there", "--quiet"]) == 0
    assert "convergence.png" in names("there")
    problem.write_text(PROBLEM + "checkpoint = false\n")
    assert cli.run(["solve", str(problem), "--out", "there", "--quiet", "--overwrite"]) == 0
    assert names("there") == FILES | {"run.json"}


def test_nothing_is_deleted_while_the_new_run_goes_on(problem, monkeypatch):
    assert cli.run(["solve", str(problem), "--out", "there", "--quiet"]) == 0
    before = {name: Path("there", name).read_bytes() for name in FILES | {"run.ckpt"}}
    seen: list[dict[str, bytes]] = []
    minimize = wp.minimize

    def watched(*args, **options):
        seen.append({name: Path("there", name).read_bytes() for name in before})
        return minimize(*args, **options)

    monkeypatch.setattr("wolfpack.front.minimize.minimize", watched)
    assert cli.run(["solve", str(problem), "--out", "there", "--quiet", "--overwrite"]) == 0
    assert seen == [before]


def test_two_runs_in_one_folder_are_refused(capsys, problem):
    assert cli.run(["solve", str(problem), "--out", "there", "--quiet"]) == 0
    before = {path.name: path.read_bytes() for path in Path("there").iterdir()}
    with locked(Path("there")):
        words = refused(capsys, "solve", str(problem), "--out", "there", "--overwrite")
        assert f"there is in use by process {os.getpid()} on" in words
        assert "choose another folder with --out" in words
        assert "in use" in refused(capsys, "resume", "there")
        assert "in use" in refused(capsys, "bench", "--quick", "--out", "there")
        assert "in use" in refused(capsys, "reproduce", "--quick", "--out", "there")
    assert {path.name: path.read_bytes() for path in Path("there").iterdir()} == before


def test_links_are_not_followed_out_of_the_folder(problem):
    Path("there").mkdir()
    for name in ("result.npz", "result.json", "history.csv", "run.json", "run.ckpt"):
        Path(f"mine-{name}").write_text("mine")
        Path("there", name).symlink_to(f"../mine-{name}")
    assert cli.run(["solve", str(problem), "--out", "there", "--quiet", "--overwrite"]) == 0
    for name in ("result.npz", "result.json", "history.csv", "run.json", "run.ckpt"):
        assert Path(f"mine-{name}").read_text() == "mine"
        assert not Path("there", name).is_symlink()
    assert wp.load("there/result.npz").success


def test_init_keeps_what_exists(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("problem.toml").write_text("mine")
    assert "--overwrite" in refused(capsys, "init")
    assert "is a folder" in refused(capsys, "init", str(tmp_path))
    assert "cannot be written" in refused(capsys, "init", "problem.toml/below.toml")
    assert "'poem' is not one of" in refused(capsys, "init", "--kind", "poem")
    assert Path("problem.toml").read_text() == "mine"
    assert cli.run(["init", "--overwrite", "--kind", "portfolio"]) == 0


def test_without_matplotlib_the_results_are_still_written(capsys, problem, monkeypatch):
    problem.write_text(PROBLEM.replace("figure = false", "figure = true"))
    monkeypatch.setattr(plots, "find_spec", lambda name: None)
    assert cli.run(["solve", str(problem), "--out", "there"]) == 0
    assert "wolfpack[plots]" in capsys.readouterr().out
    assert names("there") >= FILES


def test_warnings_are_lines(capsys, problem, monkeypatch):
    problem.write_text(PROBLEM.replace('name = "fw"', 'name = "fw-short"\nL = 0.01'))
    assert cli.run(["solve", str(problem), "--out", "there", "--quiet"]) in (0, 1)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(line.startswith("wolfpack: L = 0.01 is too small") for line in lines)


def test_info_lists_objectives_engines_and_devices(capsys, tmp_path, monkeypatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'GPU 0: Some Card (UUID: GPU-1)'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert cli.run(["info", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["devices"]["driver"] == ["GPU 0: Some Card"]
    assert {"LeastSquares", "Quadratic"} <= set(facts["objectives"])
    assert facts["engines"]["processes"] is True
    tool.write_text("#!/bin/sh\nexit 9\n")
    assert cli.run(["info"]) == 0
    assert "driver" not in capsys.readouterr().out


@pytest.mark.parametrize("command", ["solve", "check", "info"])
def test_forty_columns(capsys, problem, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "40")
    problem.write_text(PROBLEM.replace('name = "fw"', 'name = "auto"'))
    assert cli.run([command, *([str(problem)] if command != "info" else [])]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 40 for line in lines if not line.startswith("Wrote"))


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX signals")
def test_ctrl_c_writes_the_best_so_far(problem):
    endless = PROBLEM.replace("tol = 1e-3", "tol = 0").replace(
        "max_rounds = 500", "max_lmo = 1000000000"
    )
    problem.write_text(endless + "[run]\nrecord_every = 100\n")
    process = interrupted_after(problem, lambda: Path("there/run.json").exists(), 1.0)
    assert process.returncode == 1
    result = wp.load("there/result.npz")
    assert result.status == wp.Status.INTERRUPTED
    assert result.gap < 1
    assert Path("there/run.ckpt").exists()
    assert "To go on: wolfpack resume there\n" in Path("printed").read_text()


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX signals")
def test_ctrl_c_before_there_is_anything_is_130(problem):
    rows = "\n".join(",".join(["0.5"] * 400) for _ in range(400))
    Path("slow.csv").write_text(rows)
    text = PROBLEM.replace("b = [0.93, 0.41, 0.17]", 'b = "b"') + '[data]\nb = "slow.csv"\n'
    problem.write_text(text)
    slow = (
        "import time; from wolfpack.readers import tables\n"
        "def wait(*a, **k): open('reading', 'w').close(); time.sleep(60)\n"
        "tables.np.loadtxt = wait\n"
    )
    process = interrupted_after(problem, lambda: Path("reading").exists(), 0.0, slow)
    assert process.returncode == 130
    assert not Path("there").exists()


def interrupted_after(problem, begun, seconds, before="") -> subprocess.Popen[str]:
    """Run `solve`, press Ctrl-C some time after ``begun()`` and wait for its end."""
    main = [sys.executable, "-c", before + "from _wolfpack_start import main; main()"]
    process = subprocess.Popen(
        [*main, "solve", str(problem), "--out", "there"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + 60
        while not begun():
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
        Path("printed").write_text(out)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert err.count("\n") <= 1
    return process


INTEGER = """
[objective]
type = "LeastSquares"
A = [[1, 2, 3, 4], [2, 1, 0, 1], [0, 1, 1, 5]]
b = [1, 2, 3]
[set]
type = "Hypersimplex"
n = 4
k = 2
[solve]
integer = true
max_nodes = 5000
"""


def test_check_describes_the_tree_of_an_integer_problem(capsys, problem):
    problem.write_text(INTEGER)
    assert cli.run(["check", str(problem), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["method"], found["integers"]) == ("branch-and-bound", 4)
    assert found["round_oracles"] > 1
    assert cli.run(["check", str(problem)]) == 0
    said = capsys.readouterr().out
    assert "one node" in said
    assert "all 5,000 nodes" in said
    assert "'auto'" not in said
