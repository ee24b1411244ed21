"""Quantum states: the real matrices that stand for them, and their tomography."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import wolfpack as wp

RNG = np.random.default_rng(0)
K = wp.sets.HermitianSpectrahedron(3)


def hermitian(count=4, n=3):
    H = RNG.standard_normal((count, n, n)) + 1j * RNG.standard_normal((count, n, n))
    return 0.5 * (H + H.conj().swapaxes(1, 2))


def test_real_matrices_have_the_inner_products_of_the_complex_ones():
    G, H = hermitian(), hermitian()
    assert np.allclose(K.as_complex(K.as_real(H)), H)
    products = np.einsum("kij,kji->k", G, H)
    assert np.allclose(products.imag, 0.0)
    assert np.allclose((K.as_real(G) * K.as_real(H)).sum(axis=(1, 2)), products.real)
    with pytest.raises(ValueError, match="shape"):
        K.as_real(np.eye(2))


def test_answers_are_pure_states():
    for H in hermitian():
        state = K.as_complex(K.lmo(K.as_real(H)).to_dense())
        values = np.linalg.eigvalsh(H)
        assert np.allclose(np.linalg.eigvalsh(state), [0.0, 0.0, 1.0])
        assert np.trace(H @ state).real == pytest.approx(values[0])
        assert np.allclose(H @ state, values[0] * state)


@pytest.mark.parametrize("method", ["auto", "corrective", "bpcg"])
def test_a_state_is_found_from_its_measurements(method):
    E = hermitian(12)
    v = np.array([1.0, 1.0j, -0.5])
    truth = 0.7 * np.outer(v, v.conj()) / np.vdot(v, v).real + 0.1 * np.eye(3)
    means = np.einsum("kij,ji->k", E, truth).real
    f = wp.objectives.LeastSquares(K.measurements(E), means + 0.05 * RNG.standard_normal(12))

    res = wp.minimize(f, wp.sets.Product(K), method=method, tol=1e-5)
    rho = cp.Variable((3, 3), hermitian=True)
    residual = cp.hstack([cp.real(cp.trace(e @ rho)) for e in E]) - f.b
    best = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(residual)), [rho >> 0, cp.real(cp.trace(rho)) == 1]
    ).solve(solver="CLARABEL")
    assert res.success
    assert res.lower_bound - 1e-6 <= best <= res.fun + 1e-6
    assert np.linalg.norm(K.as_complex(res.x.reshape(3, 3)) - truth) < 0.2
