"""Batches of sets: each row's projection is that of its own set, however far its point is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wolfpack import sets
from wolfpack.sets.batched import batched

D = 12
SETS: dict[str, Any] = {
    "simplex": sets.Simplex(D, 2.0),
    "l1": sets.L1Ball(D),
    "weighted l1": sets.WeightedL1Ball(np.linspace(0.1, 3.0, D)),
    "l2": sets.L2Ball(D),
    "k-sparse": sets.KSparse(D, 3),
    "capped": sets.CappedSimplex(D, 0.3),
    "hypersimplex": sets.Hypersimplex(D, 4),
    "trace norm": sets.TraceNormBall((3, 4)),
    "spectrahedron": sets.Spectrahedron(4),
    "birkhoff": sets.Birkhoff(5),
    "product": sets.Product(sets.Hypersimplex(4, 2), sets.Birkhoff(3)),
}


def projections(K: Any, Z: np.ndarray) -> np.ndarray:
    """Return the projections of a batch, after a test that they are points of the set."""
    batch = batched(K, len(Z), Z)
    assert batch is not None
    X = batch.project(Z.reshape(len(Z), -1))
    assert batch.violation(X).max() < 1e-8
    return X.reshape(Z.shape)


@pytest.mark.parametrize("kind", ["normal", "ties", "one large entry"])
@pytest.mark.parametrize("name", SETS)
def test_projections_of_points_near_and_far(name: str, kind: str) -> None:
    K, rng = SETS[name], np.random.default_rng(0)
    for scale in (0.0, 1e-300, 1.0, 1e3, 1e8, 1e15):
        Z = rng.normal(size=(4, *K.shape))
        Z = np.round(Z) if kind == "ties" else Z
        Z = Z + Z.mT if isinstance(K, sets.Spectrahedron) else Z
        if kind == "one large entry":
            Z.reshape(4, -1)[:, 0] += 1e6
        found = projections(K, scale * Z)
        expected = np.stack([K.project(z) for z in scale * Z])
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("name", ["capped", "hypersimplex", "k-sparse"])
def test_sums_of_far_points_are_met_without_the_sets_themselves(
    name: str, monkeypatch: Any
) -> None:
    K = SETS[name]
    monkeypatch.setattr(type(K), "_project", None)
    Z = np.random.default_rng(5).normal(size=(50, D))
    for scale in (1.0, 1e3, 1e5):
        projections(K, scale * Z)


def test_transport_plans_of_costs_that_count_for_much(monkeypatch: Any) -> None:
    # the nearest plan to -C/eps has nearly the least cost: entries differ by hundreds
    rng = np.random.default_rng(3)
    points = rng.normal(size=(2, 4, 32, 2))
    C = ((points[0][:, :, None] - points[1][:, None]) ** 2).sum(axis=3)
    K = sets.Birkhoff(32)
    monkeypatch.setattr(sets.Birkhoff, "_project", None)  # Newton's method is enough
    found = projections(K, np.concatenate([-C / 0.3, -C / 0.01, -C]))
    for x, c in zip(found[4:8], C, strict=True):
        assert (c * x).sum() <= (c * K.lmo(c).to_dense()).sum() + 0.01 * 32
    # a far point in the batch changes nothing for a near one
    np.testing.assert_allclose(found[8:], projections(K, -C), atol=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_products_with_derivatives_need_no_matrix(name: str, monkeypatch: Any) -> None:
    K, rng = SETS[name], np.random.default_rng(1)
    Z, U = rng.normal(size=(2, 4, K.dimension))
    Z[2:] *= 0.1  # within the balls
    if isinstance(K, sets.Spectrahedron):
        Z = (Z.reshape(4, *K.shape) + Z.reshape(4, *K.shape).mT).reshape(4, -1)
    batch = batched(K, 4, Z)
    assert batch is not None
    X = batch.project(Z)
    expected = (batch.jacobian(Z, X) @ U[:, :, None])[:, :, 0]
    if name not in ("trace norm", "spectrahedron"):
        for part in (batch, *getattr(batch, "blocks", ())):
            monkeypatch.setattr(type(part), "jacobian", None)
    np.testing.assert_allclose(batch.derivative(Z, X, U), expected, atol=1e-10)
