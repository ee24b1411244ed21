"""Results on the disk: an answer in factors stays in factors."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.arrays import LowRank
from wolfpack.report import run_page


def completion(n: int = 400) -> wp.Result:
    """A matrix that is known at a few places only: its iterates have low rank."""
    rng = np.random.default_rng(0)
    at = rng.choice(n * n, 3 * n, replace=False)
    f = wp.objectives.MatrixCompletion(at // n, at % n, rng.standard_normal(3 * n), (n, n))
    K = wp.sets.TraceNormBall((n, n), 5.0)
    return wp.minimize(f, K, method="corrective", m=1, tol=0, max_rounds=4)


def test_factors_are_saved_and_come_back(tmp_path):
    result = completion()
    assert isinstance(result.x, LowRank)
    path = result.save(tmp_path / "answer")
    with np.load(path, allow_pickle=False) as data:
        assert {"U", "S", "V"} <= set(data.files)
        assert "x" not in data.files
    assert path.stat().st_size < 8 * 400 * 400 / 4
    back = wp.load(path)
    assert isinstance(back.x, LowRank)
    for name in ("U", "s", "V"):
        np.testing.assert_array_equal(getattr(back.x, name), getattr(result.x, name))
    assert back.fun == result.fun
    plain = result.to_dict()["x"]
    U, S, V = (np.array(plain[name]) for name in "USV")
    np.testing.assert_allclose((U * S) @ V.T, np.asarray(result.x))
    assert back.to_dict()["x"] == plain


def test_the_page_of_a_large_answer_in_factors_is_drawn():
    result = completion(1100)  # more than a million entries
    page = run_page(back := wp.Result(result))
    sizes = np.linalg.svd(np.asarray(back.x), compute_uv=False)
    assert f": {sizes[0]:.6g}</title>" in page
    assert "as means over 48 x 48 blocks" in page


def test_a_dense_answer_is_an_array_as_ever(tmp_path):
    f = wp.objectives.LeastSquares(np.eye(2), np.array([0.9, 0.4]))
    result = wp.minimize(f, wp.sets.Simplex(2))
    back = wp.load(result.save(tmp_path / "answer.npz"))
    np.testing.assert_array_equal(back.x, result.x)
    np.savez(tmp_path / "other.npz", x=np.ones(2))
    with pytest.raises(ValueError, match="is not a saved result"):
        wp.load(tmp_path / "other.npz")
