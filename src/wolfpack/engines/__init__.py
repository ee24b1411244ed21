"""Where the oracles of a round run: this process, threads, processes, Dask, Ray or MPI.

What is heavy (Dask, Ray, mpi4py) is imported when an engine that needs it starts.
"""

from __future__ import annotations

from ._choose import choose_engine
from ._driver import Driver, Policy
from ._log import EngineLog
from ._protocol import Engine, EngineFailure, OracleError, Span, Stats
from .dask_ import Dask
from .executor import Executor
from .local import Local
from .mpi_ import Mpi
from .processes import Processes
from .ray_ import Ray
from .threads import Threads

__all__ = [
    "Dask",
    "Driver",
    "Engine",
    "EngineFailure",
    "EngineLog",
    "Executor",
    "Local",
    "Mpi",
    "OracleError",
    "Policy",
    "Processes",
    "Ray",
    "Span",
    "Stats",
    "Threads",
    "choose_engine",
]
