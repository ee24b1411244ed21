"""Problems whose oracles misbehave on purpose, and what the tests of all engines share."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import numpy as np

import wolfpack as wp


class Corner:
    """The oracle of the cube [-1, 1]^d, in Python, after ``seconds`` of sleep."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def __call__(self, g: np.ndarray) -> np.ndarray:
        if self.seconds:
            time.sleep(self.seconds)
        return np.where(g > 0, -1.0, 1.0)


class Flaky(Corner):
    """The same oracle, which misbehaves once, or always, after some calls on a worker.

    Parameters
    ----------
    kind : {"kill", "raise", "exit", "hang", "slow", "nan", "shape", "outside"}
        What it does.
    flag : Path
        File whose existence says that it has been done already.
    always : bool
        Whether it goes on once it has begun.
    after : int
        Calls on one worker before it begins.
    anywhere : bool
        Whether it does so in the driver too.
    """

    def __init__(
        self,
        kind: str,
        flag: Path,
        always: bool = False,
        after: int = 0,
        anywhere: bool = False,
    ) -> None:
        super().__init__()
        self.anywhere = anywhere
        self.kind = kind
        self.flag = str(flag)
        self.always = always
        self.after = after
        self.driver = os.getpid()
        self.calls = 0
        self.pause = 20.0 if kind == "hang" else 0.3

    def __call__(self, g: np.ndarray) -> Any:
        answer = super().__call__(g)
        self.calls += 1
        if not self._my_turn():
            return answer
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.kind in ("hang", "slow"):
            time.sleep(self.pause)
            return answer
        if self.kind == "raise":
            raise ZeroDivisionError("the oracle divides by zero")
        if self.kind == "exit":
            raise SystemExit(4)
        wrong = {"nan": np.full_like(answer, np.nan), "shape": answer[:-1], "outside": 7.0 * answer}
        return wrong[self.kind]

    def _my_turn(self) -> bool:
        driver = os.getpid() == self.driver and current_thread() is main_thread()
        if driver and not self.anywhere:
            return False
        if os.path.exists(self.flag):
            return self.always
        if self.calls <= self.after:
            return False
        try:
            os.close(os.open(self.flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return self.always
        return True


def cube(oracle: Any = None, d: int = 6) -> tuple[Any, Any]:
    """Least squares over the cube, known through a user's oracle alone."""
    rng = np.random.default_rng(3)
    A, b = rng.standard_normal((10, d)), 3 * rng.standard_normal(10)
    K = wp.sets.Oracle(oracle or Corner(), shape=d, radius=10 * d**0.5)
    return wp.objectives.LeastSquares(A, b), K


def run(problem: tuple[Any, Any], rounds: int = 12, **settings: Any) -> wp.Result:
    """A short run of a sampled method."""
    f, K = problem
    defaults = {"method": "anytime", "m": 12, "L": f.L, "tol": 0, "record_every": 4, "seed": 5}
    return wp.minimize(f, K, max_rounds=rounds, **defaults | settings)


def digest(result: wp.Result) -> str:
    """SHA-256 of everything that must not depend on the engine."""
    numbers = [result.fun, result.lower_bound, float(result.nlmo), float(result.nfev)]
    parts = [result.x, result.state.x, result.history["fun"], result.history["lower_bound"]]
    data = b"".join(np.ascontiguousarray(part).tobytes() for part in [*parts, np.array(numbers)])
    return hashlib.sha256(data).hexdigest()


def children() -> set[int]:
    """Processes that come from this one and have not ended."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = entry.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            parents[int(entry.parent.name)] = int(parent)
    found, generation = set(), {os.getpid()}
    while generation:
        generation = {pid for pid, parent in parents.items() if parent in generation}
        found |= generation
    return found


def shared_memory() -> set[str]:
    """Named shared-memory segments, but for the semaphores of Python's own executors."""
    return {p.name for p in Path("/dev/shm").iterdir() if not p.name.startswith("sem.")}


def wait_until(condition: Any, seconds: float = 20.0) -> bool:
    """Wait for a condition; tell whether it came true."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
