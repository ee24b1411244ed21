"""Runs of objectives in blocks, which must have the same bits on every engine."""

from __future__ import annotations

import os
import signal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import wolfpack as wp
from engines.cases import digest
from wolfpack.objectives import Partitioned

N, D = 120, 8
CUTS = 7


def arrays(name: str = "logistic") -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(4)
    A = rng.standard_normal((N, D))
    z = A @ rng.standard_normal(D) + rng.standard_normal(N)
    b = np.sign(z) if name == "logistic" else z
    return [(A[rows], b[rows]) for rows in np.array_split(np.arange(N), CUTS)]


class Loader:
    """Returns block i; once, on a worker, it may do something else.

    Parameters
    ----------
    kind : {"", "kill", "raise", "nan", "missing"}
        What it does to block 4. A block that is missing is so on the worker that asks first.
    flag : str
        File whose existence says that it has been done.
    """

    def __init__(self, kind: str = "", flag: Path | str = "") -> None:
        self.kind, self.flag, self.driver = kind, str(flag), os.getpid()

    def __call__(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        A, b = arrays()[i]
        if self.kind == "missing":
            return (A, b) if i != 4 or self._is_there() else self._fail()
        if self.kind and i == 4 and os.getpid() != self.driver and not os.path.exists(self.flag):
            if self.flag:
                Path(self.flag).touch()
            if self.kind == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.kind == "raise":
                raise OSError("the disk is gone")
            return np.nan * A, b
        return A, b

    def _is_there(self) -> bool:
        flag = Path(self.flag)
        if not flag.exists() and os.getpid() != self.driver:
            flag.write_text(f"{os.getpid()}\n")
        return not flag.exists() or flag.read_text().split()[0] != str(os.getpid())

    def _fail(self) -> Any:
        with Path(self.flag).open("a") as file:
            file.write(f"{os.getpid()}\n")
        raise FileNotFoundError("block 4 is not on this host")


def loaded(kind: str = "", flag: Path | str = "") -> Partitioned:
    return Partitioned("logistic", [(Loader(kind, flag), i) for i in range(CUTS)])


METHODS: dict[str, dict[str, Any]] = {
    "fw": {},
    "fw-ls": {},
    "corrective": {},
    "projected": {},
    "anytime": {"m": 9, "block": 2, "noise": "gaussian"},
}


def solve(method: str, engine: Any, f: Partitioned | None = None, **settings: Any) -> wp.Result:
    f = Partitioned("logistic", arrays()) if f is None else f
    given = {"max_rounds": 12, "tol": 0} | METHODS[method] | settings
    return wp.minimize(f, wp.sets.L1Ball(D), method=method, engine=engine, **given)


@cache
def reference(method: str) -> str:
    return digest(solve(method, None))


def check(engine: Any, workers: int) -> None:
    """Runs on an engine have the bits of those in this process."""
    for method in METHODS:
        result = solve(method, engine)
        assert digest(result) == reference(method), method
        assert set(result.engine["workers"]) == {workers}
        assert result.engine["blocks"].max() == CUTS
