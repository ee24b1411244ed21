"""What a run will cost, measured on a few calls."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..front.integer import minimize_integer
from ..front.minimize import minimize
from ..loop import Result
from ..objectives import Partitioned
from ..sets._batch import cores
from .build import Task

_TRIES = 5
_MAX_SECONDS = 1.0
"""How long one kind of call is repeated."""


@dataclass(frozen=True)
class Cost:
    """Sizes (of x, of the data, of one point), and times measured in this process.

    Times of a gradient and of an oracle call are medians. Those of a round, and its mean number of
    oracle calls, come from a short trial with ``method``. For a file that asks for integer points
    a round is a node of the tree, and ``integers`` is the number of entries that must be integers.
    Data in files of their own are ``blocks``, the largest of which has ``block_bytes``; the file's
    engine has ``workers``, and a gradient sends ``sent_bytes`` to and from each of them.
    """

    dimension: int
    data_bytes: int
    x_bytes: int
    gradient_seconds: float
    oracle_seconds: float
    round_seconds: float
    round_oracles: float
    method: str
    integers: int = 0
    blocks: int = 0
    block_bytes: int = 0
    workers: int = 0
    sent_bytes: int = 0


def measure(task: Task, rounds: int = 20) -> Cost:
    """Time a few calls of f and K and a trial of some rounds, which ends early if it takes long."""
    x = task.set.start()
    gradient = _median(lambda: task.objective.evaluate(x))
    direction = np.asarray(task.objective.evaluate(x).gradient)
    oracle = _median(lambda: task.set.lmo(direction))
    result, clock = _tree(task, rounds) if task.integer is not None else _trial(task, rounds)
    seconds, calls = np.diff(clock), np.diff(result.history["nlmo"])
    nodes = np.maximum(np.diff(result.history["round"]), 1)
    return Cost(
        dimension=task.set.dimension,
        data_bytes=task.data_bytes,
        x_bytes=int(x.nbytes),
        gradient_seconds=gradient,
        oracle_seconds=oracle,
        round_seconds=float(np.median(seconds / nodes)) if len(seconds) else 0.0,
        round_oracles=float(np.mean(calls / nodes)) if len(calls) else 0.0,
        method=result.method,
        integers=0 if task.integer is None else len(result.state.costs.gains),
        **_of_blocks(task, int(x.nbytes)),
    )


def _of_blocks(task: Task, x_bytes: int) -> dict[str, int]:
    """Return what is known of blocks of data, and of the workers that would compute them."""
    if not isinstance(task.objective, Partitioned):
        return {}
    largest = max(facts.nbytes for facts in task.objective.facts)
    name, _, count = (task.settings.get("engine") or "").partition(":")
    workers = int(count) if count.isdecimal() else 1 if name in ("", "local") else cores()
    blocks = len(task.objective.parts)
    return {
        "blocks": blocks,
        "block_bytes": largest,
        "workers": min(workers, blocks),
        "sent_bytes": x_bytes,
    }


def _trial(task: Task, rounds: int) -> tuple[Result, list[float]]:
    """Return a short run, and the solver's own time after each of its rounds."""
    settings = task.settings | {"engine": None, "tol": 0.0, "rtol": None, "record_every": 1}
    settings |= {"max_rounds": rounds, "max_seconds": _MAX_SECONDS, "max_lmo": None}
    clock: list[float] = []  # the solver's own time: certificates become rarer in a longer run
    settings["callback"] = lambda now: clock.append(now.solver_seconds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the run itself will show them
        result = minimize(task.objective, task.set, progress=False, **settings)
    return result, clock


def _tree(task: Task, nodes: int) -> tuple[Result, list[float]]:
    """Return the first nodes of a tree, and the solver's own time after each of them."""
    clock: list[float] = []
    settings = {**(task.integer or {}), "engine": None, "gap": 0.0, "rtol": None, "batch": 1}
    settings |= {"max_nodes": nodes, "max_seconds": _MAX_SECONDS, "progress": False}
    settings["callback"] = lambda now: clock.append(now.solver_seconds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return minimize_integer(task.objective, task.set, **settings), clock


def _median(call: Callable[[], object]) -> float:
    """Return the median time of a few calls, of one if it takes long; the first is not counted."""
    times: list[float] = []
    end = time.perf_counter() + _MAX_SECONDS
    for _ in range(_TRIES + 1):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
        if time.perf_counter() > end:
            break
    return statistics.median(times[1:] or times)
