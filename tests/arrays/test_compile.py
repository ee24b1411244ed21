"""Rounds that are compiled as a whole are the rounds that are not."""

import numpy as np
import pytest

import wolfpack as wp
from backends import Backend, every_backend
from wolfpack.arrays import to_host
from wolfpack.problem import CapabilityError

__all__ = ["every_backend"]

RNG = np.random.default_rng(5)
A, B = RNG.standard_normal((60, 20)), RNG.standard_normal(60)
SETS = {"simplex": wp.sets.Simplex(20), "l1": wp.sets.L1Ball(20, 2.0)}


def run(backend: Backend, **options):
    f = wp.objectives.LeastSquares(backend.array(A), backend.array(B))
    K = SETS[options.pop("set", "simplex")]
    settings = {"method": "anytime", "max_rounds": 30, "tol": 0, "record_every": 10, **options}
    return wp.minimize(f, K, progress=False, **settings)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("m", [1, 7, "exact"])
def test_numbers_and_counts_are_the_same(backend: Backend, name, m):
    if backend.library == "numpy":
        pytest.skip("NumPy's rounds are not compiled")
    plain, compiled = (run(backend, set=name, m=m, compile=c) for c in (False, True))
    np.testing.assert_allclose(to_host(compiled.x), to_host(plain.x), atol=1e3 * backend.eps)
    assert compiled.gap == pytest.approx(plain.gap, rel=1e-3)
    counts = [(res.nit, res.nfev, res.njev, res.nlmo) for res in (plain, compiled)]
    assert counts[0] == counts[1]
    assert type(compiled.x) is type(backend.array(B))


def test_a_given_smoothness_is_compiled_too(backend: Backend):
    if backend.library == "numpy":
        pytest.skip("NumPy's rounds are not compiled")
    L = float(np.linalg.norm(A, 2) ** 2)
    plain, compiled = (run(backend, m=3, kappa=1.0, L=L, compile=c) for c in (False, True))
    assert compiled.gap == pytest.approx(plain.gap, rel=1e-3)


def test_what_cannot_be_compiled_is_said(backend: Backend):
    if backend.library == "numpy":
        with pytest.raises(CapabilityError, match="NumPy"):
            run(backend, compile=True)
        return
    with pytest.raises(CapabilityError, match="closed form or"):
        run(backend, m=4, noise="gaussian", compile=True)
    with pytest.raises(CapabilityError, match="closed form or"):
        run(backend, m="theory", compile=True)
    with pytest.raises(TypeError, match="compile must be"):
        run(backend, compile=1)


def test_objectives_without_data_are_not_compiled():
    torch = pytest.importorskip("torch")
    f = wp.objectives.from_torch(lambda x: (x * x).sum())
    with pytest.raises(CapabilityError, match="linear model"):
        wp.minimize(
            f,
            wp.sets.Simplex(3),
            torch.full((3,), 1 / 3, dtype=torch.float64),
            method="anytime",
            compile=True,
        )
