"""Microseconds per linear oracle: one direction, a batch of 64, and the plain call it replaces.

    python benchmarks/oracles.py [--json FILE] [--only NAME ...]

"plain" is what one would write without the library: a few lines of NumPy or one call of SciPy that
answers one direction with a dense vertex. All three are timed in turns in the same run, in
processor time, so that other work on the machine counts little (and threads bring no gain); the
best of several rounds counts.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import plain_oracles as plainly
import scipy
from rich.console import Console
from rich.table import Table

from wolfpack import sets

BATCH, N = 64, 1000
ROUNDS, SECONDS = 30, 0.004


@dataclass
class Entry:
    """A set, the plain answer to one direction, and the speed-up that a batch should bring."""

    name: str
    K: Any
    plain: Callable[[np.ndarray], Any]
    floor: float | None = None


@dataclass
class Row:
    """Microseconds per vertex."""

    name: str
    set: str
    plain: float
    single: float
    batch: float
    floor: float | None

    @property
    def gain(self) -> float:
        """How many times faster a vertex is in a batch than alone."""
        return self.single / self.batch


def layers(width: int, depth: int) -> list[tuple[int, int]]:
    """Return the edges of a layered graph from node 0 to the last node."""
    parts = [[0], *(list(range(1 + width * i, 1 + width * (i + 1))) for i in range(depth))]
    parts.append([1 + width * depth])
    return [(a, b) for i in range(depth + 1) for a in parts[i] for b in parts[i + 1]]


def vectors() -> list[Entry]:
    """Return the sets of vectors with 1,000 entries."""
    rng = np.random.default_rng(0)
    w, caps = rng.random(N) + 0.5, rng.random(N) * 0.01
    groups, cloud = np.split(np.arange(N), 100), rng.standard_normal((500, N))
    lowest = plainly.top_k(10, lambda g: 1.0, np.positive)
    sparse = plainly.top_k(10, lambda g: -np.sign(g), lambda g: -np.abs(g))
    return [
        Entry("Simplex", sets.Simplex(N), lambda g: plainly.one_hot(N, g.argmin(), 1.0), 10),
        Entry("CappedSimplex", sets.CappedSimplex(N, caps), plainly.fill(caps, 1.0)),
        Entry("Hypersimplex k=10", sets.Hypersimplex(N, 10), lowest),
        Entry("Permutahedron", sets.Permutahedron(w), plainly.arrange(w)),
        Entry("L1Ball", sets.L1Ball(N), plainly.signed_argmax(1.0), 10),
        Entry("WeightedL1Ball", sets.WeightedL1Ball(w), plainly.signed_argmax(1.0 / w)),
        Entry("L2Ball", sets.L2Ball(N), lambda g: -g / np.linalg.norm(g)),
        Entry("LinfBall", sets.LinfBall(N), lambda g: -np.sign(g), 10),
        Entry("LpBall p=3", sets.LpBall(N, 3), plainly.hoelder(3.0)),
        Entry("GroupL1Ball", sets.GroupL1Ball(groups), plainly.best_group(groups)),
        Entry("KSparse k=10", sets.KSparse(N, 10), sparse, 10),
        Entry("Box", sets.Box(-w, w), lambda g: np.where(g < 0, w, -w), 10),
        Entry("ConvexHull 500", sets.ConvexHull(cloud), lambda g: cloud[(cloud @ g).argmin()]),
    ]


def matrices() -> list[Entry]:
    """Return the sets of matrices, of the sizes in their names."""
    a = np.random.default_rng(0).dirichlet(np.ones(10))
    plans = sets.TransportPolytope(a, a[::-1])
    balls = [
        Entry(f"TraceNormBall {p}x{q}", sets.TraceNormBall((p, q)), plainly.top_pair, 5)
        for p, q in ((10, 8), (20, 20), (50, 50))
    ]
    return [
        *balls,
        Entry("OperatorNormBall 20x20", sets.OperatorNormBall((20, 20)), plainly.polar),
        Entry("SchattenBall 20x20", sets.SchattenBall((20, 20), 3), plainly.schatten(3.0)),
        Entry("Spectrahedron 20", sets.Spectrahedron(20), plainly.low_eigenvector),
        Entry("Birkhoff 30", sets.Birkhoff(30), plainly.assign),
        Entry("TransportPolytope 10x10", plans, plainly.highs_transport(plans)),
    ]


def in_fives(elements: tuple[int, ...]) -> bool:
    """Tell whether no two elements are in one group of five."""
    return len({i // 5 for i in elements}) == len(elements)


def graphs_and_programs() -> list[Entry]:
    """Return the sets given by graphs and by inequalities."""
    dag, last = layers(8, 6), 49
    links = [(i, j) for i in range(30) for j in range(i) if (i + j) % 3 == 0 or j == i - 1]
    demands = [(0, last, 1.0), (1, last, 2.0), (5, last, 0.5)]
    A, b = np.random.default_rng(0).random((5, 20)), np.full(5, 3.0)
    program, integer = (
        sets.LinearProgram(A, b, bounds=(0, 1)),
        sets.MixedInteger(A, b, bounds=(0, 1)),
    )
    return [
        Entry("DagFlow", sets.DagFlow(dag, 0, last), plainly.shortest_path(dag, 0, last)),
        Entry("FlowPolytope", sets.FlowPolytope(dag, demands), plainly.route(dag, demands)),
        Entry("SpanningTree", sets.SpanningTree(links), plainly.light_tree(links, 30)),
        Entry("MatroidBase", sets.MatroidBase(in_fives, n=40), plainly.greedy(in_fives, 8)),
        Entry("LinearProgram", program, plainly.highs(A, b)),
        Entry("MixedInteger", integer, plainly.highs_integer(A, b)),
    ]


def seconds_per_call(call: Callable[[], Any], times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - start) / times


def measure(entry: Entry, seed: int = 1) -> Row:
    """Time the three ways in turns; the best round of each counts."""
    K, plain = entry.K, entry.plain
    batch = np.random.default_rng(seed).standard_normal((BATCH, *K.shape))
    g = batch[0]
    value, least = float(np.vdot(g, plain(g))), float(K.lmo(g).dot(g))
    if not np.isclose(value, least, rtol=1e-6, atol=1e-9):
        raise AssertionError(f"{entry.name}: the plain call finds {value}, the oracle {least}")
    # 64 different directions: one and the same would teach the branch predictor its answer
    calls = (
        lambda: [plain(g) for g in batch],
        lambda: [K.lmo(g) for g in batch],
        lambda: K.lmo(batch),
    )
    times = [max(1, int(SECONDS / seconds_per_call(call, 1))) for call in calls]
    rounds = [
        [seconds_per_call(*pair) for pair in zip(calls, times, strict=True)] for _ in range(ROUNDS)
    ]
    per_vertex = np.min(rounds, axis=0) * 1e6 / BATCH
    plain_us, single, batched = (round(float(t), 3) for t in per_vertex)
    return Row(entry.name, repr(K), plain_us, single, batched, entry.floor)


def as_table(rows: list[Row]) -> Table:
    table = Table(title=f"processor microseconds per vertex, batch of {BATCH}")
    table.add_column("set")
    for column in ("plain", "single", "batch", "gain", "vs plain", "floor"):
        table.add_column(column, justify="right")
    for row in rows:
        missed = row.floor is not None and row.gain < row.floor
        gain = f"{row.gain:.1f}"
        table.add_row(
            row.name,
            f"{row.plain:.2f}",
            f"{row.single:.2f}",
            f"{row.batch:.2f}",
            f"[bold red]{gain}[/]" if missed else gain,
            f"{row.plain / row.batch:.1f}",
            "" if row.floor is None else f"{row.floor:g}",
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    parser.add_argument("--only", nargs="*", default=[], help="names of sets, by their beginning")
    options = parser.parse_args()
    chosen = [
        entry
        for entry in [*vectors(), *matrices(), *graphs_and_programs()]
        if not options.only or any(entry.name.startswith(name) for name in options.only)
    ]
    rows = [measure(entry) for entry in chosen]
    Console().print(as_table(rows))
    if options.json:
        system = {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "machine": platform.machine(),
        }
        rows_out = [{**asdict(row), "gain": round(row.gain, 2)} for row in rows]
        report = {"batch": BATCH, "system": system, "rows": rows_out}
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
