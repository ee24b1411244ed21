r"""Points of K as convex combinations of known points.

.. math:: x = \sum_{i \ge 0} w_i v_i, \qquad w_i \ge 0, \quad \sum_i w_i = 1,

with v_0 = x_0, the starting point, which need not be a vertex, and v_1, v_2, ... answers of the
linear oracle, kept as one structured batch. The weights are the truth and x follows from them:
every change scales them to sum 1 and adds x up again, so that rounding errors do not accumulate
over rounds and x is as feasible as the answers are.

Active sets drop a vertex as soon as it has no weight (`Hull.pruned`). Corrective methods keep it
for later corrections (`Hull.reweighted`), up to an age and a number of vertices (`Hull.trimmed`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dasum

from ...arrays import Array, inner, to_host
from ...atoms import Atoms, Dense, join, weighted
from .barycentric import Face


class Metric(NamedTuple):
    """A symmetric positive semidefinite matrix B, known by what it makes of vertices.

    Attributes
    ----------
    product : callable
        v -> B v.
    image : callable or None
        v -> A v, if B is ``weight`` times A'A and images are no longer than vertices.
    weight : float
        The factor of A'A.
    centred : bool
        Whether the Gram matrix is that of the points less the origin of the hull, of which
        ``product`` is then the product.
    """

    product: Callable[[Atoms], Array]
    image: Callable[[Atoms], Array] | None = None
    weight: float = 1.0
    centred: bool = False


_ROOM = 16

PURGE = 1e-15
"""Weight up to which a vertex counts as having none."""


class Gram:
    """A symmetric matrix that grows by rows and columns without being copied every time.

    States are values, so what an earlier one has must not change: matrices that grew out of each
    other share a buffer, which knows how many rows have been written to, and only the matrix that
    has all of them grows in its place. Others are copied.

    Parameters
    ----------
    matrix : array
        The matrix, which is copied.
    room : int
        Points for which there is room.
    """

    def __init__(self, matrix: Array, room: int) -> None:
        self.size = len(matrix)
        self._buffer, self._written = np.zeros((room, room)), [self.size]
        self._buffer[: self.size, : self.size] = matrix

    def saved_fields(self) -> dict[str, object]:
        """Return what a checkpoint keeps, by the names of the constructor's arguments."""
        return {"matrix": np.array(self.matrix), "room": len(self._buffer)}

    @property
    def matrix(self) -> Array:
        """The matrix itself."""
        return self._buffer[: self.size, : self.size]

    def bordered(self, rows: Array) -> Gram:
        """Return the matrix with the rows, and columns, of new points."""
        old, size = self.size, rows.shape[1]
        room = len(self._buffer) if size <= len(self._buffer) else _with_room(size)
        own = self._written[0] == old and room == len(self._buffer)
        grown = self._shared() if own else Gram(self.matrix, room)
        grown.size = grown._written[0] = size
        grown._buffer[old:size, :size] = rows
        grown._buffer[:old, old:size] = rows[:, :old].T
        return grown

    def _shared(self) -> Gram:
        """Return the same matrix in the same buffer; `copy.copy` takes ten times as long."""
        other = Gram.__new__(Gram)
        other._buffer, other._written = self._buffer, self._written
        return other

    def only(self, kept: Array) -> Gram:
        """Return the matrix of the points ``kept``."""
        return Gram(self.matrix[kept][:, kept], _with_room(len(kept)))


def _with_room(size: int) -> int:
    return size + max(_ROOM, size // 8)


class Hull(NamedTuple):
    """Points, weights and ages; never written to, each change returns a new one.

    ``origin`` is v_0, the starting point, which keeps position 0 also when it has lost its weight;
    ``atoms`` is the batch v_1, v_2, ..., and ``keys`` are digests of their identities. The origin
    and each atom have a weight in ``weights``, and in ``idle`` the number of rounds without weight.
    ``products`` holds <v_i, B v_j>, for methods that start with a metric B, and ``face`` its factor
    at the points that had weight after the last correction. ``images`` holds A v_i, row by row,
    where the metric has images. ``entered`` counts the vertices that were ever added.
    """

    origin: Array
    atoms: Atoms | None
    keys: tuple[str, ...]
    weights: Array
    idle: Array
    products: Gram | None = None
    face: Face | None = None
    images: Array | None = None
    entered: int = 0

    @classmethod
    def start(cls, x0: Array, metric: Metric | None = None) -> Hull:
        """Return the hull of ``x0`` alone, with a Gram matrix if a metric is given."""
        hull = cls(x0, None, (), np.ones(1), np.zeros(1, dtype=int))
        return hull if metric is None else hull._measured(Dense(x0, x0.shape), metric)

    @property
    def gram(self) -> Array | None:
        """The matrix of all <v_i, B v_j>, None without a metric."""
        return None if self.products is None else self.products.matrix

    @property
    def first(self) -> int:
        """The first position that may have weight: 1 once the origin has lost its own."""
        return 0 if self.weights[0] > 0 or self.atoms is None else 1

    def scores(self, g: Array) -> Array:
        """Return <g, v_i> for all i."""
        out = np.empty(len(self.weights))
        out[0] = inner(g, self.origin)
        if self.atoms is not None:
            products = self.atoms.dot(g)
            out[1:] = products if type(products) is np.ndarray else to_host(products)
        return out

    def best(self, scores: Array) -> int:
        """Return the position with the smallest score."""
        first = self.first
        return first + int(scores[first:].argmin())

    def worst(self, scores: Array) -> int:
        """Return the position with the largest score."""
        first = self.first
        return first + int(scores[first:].argmax())

    def vertex(self, i: int) -> Array:
        """Return v_i as a dense array."""
        return self.origin if i == 0 or self.atoms is None else self.atoms.take(i - 1).to_dense()

    def point(self, weights: Array | None = None) -> Array:
        """Return the point with these weights, by default the hull's own."""
        if self.atoms is None:
            return self.origin
        return weighted(self.atoms, self.weights if weights is None else weights, self.origin)

    def add(self, atom: Atoms, metric: Metric | None = None) -> tuple[Hull, int]:
        """Return the hull with ``atom`` (of weight 0 if it is new) and the atom's position.

        ``metric`` is needed where there is a Gram matrix.
        """
        key = digest(atom.key())
        if key in self.keys:
            return self, 1 + self.keys.index(key)
        return self._grown(atom, (*self.keys, key), metric), len(self.weights)

    def extend(self, answers: Atoms, metric: Metric | None = None) -> tuple[Hull, Array]:
        """Return the hull with a batch of answers, and the position of each of them.

        Answers that are known already, or that occur twice, are kept once. ``metric`` is needed
        where there is a Gram matrix.
        """
        if len(answers) == 1:
            hull, position = self.add(answers.take(0), metric)
            return hull, np.array([position])
        known = {key: 1 + i for i, key in enumerate(self.keys)}
        new, positions = [], np.empty(len(answers), dtype=int)
        for i, key in enumerate(map(digest, answers.keys())):
            if key not in known:
                known[key] = 1 + len(known)
                new.append(i)
            positions[i] = known[key]
        if not new:
            return self, positions
        return self._grown(answers.take(np.array(new)), tuple(known), metric), positions

    def admit(self, atom: Atoms, value: float, scores: Array) -> tuple[Hull, int]:
        """Return the hull with ``atom`` and its position, or that of a known vertex as good.

        ``value`` is <g, atom>. No vertex beats an exact oracle, but one may beat an inexact oracle.
        """
        best = self.best(scores)
        return (self, best) if scores[best] <= value else self.add(atom)

    def direction(self, x: Array, source: int | None, target: int | None) -> Array:
        """Return target - source, None standing for x itself."""
        double = type(x) is np.ndarray and x.dtype == np.float64
        if double and source is None and target and self.atoms is not None:
            return self.atoms.take(target - 1).add_scaled(x, -1.0, 1.0)
        tip = x if target is None else self.vertex(target)
        if double and source and self.atoms is not None:
            return self.atoms.take(source - 1).add_scaled(tip, 1.0, -1.0)
        return tip - (x if source is None else self.vertex(source))

    def max_step(self, source: int | None, target: int | None) -> float:
        """Return the longest step along `direction` that keeps the weights nonnegative."""
        if source is None:
            return 1.0
        weight = float(self.weights[source])
        if target is not None:
            return weight
        return weight / (1.0 - weight) if weight < 1.0 else 0.0

    def transfer(self, step: float, source: int | None, target: int | None) -> Hull:
        r"""Return the active set of x + step (target - source): weight moves from source to target.

        None stands for x, that is for all vertices in proportion to their weights: a Frank-Wolfe
        step takes from x, an away step gives to x, a pairwise step does neither.
        """
        if source == target or step <= 0:
            return self.pruned(self.weights)
        scale = 1.0 + step * ((target is None) - (source is None))
        weights = self.weights.copy() if scale == 1.0 else scale * self.weights
        if target is not None:
            weights[target] += step
        if source is not None:
            emptied = step >= self.max_step(source, target)
            weights[source] = 0.0 if emptied else weights[source] - step
        return self.pruned(weights)

    def reweighted(self, weights: Array, face: Face | None = None) -> Hull:
        """Return the hull with these weights, scaled to sum 1, and the factor ``face``; points
        without weight age.
        """
        weights, used = _scaled(weights)
        idle = self.idle + 1
        idle[used] = 0
        origin, atoms, keys, _, _, products, _, images, entered = self
        return Hull(origin, atoms, keys, weights, idle, products, face, images, entered)

    def pruned(self, weights: Array) -> Hull:
        """Return the hull with these weights, scaled to sum 1, without vertices of no weight."""
        weights, used = _scaled(weights)
        origin, atoms, keys, _, idle, products, face, images, entered = self
        # `_replace` takes twice as long
        hull = Hull(origin, atoms, keys, weights, idle, products, face, images, entered)
        used[0] = True
        return hull if np.count_nonzero(used) == len(used) else hull.only(used)

    def moved_to(self, x: Array, metric: Metric | None = None) -> Hull:
        """Return the hull of ``x`` and the vertices, which have lost their weights.

        A Gram matrix must not be centred, and ``metric`` must be its own.
        """
        weights = np.zeros(len(self.weights))
        weights[0] = 1.0
        hull = Hull(x, self.atoms, self.keys, weights, 0 * self.idle, entered=self.entered)
        if self.products is None:
            return hull
        assert metric is not None
        origin, matrix, images = Dense(x, x.shape), self.products.matrix.copy(), None
        if metric.image is None or self.images is None:
            row = hull.scores(metric.product(origin))
        else:
            images = self.images.copy()
            images[0] = metric.image(origin).reshape(-1)
            row = metric.weight * (images @ images[0])
        matrix[0] = matrix[:, 0] = row
        return hull.with_gram(matrix)._replace(images=images)

    def with_gram(self, matrix: Array) -> Hull:
        """Return the hull with another Gram matrix, which no metric has made."""
        return self._replace(products=Gram(matrix, _with_room(len(matrix))), face=None, images=None)

    def overfull(self, limit: int, max_age: float) -> bool:
        """Tell whether `trimmed` would forget enough points to be worth a copy of the rest."""
        count = len(self.weights)
        return count > limit or 16 * int(np.count_nonzero(self.idle > max_age)) > count

    def trimmed(self, limit: int, max_age: float, scores: Array) -> Hull:
        """Return the hull without what has been idle too long, and within the limit.

        Over the limit, idle points with the largest scores go first, since they are the least
        useful. Points with weight always stay, and so does the origin.
        """
        if not self.overfull(limit, max_age):
            return self
        fixed = self.weights > 0
        fixed[0] = True
        stays = fixed | (self.idle <= max_age)
        if stays.sum() > limit:
            order = np.where(fixed, -np.inf, np.where(stays, scores, np.inf))
            last = max(limit, int(fixed.sum()))
            stays[np.argsort(order, kind="stable")[last:]] = False
        return self.only(stays)

    def _grown(self, added: Atoms, keys: tuple[str, ...], metric: Metric | None) -> Hull:
        """Return the hull with new vertices of weight 0."""
        new = len(keys) - len(self.keys)
        atoms = join([added] if self.atoms is None else [self.atoms, added])
        known = len(self.weights)
        weights, idle = np.zeros(known + new), np.zeros(known + new, dtype=int)
        weights[:known], idle[:known] = self.weights, self.idle
        origin, _, _, _, _, products, face, images, entered = self
        grown = Hull(origin, atoms, keys, weights, idle, products, face, images, entered + new)
        if products is None:
            return grown
        assert metric is not None
        return grown._measured(added, metric)

    def _measured(self, added: Atoms, metric: Metric) -> Hull:
        """Return the hull with the products of its last points, ``added``, in the Gram matrix."""
        count = added.count or 1
        each = [added] if added.count is None else [added.take(i) for i in range(count)]
        if metric.image is None:
            rows, images = np.array([self.scores(metric.product(v)) for v in each]), None
            if metric.centred:
                rows -= rows[:, :1]
        else:
            found = np.array([metric.image(v).reshape(-1) for v in each])
            images = found if self.images is None else np.concatenate([self.images, found])
            rows = metric.weight * (found @ images.T)
        start = Gram(np.empty((0, 0)), 0) if self.products is None else self.products
        return self._replace(products=start.bordered(rows), images=images)

    def only(self, stays: Array) -> Hull:
        """Return the hull of the points where ``stays`` is True; the origin is one of them."""
        if stays.all():
            return self
        kept = np.flatnonzero(stays)
        atoms = None if self.atoms is None or len(kept) == 1 else self.atoms.take(kept[1:] - 1)
        products = None if self.products is None else self.products.only(kept)
        face = None if self.face is None else self.face.only(kept, len(stays))
        keys = tuple(self.keys[i - 1] for i in kept[1:])
        images = None if self.images is None else self.images[kept]
        weights, idle = self.weights[kept], self.idle[kept]
        origin, entered = self.origin, self.entered
        return Hull(origin, atoms, keys, weights, idle, products, face, images, entered)


def _scaled(weights: Array) -> tuple[Array, Array]:
    """Return weights scaled to sum 1, without those up to `PURGE`, and which are left."""
    used = weights > PURGE
    weights = weights.copy()
    weights[~used] = 0.0
    weights /= dasum(weights)
    return weights, used


def digest(key: Hashable) -> str:
    """Return a short text that identifies a vertex's key, the same in every process."""
    feed = blake2b(digest_size=16)
    for part in key if isinstance(key, tuple) else (key,):
        part = digest(part) if isinstance(part, tuple) else part
        data = part if isinstance(part, bytes) else repr(part).encode()
        feed.update(b"%d:" % len(data))
        feed.update(data)
    return feed.hexdigest()
