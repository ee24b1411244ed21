"""Quadratics over a simplex of weights against an independent solver."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import lapack

from wolfpack.solvers.parts.barycentric import _Face, minimize_weights


def minimize_quadratic(G: np.ndarray, c: np.ndarray, w: np.ndarray, tol: float) -> np.ndarray:
    return minimize_weights(G, G @ w + c, w, tol)[0]


def reference(root: np.ndarray, c: np.ndarray) -> float:
    w = cp.Variable(len(c), nonneg=True)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(root @ w) + c @ w), [cp.sum(w) == 1])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11)
    return float(problem.value)


def problems() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(3)
    tall, flat = rng.standard_normal((40, 25)), rng.standard_normal((3, 25))
    repeated = np.repeat(rng.standard_normal((8, 5)), 4, axis=1)
    return {
        "definite": (tall, rng.standard_normal(25)),
        "inside": (tall[:, :4], -tall[:, :4].T @ tall[:, :4] @ np.full(4, 0.25)),
        "deficient": (flat, rng.standard_normal(25)),
        "repeated points": (repeated, np.repeat(rng.standard_normal(5), 4)),
        "linear": (np.zeros((1, 6)), rng.standard_normal(6)),
        "constant": (np.zeros((1, 6)), np.ones(6)),
        "badly scaled": (tall @ np.diag(np.logspace(-3, 3, 25)), rng.standard_normal(25)),
        "two points": (tall[:, :2], np.array([0.3, -0.2])),
    }


@pytest.mark.parametrize("name", problems())
@pytest.mark.parametrize("start", ["vertex", "middle"])
def test_the_minimum_is_found_from_anywhere(name, start):
    root, c = problems()[name]
    n, G = len(c), root.T @ root
    w0 = np.eye(n)[0] if start == "vertex" else np.full(n, 1 / n)
    w = minimize_quadratic(G, c, w0, 1e-12)
    assert w.min() >= 0
    assert w.sum() == pytest.approx(1.0, abs=1e-14)
    value = 0.5 * w @ G @ w + c @ w
    best = reference(root, c)
    assert value <= best + 1e-7 * max(1.0, abs(best))
    slopes = G @ w + c
    # what bounds the distance to the minimum, relative to the size of the slopes
    assert slopes[w > 0].max() - slopes.min() <= 1e-8 * max(1.0, abs(G).max())


def test_one_point_is_its_own_answer():
    np.testing.assert_array_equal(
        minimize_quadratic(np.ones((1, 1)), np.zeros(1), np.ones(1), 0.0), [1.0]
    )


def test_the_starting_weights_are_not_written_to():
    root, c = problems()["definite"]
    w0 = np.full(25, 1 / 25)
    minimize_quadratic(root.T @ root, c, w0, 1e-12)
    np.testing.assert_array_equal(w0, np.full(25, 1 / 25))


def test_a_matrix_that_is_not_semidefinite_does_not_trap_the_search():
    G = np.diag([1.0, -1e9, 2.0, 3.0])
    w = minimize_quadratic(G, np.zeros(4), np.full(4, 0.25), 1e-9)
    assert w.sum() == pytest.approx(1.0)
    assert w @ G @ w < np.full(4, 0.25) @ G @ np.full(4, 0.25)


def test_a_face_is_continued_and_seldom_factored_anew(monkeypatch):
    rng = np.random.default_rng(5)
    factored, plain = [0], lapack.dpotrf
    monkeypatch.setattr(
        lapack, "dpotrf", lambda *a, **k: factored.__setitem__(0, factored[0] + 1) or plain(*a, **k)
    )
    V = rng.standard_normal((150, 60))
    c, w, face = V @ rng.standard_normal(60), np.eye(1)[0], None
    for n in range(1, 151):
        G, w = V[:n] @ V[:n].T, np.append(w, np.zeros(n - len(w)))
        w, face = minimize_weights(G, G @ w + c[:n], w, 1e-10, face)
        slopes = G @ w + c[:n]
        assert slopes[w > 0].max() - slopes.min() <= 1e-8
        if face is not None and n % 25 == 0:
            used, s = face.order, len(face.order)
            R = face.buffer[:s, :s]
            assert set(used) == set(np.flatnonzero(w))
            np.testing.assert_allclose(R.T @ R, G[np.ix_(used, used)] + face.shift, rtol=1e-9)
            np.testing.assert_allclose(R.T @ face.ones, 1.0, atol=1e-9)
    assert factored[0] <= 3


def test_an_earlier_face_is_not_changed_by_a_later_correction():
    rng = np.random.default_rng(6)
    V = rng.standard_normal((40, 30))
    G, c = V @ V.T, -V @ V.mean(axis=0)
    w, first = minimize_weights(G, G[0] + c, np.eye(40)[0], 1e-3)
    assert first is not None
    before = first.saved_fields()
    target = [minimize_weights(G, G @ w + t * c, w, 1e-9, first)[0] for t in (1.0, 3.0, 1.0)]
    np.testing.assert_array_equal(target[0], target[2])
    for name, value in first.saved_fields().items():
        np.testing.assert_array_equal(value, before[name])


def test_a_face_that_others_have_grown_from_still_solves_its_own_equations():
    first = _Face(np.eye(9), None, np.arange(9) < 4).frozen()
    slopes, used = np.array([1.0, -2.0, 3.0, 0.5]), np.arange(9) < 4
    before = _Face(np.eye(9), first, used).descent(slopes)
    np.testing.assert_allclose(before, slopes.mean() - slopes)
    for added in (4, 5, 6):  # the first one grows in the place of the face, the others in copies
        grown, five = _Face(np.eye(9), first, used), np.append(slopes, 0.0)
        grown.add(added)
        np.testing.assert_allclose(grown.descent(five), five.mean() - five, atol=1e-11)
        np.testing.assert_array_equal(_Face(np.eye(9), first, used).descent(slopes), before)


def test_a_face_follows_points_that_move_and_go():
    rng = np.random.default_rng(7)
    V = rng.standard_normal((30, 30))
    G, c = V @ V.T, -V @ V.mean(axis=0)
    w, face = minimize_weights(G, G[0] + c, np.eye(30)[0], 1e-10)
    assert face is not None
    kept = np.setdiff1d(np.arange(30), [0, 3, 17])
    smaller, start = G[np.ix_(kept, kept)], w[kept] / w[kept].sum()
    found, _ = minimize_weights(
        smaller, smaller @ start + c[kept], start, 1e-10, face.only(kept, 30)
    )
    again, _ = minimize_weights(smaller, smaller @ start + c[kept], start, 1e-10)
    np.testing.assert_allclose(found, again, atol=1e-8)
