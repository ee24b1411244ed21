"""Sound options in unusual company: sets made of sets, small limits, one entry, flat functions."""

from __future__ import annotations

import contextlib
import copy
import io
import pickle
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import wolfpack as wp
from wolfpack import objectives, sets
from wolfpack.front.methods import METHODS

from .calls import EDGES, GROUPS, MATRIX, folder, use_result, use_set
from .judge import FalseClaim, Verdict, judge


def _oracle() -> Any:
    return sets.Oracle(_corner, (3,), radius=1.0, diameter=1.5)


def _corner(g: np.ndarray) -> np.ndarray:
    return np.eye(3)[int(np.argmin(g))]


LEAVES: tuple[Callable[[], Any], ...] = (
    lambda: sets.Simplex(3),
    lambda: sets.Simplex(1),
    lambda: sets.Simplex(3, 1e-9),
    lambda: sets.L1Ball(3, 2.0),
    lambda: sets.L2Ball((2, 1, 2)),
    lambda: sets.L2Ball(1),
    lambda: sets.LinfBall(3),
    lambda: sets.LpBall(3, p=3.0),
    lambda: sets.Box(np.zeros(3), np.ones(3)),
    lambda: sets.Box(np.array([0.0, 0.0, 1.0]), np.ones(3)),
    lambda: sets.Box(np.zeros(1), np.zeros(1)),
    lambda: sets.ConvexHull(MATRIX),
    lambda: sets.ConvexHull(np.ones((1, 3))),
    lambda: sets.KSparse(3, 2),
    lambda: sets.Hypersimplex(3, 3),
    lambda: sets.CappedSimplex(3, cap=np.full(3, 1.0 / 3.0)),
    lambda: sets.Permutahedron(np.ones(3)),
    lambda: sets.GroupL1Ball(GROUPS),
    lambda: sets.DagFlow(EDGES[:3], 0, 2),
    lambda: sets.Birkhoff(2),
    lambda: sets.TraceNormBall((3, 2)),
    lambda: sets.Spectrahedron(2),
    lambda: sets.SchattenBall((2, 2), order=1.0001),
    lambda: sets.LinearProgram(A_ub=np.ones((1, 3)), b_ub=[2.0], bounds=[(0, 1)] * 3),
    _oracle,
)

OPTIONS: dict[str, tuple[Any, ...]] = {
    "m": (1, 2, 64, None),
    "noise": (None, "gumbel", "gaussian", "logistic"),
    "smoothing": ("ambient", "lifted", "image"),
    "sampling": ("iid", "antithetic", "sobol"),
    "block": (1, 3),
    "engine": (None, "local", "threads:2"),
    "seed": (0, 2**100),
    "record_every": (1, 7, "auto"),
    "checks": (True, False),
    "L": (1.0, 1e6, 1e-12),
    "convex": (False, None),
    "starts": (1, 3),
    "rtol": (0, 1e-3),
    "max_rounds": (0, 1, 5),
    "max_seconds": (0, 1e-6),
    "max_lmo": (0, 1, 2, 9),
    "stragglers": ("wait", "drop"),
    "mode": ("sync", "async"),
}


def _logarithms(x: Any) -> tuple[float, Any]:
    size = abs(x) + 1e-300
    return float(-np.log(size).sum()), -1.0 / size


OBJECTIVES: tuple[Callable[[Any], Any], ...] = (
    lambda K: objectives.Quadratic(1.0, np.ones(K.shape)),
    lambda K: objectives.Quadratic(1e-8, -np.ones(K.shape)),
    lambda K: lambda x: (0.5 * float(np.vdot(x, x)), x),
    lambda K: lambda x: (float(x.sum()), np.ones(x.shape)),
    lambda K: lambda x: (0.0, np.zeros(x.shape)),
    lambda K: lambda x: (float(abs(x).sum()), np.sign(x)),
    lambda K: objectives.Function(lambda x: (-float(np.vdot(x, x)), -2.0 * x), convex=False),
    lambda K: objectives.Function(_logarithms, convex=False),
)


def _made(rng: random.Random, depth: int) -> Any:
    """Return a set made of sets."""
    kind = rng.random()
    if depth == 0 or kind < 0.3:
        return rng.choice(LEAVES)()
    if kind < 0.5:
        return sets.Product(*(_made(rng, depth - 1) for _ in range(rng.randint(1, 3))))
    K = _made(rng, depth - 1)
    if kind < 0.65:
        return sets.Translate(K, np.full(K.shape, rng.choice((0.0, 1.0, 1e6, 1e-9))))
    if kind < 0.8:
        return sets.Scale(K, rng.choice((1.0, 1e-3, 1e5)))
    return sets.MinkowskiSum(K, rng.choice((sets.L2Ball(K.shape), sets.LinfBall(K.shape), K)))


def inputs(count: int, seed: int = 0) -> list[int]:
    """Return the seeds of ``count`` runs."""
    return random.Random(seed).sample(range(2**32), count)


def run(given: int) -> Verdict:
    """Draw a problem and options, solve it, save and resume it, and check what is claimed."""
    rng = random.Random(given)

    def solve() -> None:
        K = _made(rng, rng.randint(0, 3))
        use_set(K)
        f, method = rng.choice(OBJECTIVES)(K), rng.choice(("auto", *METHODS))
        chosen = {name: rng.choice(v) for name, v in OPTIONS.items() if rng.random() < 0.12}
        settings = {"max_rounds": 20, "max_seconds": 1.0} | chosen
        with contextlib.redirect_stderr(io.StringIO()), np.errstate(all="ignore"):
            _solve(f, K, method, settings, rng)

    return judge(solve, seconds=30.0)


def _solve(f: Any, K: Any, method: str, settings: dict[str, Any], rng: random.Random) -> None:
    result = wp.minimize(f, K, method=method, **settings)
    _check(result, f, K)
    most = settings.get("max_lmo")
    if most is not None and "starts" not in settings and result.nlmo > most:
        raise FalseClaim(f"{result.nlmo} oracle calls were made, {most} are allowed")
    if rng.random() < 0.15:
        _check(pickle.loads(pickle.dumps(copy.deepcopy(result))), f, K)
    if rng.random() < 0.15 and "starts" not in settings:
        with tempfile.TemporaryDirectory(dir=folder()) as place:
            path = Path(place) / "run.ckpt"
            wp.minimize(f, K, method=method, checkpoint=path, **settings)
            again = wp.resume(path, f, K, max_rounds=result.nit + 3, checkpoint=None)
            _check(again, f, K)


def _check(result: Any, f: Any, K: Any) -> None:
    if "stationarity" in result:
        if not K.contains(result.x, 1e-6):
            raise FalseClaim("x is infeasible")
        return
    use_result(result, f if isinstance(f, objectives.Objective) else None, K)
