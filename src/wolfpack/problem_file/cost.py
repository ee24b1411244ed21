"""What a run will cost, measured on a few calls."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..front.minimize import minimize
from .build import Task

_TRIES = 5
_PATIENCE = 1.0
"""Seconds for which one kind of call is repeated."""


@dataclass(frozen=True)
class Cost:
    """Sizes and measured times.

    Attributes
    ----------
    dimension : int
        Entries of x.
    data_bytes, x_bytes : int
        Memory of the data, and of one point.
    gradient_seconds, oracle_seconds : float
        Median time of a gradient and of one answer of the linear oracle.
    round_seconds, round_oracles : float
        What one round took (median), and its oracle calls, in a short trial in this process.
    method : str
        The method that was tried.
    """

    dimension: int
    data_bytes: int
    x_bytes: int
    gradient_seconds: float
    oracle_seconds: float
    round_seconds: float
    round_oracles: float
    method: str


def measure(task: Task, rounds: int = 20) -> Cost:
    """Ask f and K a few questions and run a few rounds, in this process.

    Parameters
    ----------
    task : Task
        What is to be run.
    rounds : int
        Length of the trial; it ends earlier when it takes long.
    """
    x = task.set.start()
    gradient = _median(lambda: task.objective.evaluate(x))
    direction = np.asarray(task.objective.evaluate(x).gradient)
    oracle = _median(lambda: task.set.lmo(direction))
    settings: dict[str, Any] = {**task.settings, "engine": None, "tol": 0.0, "rtol": None}
    settings |= {"max_rounds": rounds, "max_seconds": _PATIENCE, "max_lmo": None}
    settings |= {"record_every": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the run itself will say them
        result = minimize(task.objective, task.set, progress=False, **settings)
    seconds, calls = (np.diff(result.history[name]) for name in ("seconds", "nlmo"))
    rates = (float(np.median(seconds)), float(np.mean(calls))) if len(calls) else (0.0, 0.0)
    sizes = task.set.dimension, task.data_bytes, int(x.nbytes)
    return Cost(*sizes, gradient, oracle, *rates, result.method)


def _median(call: Callable[[], Any]) -> float:
    """Return the median time of a few calls, of one if it takes long; the first is not counted."""
    times: list[float] = []
    end = time.perf_counter() + _PATIENCE
    for _ in range(_TRIES + 1):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
        if time.perf_counter() > end:
            break
    return statistics.median(times[1:] or times)
