"""Top pairs by each of the three methods, and the proofs behind the certificates."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from wolfpack import sets as s
from wolfpack.problem import Counts, LimitReached, counted
from wolfpack.sets import _spectral
from wolfpack.sets._spectral import (
    leading_eigenvectors,
    leading_singular,
    top_eigenvector,
    top_singular,
    unit_scale,
)
from wolfpack.sets._spectral_bounds import (
    eigenvalue_ceiling,
    schatten_ceiling,
    singular_ceiling,
    symmetric_ceiling,
)


def with_spectrum(rng, p, q, s):
    """Return a (p, q) matrix with the singular values s, to rounding."""
    U = np.linalg.qr(rng.standard_normal((p, len(s))))[0]
    V = np.linalg.qr(rng.standard_normal((q, len(s))))[0]
    return (U * s) @ V.T


def values(g, u, v):
    return np.einsum("...i,...ij,...j->...", u, g, v)


def is_psd(M) -> bool:
    """Tell whether a symmetric matrix of rationals is positive semidefinite, exactly."""
    M = [list(row) for row in M]
    while M:
        pivot, row = M[0][0], M[0][1:]
        if pivot < 0 or (pivot == 0 and any(row)):
            return False
        rest = [list(r[1:]) for r in M[1:]]
        if pivot > 0:
            rest = [
                [m - x * y / pivot for m, y in zip(r, row, strict=True)]
                for r, x in zip(rest, row, strict=True)
            ]
        M = rest
    return True


def exact(a):
    return np.vectorize(Fraction, otypes=[object])(a)


class Forbidden:
    def __call__(self, *args):
        raise AssertionError("this method was not due")


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (10, 8), (8, 10), (64, 70), (65, 65)])
@pytest.mark.parametrize("count", [1, 7, 8, 20])
def test_batches_of_any_size_reach_the_top_singular_value(shape, count):
    g = np.random.default_rng(0).standard_normal((count, *shape))
    u, v = top_singular(g)
    top = np.linalg.svd(g, compute_uv=False)[:, 0]
    np.testing.assert_allclose(values(g, u, v), top, rtol=1e-12)
    for x in (u, v):
        np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0, rtol=1e-14)


@pytest.mark.parametrize("gap", [1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9])
def test_the_top_is_not_where_the_diagonal_is_largest(gap):
    # the top eigenvector spreads over two coordinates, the next one has a coordinate for itself
    a = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0 - gap]])
    x = top_eigenvector(np.array([a] * 10))
    np.testing.assert_allclose(values(a, x, x), 1.0, rtol=1e-12)
    u, v = top_singular(np.array([a] * 10))
    np.testing.assert_allclose(values(a, u, v), 1.0, rtol=1e-12)


@pytest.mark.parametrize("gap", [1e-1, 1e-3, 1e-5, 1e-7, 1e-10, 1e-14, 0.0])
@pytest.mark.parametrize("cluster", [2, 5])
def test_top_values_that_nearly_tie(gap, cluster):
    rng = np.random.default_rng(1)
    s = np.concatenate([1.0 - gap * np.arange(cluster), [0.3, 0.1]])
    g = np.array([with_spectrum(rng, 12, 9, s) for _ in range(10)])
    np.testing.assert_allclose(values(g, *top_singular(g)), 1.0, rtol=1e-12)
    for single in g[:2]:
        np.testing.assert_allclose(values(single, *top_singular(single)), 1.0, rtol=1e-12)


def test_only_tops_that_almost_tie_need_more_than_powers(monkeypatch):
    rng = np.random.default_rng(2)

    def batch(second):
        s = [1.0, second, 0.5, 0.1]
        return np.array([with_spectrum(rng, 12, 9, s) for _ in range(10)])

    monkeypatch.setattr(_spectral, "_top_dense", Forbidden())
    for g in (batch(0.9), batch(0.999), np.tile(np.eye(9), (10, 1, 1)), np.zeros((10, 4, 4))):
        np.testing.assert_allclose(values(g, *top_singular(g)), float(g.any()), atol=1e-12)
    with pytest.raises(AssertionError, match="not due"):
        top_singular(batch(1.0 - 1e-8))


@pytest.mark.parametrize("shape", [(420, 350), (350, 420)])
def test_large_matrices_are_left_to_lanczos(shape, monkeypatch):
    rng = np.random.default_rng(3)
    g = rng.standard_normal(shape)
    with monkeypatch.context() as patch:
        patch.setattr(_spectral, "_top_dense", Forbidden())
        u, v = top_singular(g)
    s = np.linalg.svd(g, compute_uv=False)
    assert values(g, u, v) == pytest.approx(s[0], rel=1e-10)
    u, v = leading_singular(g, 4)
    np.testing.assert_allclose(values(g, u, v), s[:4], rtol=1e-8)
    np.testing.assert_allclose(u @ u.T, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(v @ v.T, np.eye(4), atol=1e-10)


def test_lanczos_hands_clustered_tops_to_lapack(monkeypatch):
    rng = np.random.default_rng(4)
    s = np.concatenate([1.0 - 1e-6 * np.arange(50), np.linspace(0.9, 0.0, 300)])
    g = with_spectrum(rng, 350, 350, s)
    assert values(g, *top_singular(g)) == pytest.approx(1.0, rel=1e-12)
    monkeypatch.setattr(_spectral, "_top_dense", Forbidden())
    with pytest.raises(AssertionError, match="not due"):
        top_singular(g)


@pytest.mark.parametrize("n", [4, 350])
def test_hard_spectra(n):
    rng = np.random.default_rng(5)
    # orthogonal to the vector of ones; rank one; a single entry; the identity; zero
    centred = rng.standard_normal((n, n))
    centred -= centred.mean(axis=1, keepdims=True)
    entry = np.zeros((n, n))
    entry[2, 1] = -3.0
    for g in (centred, np.outer(centred[0], centred[1]), entry, np.eye(n), np.zeros((n, n))):
        u, v = top_singular(g)
        top = np.linalg.svd(g, compute_uv=False)[0]
        assert values(g, u, v) == pytest.approx(top, rel=1e-12, abs=0.0)
        assert np.linalg.norm(u) == pytest.approx(1.0)
        assert np.linalg.norm(v) == pytest.approx(1.0)
        a = -g - g.T
        x = top_eigenvector(a)
        assert x @ a @ x == pytest.approx(np.linalg.eigvalsh(a)[-1], rel=1e-10, abs=1e-12)


def test_answers_repeat_also_for_ties():
    for n in (6, 350):
        g = np.eye(n)
        first, again = top_singular(g), top_singular(g.copy())
        for x, y in zip(first, again, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("count", [3, 20])
@pytest.mark.parametrize("n", [1, 2, 9, 64, 70])
def test_top_eigenvectors_of_indefinite_batches(n, count):
    rng = np.random.default_rng(6)
    a = rng.standard_normal((count, n, n))
    a += a.swapaxes(-1, -2)
    a[0] = -np.eye(n)
    a[1] -= 100.0 * np.eye(n)
    x = top_eigenvector(a)
    top = np.linalg.eigvalsh(a)[:, -1]
    scale = abs(a).max(axis=(1, 2))
    assert np.all(abs(values(a, x, x) - top) <= 1e-11 * scale)


def test_leading_eigenvectors_come_in_descending_order():
    rng = np.random.default_rng(7)
    for n, k in ((5, 5), (350, 3)):
        a = rng.standard_normal((n, n))
        a = a + a.T
        x = leading_eigenvectors(a, k)
        np.testing.assert_allclose(values(a, x, x), np.linalg.eigvalsh(a)[::-1][:k], rtol=1e-8)
        np.testing.assert_allclose(x @ x.T, np.eye(k), atol=1e-10)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-150, 1.0, 1e150, 1e200, 1e300])
def test_scaling_is_exact_and_keeps_squares_in_range(scale):
    g = scale * np.random.default_rng(8).standard_normal((3, 4, 2))
    g[1] = 0.0
    h, exponent = unit_scale(g)
    np.testing.assert_array_equal(np.ldexp(h, exponent[:, None, None]), g)
    size = (h * h).sum(axis=(1, 2))
    assert np.all((size[[0, 2]] > 1e-100) & (size[[0, 2]] < 1e100))


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_on_a_singular_value_is_proved_in_exact_arithmetic(seed):
    rng = np.random.default_rng(seed)
    g = rng.standard_normal((5, 4)) * 10.0 ** rng.integers(-6, 1, (5, 4))
    if seed % 2:
        g = with_spectrum(rng, 5, 4, [1.0, 1.0, 1.0 - 1e-15, 0.2])
    top = np.linalg.svd(g, compute_uv=False)[0]
    gram = exact(g).T @ exact(g)
    for guess in (top, 0.999 * top, 0.0, -1.0, 2.0 * top, np.nextafter(top, 0.0)):
        bound = singular_ceiling(g, guess)
        assert is_psd(Fraction(bound) ** 2 * exact(np.eye(4)) - gram)
    assert singular_ceiling(g, top) <= top * (1 + 1e-13)
    # the test can fail: a bound that is too small by rounding is refused
    assert not is_psd(Fraction(top * (1 - 1e-14)) ** 2 * exact(np.eye(4)) - gram)


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_on_an_eigenvalue_is_proved_in_exact_arithmetic(seed):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((5, 5))
    a = a - (seed % 3) * 10.0 * np.eye(5)
    symmetric = (exact(a) + exact(a).T) / 2
    top = np.linalg.eigvalsh((a + a.T) / 2)[-1]
    for guess in (top, top - 1.0, top - 1e-9, top + 1.0):
        bound = symmetric_ceiling(a, guess)
        assert is_psd(Fraction(bound) * exact(np.eye(5)) - symmetric)
    assert symmetric_ceiling(a, top) - top <= 1e-13 * np.linalg.norm(a)


def test_a_bad_guess_costs_accuracy_but_never_truth():
    a = np.diag([1.0, 2.0, 3.0])
    for guess in (-1e6, 0.0, 1.0, 3.0, 1e6):
        bound = eigenvalue_ceiling(a, guess)
        assert 3.0 <= bound <= np.linalg.norm(a) * (1 + 1e-12)


@pytest.mark.parametrize("exponent", [-1020, -600, 0, 600, 1000])
def test_bounds_at_any_scale(exponent):
    # a Hadamard matrix over 2 is orthogonal without rounding: singular values are known exactly
    H = np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    g = np.ldexp((H * [8.0, 4.0, 2.0, 1.0]) @ H.T, exponent)
    unit = np.ldexp(1.0, exponent)
    near = 8.0 * unit
    assert near <= singular_ceiling(g, near) <= near * (1 + 1e-13)
    assert near <= symmetric_ceiling(g, near) <= near * (1 + 1e-13)
    for order, norm in ((1, 15.0), (2, 85.0**0.5), (np.inf, 8.0)):
        assert norm * unit <= schatten_ceiling(g, order) <= norm * unit * (1 + 1e-13)


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (40, 20)])
@pytest.mark.parametrize("order", [1, 1.3, 2, 5, np.inf])
def test_the_bound_on_a_schatten_norm_is_above_and_tight(shape, order):
    g = np.random.default_rng(9).standard_normal(shape)
    norm = np.linalg.norm(np.linalg.svd(g, compute_uv=False), order)
    assert norm * (1 - 1e-14) <= schatten_ceiling(g, order) <= norm * (1 + 1e-12)


def test_bounds_of_zero_are_zero():
    zero = np.zeros((3, 2))
    assert singular_ceiling(zero, 0.0) == 0.0
    assert symmetric_ceiling(zero[:2], 0.0) == 0.0
    assert schatten_ceiling(zero, 1) == 0.0


LARGE_SETS = [
    s.Spectrahedron(70),
    s.TraceNormBall((70, 80)),
    s.OperatorNormBall((70, 80)),
    s.SchattenBall((70, 80), 3.0),
    s.Fantope(70, 3),
]


@pytest.mark.parametrize("K", LARGE_SETS, ids=lambda K: type(K).__name__)
def test_batches_end_at_the_deadline(K, monkeypatch):
    g = np.random.default_rng(0).standard_normal((6, *K.shape))
    whole = np.asarray(K.lmo(g))
    counts = Counts()
    ticks = iter(range(100))
    monkeypatch.setattr("time.perf_counter", lambda: next(ticks))
    counts.allow(1000.0, np.inf)
    with counted(counts):
        counts.ask(6)
        np.testing.assert_array_equal(np.asarray(K.lmo(g)), whole)
    assert (counts.nlmo, counts.begun) == (6, 6)
    ticks = iter(range(100))
    counts.allow(4.0, np.inf)
    with counted(counts):
        counts.ask(6)  # the first look at the clock; each matrix is another
        with pytest.raises(LimitReached):
            K.lmo(g)
    assert counts.nlmo == 6 + 3
