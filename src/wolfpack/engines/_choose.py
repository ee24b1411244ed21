"""From the ``engine`` argument of `minimize` to an engine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Executor as AnyExecutor
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from ..arrays import ArgumentError
from ..problem import spend
from ..problem.checks import shown
from ..sets._batch import cores
from ..smoothing.job import Job, Question
from ._protocol import Engine
from .dask_ import Dask
from .executor import Executor
from .local import Local
from .mpi_ import Mpi
from .processes import Processes
from .ray_ import Ray
from .threads import Threads


class DaskClient(Protocol):
    """What is asked of a `distributed.Client` to recognise it."""

    def scheduler_info(self) -> Any:
        """Return what the scheduler knows of its workers."""
        ...


EngineLike: TypeAlias = str | Engine | AnyExecutor | Callable[[], AnyExecutor] | DaskClient | None
"""What the ``engine`` argument may be; see `NAMES` for the strings."""

NAMES = "None, 'auto', 'local', 'threads[:n]', 'processes[:n]', 'dask[:n or address]', "
NAMES += "'ray[:n or address]', 'mpi', an Executor or a function that makes one, a Dask Client"

_KINDS = {"auto", "local", "mpi", "threads", "processes", "dask", "ray"}
"""What the name of an engine begins with."""

_MIN_SECONDS = 1e-3
"""Oracle work per round below which no engine is faster than this process."""


class EngineChoice(NamedTuple):
    """The engine of a run."""

    engine: Engine | None  # None for this process
    ours: bool  # whether it was started for this run, and is closed after it
    reason: str = ""  # why ``engine="auto"`` has chosen it


def _is_client(value: Any) -> bool:
    """Tell whether ``value`` is a client of Dask, which is imported by those who have one."""
    return type(value).__module__.partition(".")[0] == "distributed"


def engine_kind(value: Any, name: str) -> Any:
    """Return what may be an engine; raise with a sentence otherwise. Nothing is started."""
    known = value is None or isinstance(value, Engine | AnyExecutor) or callable(value)
    if isinstance(value, str):
        known = value.partition(":")[0] in _KINDS
    if not known and not _is_client(value):
        raise ArgumentError(f"{name} must be {NAMES}, found {shown(value)}")
    return value


def choose_engine(engine: EngineLike, job: Job | None, m: int | str | None) -> EngineChoice:
    """Return the engine that the user has asked for; "auto" measures ``job`` with ``m`` oracles."""
    if engine is None:
        return EngineChoice(None, False)
    if isinstance(engine, str):
        if engine == "auto":
            assert job is not None
            name, reason = _measured(job, m)
            return EngineChoice(None if name is None else _named(name), True, reason)
        return EngineChoice(_named(engine), True)
    if isinstance(engine, Engine):
        return EngineChoice(engine, False)
    if isinstance(engine, AnyExecutor) or callable(engine):
        return EngineChoice(Executor(engine), True)
    if _is_client(engine):
        client: Any = engine
        return EngineChoice(Dask(client), True)
    raise TypeError(
        f"engine must be {NAMES}, or an object with open and run_round, found {shown(engine)}"
    )


def _named(text: str) -> Engine:
    name, _, rest = text.partition(":")
    if name in ("local", "mpi") and not rest:
        return Local() if name == "local" else Mpi()
    if name == "threads":
        return Threads(_count(text, rest))
    if name == "processes":
        return Processes(_count(text, rest))
    if name == "dask":
        return Dask(_cluster(text, rest))
    if name == "ray":
        return Ray(_cluster(text, rest, "auto", "local"))
    raise ValueError(f"unknown engine {shown(text)}; known: {NAMES}")


def _count(text: str, rest: str) -> int:
    """Return the number of workers that an engine's name asks for; one per core by default."""
    if not rest:
        return cores()
    if not rest.isdecimal() or int(rest) < 1:
        raise ValueError(f"engine={text!r} must name at least 1 worker, as in 'processes:4'")
    return int(rest)


def _cluster(text: str, rest: str, *names: str) -> int | str:
    """Return the number of workers or the address of a cluster that an engine's name ends with."""
    if not rest or rest.lstrip("-").isdecimal():
        return _count(text, rest)
    if rest in names or ":" in rest:
        return rest
    known = "".join(f", {name!r}" for name in names)
    raise ValueError(
        f"engine={text!r} must end with a number of workers or with an address such as "
        f"'tcp://host:8786'{known}"
    )


def _measured(job: Job, m: int | str | None) -> tuple[str | None, str]:
    """Return the name of the fastest engine for this oracle on this machine, and why."""
    m = m if isinstance(m, int) else 32
    K, count = job.smoothing.K, cores()
    question = Question(0, np.zeros(K.shape), 1.0, m)
    answers = min(m, job.length(m))
    spend(answers)
    job.compute(question, range(1))  # The first call fills caches and imports modules.
    seconds = math.inf
    for _ in range(3):  # Another program may use the processor for a moment.
        spend(answers)
        began = time.perf_counter()
        job.compute(question, range(1))
        seconds = min(seconds, (time.perf_counter() - began) * job.blocks(m))
        if seconds > 1e2 * _MIN_SECONDS:
            break
    work = f"{m} oracles take {1e3 * seconds:.3g} ms"
    if count == 1:
        return None, f"{work}, and there is one core: in process"
    if seconds < _MIN_SECONDS:
        return None, f"{work}, less than an engine costs: in process"
    if job.blocks(m) == 1:
        return None, f"{work} as one vectorised block: in process; block= would cut it"
    if K.releases_gil:
        return f"threads:{count}", f"{work} and free Python's lock: threads:{count}"
    return f"processes:{count}", f"{work}: processes:{count}"
