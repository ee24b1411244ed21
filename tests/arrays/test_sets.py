"""Sets answer arrays of every library as they answer NumPy's."""

import logging

import numpy as np
import pytest

from backends import Backend, every_backend
from wolfpack import noise, sets
from wolfpack.arrays import Streams, describe, namespace, to_host
from wolfpack.sets import device

__all__ = ["every_backend"]

RNG = np.random.default_rng(5)
POINTS = RNG.standard_normal((7, 6))
SETS = {
    "simplex": sets.Simplex(6, radius=2.0),
    "matrix simplex": sets.Simplex((2, 3)),
    "l1": sets.L1Ball(6, radius=1.5),
    "weighted l1": sets.WeightedL1Ball(np.linspace(0.5, 2.0, 6)),
    "l2": sets.L2Ball((3, 2), radius=3.0),
    "l1 by order": sets.LpBall(6, 1),
    "l3": sets.LpBall(6, 3.0, radius=2.0),
    "linf by order": sets.LpBall(6, np.inf),
    "linf": sets.LinfBall(6, radius=2.0),
    "box": sets.Box(np.linspace(-2.0, 0.0, 6), np.linspace(0.0, 3.0, 6)),
    "k-sparse": sets.KSparse(6, 3, radius=0.5),
    "capped": sets.CappedSimplex(6, 0.4),
    "caps": sets.CappedSimplex(6, np.linspace(0.1, 0.6, 6)),
    "hypersimplex": sets.Hypersimplex(6, 2),
    "unit simplex": sets.UnitSimplex(6, radius=2.0),
    "unit hypersimplex": sets.UnitHypersimplex((2, 3), 2),
    "ellipsoid": sets.Ellipsoid(np.linspace(-1.0, 1.0, 6), np.linspace(0.5, 3.0, 6)),
    "fantope": sets.Fantope(4, 2),
    "ordered l1": sets.OrderedWeightedL1(np.linspace(0.5, 2.0, 6)),
    "k-norm": sets.KNormBall(6, 2),
    "knapsack": sets.Knapsack(np.linspace(0.5, 2.0, 6), 3.0),
    "matching": sets.Matching([(0, 3), (0, 4), (1, 3), (1, 5), (2, 4)]),
    "image": sets.Image(POINTS, sets.Simplex(6)),
    "symmetric": sets.Symmetric(sets.L1Ball(6), [[1, 2, 0, 3, 5, 4]]),
    "hull": sets.ConvexHull(POINTS),
    "product": sets.Product(sets.Simplex(3), sets.Simplex(2), sets.Simplex(1)),
    "mixed product": sets.Product(sets.L2Ball(3), sets.Box([0.0], [1.0]), sets.Birkhoff(2)),
    "moved": sets.Translate(sets.Simplex(6), np.arange(6.0)),
    "scaled": sets.Scale(sets.L1Ball(6), -2.0),
    "sum": sets.MinkowskiSum(sets.L2Ball(6), sets.Simplex(6)),
    "birkhoff": sets.Birkhoff(3),
    "group": sets.GroupL1Ball([[0, 1], [2, 3, 4], [5]]),
    "trace": sets.TraceNormBall((3, 2), radius=2.0),
    "spectrahedron": sets.Spectrahedron(3),
    "operator": sets.OperatorNormBall((3, 2)),
    "schatten": sets.SchattenBall((3, 2), 3.0),
    "oracle": sets.Oracle(lambda g: -np.sign(g), shape=6, radius=3.0),
}
HOSTED = ["birkhoff", "group", "oracle", "mixed product", "image", "knapsack"]


@pytest.fixture(params=SETS)
def K(request):
    return SETS[request.param]


@pytest.fixture
def check(backend: Backend):
    def equal(found, expected, factor=2e2):
        tolerance = factor * backend.eps
        np.testing.assert_allclose(to_host(found), expected, rtol=tolerance, atol=tolerance)

    return equal


def directions(K, count):
    g = RNG.standard_normal((count, *K.shape))
    return g.astype(np.float32).astype(np.float64)


def test_answers(backend: Backend, K, check):
    g = directions(K, 4)
    many, one = K.lmo(backend.array(g)), K.lmo(backend.array(g[0]))
    check(backend.host(many.to_dense()), K.lmo(g).to_dense())
    check(backend.host(one.to_dense()), K.lmo(g[0]).to_dense())
    check(backend.host(many.mean()), K.lmo(g).mean())
    check(K.support(backend.array(g)), K.support(g))
    assert K.support(backend.array(g[1])) == pytest.approx(K.support(g[1]), rel=1e3 * backend.eps)


def test_certifies(backend: Backend, K):
    g = directions(K, 1)[0]
    twin = K.at(backend.array(g))
    bound = twin.certify(backend.array(g), twin.lmo(backend.array(g)))
    exact = -K.support(-g)
    slack = 1e3 * backend.eps * (1.0 + abs(exact))
    assert exact - slack <= bound <= exact + 1e-7 * abs(exact) + slack


def test_judges_points(backend: Backend, K):
    inside = K.start().astype(np.float32).astype(np.float64)
    tolerance = 1e2 * backend.eps
    assert K.contains(backend.array(inside), tol=max(tolerance, 1e-6))
    outside = inside + 3.0 * (1.0 + K.radius)
    assert not K.contains(backend.array(outside), tol=1e-3)
    found = K.violation(backend.array(outside))
    assert found == pytest.approx(K.violation(outside), rel=1e4 * backend.eps, abs=1e-5)
    np.testing.assert_allclose(
        backend.host(K.at(backend.array(inside)).start()), K.start(), rtol=1e-6
    )


def test_closed_forms(backend: Backend, K, check):
    for law in K.closed_forms:
        y = directions(K, 3)
        arrays = [backend.array(point) for point in y]
        check(backend.host(K.smoothed(arrays[0], 0.7, law)), K.smoothed(y[0], 0.7, law), 1e3)
        if K.has("smoothed_support"):
            expected = K.smoothed_support(y[0], 0.7, law)
            assert K.smoothed_support(arrays[0], 0.7, law) == pytest.approx(expected, rel=1e-5)
            found = K.at(arrays[0]).smoothed_supports(arrays, -0.7, law)
            expected = [K.smoothed_support(-point, 0.7, law) for point in y]
            np.testing.assert_allclose([float(s) for s in found], expected, rtol=1e-5)


def test_draws(backend: Backend, K, check):
    if not K.has("draw") or not K.closed_forms:
        pytest.skip("no direct sampler")
    y = directions(K, 1)[0]
    count = 1 if K.dimension < 4 else 3
    if isinstance(K, sets.Product):
        count = 1  # a block of few entries is drawn by inversion there and as a tally here
    found = K.draw(backend.array(y), 0.5, count, Streams(3).at(1))
    check(backend.host(found.to_dense()), K.draw(y, 0.5, count, Streams(3).at(1)).to_dense())


def test_best_few(backend: Backend, K, check):
    if not K.has("k_best"):
        pytest.skip("no k-best oracle")
    g = directions(K, 1)[0]
    found, expected = K.k_best(backend.array(g), 2), K.k_best(g, 2)
    check(backend.host(found.to_dense()), expected.to_dense())


def test_projects(backend: Backend, K, check):
    if not K.has("project"):
        pytest.skip("no projection")
    x = 2.0 * directions(K, 1)[0]
    check(backend.host(K.project(backend.array(x))), K.project(x), 1e3)


def test_directions_are_checked(backend: Backend, K):
    with pytest.raises(ValueError, match="NaN"):
        K.lmo(backend.array(np.full(K.shape, np.nan)))
    with pytest.raises(ValueError, match="shape"):
        K.lmo(backend.array(np.zeros((2, 2, 2, 2))))


def test_zero_directions(backend: Backend, K):
    answer = K.lmo(backend.array(np.zeros(K.shape)))
    assert K.contains(answer.to_dense(), tol=1e-5)


@pytest.mark.parametrize("name", HOSTED)
def test_says_once_that_it_asks_on_the_host(backend: Backend, name, caplog):
    if backend.library == "numpy":
        pytest.skip("NumPy arrays are on the host")
    K = SETS[name]
    device._base._logged.clear()
    with caplog.at_level(logging.WARNING, "wolfpack"):
        K.lmo(backend.array(directions(K, 1)[0]))
        K.lmo(backend.array(directions(K, 1)[0]))
    assert len(caplog.messages) == 1
    assert "asked on the host" in caplog.messages[0]


def test_a_set_made_by_a_user_is_asked_on_the_host(backend: Backend):
    class Interval(sets.Simplex):
        def _lmo(self, g):
            return sets.Simplex._lmo(self, np.asarray(g))

    K, g = Interval(3), np.array([3.0, 1.0, 2.0])
    assert to_host(K.lmo(backend.array(g)).to_dense()).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("batched", [True, False])
def test_an_oracle_may_take_arrays_as_they_are(backend: Backend, batched, check):
    seen = []

    def lmo(g):
        seen.append(describe(g))
        return -namespace(g).sign(g)

    K = sets.Oracle(lmo, shape=4, radius=2.0, batched=batched, anywhere=True)
    g = RNG.standard_normal((3, 4))
    check(backend.host(K.lmo(backend.array(g)).to_dense()), -np.sign(g))
    check(backend.host(K.lmo(backend.array(g[0])).to_dense()), -np.sign(g[0]))
    assert set(seen) == {describe(backend.array(g))}


def test_answers_of_such_an_oracle_are_checked(backend: Backend):
    if backend.library == "numpy":
        pytest.skip("tested where NumPy's oracles are")
    x = backend.array(np.ones(3))
    for answer, error, said in (
        (lambda g: 9.0 * g, ValueError, "beyond radius=2"),
        (lambda g: g[:2], ValueError, r"must answer shape \(3,\), found \(2,\)"),
        (lambda g: np.zeros(3), TypeError, "an array like its argument"),
        (lambda g: g * float("nan"), ValueError, "norm nan"),
    ):
        with pytest.raises(error, match=said):
            sets.Oracle(answer, shape=3, radius=2.0, anywhere=True).lmo(x)


def test_a_box_takes_laws_with_scales_and_laws_of_ones_own(backend: Backend, check):
    K, y = SETS["box"], directions(SETS["box"], 1)[0]

    class Own:
        """Gaussian noise, whose functions take NumPy arrays only."""

        name, fisher, law = "own", 1.0, noise.Gaussian()

        def cdf(self, z):
            assert type(z) is np.ndarray
            return self.law.cdf(z)

        def positive_part(self, t):
            assert type(t) is np.ndarray
            return self.law.positive_part(t)

        sample = score = M = None

    scales = np.linspace(0.5, 2.0, 6)
    for law in (noise.Gumbel(scales), noise.Logistic(scales), noise.Gaussian(scales), Own()):
        found = K.smoothed(backend.array(y), 0.7, law)
        check(backend.host(found), K.smoothed(y, 0.7, law), 1e3)
        expected = K.smoothed_support(y, 0.7, law)
        assert K.smoothed_support(backend.array(y), 0.7, law) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["box", "linf", "l3", "linf by order", "capped", "caps"])
def test_sets_that_serve_all_libraries_need_no_twin(backend: Backend, name):
    K = SETS[name]
    here = K.at(backend.array(K.start()))
    assert type(here) is type(K)
    assert (here.radius, here.diameter) == (K.radius, K.diameter)
    assert here.at(K.start()) is K
    assert repr(here) == repr(K)
