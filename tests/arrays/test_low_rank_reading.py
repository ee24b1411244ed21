"""A matrix of low rank can be read like the array that it stands for."""

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.arrays import LowRank

RNG = np.random.default_rng(0)
X = LowRank(RNG.standard_normal((6, 2)), np.array([3.0, 0.5]), RNG.standard_normal((4, 2)))
D = np.asarray(X)
LEFT, RIGHT = RNG.standard_normal((3, 6)), RNG.standard_normal((4, 5))

READS = {
    "entry": lambda x: x[2, 3],
    "negative index": lambda x: x[-1, -2],
    "row": lambda x: x[1],
    "rows": lambda x: x[[0, 5, 2]],
    "slice": lambda x: x[1:4],
    "column": lambda x: x[:, 2],
    "columns": lambda x: x[:, [3, 1]],
    "block": lambda x: x[1:5:2, :3],
    "row of columns": lambda x: x[2, 1:],
    "pairs": lambda x: x[[0, 1, 2], [3, 2, 1]],
    "row and list": lambda x: x[0, [1, 2]],
    "mask": lambda x: x[np.array([True, False, True, False, False, True])],
    "whole mask": lambda x: x[np.eye(6, 4, dtype=bool)],
    "grid": lambda x: x[np.ix_([0, 2], [1, 3])],
    "new axis": lambda x: x[None],
    "transpose": lambda x: np.asarray(x.T),
    "product": lambda x: x @ RIGHT,
    "product with a vector": lambda x: x @ RIGHT[:, 0],
    "product from the left": lambda x: LEFT @ x,
    "vector from the left": lambda x: LEFT[0] @ x,
    "sum": lambda x: x.sum(),
    "sums of columns": lambda x: x.sum(axis=0),
    "sums of rows": lambda x: x.sum(axis=1),
    "mean": lambda x: x.mean(),
    "means of rows": lambda x: x.mean(axis=-1),
    "norm": lambda x: np.linalg.norm(x),
    "multiple": lambda x: np.asarray(2.0 * x),
    "quotient": lambda x: np.asarray(x / 4.0),
    "difference with an array": lambda x: x - D[::-1],
    "array less matrix": lambda x: D[::-1] - x,
    "array plus matrix": lambda x: D[::-1] + x,
    "array times matrix": lambda x: D[::-1] * x,
    "function of entries": lambda x: np.abs(x),
    "length": len,
    "shape": lambda x: (*x.shape, x.ndim, x.size),
}


@pytest.mark.parametrize("name", READS)
def test_reads_like_the_dense_matrix(name):
    found, expected = READS[name](X), READS[name](D)
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, atol=1e-13)


def test_its_own_norm_needs_no_dense_matrix():
    assert X.norm() == pytest.approx(np.linalg.norm(D))


@pytest.mark.parametrize("index", [(7, 0), (0, 4), 6])
def test_an_index_out_of_range_is_an_error(index):
    with pytest.raises(IndexError):
        X[index]


@pytest.mark.parametrize("n", [119, 121, 301])
def test_completion_over_a_spectrahedron_begins_at_any_rank(n):
    """The start of a spectrahedron has full rank, beyond what is carried along in factors."""
    rng = np.random.default_rng(1)
    B = rng.standard_normal((n, 2))
    rows, columns = np.nonzero(rng.random((n, n)) < 0.1)
    f = wp.objectives.MatrixCompletion(rows, columns, (B @ B.T)[rows, columns], (n, n))
    K = wp.sets.Spectrahedron(n, float((B * B).sum()))
    for method in ("auto", "corrective"):
        res = wp.minimize(f, K, method=method, tol=0.05 * f.value(K.start()))
        assert res.success
        assert K.violation(np.asarray(res.x)) <= 1e-6 * K.radius
