"""Rounds are whole numbers, whatever their type."""

from __future__ import annotations

import numpy as np
import pytest

from wolfpack.theory import _check


@pytest.mark.parametrize("k", [2, 2.0, np.float32(2), np.int8(2), [1.0, 2.0], np.arange(1, 4)])
def test_whole_numbers_are_rounds(k):
    found = _check.rounds("k", k)
    assert found.dtype == np.int64
    assert found.tolist() == np.asarray(k).tolist()


@pytest.mark.parametrize("k", [1.5, [1.0, 2.5], np.inf, np.nan, "2", True, 2 + 0j, None])
def test_other_values_are_not(k):
    with pytest.raises(ValueError, match="k must be an integer"):
        _check.rounds("k", k)
