"""The problems of benchmarks/auto.py: every class of set and objective, small enough to repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from wolfpack import objectives, sets
from wolfpack.bench.cases import CASES
from wolfpack.objectives import Objective
from wolfpack.sets import Set

Problem = tuple[Objective, Set]
PROBLEMS: dict[str, Callable[[], Problem]] = {}


def problem(make: Callable[[], Problem]) -> Callable[[], Problem]:
    """Register a problem under the name of its function."""
    PROBLEMS[make.__name__.replace("_", "-")] = make
    return make


def family(make: Callable[..., Problem], **variants: tuple[object, ...]) -> None:
    """Register one problem for each variant: its name and the arguments of ``make``."""
    for name, arguments in variants.items():
        PROBLEMS[name.replace("_", "-")] = lambda arguments=arguments: make(*arguments)


def nearest(K: Set, seed: int, scale: float = 1.0) -> Problem:
    """Return the projection of a random point onto K."""
    t = scale * np.random.default_rng(seed).standard_normal(K.shape)
    return objectives.Quadratic(1.0, -t, 0.5 * float(np.vdot(t, t))), K


def nearest_above(K: Set, seed: int, scale: float) -> Problem:
    """Return the projection of a random point without negative entries onto K."""
    t = scale * np.random.default_rng(seed).random(K.shape)
    return objectives.Quadratic(1.0, -t, 0.5 * float(np.vdot(t, t))), K


def regression(K: Set, rows: int, seed: int, kind: str = "least squares") -> Problem:
    """Return a regression whose coefficients lie in K."""
    rng = np.random.default_rng(seed)
    d = K.dimension
    A = rng.standard_normal((rows, d)) / np.sqrt(rows)
    x = np.zeros(d)
    x[rng.permutation(d)[: max(1, d // 20)]] = 1.0
    scores = A @ (x * K.radius / np.linalg.norm(x)) + 0.1 * rng.standard_normal(rows)
    if kind == "logistic":
        return objectives.Logistic(A, np.where(scores > 0, 1.0, -1.0), reduction="sum"), K
    if kind == "huber":
        return objectives.Huber(A, scores), K
    if kind == "hinge":
        return objectives.SquaredHinge(A, np.where(scores > 0, 1.0, -1.0)), K
    return objectives.LeastSquares(A, scores), K


def as_callable(make: Callable[..., Problem], *arguments: object) -> Problem:
    """Return the problem with its objective hidden behind a plain function, declared convex."""
    f, K = make(*arguments)

    def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        at = f.evaluate(x)
        return float(at.value), at.gradient

    return objectives.Function(value_and_gradient, convex=True), K


family(
    regression,
    simplex_least_squares=(sets.Simplex(300), 100, 1),
    simplex_tall=(sets.Simplex(60), 2000, 2),
    simplex_logistic=(sets.Simplex(200, radius=5.0), 300, 3, "logistic"),
    l1_lasso=(sets.L1Ball(800, 3.0), 200, 4),
    l1_logistic_wide=(sets.L1Ball(2000, 10.0), 150, 5, "logistic"),
    l1_huber=(sets.L1Ball(300, 4.0), 400, 6, "huber"),
    l1_hinge=(sets.L1Ball(200, 4.0), 300, 7, "hinge"),
    l2_least_squares=(sets.L2Ball(400, 2.0), 200, 8),
    l2_logistic=(sets.L2Ball(300, 5.0), 500, 9, "logistic"),
    box_least_squares=(sets.Box(np.zeros(200), np.full(200, 0.3)), 100, 10),
    linf_least_squares=(sets.LinfBall(150, 0.5), 100, 11),
    k_sparse_logistic=(sets.KSparse(400, 10, 2.0), 200, 12, "logistic"),
    lp_least_squares=(sets.LpBall(300, 1.5, 3.0), 200, 13),
    lp_logistic=(sets.LpBall(200, 3.0, 2.0), 300, 14, "logistic"),
    group_least_squares=(
        sets.GroupL1Ball([list(range(5 * i, 5 * i + 5)) for i in range(80)], radius=4.0),
        150,
        15,
    ),
    hypersimplex_least_squares=(sets.Hypersimplex(200, 20), 100, 16),
    permutahedron_least_squares=(sets.Permutahedron(np.arange(40.0)), 100, 17),
)
family(
    nearest,
    birkhoff_20=(sets.Birkhoff(20), 20, 0.3),
    birkhoff_60=(sets.Birkhoff(60), 21, 0.1),
    spectrahedron_100=(sets.Spectrahedron(100), 22, 0.3),
    trace_ball_80_x_50=(sets.TraceNormBall((80, 50), 5.0), 23, 1.0),
    operator_ball_40=(sets.OperatorNormBall((40, 40), 1.0), 24, 1.0),
    schatten_40=(sets.SchattenBall((40, 30), 3.0, 2.0), 25, 1.0),
    k_sparse_project=(sets.KSparse(500, 20), 26, 2.0),
    lp_ball_project=(sets.LpBall(500, 1.3, 1.0), 27, 1.0),
    permutahedron_100=(sets.Permutahedron(np.arange(100.0)), 28, 50.0),
    transport_20=(sets.TransportPolytope(np.full(20, 0.05), np.full(20, 0.05)), 29, 0.05),
    spanning_tree=(
        sets.SpanningTree([(i, j) for i in range(12) for j in range(i)]),
        30,
        0.5,
    ),
)
family(
    as_callable,
    callable_simplex=(regression, sets.Simplex(100), 200, 40),
    callable_birkhoff=(nearest_above, sets.Birkhoff(15), 41, 1.0),
    callable_l1_logistic=(regression, sets.L1Ball(150, 4.0), 200, 42, "logistic"),
    callable_spectrahedron=(nearest, sets.Spectrahedron(30), 43, 0.3),
)
for _name, _make in CASES.items():
    PROBLEMS[f"case-{_name}"] = lambda make=_make: ((case := make()).f, case.K)


@problem
def knapsack_oracle() -> Problem:
    """An exponential loss over an oracle that sorts: the fractional knapsack."""
    rng = np.random.default_rng(50)
    sizes, room = rng.uniform(0.2, 1.0, 30), 5.0

    def lmo(g: np.ndarray) -> np.ndarray:
        x, left = np.zeros(30), room
        for i in np.argsort(g / sizes):
            if g[i] >= 0 or left <= 0:
                break
            x[i] = min(1.0, left / sizes[i])
            left -= x[i] * sizes[i]
        return x

    A = rng.standard_normal((80, 30))

    def f(x: np.ndarray) -> tuple[float, np.ndarray]:
        e = np.exp(-0.5 * (A @ x))
        return float(e.sum()), -0.5 * (A.T @ e)

    return objectives.Function(f, convex=True), sets.Oracle(lmo, shape=(30,), radius=np.sqrt(30.0))


@problem
def ball_oracle() -> Problem:
    """A ball that hides behind an oracle: its answers never repeat."""
    f, K = regression(sets.L2Ball(100, 1.0), 150, 51)
    return f, sets.Oracle(K.lmo, shape=(100,), radius=1.0)


@problem
def simplex_oracle() -> Problem:
    f, K = regression(sets.Simplex(150), 80, 52)
    return f, sets.Oracle(lambda g: K.lmo(g).to_dense(), shape=(150,), radius=1.0)


@problem
def spectrahedron_times_program() -> Problem:
    rng = np.random.default_rng(53)
    program = sets.LinearProgram(A_ub=rng.random((10, 20)), b_ub=np.ones(10), bounds=(0, 1))
    K = sets.Product(sets.Spectrahedron(10), program)
    return nearest_above(K, 53, 0.5)


@problem
def product_of_simplices() -> Problem:
    K = sets.Product(*(sets.Simplex(10) for _ in range(30)))
    return regression(K, 150, 54)


@problem
def moved_and_scaled_simplex() -> Problem:
    K = sets.Translate(sets.Scale(sets.Simplex(100), 3.0), np.full(100, 0.2))
    return regression(K, 150, 55)


@problem
def minkowski_sum() -> Problem:
    return regression(sets.MinkowskiSum(sets.Simplex(60), sets.L2Ball(60, 0.3)), 100, 56)


@problem
def hull_of_points() -> Problem:
    points = np.random.default_rng(57).standard_normal((400, 30))
    return nearest(sets.ConvexHull(points), 58, 0.4)


@problem
def enclosing_ball() -> Problem:
    """The dual of the smallest ball around 600 points."""
    points = np.random.default_rng(59).standard_normal((600, 40))
    squares = np.einsum("ij,ij->i", points, points)
    return objectives.Quadratic(2.0 * points @ points.T, -squares), sets.Simplex(600)


@problem
def polynomial_regression() -> Problem:
    """An ill-conditioned design: powers of one variable."""
    t = np.linspace(-1.0, 1.0, 300)
    A = np.vander(t, 12, increasing=True)
    b = np.sin(5.0 * t) + 0.1 * np.random.default_rng(60).standard_normal(300)
    return objectives.LeastSquares(A, b), sets.L1Ball(12, 200.0)


@problem
def ill_conditioned_simplex() -> Problem:
    rng = np.random.default_rng(61)
    A = rng.standard_normal((150, 100)) * np.logspace(0, -3, 100)
    return objectives.LeastSquares(A, A @ rng.dirichlet(np.ones(100))), sets.Simplex(100)


def ratings(rows: int, columns: int, share: float, seed: int) -> objectives.MatrixCompletion:
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((rows, 5)) @ rng.standard_normal((5, columns))
    seen = np.nonzero(rng.random((rows, columns)) < share)
    noise = 0.1 * rng.standard_normal(len(seen[0]))
    return objectives.MatrixCompletion(*seen, truth[seen] + noise, (rows, columns))


@problem
def completion_small() -> Problem:
    return ratings(80, 60, 0.3, 62), sets.TraceNormBall((80, 60), 150.0)


@problem
def completion_medium() -> Problem:
    return ratings(400, 300, 0.2, 63), sets.TraceNormBall((400, 300), 700.0)


@problem
def masked_spectrahedron() -> Problem:
    rng = np.random.default_rng(64)
    B = rng.standard_normal((150, 8))
    truth = B @ B.T / 8
    seen = np.nonzero(rng.random((150, 150)) < 0.3)
    f = objectives.MatrixCompletion(*seen, truth[seen], (150, 150))
    return f, sets.Spectrahedron(150, float(np.trace(truth)))


@problem
def grid_flow() -> Problem:
    n = 15
    right = [(i * n + j, i * n + j + 1) for i in range(n) for j in range(n - 1)]
    down = [(i * n + j, i * n + n + j) for i in range(n - 1) for j in range(n)]
    return nearest_above(sets.DagFlow(right + down, 0, n * n - 1), 65, 0.3)


@problem
def linear_program() -> Problem:
    rng = np.random.default_rng(66)
    K = sets.LinearProgram(A_ub=rng.random((30, 60)), b_ub=np.full(30, 10.0), bounds=(0, 1))
    return nearest_above(K, 66, 1.0)


@problem
def d_optimal_design() -> Problem:
    V = np.random.default_rng(67).standard_normal((500, 8))
    return objectives.DOptimal(V), sets.Simplex(500)


@problem
def a_optimal_design() -> Problem:
    V = np.random.default_rng(68).standard_normal((300, 6))
    return objectives.AOptimal(V), sets.Simplex(300)


@problem
def log_utility() -> Problem:
    returns = 1.0 + 0.05 * np.random.default_rng(69).standard_normal((250, 40))
    return objectives.LogUtility(returns), sets.Simplex(40)


@problem
def poisson_simplex() -> Problem:
    rng = np.random.default_rng(70)
    A = rng.random((200, 50))
    return objectives.Poisson(A, rng.poisson(A @ rng.dirichlet(np.ones(50)) * 5)), sets.Simplex(50)


def all_problems(words: list[str]) -> Iterator[tuple[str, Problem]]:
    """Yield the names and problems whose name contains one of the words."""
    for name, make in PROBLEMS.items():
        if any(word in name for word in words):
            yield name, make()
