"""Every method runs on arrays of every library, and finds what it finds on NumPy's."""

import numpy as np
import pytest

import wolfpack as wp
from backends import JAX, Backend, every_backend
from wolfpack.arrays import describe, to_host

__all__ = ["every_backend"]

RNG = np.random.default_rng(2)
A = RNG.standard_normal((12, 6))
B = RNG.standard_normal(12)
SAMPLED = {"m": 4, "seed": 3}
METHODS = {
    "fw": {},
    "fw-short": {},
    "fw-ls": {},
    "anytime sampled": SAMPLED,
    "anytime exact": {"m": "exact"},
    "anytime auto": {},
    "anytime noiseless": {"noise": None},
    "pfw": {**SAMPLED, "alpha": 0.1},
    "pfw exact": {"m": "exact", "alpha": 0.1},
    "r-pfw": SAMPLED,
    "corrective": {"m": 4, "seed": 3},
    "away": {},
    "pairwise": {},
    "away lazy": {"lazy": True},
    "pairwise lazy": {"lazy": True},
    "bpcg": {},
    "fcfw": {},
    "lazy": {},
    "momentum": {},
    "cgs": {},
    "conjugate": {},
    "biconjugate": {},
    "projected": {},
    "block": {"order": "cyclic"},
    "block parallel": {"order": "parallel", "lazy": True},
    "dicg": {},
    "conic": {},
    "nnls": {},
    "stochastic": {"batch": 3},
    "stochastic substitute": {"batch": 3, "estimate": "substitute"},
    "stochastic recursive": {"batch": 3, "estimate": "recursive"},
    "stochastic-anytime": {"batch": 3},
    "stochastic-anytime plain": {"batch": 3, "estimate": "plain", "m": 4},
    "auto": {},
}


def default_set(method):
    parts = wp.sets.Simplex(4), wp.sets.L1Ball(2)
    return wp.sets.Product(*parts) if method.startswith("block") else wp.sets.Simplex(6, radius=2.0)


def solve(backend: Backend | None, method: str, K=None, rounds=12, **options):
    a, b = (A, B) if backend is None else (backend.array(A), backend.array(B))
    return wp.minimize(
        wp.objectives.LeastSquares(a, b),
        default_set(method) if K is None else K,
        method=method.split()[0],
        max_rounds=rounds,
        tol=1e-9,
        **options,
    )


TIED = ["pairwise", "pairwise lazy", "bpcg"]
"""After exact steps two vertices have equal scores, of which rounding chooses one."""


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(TIED)))
def test_finds_what_numpy_finds(backend: Backend, method):
    options = METHODS[method]
    expected = solve(None, method, **options)
    found = solve(backend, method, **options)
    assert describe(found.x) == describe(backend.array(B))
    np.testing.assert_allclose(to_host(found.x), expected.x, atol=1e4 * backend.eps)
    assert found.fun == pytest.approx(expected.fun, rel=1e2 * backend.eps)
    assert found.gap == pytest.approx(expected.gap, rel=1e-4, abs=2e3 * backend.eps)


@pytest.mark.parametrize("method", TIED)
def test_ends_where_numpy_ends(backend: Backend, method):
    options = {"rounds": 1000, "rtol": 1e-4, **METHODS[method]}
    expected, found = (solve(on, method, **options) for on in (None, backend))
    assert found.success
    assert describe(found.x) == describe(backend.array(B))
    assert found.fun == pytest.approx(expected.fun, rel=2e-4)


@pytest.mark.parametrize(
    "K",
    [
        wp.sets.ConvexHull(np.vstack([np.eye(6), np.ones(6)])),
        wp.sets.Translate(wp.sets.Simplex(6), 0.1 * np.ones(6)),
        wp.sets.Scale(wp.sets.L1Ball(6), 2.0),
    ],
    ids=["hull", "moved", "scaled"],
)
def test_vertices_of_every_set_are_weighed(backend: Backend, K):
    expected, found = (solve(on, "nnls", K) for on in (None, backend))
    assert describe(found.x) == describe(backend.array(B))
    np.testing.assert_allclose(to_host(found.x), expected.x, atol=1e4 * backend.eps)


SETS = {
    "l1": wp.sets.L1Ball(6),
    "l2": wp.sets.L2Ball(6, radius=0.5),
    "box": wp.sets.Box(np.zeros(6), np.ones(6)),
    "k-sparse": wp.sets.KSparse(6, 2),
    "hull": wp.sets.ConvexHull(RNG.standard_normal((9, 6))),
    "product": wp.sets.Product(wp.sets.L1Ball(3), wp.sets.L1Ball(3)),
    "birkhoff and more": wp.sets.Product(wp.sets.Birkhoff(2), wp.sets.L2Ball(2)),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("method", ["fw-ls", "anytime sampled", "r-pfw", "away"])
def test_over_other_sets(backend: Backend, name, method):
    options = METHODS[method]
    K = SETS[name]
    expected = solve(None, method, K, **options)
    found = solve(backend, method, K, **options)
    assert describe(found.x) == describe(backend.array(B))
    assert K.contains(found.x, tol=1e2 * backend.eps)
    np.testing.assert_allclose(to_host(found.x), expected.x, atol=1e4 * backend.eps)
    assert found.gap == pytest.approx(expected.gap, rel=1e-4, abs=2e3 * backend.eps)


@pytest.mark.parametrize("smoothing", ["ambient", "image", "lifted"])
@pytest.mark.parametrize("sampling", ["iid", "antithetic"])
def test_ways_of_smoothing(backend: Backend, smoothing, sampling):
    K = wp.sets.L1Ball(6)
    options = {"smoothing": smoothing, "sampling": sampling, "m": 4}
    expected = solve(None, "anytime", K, **options)
    found = solve(backend, "anytime", K, **options)
    np.testing.assert_allclose(to_host(found.x), expected.x, atol=1e4 * backend.eps)


def test_native_noise_repeats_itself(backend: Backend):
    law = wp.noise.Gaussian(native=True)
    options = {"noise": law, "m": 4, "kappa": 1.0}
    first, again = (solve(backend, "anytime", **options) for _ in range(2))
    np.testing.assert_array_equal(to_host(first.x), to_host(again.x))
    other = solve(backend, "anytime", seed=1, **options)
    assert not np.array_equal(to_host(first.x), to_host(other.x))


@pytest.mark.parametrize("method", ["away", "projected", "fcfw"])
def test_single_precision_certifies_to_1e_5(backend: Backend, method):
    found = solve(backend, method, rounds=200, rtol=1e-5)
    assert found.success
    assert found.gap <= 1e-5 * abs(found.fun)
    best = solve(None, "away", rounds=400).fun
    # the certificate holds, up to the rounding of f itself
    assert found.fun - best <= found.gap + 16 * backend.eps * abs(best)


def test_starts_where_x0_is(backend: Backend):
    x0 = backend.array(np.full(6, 1.0 / 3.0))
    found = wp.minimize(
        lambda x: (0.5 * wp.arrays.inner(x, x), x), wp.sets.Simplex(6, 2.0), x0=x0, max_rounds=5
    )
    assert describe(found.x) == describe(x0)


def test_one_error_for_arrays_of_two_places(backend: Backend):
    if backend.library == "numpy":
        pytest.skip("NumPy arrays are on the host")
    f = wp.objectives.LeastSquares(backend.array(A), backend.array(B))
    with pytest.raises(TypeError, match="x0 is NumPy float64, but the data of f is"):
        wp.minimize(f, wp.sets.Simplex(6), x0=np.full(6, 1.0 / 6.0))


def test_other_engines_are_refused(backend: Backend):
    if backend.library == "numpy":
        pytest.skip("NumPy arrays are on the host")
    with pytest.raises(TypeError, match="leave engine out"):
        solve(backend, "anytime", m=4, engine="threads:2")
    assert solve(backend, "anytime", m=4, engine="auto").nit == 12


@pytest.mark.extras
def test_jax_in_double_precision():
    pytest.importorskip("jax")
    with JAX.active():
        test_finds_what_numpy_finds(JAX, "anytime sampled")
