"""The Hermitian spectrahedron: complex positive semidefinite matrices of a given trace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import Array, all_finite
from ..atoms import Atoms, Dense
from ..problem.checks import as_size, checked, extent
from ._base import Set
from ._prices import Prices
from ._spectral_bounds import symmetric_ceiling
from .simplex import Simplex


class HermitianSpectrahedron(Set):
    r"""Hermitian matrices :math:`H \succeq 0` with :math:`\mathrm{tr} H = r`: quantum states.

    Its points are real matrices. H = S + iA, with S symmetric and A antisymmetric, is written as
    the matrix X = S + A, so that S = (X + X')/2 and A = (X - X')/2. This is an isometry: the real
    inner product Re tr(G H) of two Hermitian matrices is that of their real matrices. `as_complex`
    and `as_real` go from one to the other.

    Parameters
    ----------
    n : int
        Order of the matrices.
    trace : float
        The number r.

    Notes
    -----
    Vertices are r v v* with complex unit vectors v. The oracle answers with the eigenvector of the
    smallest eigenvalue, O(n^3). `certify` proves its bound by a Cholesky factorisation of the real
    symmetric matrix of order 2n that has the same eigenvalues, each twice.

    A measurement of the state H by the Hermitian operator E has the mean Re tr(E H), the inner
    product of their real matrices. So least squares of measurements is
    ``LeastSquares(K.measurements(E), means)`` over ``Product(K)``, whose points are those of K as
    vectors.

    Examples
    --------
    >>> K = HermitianSpectrahedron(2)
    >>> spin = np.array([[0.0, -1.0j], [1.0j, 0.0]])
    >>> state = K.as_complex(K.lmo(K.as_real(spin)).to_dense())
    >>> bool(np.allclose(state, [[0.5, 0.5j], [-0.5j, 0.5]]))
    True
    """

    proof_calls = 1

    @checked(trace=extent)
    def __init__(self, n: int, trace: float = 1.0) -> None:
        n = as_size(n, "n")
        self.shape = (n, n)
        self.r = self.radius = trace
        self.diameter = trace * math.sqrt(2.0) if n > 1 else 0.0

    def as_complex(self, x: Any) -> Any:
        """Return the Hermitian matrix, or the batch of matrices, that real ones stand for."""
        x = np.asarray(x, dtype=np.float64)
        turned = x.swapaxes(-1, -2)
        return 0.5 * (x + turned) + 0.5j * (x - turned)

    def as_real(self, H: Any) -> np.ndarray:
        """Return the real matrices that stand for the Hermitian parts of complex ones."""
        H = np.asarray(H, dtype=np.complex128)
        if H.shape[-2:] != self.shape:
            raise ValueError(f"H must have shape {self.shape}, found {H.shape}")
        H = 0.5 * (H + H.conj().swapaxes(-1, -2))
        return H.real + H.imag

    def measurements(self, operators: Any) -> np.ndarray:
        """Return the matrix that maps a state, as a real vector, to the means of its measurements.

        ``operators`` is an array (count, n, n) of Hermitian matrices.
        """
        return self.as_real(operators).reshape(-1, self.dimension)

    def _lmo(self, g: Array) -> Dense:
        v = np.linalg.eigh(self.as_complex(g))[1][..., 0]
        states = self.r * v[..., :, None] * v[..., None, :].conj()
        return Dense(states.real + states.imag, self.shape)

    def certify(self, g: Array, vertex: Atoms) -> float:
        H = self.as_complex(-np.asarray(g))
        double = np.block([[H.real, -H.imag], [H.imag, H.real]])
        return -self.r * symmetric_ceiling(double, -float(vertex.dot(g)) / self.r)

    def _prices(self, g: Array) -> Prices:
        return {"trace": -float(self.support(-g)) / self.r}

    def violation(self, x: Array) -> float:
        if not all_finite(x):
            return math.nan
        least = float(np.linalg.eigvalsh(self.as_complex(x)).min(initial=0.0))
        return max(-least, abs(float(np.trace(x)) - self.r))

    def start(self) -> Array:
        return (self.r / self.shape[0]) * np.eye(self.shape[0])

    def _project(self, x: Array) -> Array:
        values, V = np.linalg.eigh(self.as_complex(x))
        kept = Simplex(values.size, self.r)._project(values)
        H = (V * kept) @ V.conj().T
        return H.real + H.imag

    def __repr__(self) -> str:
        return f"HermitianSpectrahedron({self.shape[0]}, trace={self.r:g})"
