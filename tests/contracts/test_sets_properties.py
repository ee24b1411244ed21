"""Property tests: shapes, scales 1e-150..1e150, dtypes, memory layouts, ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .registry import CASES

few = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
seeds = st.integers(0, 2**32 - 1)
exponents = st.integers(-150, 150)
layouts = st.sampled_from(["plain", "read-only", "reversed", "strided", "transposed"])
kinds = st.sampled_from(["gaussian", "integers", "sparse", "wide"])
point_kinds = st.sampled_from(["gaussian", "integers", "sparse", "wide", "equal", "close"])
every_set = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def direction(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> np.ndarray:
    """Return a direction whose largest entry is about 1; integers and sparse ones have ties."""
    if kind == "integers":
        return rng.integers(-2, 3, shape) / 2.0
    g = rng.standard_normal(shape)
    if kind == "sparse":
        return g * (rng.random(shape) < 0.3)
    if kind in ("equal", "close"):
        return 1.0 + (1e-12 * g if kind == "close" else 0.0 * g)
    return g * 10.0 ** rng.integers(-9, 1, shape) if kind == "wide" else g


def laid_out(g: np.ndarray, layout: str) -> np.ndarray:
    """Return an array equal to g with another layout in memory."""
    if layout == "reversed":
        return g[::-1].copy()[::-1]
    if layout == "strided":
        return np.repeat(g, 2, axis=-1)[..., ::2]
    if layout == "transposed":
        return g.T.copy().T
    g = g.copy()
    g.flags.writeable = layout != "read-only"
    return g


def instance(case, n: int, seed: int):
    """Return a set of the case's family at size n, and its minimum; else the small instance."""
    if case.family is None:
        return case.small(), case.min_small
    return case.family(n, np.random.default_rng(seed))


@every_set
@few
@given(n=st.integers(1, 7), seed=seeds, exponent=exponents, layout=layouts, kind=kinds)
def test_any_scale_layout_and_tie(case, n, seed, exponent, layout, kind):
    K, minimum = instance(case, n, seed)
    unit = direction(np.random.default_rng(seed), K.shape, kind)
    scale = 10.0**exponent
    g = laid_out(scale * unit, layout)
    kept = g.copy()
    vertex = K.lmo(g)
    dense = vertex.to_dense()
    np.testing.assert_array_equal(g, kept)
    assert K.contains(dense)
    # judged at scale 1, where the products neither overflow nor vanish
    found = float(np.vdot(g / scale, dense))
    tol = max(case.rtol, 1e-12) * (1e-300 + np.linalg.norm(unit)) * K.radius
    assert found == pytest.approx(minimum(unit), rel=0, abs=2 * tol)
    assert float(vertex.dot(g)) / scale == pytest.approx(found, rel=0, abs=2 * tol)
    if K.polytope:
        np.testing.assert_array_equal(dense, K.lmo(kept).to_dense())


@every_set
@few
@given(n=st.integers(1, 7), seed=seeds, exponent=st.integers(-30, 30), kind=kinds)
def test_single_precision(case, n, seed, exponent, kind):
    K, minimum = instance(case, n, seed)
    unit = direction(np.random.default_rng(seed), K.shape, kind).astype(np.float32)
    g = np.float32(10.0**exponent) * unit
    dense = K.lmo(np.stack([g, g])).to_dense()
    if K.has("project"):
        p = K.project(g)
        assert p.dtype == np.float32
        assert K.contains(p, tol=2e-6)
    found = (dense.astype(float) * unit).reshape(2, -1).sum(axis=1)
    exact = minimum(unit.astype(float))
    tol = 2e-6 * (1e-30 + float(np.linalg.norm(unit))) * K.radius
    np.testing.assert_allclose(found, [exact, exact], rtol=0, atol=tol)
    assert K.contains(dense[0], tol=2e-6)


@every_set
@pytest.mark.parametrize("dtype", ["f2", ">f8", "i4", "u1"])
def test_numbers_of_any_kind(case, dtype):
    K = case.small()
    g = np.random.default_rng(0).integers(0, 4, (3, *K.shape))
    expected = K.lmo(1.0 * g).to_dense()
    np.testing.assert_array_equal(K.lmo(g.astype(dtype)).to_dense(), expected)
    rounded = expected[0].astype(dtype)
    assert K.contains(rounded) == K.contains(rounded.astype(float))
    if K.has("project"):
        np.testing.assert_array_equal(K.project(g[0].astype(dtype)), K.project(1.0 * g[0]))


@every_set
@few
@given(n=st.integers(1, 7), seed=seeds, count=st.integers(1, 5), layout=layouts, kind=kinds)
def test_batches_of_any_size_and_layout(case, n, seed, count, layout, kind):
    K, _ = instance(case, n, seed)
    batch = direction(np.random.default_rng(seed), (count, *K.shape), kind)
    answers = K.lmo(laid_out(batch, layout))
    dense = answers.to_dense()
    assert dense.shape == batch.shape
    for g, row in zip(batch, dense, strict=True):
        single = K.lmo(g).to_dense()
        if K.polytope:
            np.testing.assert_array_equal(row, single)
        else:
            tol = 2 * max(case.rtol, 1e-12) * np.linalg.norm(g) * K.radius
            assert float(np.vdot(g, row)) == pytest.approx(float(np.vdot(g, single)), abs=tol)


@every_set
@few
@given(n=st.integers(1, 7), seed=seeds)
def test_answers_and_their_averages_are_inside_the_radius(case, n, seed):
    K, _ = instance(case, n, seed)
    rng = np.random.default_rng(seed)
    answers = K.lmo(rng.standard_normal((6, *K.shape)))
    lengths = np.linalg.norm(answers.to_dense().reshape(6, -1), axis=1)
    assert lengths.max() <= K.radius * (1 + 1e-12)
    assert K.contains(answers.mean())
    assert K.contains(0.5 * K.start() + 0.5 * answers.mean())


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.small().has("project")], ids=lambda case: case.name
)
@few
@given(n=st.integers(1, 7), seed=seeds, exponent=exponents, layout=layouts, kind=point_kinds)
def test_projections_of_any_scale_and_layout(case, n, seed, exponent, layout, kind):
    K, minimum = instance(case, n, seed)
    unit = direction(np.random.default_rng(seed), K.shape, kind)
    x = laid_out(10.0**exponent * unit, layout)
    kept = x.copy()
    p = K.project(x)
    np.testing.assert_array_equal(x, kept)
    assert K.contains(p, 1e-12 * min(1.0, K.radius))
    # <x - p, v - p> <= 0 for every v in K, up to the rounding of x and p
    size = np.linalg.norm(unit) * 10.0**exponent + K.radius or 1.0
    u = (x - p) / size
    assert -minimum(-u) - float(np.vdot(u, p)) <= 4 * max(case.rtol, 1e-12) * K.radius


@every_set
@few
@given(n=st.integers(1, 7), seed=seeds, exponent=st.integers(9, 300), kind=point_kinds)
def test_contains_nothing_far_away(case, n, seed, exponent, kind):
    K, _ = instance(case, n, seed)
    x = 10.0**exponent * direction(np.random.default_rng(seed), K.shape, kind)
    far = abs(x).max() > 10.0 * max(1.0, K.radius)
    assert not (far and K.contains(x))
