"""Spectral sets on the device of the arrays: trace-norm and Schatten balls, spectrahedra.

Matrices up to order `MAX_DENSE_ORDER` are decomposed, a batch at a time. Lanczos' method finds the
top pairs of larger ones, for the whole batch (`_lanczos`). The relative residual is at most
`PERTURBED_TOLERANCE` for the perturbed directions of a round, whose answers are averaged, and the
root of the machine precision for a single direction. Certificates do not rely on it: Cholesky
factorisations in double precision prove them, as on the host. Where the library has no double
precision, the host computes them.
"""

from __future__ import annotations

import math

from ...arrays import (
    LowRank,
    SparseMatrix,
    as_type,
    clip,
    concat,
    device_of,
    epsilon,
    eye,
    factorises,
    fetch,
    like,
    namespace,
    sum_last,
    to_host,
    wide_dtype,
    zeros,
)
from ...atoms import Atoms, Dense, RankOne
from ...problem.checks import count
from .._base import Array, Set
from .._krylov import (
    sparse_eigenvectors,
    sparse_singular,
    sparse_singular_ceiling,
    sparse_symmetric_ceiling,
)
from .._spectral_bounds import (
    Fit,
    Sizes,
    cholesky_ceiling,
    fitted_ceiling,
    gram_rounding,
    mean_rounding,
    root,
)
from ._base import Twin
from ._lanczos import Ritz, start_for, top_ritz
from .balls import EuclideanTwin
from .simplices import above_level

MAX_DENSE_ORDER = 32
DEVICE_EIGH = 4000
"""Order up to which a decomposition on one of NVIDIA's cards costs no more than a few oracle calls:
24 ms of order 2,000, where the oracle takes 14 ms (docs/benchmarks/gpu.md)."""
CARD_DENSE_ORDER = 512
"""The same for one oracle call, whose Lanczos steps take 10 ms there whatever the order."""
_DOUBLED_FROM = 64
PERTURBED_TOLERANCE = 1e-3


class Spectral(Twin, anywhere=True):
    """What spectral twins share."""

    cheap_violation = False  # it takes a decomposition

    def __init__(self, K: Set, x: Array) -> None:
        super().__init__(K, x)
        if K.has("core") and _on_card(x) and self._order <= DEVICE_EIGH:
            self.cheap_projection = True

    @property
    def _order(self) -> int:
        """Order of the symmetric matrix that a projection decomposes."""
        return sum(self.shape)

    def has(self, capability: str) -> bool:
        return self.K.has(capability)

    def core(self, shape: tuple[int, int]) -> Set:
        return self.K.core(shape)

    def _sparse(self, g: SparseMatrix) -> SparseMatrix:
        """Return a sparse direction where it can be multiplied in double precision."""
        return g if wide_dtype(g) == namespace(g).float64 else g.on_host()

    def _wide(self, g: Array) -> Array | None:
        """Return ``g`` in double precision, None without it or where squares might overflow."""
        space, wide = namespace(g), wide_dtype(g)
        if wide != space.float64:
            return None
        h = g if g.dtype == wide else space.astype(g, wide)
        (squares,) = fetch(space.sum(h * h))
        return h if 1e-100 < squares < 1e100 else None


class TraceTwin(Spectral, anywhere=True):
    """The trace-norm ball."""

    passes: int = 0
    """How often the last batch of directions was read (see `_top_pairs`)."""

    def _lmo(self, g: Array) -> RankOne:
        if isinstance(g, SparseMatrix):
            return self.k_best(g, 1).take(0)
        if g.ndim == 2:
            tolerance = math.sqrt(epsilon(g))
            return RankOne(*self._pairs(g[None, ...], 1, tolerance), -self.K.r).take(0)
        return RankOne(*self._pairs(g, 1, PERTURBED_TOLERANCE), -self.K.r)

    def k_best(self, g: Array, k: int) -> RankOne:
        if isinstance(g, SparseMatrix):
            u, v = sparse_singular(self._sparse(g), count(k, "k"))
            return RankOne(like(u, self.like), like(v, self.like), -self.K.r)
        g, k = self._check_direction(g), min(count(k, "k"), *self.shape)
        return RankOne(*self._pairs(g[None, ...], k, math.sqrt(epsilon(g))), -self.K.r)

    def _pairs(self, g: Array, k: int, tolerance: float) -> tuple[Array, Array]:
        """Return the k top pairs of each matrix of a batch as rows, k of the first if k > 1."""
        space, n = namespace(g), min(self.shape)
        if _decomposes(g, n):
            return _through_gram(g[0, ...], k)
        if n <= MAX_DENSE_ORDER or 8 * k > n:
            U, _, V = space.linalg.svd(g, full_matrices=False)
            u, v = space.matrix_transpose(U)[:, :k, :], V[:, :k, :]
        elif self.shape[0] < self.shape[1]:
            v, u, self.passes = _top_pairs(space.matrix_transpose(g), k, tolerance)
        else:
            u, v, self.passes = _top_pairs(g, k, tolerance)
        return (u[:, 0, :], v[:, 0, :]) if k == 1 else (u[0, ...], v[0, ...])

    def certify(self, g: Array, vertex: Atoms) -> float:
        if isinstance(g, SparseMatrix):
            guess = -float(vertex.dot(g)) / self.K.r
            return -self.K.r * sparse_singular_ceiling(self._sparse(g), guess)
        h = self._wide(g)
        if h is None:
            return super().certify(g, vertex)
        space = namespace(h)
        h = h if h.shape[0] >= h.shape[1] else space.matrix_transpose(h)
        gram, near = space.matrix_transpose(h) @ h, -float(vertex.dot(g)) / self.K.r
        sizes = _sizes(gram)
        top = cholesky_ceiling(sizes, max(0.0, near) ** 2, lambda t: _factorises(gram, t))
        return -self.K.r * root(top + gram_rounding(h.shape[0], sizes.trace))

    def violation(self, x: Array) -> float:
        if isinstance(x, LowRank):
            return float(x.singular_values().sum()) - self.K.r
        values = namespace(x).linalg.svdvals(x)
        return float(sum_last(values, 1)) - self.K.r

    def _project(self, x: Array) -> Array:
        U, s, V = decomposed(x)
        if float(sum_last(s, 1)) <= self.K.r:
            return x + 0.0
        return (U * above_level(s, self.K.r)[None, :]) @ V


class SpectrahedronTwin(Spectral, anywhere=True):
    """The spectrahedron."""

    @property
    def _order(self) -> int:
        return self.shape[0]

    def _lmo(self, g: Array) -> RankOne:
        if isinstance(g, SparseMatrix):
            return self.k_best(g, 1).take(0)
        single = g.ndim == 2
        tolerance = math.sqrt(epsilon(g)) if single else PERTURBED_TOLERANCE
        v = self._vectors(g[None, ...] if single else g, 1, tolerance)[:, 0, :]
        if not self.K.equality:
            image = (g @ v[:, :, None])[:, :, 0]
            value = namespace(g).sum(v * image, axis=-1, keepdims=True)
            v = namespace(g).where(value < 0, v, 0.0)
        answers = RankOne(v, v, self.K.r)
        return answers.take(0) if single else answers

    def k_best(self, g: Array, k: int) -> RankOne:
        n, k = self.shape[0], count(k, "k")
        if isinstance(g, SparseMatrix):
            v = like(sparse_eigenvectors(self._sparse(g), k), self.like)
        else:
            g = self._check_direction(g)
            v = self._vectors(g[None, ...], min(k, n), math.sqrt(epsilon(g)))[0, ...]
        if not self.K.equality:
            space = namespace(v)
            values = space.sum((g @ v.T).T * v, axis=-1)
            below = int(space.sum(space.astype(values < 0, values.dtype)))
            v = concat([v[:below, :], 0.0 * v[:1, :], v[below:, :]])[:k, :]
        return RankOne(v, v, self.K.r)

    def _vectors(self, g: Array, k: int, tolerance: float) -> Array:
        """Return the k eigenvectors of each (g + g')/2 with the least eigenvalues, as rows."""
        space, n = namespace(g), self.shape[0]
        a = -0.5 * g - 0.5 * space.matrix_transpose(g)
        if n <= MAX_DENSE_ORDER or 8 * k > n or _decomposes(g, n):
            V = space.linalg.eigh(a)[1]
            return space.flip(space.matrix_transpose(V), axis=1)[:, :k, :]
        largest = space.max(abs(a), axis=(-2, -1))
        unit = (1.0 / space.where(largest > 0, largest, 1.0))[:, None]
        start = start_for(a, n)
        return top_ritz(lambda q: (a @ q[:, :, None])[:, :, 0] * unit, start, k, tolerance).vectors

    def certify(self, g: Array, vertex: Atoms) -> float:
        if isinstance(g, SparseMatrix):
            guess = -float(vertex.dot(g)) / self.K.r
            top = sparse_symmetric_ceiling(self._sparse(g), guess)
            return -self.K.r * (top if self.K.equality else max(0.0, top))
        h = self._wide(g)
        if h is None:
            return super().certify(g, vertex)
        a = -0.5 * h - 0.5 * namespace(h).matrix_transpose(h)
        sizes, near = _sizes(a), -float(vertex.dot(g)) / self.K.r
        top = cholesky_ceiling(sizes, near, lambda t: _factorises(a, t))
        top += mean_rounding(math.sqrt(sizes.squares))
        return -self.K.r * (top if self.K.equality else max(0.0, top))

    def violation(self, x: Array) -> float:
        if isinstance(x, LowRank):
            return self.K.violation(x.on_host())
        space = namespace(x)
        other = space.matrix_transpose(x)
        least = space.linalg.eigvalsh(0.5 * x + 0.5 * other)[0]
        skew, trace = space.sum((x - other) ** 2), space.linalg.trace(x)
        skew, least, trace = fetch(skew, least, trace)
        excess = trace - self.K.r
        return max(0.5 * math.sqrt(skew), -least, abs(excess) if self.K.equality else excess)

    def _project(self, x: Array) -> Array:
        space = namespace(x)
        x = as_type(x, wide_dtype(x)) if _on_card(x) else x
        values, V = space.linalg.eigh(0.5 * x + 0.5 * space.matrix_transpose(x))
        kept = clip(values, 0.0, None)
        if self.K.equality or float(sum_last(kept, 1)) > self.K.r:
            kept = above_level(values, self.K.r)
        return (V * kept[None, :]) @ V.T


class SchattenTwin(Spectral, anywhere=True):
    """Schatten balls, the operator-norm ball among them: one decomposition per direction."""

    def _lmo(self, g: Array) -> Dense:
        if self.K.order == 2:
            return EuclideanTwin(self.K, self.like)._lmo(g)
        U, s, V = namespace(g).linalg.svd(g, full_matrices=False)
        return Dense(-self.K.r * ((U * self._weights(s)[..., None, :]) @ V), self.shape)

    def _weights(self, s: Array) -> Array:
        """Return the w >= 0 with ||w||_order = 1 that maximises <w, s>."""
        space, order = namespace(s), self.K.order
        if order == math.inf:
            return space.ones_like(s)
        if order == 1:
            return like([1.0] + [0.0] * (s.shape[-1] - 1), s)
        top = s[..., :1]
        w = (s / space.where(top > 0, top, 1.0)) ** (self.K._conjugate - 1.0)
        length = space.sum(w**order, axis=-1, keepdims=True) ** (1.0 / order)
        return w / space.where(length > 0, length, 1.0)

    def certify(self, g: Array, vertex: Atoms) -> float:
        if self.K.order == 2:
            return float(vertex.dot(g))
        h = self._wide(g)
        if h is None:
            return super().certify(g, vertex)
        space = namespace(h)
        U, s, V = space.linalg.svd(h, full_matrices=False)
        one = eye(s.shape[0], h)
        parts = (h - (U * s[None, :]) @ V, U.T @ U - one, V @ V.T - one)
        fit = Fit(*(math.sqrt(x) for x in fetch(*(space.sum(x * x) for x in parts))))
        return -self.K.r * fitted_ceiling(to_host(s), fit, self.shape, self.K._conjugate)

    def violation(self, x: Array) -> float:
        return self.K._norm(to_host(namespace(x).linalg.svdvals(x))) - self.K.r

    def _project(self, x: Array) -> Array:
        if self.K.order == 2:
            return EuclideanTwin(self.K, self.like)._project(x)
        space = namespace(x)
        U, s, V = space.linalg.svd(x, full_matrices=False)
        if self.K._norm(to_host(s)) <= self.K.r:
            return x + 0.0
        kept = clip(s, None, self.K.r)
        kept = above_level(s, self.K.r) if self.K.order == 1 else kept
        return (U * kept[None, :]) @ V


def _on_card(x: Array) -> bool:
    """Tell whether an array is on one of NVIDIA's cards."""
    return "cuda" in str(device_of(x)).lower()


def _decomposes(g: Array, n: int) -> bool:
    """Tell whether one matrix is decomposed faster than Lanczos' method finds its top pairs."""
    return g.shape[0] == 1 and MAX_DENSE_ORDER < n <= CARD_DENSE_ORDER and _on_card(g)


def _through_gram(g: Array, k: int) -> tuple[Array, Array]:
    """Return the k top singular vectors as rows, from the Gram matrix in double precision."""
    if g.shape[0] < g.shape[1]:
        v, u = _through_gram(g.T, k)
        return u, v
    space, h = namespace(g), as_type(g, wide_dtype(g))
    vectors = space.flip(space.linalg.eigh(h.T @ h)[1].T, axis=0)[:k, :]
    u = _unit_rows((vectors @ h.T)[None, ...])
    v = _unit_rows(u @ h)[0, ...]
    return as_type(u[0, ...], g.dtype), as_type(v, g.dtype)


def decomposed(x: Array) -> tuple[Array, Array, Array]:
    """Return U, s and V' of a matrix, for projections: the vectors of small s may be missing.

    NVIDIA's cards decompose symmetric matrices several times faster than others. The matrix
    [[0, x], [x', 0]] has the eigenvalues s and -s, with vectors (u, v) and (u, -v) over root 2, to
    the accuracy of a singular value decomposition. Double precision costs such a card no more here,
    and a projection in single precision would leave K by more than certificates allow.
    """
    space, (p, q) = namespace(x), x.shape
    if not (_on_card(x) and min(p, q) >= _DOUBLED_FROM):
        return space.linalg.svd(x, full_matrices=False)
    h = as_type(x, wide_dtype(x))
    top = concat([zeros((p, p), h), h], axis=1)
    s, Z = space.linalg.eigh(concat([top, concat([h.T, zeros((q, q), h)], axis=1)]))
    k = min(p, q)
    s, Z = space.flip(s)[:k], math.sqrt(2.0) * space.flip(Z, axis=1)[:, :k]
    return Z[:p, :], clip(s, 0.0, None), Z[p:, :].T


def _top_pairs(g: Array, k: int, tolerance: float) -> tuple[Array, Array, int]:
    """Return the k top singular pairs of each matrix of a batch, none of them wide.

    The third number says how often the matrices were read: twice a step of Lanczos' method, and
    three times for its start and its end.
    """
    space = namespace(g)
    h = space.matrix_transpose(g)

    def squared(b: Array) -> Ritz:
        start = start_for(b, b.shape[-1])
        # in units of the start's image no square overflows, whatever the unit of g
        size = space.sqrt(space.sum((b @ start[:, :, None]) ** 2, axis=(-2, -1)))
        unit = (1.0 / space.where(size > 0, size, 1.0))[:, None, None]
        c = space.matrix_transpose(b)
        return top_ritz(
            lambda q: (c @ ((b @ q[:, :, None]) * unit) * unit)[:, :, 0], start, k, tolerance
        )

    found = squared(g)
    if not (0.0 <= found.residual < math.inf and found.size > 0.0):  # squares over- or underflowed
        largest = space.max(abs(g), axis=(-2, -1), keepdims=True)
        found = squared(g / space.where(largest > 0, largest, 1.0))
    u = _unit_rows(found.vectors @ h)
    return u, _unit_rows(u @ g), 2 * found.steps + 3


def _unit_rows(x: Array) -> Array:
    """Return the rows of a batch of matrices at unit length; a zero row becomes the first axis."""
    space = namespace(x)
    largest = space.max(abs(x), axis=-1, keepdims=True)
    x = x / space.where(largest > 0, largest, 1.0)
    length = space.sqrt(space.sum(x * x, axis=-1, keepdims=True))
    first = like([1.0] + [0.0] * (x.shape[-1] - 1), x)
    return space.where(length > 0, x / space.where(length > 0, length, 1.0), first)


def _sizes(a: Array) -> Sizes:
    space = namespace(a)
    diagonal = space.linalg.diagonal(a)
    numbers = (space.sum(abs(diagonal)), space.max(diagonal), space.sum(a * a))
    return Sizes(a.shape[0], *fetch(*numbers))


def _factorises(a: Array, t: float) -> bool:
    return factorises(t * eye(a.shape[0], a) - a)
