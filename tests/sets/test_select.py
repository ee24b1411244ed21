"""Selection of the largest entries of many rows, against sorting."""

from __future__ import annotations

import numpy as np
import pytest

from wolfpack.sets._select import _above_common_level, largest


def by_sorting(rows, k, key):
    """Return the k largest of each row, of equal ones the first, in ascending position."""
    return np.sort(np.argsort(-key(rows), axis=1, kind="stable")[:, :k], axis=1)


def perturbed(rng, batch, n):
    return 3.0 * rng.standard_normal(n) + rng.standard_normal((batch, n))


ROWS = {
    "independent": lambda rng, batch, n: rng.standard_normal((batch, n)),
    "perturbed": perturbed,
    "of different scales": lambda rng, batch, n: (
        10.0 ** rng.integers(-150, 150, (batch, 1)) * rng.standard_normal((batch, n))
    ),
    "one larger": lambda rng, batch, n: (
        rng.standard_normal((batch, n)) * np.where(np.arange(batch) == 1, 1.5, 1.0)[:, None]
    ),
    "tied": lambda rng, batch, n: rng.integers(-3, 4, (batch, n)).astype(float),
    "mostly zero": lambda rng, batch, n: (
        rng.standard_normal((batch, n)) * (rng.random((batch, n)) < 3 / n)
    ),
}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize(("batch", "n"), [(1, 1000), (7, 300), (8, 1000), (64, 1000), (9, 5003)])
@pytest.mark.parametrize("k", [1, 2, 10, 40, 300])
@pytest.mark.parametrize("key", [np.absolute, np.negative, np.positive])
def test_the_largest_are_those_that_sorting_finds(kind, batch, n, k, key):
    rows = ROWS[kind](np.random.default_rng(batch + n + k), batch, n)
    expected = by_sorting(rows, k, key)
    np.testing.assert_array_equal(largest(rows, k, key), expected)
    np.testing.assert_array_equal(largest(np.asfortranarray(rows), k, key), expected)


def test_a_common_level_is_found_for_rows_alike_and_refused_for_others():
    rng = np.random.default_rng(0)
    for kind in ("independent", "perturbed"):
        rows = abs(ROWS[kind](rng, 64, 1000))
        flat = _above_common_level(rows, 10, 26, np.positive)
        assert flat is not None
        expected = by_sorting(rows, 10, np.positive) + 1000 * np.arange(64)[:, None]
        np.testing.assert_array_equal(flat.reshape(64, 10), expected)
    for rows in (ROWS["of different scales"](rng, 64, 1000), np.ones((64, 1000))):
        assert _above_common_level(rows, 10, 26, np.absolute) is None
