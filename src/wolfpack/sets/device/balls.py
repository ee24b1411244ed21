"""The Euclidean ball and the k-sparse polytope on the device of the arrays."""

from __future__ import annotations

from scipy.special import hyp1f1

from ...arrays import choose, fetch, namespace, norm, reshape, sum_last, take_along, topk
from ...atoms import Dense, Sparse
from .._base import Array
from .._laws import NoiseLike, need_scale, smoothing_arguments
from ._base import Exact, Twin


class EuclideanTwin(Exact, Twin, anywhere=True):
    """The Euclidean ball."""

    def _lmo(self, g: Array) -> Dense:
        space = namespace(g)
        flat = reshape(g, (*g.shape[: g.ndim - len(self.shape)], -1))
        largest = space.max(abs(flat), axis=-1, keepdims=True)
        unit = flat / space.where(largest > 0, largest, 1.0)
        length = space.sqrt(space.astype(sum_last(unit * unit, 1), g.dtype))[..., None]
        answer = unit * (-self.K.r / space.where(length > 0, length, 1.0))
        return Dense(reshape(answer, tuple(g.shape)), self.shape)

    def violation(self, x: Array) -> float:
        return norm(x) - self.K.r

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        y, alpha = smoothing_arguments(self, y, alpha)
        alpha *= need_scale(self, noise, "gaussian")
        t, n = norm(y) / alpha, self.dimension
        answer = self._lmo(-y).to_dense()
        if t * t > 1e16 * n:  # phi(t) = 1 - (n - 1)/(2 t^2) + ... rounds to 1
            return answer
        return answer * (self.K._mean_length * t / n * float(hyp1f1(0.5, n / 2 + 1, -0.5 * t * t)))

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        y, alpha = smoothing_arguments(self, y, alpha)
        alpha *= need_scale(self, noise, "gaussian")
        length, n, K = norm(y), self.dimension, self.K
        t = length / alpha
        if t * t > 1e16 * n:
            return K.r * length
        return K.r * alpha * K._mean_length * float(hyp1f1(-0.5, n / 2, -0.5 * t * t))

    def _project(self, x: Array) -> Array:
        return self._lmo(-x).to_dense() if norm(x) > self.K.r else x + 0.0


class KSparseTwin(Exact, Twin, anywhere=True):
    """The k-sparse polytope."""

    def _lmo(self, g: Array) -> Sparse:
        K, rows = self.K, reshape(g, (-1, self.dimension))
        indices = topk(abs(rows), K.k)
        values = choose(take_along(rows, indices) < 0, K.r, -K.r, g)
        answers = Sparse(indices, values, self.shape, g.dtype)
        return answers.take(0) if g.ndim == len(self.shape) else answers

    def violation(self, x: Array) -> float:
        largest, total = fetch(namespace(x).max(abs(x)), sum_last(abs(x), x.ndim))
        return max(largest - self.K.r, total - self.K.k * self.K.r)
