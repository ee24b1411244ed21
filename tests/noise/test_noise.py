"""The laws: draws, densities and constants, each against an independent source."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from scipy import integrate, stats

from wolfpack import noise

LAWS = [law() for law in noise.LAWS.values()]
REFERENCE = {
    "gumbel": stats.gumbel_r(loc=-np.euler_gamma),
    "gaussian": stats.norm(),
    "logistic": stats.logistic(),
}
GRID = np.linspace(-3.0, 6.0, 37)


@pytest.fixture(params=LAWS, ids=lambda law: law.name)
def law(request):
    return request.param


def generator(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_draws_follow_the_law(law, dtype):
    z = law.sample(generator(), (200, 500), dtype)
    assert z.shape == (200, 500)
    assert z.dtype == dtype
    assert stats.kstest(z.ravel().astype(float), REFERENCE[law.name].cdf).pvalue > 1e-3


def test_upper_tail_is_not_cut_in_single_precision():
    z = noise.Gumbel().sample(generator(), 2_000_000, np.float32)
    expected = np.log(2_000_000.0) - np.euler_gamma  # location of the largest draw
    assert expected - 2.0 < z.max() < expected + 12.0
    assert np.unique(z).size > 1_500_000


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_generator_output_gives_finite_draws(law, dtype):
    class Edge:
        def __init__(self, value):
            self.value = value

        def random(self, shape):
            return np.full(shape, self.value)

        def standard_exponential(self, shape):
            return np.full(shape, self.value)

        def standard_normal(self, shape, dtype):
            return np.zeros(shape, dtype)

    for value in (0.0, 1.0 - 2.0**-53):
        assert np.all(np.isfinite(law.sample(Edge(value), 3, dtype)))


def test_constants_are_the_moments_of_the_density(law):
    reference = REFERENCE[law.name]
    assert abs(reference.mean() - law.mean) < 1e-12

    def moment(g):
        # the three densities are below 1e-15 outside of [-40, 40]
        return integrate.quad(lambda z: g(z) * reference.pdf(z), -40, 40, points=[0.0], limit=400)[
            0
        ]

    assert moment(np.abs) == pytest.approx(law.mean_abs, rel=1e-9)
    assert moment(lambda z: law.score(z) ** 2) == pytest.approx(law.fisher, rel=1e-7)
    assert moment(law.score) == pytest.approx(0.0, abs=1e-7)
    assert reference.pdf(np.linspace(-5, 5, 100_001)).max() == pytest.approx(law.peak, rel=1e-7)


def test_score_is_minus_the_slope_of_the_log_density(law):
    h = 1e-5
    reference = REFERENCE[law.name]
    slope = (reference.logpdf(GRID + h) - reference.logpdf(GRID - h)) / (2 * h)
    np.testing.assert_allclose(law.score(GRID), -slope, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(law.cdf(GRID), REFERENCE[law.name].cdf(GRID), rtol=1e-12)


@pytest.mark.parametrize("t", [-20.0, -6.0, -0.3, 0.0, 0.7, 3.0, 30.0])
def test_positive_part_is_the_mean_of_the_ramp(law, t):
    tail = REFERENCE[law.name].sf
    mean = integrate.quad(tail, -t, max(-t, 0.0) + 60.0, points=[max(-t, 0.0) + 3.0], limit=200)[0]
    assert law.positive_part(t) == pytest.approx(mean, rel=1e-6, abs=1e-40)


def test_positive_part_far_out(law):
    assert law.positive_part(1e5) == 1e5
    assert 0.0 <= law.positive_part(-1e5) < 1e-300


def test_scale_rescales_everything(law):
    scale = np.array([0.5, 2.0, 4.0])
    scaled = dataclasses.replace(law, scale=scale)
    z = law.sample(generator(), (5, 3))
    np.testing.assert_array_equal(scaled.sample(generator(), (5, 3)), z * scale)
    np.testing.assert_allclose(scaled.score(z), law.score(z / scale) / scale)
    np.testing.assert_allclose(scaled.cdf(z), law.cdf(z / scale))
    np.testing.assert_allclose(scaled.positive_part(z), scale * law.positive_part(z / scale))
    np.testing.assert_allclose(scaled.mean_abs, law.mean_abs * scale)
    np.testing.assert_allclose(scaled.peak, law.peak / scale)
    assert scaled.fisher == pytest.approx(law.fisher / 0.25)
    assert scaled.M(3, "sharp") == pytest.approx(np.sqrt(law.fisher) / 0.5)
    assert scaled.M(6, "paper") ** 2 == pytest.approx(2 * law.fisher * np.sum(scale**-2.0))
    with pytest.raises(ValueError, match="scale has 3 entries"):
        scaled.M(4, "paper")
    with pytest.raises(ValueError, match="does not broadcast"):
        scaled.sample(generator(), (5, 2))


def test_number_scale_and_single_precision(law):
    scaled = dataclasses.replace(law, scale=2)
    z = scaled.sample(generator(), 7, np.float32)
    assert z.dtype == np.float32
    np.testing.assert_array_equal(z, 2 * law.sample(generator(), 7, np.float32))


def test_paper_constant_is_the_root_mean_square_of_the_score(law):
    z = law.sample(generator(3), (20_000, 10))
    norms = np.sum(law.score(z) ** 2, axis=1)
    error = norms.std() / np.sqrt(norms.size)
    assert abs(norms.mean() - law.M(10, "paper") ** 2) < 5 * error + 1e-12
    fisher = np.linalg.eigvalsh(law.score(z).T @ law.score(z) / len(z))[-1]
    assert fisher == pytest.approx(law.M(10, "sharp") ** 2, rel=0.1)


def test_laws_are_values(law):
    again = pickle.loads(pickle.dumps(law))
    assert again == law
    assert hash(again) == hash(law)
    other = dataclasses.replace(law, scale=np.array([1.0, 3.0]))
    assert other != law
    assert other == dataclasses.replace(law, scale=[1.0, 3.0])
    assert hash(other) == hash(dataclasses.replace(law, scale=[1.0, 3.0]))
    with pytest.raises(dataclasses.FrozenInstanceError):
        law.scale = 2.0
    with pytest.raises(ValueError, match="read-only"):
        other.scale[0] = 5.0


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf, [], [1.0, 0.0], "wide", None])
def test_bad_scale(scale):
    with pytest.raises(ValueError, match="scale"):
        noise.Gaussian(scale=scale)


def test_bad_arguments(law):
    with pytest.raises(ValueError, match="dtype must be float32 or float64, found int64"):
        law.sample(generator(), 3, np.int64)
    with pytest.raises(ValueError, match="d must be an integer"):
        law.M(0)
    with pytest.raises(ValueError, match="'paper' or 'sharp'"):
        law.M(3, "exact")


def test_get():
    assert noise.get("Gumbel") == noise.Gumbel()
    assert noise.get(noise.Logistic) == noise.Logistic()
    scaled = noise.Gaussian(scale=3.0)
    assert noise.get(scaled) is scaled
    with pytest.raises(ValueError, match=r"gumbel, gaussian, logistic.*'cauchy'"):
        noise.get("cauchy")
    with pytest.raises(
        ValueError, match=r"gumbel, gaussian, logistic.*found None, which lacks name, sample"
    ):
        noise.get(None)


@pytest.mark.parametrize("law", list(noise.LAWS.values()))
def test_native_is_a_truth_value(law):
    with pytest.raises(TypeError, match="native must be True or False, found 'x'"):
        law(native="x")
