"""Sparse matrices with indices out of range: an error, where compiled code would crash."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import wolfpack as wp
from wolfpack.arrays import check_sparse

GOOD = sparse.random(12, 12, 0.3, format="csr", random_state=0)
B = np.ones(12)


def with_index(kind: str, value: int) -> Any:
    matrix = GOOD.asformat(kind).copy()
    matrix.indices[3] = value
    return matrix


def with_pointer(kind: str, place: int, value: int) -> Any:
    matrix = GOOD.asformat(kind).copy()
    matrix.indptr[place] = value
    return matrix


def with_coordinate() -> Any:
    matrix = GOOD.tocoo().copy()
    matrix.coords[1][3] = 10**9
    return matrix


def blocks() -> Any:
    matrix = GOOD.tobsr((2, 3)).copy()
    matrix.indices[1] = 4
    return matrix


def lists() -> Any:
    matrix = GOOD.tolil()
    matrix.rows[0] = [10**6, *matrix.rows[0][1:]]
    return matrix


def short() -> Any:
    matrix = GOOD.copy()
    matrix.data = matrix.data[:-2]
    return matrix


DAMAGED: dict[str, tuple[Callable[[], Any], str]] = {
    "csr": (lambda: with_index("csr", 10**9), "column index 1000000000, and 12 of them"),
    "csr negative": (lambda: with_index("csr", -(10**9)), "column index -1000000000"),
    "csc": (lambda: with_index("csc", 12), "row index 12, and 12 of them"),
    "csr pointer": (lambda: with_pointer("csr", 5, 10**8), "its pointers must rise"),
    "csc pointer": (lambda: with_pointer("csc", 12, 10**8), "its pointers must rise"),
    "csr first": (lambda: with_pointer("csr", 0, -5), "its pointers must rise"),
    "coo": (with_coordinate, "column index 1000000000"),
    "bsr": (blocks, "column index 4, and 4 of them"),
    "lil": (lists, "column index 1000000, and 12 of them"),
    "short": (short, "entries"),
}
USES: dict[str, Callable[[Any], Any]] = {
    "objective": lambda A: wp.objectives.LeastSquares(A, B),
    "quadratic": lambda A: wp.objectives.Quadratic(A, B),
    "inequalities": lambda A: wp.sets.LinearProgram(A, B, bounds=(0, 1)),
    "equations": lambda A: wp.sets.MixedInteger(A_eq=A, b_eq=B, bounds=(0, 1)),
    "undirected graph": lambda A: wp.sets.SpanningTree(A),
    "directed graph": lambda A: wp.sets.FlowPolytope(A, [(0, 1, 1.0)]),
    "demands": lambda A: wp.sets.FlowPolytope(np.ones((12, 12)).nonzero(), A),
    # these two need scikit-learn
    "classifier": lambda A: wp.estimators.AcceleratedClassifier().fit(A, np.arange(12) % 2),
    "predictions": lambda A: wp.estimators.AcceleratedRegressor().fit(GOOD, B).predict(A),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_matrices_are_refused_wherever_they_come_in(damage, use):
    if use in ("classifier", "predictions"):
        pytest.importorskip("sklearn")
    make, words = DAMAGED[damage]
    with pytest.raises(ValueError, match=rf"is a damaged sparse matrix: .*{words}"):
        USES[use](make())


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_good_matrices_pass_and_stay_as_they_are(kind):
    matrix = GOOD.asformat(kind)
    before = matrix.toarray()
    check_sparse(matrix, "A")
    assert np.array_equal(matrix.toarray(), before)
    check_sparse(sparse.csr_array((12, 5)), "A")


@pytest.mark.extras
def test_tensors_of_pytorch_are_checked_too():
    torch = pytest.importorskip("torch")
    bad = with_index("csr", 10**9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = (torch.tensor(part) for part in (bad.indptr, bad.indices, bad.data))
        matrix = torch.sparse_csr_tensor(*parts, bad.shape, check_invariants=False)
    with pytest.raises(ValueError, match="column index 1000000000"):
        wp.objectives.LeastSquares(matrix, torch.ones(12, dtype=torch.float64))
    ends = torch.tensor(np.array([[0, 1], [1, 40]]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matrix = torch.sparse_coo_tensor(ends, torch.ones(2), (12, 12), check_invariants=False)
    with pytest.raises(ValueError, match="column index 40"):
        wp.objectives.LeastSquares(matrix, torch.ones(12))
