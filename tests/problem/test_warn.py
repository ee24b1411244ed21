"""Warnings name the line of the user."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

import wolfpack as wp
from wolfpack.loop import live_file
from wolfpack.loop.monitor import ConvexityWarning, SmoothnessWarning
from wolfpack.problem.warn import warn_user


def caught(call) -> warnings.WarningMessage:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    assert len(found) == 1
    return found[0]


def test_the_line_of_the_caller_is_named():
    warning = caught(lambda: warn_user("so", SmoothnessWarning))
    assert Path(warning.filename) == Path(__file__)
    assert "warn_user(" in Path(__file__).read_text().splitlines()[warning.lineno - 1]


def steep(x):
    return 50.0 * float(x @ x), 100.0 * x


def concave(x):
    return -float(x @ x), -2.0 * x


def test_runs_warn_at_the_call(tmp_path, monkeypatch):
    K, start = wp.sets.Box([-1.0] * 3, [1.0] * 3), np.full(3, 0.9)

    def too_small():
        wp.minimize(steep, K, start, method="fw-short", L=1.0, max_rounds=5)

    def not_convex():
        wp.minimize(concave, K, start, method="fw", max_rounds=20)

    def full(path, durable):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(live_file, "replacing", full)
    f = wp.objectives.Quadratic(1.0, np.ones(3))

    def unwritten():
        wp.minimize(f, K, method="fw", max_rounds=3, watch=tmp_path)

    for call, kind in (
        (too_small, SmoothnessWarning),
        (not_convex, ConvexityWarning),
        (unwritten, UserWarning),
    ):
        warning = caught(call)
        assert warning.category is kind
        assert Path(warning.filename) == Path(__file__)
        assert warning.lineno == call.__code__.co_firstlineno + 1
