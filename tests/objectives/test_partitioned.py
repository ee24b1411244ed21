"""A loss over blocks is the loss over all rows, and bad blocks are named."""

from __future__ import annotations

import copy
import math
import os
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import wolfpack as wp
from wolfpack.arrays import ArgumentError
from wolfpack.objectives import Partitioned
from wolfpack.objectives.partitioned import BlockError
from wolfpack.objectives.partitioned.tree import NodeSum, nodes_within, sum_of_nodes

RNG = np.random.default_rng(7)
N, D = 90, 6
A = RNG.standard_normal((N, D))
Z = A @ RNG.standard_normal(D)
TARGETS: dict[str, Any] = {
    "least_squares": Z + RNG.standard_normal(N),
    "logistic": np.sign(Z + RNG.standard_normal(N)),
    "squared_hinge": 0.5 * (1.0 + np.sign(Z)),
    "huber": Z,
    "quantile": Z,
    "poisson": RNG.poisson(2.0, N),
    "multinomial": np.sort(RNG.integers(0, 3, N)),  # no block has all classes
}
CLASSES = {
    "least_squares": wp.objectives.LeastSquares,
    "logistic": wp.objectives.Logistic,
    "squared_hinge": wp.objectives.SquaredHinge,
    "huber": wp.objectives.Huber,
    "quantile": wp.objectives.Quantile,
    "poisson": wp.objectives.Poisson,
    "multinomial": wp.objectives.Multinomial,
}
CUTS = [0, 11, 12, 40, 77, 90]


def blocks_of(b: np.ndarray, matrix: Any = A) -> list[tuple[Any, Any]]:
    return [(matrix[i:j], b[i:j]) for i, j in pairwise(CUTS)]


@pytest.mark.parametrize("reduction", ["mean", "sum", None])
@pytest.mark.parametrize("name", CLASSES)
def test_it_is_the_loss_over_all_rows(name, reduction):
    b = TARGETS[name]
    given = {} if reduction is None else {"reduction": reduction}
    whole, parts = CLASSES[name](A, b, **given), Partitioned(name, blocks_of(b), **given)
    assert parts.shape == whole.shape
    assert parts.n == N
    x, d = (0.3 * RNG.standard_normal(whole.shape) for _ in range(2))
    at, found = whole.evaluate(x), parts.evaluate(x)
    assert found.value == pytest.approx(at.value, rel=1e-13)
    np.testing.assert_allclose(found.gradient, at.gradient, rtol=1e-12, atol=1e-12)
    assert parts.value(x) == pytest.approx(at.value, rel=1e-13)
    assert found.dual == pytest.approx(float((x * at.gradient).sum()) - at.value, rel=1e-12)
    assert found.dual == pytest.approx(whole.conjugate_bound(at.dual), rel=1e-9, abs=1e-12)
    assert math.isclose(parts.L, whole.L, rel_tol=1e-9)
    assert math.isclose(parts.L1, whole.L1, rel_tol=1e-12)
    assert parts.curvature_bound(d) == pytest.approx(whole.curvature_bound(d), rel=1e-12)
    slopes, slopes_found = whole.slope_along(x, d), parts.slope_along(x, d)
    for t in (0.0, 0.4, 1.0):
        assert slopes_found(t) == pytest.approx(slopes(t), rel=1e-11, abs=1e-12)
    curvature = whole.curvature(x, d)
    if curvature is None:
        assert parts.curvature(x, d) is None
    else:
        assert parts.curvature(x, d) == pytest.approx(curvature, rel=1e-12)
    change = whole.gradient(x + 1e-6 * d) - whole.gradient(x - 1e-6 * d)
    np.testing.assert_allclose(parts.hessian_product(x, d), change / 2e-6, rtol=1e-5, atol=1e-5)


def test_sparse_rows_and_many_columns():
    wide = sparse.random_array((60, 700), density=0.05, rng=RNG, format="csr")
    labels = RNG.choice([-1.0, 1.0], 60)
    whole = wp.objectives.Logistic(wide, labels)
    parts = Partitioned("logistic", [(wide[:25], labels[:25]), (wide[25:].tocoo(), labels[25:])])
    x = RNG.standard_normal(700)
    np.testing.assert_allclose(parts.gradient(x), whole.gradient(x), rtol=1e-11, atol=1e-14)
    assert whole.L <= parts.L * (1 + 1e-9)
    assert parts.L <= whole.L * 1.001


def test_observed_entries():
    i, j = np.divmod(RNG.choice(42, 20, replace=False), 7)
    values = RNG.standard_normal(20)
    whole = wp.objectives.MatrixCompletion(i, j, values, (6, 7))
    thirds = [(i[k], j[k], values[k]) for k in np.array_split(np.arange(20), 3)]
    parts = Partitioned("matrix_completion", thirds, shape=(6, 7))
    x = RNG.standard_normal((6, 7))
    np.testing.assert_allclose(parts.gradient(x), whole.gradient(x), rtol=1e-14, atol=1e-14)
    assert parts.L == whole.L == 1.0
    result = wp.minimize(parts, wp.sets.TraceNormBall((6, 7), radius=2.0), tol=1e-5)
    other = wp.minimize(whole, wp.sets.TraceNormBall((6, 7), radius=2.0), tol=1e-5)
    assert result.success
    assert result.fun == pytest.approx(other.fun, abs=2e-5)


def test_a_function_of_a_block():
    def half_square(x: np.ndarray, block: tuple[np.ndarray, np.ndarray]) -> tuple[float, Any]:
        rows, target = block
        residual = rows @ x - target
        return 0.5 * float(residual @ residual), rows.T @ residual

    b = TARGETS["least_squares"]
    parts = Partitioned(half_square, blocks_of(b), shape=D, convex=True, L=1e3)
    whole = wp.objectives.LeastSquares(A, b)
    x, d = np.ones(D), np.arange(D, dtype=float)
    assert parts.value(x) == pytest.approx(whole.value(x))
    assert parts.slope_along(x, d)(0.3) == pytest.approx(whole.slope_along(x, d)(0.3))
    assert not parts.tested
    result = wp.minimize(parts, wp.sets.L2Ball(D), tol=1e-6)
    assert result.fun == pytest.approx(wp.minimize(whole, wp.sets.L2Ball(D), tol=1e-6).fun)


@pytest.mark.parametrize("method", ["auto", "fw", "fw-ls", "corrective", "projected", "anytime"])
@pytest.mark.parametrize("name", ["least_squares", "logistic"])
def test_certificates_hold(name, method):
    b = TARGETS[name]
    K = wp.sets.L1Ball(D, radius=0.5)
    best = wp.minimize(CLASSES[name](A, b), K, method="corrective", tol=1e-10).fun
    result = wp.minimize(
        Partitioned(name, blocks_of(b)), K, method=method, tol=1e-7, max_rounds=200
    )
    assert result.fun - best <= result.gap + 1e-12
    assert result.lower_bound <= best + 1e-12


def test_composite_problems():
    b = TARGETS["logistic"]
    H = wp.regularizers.ElasticNet(0.01, mu=0.05)
    whole = wp.minimize_composite(wp.objectives.Logistic(A, b), H, tol=1e-8)
    parts = wp.minimize_composite(Partitioned("logistic", blocks_of(b)), H, tol=1e-8)
    assert parts.success
    assert parts.fun == pytest.approx(whole.fun, abs=1e-8)


def test_files(tmp_path):
    b = TARGETS["least_squares"]
    x = np.ones(D)
    expected = Partitioned("least_squares", blocks_of(b)).evaluate(x)
    for i, (rows, targets) in enumerate(blocks_of(b)):
        np.savez(tmp_path / f"rows-{i}.npz", A=rows, b=targets)
        np.save(tmp_path / f"A-{i}.npy", rows)
        np.save(tmp_path / f"b-{i}.npy", targets)
        table = np.column_stack([rows, targets])
        names = ",".join([f"c{j}" for j in range(D)] + ["y"])
        np.savetxt(tmp_path / f"t-{i}.csv", table, "%.17g", ",", header=names, comments="")
        sparse.save_npz(tmp_path / f"S-{i}.npz", sparse.csr_array(rows))
    folder = str(tmp_path)
    for given in (
        folder + "/rows-*.npz",
        [(folder + "/A-*.npy", folder + "/b-*.npy")],
        folder + "/t-*.csv",
        [tmp_path / f"rows-{i}.npz" for i in range(5)],
        [(tmp_path / f"S-{i}.npz", tmp_path / f"b-{i}.npy") for i in range(5)],
    ):
        found = Partitioned("least_squares", given).evaluate(x)
        assert found.value == pytest.approx(expected.value, rel=1e-13)
        np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-12)


def test_large_files_are_cut_and_read_again(tmp_path, monkeypatch):
    b = TARGETS["least_squares"]
    np.save(tmp_path / "A.npy", A)
    np.save(tmp_path / "b.npy", b)
    files = [(tmp_path / "A.npy", tmp_path / "b.npy")]
    free = Partitioned("least_squares", files, rows=20)
    tight = Partitioned("least_squares", files, rows=20, memory=20 * D * 8 * 3)
    assert len(free.parts) == 5
    x = np.ones(D)
    assert free.evaluate(x).gradient.tobytes() == tight.evaluate(x).gradient.tobytes()
    assert 0 < tight.data.kept_bytes <= tight.data.memory < free.data.kept_bytes
    loads: list[str] = []
    part = type(tight.parts[0])
    load = part.load
    monkeypatch.setattr(part, "load", lambda self: loads.append(self.name) or load(self))
    tight.value(x)
    assert 1 < len(loads) < 5
    loads.clear()
    free.value(x)
    assert loads == []


def load_block(i: int, sign: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    return blocks_of(sign * TARGETS["least_squares"])[i]


def test_loaders():
    b = TARGETS["least_squares"]
    parts = Partitioned("least_squares", [(load_block, (i, 1.0)) for i in range(5)])
    assert parts.value(np.ones(D)) == Partitioned("least_squares", blocks_of(b)).value(np.ones(D))
    assert Partitioned("least_squares", [(load_block, 2)]).n == 28


def test_copies_hold_the_data_and_later_changes_do_not_matter():
    given, b = A.copy(), TARGETS["huber"].copy()
    f = Partitioned("huber", [(given, b)])
    before = f.value(np.ones(D))
    given[:], b[:] = 0.0, 0.0
    for other in (f, copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        assert other.value(np.ones(D)) == before


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_sums_do_not_depend_on_who_adds(count):
    vectors = RNG.standard_normal((count, 3)) * 10.0 ** RNG.integers(-8, 8, (count, 1))

    def nodes(cuts: list[int]) -> bytes:
        found = {}
        for first, end in pairwise(cuts):
            for node in nodes_within(range(first, end), count):
                total = NodeSum()
                for i in node:
                    total.add(vectors[i].copy())
                found[node.start] = len(node), total.total()
        return sum_of_nodes(found, count).tobytes()

    expected = nodes([0, count])
    np.testing.assert_allclose(np.frombuffer(expected), vectors.sum(axis=0), rtol=1e-6, atol=1e-6)
    for _ in range(20):
        inner = RNG.integers(0, count + 1, 3)
        assert nodes([0, *sorted({int(i) for i in inner} - {0, count}), count]) == expected


PAIR = (A[:4], TARGETS["huber"][:4])
BAD: dict[str, tuple[Any, str]] = {
    "widths": ([PAIR, (A[:4, :3], PAIR[1])], r"block 1 \(part 1\).* 3 columns, and block 0 has 6"),
    "empty": ([PAIR, (A[:0], PAIR[1][:0])], r"block 1 \(part 1\) .*is empty"),
    "length": ([PAIR, (A[:4], PAIR[1][:3])], r"block 1 .* has 4 rows and targets of shape \(3,\)"),
    "outputs": ([PAIR, (A[:4], np.ones((4, 2)))], "block 1 .* targets of shape"),
    "vector": ([PAIR, (A[0], PAIR[1])], "block 1 .* must have a matrix first"),
    "nan": ([PAIR, (np.full((4, D), np.nan), PAIR[1])], "block 1 .*features.*finite"),
    "infinite": ([PAIR, (A[:4], np.array([1, np.inf, 0, 0]))], "block 1 .*targets.*finite"),
    "words": ([PAIR, (A[:4], np.array(list("abcd")))], "block 1"),
    "loader raises": ([PAIR, (load_block, 99)], r"block 1 \(load_block\(99\)\).*IndexError"),
    "loader of none": ([PAIR, (lambda i: None, 0)], r"block 1 .*must be a pair of arrays"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_blocks_are_named(name):
    parts, message = BAD[name]
    with pytest.raises(BlockError, match=message):
        Partitioned("huber", parts).evaluate(np.zeros(D))


@pytest.mark.parametrize(
    ("loss", "parts", "options", "message"),
    [
        ("huber", [], {}, "parts must not be empty"),
        ("huber", 7, {}, "parts must be"),
        ("huber", [7], {}, "parts must be"),
        ("huber", "nowhere-*.npz", {}, "no file matches the pattern 'nowhere-.*'"),
        ("huber", "nowhere.npz", {}, "there is no file 'nowhere.npz'"),
        ("hubber", [PAIR], {}, "loss must be one of"),
        (wp.objectives.DOptimal, [PAIR], {}, "loss must be summed over rows"),
        (wp.objectives.Huber(*PAIR), [PAIR], {}, "loss must be a name"),
        ("huber", [PAIR], {"alpha": 1}, "no option 'alpha'; it has delta"),
        ("huber", [PAIR], {"memory": 0}, "memory must be"),
        ("matrix_completion", [PAIR], {}, "shape must be given"),
    ],
)
def test_bad_arguments(loss, parts, options, message):
    with pytest.raises((ArgumentError, ValueError, TypeError), match=message):
        Partitioned(loss, parts, **options)


def test_labels_of_two_kinds():
    bits, signs = np.array([0, 1, 1, 0]), np.array([-1, 1, 1, -1])
    f = Partitioned("logistic", [(A[:4], bits), (A[4:8], signs)])
    with pytest.raises(BlockError, match=r"block 1 .* labels -1/.1, and block 0 has 0/1"):
        f.value(np.zeros(D))


def test_a_function_that_is_not_finite_names_its_block():
    def fun(x: np.ndarray, block: float) -> tuple[float, np.ndarray]:
        return block * float(x @ x), 2.0 * block * x

    f = Partitioned(fun, [1.0, 2.0, float("nan")], shape=2)
    with pytest.raises(ValueError, match=r"block 2 \(part 2\)"):
        wp.minimize(f, wp.sets.L2Ball(2), np.array([0.5, 0.0]), convex=True)


@pytest.mark.parametrize("check", ["time", "content"])
def test_files_that_change_are_noticed(tmp_path, monkeypatch, check):
    monkeypatch.setattr("wolfpack.objectives.partitioned._files._CHECK_SECONDS", 0.0)
    path = tmp_path / "rows-0.npz"
    np.savez(path, A=A, b=TARGETS["huber"])
    f = Partitioned("huber", str(tmp_path / "rows-*.npz"), check=check)
    f.value(np.ones(D))
    np.savez(path, A=A + 1.0, b=TARGETS["huber"])
    os.utime(path, ns=(10**18, 10**18))
    with pytest.raises(BlockError, match=r"block 0 \(rows-0.npz\).*has changed"):
        f.value(np.ones(D))


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "rows-0.npz").write_bytes(b"nothing")
    with pytest.raises(BlockError, match=r"block 0 \(rows-0.npz\)"):
        Partitioned("huber", str(tmp_path / "rows-*.npz")).value(np.ones(D))


def test_a_checkpoint_knows_its_blocks(tmp_path):
    b = TARGETS["logistic"]
    for i, (rows, targets) in enumerate(blocks_of(b)):
        np.savez(tmp_path / f"rows-{i}.npz", A=rows, b=targets)
    pattern, K = str(tmp_path / "rows-*.npz"), wp.sets.L1Ball(D)
    path = tmp_path / "run.ckpt"
    settings: dict[str, Any] = {"method": "fw", "tol": 0}
    whole = wp.minimize(Partitioned("logistic", pattern), K, max_rounds=20, **settings)
    f = Partitioned("logistic", pattern)
    wp.minimize(f, K, max_rounds=9, checkpoint=path, **settings)
    resumed = wp.resume(path, Partitioned("logistic", pattern), K, max_rounds=20)
    assert resumed.x.tobytes() == whole.x.tobytes()
    assert resumed.lower_bound == whole.lower_bound
    os.utime(tmp_path / "rows-3.npz", ns=(10**18, 10**18))
    with pytest.raises(ValueError, match="another problem"):
        wp.resume(path, Partitioned("logistic", pattern), K)


def test_poisson_tells_where_its_cap_is_passed():
    b = TARGETS["poisson"]
    f = Partitioned("poisson", blocks_of(b), cap=0.1)
    result = wp.minimize(f, wp.sets.L2Ball(D, radius=3.0), tol=1e-3)
    assert "beyond Poisson's cap" in result.message
