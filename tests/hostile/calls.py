"""Every public callable with valid arguments, and what must be true of what it returns."""

from __future__ import annotations

import atexit
import math
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import wolfpack as wp
from wolfpack.front.composite import METHODS as COMPOSITE_METHODS
from wolfpack.front.methods import METHODS
from wolfpack.problem import Stacked

from .judge import FalseClaim

RNG = np.random.default_rng(18)
A = RNG.standard_normal((6, 3))
B = A @ [0.5, 0.3, 0.2] + 0.1 * RNG.standard_normal(6)
LABELS = np.where(A[:, 0] > 0, 1.0, -1.0)
MATRIX = RNG.standard_normal((4, 3))
EDGES = [(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)]
GROUPS = [np.array([0, 1]), np.array([2])]


@dataclass(frozen=True)
class Call:
    """A public callable.

    ``arguments`` are valid ones by name (``*name`` for a name that takes several). ``use`` looks at
    what was returned and raises `FalseClaim`. ``words`` are other names that a message may use.
    """

    area: str
    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]
    use: Callable[[Any], None] = lambda found: None
    words: tuple[str, ...] = ()

    def __call__(self, **changed: Any) -> None:
        given = self.arguments | changed
        several = [given.pop(name) for name in list(given) if name.startswith("*")]
        # what cannot be unpacked stands alone
        values = [v for part in several for v in (part if isinstance(part, tuple) else (part,))]
        self.use(self.function(*values, **given))


def require(truth: bool, claim: str) -> None:
    """Raise `FalseClaim` unless it is true."""
    if not truth:
        raise FalseClaim(claim)


def use_set(K: Any) -> None:
    """A set must contain what its oracle and its start return, and know a finite radius."""
    if isinstance(K, Stacked):
        return use_stack(K, lambda: wp.minimize(least_squares(), K))
    if not isinstance(K, wp.sets.Set):
        raise FalseClaim(f"a set was asked for, found {type(K).__name__}")
    require(0 <= K.radius < math.inf, f"the radius is {K.radius}")
    g = np.cos(np.arange(1.0, 1.0 + math.prod(K.shape))).reshape(K.shape)
    vertex = K.lmo(g).to_dense()
    require(vertex.shape == K.shape, f"the oracle's answer has shape {vertex.shape}")
    require(bool(np.isfinite(vertex).all()), "the oracle's answer is not finite")
    start = K.start()
    require(start.shape == K.shape, f"the start has shape {start.shape}")
    require(bool(np.isfinite(start).all()), "the start is not finite")
    require(K.contains(start, 1e-6), "the start is outside of the set")
    norm = float(np.linalg.norm(vertex / (K.radius or 1.0)))
    require(norm <= 1.0 + 1e-6 or K.radius == 0.0, f"a vertex has norm {norm} radii")


def use_stack(stack: Any, minimize: Callable[[], Any]) -> None:
    """Data of several problems must be refused by `minimize`, which names `minimize_many`."""
    minimize()
    raise FalseClaim(f"{stack!r} was minimised as one problem")


def use_objective(f: Any) -> None:
    """An objective must have finite numbers, and the value that differences of it agree with."""
    if isinstance(f, Stacked):
        return use_stack(f, lambda: wp.minimize(f, wp.sets.Simplex(3)))
    require(isinstance(f, wp.objectives.Objective), f"an objective is a {type(f).__name__}")
    if isinstance(f, wp.objectives.Stochastic):
        return
    x = np.full(f.shape or (3,), 0.25)
    at = f.evaluate(x)
    require(np.shape(at.gradient) == x.shape, f"the gradient has shape {np.shape(at.gradient)}")
    require(np.asarray(at.gradient).dtype.kind == "f", "the gradient is not real")
    L = f.L
    require(L is None or L >= 0, f"L is {L}")


def use_regularizer(H: Any) -> None:
    """A regulariser must have a finite minimum of H(y) + <u, y> at a finite point."""
    require(isinstance(H, wp.regularizers.Regularizer), f"H is a {type(H).__name__}")
    shape = H.shape or ((3, 2) if isinstance(H, wp.regularizers.NuclearNorm) else (3,))
    u = np.cos(np.arange(1.0, 1.0 + math.prod(shape))).reshape(shape)
    y = H.argmin(u)
    require(bool(np.isfinite(y).all()), "the minimiser is not finite")
    require(math.isfinite(H.value(y)), "the minimum is not finite")


def use_noise(law: Any) -> None:
    """A law must draw finite numbers of the shape asked for."""
    draws = law.sample(np.random.default_rng(0), (2, 3), np.float64)
    require(draws.shape == (2, 3), f"draws have shape {draws.shape}")
    require(bool(np.isfinite(draws).all()), "draws are not finite")


def use_number(value: Any) -> None:
    """A formula must give numbers."""
    parts = value if isinstance(value, tuple) else (value,)
    numbers = [part for part in parts if isinstance(part, float | np.ndarray)]
    require(not any(np.isnan(part).any() for part in numbers), f"the value is {value}")


def use_result(result: Any, f: Any = None, K: Any = None) -> None:
    """A result must be feasible, and its certificate must hold at points that are easy to find."""
    require(isinstance(result, wp.Result), f"the result is a {type(result).__name__}")
    x = np.asarray(result.x)
    require(bool(np.isfinite(x).all()), "x is not finite")
    if K is None or f is None:
        require(not result.success or result.gap < math.inf, "success without a certificate")
        return
    require(K.contains(x, 1e-6), "x is infeasible")
    value = f.value(x)
    close = math.isclose(value, result.fun, rel_tol=1e-6, abs_tol=1e-9 * max(1.0, abs(value)))
    require(close, f"fun is {result.fun}, f(x) is {value}")
    rng = np.random.default_rng(0)
    points = [K.start(), x, *(K.lmo(rng.standard_normal(K.shape)).to_dense() for _ in range(4))]
    # beyond the domain of f, which may be all points but x, there is no value
    least = min([f.value(x), *filter(math.isfinite, map(f.value, points))])
    margin = 1e-9 * max(1.0, abs(least))
    require(result.lower_bound <= least + margin, f"{result.lower_bound} > {least}")
    require(not result.success or result.gap < math.inf, "success without a certificate")


def run_minimize(f: Any, K: Any, **settings: Any) -> Any:
    """Minimise and check the result against f and K as they were given."""
    result = wp.minimize(f, K, **settings)
    objective = f if isinstance(f, wp.objectives.Objective) else None
    use_result(result, objective, K)
    return result


def run_integer(f: Any, K: Any, **settings: Any) -> Any:
    """Minimise over integer points and check the result; the marked entries must be whole."""
    result = wp.minimize_integer(f, K, **settings)
    require(bool(np.array_equal(result.x, np.round(result.x))), "x is not integral")
    require(not result.success or result.gap < math.inf, "success without a certificate")
    return result


def run_composite(G: Any, H: Any, **settings: Any) -> Any:
    """Minimise a composite problem and check the result."""
    result = wp.minimize_composite(G, H, **settings)
    use_result(result)
    return result


def fit(kind: type, X: Any, y: Any = None, **parameters: Any) -> Any:
    """Fit an estimator and check that what it predicts is finite."""
    model = kind(**parameters)
    model.fit(X) if kind is wp.estimators.MatrixCompletion else model.fit(X, y)
    found = model.completed_ if hasattr(model, "completed_") else model.coef_
    require(bool(np.isfinite(found).all()), "the fit is not finite")


@cache
def folder() -> Path:
    """Return a folder for files, kept as long as the process lives."""
    place = Path(tempfile.mkdtemp(prefix="hostile-"))
    (place / "here").mkdir()
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


@cache
def checkpoint() -> str:
    """Return a valid checkpoint."""
    path = str(folder() / "valid.ckpt")
    wp.minimize(least_squares(), wp.sets.Simplex(3), method="fw", max_rounds=3, checkpoint=path)
    return path


@cache
def saved_result() -> str:
    """Return a valid result file."""
    result = wp.minimize(least_squares(), wp.sets.Simplex(3), max_rounds=3)
    return str(result.save(folder() / "valid.npz"))


@cache
def least_squares() -> Any:
    """Return the objective that most runs use."""
    return wp.objectives.LeastSquares(A, B)


def _lmo(g: Any) -> Any:
    vertex = np.zeros(3)
    vertex[int(np.argmin(g))] = 1.0
    return vertex


def _rank(members: Any) -> int:
    return min(2, len(members))


SETS: dict[str, dict[str, Any]] = {
    "Birkhoff": {"n": 3},
    "Box": {"lower": np.zeros(3), "upper": np.ones(3)},
    "CappedSimplex": {"n": 3, "cap": np.full(3, 0.5), "total": 1.0},
    "ConvexHull": {"points": MATRIX},
    "DagFlow": {"edges": EDGES, "source": 0, "target": 3},
    "Ellipsoid": {"center": np.ones(3), "matrix": np.diag([1.0, 2.0, 0.5])},
    "Fantope": {"n": 3, "k": 2},
    "FlowPolytope": {"graph": EDGES, "demands": [(0, 3, 1.0)], "capacity": np.full(5, 2.0)},
    "GroupL1Ball": {"groups": GROUPS, "radius": 1.0},
    "HermitianSpectrahedron": {"n": 3, "trace": 1.0},
    "Hypersimplex": {"n": 4, "k": 2},
    "Image": {"A": MATRIX, "K": wp.sets.Simplex(3)},
    "KNormBall": {"n": 4, "k": 2, "radius": 1.0},
    "KSparse": {"n": 4, "k": 2, "radius": 1.0},
    "Knapsack": {
        "weights": np.array([1.0, 2.0, 3.0]),
        "capacity": 4.0,
        "upper": np.array([1.0, 1.0, 2.0]),
    },
    "L1Ball": {"n": 3, "radius": 1.0},
    "L2Ball": {"n": 3, "radius": 1.0},
    "LinearProgram": {
        "A_ub": np.array([[1.0, 1.0, 1.0]]),
        "b_ub": np.array([2.0]),
        "A_eq": np.array([[1.0, -1.0, 0.0]]),
        "b_eq": np.array([0.0]),
        "bounds": [(0.0, 1.0)] * 3,
    },
    "LinfBall": {"n": 3, "radius": 1.0},
    "LpBall": {"n": 3, "p": 3.0, "radius": 1.0},
    "Matching": {"graph": EDGES, "perfect": False},
    "MatroidBase": {"rank_or_independence": _rank, "n": 3},
    "MinkowskiSum": {"*sets": (wp.sets.Simplex(3), wp.sets.L1Ball(3))},
    "MixedInteger": {
        "A_ub": np.array([[1.0, 1.0, 1.0]]),
        "b_ub": np.array([2.0]),
        "A_eq": np.array([[1.0, -1.0, 0.0]]),
        "b_eq": np.array([0.0]),
        "bounds": [(0.0, 1.0)] * 3,
        "integrality": np.ones(3),
        "time_limit": 10.0,
        "mip_gap": 0.0,
    },
    "OperatorNormBall": {"shape": (3, 2), "radius": 1.0},
    "Oracle": {
        "lmo": _lmo,
        "shape": (3,),
        "radius": 1.0,
        "diameter": 1.5,
        "batched": False,
        "contains": lambda x: True,
        "anywhere": False,
    },
    "OrderedWeightedL1": {"weights": np.array([2.0, 1.0, 1.0]), "radius": 1.0},
    "Permutahedron": {"vector": np.array([1.0, 2.0, 3.0])},
    "Product": {"*sets": (wp.sets.Simplex(3), wp.sets.L1Ball(2))},
    "Scale": {"K": wp.sets.Simplex(3), "factor": 2.0},
    "SchattenBall": {"shape": (3, 2), "order": 3.0, "radius": 1.0},
    "Simplex": {"n": 3, "radius": 1.0},
    "SpanningTree": {"graph": EDGES},
    "Spectrahedron": {"n": 3, "trace": 1.0, "equality": True},
    "Symmetric": {"K": wp.sets.Simplex(3), "group": np.array([[1, 0, 2]])},
    "TraceNormBall": {"shape": (3, 2), "radius": 1.0},
    "Translate": {"K": wp.sets.Simplex(3), "offset": np.ones(3)},
    "TransportPolytope": {
        "a": np.array([0.5, 0.5]),
        "b": np.array([0.25, 0.75]),
        "solver": "highs",  # POT takes seconds to import
    },
    "UnitHypersimplex": {"n": 4, "k": 2},
    "UnitSimplex": {"n": 3, "radius": 1.0},
    "WeightedL1Ball": {"weights": np.ones(3), "radius": 1.0},
}

_RIDGE = {"mu": 0.5}
REGULARIZERS: dict[str, dict[str, Any]] = {
    "BallRidge": {"n": 3, **_RIDGE, "radius": 1.0},
    "BoxRidge": {"lower": np.zeros(3), "upper": np.ones(3), **_RIDGE},
    "ElasticNet": {"l1": 0.1, **_RIDGE},
    "Entropy": _RIDGE,
    "GroupLasso": {"groups": GROUPS, "group": 0.1, **_RIDGE, "weights": np.ones(2)},
    "IndicatorRidge": {"K": wp.sets.Simplex(3), **_RIDGE},
    "NuclearNorm": {"nuclear": 0.1, **_RIDGE},
    "Product": {
        "*parts": (
            (wp.regularizers.SquaredNorm(0.5), (3,)),
            (wp.regularizers.ElasticNet(0.1, 0.5), (2,)),
        )
    },
    "SimplexRidge": {"n": 3, **_RIDGE, "radius": 1.0},
    "SparseGroupLasso": {
        "groups": GROUPS,
        "l1": 0.1,
        "group": 0.1,
        **_RIDGE,
        "weights": np.ones(2),
    },
    "SquaredNorm": _RIDGE,
    "SquaredPNorm": {**_RIDGE, "p": 1.5},
    "TotalVariation": {"variation": 0.1, **_RIDGE},
}

_H = wp.regularizers.ElasticNet(0.1, 0.5)
MIRRORS: dict[str, dict[str, Any]] = {
    "EntropyMirror": {"z0": np.full(3, 1 / 3)},
    "Euclidean": {"z0": np.zeros(3)},
    "PNormMirror": {"p": 1.5, "z0": np.zeros(3)},
    "ProductMirror": {"H": wp.regularizers.Product((_H, (2,)), (_H, (1,)))},
    "Same": {"H": _H, "slope": np.zeros(3)},
    "Shifted": {"w": wp.regularizers.Euclidean(), "z0": np.zeros(3)},
}

_ROWS = {"reduction": "mean", "batch": None}
OBJECTIVES: dict[str, dict[str, Any]] = {
    "AOptimal": {"V": A},
    "DOptimal": {"V": A},
    "LogUtility": {"returns": abs(A) + 0.5},
    "BPR": {
        "free_time": np.ones(3),
        "capacity": np.ones(3),
        "b": 0.15,
        "power": 4,
        "fixed": np.zeros(3),
    },
    "Batches": {"loss": "logistic", "source": lambda: iter([(A, LABELS)]), "beta": 1.0},
    "Function": {"fun": lambda x: (0.5 * float(x @ x), x), "L": 1.0, "shape": (3,)},
    "Huber": {"features": A, "targets": B, "delta": 0.5, **_ROWS},
    "LeastSquares": {"A": A, "b": B, "batch": None, "reduction": "sum"},
    "Logistic": {"features": A, "labels": LABELS, **_ROWS},
    "MatrixCompletion": {
        "rows": np.array([0, 1, 2]),
        "columns": np.array([0, 1, 0]),
        "values": np.array([1.0, 2.0, 3.0]),
        "shape": (3, 2),
    },
    "Multinomial": {"features": A, "labels": np.array([0, 1, 2, 0, 1, 2]), "classes": 3, **_ROWS},
    "Poisson": {"features": A, "counts": np.arange(6.0), "cap": 5.0, **_ROWS},
    "Quadratic": {"Q": A.T @ A, "c": np.ones(3), "r": 0.5},
    "Quantile": {"features": A, "targets": B, "q": 0.5, "delta": 0.1, **_ROWS},
    "SquaredHinge": {"features": A, "labels": LABELS, **_ROWS},
    "Stochastic": {
        "draw": lambda y, rng: y,
        "beta": 1.0,
        "variance": 1.0,
        "shape": (3,),
        "value": lambda y: 0.5 * float(y @ y),
    },
    "Weighted": {"objective": wp.objectives.Huber(A, B), "weights": np.ones(6)},
    "Difference": {
        "f": wp.objectives.Huber(A, B),
        "g": wp.objectives.Quadratic(0.1, np.ones(3)),
    },
    "Partitioned": {
        "loss": "huber",
        "parts": [(A, B), (A, B)],
        "reduction": "mean",
        "memory": 2**20,
        "rows": 4,
        "check": "time",
        "delta": 0.5,
    },
}

_RULE = wp.solvers.LineSearch()
SOLVERS: dict[str, dict[str, Any]] = {
    "AdaptiveStep": {"tau": 2.0, "eta": 0.9},
    "AlternatingProjections": {},
    "Anytime": {
        "m": 2,
        "kappa": 1.0,
        "theta": 0.5,
        "order": 3,
        "max_m": 256,
        "compile": False,
    },
    "AwayStep": {"rule": _RULE},
    "Backtracking": {"tau": 2.0, "eta": 0.9},
    "BlendedPairwise": {"rule": _RULE, "lazy": False, "J": 2.0},
    "BlockCoordinate": {"order": "cyclic", "rule": _RULE, "lazy": False, "J": 2.0, "blocks": 2},
    "Conjugate": {"order": 1, "rule": _RULE, "delta": 0.01},
    "ConvergingComposite": {"batch": None},
    "Conic": {},
    "NonnegativeLeastSquares": {},
    "Corrective": {"m": 2, "accuracy": 0.03, "max_pool": 2000, "max_age": 200, "max_rank": 100},
    "DecompositionInvariant": {"rule": _RULE, "blended": False, "lazy": False, "J": 2.0},
    "DifferenceOfConvex": {"boosted": False, "accuracy": 1.0, "inner_rounds": 10, "rule": _RULE},
    "Fixed": {"step": 0.1},
    "FrankWolfe": {"rule": _RULE},
    "FullyCorrective": {"rule": _RULE, "accuracy": 0.01, "inner": 20},
    "GoldenSection": {"tol": 1e-7},
    "LazyFrankWolfe": {"rule": _RULE, "J": 2.0, "size": 1000},
    "LineSearch": {"xtol": 1e-10},
    "LogOpenLoop": {"shift": 2.0},
    "LowRankCorrective": {"m": 1, "accuracy": 0.1, "max_rank": 100, "inner": 200},
    "Momentum": {"kind": "nesterov"},
    "StochasticAnytime": {
        "estimate": "saga",
        "m": 2,
        "kappa": 0.1,
        "theta": 0.5,
        "batch": 2,
    },
    "StochasticFrankWolfe": {"estimate": "table", "batch": 2, "order": "random"},
    "Monotone": {"rule": wp.solvers.OpenLoop()},
    "OpenLoop": {"ell": 2.0},
    "Pairwise": {"rule": _RULE},
    "ParallelFrankWolfe": {
        "alpha": 0.1,
        "m": 2,
        "M": "sharp",
        "constants": "sharp",
        "R": 1.0,
        "epsilon": 1e-3,
    },
    "PowerLoop": {"power": 0.5},
    "Projected": {"L0": 1.0},
    "RestartedParallelFrankWolfe": {
        "shrink": 0.5,
        "alpha": 1.0,
        "length": 1.0,
        "restart": "schedule",
        "m": 2,
        "M": 1.0,
        "constants": "sharp",
        "R": 1.0,
    },
    "NewtonComposite": {"batch": None},
    "SearchedComposite": {"batch": None},
    "Secant": {"tol": 0.01, "max_looks": 30},
    "ShortStep": {},
    "Sliding": {},
    "StochasticComposite": {"batch": None},
}

_FORMULA = {"L": 2.0, "R": 1.0, "M": 1.0}
_COMPOSITE = {"beta": 2.0, "mu": 0.5, "nu": 1.0}
_ANCHOR = {"beta": 2.0, "mu": 0.5, "row_smoothness": 4.0, "m": 2}
_RANDOM = {"L": 1.0, "C": 0.5, "s1": 1.0, "variance": 0.1, "theta": 0.5}
THEORY: dict[str, dict[str, Any]] = {
    "anytime_alpha": {"k": 3, **_FORMULA, "theta": 0.5, "order": 3},
    "batch_for": {"epsilon": 0.1, "beta": 2.0, "mu": 0.5, "variance": 1.0},
    "bound_anytime": {"N": 3, **_FORMULA, "s1": 1.0, "initial_gap": 1.0, "m": 2, "order": 3},
    "bound_composite": {
        "k": 3,
        **_COMPOSITE,
        "divergence": 1.0,
        "variance": 0.1,
        "constants": "paper",
        "exact_weights": False,
    },
    "bound_converging": {
        "N": 3,
        **_COMPOSITE,
        "divergence": 1.0,
        "variance": 0.1,
        "theta": 0.5,
        "m": 2,
    },
    "bound_pfw": {
        "k": 3,
        **_FORMULA,
        "alpha": 0.1,
        "m": 2,
        "initial_gap": 1.0,
        "s1": 1.0,
        "constants": "paper",
        "rho": 1.0,
        "exact_weights": False,
    },
    "capped_weight": {
        "A_k": 1.0,
        "A_next": 2.0,
        "tau": 0.5,
        "pace": 0.1,
        "mu": 0.5,
        "gamma_nu": 2.0,
    },
    "converging_switch": {"beta": 2.0, "mu": 0.5, "theta": 0.5},
    "converging_weight": {"k": 3, **_COMPOSITE, "theta": 0.5},
    "next_converging_weight": {"k": 3, "A_k": 1.0, **_COMPOSITE, "theta": 0.5},
    "next_weight": {"A_k": 1.0, **_COMPOSITE, "exact": False},
    "parameters_for": {
        "epsilon": 0.1,
        **_FORMULA,
        "m": 2,
        "initial_gap": 1.0,
        "s1": 1.0,
        "rho": 1.0,
        "constants": "paper",
    },
    "rho": {"p": 3.0, "d": 10},
    "s1": {"K": wp.sets.Birkhoff(3), "noise": "gaussian", "seed": 0, "samples": 8},
    "smoothness": {
        "K": wp.sets.Simplex(3),
        "noise": "gumbel",
        "alpha": 0.1,
        "constants": "sharp",
    },
    "step_weights": {"n": 4, **_COMPOSITE},
    "affine_curvature": {"images": A, "L": 1.0},
    "anchor_rho": {**_ANCHOR, "q": 0.25},
    "bound_stochastic": {
        "N": 3,
        **_RANDOM,
        "initial_gap": 1.0,
        "sampling": 0.1,
    },
    "bound_table": {"N": 3, "width": 2.0, "curvature": 1.0, "first": 1.0, "age": 2},
    "stochastic_alpha": {"k": 3, **_RANDOM},
    "best_m": {**_FORMULA, "s1": 1.0, "alpha": 0.1, "constants": "sharp", "rho": 1.0},
    "bound_anchor": {"rounds": 3, **_ANCHOR, "q": 0.25},
    "corrective_rounds": {"vertices": 3, "probability": 0.5, "m": 2},
    "lower_bound": {"k": 3, "d": 3, "m": 2, "L": 1.0, "radius": 1.0, "target": np.ones(3)},
    "mean_width": {"K": wp.sets.Simplex(3), "directions": [A]},
    "norm_of": {"kind": "l1", "d": 4},
    "rounds_to_halve": _ANCHOR,
}

ENGINES: dict[str, dict[str, Any]] = {
    "Policy": {
        "oracle_timeout": 1.0,
        "stragglers": "wait",
        "quorum": 0.75,
        "mode": "sync",
        "staleness": 2,
    },
}

_X, _Y = RNG.standard_normal((12, 3)), RNG.standard_normal(12)
_SHARED = {"tol": 1e-2, "max_iter": 5, "random_state": 0}
_LINEAR = {
    "penalty": "l2",
    "alpha": 0.1,
    "l1_ratio": 0.5,
    "fit_intercept": True,
    "batch_size": "auto",
    **_SHARED,
    "warm_start": False,
}
ESTIMATORS: dict[str, dict[str, Any]] = {
    "AcceleratedClassifier": {"X": _X, "y": (_Y > 0) * 1.0, "loss": "log_loss", **_LINEAR},
    "AcceleratedRegressor": {
        "X": _X,
        "y": _Y,
        "loss": "huber",
        **_LINEAR,
        "delta": 1.0,
        "quantile": 0.5,
    },
    "MatrixCompletion": {"X": _X, "radius": 1.0, "rank": 2, **_SHARED},
    "SimplexRegressor": {"X": _X, "y": _Y, "radius": 1.0, "fit_intercept": True, **_SHARED},
    "TraceNormRegressor": {
        "X": _X,
        "y": np.stack([_Y, _X[:, 0]], axis=1),
        "radius": 1.0,
        "fit_intercept": True,
        **_SHARED,
    },
}

_RUN: dict[str, Any] = {
    "x0": np.full(3, 1 / 3),
    "tol": 1e-4,
    "rtol": 1e-6,
    "m": None,
    "noise": "auto",
    "engine": None,
    "seed": 0,
    "max_rounds": 3,
    "max_seconds": 2.0,
    "max_lmo": 100,
    "callback": None,
    "checkpoint": None,
    "progress": False,
    "raise_on_failure": False,
    "L": 100.0,
    "record_every": 1,
    "smoothing": None,
    "sampling": "iid",
    "block": None,
    "oracle_timeout": None,
    "stragglers": "wait",
    "quorum": 0.75,
    "mode": "sync",
    "staleness": 2,
}
_COMPOSITE_RUN: dict[str, Any] = {
    "y0": np.zeros(3),
    "tol": 1e-4,
    "rtol": 1e-6,
    "w": None,
    "batch": 2,
    "beta": None,
    "variance": None,
    "seed": 0,
    "max_rounds": 3,
    "max_seconds": 2.0,
    "callback": None,
    "checkpoint": None,
    "progress": False,
    "raise_on_failure": False,
    "record_every": None,
    "sampling": None,
    "variance_reduction": False,
    "scale": None,
}


_OPTIONS: dict[str, dict[str, Any]] = {
    "anytime": SOLVERS["Anytime"],
    "corrective": SOLVERS["Corrective"],
    "projected": SOLVERS["Projected"],
    "pfw": SOLVERS["ParallelFrankWolfe"],
    "r-pfw": SOLVERS["RestartedParallelFrankWolfe"],
    "away": SOLVERS["AwayStep"],
    "pairwise": SOLVERS["Pairwise"],
    "bpcg": SOLVERS["BlendedPairwise"],
    "fcfw": SOLVERS["FullyCorrective"],
    "lazy": SOLVERS["LazyFrankWolfe"],
    "momentum": SOLVERS["Momentum"],
    "conjugate": {"rule": _RULE, "delta": 0.01},
    "biconjugate": {"rule": _RULE, "delta": 0.01},
    "block": {"order": "cyclic", "rule": _RULE, "lazy": False, "J": 2.0},
    "dicg": SOLVERS["DecompositionInvariant"],
}


def _constructors(
    area: str, module: Any, table: dict[str, dict[str, Any]], use: Callable[[Any], None]
) -> list[Call]:
    words = {"objectives": ("f", "block"), "sets": ("K",), "theory": ("norm",)}.get(area, ())
    return [
        Call(area, name, getattr(module, name), arguments, use, words)
        for name, arguments in table.items()
    ]


def _methods_of_sets() -> list[Call]:
    """The methods of a set, for one set of each kind of oracle."""
    calls: list[Call] = []
    u, words = np.array([0.5, -1.0, 0.25]), ("direction", "directions")
    for K in (wp.sets.Simplex(3), wp.sets.L2Ball(3), wp.sets.Box(np.zeros(3), np.ones(3))):
        name = type(K).__name__
        calls += [
            Call("methods of sets", f"{name}.lmo", K.lmo, {"g": u}, words=words),
            Call(
                "methods of sets",
                f"{name}.support",
                K.support,
                {"u": u},
                words=words,
            ),
            Call("methods of sets", f"{name}.contains", K.contains, {"x": u, "tol": 1e-9}),
            Call("methods of sets", f"{name}.project", K.project, {"x": u}, words=("point",)),
        ]
    return calls


def _runs() -> list[Call]:
    calls: list[Call] = []
    K = wp.sets.Simplex(3)
    for method in ("auto", *METHODS):
        own = _OPTIONS.get(method, {})
        place = wp.sets.Product(K) if method == "block" else K
        arguments = {"f": least_squares(), "K": place, "method": method, **_RUN, **own}
        calls.append(Call("minimize", f"minimize/{method}", run_minimize, arguments))
    integer = {"f": least_squares(), "K": K, "integrality": 1, "gap": 1e-6, "rtol": None}
    integer |= {"max_nodes": 20, "max_seconds": 5.0, "max_lmo": 1000, "engine": None, "seed": 0}
    integer |= {"callback": None, "progress": False, "L": None, "sigma": 0.0}
    integer |= {"branching": "fractional", "search": "best", "batch": 2, "checks": True}
    integer |= {"raise_on_failure": False, "convex": True}
    calls.append(Call("minimize", "minimize_integer", run_integer, integer))
    for method in COMPOSITE_METHODS:
        arguments = {"G": least_squares(), "H": _H, "method": method, **_COMPOSITE_RUN}
        arguments |= {"batch": None} if method == "newton" else {}
        calls.append(Call("minimize_composite", f"composite/{method}", run_composite, arguments))
    return calls


def _doors() -> list[Call]:
    f, K = least_squares(), wp.sets.Simplex(3)
    resumed = {"path": checkpoint(), "f": f, "K": K, "engine": None, "checkpoint": None}
    resumed |= {"callback": None, "progress": False, "raise_on_failure": False, "like": None}
    resumed |= {"tol": 0.0, "rtol": None, "max_rounds": 5, "max_seconds": 10.0, "max_lmo": 100}
    file = {"path": str(folder() / "new.ckpt"), "rounds": 3, "seconds": 1.0}
    return [
        Call(
            "resume and load", "resume", wp.resume, resumed, partial(use_result, f=f, K=K), ("H",)
        ),
        Call("resume and load", "load", wp.load, {"path": saved_result()}, use_result),
        Call("resume and load", "Checkpoint", wp.Checkpoint, file, words=("checkpoint",)),
        Call("explain", "explain", wp.explain, {"f": f, "K": K, "m": 4, "noise": "auto"}),
    ]


def _estimators() -> list[Call]:
    if find_spec("sklearn") is None:
        return []
    return [
        Call("estimators", name, partial(fit, getattr(wp.estimators, name)), arguments)
        for name, arguments in ESTIMATORS.items()
    ]


@cache
def calls() -> dict[str, Call]:
    """Return all calls by name."""
    from .more_calls import more_calls  # which imports this module

    laws = {name: {"scale": 1.0, "native": False} for name in ("Gaussian", "Gumbel", "Logistic")}
    found = [
        *_constructors("sets", wp.sets, SETS, use_set),
        *_methods_of_sets(),
        *_constructors("objectives", wp.objectives, OBJECTIVES, use_objective),
        Call("objectives", "as_objective", wp.objectives.as_objective, {"f": least_squares()}),
        *_constructors("regularizers", wp.regularizers, REGULARIZERS, use_regularizer),
        *_constructors("regularizers", wp.regularizers, MIRRORS, lambda w: None),
        *_constructors("noise", wp.noise, laws, use_noise),
        Call("noise", "get", wp.noise.get, {"law": "gumbel"}, use_noise, words=("noise",)),
        *_constructors("solvers", wp.solvers, SOLVERS, lambda solver: None),
        *_constructors("theory", wp.theory, THEORY, use_number),
        *_constructors("engines", wp.engines, ENGINES, lambda policy: None),
        *_estimators(),
        *_runs(),
        *_doors(),
        *more_calls(),
    ]
    return {f"{call.area}: {call.name}": call for call in found}
