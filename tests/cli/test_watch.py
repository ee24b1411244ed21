"""`wolfpack watch`: what it refuses, what it prints, how it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import numpy as np
import pytest

import wolfpack as wp
from wolfpack import cli
from wolfpack.cli import watch as command
from wolfpack.loop.live_file import NAME

MAIN = [sys.executable, "-c", "from _wolfpack_start import main; main()"]


def refused(capsys, *arguments: str) -> str:
    assert cli.run(["watch", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


def test_folders_that_are_none_are_refused(tmp_path, capsys):
    message = refused(capsys, str(tmp_path / "nowhere"))
    assert "does not exist: 'wolfpack solve FILE --out" in message
    (tmp_path / "file").write_text("")
    assert "is a file, not a folder" in refused(capsys, str(tmp_path / "file"))


def test_a_port_that_is_taken_is_refused_if_it_was_asked_for(tmp_path, capsys, monkeypatch):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        message = refused(capsys, str(tmp_path), "--port", str(port))
        assert f"--port {port} cannot be used: Address already in use; choose another" in message
        # the usual one is not insisted on
        monkeypatch.setattr(command, "PORT", port)
        with command._server(tmp_path, None, None, True) as server:
            assert server.server_port not in (0, port)


def test_it_says_what_it_watches_and_ends_with_ctrl_c(tmp_path):
    (tmp_path / "small.toml").write_text('title = "Three numbers"\n[set]\ntype = "Simplex"\n')
    (tmp_path / "run.json").write_text('{"problem": "small.toml"}')
    f = wp.objectives.LeastSquares(np.eye(3), np.array([0.9, 0.4, 0.1]))
    wp.minimize(f, wp.sets.Simplex(3), method="fw", max_rounds=5, watch=tmp_path)
    assert (tmp_path / NAME).exists()
    line = [*MAIN, "watch", str(tmp_path), "--port", "0", "--no-browser"]
    env = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=env) as running:
        assert running.stdout is not None
        lines = [running.stdout.readline() for _ in range(3)]
        address = re.search(r"http://127\.0\.0\.1:\d+/", lines[0])
        assert address
        with urllib.request.urlopen(address.group()) as answer:
            page = answer.read().decode()
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 0
    assert "Ctrl-C ends this command; the run goes on." in lines[1]
    assert lines[2] == "The run has ended: max_rounds.\n"
    assert "<h1>Three numbers</h1>" in page
    assert "Simplex" in page


@pytest.mark.slow
def test_a_solve_can_be_watched_from_its_beginning_to_its_end(tmp_path):
    from wolfpack.report.watching import Watched

    (tmp_path / "long.toml").write_text(
        'title = "long"\n[objective]\ntype = "Quadratic"\nc = [0.1, 0.2]\n'
        'Q = [[1.0, 0.2], [0.2, 2.0]]\n[set]\ntype = "L2Ball"\n[method]\nname = "fw"\n'
        "[stop]\ntol = 0.0\nmax_seconds = 4\n[output]\nfigure = false\n"
    )
    folder = tmp_path / "out"
    folder.mkdir()
    watched, kinds = Watched(folder), []
    line = [*MAIN, "solve", str(tmp_path / "long.toml"), "--out", str(folder), "--quiet"]
    with subprocess.Popen(line) as running:
        while running.poll() is None:
            kind = watched.state().kind
            kinds += [kind] if kinds[-1:] != [kind] else []
        assert running.returncode == 1
    kinds += [watched.state().kind]
    assert kinds[0] == "waiting"
    assert "running" in kinds
    assert kinds[-1] == "ended"
    assert not (folder / NAME).exists()
    assert (folder / "report.html").read_text() in watched.page()[1].replace(
        watched.page()[1][watched.page()[1].rindex("<script>") :], "</body>\n</html>\n"
    )
