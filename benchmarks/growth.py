"""What a round of the active-set and corrective methods costs as rounds, points and vertices grow.

    python benchmarks/growth.py [--before SRC] [--out FOLDER] [--json FILE]

``--before`` names the folder ``src`` of another version of the library, which runs the same
problems in turn with this one, in processes of its own. Times are processor time, the least of
several runs where runs are short. The figure goes to FOLDER/growth.png.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import wolfpack as wp

Series = list[tuple[float, float]]


def enclosing_ball(n: int) -> tuple[Any, Any]:
    """Return the dual of the smallest ball around n points in 64 dimensions."""
    points = np.random.default_rng(0).integers(0, 17, (n, 64)) / 16.0
    return wp.objectives.Quadratic(
        2.0 * points @ points.T, -(points**2).sum(axis=1)
    ), wp.sets.Simplex(n)


def sparse_simplex(n: int = 500, d: int = 5000, used: int = 200) -> tuple[Any, Any]:
    """Return least squares on a simplex whose solution has a few hundred vertices."""
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((n, d)), np.zeros(d)
    x[rng.permutation(d)[:used]] = rng.dirichlet(np.ones(used))
    return wp.objectives.LeastSquares(A, A @ x + 0.01 * rng.standard_normal(n)), wp.sets.Simplex(d)


def projection(n: int) -> tuple[Any, Any]:
    """Return the projection of a random matrix onto the Birkhoff polytope."""
    t = np.random.default_rng(0).random((n, n))
    return wp.objectives.Quadratic(1.0, -t, 0.5 * float(np.vdot(t, t))), wp.sets.Birkhoff(n)


def slow_regression(n: int = 300, d: int = 200) -> tuple[Any, Any]:
    """Return least squares on a simplex with a condition number of 1e6."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, d)) * np.logspace(0, -3, d)
    return wp.objectives.LeastSquares(A, A @ rng.dirichlet(np.ones(d))), wp.sets.Simplex(d)


def rounds(f: Any, K: Any, blocks: int, **options: Any) -> tuple[Series, Series]:
    """Return microseconds a round by the number of the round, and by the number of vertices."""
    stamps, sizes = [], []

    def look(now: Any) -> None:
        stamps.append(time.process_time())
        state = now.state
        sizes.append(len((state.hull if hasattr(state, "hull") else state.active).weights))

    res = wp.minimize(f, K, callback=look, progress=False, **options)
    ends = np.linspace(0, res.nit, blocks + 1).astype(int)
    by_round, by_size = [], []
    for a, b in itertools.pairwise(ends):
        cost = 1e6 * (stamps[b] - stamps[a]) / max(1, b - a)
        by_round.append((float(b), cost))
        by_size.append((float(np.mean(sizes[a : b + 1])), cost))
    return by_round, by_size


def seconds(run: Callable[[], Any], repeats: int) -> float:
    """Return the least processor time of several runs."""
    found = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        found.append(time.process_time() - began)
    return min(found)


def lasso_path() -> None:
    """Solve the LASSO for 29 radii, each from the answer of the last."""
    rng = np.random.default_rng(0)
    A, truth = rng.standard_normal((200, 1000)), np.zeros(1000)
    truth[:20] = rng.standard_normal(20)
    f, x, last = (
        wp.objectives.LeastSquares(A, A @ truth + 0.1 * rng.standard_normal(200)),
        None,
        1.0,
    )
    for radius in np.linspace(0.5, 15.0, 29):
        start = None if x is None else x * (radius / last)
        K = wp.sets.L1Ball(1000, radius)
        x, last = wp.minimize(f, K, start, method="corrective", tol=1e-4, progress=False).x, radius


def small_problems(count: int = 100) -> None:
    """Solve small least squares problems on a simplex, one after another."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        f = wp.objectives.LeastSquares(rng.standard_normal((20, 10)), rng.standard_normal(20))
        wp.minimize(f, wp.sets.Simplex(10), method="corrective", tol=1e-6, progress=False)


def as_callable(n: int = 500) -> None:
    """Solve a quadratic that is given as a callable."""
    rng = np.random.default_rng(0)
    root, c = rng.standard_normal((n, n)), rng.standard_normal(n)
    Q = root.T @ root / n

    def f(x: np.ndarray) -> tuple[float, np.ndarray]:
        Qx = Q @ x
        return 0.5 * x @ Qx + c @ x, Qx + c

    wp.minimize(f, wp.sets.L1Ball(n, 3.0), method="corrective", tol=1e-7, progress=False)


def whole_calls() -> dict[str, float]:
    """Return milliseconds of whole calls."""
    ball, (f, K) = enclosing_ball(1797), projection(60)
    calls: dict[str, tuple[Callable[[], Any], int]] = {
        f"{method}, smallest ball around 1,797 points, 1e-3": (
            lambda method=method: wp.minimize(*ball, method=method, tol=1e-3, progress=False),
            3,
        )
        for method in ("away", "pairwise", "bpcg", "corrective")
    }
    calls |= {
        f"corrective, m = {m}, projection onto Birkhoff(60), 1e-7": (
            lambda m=m: wp.minimize(f, K, method="corrective", m=m, tol=1e-7, progress=False),
            1,
        )
        for m in (1, 16)
    }
    calls["corrective, LASSO path of 29 radii, 1e-4"] = lasso_path, 3
    calls["corrective, 100 least squares on a simplex of 10, 1e-6"] = small_problems, 3
    calls["corrective, a quadratic of 500 as a callable, 1e-7"] = as_callable, 3
    return {name: 1e3 * seconds(run, repeats) for name, (run, repeats) in calls.items()}


def growth() -> dict[str, Series]:
    """Return microseconds a round against what grows, by panel."""

    def some_rounds(f: Any, K: Any) -> None:
        wp.minimize(f, K, method="away", tol=0.0, max_rounds=150, progress=False)

    away = []
    for n in (250, 500, 1000, 2000):
        f, K = enclosing_ball(n)
        away.append((float(n), 1e6 / 150 * seconds(partial(some_rounds, f, K), 2)))
    by_round, _ = rounds(*sparse_simplex(), 12, method="corrective", tol=1e-8, max_rounds=480)
    _, by_size = rounds(*projection(100), 12, method="corrective", tol=1e-7, max_rounds=650)
    long, _ = rounds(*slow_regression(), 12, method="bpcg", tol=0.0, max_rounds=20_000)
    return {"away": away, "corrective": by_round, "birkhoff": by_size, "bpcg": long}


PANELS = {
    "away": ("away, n points", "points"),
    "corrective": ("corrective, simplex", "round"),
    "birkhoff": ("corrective, Birkhoff(100)", "vertices"),
    "bpcg": ("bpcg, simplex", "round"),
}


def draw(found: dict[str, Any], folder: Path) -> None:
    """Write the figure."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"font.size": 13, "axes.titlesize": 13, "lines.linewidth": 2.5})
    figure, axes = pyplot.subplots(2, 2, figsize=(7.2, 6.4), layout="constrained")
    styles = {"before": ("0.6", "--"), "now": ("C0", "-")}
    for axis, (name, (title, label)) in zip(axes.flat, PANELS.items(), strict=True):
        for version, (color, line) in styles.items():
            if version in found:
                x, y = np.array(found[version]["growth"][name]).T
                axis.plot(x, 1e-3 * y, color=color, linestyle=line, label=version)
        axis.set(title=title, xlabel=label, ylim=(0, None))
        axis.spines[["top", "right"]].set_visible(False)
        axis.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(3))
        axis.xaxis.set_major_formatter("{x:,.0f}")
    for axis in axes[:, 0]:
        axis.set_ylabel("ms a round")
    axes[0, 0].legend(frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "growth.png", dpi=150)


def elsewhere(source: Path) -> dict[str, Any]:
    """Return what another version of the library measures."""
    command = [sys.executable, __file__, "--json", "-"]
    environment = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["now"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, help="the folder src of another version")
    parser.add_argument("--out", type=Path, default=Path("docs/assets"), help="for the figure")
    parser.add_argument("--json", help="write the numbers to this file, - for the terminal alone")
    given = parser.parse_args()
    found: dict[str, Any] = {}
    if given.before is not None:
        found["before"] = elsewhere(given.before)
    found["now"] = {"calls": whole_calls(), "growth": growth()}
    if given.json == "-":
        print(json.dumps(found))
        return
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=1))
    draw(found, given.out)
    for name, now in found["now"]["calls"].items():
        before = found["before"]["calls"][name] if "before" in found else float("nan")
        print(f"| {name} | {before:,.0f} | {now:,.1f} | {before / now:.1f} |")


if __name__ == "__main__":
    main()
