"""Runs on engines, whose bits must be those of the same run in this process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from bits.methods import solve

RUNS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "anytime simplex": ("simplex", "anytime", {"m": 9, "block": 2}),
    "anytime birkhoff, m auto": ("birkhoff", "anytime", {"noise": "gaussian", "block": 3}),
    "anytime tree, lifted": ("tree", "anytime", {"m": 10, "block": 3, "smoothing": "lifted"}),
    "r-pfw trace": ("trace", "r-pfw", {"m": 8, "block": 3}),
    "pfw simplex": ("simplex", "pfw", {"m": 8, "block": 3, "alpha": 0.1}),
    "corrective birkhoff": ("birkhoff", "corrective", {"m": 8, "block": 2}),
    "corrective product": ("product", "corrective", {"m": 8, "block": 3}),
}
FEW = ("anytime simplex", "corrective birkhoff")
SERVERS = {"dask:2": "distributed", "ray:2": "ray"}


def here(name: str, engine: Any = None) -> Any:
    pair, method, options = RUNS[name]
    return solve(pair, method, 8, engine=engine, **options)


def in_executor(name: str) -> Any:
    with ThreadPoolExecutor(2) as pool:
        return here(name, pool)


def called(name: str, engine: Any) -> str:
    return f"engine {engine}, {name}"


CASES: dict[str, Callable[[], Any]] = {
    **{called(name, None): partial(here, name) for name in RUNS},
    **{called(name, "threads:2"): partial(here, name, "threads:2") for name in RUNS},
    **{called(name, "processes:2"): partial(here, name, "processes:2") for name in FEW},
    **{called(name, "executor"): partial(in_executor, name) for name in RUNS},
    **{called(name, server): partial(here, name, server) for server in SERVERS for name in FEW},
}

SAME: dict[str, str] = {
    name: called(name.partition(", ")[2], None)
    for name in CASES
    if not name.startswith("engine None")
}
"""Cases that must have the digest of another one."""

NEEDS: dict[str, str] = {
    called(name, server): module for server, module in SERVERS.items() for name in FEW
}
"""The optional module that a case needs."""
