"""The levels of projections against exact rational arithmetic, and their cost."""

from fractions import Fraction

import numpy as np
import pytest

from wolfpack.sets import CappedSimplex, KSparse, L1Ball, Simplex
from wolfpack.sets._level import above_level, clip_to_total

SIZES = (1, 2, 7, 127, 129, 200)


def points(n):
    """Return points that are hard in one way each."""
    rng = np.random.default_rng(n)
    normal = rng.standard_normal(n)
    return {
        "normal": normal,
        "small": 1e-3 * normal,
        "equal": np.full(n, 0.3),
        "ties": np.round(2 * normal) / 4,
        "far": 1e8 + normal,
        "far below": -1e8 + normal / n,
        "halved": 1.0 - 0.5 ** np.minimum(np.arange(n), 1000.0),
        "one outlier": np.where(np.arange(n) == n // 2, 1e12, normal),
        "single": normal.astype(np.float32),
    }


def exact_above_level(u, total, weights):
    """Return the solution by sorting, in rationals."""
    u, w = [Fraction(float(a)) for a in u], [Fraction(float(a)) for a in weights]
    level, moment, mass = None, Fraction(-total), Fraction(0)
    for i in sorted(range(len(u)), key=lambda i: -u[i]):
        moment, mass = moment + w[i] * u[i], mass + w[i]
        level = moment / mass if level is None else max(level, moment / mass)
    return np.array([float(max(a - level, 0)) for a in u])


def exact_clip(x, caps, total):
    """Return the solution by bisection over the kinks, in rationals."""
    x, c = [Fraction(float(a)) for a in x], [Fraction(float(a)) for a in caps]
    total = Fraction(total)

    def clipped(t):
        return [min(max(a - t, Fraction(0)), b) for a, b in zip(x, c, strict=True)]

    kinks = sorted({*x, *(a - b for a, b in zip(x, c, strict=True))})
    low, high = 0, len(kinks) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if sum(clipped(kinks[middle])) >= total else (low, middle)
    at_low, at_high = sum(clipped(kinks[low])), sum(clipped(kinks[high]))
    share = (at_low - total) / (at_low - at_high) if at_low > at_high else Fraction(0)
    return np.array([float(a) for a in clipped(kinks[low] + share * (kinks[high] - kinks[low]))])


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", points(1))
@pytest.mark.parametrize("weighted", [False, True])
def test_above_level_is_exact_to_the_last_digits(n, kind, weighted):
    u = points(n)[kind]
    weights = np.random.default_rng(1).uniform(0.1, 1.0, n) if weighted else np.ones(n)
    for total in (1.0, 1e-3, 50.0):
        x = above_level(u, total, weights if weighted else None)
        assert x.dtype == np.float64
        assert x.min() >= 0.0
        assert weights @ x == pytest.approx(total, rel=1e-14)
        bound = 1e-14 * total / weights.min()
        np.testing.assert_allclose(x, exact_above_level(u, total, weights), rtol=0, atol=bound)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", points(1))
@pytest.mark.parametrize("caps", ["equal", "several", "zeros", "one wide"])
def test_clip_to_total_is_exact_to_the_last_digits(n, kind, caps):
    x, rng = points(n)[kind], np.random.default_rng(2)
    c = {
        "equal": np.full(n, 0.25),
        "several": rng.uniform(0.1, 1.0, n),
        "zeros": np.where(rng.random(n) < 0.5, 0.0, 0.5) + 0.1 * (np.arange(n) == 0),
        "one wide": np.where(np.arange(n) == n - 1, 10.0, 0.2),
    }[caps]
    for share in (1e-3, 0.1, 0.5, 1.0):
        total = share * float(c.sum())
        p = clip_to_total(x, c, total)
        assert p.min() >= 0.0
        assert (p <= c).all()
        assert p.sum() == pytest.approx(total, rel=1e-14)
        np.testing.assert_allclose(p, exact_clip(x, c, total), rtol=0, atol=1e-14 * n * c.max())


def test_bisection_takes_over_where_steps_of_newton_do_not_arrive():
    # the kinks accumulate at both ends of the bracket, at all scales
    steps = 0.5 ** np.arange(1000.0)
    x, c = np.concatenate([-steps, steps - 1.0]), np.concatenate([steps, 1.0 - steps])
    for share in (0.1, 0.5, 0.9):
        p = clip_to_total(x, c, share * float(c.sum()))
        assert p.sum() == pytest.approx(share * c.sum(), rel=1e-14)


def test_infinite_differences_are_below_every_level():
    u = np.array([1.7e308, -1.7e308, 0.0])
    np.testing.assert_array_equal(above_level(u, 1.0), [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(above_level(np.repeat(u, 100), 1.0)[:100], np.full(100, 0.01))
    np.testing.assert_array_equal(clip_to_total(u, np.full(3, 0.5), 1.0), [0.5, 0.0, 0.5])


@pytest.mark.parametrize(
    "K",
    [
        Simplex(5000),
        L1Ball(5000),
        KSparse(5000, 10),
        CappedSimplex(5000, cap=0.1),
        CappedSimplex(5000, cap=np.linspace(0.0, 0.1, 5000)),
    ],
    ids=repr,
)
def test_projections_of_long_vectors_sort_few_entries(K, monkeypatch):
    def short(sort):
        def checked(a, *args, **kwargs):
            assert a.size <= 128
            return sort(a, *args, **kwargs)

        return checked

    monkeypatch.setattr(np, "sort", short(np.sort))
    monkeypatch.setattr(np, "argsort", short(np.argsort))
    x = np.random.default_rng(0).standard_normal(5000)
    assert K.contains(K.project(x), 1e-14)
    assert K.contains(K.project(1e-4 * x), 1e-14)
