"""Sets of any size, from 1e-150 to 1e150, against the set of size 1."""

from __future__ import annotations

import numpy as np
import pytest

from wolfpack import sets

W = np.array([0.7, 1.1, 0.4, 0.9, 0.3, 0.8])
POINTS = np.random.default_rng(0).standard_normal((8, 3))
EDGES = [(0, 1), (1, 2), (0, 2)]

SIZED = {
    "simplex": lambda r: sets.Simplex(5, r),
    "one cap": lambda r: sets.CappedSimplex(5, 0.4 * r, r),
    "caps": lambda r: sets.CappedSimplex(6, r * W, r),
    "l1": lambda r: sets.L1Ball(5, r),
    "weighted l1, radius": lambda r: sets.WeightedL1Ball(W, r),
    "weighted l1, weights": lambda r: sets.WeightedL1Ball(W / r),
    "l2": lambda r: sets.L2Ball(5, r),
    "linf": lambda r: sets.LinfBall(5, r),
    "lp": lambda r: sets.LpBall(5, 3, r),
    "groups": lambda r: sets.GroupL1Ball([[0, 1], [2, 3, 4]], r),
    "box": lambda r: sets.Box(-r * W, 2 * r * W),
    "k-sparse": lambda r: sets.KSparse(6, 2, r),
    "unit simplex": lambda r: sets.UnitSimplex(5, r),
    "ordered l1, weights": lambda r: sets.OrderedWeightedL1(W / r),
    "k-norm": lambda r: sets.KNormBall(6, 2, r),
    "knapsack": lambda r: sets.Knapsack(W, r, r * W),
    "image": lambda r: sets.Image(r * np.eye(2, 3), sets.L1Ball(3)),
    "symmetric": lambda r: sets.Symmetric(sets.L2Ball(3, r), [[1, 0, 2]]),
    "permutahedron": lambda r: sets.Permutahedron(r * W),
    "transport": lambda r: sets.TransportPolytope(r * np.array([2.0, 1.0]), r * np.ones(3)),
    "assignment": lambda r: sets.TransportPolytope(r * np.ones(3), r * np.ones(3)),
    "trace norm": lambda r: sets.TraceNormBall((3, 4), r),
    "spectrahedron": lambda r: sets.Spectrahedron(4, r),
    "spectrahedron below": lambda r: sets.Spectrahedron(4, r, equality=False),
    "operator norm": lambda r: sets.OperatorNormBall((3, 4), r),
    "Schatten": lambda r: sets.SchattenBall((3, 4), 3, r),
    "hull": lambda r: sets.ConvexHull(r * POINTS),
    "flow": lambda r: sets.FlowPolytope(EDGES, [(0, 2, r)]),
    "scale": lambda r: sets.Scale(sets.Translate(sets.L1Ball(4), 1.0), r),
    "product": lambda r: sets.Product(sets.Simplex(3, r), sets.L2Ball(3, r)),
    "sum": lambda r: sets.MinkowskiSum(sets.L1Ball(3, r), sets.L2Ball(3, r)),
}


@pytest.mark.parametrize("name", SIZED)
@pytest.mark.parametrize("r", [1e-150, 1e-20, 1e-8, 1e8, 1e20, 1e150])
def test_a_set_of_any_size_answers_like_that_of_size_one(name, r):
    K, unit = SIZED[name](r), SIZED[name](1.0)
    rng = np.random.default_rng(1)
    g = rng.standard_normal((6, *K.shape))
    answers, expected = K.lmo(g), unit.lmo(g)
    for found, wanted in (
        (answers.to_dense(), expected.to_dense()),
        (K.lmo(g[0]).to_dense(), expected.to_dense()[0]),
        (K.support(g), unit.support(g)),
        (K.certify(g[0], answers.take(0)), unit.certify(g[0], expected.take(0))),
        (K.radius, unit.radius),
        (K.diameter, unit.diameter),
        (K.start(), unit.start()),
    ):
        np.testing.assert_allclose(found / r, wanted, rtol=1e-9, atol=1e-9)
    assert K.contains(answers.mean())
    if r >= 1:
        assert not K.contains(3.0 * K.radius * np.ones(K.shape))
    if K.has("project"):
        x = 3.0 * rng.standard_normal(K.shape)
        np.testing.assert_allclose(K.project(r * x) / r, unit.project(x), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in SIZED if SIZED[name](1.0).closed_forms])
@pytest.mark.parametrize("r", [1e-150, 1e-8, 1e8, 1e150])
def test_the_smoothing_of_a_set_of_any_size(name, r):
    K, unit = SIZED[name](r), SIZED[name](1.0)
    y = np.random.default_rng(2).standard_normal(K.shape)
    # noise on scores of vertices is measured in their unit, noise on directions in that of y
    at = y / r if K.closed_forms[0] == "lifted" else y
    np.testing.assert_allclose(
        K.smoothed(at, 0.5) / r, unit.smoothed(y, 0.5), rtol=1e-9, atol=1e-12
    )


def test_numbers_that_highs_takes_as_infinite_are_refused():
    for arguments, name in (
        (([[1.0, 1.0]], [1e20], None, None, (0, 1)), "b_ub"),
        (([[1.0, 1.0]], [1.0], None, None, (0, 1e20)), "bounds"),
        ((None, None, [[1.0, 1.0]], [-1e25], (-1, 1)), "b_eq"),
    ):
        with pytest.raises(ValueError, match=f"{name} has . finite numbers of 1e"):
            sets.LinearProgram(*arguments)
