"""What engines bring and cost: speed with oracles of 10 and 100 ms, and the price of a round.

    python benchmarks/engines.py FILE --measure [ENGINE ...] [--quick] [--page FILE]

Speed: seconds per round of m = 32 oracles in this process, one after the other, divided by seconds
per round on two workers, in turns, beside two bare processes that share the same work. Two kinds of
oracle: one that computes (SHA-256, which frees Python's lock), and one that waits (for a licence
server, a database, another machine), whose speed does not depend on how busy this machine is.

Price: milliseconds of a round with one cheap oracle per worker, less the time of these oracles, and
of the engine's own round trip of an empty chunk (`empty_trips`), in turns. FILE keeps the numbers
of all engines, so that they can be measured one at a time.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import empty_trips
import numpy as np
from pages import insert, origin, table
from rich.console import Console
from rich.markdown import Markdown

import wolfpack as wp
from wolfpack.engines import (
    Dask,
    Driver,
    EngineFailure,
    EngineLog,
    Mpi,
    Policy,
    Processes,
    Ray,
    Threads,
)
from wolfpack.smoothing import Ambient
from wolfpack.smoothing.job import Job, Question

M, WORKERS, DIMENSION = 32, 2, 100
MESSAGE = bytes(8 * DIMENSION + 300)
ENGINES = ("threads", "processes", "dask", "ray", "mpi")
_ZEROS = memoryview(bytes(2**20))


class Oracle:
    """The cube's oracle after some seconds of waiting or hashing."""

    def __init__(self, kind: str, seconds: float) -> None:
        self.kind, self.seconds = kind, seconds
        self.size = 0 if kind == "waits" else calibrated(seconds)

    def __call__(self, g: np.ndarray) -> np.ndarray:
        if self.kind == "waits":
            time.sleep(self.seconds)
        else:
            work(self.size)
        return np.where(g > 0, -1.0, 1.0)


def work(size: int) -> None:
    digest = hashlib.sha256()
    for first in range(0, size, len(_ZEROS)):
        digest.update(_ZEROS[: size - first])


def calibrated(seconds: float) -> int:
    """Return how much work takes so many seconds of one processor."""
    size = 2**16
    while True:
        began = time.process_time()
        work(size)
        took = time.process_time() - began
        if took > 0.5 * seconds:
            return int(size * seconds / took)
        size *= 2


def per_round(f: Any, K: Any, engine: Any, rounds: int) -> float:
    """Return seconds per round, of so many after as many others.

    The first round of a run is one of the latter: runs have hundreds, and an engine does not know
    yet how long a block takes. The one oracle call for a starting point is not counted either.
    """
    result = wp.minimize(
        f,
        K,
        method="anytime",
        m=M,
        kappa=1.0,
        L=1.0,
        tol=0,
        max_rounds=2 * rounds,
        record_every=rounds,
        engine=engine,
    )
    _, middle, end = result.history["seconds"]
    return (end - middle) / rounds


def wanted(name: str, seconds: float) -> float:
    return 1.95 if seconds >= 0.1 else (1.7 if name in ("dask", "ray") else 1.85)


def measure_speed(name: str, engine: Any, kind: str, seconds: float, turns: int) -> dict[str, Any]:
    """Time serial and parallel rounds in turns; the ranks of MPI that follow are only asked."""
    target = np.linspace(-2.0, 2.0, DIMENSION)
    f = wp.objectives.Quadratic(1.0, -target)
    K = wp.sets.Oracle(Oracle(kind, seconds), shape=DIMENSION, radius=DIMENSION**0.5)
    rounds = 1 if seconds > 0.05 else 3
    serial, parallel = [], []
    for _ in range(turns):
        if not getattr(engine, "follows", False):
            serial.append(per_round(f, K, None, rounds))
        meet(engine)
        parallel.append(per_round(f, K, engine, rounds))
    if getattr(engine, "follows", False):
        return {}
    return speed_row(name, kind, seconds, serial, parallel) | {"wanted": wanted(name, seconds)}


def speed_row(
    name: str, kind: str, seconds: float, serial: list[float], parallel: list[float]
) -> dict[str, Any]:
    """Return what was measured; the best turn of each counts."""
    best = 1e3 * min(serial), 1e3 * min(parallel)
    return {
        "engine": name,
        "oracle": kind,
        "oracle ms": 1e3 * seconds,
        "serial ms": best[0],
        "2 workers ms": best[1],
        "speed": best[0] / best[1],
    }


def measure_bare(seconds: float, turns: int) -> dict[str, Any]:
    """Time the same work in two processes that know nothing of each other: what can be had here."""
    size = calibrated(seconds)
    serial, parallel = [], []
    with get_context("spawn").Pool(WORKERS) as pool:
        pool.map(repeat, [(size, 1)] * WORKERS, chunksize=1)
        for _ in range(turns):
            began = time.perf_counter()
            repeat((size, M))
            middle = time.perf_counter()
            pool.map(repeat, [(size, M // WORKERS)] * WORKERS, chunksize=1)
            serial.append(middle - began)
            parallel.append(time.perf_counter() - middle)
    return speed_row("none, two processes", "computes", seconds, serial, parallel)


def repeat(task: tuple[int, int]) -> None:
    size, times = task
    for _ in range(times):
        work(size)


def meet(engine: Any) -> None:
    """Let ranks wait for rank 0 without taking its processor time."""
    if not isinstance(engine, Mpi) or engine._size == 1:
        return
    if engine.follows:
        while not engine._comm.iprobe(source=0, tag=9):
            time.sleep(1e-3)
        engine._comm.recv(source=0, tag=9)
    else:
        for rank in range(1, engine._size):
            engine._comm.send(None, dest=rank, tag=9)


def measure_price(name: str, engine: Any, empty: Callable[[], None], turns: int) -> dict[str, Any]:
    """Time rounds of one cheap oracle per worker, in turns with the empty round trip."""
    job = Job(Ambient(wp.sets.Simplex(DIMENSION), wp.noise.get("gumbel")), block=1)
    driver = Driver(engine, job, Policy(), EngineLog(name))
    question = Question(3, np.linspace(-1, 1, DIMENSION), 0.1, WORKERS)
    ours, own = [], []
    for _ in range(turns):
        began = time.perf_counter()
        driver.ask(question, range(WORKERS))
        middle = time.perf_counter()
        empty()
        ended = time.perf_counter()
        # threads take Python's lock in turns, other workers compute at the same time
        share = WORKERS if name == "threads" else 1
        ours.append((middle - began) * (1 - min(0.9, share * driver.log["busy"][-1])))
        driver.log.rows.clear()
        own.append(ended - middle)
    # the calmest of ten stretches of the run counts, for both
    cost, trip = (
        1e3 * min(statistics.median(part) for part in np.array_split(times, 10))
        for times in (ours, own)
    )
    return {"engine": name, "round ms": cost, "empty trip ms": trip, "overhead ms": cost - trip}


def measure(name: str, quick: bool) -> dict[str, list[Any]]:
    if name == "mpi":
        return under_mpiexec(quick)
    make: Any = {"threads": Threads, "processes": Processes, "dask": Dask, "ray": Ray}[name]
    with make(WORKERS) as engine:
        speeds = list(measure_speeds(name, engine, quick))
        make_trip = getattr(empty_trips, name)
        trip, stop = make_trip(engine if name == "dask" else WORKERS, MESSAGE)
        price = measure_price(name, engine, trip, 50 if quick else 2000)
        stop()
    return {"speed": speeds, "price": [price]}


def measure_speeds(name: str, engine: Any, quick: bool) -> Iterable[dict[str, Any]]:
    for seconds in (0.01,) if quick else (0.01, 0.1):
        for kind in ("computes", "waits"):
            # what computes is measured more often: others on the machine disturb it
            turns = 1 if quick else 2 if kind == "waits" else 5 if seconds > 0.05 else 8
            yield measure_speed(name, engine, kind, seconds, turns)
            if kind == "computes" and name == "processes":
                yield measure_bare(seconds, turns)


def under_mpiexec(quick: bool) -> dict[str, list[Any]]:
    """Run this file on two ranks; rank 0 leaves what it has measured in a file."""
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if mpiexec is None:
        raise SystemExit("no mpiexec: make install-engines")
    settings = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "mpi.json"
        command = [mpiexec, "-n", str(WORKERS), sys.executable, __file__, str(out), "--rank"]
        subprocess.run(
            [*command, *(["--quick"] if quick else [])], check=True, env=os.environ | settings
        )
        return json.loads(out.read_text())


def be_a_rank(out: Path, quick: bool) -> None:
    engine = Mpi()
    speeds = list(measure_speeds("mpi", engine, quick))
    comm, turns = engine._comm, 50 if quick else 2000

    def trip() -> None:
        comm.bcast("trip")
        empty_trips.mpi(comm, MESSAGE)

    if engine.follows:
        follow_trips(engine)
        return
    price = measure_price("mpi", engine, trip, turns)
    engine.close()
    out.write_text(json.dumps({"speed": speeds, "price": [price]}))


def follow_trips(engine: Any) -> None:
    """Serve rounds and empty trips, which come in turns on one communicator."""
    own, comm = engine._comm.bcast, engine._comm

    class Between:
        """The communicator, which answers trips by itself."""

        def __getattr__(self, name: str) -> Any:
            return getattr(comm, name)

        def bcast(self, value: Any) -> Any:
            while (message := own(value)) == "trip":
                empty_trips.mpi(comm, MESSAGE)
            return message

    engine._comm = Between()
    with contextlib.suppress(EngineFailure):  # rank 0 closes the engine without a result
        engine.follow()


def speed_table(rows: list[dict[str, Any]]) -> str:
    heads = ["engine", "oracle", "ms", "serial round, ms", "2 workers, ms", "speed", "aimed at"]
    cells = [
        [
            row["engine"],
            row["oracle"],
            f"{row['oracle ms']:g}",
            f"{row['serial ms']:.1f}",
            f"{row['2 workers ms']:.1f}",
            f"{row['speed']:.2f}",
            f"{row['wanted']:g}" if "wanted" in row else "",
        ]
        for row in rows
    ]
    return table(heads, cells)


def price_table(rows: list[dict[str, Any]]) -> str:
    heads = ["engine", "round, ms", "empty round trip, ms", "beyond it, ms", "%"]
    cells = []
    for row in rows:
        cost, trip = row["round ms"], row["empty trip ms"]
        beyond = f"{cost - trip:.3f}", f"{100 * (cost - trip) / trip:.0f}"
        cells.append([row["engine"], f"{cost:.3f}", f"{trip:.3f}", *beyond])
    return table(heads, cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="what was measured")
    parser.add_argument("--measure", nargs="*", choices=ENGINES, help="engines to measure anew")
    parser.add_argument("--quick", action="store_true", help="oracles of 10 ms only, few turns")
    parser.add_argument("--page", type=Path, help="page of the documentation to write into")
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.rank:
        return be_a_rank(arguments.file, arguments.quick)
    found = json.loads(arguments.file.read_text()) if arguments.file.exists() else {}
    for name in arguments.measure or (ENGINES if arguments.measure == [] else ()):
        found[name] = measure(name, arguments.quick) | {"when": origin().partition(", ")[2]}
        arguments.file.write_text(json.dumps(found, indent=1) + "\n")
    ordered = [found[name] for name in ENGINES if name in found]
    tables = {
        "engines speed": speed_table([row for part in ordered for row in part["speed"]]),
        "engines price": price_table([row for part in ordered for row in part["price"]]),
    }
    versions = ", ".join(f"{name} {version(name)}" for name in ("distributed", "ray", "mpi4py"))
    tables["engines price"] += f"\n\nMeasured {ordered[-1]['when']} Engines: {versions}."
    for name, text in tables.items():
        Console().print(Markdown(text))
        if arguments.page:
            insert(arguments.page, name, text)


if __name__ == "__main__":
    main()
