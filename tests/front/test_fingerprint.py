"""Fingerprints: another problem is noticed whatever differs, the same one is never refused."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import wolfpack as wp
from contracts.registry import CASES
from wolfpack import objectives as o
from wolfpack import regularizers as r
from wolfpack import sets as s
from wolfpack.arrays import zeros
from wolfpack.front.fingerprint import (
    Fingerprint,
    composite_fingerprint,
    constrained_fingerprint,
)
from wolfpack.loop.codec import Decoder, Encoder
from wolfpack.problem import Evaluation

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((12, 5)), RNG.standard_normal(12)
SIGNS, CLASSES, COUNTS = np.sign(B), np.arange(12) % 3, np.arange(12.0) % 4
EDGES = [("s", "a"), ("a", "t"), ("s", "b"), ("b", "t"), ("a", "b")]
UB = (np.ones((1, 3)), [2.0])


def near(x: np.ndarray) -> np.ndarray:
    """Return ``x`` with one entry changed a little."""
    x = x.copy()
    x[(-1,) * x.ndim] *= 1.0 + 1e-12
    return x


def half_distance(centre: np.ndarray) -> Any:
    return lambda x: (0.5 * float(((x - centre) ** 2).sum()), x - centre)


def of_f(f: Any) -> Fingerprint:
    f = f if isinstance(f, o.Objective) else o.as_objective(f)
    return constrained_fingerprint(f, s.L2Ball((5,) if f.shape is None else f.shape))


def of_K(K: Any) -> Fingerprint:
    return constrained_fingerprint(o.Quadratic(1.0, np.zeros(K.shape)), K)


def of_G(G: Any) -> Fingerprint:
    return composite_fingerprint(G, r.SquaredNorm(1.0), np.zeros(5))


def of_H(H: Any) -> Fingerprint:
    return composite_fingerprint(o.Quadratic(1.0, np.zeros(6)), H, np.zeros(H.shape or (6,)))


def stored(found: Fingerprint) -> Fingerprint:
    """Return a fingerprint as it comes back from a checkpoint."""
    encoder = Encoder()
    return Decoder(encoder.arrays).decode(encoder.encode(found))


# A class, the arguments of one problem, and arguments that each differ in one place.
OBJECTIVES: list[tuple[Any, tuple[Any, ...], list[tuple[Any, ...]]]] = [
    (o.LeastSquares, (A, B), [(near(A), B), (A, near(B)), (A, B, 3), (A, B, 3, "mean")]),
    (o.Logistic, (A, SIGNS), [(near(A), SIGNS), (A, -SIGNS), (A, SIGNS, "sum")]),
    (o.DOptimal, (A,), [(near(A),)]),
    (o.AOptimal, (A,), [(near(A),)]),
    (o.LogUtility, (1.0 + 0.1 * abs(A),), [(1.0 + 0.1 * abs(near(A)),)]),
    (o.SquaredHinge, (A, SIGNS), [(A[::-1], SIGNS[::-1]), (A, -SIGNS)]),
    (o.Multinomial, (A, CLASSES), [(near(A), CLASSES), (A, CLASSES[::-1]), (A, CLASSES, 4)]),
    (o.Huber, (A, B, 0.8), [(near(A), B, 0.8), (A, near(B), 0.8), (A, B, 0.8 + 1e-8)]),
    (o.Poisson, (A, COUNTS, 3.0), [(A, COUNTS[::-1], 3.0), (A, COUNTS, 3.1)]),
    (o.Quantile, (A, B, 0.8, 1.5), [(A, near(B), 0.8, 1.5), (A, B, 0.7, 1.5), (A, B, 0.8, 1.4)]),
    (o.Quadratic, (A.T @ A, A[0]), [(near(A.T @ A), A[0]), (A.T @ A, A[1]), (2.0, A[0])]),
    (
        o.Weighted,
        (o.Huber(A, B), np.ones(12)),
        [(o.Huber(A, near(B)), np.ones(12)), (o.Huber(A, B), near(np.ones(12)))],
    ),
    (
        o.Partitioned,
        ("huber", [(A, B), (A[:4], B[:4])]),
        [
            ("huber", [(near(A), B), (A[:4], B[:4])]),
            ("huber", [(A, B), (A[:4], near(B[:4]))]),
            ("huber", [(A[:4], B[:4]), (A, B)]),
            ("least_squares", [(A, B), (A[:4], B[:4])]),
        ],
    ),
    (
        o.Difference,
        (o.Huber(A, B), o.Quadratic(0.1, A[0])),
        [
            (o.Huber(near(A), B), o.Quadratic(0.1, A[0])),
            (o.Huber(A, B), o.Quadratic(0.1, near(A[0]))),
        ],
    ),
    (
        o.MatrixCompletion,
        ([0, 1, 2], [1, 0, 1], [1.0, 2.0, 3.0], (3, 2)),
        [
            ([0, 1, 1], [1, 0, 1], [1.0, 2.0, 3.0], (3, 2)),
            ([0, 1, 2], [1, 0, 0], [1.0, 2.0, 3.0], (3, 2)),
            ([0, 1, 2], [1, 0, 1], [1.0, 2.0, 4.0], (3, 2)),
        ],
    ),
    (
        o.BPR,
        (np.ones(3), np.full(3, 2.0), 0.15),
        [(near(np.ones(3)), np.full(3, 2.0), 0.15), (np.ones(3), np.full(3, 2.0), 0.2)],
    ),
    (o.DOptimal, (A,), [(near(A),)]),
    (o.AOptimal, (A,), [(near(A),)]),
    (o.LogUtility, (abs(A),), [(near(abs(A)),)]),
    (o.Function, (half_distance(B[:5]),), [(half_distance(B[5:10]),)]),
    (
        o.Stochastic,
        (lambda y, rng: y - B[:5] + rng.random(5),),
        [(lambda y, rng: y - B[:5] + 2.0 * rng.random(5),), (lambda y, rng: y,)],
    ),
    (
        o.Batches,
        ("huber", [(A[:6], B[:6]), (A[6:], B[6:])]),
        [("huber", [(A[:6], B[:6]), (A[6:], near(B[6:]))]), ("least_squares", [(A, B)])],
    ),
]
SETS: list[tuple[Any, tuple[Any, ...], list[tuple[Any, ...]]]] = [
    (s.Simplex, (5, 2.0), [(5, 2.1), (6, 2.0)]),
    (s.L1Ball, (5, 2.0), [(5, 2.1)]),
    (s.L2Ball, (5, 2.0), [(5, 2.1)]),
    (s.LinfBall, (5, 2.0), [(5, 2.1)]),
    (s.LpBall, (5, 3.0, 2.0), [(5, 3.1, 2.0), (5, 3.0, 2.1)]),
    (s.WeightedL1Ball, ([1.0, 2.0], 2.0), [([1.0, 2.5], 2.0), ([1.0, 2.0], 2.1)]),
    (s.CappedSimplex, (4, 0.5, 1.2), [(4, [0.5, 0.5, 0.5, 0.6], 1.2), (4, 0.5, 1.3)]),
    (s.Hypersimplex, (5, 2), [(5, 3)]),
    (s.UnitSimplex, (5, 2.0), [(5, 2.1), (6, 2.0)]),
    (s.UnitHypersimplex, (5, 2), [(5, 3)]),
    (s.Ellipsoid, (B[:2], np.eye(2)), [(near(B[:2]), np.eye(2)), (B[:2], 2.0 * np.eye(2))]),
    (s.Fantope, (4, 2), [(4, 3)]),
    (s.OrderedWeightedL1, ([2.0, 1.0], 2.0), [([2.0, 1.5], 2.0), ([2.0, 1.0], 2.1)]),
    (s.KNormBall, (5, 2, 1.0), [(5, 3, 1.0), (5, 2, 1.5)]),
    (s.Knapsack, ([2.0, 1.0], 2.0), [([2.0, 1.5], 2.0), ([2.0, 1.0], 2.1), ([2, 1], 2.0, 2.0)]),
    (s.Matching, (EDGES,), [([*EDGES[:4], ("s", "t")],)]),
    (s.Image, ([[1.0, 2.0]], s.L2Ball(2)), [([[1.0, 2.5]], s.L2Ball(2)), ([[1, 2]], s.L1Ball(2))]),
    (s.Symmetric, (s.L2Ball(3), [[1, 0, 2]]), [(s.L2Ball(3), [[0, 2, 1]])]),
    (s.KSparse, (5, 2, 1.0), [(5, 3, 1.0), (5, 2, 1.5)]),
    (s.Box, (-np.ones(3), np.ones(3)), [(-np.ones(3), near(np.ones(3))), (-2.0 * np.ones(3), 1.0)]),
    (
        s.GroupL1Ball,
        ([[0, 1], [2, 3]], 1.0),
        [([[0, 2], [1, 3]], 1.0), ([[0, 1], [2, 3]], 2.0), ([[0, 1, 2], [3]], 1.0)],
    ),
    (s.Permutahedron, ([3.0, 1.0, 0.0],), [([3.0, 1.5, 0.0],)]),
    (s.Birkhoff, (4,), [(5,)]),
    (s.TransportPolytope, ([1.0, 2.0], [2.0, 1.0]), [([1.5, 1.5], [2.0, 1.0])]),
    (s.TraceNormBall, ((3, 4), 1.5), [((3, 4), 2.0)]),
    (s.OperatorNormBall, ((3, 4), 1.5), [((3, 4), 2.0)]),
    (s.SchattenBall, ((3, 4), 3.0, 1.5), [((3, 4), 4.0, 1.5), ((3, 4), 3.0, 2.0)]),
    (s.Spectrahedron, (3, 1.5), [(3, 2.0), (3, 1.5, False)]),
    (s.HermitianSpectrahedron, (3, 1.5), [(3, 2.0), (4, 1.5)]),
    (s.ConvexHull, (A,), [(near(A),)]),
    (s.DagFlow, (EDGES, "s", "t"), [(EDGES[:2] + EDGES[3:] + [("s", "b")], "s", "t")]),
    (s.SpanningTree, (EDGES,), [([*EDGES[:4], ("s", "t")],)]),
    (
        s.FlowPolytope,
        (EDGES, [("s", "t", 2.0)]),
        [
            (EDGES, [("s", "t", 3.0)]),
            (EDGES, [("a", "t", 2.0)]),
            (EDGES, [("s", "t", 2.0)], 1.5),
            ([*EDGES[:4], ("b", "a")], [("s", "t", 2.0)]),
        ],
    ),
    (
        s.LinearProgram,
        (*UB, None, None, (0, 1)),
        [(*UB, None, None, (0, 3)), (UB[0], [2.5], None, None, (0, 1))],
    ),
    (
        s.MixedInteger,
        (*UB, None, None, (0, 1)),
        [(UB[0], [1.0], None, None, (0, 1)), (*UB, None, None, (0, 1), [1, 1, 0])],
    ),
    (s.MatroidBase, (lambda S: min(len(S), 2), 4), [(lambda S: min(len(S), 3), 4)]),
    (s.Oracle, (lambda g: -np.sign(g), 3, 2.0), [(lambda g: -2.0 * np.sign(g), 3, 4.0)]),
    (s.Product, (s.Simplex(3), s.Box(0.0, [1.0, 1.0])), [(s.Simplex(3), s.Box(0.0, [1, 2]))]),
    (
        s.MinkowskiSum,
        (s.Simplex(2), s.L2Ball(2)),
        [(s.Simplex(2), s.L2Ball(2, 3.0)), (s.L2Ball(2), s.Simplex(2))],
    ),
    (
        s.Translate,
        (s.L2Ball(2), [1.0, 2.0]),
        [(s.L2Ball(2), [1.0, 2.5]), (s.L1Ball(2), [1.0, 2.0])],
    ),
    (s.Scale, (s.L2Ball(2), 2.0), [(s.L2Ball(2), 2.5), (s.L2Ball(2, 3.0), 2.0)]),
]
GROUPS = [[0, 1, 2], [3, 4], [5]]
REGULARIZERS: list[tuple[Any, tuple[Any, ...], list[tuple[Any, ...]]]] = [
    (r.SquaredNorm, (0.7,), [(0.7 + 1e-7,)]),
    (r.ElasticNet, (0.4, 0.7), [(0.5, 0.7), (0.4, 0.8)]),
    (r.BoxRidge, (-np.ones(6), np.ones(6), 0.7), [(-np.ones(6), near(np.ones(6)), 0.7)]),
    (r.BallRidge, (6, 0.7, 2.0), [(6, 0.7, 2.1)]),
    (r.SimplexRidge, (6, 0.7, 2.0), [(6, 0.7, 2.1)]),
    (r.IndicatorRidge, (s.L1Ball(6), 0.7), [(s.L1Ball(6, 2.0), 0.7)]),
    (r.GroupLasso, (GROUPS, 0.9, 0.7), [(GROUPS[::-1], 0.9, 0.7), (GROUPS, 0.8, 0.7)]),
    (r.SparseGroupLasso, (GROUPS, 0.4, 0.9, 0.7), [(GROUPS, 0.4, 0.9, 0.7, [1.0, 2.0, 3.0])]),
    (r.NuclearNorm, (0.4, 0.7), [(0.5, 0.7)]),
    (r.TotalVariation, (0.8, 0.7), [(0.9, 0.7)]),
    (r.SquaredPNorm, (0.7, 1.5), [(0.7, 1.6)]),
    (r.Entropy, (0.7,), [(0.8,)]),
    (
        r.Product,
        ((r.SquaredNorm(1.0), 2), (r.ElasticNet(1.0, 2.0), 4)),
        [((r.SquaredNorm(1.0), 2), (r.ElasticNet(1.5, 2.0), 4))],
    ),
]
NOT_OF_FIVE = (o.Multinomial, o.MatrixCompletion, o.BPR, o.DOptimal, o.AOptimal, o.LogUtility)
SUMS = [row for row in OBJECTIVES if row[0] not in NOT_OF_FIVE]
TABLES = [(of_f, OBJECTIVES), (of_G, SUMS), (of_K, SETS), (of_H, REGULARIZERS)]
ROWS = [(of, *row) for of, rows in TABLES for row in rows]
IDS = [f"{row[0].__name__}-{row[1].__name__}" for row in ROWS]
NO_DATA = {"Set", "Objective", "Regularizer", "Mirror", "as_objective", "from_jax", "from_torch"}
NO_DATA |= {"Euclidean", "EntropyMirror", "PNormMirror", "ProductMirror", "Same", "Shifted"}
NO_DATA |= {"from_cvxpy"}  # it makes sets that have rows


def test_every_public_class_has_a_row():
    named = {name for module in (o, s, r) for name in module.__all__} - NO_DATA
    assert named <= {row[1].__name__ for row in ROWS}


@pytest.mark.parametrize(("of", "kind", "arguments", "others"), ROWS, ids=IDS)
def test_each_argument_tells(of, kind, arguments, others):
    first = stored(of(kind(*arguments)))
    assert first.difference(of(kind(*copy.deepcopy(arguments)))) == ""
    for other in others:
        assert first.difference(of(kind(*other))), other


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_use_and_copies_of_a_set_leave_its_fingerprint(case):
    K = case.small()
    before = of_K(K)
    K.lmo(RNG.random((3, *K.shape)))
    K.violation(K.start())
    assert K.diameter > 0
    K.certify(np.ones(K.shape), K.lmo(np.ones(K.shape)))
    assert before.difference(of_K(K)) == ""
    assert before.difference(of_K(case.small())) == ""
    assert before.difference(of_K(copy.copy(K))) == ""


def test_a_run_leaves_the_fingerprint_of_its_objective():
    for f in (o.Logistic(sparse.csr_array(A), SIGNS), o.Quadratic(A.T @ A, A[0])):
        before = of_f(f)
        wp.minimize(f, s.Simplex(5), max_rounds=80, tol=0)
        assert f.L > 0
        assert before.difference(of_f(f)) == ""
        assert before.difference(of_f(pickle.loads(pickle.dumps(f)))) == ""


def test_memory_order_and_widths_do_not_matter():
    before = of_f(o.Logistic(A, SIGNS))
    for other in (np.asfortranarray(A), A[::-1][::-1], A.astype(">f8"), A.tolist()):
        assert before.difference(of_f(o.Logistic(other, SIGNS))) == ""
    matrix = sparse.csr_array(np.where(abs(A) > 0.5, A, 0.0))
    before = of_f(o.Logistic(matrix, SIGNS))
    wide = sparse.csr_array((matrix.data, matrix.indices.astype(np.int64), matrix.indptr))
    for other in (matrix.tocsc(), matrix.tocoo(), wide):
        assert before.difference(of_f(o.Logistic(other, SIGNS))) == ""
    moved = matrix.copy()
    moved.indices[:1] = next(j for j in range(5) if j not in matrix.indices[: matrix.indptr[1]])
    moved.sort_indices()
    assert "f (features)" in before.difference(of_f(o.Logistic(moved, SIGNS)))


def test_operators_are_asked():
    def of(matrix: np.ndarray, kind: str) -> Fingerprint:
        if kind == "SciPy":
            return of_f(o.Logistic(aslinearoperator(matrix), SIGNS))

        class Own:
            shape = matrix.shape
            matvec, rmatvec = matrix.__matmul__, matrix.T.__matmul__

        return of_f(o.Logistic(Own(), SIGNS))

    other = A.copy()
    other[7, 3] += 0.01
    for kind in ("SciPy", "own"):
        assert of(A, kind).difference(of(A, kind)) == ""
        assert "at the fixed point" in of(A, kind).difference(of(other, kind))


class Counting(o.Objective):
    """A user's objective that counts its calls, beside its data."""

    def __init__(self, centre: np.ndarray) -> None:
        self.centre, self.shape, self.calls = centre, centre.shape, 0

    def evaluate(self, x: np.ndarray) -> Evaluation:
        self.calls += 1
        g = x - self.centre
        return Evaluation(0.5 * float(g @ g), g, float(x @ g) - 0.5 * float(g @ g))


class Hidden(Counting):
    """A user's objective whose data have other names than its arguments."""

    def __init__(self, secret: np.ndarray) -> None:
        super().__init__(secret)


class Ball(s.Set):
    """A user's set."""

    def __init__(self, length: float) -> None:
        self.shape, self.radius = (5,), length

    def _lmo(self, g: np.ndarray) -> Any:
        return s.L2Ball(5, self.radius).lmo(g)

    def violation(self, x: np.ndarray) -> float:
        return float(np.linalg.norm(x)) - self.radius


def test_classes_of_the_user_are_known_by_arguments_and_answers():
    f = Counting(B[:5])
    before = of_f(f)
    assert before.difference(of_f(f)) == ""
    assert before.difference(of_f(Counting(near(B[:5])))) == "the data of f (centre) have changed"
    assert "f at the fixed point" in of_f(Hidden(B[:5])).difference(of_f(Hidden(B[5:10])))
    assert of_K(Ball(2.0)).difference(of_K(Ball(2.0))) == ""
    assert "over K" in of_K(Ball(2.0)).difference(of_K(Ball(2.001)))


def test_a_function_need_not_be_defined_everywhere():
    def f(x: np.ndarray) -> tuple[float, np.ndarray]:
        if x[0] < 0:
            raise ArithmeticError("outside")
        return -float(np.log(x[0])), np.append(-1.0 / x[0], np.zeros(4))

    assert of_f(f).difference(of_f(f)) == ""


def test_devices_and_libraries_do_not_matter_but_precision_does():
    torch = pytest.importorskip("torch")
    host = of_f(o.Logistic(A, SIGNS))
    tensor = constrained_fingerprint(
        o.Logistic(torch.tensor(A), torch.tensor(SIGNS)), s.L2Ball(5).at(zeros((1,), torch.ones(1)))
    )
    assert host.difference(tensor) == ""
    single = of_f(o.Logistic(A.astype(np.float32), SIGNS.astype(np.float32)))
    words = "f (features) were float64 of shape (12, 5), now they are float32 of shape (12, 5)"
    assert words in host.difference(single)
    matrix = sparse.csr_array(np.where(abs(A) > 0.5, A, 0.0))
    tensors = torch.tensor(matrix.toarray()).to_sparse()
    labels = torch.tensor(SIGNS)
    sparse_tensor = o.Logistic(tensors, labels)
    found = constrained_fingerprint(sparse_tensor, s.L2Ball(5), labels)
    assert of_f(o.Logistic(matrix, SIGNS)).difference(found) == ""
    half = torch.tensor(A).to(torch.bfloat16)
    of_half = [
        constrained_fingerprint(o.Logistic(half * c, labels.float()), s.L2Ball(5)) for c in (1, 2)
    ]
    assert "f (features)" in of_half[0].difference(of_half[1])


@pytest.mark.parametrize("K", [s.L1Ball(5), s.L2Ball(5), s.LinfBall(5), s.Box(-1.0, np.ones(5))])
def test_replaced_features_are_refused_where_the_run_starts_at_zero(K, tmp_path):
    # at x = 0 the loss is log 2 whatever the features are
    path = tmp_path / "run.ckpt"
    f = o.Logistic(A, SIGNS)
    wp.minimize(f, K, method="fw", max_rounds=3, tol=0, checkpoint=path)
    with pytest.raises(
        ValueError, match=r"another problem: the data of f \(features\) have changed"
    ):
        wp.resume(path, o.Logistic(A[:, ::-1], SIGNS), K, max_rounds=6)
    assert wp.resume(path, o.Logistic(A.copy(), SIGNS), K, max_rounds=6).nit == 6


def test_an_operator_is_refused_in_a_run_too(tmp_path):
    path = tmp_path / "run.ckpt"
    product = LinearOperator(A.shape, A.__matmul__, A.T.__matmul__, dtype=np.float64)
    wp.minimize(o.Logistic(product, SIGNS), s.L1Ball(5), method="fw", max_rounds=3, checkpoint=path)
    other = aslinearoperator(A[:, ::-1].copy())
    with pytest.raises(ValueError, match="f at the fixed point x_0 was"):
        wp.resume(path, o.Logistic(other, SIGNS), s.L1Ball(5))


def test_gradients_that_are_random_are_asked():
    G = [o.Stochastic(lambda y, rng, c=c: c * y + rng.random(5)) for c in (1.0, 1.001)]
    assert of_G(G[0]).difference(of_G(G[0])) == ""
    assert "the gradient of G" in of_G(G[0]).difference(of_G(G[1]))
