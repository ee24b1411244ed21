"""Structured vertices compute what the dense arrays they stand for compute."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from wolfpack.atoms import (
    Affine,
    BlockAtoms,
    Bounded,
    Corner,
    Dense,
    OneHot,
    Permutation,
    RankOne,
    Rows,
    Sparse,
    Sums,
    Tally,
    images,
)

SHAPE = (3, 4)
COUNT = 5


def one_hot_arrays(index, value):
    dense = np.zeros((COUNT, 12))
    for row, i, entry in zip(dense, index, np.broadcast_to(value, COUNT), strict=True):
        row[i] = entry
    return dense.reshape(COUNT, *SHAPE)


def make_dense(rng):
    array = rng.standard_normal((COUNT, *SHAPE))
    return Dense(array, SHAPE), array.copy()


def make_bounded(rng):
    array = rng.standard_normal((COUNT, *SHAPE))
    return Bounded(array, SHAPE, np.arange(5.0), -array), array.copy()


def make_one_hot(rng):
    index = rng.integers(0, 12, COUNT)
    return OneHot(index, 2.5, SHAPE), one_hot_arrays(index, 2.5)


def make_tally(rng):
    counts = np.bincount(rng.integers(0, 12, COUNT), minlength=12)
    return Tally(counts, COUNT, 2.5, SHAPE), one_hot_arrays(np.arange(12).repeat(counts), 2.5)


def make_signed_one_hot(rng):
    index, value = rng.integers(0, 12, COUNT), rng.choice([-1.5, 1.5], COUNT)
    return OneHot(index, value, SHAPE), one_hot_arrays(index, value)


def make_sparse(rng):
    # position 0 is taken, and used for padding as well
    indices = np.array([[0, 3, 0], [11, 2, 0], [1, 0, 0], [4, 5, 6], [6, 5, 4]])
    values = np.array([[2.0, -1.0, 0.0], [0.5, 3.0, 0.0], [1.0, 0.0, 0.0], [1, 2, 3], [3, 2, 1.0]])
    dense = np.zeros((COUNT, 12))
    for row, where, entries in zip(dense, indices, values, strict=True):
        for i, entry in zip(where, entries, strict=True):
            row[i] += entry
    return Sparse(indices, values, SHAPE), dense.reshape(COUNT, *SHAPE)


def make_equal_sparse(rng):
    indices = np.array([rng.choice(12, 4, replace=False) for _ in range(COUNT)])
    dense = np.zeros((COUNT, 12))
    for row, where in zip(dense, indices, strict=True):
        row[where] = 0.25
    return Sparse(indices, 0.25, SHAPE), dense.reshape(COUNT, *SHAPE)


def make_rank_one(rng):
    u, v = rng.standard_normal((COUNT, 3)), rng.standard_normal((COUNT, 4))
    return RankOne(u, v, -2.0), np.array(
        [-2.0 * np.outer(*pair) for pair in zip(u, v, strict=True)]
    )


def make_symmetric_rank_one(rng):
    v = rng.standard_normal((COUNT, 3))
    return RankOne(v, v, 2.0), np.array([2.0 * np.outer(x, x) for x in v])


def make_permutation(rng):
    columns = np.array([rng.permutation(4) for _ in range(COUNT)])
    return Permutation(columns), np.array([np.eye(4)[row] for row in columns])


def make_rows(rng):
    table, index = rng.standard_normal((4, 12)), rng.integers(0, 4, COUNT)
    return Rows(table, index, SHAPE), np.array([table[i] for i in index]).reshape(-1, *SHAPE)


def make_corner(rng):
    above = rng.random((COUNT, *SHAPE)) < 0.5
    lower, upper = -rng.random(SHAPE), rng.random(SHAPE)
    return Corner(above, lower, upper, SHAPE), np.where(above, upper, lower)


def make_affine(rng):
    base, dense = make_rank_one(rng)
    offset = rng.standard_normal(SHAPE)
    return Affine(base, 3.0, offset), 3.0 * dense + offset


def make_sums(rng):
    (first, one), (second, two) = make_sparse(rng), make_signed_one_hot(rng)
    return Sums([first, second]), one + two


def make_blocks(rng):
    (first, one), (second, two) = make_permutation(rng), make_one_hot(rng)
    joined = np.concatenate([one.reshape(COUNT, -1), two.reshape(COUNT, -1)], axis=1)
    return BlockAtoms([first, second]), joined


MAKERS = {name[5:]: make for name, make in list(globals().items()) if name.startswith("make_")}
every_class = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
tol = {"rtol": 1e-13, "atol": 1e-13}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@every_class
def test_to_dense_and_shapes(make, rng):
    atoms, dense = make(rng)
    np.testing.assert_allclose(atoms.to_dense(), dense, **tol)
    assert atoms.shape == dense.shape
    assert atoms.ndim == dense.ndim
    assert len(atoms) == atoms.count == COUNT
    assert atoms.vertex_shape == dense.shape[1:]
    single = atoms.take(2)
    assert single.count is None
    assert single.shape == single.vertex_shape == dense.shape[1:]
    assert single.size == dense[2].size
    np.testing.assert_allclose(single.to_dense(), dense[2], **tol)


@every_class
def test_dot_with_one_direction_and_with_one_each(make, rng):
    atoms, dense = make(rng)
    u = rng.standard_normal(dense.shape[1:])
    batch = rng.standard_normal(dense.shape)
    axes = tuple(range(1, dense.ndim))
    np.testing.assert_allclose(atoms.dot(u), (dense * u).sum(axis=axes), **tol)
    np.testing.assert_allclose(atoms.dot(batch), (dense * batch).sum(axis=axes), **tol)
    assert float(atoms.take(1).dot(u)) == pytest.approx(float((dense[1] * u).sum()), rel=1e-12)


@every_class
def test_dot_with_directions_in_any_memory_layout(make, rng):
    atoms, dense = make(rng)
    batch = rng.standard_normal(dense.shape)
    axes = tuple(range(1, dense.ndim))
    for layout in (np.asfortranarray(batch), batch[::-1].copy()[::-1], batch.T.copy().T):
        np.testing.assert_allclose(atoms.dot(layout), (dense * batch).sum(axis=axes), **tol)
        np.testing.assert_allclose(atoms.dot(layout[0]), (dense * batch[0]).sum(axis=axes), **tol)


@every_class
def test_mean_of_the_batch_and_of_one_vertex(make, rng):
    atoms, dense = make(rng)
    np.testing.assert_allclose(atoms.mean(), dense.mean(axis=0), **tol)
    np.testing.assert_allclose(atoms.take(3).mean(), dense[3], **tol)


@every_class
@pytest.mark.parametrize("order", ["C", "F"])
def test_add_scaled_makes_a_new_array_from_any_layout(make, order, rng):
    atoms, dense = make(rng)
    x = np.array(rng.standard_normal(dense.shape[1:]), order=order)
    kept = x.copy()
    out = atoms.take(1).add_scaled(x, 0.5, -2.0)
    np.testing.assert_allclose(out, 0.5 * kept - 2.0 * dense[1], **tol)
    np.testing.assert_array_equal(x, kept)
    assert not np.shares_memory(out, x)
    x.flags.writeable = False
    np.testing.assert_allclose(atoms.take(0).add_scaled(x, 1.0, 1.0), kept + dense[0], **tol)


@every_class
def test_take_accepts_slices_lists_masks_and_negative_positions(make, rng):
    atoms, dense = make(rng)
    mask = np.array([True, False, True, True, False])
    for chosen in (slice(1, 4), slice(None, None, -1), [3, 0, 3], np.array([2]), mask):
        part = atoms.take(chosen)
        np.testing.assert_allclose(part.to_dense(), dense[chosen], **tol)
        np.testing.assert_allclose(part.mean(), dense[chosen].mean(axis=0), **tol)
    np.testing.assert_allclose(atoms.take(-1).to_dense(), dense[-1], **tol)


@every_class
def test_images_are_products_with_every_vertex(make, rng):
    atoms, dense = make(rng)
    A = rng.standard_normal((2, dense[0].size))
    np.testing.assert_allclose(images(atoms, A), A @ dense.reshape(len(dense), -1).T, atol=1e-12)


@every_class
def test_norms_squared(make, rng):
    atoms, dense = make(rng)
    expected = (dense * dense).reshape(COUNT, -1).sum(axis=1)
    np.testing.assert_allclose(atoms.norms_squared(), expected, **tol)
    assert float(atoms.take(2).norms_squared()) == pytest.approx(expected[2], rel=1e-12)


@every_class
def test_equal_vertices_have_equal_keys_and_others_do_not(make, rng):
    atoms, dense = make(rng)
    again, _ = make(np.random.default_rng(0))
    keys = [atoms.take(i).key() for i in range(COUNT)]
    assert keys == [again.take(i).key() for i in range(COUNT)]
    assert len({hash(key) for key in keys}) == len(set(keys))
    for i in range(COUNT):
        for j in range(COUNT):
            assert (keys[i] == keys[j]) == np.array_equal(dense[i], dense[j])


@every_class
def test_it_behaves_like_the_array_it_stands_for(make, rng):
    atoms, dense = make(rng)
    x = rng.standard_normal(dense.shape[1:])
    np.testing.assert_allclose(np.asarray(atoms), dense, **tol)
    np.testing.assert_allclose(np.asarray(atoms, dtype=np.float32), dense, rtol=1e-6)
    np.testing.assert_allclose(atoms - x, dense - x, **tol)
    np.testing.assert_allclose(x - atoms, x - dense, **tol)
    np.testing.assert_allclose(2.0 * atoms, 2.0 * dense, **tol)
    np.testing.assert_allclose(-atoms, -dense, **tol)
    np.testing.assert_allclose(atoms + atoms, 2.0 * dense, **tol)
    vertex, row = atoms.take(0), dense[0]
    np.testing.assert_allclose(np.vdot(x, vertex), np.vdot(x, row), **tol)
    np.testing.assert_allclose(x @ np.asarray(vertex).T, x @ row.T, **tol)
    np.testing.assert_allclose(vertex @ x.T, row @ x.T, **tol)
    np.testing.assert_allclose(np.sum(vertex), row.sum(), **tol)


@every_class
def test_indexing_and_iteration_follow_the_batch_axis(make, rng):
    atoms, dense = make(rng)
    np.testing.assert_allclose(atoms[1].to_dense(), dense[1], **tol)
    np.testing.assert_allclose(atoms[1:3].to_dense(), dense[1:3], **tol)
    first = (2,) + (0,) * (dense.ndim - 1)
    assert atoms[first] == pytest.approx(dense[first])
    for vertex, row in zip(atoms, dense, strict=True):
        np.testing.assert_allclose(vertex.to_dense(), row, **tol)
    # a single vertex is indexed like the array
    np.testing.assert_allclose(atoms[1][0], dense[1][0], **tol)
    assert len(atoms[1]) == len(dense[1])


@every_class
def test_a_copy_sent_to_a_worker_is_the_same(make, rng):
    atoms, _ = make(rng)
    copy = pickle.loads(pickle.dumps(atoms))
    np.testing.assert_array_equal(copy.to_dense(), atoms.to_dense())
    assert copy.take(1).key() == atoms.take(1).key()


@every_class
def test_its_name_says_class_count_and_shape(make, rng):
    atoms, _ = make(rng)
    assert repr(atoms).startswith(f"{type(atoms).__name__}(5 x ")
    assert " x " not in repr(atoms.take(0))


@every_class
def test_what_is_handed_out_may_be_written_to_without_harm(make, rng):
    atoms, dense = make(rng)
    if isinstance(atoms, Dense):
        pytest.skip("a dense vertex is the array itself")
    atoms.to_dense()[...] = 7.0
    atoms.mean()[...] = 7.0
    np.testing.assert_allclose(atoms.to_dense(), dense, **tol)


@pytest.mark.parametrize(
    "name", ["dense", "one_hot", "sparse", "rank_one", "permutation", "corner"]
)
def test_single_precision_stays_accurate(name, rng):
    atoms, dense = MAKERS[name](rng)
    if name == "dense":
        atoms = Dense(dense.astype(np.float32), SHAPE)
    if name == "rank_one":
        atoms = RankOne(atoms.u.astype(np.float32), atoms.v.astype(np.float32), atoms.scale)
    if name == "sparse":
        atoms = Sparse(atoms.indices, atoms.values.astype(np.float32), SHAPE)
    x = rng.standard_normal(dense.shape[1:]).astype(np.float32)
    close = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(atoms.to_dense(), dense, **close)
    np.testing.assert_allclose(atoms.mean(), dense.mean(axis=0), **close)
    np.testing.assert_allclose(atoms.dot(x), (dense * x).sum(axis=(1, 2)), **close)
    np.testing.assert_allclose(
        atoms.take(0).add_scaled(x, 0.5, 2.0), 0.5 * x + 2 * dense[0], **close
    )


@pytest.mark.parametrize("name", ["one_hot", "sparse", "rank_one", "permutation"])
def test_an_update_keeps_the_precision_of_the_iterate(name, rng):
    atoms, dense = MAKERS[name](rng)
    x = rng.standard_normal(dense.shape[1:]).astype(np.float32)
    assert atoms.take(0).add_scaled(x, 0.5, 0.25).dtype == np.float32


def test_a_zero_has_one_key_whatever_its_sign():
    for plus, minus in (
        (Dense(np.zeros(3), (3,)), Dense(-np.zeros(3), (3,))),
        (RankOne(np.array([1.0, 0.0]), np.ones(2)), RankOne(np.array([1.0, -0.0]), np.ones(2))),
        (OneHot(1, 0.0, (3,)), OneHot(1, -0.0, (3,))),
    ):
        assert plus.key() == minus.key()


def test_a_rank_one_key_ignores_the_sign_of_the_pair(rng):
    u, v = rng.standard_normal(3), rng.standard_normal(4)
    assert RankOne(u, v, 2.0).key() == RankOne(-u, -v, 2.0).key()
    assert RankOne(u, v, 2.0).key() != RankOne(-u, v, 2.0).key()
    assert RankOne(u, v, 2.0).key() != RankOne(u, v, 1.0).key()


def test_the_mean_of_symmetric_vertices_is_exactly_symmetric(rng):
    v = rng.standard_normal((20, 6))
    mean = RankOne(v, v, 0.5).mean()
    np.testing.assert_array_equal(mean, mean.T)


def test_a_sparse_key_ignores_order_and_padding():
    plain = Sparse(np.array([2, 5]), np.array([1.0, -1.0]), (7,))
    other = Sparse(np.array([5, 0, 2]), np.array([-1.0, 0.0, 1.0]), (7,))
    assert plain.key() == other.key()
    assert plain.key() != Sparse(np.array([2, 6]), np.array([1.0, -1.0]), (7,)).key()


def test_the_bound_of_an_answer_travels_with_it(rng):
    atoms, _ = make_bounded(rng)
    assert atoms.take(3).bound == 3.0
    np.testing.assert_array_equal(atoms.take([4, 1]).bound, [4.0, 1.0])
