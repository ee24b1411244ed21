"""All sets x objectives x libraries x methods: each ends in a valid result or one clear sentence.

The sets are those of the contract suite, in both of their sizes, and some on the other side of the
sizes at which the library changes its way of computing.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import wolfpack as wp
from backends import JAX32, NUMPY, TORCH, TORCH32, Backend
from contracts.registry import CASES
from hostile.judge import FalseClaim, Verdict, judge
from wolfpack import objectives, sets
from wolfpack.arrays import describe, inner, to_host
from wolfpack.front.methods import METHODS
from wolfpack.report import run_page

BEYOND: dict[str, Callable[[], sets.Set]] = {
    "trace norm 33": lambda: sets.TraceNormBall((33, 40), 3.0),
    "trace norm 125": lambda: sets.TraceNormBall((125, 130), 20.0),
    "trace norm 310": lambda: sets.TraceNormBall((310, 302), 20.0),
    "spectrahedron 33": lambda: sets.Spectrahedron(33, 2.0),
    "spectrahedron 125": lambda: sets.Spectrahedron(125, 4.0, equality=False),
    "spectrahedron 310": lambda: sets.Spectrahedron(310),
    "operator norm 66": lambda: sets.OperatorNormBall((66, 40)),
    "Schatten 40": lambda: sets.SchattenBall((40, 35), 1.5),
    "simplex 5000": lambda: sets.Simplex(5000),
    "l1 25000": lambda: sets.L1Ball(25_000, 3.0),
    "box 25000": lambda: sets.Box(np.zeros(25_000), np.ones(25_000)),
    "k-sparse 3000": lambda: sets.KSparse(3000, 7),
    "product": lambda: sets.Product(sets.TraceNormBall((4, 3)), sets.Spectrahedron(3)),
    "sum": lambda: sets.MinkowskiSum(sets.L1Ball(6), sets.L2Ball(6)),
    "moved": lambda: sets.Translate(sets.TraceNormBall((5, 4)), np.ones((5, 4))),
    "scaled": lambda: sets.Scale(sets.Spectrahedron(6), 2.0),
}
SMALL: dict[str, Callable[[], sets.Set]] = {case.name: case.small for case in CASES}
REGIONS: dict[str, Callable[[], sets.Set]] = (
    SMALL | {f"{case.name}, large": case.large for case in CASES if case.large is not None} | BEYOND
)
LIBRARIES = {one.name: one for one in (NUMPY, TORCH, TORCH32, JAX32)}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("auto", {}),
    ("auto", {"m": 4}),
    *((name, {}) for name in METHODS),
    ("corrective", {"m": 4}),
    ("anytime", {"m": 4}),
    ("anytime", {"m": "exact"}),
]
SUCCESS = ("converged", "max_rounds", "max_seconds", "stalled", "max_lmo")


class Combination(NamedTuple):
    """One cell of the matrix."""

    region: str
    objective: str
    library: str
    method: str
    options: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        given = "".join(f", {name}={value}" for name, value in self.options)
        return f"{self.objective} over {self.region} with {self.library}: {self.method}{given}"


def combinations(
    libraries: tuple[str, ...], regions: Collection[str] = REGIONS
) -> Iterator[Combination]:
    """Yield all combinations of these libraries whose objective takes points of the set."""
    for region in regions:
        make = REGIONS[region]
        shape = tuple(make().shape)
        for name in OBJECTIVES:
            if not fits(name, shape):
                continue
            for library in libraries:
                if OWNERS.get(name, LIBRARIES[library].library) != LIBRARIES[library].library:
                    continue
                for method, options in CALLS:
                    yield Combination(region, name, library, method, tuple(options.items()))


def sample(
    count: int, libraries: tuple[str, ...], seed: int, regions: Collection[str] = REGIONS
) -> list[Combination]:
    """Return a sample in which every set, objective and method occurs about equally often."""
    rng, groups = random.Random(seed), {}
    for one in combinations(libraries, regions):
        groups.setdefault(one.region, []).append(one)
    for group in groups.values():
        rng.shuffle(group)
    order = sorted(groups)
    rng.shuffle(order)
    return [groups[name].pop() for _, name in zip(range(count), _cycle(order), strict=False)]


def _cycle(names: list[str]) -> Iterator[str]:
    while True:
        yield from names


def fits(name: str, shape: tuple[int, ...]) -> bool:
    """Tell whether an objective takes points of this shape."""
    wants = {"completion": 2, "logistic": 1, "huber": 1, "matrix quadratic": 1}
    if name in ("logistic", "huber", "matrix quadratic") and math.prod(shape) > 2000:
        return False
    if name == "least squares" and (len(shape) > 2 or max(shape) > 6000):
        return False
    return len(shape) == wants.get(name, len(shape))


def target(shape: tuple[int, ...], backend: Backend) -> Any:
    return backend.array(np.random.default_rng(1).standard_normal(shape))


def _distance(shape: tuple[int, ...], backend: Backend) -> Any:
    t = target(shape, backend)
    return objectives.Quadratic(1.0, -t, 0.5 * inner(t, t))


def _matrix_quadratic(shape: tuple[int, ...], backend: Backend) -> Any:
    A = np.random.default_rng(2).standard_normal((3, *shape))
    eye = np.eye(shape[0])
    return objectives.Quadratic(backend.array(A.T @ A + eye), target(shape, backend))


def _least_squares(shape: tuple[int, ...], backend: Backend) -> Any:
    rng = np.random.default_rng(2)
    A, b = rng.standard_normal((5, shape[0])), rng.standard_normal((5, *shape[1:]))
    return objectives.LeastSquares(backend.array(A), backend.array(b))


def _labelled(kind: Any) -> Callable[[tuple[int, ...], Backend], Any]:
    def make(shape: tuple[int, ...], backend: Backend) -> Any:
        rng = np.random.default_rng(2)
        A, b = rng.standard_normal((7, shape[0])), np.where(rng.random(7) < 0.5, -1.0, 1.0)
        return kind(backend.array(A), backend.array(b))

    return make


def _completion(shape: tuple[int, ...], backend: Backend) -> Any:
    rng, (p, q) = np.random.default_rng(2), shape
    at = rng.choice(p * q, max(1, p * q // 5), replace=False)
    values = backend.array(rng.standard_normal(len(at)))
    return objectives.MatrixCompletion(at // q, at % q, values, (p, q))


def _callable(shape: tuple[int, ...], backend: Backend) -> Any:
    t = target(shape, backend)
    return lambda x: (0.5 * inner(x - t, x - t), x - t)


def _from_torch(shape: tuple[int, ...], backend: Backend) -> Any:
    t = target(shape, backend)
    return objectives.from_torch(lambda x: 0.5 * ((x - t) ** 2).sum(), like=t)


def _from_jax(shape: tuple[int, ...], backend: Backend) -> Any:
    t = target(shape, backend)
    return objectives.from_jax(lambda x: 0.5 * ((x - t) ** 2).sum(), like=t)


OBJECTIVES: dict[str, Callable[[tuple[int, ...], Backend], Any]] = {
    "distance": _distance,
    "matrix quadratic": _matrix_quadratic,
    "least squares": _least_squares,
    "logistic": _labelled(objectives.Logistic),
    "huber": _labelled(objectives.Huber),
    "completion": _completion,
    "callable": _callable,
    "from_torch": _from_torch,
    "from_jax": _from_jax,
}
OWNERS = {"from_torch": "torch", "from_jax": "jax"}


def verdict(one: Combination, seconds: float = 20.0) -> Verdict:
    """Return what becomes of a combination."""
    backend = LIBRARIES[one.library]
    with backend.active():
        return judge(lambda: solve(one, backend), seconds=seconds)


def solve(one: Combination, backend: Backend) -> None:
    """Minimise, and raise `FalseClaim` unless all that a result offers is there and true."""
    K = REGIONS[one.region]()
    f = OBJECTIVES[one.objective](tuple(K.shape), backend)
    start: Any = {}
    if one.objective == "callable" and backend.library != "numpy":
        start = {"x0": backend.array(K.start())}
    how = {"method": one.method, "max_rounds": 6, "max_seconds": 4.0, "convex": True, **start}
    res = wp.minimize(f, K, **how, **dict(one.options))
    check(res, K, f, backend)


def check(res: Any, K: sets.Set, f: Any, backend: Backend) -> None:
    """Compare a result with what it must be, and use everything that can be done with it."""
    x, tolerance = res.x, 1e-6 if backend.dtype == np.float64 else 1e-3
    _claim(str(res.status) in SUCCESS, f"status {res.status}: {res.message}")
    _claim(math.isfinite(res.fun), f"f = {res.fun}")
    _claim(res.lower_bound <= res.fun, f"bound {res.lower_bound} above {res.fun}")
    _claim(tuple(x.shape) == tuple(K.shape), f"x has shape {x.shape}")
    here = describe(backend.array(np.zeros(1)))
    _claim(describe(x) == here, f"x is {describe(x)} and not {here}")
    _claim(K.contains(x, tol=tolerance), f"x violates K by {K.violation(x)}")
    whole = np.asarray(to_host(x)).astype(float)
    _claim(whole.shape == tuple(K.shape) and bool(np.isfinite(whole).all()), "x is not finite")
    _claim(float(K.support(whole)) >= float((whole**2).sum()) - 1e-3, "support is below <x, x>")
    with tempfile.TemporaryDirectory() as folder:
        loaded = wp.load(res.save(Path(folder) / "result"))
    _claim(np.array_equal(np.asarray(loaded.x), np.asarray(to_host(x))), "x is saved otherwise")
    _claim("x" in res.to_dict(), "to_dict has no x")
    _claim("</html>" in run_page(res, K), "the page does not end")
    _claim(len(repr(res)) > 0, "no text")


def _claim(true: bool, otherwise: str) -> None:
    if not true:
        raise FalseClaim(otherwise)
