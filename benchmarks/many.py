"""Many small problems in one call, against loops over problems and against a bare batched loop.

    python benchmarks/many.py                  # on the processor: 566 x (60 x 39), about a minute
    python benchmarks/many.py --device cuda    # on a GPU: 4,096 and 65,536 x (200 x 50), matrices

Synthetic controls stand for the first, least squares with normal data for the second. The bare
loop is what one would write by hand in NumPy or PyTorch: accelerated projected gradient over the
simplex with Gram matrices, restarts, and a duality gap every ten rounds, with one step length per
problem, no compaction, and no account of rounding. All times are those of the best of three runs.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from pages import table
from threadpoolctl import threadpool_limits

import wolfpack as wp

LOOPED = 20
"""Problems that loops over problems solve; their times are scaled up."""


def controls(count: int, periods: int, donors: int, seed: int = 0) -> tuple[Any, Any]:
    """Return the data of synthetic controls: donors that follow four factors, and units near some
    mixtures of them.
    """
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(count, periods, 4))
    A = factors @ (1.0 + rng.normal(size=(count, 4, donors)))
    A += 0.3 * rng.normal(size=A.shape)
    weights = rng.dirichlet(np.full(donors, 0.1), size=count)
    b = (A @ weights[:, :, None])[:, :, 0]
    return A, b + 0.2 * rng.normal(size=b.shape)


def bare(A: Any, b: Any, xp: Any, rtol: float, tol: float = 0.0) -> tuple[Any, Any, int]:
    """Return points, gaps and rounds of the loop by hand; ``xp`` is NumPy or PyTorch."""
    d = A.shape[2]
    G, c = A.mT @ A, (A.mT @ b[:, :, None])[:, :, 0]
    half = 0.5 * (b * b).sum(-1)
    v = xp.ones_like(c)
    for _ in range(30):
        v = (G @ v[:, :, None])[:, :, 0]
        length = (v * v).sum(-1)[:, None] ** 0.5
        v = v / length
    L = 1.02 * length  # a little more, since power steps stop short of the eigenvalue
    ranks = xp.cumsum(xp.ones_like(c), -1)
    x = before = xp.ones_like(c) / d
    t = xp.ones_like(L)
    for k in range(1, 100_001):
        t_next = 0.5 * (1 + (1 + 4 * t * t) ** 0.5)
        y = x + (t - 1) / t_next * (x - before)
        u = y - ((G @ y[:, :, None])[:, :, 0] - c) / L
        falling = -xp.sort(-u, -1) if xp is np else xp.sort(u, -1, descending=True).values
        levels = (xp.cumsum(falling, -1) - 1) / ranks
        level = levels.max(-1)[:, None] if xp is np else levels.amax(-1, keepdim=True)
        x_next = (u - level).clip(0)
        uphill = ((y - x_next) * (x_next - x)).sum(-1)[:, None] > 0
        t = xp.where(uphill, xp.ones_like(t), t_next)
        before, x = xp.where(uphill, x_next, x), x_next
        if k % 10 == 0:
            g = (G @ x[:, :, None])[:, :, 0] - c
            least = g.min(-1) if xp is np else g.amin(-1)
            gap = (g * x).sum(-1) - least
            value = 0.5 * (x * (g - c)).sum(-1) + half
            if bool(((gap <= tol) | (gap <= rtol * value)).all()):
                break
    return x, gap, k


def listed(rows: list[dict[str, Any]]) -> str:
    """Return rows as a table."""
    return table([*rows[0]], [[str(value) for value in row.values()] for row in rows])


def best_of(run: Callable[[], Any], clock: Callable[[], float], repeats: int = 3) -> Any:
    """Return what ``run`` returns, and the least of a few times."""
    found, times = run(), []
    for _ in range(repeats):
        began = clock()
        found = run()
        times.append(clock() - began)
    return found, min(times)


def on_processor() -> list[str]:
    """Return the tables of the processor: seconds of processor time, one BLAS thread."""
    A, b = controls(566, 60, 39)
    K, tol = wp.sets.Simplex(39), 1e-6
    f = wp.objectives.LeastSquares(A, b)
    rows: list[dict[str, Any]] = []

    def add(name: str, seconds: float, rounds: float, gap: float) -> None:
        rows.append(
            {
                "how": name,
                "seconds": f"{seconds:.3f}",
                "ms a problem": f"{1e3 * seconds / 566:.3g}",
                "over minimize_many": f"{seconds / rows_seconds[0]:.1f}",
                "rounds": f"{rounds:.0f}",
                "largest gap": f"{gap:.1e}",
            }
        )

    res, seconds = best_of(lambda: wp.minimize_many(f, K, tol=tol), time.process_time)
    rows_seconds = [seconds]
    assert res.success.all()
    add("`minimize_many`", seconds, res.nit.mean(), res.gap.max())
    (_, gaps, rounds), seconds = best_of(lambda: bare(A, b, np, 0.0, tol), time.process_time, 1)
    add("bare loop in NumPy", seconds, rounds, gaps.max())
    for method in ("corrective", "projected", "auto"):

        def loop(method: str = method) -> Any:
            return [wp.minimize(f[i], K, tol=tol, method=method) for i in range(LOOPED)]

        found, seconds = best_of(loop, time.process_time, 1)
        assert all(one.success for one in found)
        rounds = float(np.mean([one.nit for one in found]))
        largest = max(one.gap for one in found)
        add(f'loop, `method="{method}"`', seconds * 566 / LOOPED, rounds, largest)
    return [listed(rows), listed(single()), listed(memory())]


def single() -> list[dict[str, Any]]:
    """Return what a batch of one problem costs, in runs of `minimize` with the default method."""
    found: list[dict[str, Any]] = []
    for n, d in ((12, 6), (60, 39), (200, 50)):
        A, b = controls(1, n, d, seed=1)
        squares, logistic = wp.objectives.LeastSquares(A, b), wp.objectives.Logistic(A, np.sign(b))
        row = {"one problem": f"{n} × {d}"}
        for name, f, K in (
            ("least squares, simplex", squares, wp.sets.Simplex(d)),
            ("box", squares, wp.sets.Box(np.zeros(d), np.ones(d) / 9)),
            ("l1 ball", squares, wp.sets.L1Ball(d)),
            ("l2 ball", squares, wp.sets.L2Ball(d)),
            ("logistic, simplex", logistic, wp.sets.Simplex(d)),
        ):
            calls = [
                lambda f=f, K=K: wp.minimize_many(f, K, tol=1e-6),
                lambda f=f, K=K: wp.minimize(f[0], K, tol=1e-6),
            ]
            many, one = (best_of(call, time.process_time, 15)[1] for call in calls)
            row[name] = f"{many / one:.2f}"
        found.append(row)
    return found


def memory() -> list[dict[str, Any]]:
    """Return the peak memory of runs beside the data, by the number of problems."""
    found: list[dict[str, Any]] = []
    for count in (250, 500, 1000, 2000):
        A, b = controls(count, 60, 39)
        A.flags.writeable = b.flags.writeable = False
        f = wp.objectives.LeastSquares(A, b)
        tracemalloc.start()
        wp.minimize_many(f, wp.sets.Simplex(39), tol=1e-6)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        found.append({"problems": count, "peak, times the data": f"{peak / A.nbytes:.2f}"})
    return found


def on_device(device: str) -> list[str]:
    """Return the tables of a GPU: seconds by the clock, the device being waited for."""
    import torch

    def clock() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    rows: list[dict[str, Any]] = []
    generator = torch.Generator(device).manual_seed(0)

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, dtype=torch.float64, device=device, generator=generator)

    for count in (4096, 65_536):
        A, b = normal(count, 200, 50), normal(count, 200)
        f, K = wp.objectives.LeastSquares(A, b), wp.sets.Simplex(50)
        (_, _, rounds), by_hand = best_of(lambda A=A, b=b: bare(A, b, torch, 1e-6), clock)
        res, ours = best_of(lambda f=f, K=K: wp.minimize_many(f, K, tol=0.0, rtol=1e-6), clock)
        rows.append(
            {
                "problems": f"{count:,} × (200 × 50)",
                "minimize_many, ms": f"{1e3 * ours:.1f}",
                "bare loop, ms": f"{1e3 * by_hand:.1f}",
                "ratio": f"{ours / by_hand:.2f}",
                "microseconds a problem": f"{1e6 * ours / count:.2f}",
                "converged": f"{res.success.mean():.1%}",
                "rounds": f"{res.nit.max()} and {rounds}",
                "largest relative gap": f"{(res.gap / abs(res.fun)).max():.1e}",
            }
        )
        del A, b, f
    return [listed(rows), listed(matrices(normal, clock))]


def matrices(normal: Callable[..., Any], clock: Callable[[], float]) -> list[dict[str, Any]]:
    """Return the rates of projections onto sets of matrices, beside the loop over instances."""
    found: list[dict[str, Any]] = []
    T = normal(4096, 32, 32)
    for K, points in ((wp.sets.Birkhoff(32), T), (wp.sets.Spectrahedron(32), T + T.mT)):
        f = wp.objectives.Quadratic(1.0, -points)
        res, many = best_of(lambda f=f, K=K: wp.minimize_many(f, K, tol=1e-6), clock, 1)

        def loop(points: Any = points, K: Any = K) -> Any:
            parts = [wp.objectives.Quadratic(1.0, -points[i]) for i in range(LOOPED)]
            return [wp.minimize(part, K, tol=1e-6, method="projected") for part in parts]

        _, one = best_of(loop, clock, 1)
        found.append(
            {
                "projections with a certificate": f"{K!r}, 4,096 points",
                "a second": f"{4096 / many:,.0f}",
                "a second in the loop": f"{LOOPED / one:,.0f}",
                "converged": f"{res.success.mean():.1%}",
            }
        )
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", help="cpu, or a device of PyTorch")
    arguments = parser.parse_args()
    with threadpool_limits(1 if arguments.device == "cpu" else None):
        tables = on_processor() if arguments.device == "cpu" else on_device(arguments.device)
    for text in tables:
        print(f"{text}\n")


if __name__ == "__main__":
    main()
