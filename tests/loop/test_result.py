"""Results on the disk: an answer in factors stays in factors."""

from __future__ import annotations

from functools import cache

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


def same(a, b):
    """Whether two values of a field are equal, arrays and histories included."""
    if isinstance(a, wp.Result):
        assert set(a) == set(b)
        return all(same(a[name], b[name]) for name in a)
    if isinstance(a, np.ndarray | LowRank):
        return np.array_equal(
            np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f"
        )
    if hasattr(a, "columns"):  # a history, or an engine's log
        return a.columns == b.columns and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, float) and np.isnan(a):
        return np.isnan(b)
    fields = getattr(a, "__dataclass_fields__", None)
    if fields is not None:
        return all(same(getattr(a, name), getattr(b, name)) for name in fields)
    if hasattr(a, "__dict__") and type(a).__module__.startswith("wolfpack"):
        return type(a) is type(b) and same(vars(a), vars(b))
    return type(a) is type(b) and a == b


KINDS = ("random", "auto", "bpcg", "engine", "starts", "composite", "passes", "between")
KINDS += ("integer", "integer, engine")


@cache
def results():
    """Results by kind, which have every public field between them."""
    return dict(zip(KINDS, made(), strict=True))


def made():
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((30, 8)), rng.standard_normal(30)
    f, K = wp.objectives.LeastSquares(A, b), wp.sets.Simplex(8)
    yield wp.minimize(lambda x, rng: x - b[:8] + rng.standard_normal(8), K, max_rounds=9)
    yield wp.minimize(f, K)
    yield wp.minimize(f, K, method="bpcg", max_rounds=7, tol=0)
    yield wp.minimize(f, K, method="anytime", m=8, engine="threads:2", max_rounds=5, tol=0)
    yield wp.minimize(
        lambda x: (float(-x @ x), -2 * x), K, method="fw-ls", convex=False, starts=2, seed=1
    )
    H = wp.regularizers.SquaredNorm(1.0)
    yield wp.minimize_composite(f, H, max_rounds=5, scale=np.full(8, 2.0))
    logistic = wp.objectives.Logistic(A, np.sign(b), batch=4)
    yield wp.minimize_composite(logistic, H, max_rounds=9, tol=0)
    yield wp.between(K, wp.sets.Simplex(8, 2.0))
    integer = wp.objectives.Quadratic(np.eye(8), -A[0])
    yield wp.minimize_integer(integer, wp.sets.Hypersimplex(8, 3))
    yield wp.minimize_integer(integer, wp.sets.Hypersimplex(8, 3), engine="threads:2")


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_comes_back(tmp_path, kind):
    result = results()[kind]
    back = wp.load(result.save(tmp_path / "answer"))
    assert set(back) == set(result)
    for name in result:
        assert same(result[name], back[name]), f"{name}: {result[name]!r} became {back[name]!r}"
    if result.active is not None:
        np.testing.assert_array_equal(back.active.vertices, result.active.vertices)
        np.testing.assert_array_equal(back.decompose().weights, result.decompose().weights)
    if result.engine is not None:
        np.testing.assert_array_equal(back.engine.timeline, result.engine.timeline)
        np.testing.assert_array_equal(back.engine.per_worker, result.engine.per_worker)


def test_the_fields_of_all_kinds_are_tried():
    tried = set().union(*map(set, results().values()))
    assert tried == set(wp.Result.__annotations__)


def test_a_plan_from_a_file_repeats_the_run(tmp_path):
    rng = np.random.default_rng(0)
    f = wp.objectives.LeastSquares(rng.standard_normal((30, 8)), rng.standard_normal(30))
    result = wp.minimize(f, wp.sets.Simplex(8))
    plan = wp.load(result.save(tmp_path / "answer")).plan
    again = wp.minimize(f, wp.sets.Simplex(8), method=plan)
    np.testing.assert_array_equal(again.x, result.x)


def test_the_state_can_be_left_out(tmp_path):
    f = wp.objectives.LeastSquares(np.eye(2), np.array([0.9, 0.4]))
    back = wp.load(
        wp.minimize(f, wp.sets.Simplex(2), method="bpcg").save(tmp_path / "a", state=False)
    )
    assert back.state is None
    assert back.active is None


def test_dictionaries_have_what_only_some_runs_have():
    found = {kind: result.to_dict() for kind, result in results().items()}
    assert found["integer"]["nodes"] > 0
    assert found["passes"]["passes"] > 0
    assert found["composite"]["scale"] == [2.0] * 8
    assert "from round 0" in found["auto"]["plan"]
    assert len(found["starts"]["starts"]) == 2
    assert found["engine"]["engine"] == "threads:2"


def test_answers_to_many_problems_come_back(tmp_path):
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((4, 9, 5)), rng.standard_normal((4, 9))
    many = wp.minimize_many(wp.objectives.LeastSquares(A, b), wp.sets.Simplex(5))
    back = wp.load(many.save(tmp_path / "many"))
    for name in many.__dataclass_fields__:
        assert same(getattr(many, name), getattr(back, name)), name
    np.testing.assert_array_equal(many.success, back.success)
    assert same(many[2], back[2])
