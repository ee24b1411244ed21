"""Noise on every library: the host's numbers by default, a library's own on request."""

import numpy as np
import pytest

from backends import Backend, every_backend
from wolfpack import noise
from wolfpack.arrays import Streams, describe, to_host
from wolfpack.smoothing._base import draw_noise, perturbed

__all__ = ["every_backend"]

LAWS = list(noise.LAWS.values())


@pytest.mark.parametrize("law", LAWS)
def test_the_hosts_numbers_by_default(backend: Backend, law):
    x = backend.array(np.zeros(3))
    found = draw_noise(law(2.0), Streams(1).at(3, 4), (5, 3), x)
    expected = law(2.0).sample(Streams(1).at(3, 4), (5, 3))
    np.testing.assert_array_equal(backend.host(found), expected.astype(backend.dtype))


@pytest.mark.parametrize("law", LAWS)
def test_native_draws_have_the_law(backend: Backend, law):
    x = backend.array(np.zeros(3))
    scale = np.array([1.0, 2.0, 0.5])
    native = law(scale, native=True)
    draws = [native.sample_at(x, Streams(1).at(k), (4000, 3)) for k in (0, 0, 1)]
    assert describe(draws[0]) == describe(x)
    first, again, other = map(to_host, draws)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    z = first / scale
    # 12,000 draws: five standard errors of the distribution function are about 0.023
    for point in (-1.0, 0.0, 0.7, 2.0):
        assert np.mean(z <= point) == pytest.approx(law().cdf(point), abs=0.023)
    assert np.mean(z) == pytest.approx(0.0, abs=0.1)


def test_native_draws_are_independent(backend: Backend):
    from wolfpack.smoothing.draws import Antithetic

    with pytest.raises(ValueError, match=r"native=True .* sampling='iid'"):
        noise.Gaussian(native=True).sample_at(
            backend.array(np.zeros(2)), Antithetic(Streams(0).at(0)), (2, 2)
        )


def test_laws_differ_by_how_they_are_drawn():
    assert noise.Gaussian() != noise.Gaussian(native=True)
    assert hash(noise.Gaussian()) != hash(noise.Gaussian(native=True))


def test_one_scale_for_each_answer(backend: Backend):
    v, delta = np.arange(3.0), np.ones((2, 3))
    found = perturbed(backend.array(v), np.array([0.0, 2.0]), backend.array(delta))
    np.testing.assert_array_equal(backend.host(found), [v, v - 2.0])
