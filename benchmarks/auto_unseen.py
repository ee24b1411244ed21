"""More problems of benchmarks/auto.py: what declarations do not tell, and what is hard otherwise.

Oracles of a user's own, functions as plain callables, ill-conditioned data, dense solutions,
products and larger instances of the classes of `auto_problems`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from auto_problems import (
    Problem,
    as_callable,
    family,
    nearest,
    nearest_above,
    problem,
    ratings,
    regression,
)
from scipy.optimize import linear_sum_assignment

from wolfpack import objectives, sets
from wolfpack.sets import Set


def hidden(K: Set) -> Set:
    """Return the set as an oracle of which nothing is known but its radius."""
    return sets.Oracle(lambda g: np.asarray(K.lmo(g)), shape=K.shape, radius=K.radius)


def behind_oracle(make: Callable[..., Problem], *arguments: object) -> Problem:
    """Return the problem with its set hidden behind an oracle."""
    f, K = make(*arguments)
    return f, hidden(K)


def callable_behind_oracle(make: Callable[..., Problem], *arguments: object) -> Problem:
    """Return the problem with both hidden: the gradient and the oracle are all that is known."""
    return behind_oracle(as_callable, make, *arguments)


def steep(K: Set, rows: int, decades: float, seed: int, kind: str = "least squares") -> Problem:
    """Return a regression whose columns differ by some powers of ten and are correlated."""
    rng = np.random.default_rng(seed)
    d = K.dimension
    mixed = rng.standard_normal((rows, d)) + 2.0 * rng.standard_normal((rows, 1))
    A = mixed * np.logspace(0, -decades, d)[rng.permutation(d)] / np.sqrt(rows)
    x = K.radius * rng.standard_normal(d) / np.sqrt(d)
    scores = A @ x + 0.01 * rng.standard_normal(rows)
    if kind == "logistic":
        labels = np.where(scores > 0, 1.0, -1.0)
        return objectives.Logistic(A * np.sqrt(rows), labels), K
    return objectives.LeastSquares(A, scores), K


def sensing(K: Set, count: int, rank: int, seed: int) -> Problem:
    """Return least squares over matrices from linear measurements of one of low rank."""
    rng = np.random.default_rng(seed)
    p, q = K.shape
    B = rng.standard_normal((p, rank))
    truth = B @ B.T if p == q else B @ rng.standard_normal((rank, q))
    scale = np.trace(truth) if p == q else np.linalg.norm(truth, "nuc")
    truth *= 0.9 * K.radius / scale
    A = rng.standard_normal((count, p, q)) / np.sqrt(count)
    A = 0.5 * (A + A.transpose(0, 2, 1)) if p == q else A
    b = np.einsum("kij,ij->k", A, truth) + 0.01 * rng.standard_normal(count)

    def f(X: np.ndarray) -> tuple[float, np.ndarray]:
        r = np.tensordot(A, X, axes=2) - b
        return 0.5 * float(r @ r), np.tensordot(r, A, axes=1)

    return objectives.Function(f, convex=True), K


def exponential(K: Set, rows: int, seed: int, slope: float = 1.0) -> Problem:
    """Return the exponential loss of boosting, as a plain callable."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, K.dimension))
    A *= np.where(A @ rng.standard_normal(K.dimension) > -2.0, 1.0, -1.0)[:, None] * slope

    def f(x: np.ndarray) -> tuple[float, np.ndarray]:
        e = np.exp(-(A @ x)) / rows
        return float(e.sum()), -(A.T @ e)

    return objectives.Function(f, convex=True), K


def soft_maximum(K: Set, rows: int, seed: int, sharp: float) -> Problem:
    """Return a smoothed maximum of affine functions, as a plain callable."""
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((rows, K.dimension)), rng.standard_normal(rows)

    def f(x: np.ndarray) -> tuple[float, np.ndarray]:
        z = sharp * (A @ x + b)
        top = z.max()
        e = np.exp(z - top)
        return (top + float(np.log(e.sum()))) / sharp, A.T @ (e / e.sum())

    return objectives.Function(f, convex=True), K


def ellipsoid(d: int, decades: float, seed: int) -> Set:
    """Return an ellipsoid behind an oracle: round, and flat in some directions."""
    rng = np.random.default_rng(seed)
    axes = np.logspace(0, -decades, d)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]

    def lmo(g: np.ndarray) -> np.ndarray:
        u = axes * (Q.T @ g)
        return -(Q @ (axes * u)) / max(float(np.linalg.norm(u)), 1e-300)

    return sets.Oracle(lmo, shape=(d,), radius=1.0)


def assignments(n: int) -> Set:
    """Return the matchings of a complete bipartite graph behind SciPy's solver."""

    def lmo(g: np.ndarray) -> np.ndarray:
        x = np.zeros((n, n))
        x[linear_sum_assignment(g)] = 1.0
        return x

    return sets.Oracle(lmo, shape=(n, n), radius=np.sqrt(n))


def grid(n: int) -> list[tuple[int, int]]:
    """Return the edges of a grid that lead right and down."""
    right = [(i * n + j, i * n + j + 1) for i in range(n) for j in range(n - 1)]
    return right + [(i * n + j, i * n + n + j) for i in range(n - 1) for j in range(n)]


def groups(count: int, size: int) -> list[list[int]]:
    return [list(range(size * i, size * (i + 1))) for i in range(count)]


def program(d: int, rows: int, seed: int) -> Set:
    """Return a random polytope of inequalities within the unit box."""
    A = np.random.default_rng(seed).random((rows, d))
    return sets.LinearProgram(A_ub=A, b_ub=np.full(rows, d / 5.0), bounds=(0, 1))


def points(count: int, d: int, seed: int) -> Set:
    return sets.ConvexHull(np.random.default_rng(seed).standard_normal((count, d)))


family(
    behind_oracle,
    oracle_lasso=(regression, sets.L1Ball(200, 3.0), 100, 100),
    oracle_box=(regression, sets.Box(np.zeros(40), np.full(40, 0.5)), 80, 101),
    oracle_flat_ball=(regression, sets.LpBall(80, 1.1, 2.0), 120, 102),
    oracle_steep_simplex=(steep, sets.Simplex(60), 100, 2.0, 103),
    oracle_steep_ball=(steep, sets.L2Ball(60, 2.0), 100, 2.0, 104),
    oracle_spectrahedron=(nearest, sets.Spectrahedron(25), 105, 0.2),
    oracle_groups=(regression, sets.GroupL1Ball(groups(30, 5), radius=4.0), 100, 106),
    oracle_hull=(nearest, points(150, 15, 107), 108, 0.3),
)
family(
    callable_behind_oracle,
    bare_simplex=(regression, sets.Simplex(100), 80, 110),
    bare_l1_logistic=(regression, sets.L1Ball(100, 5.0), 150, 111, "logistic"),
    bare_ball=(regression, sets.L2Ball(80, 1.0), 120, 112),
    bare_box=(nearest_above, sets.Box(np.zeros(30), np.full(30, 0.5)), 113, 1.0),
)
family(
    as_callable,
    callable_tree=(nearest, sets.SpanningTree([(i, j) for i in range(9) for j in range(i)]), 120),
    callable_hull=(nearest, points(300, 25, 121), 122, 0.3),
    callable_flow=(nearest_above, sets.DagFlow(grid(10), 0, 99), 123, 0.3),
    callable_program=(nearest_above, program(40, 20, 124), 124, 1.0),
    callable_lasso=(regression, sets.L1Ball(400, 3.0), 150, 125),
    callable_steep_simplex=(steep, sets.Simplex(60), 100, 2.0, 126),
    callable_lp_ball=(regression, sets.LpBall(200, 1.5, 2.0), 150, 127),
    callable_trace_ball=(nearest, sets.TraceNormBall((30, 20), 4.0), 128, 1.0),
)
family(
    steep,
    steep_box=(sets.Box(np.zeros(80), np.full(80, 0.3)), 120, 2.0, 130),
    steep_ball=(sets.L2Ball(100, 2.0), 150, 3.0, 131),
    steep_l1=(sets.L1Ball(100, 20.0), 150, 3.0, 132),
    steep_simplex_logistic=(sets.Simplex(80, 10.0), 200, 2.0, 133, "logistic"),
    steep_l1_logistic=(sets.L1Ball(60, 30.0), 300, 2.0, 134, "logistic"),
    steep_permutahedron=(sets.Permutahedron(np.arange(30.0)), 60, 2.0, 135),
    steep_hypersimplex=(sets.Hypersimplex(100, 10), 150, 2.0, 136),
    steep_lp_ball=(sets.LpBall(100, 1.5, 5.0), 150, 2.0, 137),
    steep_k_sparse=(sets.KSparse(100, 8, 2.0), 150, 2.0, 138),
)
family(
    sensing,
    sensing_spectrahedron=(sets.Spectrahedron(25), 150, 2, 140),
    sensing_trace_ball=(sets.TraceNormBall((20, 15), 2.0), 150, 2, 141),
    sensing_schatten=(sets.SchattenBall((15, 12), 1.5, 2.0), 100, 2, 142),
    sensing_operator=(sets.OperatorNormBall((12, 12), 1.0), 100, 3, 143),
)
family(
    exponential,
    boosting_l1=(sets.L1Ball(100, 3.0), 200, 150),
    boosting_simplex=(sets.Simplex(60, 4.0), 150, 151),
    boosting_hull=(points(100, 20, 152), 100, 152, 0.3),
    boosting_program=(program(30, 10, 153), 100, 153, 0.5),
    boosting_ball=(sets.L2Ball(50, 2.0), 150, 154),
)
family(
    soft_maximum,
    soft_maximum_simplex=(sets.Simplex(40), 60, 160, 10.0),
    soft_maximum_ball=(sets.L2Ball(30), 60, 161, 10.0),
    soft_maximum_oracle=(hidden(sets.L1Ball(30)), 60, 162, 10.0),
)
family(
    regression,
    lp_ball_1_1=(sets.LpBall(400, 1.1, 2.0), 200, 170),
    lp_ball_4_logistic=(sets.LpBall(150, 4.0, 3.0), 300, 171, "logistic"),
    capped_simplex=(sets.CappedSimplex(300, 0.02), 200, 172),
    weighted_l1=(sets.WeightedL1Ball(np.linspace(0.5, 2.0, 300), 3.0), 150, 173),
    hull_regression=(points(300, 40, 174), 100, 174),
    program_regression=(program(50, 20, 175), 100, 175),
    program_logistic=(program(50, 20, 176), 150, 176, "logistic"),
    flow_regression=(sets.DagFlow(grid(8), 0, 63), 150, 177),
    sum_of_hull_and_box=(sets.MinkowskiSum(points(50, 20, 178), sets.LinfBall(20, 0.1)), 60, 178),
    ball_times_simplex=(sets.Product(sets.L2Ball(40, 1.0), sets.Simplex(60)), 150, 179),
    lp_ball_times_simplex=(sets.Product(sets.LpBall(40, 1.5), sets.Simplex(60)), 150, 180),
    hull_times_ball=(sets.Product(points(100, 20, 181), sets.L2Ball(30, 1.0)), 80, 181),
    simplex_large=(sets.Simplex(20_000), 100, 182),
    box_tall=(sets.Box(np.full(100, -1.0), np.ones(100)), 3000, 183),
    l1_logistic_tall=(sets.L1Ball(100, 3.0), 4000, 184, "logistic"),
)
family(
    nearest,
    birkhoff_dense=(sets.Birkhoff(30), 190, 0.01),
    spectrahedron_inside=(sets.Spectrahedron(40, 1.0, False), 191, 0.003),
    lp_ball_inside=(sets.LpBall(200, 1.5, 20.0), 192, 0.1),
    lp_ball_3=(sets.LpBall(1000, 3.0, 1.0), 193, 1.0),
    matroid=(sets.MatroidBase(lambda S: min(len(S), 4), 15), 194, 0.5),
    assignment_oracle=(assignments(10), 195, 0.3),
    ellipsoid_oracle=(ellipsoid(40, 1.0, 196), 197, 0.5),
)


@problem
def portfolio() -> Problem:
    """Mean and variance of 500 assets in a model of 20 factors: few large eigenvalues."""
    rng = np.random.default_rng(200)
    B = 0.1 * rng.standard_normal((500, 20))
    Q = B @ B.T + np.diag(rng.uniform(0.005, 0.02, 500))
    return objectives.Quadratic(Q, -0.02 * rng.standard_normal(500)), sets.CappedSimplex(500, 0.05)


@problem
def hilbert_simplex() -> Problem:
    i = np.arange(1.0, 21.0)
    A = 1.0 / (i[:, None] + i[None, :] - 1.0)
    return objectives.LeastSquares(A, A @ np.random.default_rng(201).dirichlet(i)), sets.Simplex(20)


@problem
def polynomial_logistic() -> Problem:
    rng = np.random.default_rng(202)
    t = np.linspace(-1.0, 1.0, 300)
    labels = np.where(np.sin(5.0 * t) + 0.3 * rng.standard_normal(300) > 0, 1.0, -1.0)
    return objectives.Logistic(np.vander(t, 8), labels), sets.L1Ball(8, 30.0)


@problem
def polynomial_callable() -> Problem:
    t = np.linspace(0.0, 1.0, 200)
    A, b = np.vander(t, 9), np.exp(-3.0 * t) * np.cos(8.0 * t)

    def f(x: np.ndarray) -> tuple[float, np.ndarray]:
        r = A @ x - b
        return 0.5 * float(r @ r), A.T @ r

    return objectives.Function(f, convex=True), sets.L1Ball(9, 100.0)


@problem
def entropy_transport() -> Problem:
    """Transport with an entropy: the solution is dense, and f steep at the faces."""
    rng = np.random.default_rng(203)
    C = rng.random((12, 12))

    def f(X: np.ndarray) -> tuple[float, np.ndarray]:
        Y = X + 1e-3
        return float((C * X).sum() + 0.05 * (Y * np.log(Y)).sum()), C + 0.05 * (np.log(Y) + 1.0)

    marginals = np.full(12, 1 / 12)
    return objectives.Function(f, convex=True), sets.TransportPolytope(marginals, marginals)


@problem
def congestion() -> Problem:
    """A user equilibrium: 20 demands in a grid with costs that rise like the fifth power."""
    rng = np.random.default_rng(204)
    edges = grid(7) + [(head, tail) for tail, head in grid(7)]
    ends = rng.permutation(49)[:40].reshape(20, 2)
    demands = [(int(a), int(b), float(rng.uniform(1.0, 3.0))) for a, b in ends]
    free, room = rng.uniform(1.0, 2.0, len(edges)), rng.uniform(2.0, 6.0, len(edges))
    return objectives.BPR(free, room), sets.FlowPolytope(edges, demands)


@problem
def grid_congestion_callable() -> Problem:
    """One flow through a grid, the costs a plain callable of the fifth power."""
    edges = grid(8)
    room = np.random.default_rng(205).uniform(0.1, 0.5, len(edges))

    def f(x: np.ndarray) -> tuple[float, np.ndarray]:
        r = x / room
        return float((x + 0.03 * room * r**5).sum()), 1.0 + 0.15 * r**4

    return objectives.Function(f, convex=True), sets.DagFlow(edges, 0, 63)


@problem
def knapsacks_oracle() -> Problem:
    """The convex hull of the 0/1 points of a knapsack, by dynamic programming, and a logistic f."""
    rng = np.random.default_rng(206)
    sizes, room = rng.integers(1, 10, 12), 25
    table = np.array(np.meshgrid(*[[0, 1]] * 12, indexing="ij")).reshape(12, -1).T
    table = table[table @ sizes <= room].astype(float)
    f, _ = regression(sets.Box(np.zeros(12), np.ones(12)), 60, 206, "logistic")
    return f, sets.Oracle(lambda g: table[np.argmin(table @ g)], shape=(12,), radius=np.sqrt(12.0))


@problem
def spectrahedron_times_simplex() -> Problem:
    K = sets.Product(sets.Spectrahedron(12), sets.Simplex(20))
    return as_callable(nearest_above, K, 207, 0.3)


@problem
def birkhoff_times_box() -> Problem:
    K = sets.Product(sets.Birkhoff(10), sets.Box(np.zeros(20), np.ones(20)))
    return nearest_above(K, 208, 0.7)


@problem
def birkhoff_regression() -> Problem:
    """Matching of two point clouds: ||A P - P B||^2, convex and degenerate."""
    rng = np.random.default_rng(209)
    A = rng.random((15, 15))
    A = A + A.T
    order = rng.permutation(15)
    B = A[np.ix_(order, order)] + 0.05 * rng.standard_normal((15, 15))
    B = 0.5 * (B + B.T)

    def f(P: np.ndarray) -> tuple[float, np.ndarray]:
        R = A @ P - P @ B
        return 0.5 * float(np.vdot(R, R)), A.T @ R - R @ B.T

    return objectives.Function(f, convex=True), sets.Birkhoff(15)


@problem
def completion_square() -> Problem:
    return ratings(150, 150, 0.25, 210), sets.TraceNormBall((150, 150), 300.0)


@problem
def completion_wide() -> Problem:
    return ratings(60, 900, 0.2, 211), sets.TraceNormBall((60, 900), 450.0)


@problem
def masked_spectrahedron_large() -> Problem:
    rng = np.random.default_rng(212)
    B = rng.standard_normal((320, 6))
    truth = B @ B.T / 6
    seen = np.nonzero(rng.random((320, 320)) < 0.2)
    f = objectives.MatrixCompletion(*seen, truth[seen], (320, 320))
    return f, sets.Spectrahedron(320, float(np.trace(truth)))


@problem
def d_optimal_large() -> Problem:
    return objectives.DOptimal(
        np.random.default_rng(213).standard_normal((3000, 15))
    ), sets.Simplex(3000)


@problem
def log_utility_capped() -> Problem:
    returns = 1.0 + 0.05 * np.random.default_rng(214).standard_normal((400, 60))
    return objectives.LogUtility(returns), sets.CappedSimplex(60, 0.1)


@problem
def poisson_box() -> Problem:
    rng = np.random.default_rng(215)
    A = rng.random((150, 40))
    counts = rng.poisson(A @ rng.random(40))
    return objectives.Poisson(A, counts), sets.Box(np.full(40, 0.01), np.full(40, 2.0))


@problem
def multinomial_groups() -> Problem:
    rng = np.random.default_rng(216)
    A = rng.standard_normal((200, 15))
    labels = np.argmax(A[:, :4] + rng.standard_normal((200, 4)), axis=1)
    return objectives.Multinomial(A, labels), sets.L1Ball((15, 4), 8.0)


@problem
def multinomial_trace_ball() -> Problem:
    rng = np.random.default_rng(217)
    A = rng.standard_normal((250, 20))
    labels = np.argmax(A[:, :6] + rng.standard_normal((250, 6)), axis=1)
    return objectives.Multinomial(A, labels), sets.TraceNormBall((20, 6), 6.0)
