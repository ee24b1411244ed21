"""The line that a run shows: what it says, how wide it is, and how honest its estimate."""

from __future__ import annotations

import io
import math
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import wolfpack as wp
from wolfpack import cli
from wolfpack.cli import live
from wolfpack.cli.live import Display
from wolfpack.loop.forecast import GapForecast, clock, left_words

F = wp.objectives.LeastSquares(np.diag([3.0, 2.0, 1.0]), np.array([0.93, 0.41, 0.17]))
K = wp.sets.Simplex(3)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_estimate_is_right_for_a_power_law(power):
    pace = GapForecast()
    for t in np.linspace(0.25, 50.0, 2000):
        pace.see(t, 7.0 * t**-power)
    assert len(pace.times) <= 513
    assert pace.left(7.0 * 200.0**-power) == pytest.approx((150.0, 150.0), rel=1e-6)
    assert pace.left(7.0) == (0.0, 0.0)
    assert pace.left(7.0 * 1e6**-power) == (math.inf, math.inf)


def test_the_estimate_is_right_for_a_linear_rate():
    pace = GapForecast()
    for t in np.linspace(0.25, 50.0, 2000):
        pace.see(t, 7.0 * math.exp(-0.2 * t))
    assert pace.left(7.0 * math.exp(-16.0)) == pytest.approx((30.0, 30.0), rel=1e-6)


def test_where_both_fit_both_are_told():
    pace = GapForecast()
    rng = np.random.default_rng(0)
    for t in np.linspace(1.0, 10.0, 40):
        pace.see(t, t**-0.5 * math.exp(-0.1 * t + 0.3 * rng.standard_normal()))
    low, high = pace.left(1e-2)
    assert 0 < low < 20 < high


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (None, ""),
        ((10.0, 12.0), "  about 12 s left"),
        ((0.1, 0.9), "  about 0.9 s left"),
        ((10.0, 90.0), "  10 s to 1.5 min left"),
        ((10.0, math.inf), "  at least 10 s left"),
        ((math.inf, math.inf), "  long to go"),
    ],
)
def test_what_is_said_is_what_is_known(left, words):
    assert left_words(left) == words


def test_the_line_says_how_many_workers_are_alive():
    seen = []
    wp.minimize(
        F,
        K,
        method="anytime",
        m=4,
        block=1,
        engine="threads:2",
        max_rounds=3,
        callback=lambda intermediate_result: seen.append(live.describe(intermediate_result)),
    )
    assert "  workers 2  " in seen[-1]


def test_no_estimate_where_the_past_does_not_tell():
    pace = GapForecast()
    assert pace.left(1e-3) is None
    for t in range(1, 20):
        pace.see(float(t), 1.0)
        pace.see(float(t), math.inf)
    assert pace.left(1e-3) is None  # the gap stands still
    assert pace.left(0.0) is None  # and never reaches nothing
    assert len(pace.times) == 19


def watched(monkeypatch, width: int, **settings) -> str:
    monkeypatch.setattr(live, "_REFRESH", 0.0)
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=width, legacy_windows=False)
    with Display(settings, console, None) as display:
        display.finish(wp.minimize(F, K, method="fw", callback=display.callback, **settings))
    return screen.getvalue()


def test_the_line_says_where_the_run_is(monkeypatch):
    shown = watched(monkeypatch, 200, tol=0.0, max_rounds=30)
    assert "round 12  gap" in shown
    assert "bound" in shown
    assert "oracle calls 13" in shown
    assert "left" in shown  # 30 rounds at the pace so far


def test_a_narrow_terminal_wraps_the_line(monkeypatch):
    shown = watched(monkeypatch, 40, tol=1e-3, max_seconds=100.0)
    lines = re.split(r"[\r\n]|\x1b\[[0-9;?]*[A-Za-z]", shown)
    assert any(line.startswith("round ") for line in lines)
    assert max(map(len, lines)) <= 40


def test_nobody_to_tell_costs_nothing():
    assert Display({}, None, None).callback is None


def test_the_log_grows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(live, "_REFRESH", 0.0)
    monkeypatch.setattr(live, "_LOG_EVERY", 0.0)
    assert cli.run(["init"]) == 0
    command = ["solve", "problem.toml", "--quiet", "--log", "run.log"]
    assert cli.run(command) == 0
    lines = Path("run.log").read_text(encoding="utf-8").splitlines()
    assert lines[0].endswith("began")
    assert "round 1 gap" in "".join(lines)
    assert " converged round " in lines[-1]
    assert cli.run([*command, "--overwrite"]) == 0
    assert len(Path("run.log").read_text(encoding="utf-8").splitlines()) == 2 * len(lines)
    capsys.readouterr()
    assert cli.run([*command[:-1], "gone/run.log", "--overwrite"]) == 2
    assert "--log cannot be written: gone/run.log" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_full_log_is_named_before_the_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["init"]) == 0
    capsys.readouterr()
    assert cli.run(["solve", "problem.toml", "--quiet", "--log", "/dev/full"]) == 2
    assert capsys.readouterr().err == (
        "wolfpack: --log cannot be written: /dev/full: No space left on device; name another "
        "file, or leave --log out\n"
    )


def test_a_log_that_fills_up_is_a_warning_and_not_a_lost_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(live, "_REFRESH", 0.0)
    monkeypatch.setattr(live, "_LOG_EVERY", 0.0)

    usual = Display._add

    def add(self, text):
        if text != "began":
            raise OSError(28, "No space left on device")
        usual(self, text)

    monkeypatch.setattr(Display, "_add", add)
    assert cli.run(["init"]) == 0
    assert cli.run(["solve", "problem.toml", "--quiet", "--log", "run.log"]) == 0
    assert Path("run.log").read_text(encoding="utf-8").endswith("began\n")
    err = capsys.readouterr().err
    assert err.startswith("wolfpack: --log cannot be written: run.log: No space left on device;")
    assert err.count("\n") == 1


def test_the_log_says_what_ended_a_run(tmp_path):
    with (
        pytest.raises(ValueError, match="no luck"),
        Display({}, None, tmp_path / "run.log"),
    ):
        raise ValueError("no luck")
    assert "ended by ValueError: no luck" in (tmp_path / "run.log").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.123, "0.12 s"), (42.0, "42 s"), (90.0, "1.5 min"), (7200.0, "2 h")]
)
def test_times_as_people_say_them(seconds, text):
    assert clock(seconds) == text
