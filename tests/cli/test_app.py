"""The command line: what it prints, writes and answers to the shell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import wolfpack
from report.document import Document
from wolfpack import cli
from wolfpack.arrays import _devices
from wolfpack.paper import reproduce as reproducing
from wolfpack.paper.experiments import solve
from wolfpack.report import plots

MAIN = [sys.executable, "-c", "from _wolfpack_start import main; main()"]


@pytest.fixture
def in_process(monkeypatch):
    """Run the series in this process, which costs no start of workers."""

    def execute(runs, rounds, workers=None, watch=None):
        return {run: solve(run, rounds) for run in runs}

    monkeypatch.setattr(reproducing, "execute", execute)


def refused(capsys, *arguments: str) -> str:
    """Run a command line that must end with code 2 and one line; return that line."""
    assert cli.run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("wolfpack: ")
    assert printed.err.count("\n") == 1
    return printed.err


def test_version(capsys):
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"wolfpack {wolfpack.__version__}\n"


def test_without_a_command_the_help_is_shown(capsys):
    assert cli.run([]) == 0
    out = capsys.readouterr().out
    assert "reproduce" in out
    assert "info" in out


def test_info_for_people_and_for_machines(capsys):
    assert cli.run(["info"]) == 0
    assert "r-pfw" in capsys.readouterr().out
    assert cli.run(["info", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["wolfpack"] == wolfpack.__version__
    assert {"Simplex", "TraceNormBall"} <= set(facts["sets"])
    assert facts["extras"]["plots"] is True
    assert facts["devices"]["numpy"] == ["cpu"]


def test_info_names_the_devices_of_array_libraries(capsys, monkeypatch, tmp_path):
    def fake(name):
        if name == "jax":
            card = SimpleNamespace(platform="gpu", id=0, device_kind="H200")
            return SimpleNamespace(devices=lambda: [card])
        if name == "torch":
            cuda = SimpleNamespace(
                is_available=lambda: True,
                device_count=lambda: 2,
                get_device_name=lambda i: f"Card {i}",
            )
            mps = SimpleNamespace(is_available=lambda: False)
            return SimpleNamespace(cuda=cuda, backends=SimpleNamespace(mps=mps))
        raise ImportError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(_devices, "_driver", list)
    monkeypatch.setattr(_devices, "find_spec", lambda name: object())
    monkeypatch.setattr(_devices, "import_module", fake)
    monkeypatch.setattr(_devices, "_DEV", tmp_path)
    assert cli.run(["info"]) == 0
    assert "torch: cpu jax: cpu cupy: none" in " ".join(capsys.readouterr().out.split())
    (tmp_path / "nvidia0").touch()
    assert cli.run(["info"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "numpy: cpu torch: cpu, cuda:0 (Card 0), cuda:1 (Card 1) jax: gpu:0 (H200)" in said
    assert "cupy: cannot be used (ImportError: libcuda.so.1" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["reproduce", "figure4"],
            "'figure4' is not one of 'figure1', 'figure2', 'figure3', 'all'",
        ),
        (["reproduce", "--rounds", "3"], "greater than or equal to 10"),
        (["reproduce", "--rounds", "many"], "--rounds"),
        (["reproduce", "--jobs", "0"], "--jobs"),
        (["reproduce", "--quick", "--rounds", "50"], "--quick and --rounds exclude each other"),
        (["reproduce", "--qick"], "--qick"),
        (["reprodce"], "'reprodce'"),
    ],
)
def test_bad_usage_is_one_line(capsys, arguments, said):
    assert said in refused(capsys, *arguments)


def test_out_must_not_be_a_file(capsys, tmp_path):
    file = tmp_path / "taken"
    file.write_text("mine")
    line = refused(capsys, "reproduce", "--out", str(file))
    assert f"--out must be a folder, found a file: {file}" in line
    assert file.read_text() == "mine"


def test_out_must_be_writable(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    line = refused(capsys, "reproduce", "--out", str(tmp_path / "file" / "below"))
    assert "--out cannot be written" in line


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_out_without_permission(capsys, tmp_path):
    tmp_path.chmod(0o500)
    assert "Permission denied" in refused(capsys, "reproduce", "--out", str(tmp_path))


def test_missing_matplotlib_is_said_before_any_work(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(plots, "find_spec", lambda name: None)
    assert "wolfpack[plots]" in refused(capsys, "reproduce", "--out", str(tmp_path / "x"))
    assert not (tmp_path / "x").exists()


def test_reproduce_writes_figures_curves_and_page(capsys, tmp_path):
    out = tmp_path / "new" / "folder"
    arguments = ["reproduce", "figure1", "--rounds", "40", "--jobs", "1", "--out", str(out)]
    assert cli.run(arguments) == 0
    assert "index.html" in capsys.readouterr().out
    names = {"figure1.png", "figure1.svg", "figure1.csv", "index.html"}
    assert {path.name for path in out.iterdir()} == names
    document = Document((out / "index.html").read_text(encoding="utf-8"))
    assert "wolfpack reproduce figure1 --out" in document.text
    links = {a["href"] for a in document.all("a") if not (a["href"] or "").startswith("#")}
    assert links == names - {"index.html"}


@pytest.mark.usefixtures("in_process")
def test_json_agrees_with_the_page(capsys, tmp_path):
    assert cli.run(["reproduce", "--rounds", "40", "--json", "--out", str(tmp_path)]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["rounds"] == 40
    assert {Path(file).name for file in summary["files"]} == {p.name for p in tmp_path.iterdir()}
    assert len(summary["series"]) == 2 * 2 + 6 * 4 + 2 * (7 + 6 + 7)
    document = Document((tmp_path / "index.html").read_text(encoding="utf-8"))
    numbers = {cell for table in document.tables for row in table for cell in row}
    from wolfpack.paper.explain import gap_text

    for series in summary["series"]:
        assert gap_text(series["gap"]["40"]) in numbers


@pytest.mark.usefixtures("in_process")
def test_quiet_prints_nothing(capsys, tmp_path):
    assert (
        cli.run(["reproduce", "figure1", "--rounds", "20", "--quiet", "--out", str(tmp_path)]) == 0
    )
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""


def test_a_run_that_fails_is_named_and_the_rest_is_written(capsys, tmp_path, monkeypatch):
    def execute(runs, rounds, workers=None, watch=None):
        records = {run: solve(run, rounds) for run in runs}
        first = next(iter(records))
        return records | {first: replace(records[first], status="nonfinite")}

    monkeypatch.setattr(reproducing, "execute", execute)
    assert (
        cli.run(["reproduce", "figure1", "--rounds", "20", "--quiet", "--out", str(tmp_path)]) == 1
    )
    assert "(nonfinite)" in capsys.readouterr().err
    assert (tmp_path / "index.html").exists()


def test_a_dead_worker_is_one_line(capsys, tmp_path, monkeypatch):
    def execute(*_, **__):
        raise BrokenProcessPool

    monkeypatch.setattr(reproducing, "execute", execute)
    assert cli.run(["reproduce", "--out", str(tmp_path)]) == 3
    err = capsys.readouterr().err
    assert "a worker process died" in err
    assert err.count("\n") == 1


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX signals")
def test_ctrl_c_ends_every_process_with_one_line(tmp_path):
    command = [*MAIN, "reproduce", "figure1", "--rounds", "10000000", "--jobs", "2"]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        wait_until(lambda: len(group(process.pid)) >= 3, "workers have started")
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=30)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130
    assert err == "wolfpack: interrupted\n"
    wait_until(lambda: not group(process.pid), "all processes have ended")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX signals")
@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6])
@pytest.mark.parametrize("arguments", [["--version"], ["info"], ["bench", "--list"]])
def test_ctrl_c_while_python_imports_is_one_line(arguments, seconds):
    code = (
        "import sys, _wolfpack_start\n"
        "class Watch:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'wolfpack': print('here', flush=True)\n"
        "sys.meta_path.insert(0, Watch())\n"
        "_wolfpack_start.main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    # it may have ended before
    assert (process.returncode, err) in [(130, "wolfpack: interrupted\n"), (0, "")]
    if seconds <= 0.02:
        assert process.returncode == 130


def group(leader: int) -> list[int]:
    """Processes of a process group that have not ended."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, pgrp = entry.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(pgrp) == leader and state != "Z":
            found.append(int(entry.parent.name))
    return found


def wait_until(condition, what: str) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.05)
