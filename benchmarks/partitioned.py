"""What gradients on workers cost and bring, with blocks of data in memory and on disk.

    python benchmarks/partitioned.py FILE --measure [NAME ...] [--page FILE]

NAME is "dense", "sparse", "price", "rivals" or "disk", all by default. FILE keeps all numbers.

Speed: gradients of dense least squares and of sparse logistic regression, on one worker and on two,
in turns. The processor time of a gradient (what the busiest worker and the driver use) tells the
speed-up of a quiet machine with a core for each of them, also where this machine is busy; the time
that passed is beside it.

Price: a round at d = 1e5 whose blocks take no time, beside the engine's own way to send as many
bytes to two workers and to get them back.

Rivals: passes over the data and processor time to the same value of a logistic regression.

Cluster: on paper, what a gradient of a billion rows and a million columns takes on 1 to 10,000
workers, from the seconds of an entry that were measured here and the price of messages of
`benchmarks/cluster.py`.

Disk: rows of 8 GiB (`--gib`) in npy files, minimised within 1 GiB, and the peak of the memory.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import empty_trips
import numpy as np
import psutil
from cluster import BANDWIDTH, LATENCY, PER_MACHINE, SHOWN, Costs
from pages import insert, lines_below, origin, table
from scipy import sparse

import wolfpack as wp
from wolfpack.engines import Dask, DataWorkers, Mpi, Processes, Ray
from wolfpack.objectives import Partitioned

ENGINES = ("processes", "dask", "ray", "mpi")
NAMES = ("dense", "sparse", "price", "rivals", "disk")
ROUNDS = 12
PRICE_DIMENSION = 100_000
GIB = 2**30
THIN_ENTRIES = 16 * 50_000 * 40
CLUSTER_ROWS, CLUSTER_COLUMNS, CLUSTER_ENTRIES = 10**9, 10**6, 100
"""A data set on paper; the last number is that of entries in a row."""


def dense_block(i: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(i)
    return rng.standard_normal((11_250, 1000)), rng.standard_normal(11_250)


def sparse_block(i: int) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(i)
    A = sparse.random_array((50_000, 20_000), density=2e-3, format="csr", rng=rng)
    return A, rng.choice([-1.0, 1.0], 50_000)


def dense() -> Partitioned:
    """Least squares of 180,000 rows and 1,000 columns in 16 blocks, which workers make."""
    return Partitioned("least_squares", [(dense_block, i) for i in range(16)])


def thin() -> Partitioned:
    """Logistic regression of 800,000 rows with 40 of 20,000 features each, in 16 blocks."""
    return Partitioned("logistic", [(sparse_block, i) for i in range(16)])


PROBLEMS: dict[str, Callable[[], Partitioned]] = {
    "dense least squares": dense,
    "sparse logistic": thin,
}


def engine_of(name: str, workers: int) -> Any:
    if name == "mpi":
        return Mpi()
    return {"processes": Processes, "dask": Dask, "ray": Ray}[name](workers)


def worker_pids(engine: Any) -> list[int]:
    """Return the processes of an engine's workers."""
    if isinstance(engine, Processes):
        return [worker.address.pid for worker in engine.workers]
    if isinstance(engine, Dask):
        return list(engine._client.run(os.getpid).values())
    return [int(re.findall(r"process (\d+)", worker.name)[0]) for worker in engine.workers]


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


@contextlib.contextmanager
def evaluating(f: Partitioned, engine: Any) -> Iterator[tuple[Callable[[], object], DataWorkers]]:
    """Yield a function that evaluates f on an engine, whose workers have loaded their blocks."""
    assert f.shape is not None
    x = np.random.default_rng(2).standard_normal(f.shape) / 100
    workers = DataWorkers(f, engine, x.size)
    with f.on(workers):
        for _ in range(2):
            f.evaluate(x)
        yield lambda: f.evaluate(x), workers


def gradients(f: Partitioned, engine: Any) -> dict[str, float]:
    """Return seconds per gradient: passed at least, used by the busiest worker, by the driver.

    Ranks of MPI use the processor while they wait for messages, so that only the time in which rank
    0 computes is counted, and nothing for the driver.
    """
    with evaluating(f, engine) as (evaluate, workers):
        mpi, working = isinstance(engine, Mpi), [0.0]
        if mpi:
            engine._worker = _Timed(engine._worker, working)
        pids = [os.getpid()] if mpi else worker_pids(engine)
        before, own = [cpu_seconds(pid) for pid in pids], time.process_time()
        passed = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            evaluate()
            passed.append(time.perf_counter() - began)
        own = time.process_time() - own
        used = [cpu_seconds(pid) - old for pid, old in zip(pids, before, strict=True)]
        log = workers.log
        return {
            "passed": min(passed),
            "worker": (working[0] if mpi else max(used)) / ROUNDS,
            "driver": 0.0 if mpi else own / ROUNDS,
            "bytes": float(log["bytes_out"][-1] + log["bytes_in"][-1]),
        }


class _Timed:
    """The worker of a rank, whose processor time is noted; waiting for messages uses it too."""

    def __init__(self, worker: Any, working: list[float]) -> None:
        self._worker, self._working = worker, working
        self.job = worker.job

    def work(self, *given: Any) -> Any:
        began = time.process_time()
        reply = self._worker.work(*given)
        self._working[0] += time.process_time() - began
        return reply


def measure_speed(problem: str) -> dict[str, Any]:
    """Return what gradients take on one worker and on two, by engine."""
    found: dict[str, Any] = {}
    f = PROBLEMS[problem]()
    for name in ENGINES:
        rows: dict[str, Any] = {}
        for workers in (1, 2):
            if name == "mpi":
                rows[str(workers)] = under_mpi(workers, ["--rank", problem])
            else:
                with engine_of(name, workers) as engine:
                    rows[str(workers)] = gradients(f, engine)
        found[name] = rows | {"load": os.getloadavg()[0]}
        print(problem, name, rows, flush=True)
    return found


def measure_dense() -> dict[str, Any]:
    return measure_speed("dense least squares")


def measure_sparse() -> dict[str, Any]:
    return measure_speed("sparse logistic")


def under_mpi(ranks: int, arguments: list[str]) -> dict[str, Any]:
    """Run this script on ranks of MPI; return what rank 0 prints."""
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if mpiexec is None:
        raise SystemExit("mpiexec is not installed: leave out mpi")
    settings = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    command = [mpiexec, "-n", str(ranks), sys.executable, __file__, *arguments]
    done = subprocess.run(
        command, env=os.environ | settings, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def on_rank(problem: str) -> None:
    """Measure gradients on the ranks of this job; rank 0 prints them."""
    f, engine = PROBLEMS[problem](), Mpi()
    if engine.follows:
        engine.follow()
        return
    found = gradients(f, engine)
    engine.conclude("over")
    print(json.dumps(found))


def measure_price() -> dict[str, Any]:
    """Return seconds of rounds without work, and of the engine's own messages, in turns."""
    d, found = PRICE_DIMENSION, {}
    rng = np.random.default_rng(0)
    parts = [(rng.standard_normal((1, d)), np.zeros(1)) for _ in range(2)]
    f = Partitioned("least_squares", parts)
    for name in ("processes", "dask", "ray"):
        with engine_of(name, 2) as engine, evaluating(f, engine) as (evaluate, _):
            trip, stop = bare_round(name, engine, d)
            ours, bare = [], []
            try:
                for _ in range(3):
                    trip()
                for _ in range(60):
                    for function, into in ((evaluate, ours), (trip, bare)):
                        began = time.perf_counter()
                        function()
                        into.append(time.perf_counter() - began)
                used = [everybody(evaluate), everybody(trip)]
            finally:
                stop()
        found[name] = {"ours": min(ours), "bare": min(bare), "used": used}
        print(name, found[name], flush=True)
    return found


def everybody(function: Callable[[], object], calls: int = 100) -> float:
    """Return the processor time that a call takes in this process and all that it has started."""

    def total() -> float:
        seconds = time.process_time()
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(OSError, psutil.Error):
                seconds += cpu_seconds(process.pid)
        return seconds

    before = total()
    for _ in range(calls):
        function()
    return (total() - before) / calls


def bare_round(name: str, engine: Any, d: int) -> empty_trips.Trip:
    """Return a round trip of a vector to two workers and back, by the engine's own means."""
    vector = np.zeros(d).tobytes()
    where = engine if name == "dask" else 2
    return getattr(empty_trips, name)(where, vector, d * 8)


def measure_rivals() -> dict[str, Any]:
    """Return passes and processor time of logistic regression to the value of SGD's best epoch."""
    from sklearn.linear_model import SGDClassifier

    rng = np.random.default_rng(3)
    A = rng.standard_normal((100_000, 200))
    b = np.sign(A @ rng.standard_normal(200) + 5 * rng.standard_normal(100_000))
    blocks = [slice(i, i + 6250) for i in range(0, len(b), 6250)]
    ridge = 1e-4
    f = Partitioned("logistic", [(A[rows], b[rows]) for rows in blocks])

    def value(x: np.ndarray) -> float:
        return f.value(x) + 0.5 * ridge * float(x @ x)

    model = SGDClassifier("log_loss", alpha=ridge, fit_intercept=False, random_state=0)
    began, epochs = time.process_time(), 20
    for _ in range(epochs):
        for rows in blocks:
            model.partial_fit(A[rows], b[rows], classes=[-1.0, 1.0])
    seconds = time.process_time() - began
    reached = value(model.coef_.ravel())
    began = time.process_time()
    H = wp.regularizers.SquaredNorm(ridge)
    result = wp.minimize_composite(f, H, tol=1e-9, callback=_until(reached))
    ours = time.process_time() - began
    best = wp.minimize_composite(f, H, tol=1e-12).fun
    found = {
        "scikit-learn, partial_fit": [epochs, seconds, reached - best],
        "Partitioned": [result.passes, ours, result.fun - best],
    }
    print(found, flush=True)
    return found


def _until(value: float) -> Callable[[wp.Result], None]:
    def callback(intermediate_result: wp.Result) -> None:
        if intermediate_result.fun <= value:
            raise StopIteration

    return callback


def measure_disk(gib: float, folder: Path) -> dict[str, Any]:
    """Return the peak memory of runs on rows of ``gib`` GiB within an eighth of it."""
    d, each = 1000, 2**27
    rows = each // (8 * d)
    count = max(1, round(gib * GIB / each))
    place = Path(tempfile.mkdtemp(dir=folder))
    try:
        for i in range(count):
            rng = np.random.default_rng(i)
            A = rng.standard_normal((rows, d))
            np.save(place / f"A-{i:03}.npy", A)
            np.save(place / f"b-{i:03}.npy", A[:, 0] + rng.standard_normal(rows))
        memory = int(gib * GIB / 8)
        found = {}
        for engine in ("None", "processes:2"):
            code = [sys.executable, __file__, "--within", str(place), str(memory), engine]
            done = subprocess.run(code, capture_output=True, text=True, check=True)
            found[engine] = json.loads(done.stdout.splitlines()[-1])
            print(engine, found[engine], flush=True)
        return {"bytes": count * each, "memory": memory, "runs": found}
    finally:
        shutil.rmtree(place)


def within(place: Path, memory: int, engine: str) -> None:
    """Run on the files of a folder; print rounds, seconds and the peaks of the memory."""
    files = [(str(place / "A-*.npy"), str(place / "b-*.npy"))]
    f = Partitioned("least_squares", files, memory=memory)
    chosen = None if engine == "None" else Processes(int(engine.partition(":")[2]))
    peaks: list[float] = [0.0]

    def watch(intermediate_result: wp.Result) -> None:
        if chosen is not None:
            peaks.extend(peak(pid) for pid in worker_pids(chosen))

    began = time.perf_counter()
    K = wp.sets.L1Ball(1000, radius=2.0)
    result = wp.minimize(f, K, method="fw-ls", tol=0, max_rounds=4, engine=chosen, callback=watch)
    seconds = time.perf_counter() - began
    print(
        json.dumps(
            {
                "rounds": result.nit,
                "seconds": seconds,
                "driver": peak(os.getpid()),
                "worker": max(peaks),
                "gap": result.gap,
            }
        )
    )
    if chosen is not None:
        chosen.close()


def peak(pid: int) -> float:
    """Return the largest memory of a process so far, with that of the files it has mapped."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    return 1024.0 * int(status["VmHWM"].split()[0])


def on_cluster(seconds: float, ways: dict[str, Costs]) -> str:
    """Return the table of gradients on a cluster, where an entry of a row takes ``seconds``."""
    work, rows = seconds * CLUSTER_ROWS * CLUSTER_ENTRIES, []
    for kind, nbytes in (("dense", 8 * CLUSTER_COLUMNS), ("structured", 16_000)):
        for name, costs in ways.items():
            passed = [work / w + messages(w, costs, nbytes) for w in SHOWN]
            rows.append([f"{name}, {kind}", *(f"{t:.3g}" for t in passed)])
        steps = [math.ceil(math.log2(w)) for w in SHOWN]
        each = LATENCY + nbytes / BANDWIDTH
        rows.append(
            [
                f"mpi, {kind}",
                *(f"{work / w + 2 * k * each:.3g}" for w, k in zip(SHOWN, steps, strict=True)),
            ]
        )
    rows.append(["work alone", *(f"{work / w:.3g}" for w in SHOWN)])
    return table(["workers", *(f"{w:,}" for w in SHOWN)], rows)


def messages(workers: int, costs: Costs, nbytes: int) -> float:
    """Return the driver's seconds to send x to each worker and to take a sum from each."""
    copies = math.ceil(workers / PER_MACHINE) if costs.shares else workers
    total = 2 * LATENCY
    for count in (copies, workers):
        total += max(count * nbytes * costs.byte, count * nbytes / BANDWIDTH)
    return total + workers * costs.message


def message_costs() -> dict[str, Costs]:
    """Return the costs of messages that the page about engines tells."""
    page = Path(__file__).parents[1] / "docs/benchmarks/engines.md"
    lines = lines_below(page, "| engine | microseconds a message | nanoseconds a byte |")
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {
        name: Costs(1e-6 * float(message), 1e-9 * float(byte), shares=name == "ray")
        for name, message, byte in found
        if name in ("ray", "dask")
    }


def report(found: dict[str, Any]) -> dict[str, str]:
    """Return the tables of the page."""
    tables = {}
    if "dense" in found and "sparse" in found:
        rows = []
        both = [(f"dense, {name}", by) for name, by in found["dense"].items()]
        both += [(f"sparse, {name}", by) for name, by in found["sparse"].items()]
        for name, by in both:
            one, two = by["1"], by["2"]
            critical = [each["worker"] + each["driver"] for each in (one, two)]
            rows.append(
                [
                    name,
                    f"{1e3 * one['worker']:.0f} + {1e3 * one['driver']:.1f}",
                    f"{1e3 * two['worker']:.0f} + {1e3 * two['driver']:.1f}",
                    f"{critical[0] / critical[1]:.2f}",
                    f"{one['passed'] / two['passed']:.2f}",
                    f"{two['bytes'] / 1e3:.0f}",
                    f"{by['load']:.0f}",
                ]
            )
        headings = ["rows, engine", "ms on 1 worker", "ms on 2", "speed-up", "passed"]
        tables["speed"] = table([*headings, "kB a round", "load"], rows)
        one = found["sparse"]["processes"]["1"]["worker"]
        tables["cluster"] = on_cluster(one / THIN_ENTRIES, message_costs())
    if "price" in found:
        rows = [
            [
                name,
                *(f"{1e3 * seconds:.2f}" for seconds in by["used"]),
                f"{100 * (by['used'][0] / by['used'][1] - 1):+.0f}%",
                *(f"{1e3 * by[key]:.2f}" for key in ("ours", "bare")),
            ]
            for name, by in found["price"].items()
        ]
        headings = ["engine", "a round, processor ms", "bare", "overhead"]
        tables["price"] = table([*headings, "a round, passed ms", "bare"], rows)
    if "rivals" in found:
        rows = [
            [name, f"{passes:.0f}", f"{seconds:.2f}", f"{above:.1e}"]
            for name, (passes, seconds, above) in found["rivals"].items()
        ]
        tables["rivals"] = table(["", "passes", "processor s", "above the minimum"], rows)
    if "disk" in found:
        disk = found["disk"]
        rows = [
            [
                name,
                f"{disk['bytes'] / GIB:.2g}",
                f"{disk['memory'] / GIB:.2g}",
                f"{by['driver'] / GIB:.2f}",
                f"{by['worker'] / GIB:.2f}" if by["worker"] else "",
                f"{by['seconds']:.0f}",
            ]
            for name, by in disk["runs"].items()
        ]
        headings = ["engine", "GiB of rows", "`memory=`, GiB", "peak of the driver"]
        tables["disk"] = table([*headings, "of a worker", "s"], rows)
    return {name: f"{text}\n\n{origin()}" for name, text in tables.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--measure", nargs="*", choices=NAMES)
    parser.add_argument("--gib", type=float, default=8.0)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--page", type=Path)
    parser.add_argument("--rank")
    parser.add_argument("--within", nargs=3)
    given = parser.parse_args()
    if given.rank is not None:
        return on_rank(given.rank)
    if given.within is not None:
        place, memory, engine = given.within
        return within(Path(place), int(memory), engine)
    found = json.loads(given.file.read_text()) if given.file.exists() else {}
    wanted = given.measure if given.measure is not None else []
    for name in wanted or (NAMES if given.measure is not None else ()):
        if name == "disk":
            found[name] = measure_disk(given.gib, given.folder)
        else:
            found[name] = globals()[f"measure_{name}"]()
        given.file.write_text(json.dumps(found, indent=1))
    for name, text in report(found).items():
        print(text, end="\n\n")
        if given.page is not None:
            insert(given.page, name, text)


if __name__ == "__main__":
    main()
