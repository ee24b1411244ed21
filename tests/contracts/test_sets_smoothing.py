"""Closed forms of the smoothed argmax, against samples, differences and their constants."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wolfpack import noise as laws
from wolfpack.problem import CapabilityError

from .case import Case
from .registry import CASES

SAMPLES, CHUNK = 200_000, 20_000
SAMPLERS = {
    "gumbel": lambda rng, shape: rng.gumbel(size=shape) - np.euler_gamma,
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
    "logistic": lambda rng, shape: rng.logistic(size=shape),
}
smoothable = [(c, law) for c in CASES for law in c.small().closed_forms]
ids = [f"{case.name}-{law}" for case, law in smoothable]
closed_form = pytest.mark.parametrize(("case", "law"), smoothable, ids=ids)
drawing = [c for c in CASES if c.small().has("draw")]


def as_noise(law: str):
    return law if law == "lifted" else laws.get(law)


def perturbed(case: Case, K, y, alpha, law, rng):
    """Yield chunks of perturbed answers to y, SAMPLES in all, without using the closed form."""
    for _ in range(SAMPLES // CHUNK):
        if law in SAMPLERS:
            yield K.lmo(-(y + alpha * SAMPLERS[law](rng, (CHUNK, *K.shape)))).to_dense()
        elif case.perturbed is not None:
            yield case.perturbed(y, alpha, CHUNK, rng)
        else:
            assert case.vertices is not None, f"{case.name}: a lifted form needs the vertices"
            vertices = case.vertices()
            scores = vertices.reshape(len(vertices), -1) @ y.reshape(-1)
            yield vertices[(scores + alpha * rng.gumbel(size=(CHUNK, len(scores)))).argmax(axis=1)]


def mean_and_error(chunks):
    """Return the mean of the rows and its standard error."""
    total, square, count = 0.0, 0.0, 0
    for chunk in chunks:
        total = total + chunk.sum(axis=0)
        square = square + (chunk * chunk).sum(axis=0)
        count += len(chunk)
    mean = total / count
    return mean, np.sqrt(np.maximum(square / count - mean**2, 0.0) / count)


def point(K, seed: int = 0) -> np.ndarray:
    return 0.5 * np.random.default_rng(seed).standard_normal(K.shape)


@closed_form
def test_the_smoothed_argmax_is_the_mean_of_200000_perturbed_answers(case, law):
    K, alpha = case.small(), 0.6
    y, rng = point(case.small()), np.random.default_rng(1)
    exact = K.smoothed(y, alpha, as_noise(law))
    mean, error = mean_and_error(perturbed(case, K, y, alpha, law, rng))
    # an entry that never varied in the samples has an error of less than 1/SAMPLES
    assert np.all(abs(mean - exact) <= 4 * error + 4 * K.radius / SAMPLES)
    assert K.contains(exact)


@closed_form
def test_little_noise_gives_the_vertex_and_much_noise_forgets_the_direction(case, law):
    K = case.small()
    y = point(K, seed=2)
    sharp = K.smoothed(y, 1e-6, as_noise(law))
    np.testing.assert_allclose(sharp, K.lmo(-y).to_dense(), atol=1e-6 * K.radius)
    blind = K.smoothed(np.zeros(K.shape), 1.0, as_noise(law))
    np.testing.assert_allclose(
        K.smoothed(y, 1e9, as_noise(law)), blind, rtol=0, atol=1e-6 * K.radius
    )
    for scale in (1e-150, 1e150):
        found = K.smoothed(scale * y, scale * 0.3, as_noise(law))
        np.testing.assert_allclose(found, K.smoothed(y, 0.3, as_noise(law)), rtol=1e-9, atol=1e-12)
        assert np.isfinite(K.smoothed(scale * y, 1.0, as_noise(law))).all()


@closed_form
def test_the_gradient_of_the_smoothed_support_is_the_smoothed_argmax(case, law):
    K, alpha, h = case.small(), 0.4, 1e-5
    y = point(K, seed=3)
    gradient = K.smoothed(y, alpha, as_noise(law))
    for i in range(K.dimension):
        e = np.zeros(K.shape)
        e.reshape(-1)[i] = h
        rise = K.smoothed_support(y + e, alpha, as_noise(law))
        fall = K.smoothed_support(y - e, alpha, as_noise(law))
        slope = (rise - fall) / (2 * h)
        assert slope == pytest.approx(gradient.reshape(-1)[i], abs=1e-7 * (1 + K.radius))


@closed_form
def test_the_smoothed_support_lies_above_within_its_bias(case, law):
    K = case.small()
    y, at_zero = point(K, seed=4), K.smoothed_at_zero(as_noise(law))
    for alpha in (1e-3, 0.1, 2.0):
        rise = K.smoothed_support(y, alpha, as_noise(law)) - K.support(y)
        assert rise >= -1e-12
        if at_zero is not None:
            assert rise <= alpha * at_zero * (1 + 1e-12)  # s is subadditive
    if at_zero is not None:
        zero = np.zeros(K.shape)
        assert K.smoothed_support(zero, 1.0, as_noise(law)) == pytest.approx(at_zero, abs=1e-12)


@closed_form
def test_its_jacobian_is_bounded_by_the_smoothness_constant(case, law):
    K, alpha, h = case.small(), 0.5, 1e-5
    constant = K.smoothness(as_noise(law))
    if constant is None:
        constant = K.radius * as_noise(law).M(K.dimension, "sharp")
    # where two answers tie and others are far, the curvature between the two is largest
    first, second = K.lmo(np.stack([point(K, 5), point(K, 6)])).to_dense()
    tied = 3.0 * (first + second) / K.radius**2
    for y in (np.zeros(K.shape), 0.3 * point(K, 7), 2.0 * point(K, 8), tied):
        columns = []
        for e in h * np.eye(K.dimension).reshape(-1, *K.shape):
            rise = K.smoothed(y + e, alpha, as_noise(law))
            fall = K.smoothed(y - e, alpha, as_noise(law))
            columns.append((rise - fall).reshape(-1) / (2 * h))
        hessian = np.array(columns)
        tol = 1e-6 * constant / alpha
        np.testing.assert_allclose(hessian, hessian.T, rtol=0, atol=tol)
        eigenvalues = np.linalg.eigvalsh(0.5 * (hessian + hessian.T))
        assert eigenvalues[0] >= -tol
        assert eigenvalues[-1] <= constant / alpha + tol


@closed_form
def test_the_default_law_is_the_first_and_the_scale_of_a_law_counts(case, law):
    K = case.small()
    y = point(K, seed=8)
    first = as_noise(K.closed_forms[0])
    np.testing.assert_array_equal(K.smoothed(y, 0.3), K.smoothed(y, 0.3, first))
    assert K.smoothed_support(y, 0.3) == K.smoothed_support(y, 0.3, first)
    if law == "lifted":
        return
    doubled = type(as_noise(law))(2.0)
    tol = {"rtol": 1e-12, "atol": 1e-13}
    np.testing.assert_allclose(K.smoothed(y, 0.3, doubled), K.smoothed(y, 0.6, law), **tol)
    assert K.smoothed_support(y, 0.3, doubled) == pytest.approx(K.smoothed_support(y, 0.6, law))
    at_zero = K.smoothed_at_zero(doubled)
    if at_zero is not None:
        assert at_zero == pytest.approx(2 * (K.smoothed_at_zero(as_noise(law)) or math.nan))


@pytest.mark.parametrize("case", drawing, ids=lambda case: case.name)
def test_draws_have_the_smoothed_argmax_as_their_mean(case):
    K, alpha = case.small(), 0.6
    y, rng = point(K, seed=9), np.random.default_rng(10)
    draws = (K.draw(y, alpha, CHUNK, rng).to_dense() for _ in range(SAMPLES // CHUNK))
    mean, error = mean_and_error(draws)
    assert np.all(abs(mean - K.smoothed(y, alpha)) <= 4 * error + 4 * K.radius / SAMPLES)
    batch = K.draw(y, alpha, 5, np.random.default_rng(11))
    assert batch.shape == (5, *K.shape)
    again = K.draw(y, alpha, 5, np.random.default_rng(11))
    np.testing.assert_array_equal(batch.to_dense(), again.to_dense())
    assert all(K.contains(batch.take(i).to_dense()) for i in range(5))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_s1_of_zero_is_the_mean_width_in_a_random_direction(case):
    K, rng = case.small(), np.random.default_rng(12)
    for law, sample in SAMPLERS.items():
        at_zero = K.smoothed_at_zero(laws.get(law))
        if at_zero is None:
            continue
        values = K.support(sample(rng, (CHUNK, *K.shape)))
        error = values.std() / math.sqrt(CHUNK)
        assert abs(values.mean() - at_zero) <= 4 * error + 1e-12


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_has_no_closed_form_says_so(case):
    K = case.small()
    y = np.zeros(K.shape)
    for law in set(SAMPLERS) - set(K.closed_forms):
        with pytest.raises(CapabilityError, match=type(K).__name__):
            K.smoothed(y, 1.0, laws.get(law))
        with pytest.raises(CapabilityError, match=type(K).__name__):
            K.smoothed_support(y, 1.0, law)
    if not K.has("draw"):
        with pytest.raises(CapabilityError, match=type(K).__name__):
            K.draw(y, 1.0, 1, np.random.default_rng(0))
