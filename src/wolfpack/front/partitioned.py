"""Runs whose objective is in blocks: the same engine computes the blocks and the oracles."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

from ..engines import DataWorkers, RankEngine, automatic_engine
from ..objectives import Partitioned

Call = TypeVar("Call", bound=Callable[..., Any])


def with_workers(place: int, name: str) -> Callable[[Call], Call]:
    """Let a front door compute a `Partitioned` objective on the engine that it is given.

    The objective is its argument ``name``, the one with number ``place``.
    """

    def decorate(function: Call) -> Call:
        parameters = list(signature(function).parameters)
        engine_place = parameters.index("engine")

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            objective = args[place] if len(args) > place else kwargs.get(name)
            if not isinstance(objective, Partitioned):
                return function(*args, **kwargs)
            given = dict(zip(parameters, args, strict=False)) | kwargs
            if given.get("engine") is None:
                return function(*args, **kwargs)
            dimension = _dimension(args[place + 1] if len(args) > place + 1 else None)
            with _workers(objective, given["engine"], dimension) as workers:
                ranks = workers.engine if given["engine"] == "mpi" else None
                if isinstance(ranks, RankEngine) and ranks.follows:
                    return ranks.follow()
                if len(args) > engine_place:
                    args = (*args[:engine_place], workers, *args[engine_place + 1 :])
                else:
                    kwargs["engine"] = workers
                result = function(*args, **kwargs)
                if isinstance(workers.started, RankEngine):
                    workers.started.conclude(result)
                return result

        return call  # pyright: ignore[reportReturnType]

    return decorate


@contextmanager
def _workers(objective: Partitioned, engine: Any, dimension: int | None) -> Generator[DataWorkers]:
    reason = ""
    if isinstance(engine, str) and engine == "auto":
        engine, reason = automatic_engine(objective)
    workers = DataWorkers(objective, engine, dimension)
    workers.reason = reason
    try:
        with objective.on(workers):
            yield workers
    finally:
        workers.close()


def _dimension(other: Any) -> int | None:
    """Return the number of entries of x that a set or a regulariser knows."""
    shape: Any = getattr(other, "shape", None)
    return None if shape is None else math.prod(map(int, shape))
