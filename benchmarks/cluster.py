"""Rounds per second and seconds to a gap on 1 to 10,000 workers, simulated with measured costs.

    python benchmarks/cluster.py FILE --measure
    python benchmarks/cluster.py FILE [--page FILE] [--figure FOLDER]

Measured on the real engines: what a message and a byte cost the driver, how unevenly long the
answers of an integer program take, how many rounds a run needs with m oracles each; and rounds of
up to 16 real processes whose oracles wait, to compare the simulation with. Assumed: the network,
and the mean time of an oracle. Simulated: rounds in which the driver sends every worker one ticket,
each computes one oracle, and the driver takes the replies one after the other.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pages import insert, origin, table
from rich.console import Console
from rich.markdown import Markdown
from slow_oracle import generalised_assignment

import wolfpack as wp
from wolfpack.engines import Dask, Processes, Ray
from wolfpack.smoothing import Ambient
from wolfpack.smoothing.job import Job, Question

LATENCY, BANDWIDTH = 50e-6, 1.25e9
"""The assumed network: seconds one way, bytes a second in and out of the driver (10 Gbit/s)."""

PER_MACHINE = 32
"""Workers of one machine, which share what an object store brings there."""

ORACLE, DENSE, STRUCTURED = 0.1, 8_000_000, 16_000
"""Seconds of an oracle; bytes of a 1000 x 1000 matrix, and of a vertex of rank one of that size."""

DIMENSION, GAP = 10_000, 1e-3
"""Of the problem whose rounds are counted."""

WORKERS = np.unique(np.geomspace(1, 10_000, 41).round().astype(int))
SHOWN = (1, 10, 100, 1000, 10_000)


@dataclass(frozen=True)
class Costs:
    """Processor seconds of the driver for a message there and back, and for a byte."""

    message: float
    byte: float
    shares: bool = False  # whether workers of one machine share the query point
    local: bool = False  # whether there is no network, and little to send


def simulated(
    workers: int, costs: Costs, dense: bool, sigma: float, quorum: float = 1.0, mean: float = ORACLE
) -> float:
    """Return the mean seconds of a round of one oracle per worker, over 60 rounds."""
    rng = np.random.default_rng(workers)
    copies = math.ceil(workers / PER_MACHINE) if costs.shares else workers
    out, back = DENSE * copies / workers, DENSE if dense else STRUCTURED
    if costs.local:
        out = back = 0
    send = max(0.5 * costs.message + out * costs.byte, out / BANDWIDTH)
    take = max(0.5 * costs.message + back * costs.byte, back / BANDWIDTH)
    need, total = math.ceil(quorum * workers), 0.0
    for _ in range(60):
        work = mean * np.exp(sigma * rng.standard_normal(workers) - 0.5 * sigma**2)
        sent = send * np.arange(1, workers + 1)
        arrived = np.sort(np.maximum(sent + work + 2 * LATENCY, sent[-1]))[:need]
        # replies are taken one after the other: the last is done when the longest queue is
        total += float(np.max(arrived + take * np.arange(need, 0, -1)))
    return total / 60


def measure_costs(engine: Any, workers: int = 2) -> Costs:
    """Return the driver's processor time for messages with few and with many bytes."""
    found = []
    for K in (wp.sets.Simplex(100), wp.sets.LinfBall(100_000)):
        job = Job(Ambient(K, wp.noise.get("logistic")), block=1)
        engine.open(job)
        question = Question(3, np.linspace(-1, 1, K.dimension), 0.1, workers)
        engine.run_round(question, range(workers))
        began, rounds = time.process_time(), 300 if K.dimension == 100 else 60
        for _ in range(rounds):
            engine.run_round(question, range(workers))
        found.append((time.process_time() - began) / (rounds * workers))
    return Costs(found[0], max(0.0, found[1] - found[0]) / 1.6e6, isinstance(engine, Ray))


def measure_spread(calls: int = 150) -> dict[str, float]:
    """Return the mean time of an integer program under perturbed costs, and its spread."""
    f, K = generalised_assignment()
    rng, taken = np.random.default_rng(0), []
    gradient = f.gradient(np.zeros(K.shape))
    for _ in range(calls):
        g = gradient + 0.3 * rng.standard_normal(K.shape)
        began = time.process_time()
        K.lmo(g)
        taken.append(time.process_time() - began)
    logs = np.log(taken)
    return {
        "mean": float(np.mean(taken)),
        "sigma": float(np.std(logs)),
        "longest": float(np.max(taken) / np.mean(taken)),
    }


def measure_rounds() -> dict[str, float]:
    """Return the rounds to the gap with m oracles each: real runs, medians of three."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, DIMENSION)) / 200**0.5
    x = np.zeros(DIMENSION)
    x[rng.choice(DIMENSION, 60, replace=False)] = rng.dirichlet(np.ones(60))
    f = wp.objectives.LeastSquares(A, A @ x + 0.01 * rng.standard_normal(200))
    K, found = wp.sets.Simplex(DIMENSION), {}
    for m in (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000):
        counts = [
            wp.minimize(
                f, K, method="anytime", m=m, kappa=0.1, tol=GAP, max_rounds=4000, seed=seed
            ).nit
            for seed in range(3)
        ]
        found[str(m)] = float(np.median(counts))
    return found


class Waits:
    """The cube's oracle after a wait whose length depends on the direction, lognormal."""

    def __init__(self, mean: float, sigma: float) -> None:
        self.mean, self.sigma = mean, sigma

    def __call__(self, g: np.ndarray) -> np.ndarray:
        normal = np.random.default_rng(zlib.crc32(g.tobytes())).standard_normal()
        time.sleep(self.mean * math.exp(self.sigma * normal - 0.5 * self.sigma**2))
        return np.where(g > 0, -1.0, 1.0)


def measure_real(sigma: float, mean: float = 0.05) -> dict[str, float]:
    """Return the seconds of a round on real processes, one waiting oracle each."""
    found = {}
    f = wp.objectives.Quadratic(1.0, -np.linspace(-2.0, 2.0, 100))
    K = wp.sets.Oracle(Waits(mean, sigma), shape=100, radius=10.0)
    for workers in (1, 2, 4, 8, 16):
        how: dict[str, Any] = {"method": "anytime", "kappa": 1.0, "L": 1.0, "tol": 0, "m": workers}
        result = wp.minimize(
            f, K, engine=f"processes:{workers}", max_rounds=40, record_every=10**9, **how
        )
        found[str(workers)] = result.solver_seconds / 40
    return found


def when() -> str:
    """Return the day, the machine and the versions, without the command."""
    return origin().partition(", ")[2]


def measure() -> dict[str, Any]:
    costs = {}
    for name, make in (("processes", Processes), ("ray", Ray), ("dask", Dask)):
        with make(2) as engine:
            costs[name] = asdict(measure_costs(engine))
    spread = measure_spread()
    rounds = measure_rounds()
    real = measure_real(spread["sigma"])
    return {"costs": costs, "spread": spread, "rounds": rounds, "real": real, "when": when()}


def curves(found: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the seconds of a round for every number of workers, by name."""
    sigma, out = found["spread"]["sigma"], {}
    for engine in ("ray", "dask"):
        costs = Costs(**found["costs"][engine])
        for kind in ("structured", "dense"):
            out[f"{engine}, {kind}"] = np.array(
                [simulated(w, costs, kind == "dense", sigma) for w in WORKERS]
            )
    costs = Costs(**found["costs"]["ray"])
    out["ray, structured, 90% are enough"] = np.array(
        [simulated(w, costs, False, sigma, quorum=0.9) for w in WORKERS]
    )
    free = Costs(0.0, 0.0, local=True)
    out["stragglers alone"] = np.array([simulated(w, free, False, sigma) for w in WORKERS])
    return out


def rounds_needed(found: dict[str, Any], m: np.ndarray) -> np.ndarray:
    """Return the measured rounds to the gap, between the measured m by a line in logarithms."""
    known = np.array([float(key) for key in found["rounds"]])
    values = np.array(list(found["rounds"].values()))
    return np.exp(np.interp(np.log(m), np.log(known), np.log(values)))


def draw(found: dict[str, Any], lines: dict[str, np.ndarray], folder: Path) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    from wolfpack.report.palette import LIGHT
    from wolfpack.report.plots import style

    looks = {
        "ray, structured": ("many", "-"),
        "ray, dense": ("many", "--"),
        "dask, structured": ("one", "-"),
        "dask, dense": ("one", "--"),
        "ray, structured, 90% are enough": ("exact", "-."),
        "stragglers alone": ("muted", ":"),
    }
    with matplotlib.rc_context(style()):
        figure = Figure(figsize=(7.6, 3.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        for name, (color, dash) in looks.items():
            look: Any = {"color": LIGHT[color], "linestyle": dash, "linewidth": 1.5, "label": name}
            left.loglog(WORKERS, 1 / lines[name], **look)
            share = 0.9 if "90%" in name else 1.0
            needed = rounds_needed(found, np.maximum(1.0, share * WORKERS))
            right.loglog(WORKERS, needed * lines[name], **look)
        left.set(title="Rounds per second", xlabel="workers, one oracle each a round")
        right.set(title=f"Seconds to a gap of {GAP:g}", xlabel="workers, one oracle each a round")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        figure.savefig(folder / "cluster.png", dpi=200)


def report(found: dict[str, Any], lines: dict[str, np.ndarray]) -> dict[str, str]:
    """Return the tables of the page by name."""
    places = [int(np.flatnonzero(w == WORKERS)[0]) for w in SHOWN]
    rates = [[name, *(f"{1 / seconds[i]:.3g}" for i in places)] for name, seconds in lines.items()]
    needed = rounds_needed(found, WORKERS)
    times = [
        [name, *(f"{needed[i] * seconds[i]:.3g}" for i in places)]
        for name, seconds in lines.items()
        if "90%" not in name
    ]
    costs = [
        [name, f"{1e6 * c['message']:.0f}", f"{1e9 * c['byte']:.2f}"]
        for name, c in found["costs"].items()
    ]
    own = Costs(found["costs"]["processes"]["message"], 0.0, local=True)
    sigma = found["spread"]["sigma"]
    checks = [
        [w, f"{1 / s:.1f}", f"{1 / simulated(int(w), own, False, sigma, mean=0.05):.1f}"]
        for w, s in found["real"].items()
    ]
    heads = ["workers", *(f"{w:,}" for w in SHOWN)]
    return {
        "cluster costs": table(["engine", "microseconds a message", "nanoseconds a byte"], costs),
        "cluster check": table(["processes", "measured rounds/s", "simulated"], checks),
        "cluster rounds": table(heads, rates),
        "cluster time": table(heads, times) + f"\n\nMeasured {found['when']}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="what was measured")
    parser.add_argument("--measure", action="store_true", help="measure anew, into the file")
    parser.add_argument("--page", type=Path, help="page of the documentation to write into")
    parser.add_argument("--figure", type=Path, help="folder for cluster.png")
    arguments = parser.parse_args()
    if arguments.measure:
        arguments.file.write_text(json.dumps(measure(), indent=1) + "\n")
    found = json.loads(arguments.file.read_text())
    lines = curves(found)
    for name, text in report(found, lines).items():
        Console().print(Markdown(f"### {name}\n\n{text}"))
        if arguments.page:
            insert(arguments.page, name, text)
    if arguments.figure:
        draw(found, lines, arguments.figure)


if __name__ == "__main__":
    main()
