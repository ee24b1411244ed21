"""Where oracles and gradients run: this process, threads, processes, Dask, Ray or MPI.

Dask, Ray and mpi4py are imported only when an engine that needs them starts.
"""

from __future__ import annotations

from ._choose import EngineChoice, EngineLike, choose_engine, engine_kind
from ._data_workers import DataWorkers, automatic_engine
from ._driver import Driver, Policy
from ._log import EngineLog
from ._protocol import Engine, EngineFailure, OracleError, RankEngine, Span, Stats
from .dask_ import Dask
from .executor import Executor
from .local import Local
from .mpi_ import Mpi
from .processes import Processes
from .ray_ import Ray
from .threads import Threads

__all__ = [
    "Dask",
    "DataWorkers",
    "Driver",
    "Engine",
    "EngineChoice",
    "EngineFailure",
    "EngineLike",
    "EngineLog",
    "Executor",
    "Local",
    "Mpi",
    "OracleError",
    "Policy",
    "Processes",
    "RankEngine",
    "Ray",
    "Span",
    "Stats",
    "Threads",
    "automatic_engine",
    "choose_engine",
    "engine_kind",
]
