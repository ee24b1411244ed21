"""Structured vertices of every library do what NumPy's do."""

import numpy as np
import pytest

from backends import Backend, every_backend
from wolfpack.arrays import to_host
from wolfpack.atoms import (
    Affine,
    BlockAtoms,
    Corner,
    Dense,
    OneHot,
    Permutation,
    RankOne,
    Rows,
    Sparse,
    Sums,
    join,
)
from wolfpack.atoms._batches import combine
from wolfpack.atoms._one_hot import Tally

__all__ = ["every_backend"]

RNG = np.random.default_rng(1)
TABLE = RNG.standard_normal((3, 6))
OFFSET = RNG.standard_normal(6)
INDEX = np.array([0, 5, 2, 5])
BATCHES = {
    "dense": Dense(RNG.standard_normal((4, 6)), (6,)),
    "one hot": OneHot(INDEX, 2.0, (6,)),
    "signed one hot": OneHot(INDEX, np.array([1.0, -2.0, 0.5, 3.0]), (6,)),
    "tally": Tally(np.array([1, 0, 0, 2, 0, 1]), 4, 2.0, (6,)),
    "sparse": Sparse(np.array([[0, 1], [2, 2], [5, 0], [3, 4]]), 0.5, (6,)),
    "weighted": Sparse(RNG.integers(0, 6, (4, 2)), RNG.standard_normal((4, 2)), (6,)),
    "rows": Rows(TABLE, np.array([0, 2, 2, 1]), (6,)),
    "rank one": RankOne(RNG.standard_normal((4, 2)), RNG.standard_normal((4, 3)), -1.5),
    "corner": Corner(RNG.random((4, 6)) < 0.5, np.full(6, -1.0), OFFSET + 5.0, (6,)),
    "permutation": Permutation(np.array([[1, 0, 2], [2, 1, 0], [0, 1, 2], [0, 2, 1]])),
    "affine": Affine(OneHot(INDEX, 2.0, (6,)), -3.0, OFFSET),
    "blocks": BlockAtoms(
        [OneHot(INDEX[:4] % 2, 2.0, (2,)), Dense(RNG.standard_normal((4, 2, 2)), (2, 2))]
    ),
    "sums": Sums([OneHot(INDEX, 2.0, (6,)), Dense(RNG.standard_normal((4, 6)), (6,))]),
}


@pytest.fixture(params=BATCHES)
def host(request):
    return BATCHES[request.param]


@pytest.fixture
def check(backend: Backend):
    def equal(found, expected):
        np.testing.assert_allclose(
            to_host(found), expected, rtol=1e2 * backend.eps, atol=1e2 * backend.eps
        )

    return equal


def test_arithmetic(backend: Backend, host, check):
    atoms = host.to(backend.array(np.zeros(1)))
    shape = host.vertex_shape
    g, many = RNG.standard_normal(shape), RNG.standard_normal((4, *shape))
    assert atoms.shape == host.shape
    check(backend.host(atoms.to_dense()), host.to_dense())
    check(backend.host(atoms.mean()), host.mean())
    check(atoms.dot(backend.array(g)), host.dot(g))
    check(atoms.dot(backend.array(many)), host.dot(many))
    check(atoms.norms_squared(), host.norms_squared())
    check(np.asarray(atoms), host.to_dense())


def test_single_vertices(backend: Backend, host, check):
    atoms = host.to(backend.array(np.zeros(1)))
    x = RNG.standard_normal(host.vertex_shape)
    one, same = atoms.take(1), host.take(1)
    assert one.shape == same.shape
    check(backend.host(one.to_dense()), same.to_dense())
    check(backend.host(one.mean()), same.to_dense())
    check(one.dot(backend.array(x)), same.dot(x))
    check(backend.host(one.add_scaled(backend.array(x), 0.3, 0.7)), same.add_scaled(x, 0.3, 0.7))
    check(atoms.take(slice(1, 3)).to_dense(), host.take(slice(1, 3)).to_dense())
    assert one.key() == atoms.take(1).key()
    assert one.key() != atoms.take(0).key()
    if backend.library != "array_api_strict":  # which refuses to meet NumPy's protocols
        check(backend.host(one - backend.array(x)), same.to_dense() - x)
        check(backend.host(backend.array(x) - one), x - same.to_dense())


def test_collections(backend: Backend, host, check):
    x = backend.array(np.zeros(1))
    atoms = host.to(x)
    joined, same = join([atoms, atoms.take(2)]), join([host, host.take(2)])
    assert joined.count == 5
    check(backend.host(joined.to_dense()), same.to_dense())
    weights = RNG.random(5)
    check(backend.host(combine(joined, backend.array(weights))), combine(same, weights))
