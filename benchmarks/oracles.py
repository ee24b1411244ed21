"""Microseconds per linear oracle: one direction, a batch of 64, and the plain call it replaces.

    python benchmarks/oracles.py [--json FILE] [--only NAME ...]

"plain" is what one would write without the library: a few lines of NumPy or one call of SciPy that
answers one direction with a dense vertex. All three are timed in turns in the same run, and the
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
ROUNDS, SECONDS = 7, 0.02


@dataclass
class Entry:
    """A set, the plain answer to one direction, and the speed-up that a batch should bring."""

    name: str
    make: Callable[[], Any]
    plain: Callable[[Any], Callable[[np.ndarray], Any]]
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


def entries() -> list[Entry]:
    """Return what is timed: vectors of 1,000 entries, matrices of the sizes in their names."""
    rng = np.random.default_rng(0)
    weights, caps, w = rng.random(N) + 0.5, rng.random(N) * 0.01, rng.random(N)
    groups = np.split(np.arange(N), 100)
    cloud, dag = rng.standard_normal((500, N)), layers(8, 6)
    links = [(i, j) for i in range(30) for j in range(i) if (i + j) % 3 == 0 or j == i - 1]
    a = rng.dirichlet(np.ones(10))
    found = [
        Entry(
            "Simplex",
            lambda: sets.Simplex(N),
            lambda K: lambda g: plainly.one_hot(N, g.argmin(), 1),
            10,
        ),
        Entry(
            "CappedSimplex", lambda: sets.CappedSimplex(N, caps), lambda K: plainly.fill(caps, 1.0)
        ),
        Entry(
            "Hypersimplex",
            lambda: sets.Hypersimplex(N, 10),
            lambda K: plainly.top_k(10, lambda g: 1.0, np.positive),
        ),
        Entry("L1Ball", lambda: sets.L1Ball(N), lambda K: plainly.signed_argmax(1.0), 10),
        Entry(
            "WeightedL1Ball",
            lambda: sets.WeightedL1Ball(weights),
            lambda K: plainly.signed_argmax(1.0 / weights),
        ),
        Entry("L2Ball", lambda: sets.L2Ball(N), lambda K: lambda g: -g / np.linalg.norm(g)),
        Entry("LinfBall", lambda: sets.LinfBall(N), lambda K: lambda g: -np.sign(g), 10),
        Entry("LpBall p=3", lambda: sets.LpBall(N, 3), lambda K: plainly.hoelder(3.0)),
        Entry(
            "GroupL1Ball", lambda: sets.GroupL1Ball(groups), lambda K: plainly.best_group(groups)
        ),
        Entry(
            "Box",
            lambda: sets.Box(-weights, weights),
            lambda K: lambda g: np.where(g < 0, weights, -weights),
            10,
        ),
        Entry(
            "KSparse k=10",
            lambda: sets.KSparse(N, 10),
            lambda K: plainly.top_k(10, lambda g: -np.sign(g), lambda g: -np.abs(g)),
            10,
        ),
        Entry("Permutahedron", lambda: sets.Permutahedron(w), lambda K: plainly.arrange(w)),
        Entry("Birkhoff 30", lambda: sets.Birkhoff(30), lambda K: plainly.assign),
        Entry(
            "TransportPolytope 10",
            lambda: sets.TransportPolytope(a, a[::-1]),
            plainly.highs_transport,
        ),
        Entry(
            "OperatorNormBall 20", lambda: sets.OperatorNormBall((20, 20)), lambda K: plainly.polar
        ),
        Entry(
            "SchattenBall 20",
            lambda: sets.SchattenBall((20, 20), 3),
            lambda K: plainly.schatten(3.0),
        ),
        Entry(
            "Spectrahedron 20", lambda: sets.Spectrahedron(20), lambda K: plainly.low_eigenvector
        ),
        Entry(
            "ConvexHull 500",
            lambda: sets.ConvexHull(cloud),
            lambda K: lambda g: cloud[(cloud @ g).argmin()],
        ),
        Entry(
            "DagFlow", lambda: sets.DagFlow(dag, 0, 49), lambda K: plainly.shortest_path(dag, 0, 49)
        ),
        Entry(
            "SpanningTree",
            lambda: sets.SpanningTree(links),
            lambda K: plainly.light_tree(links, 30),
        ),
    ]
    for p, q in ((10, 8), (20, 20), (50, 50)):
        found.append(
            Entry(
                f"TraceNormBall {p}x{q}",
                lambda p=p, q=q: sets.TraceNormBall((p, q)),
                lambda K: plainly.top_pair,
                5,
            )
        )
    return found


def seconds_per_call(call: Callable[[], Any], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def measure(entry: Entry, seed: int = 1) -> Row:
    """Time the three ways in turns; the best round of each counts."""
    K = entry.make()
    batch = np.random.default_rng(seed).standard_normal((BATCH, *K.shape))
    plain, g = entry.plain(K), batch[0]
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
    table = Table(title=f"microseconds per oracle (batch of {BATCH}: per vertex)")
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
        for entry in entries()
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
