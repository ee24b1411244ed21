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

from ...arrays import Array, inner, to_host
from ...atoms import Atoms, join, weighted

Metric = Callable[[Array], Array]
"""The product d -> B d with a symmetric positive semidefinite B."""

PURGE = 1e-15
"""Weight up to which a vertex counts as having none."""


class Hull(NamedTuple):
    """Points, weights and ages; never written to, each change returns a new one.

    ``origin`` is v_0, the starting point, which keeps position 0 also when it has lost its weight;
    ``atoms`` is the batch v_1, v_2, ..., and ``keys`` are digests of their identities. The origin
    and each atom have a weight in ``weights``, and in ``idle`` the number of rounds without weight.
    ``gram`` is <v_i, B v_j>, for methods that start with a metric B.
    """

    origin: Array
    atoms: Atoms | None
    keys: tuple[str, ...]
    weights: Array
    idle: Array
    gram: Array | None = None

    @classmethod
    def start(cls, x0: Array, metric: Metric | None = None) -> Hull:
        """Return the hull of ``x0`` alone, with a Gram matrix if a metric is given."""
        gram = None if metric is None else np.array([[inner(x0, metric(x0))]])
        return cls(x0, None, (), np.ones(1), np.zeros(1, dtype=int), gram)

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
        return self.first + int(scores[self.first :].argmin())

    def worst(self, scores: Array) -> int:
        """Return the position with the largest score."""
        return self.first + int(scores[self.first :].argmax())

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
        grown = self._grown(atom, (*self.keys, key))
        if self.gram is not None:
            assert metric is not None
            image = metric(atom.to_dense())
            row = np.append(self.scores(image), float(atom.dot(image)))
            grown = grown._replace(gram=bordered(self.gram, row[None, :]))
        return grown, len(self.weights)

    def extend(self, answers: Atoms, metric: Metric | None = None) -> tuple[Hull, Array]:
        """Return the hull with a batch of answers, and the position of each of them.

        Answers that are known already, or that occur twice, are kept once. ``metric`` is needed
        where there is a Gram matrix.
        """
        known = {key: 1 + i for i, key in enumerate(self.keys)}
        new, positions = [], np.empty(len(answers), dtype=int)
        for i, key in enumerate(map(digest, answers.keys())):
            if key not in known:
                known[key] = 1 + len(known)
                new.append(i)
            positions[i] = known[key]
        if not new:
            return self, positions
        grown = self._grown(answers.take(np.array(new)), tuple(known))
        if self.gram is not None:
            assert metric is not None
            assert grown.atoms is not None
            vertices = grown.atoms.take(slice(len(self.keys), None)).to_dense()
            count = vertices.shape[0]
            rows = np.array([grown.scores(metric(vertices[i, ...])) for i in range(count)])
            grown = grown._replace(gram=bordered(self.gram, rows))
        return grown, positions

    def admit(self, atom: Atoms, value: float, scores: Array) -> tuple[Hull, int]:
        """Return the hull with ``atom`` and its position, or that of a known vertex as good.

        ``value`` is <g, atom>. No vertex beats an exact oracle, but one may beat an inexact oracle.
        """
        best = self.best(scores)
        return (self, best) if scores[best] <= value else self.add(atom)

    def direction(self, x: Array, source: int | None, target: int | None) -> Array:
        """Return target - source, None standing for x itself."""
        tip = x if target is None else self.vertex(target)
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
        weights = scale * self.weights
        if target is not None:
            weights[target] += step
        if source is not None:
            emptied = step >= self.max_step(source, target)
            weights[source] = 0.0 if emptied else weights[source] - step
        return self.pruned(weights)

    def reweighted(self, weights: Array) -> Hull:
        """Return the hull with these weights, scaled to sum 1; points without weight age."""
        weights = np.where(weights > PURGE, weights, 0.0)
        weights /= weights.sum()
        return self._replace(weights=weights, idle=np.where(weights > 0, 0, self.idle + 1))

    def pruned(self, weights: Array) -> Hull:
        """Return the hull with these weights, scaled to sum 1, without vertices of no weight."""
        weights = np.where(weights > PURGE, weights, 0.0)
        weights /= weights.sum()
        hull = self._replace(weights=weights)
        if weights[1:].all():
            return hull
        stays = weights != 0
        stays[0] = True
        return hull._only(stays)

    def moved_to(self, x: Array, metric: Metric | None = None) -> Hull:
        """Return the hull of ``x`` and the vertices, which have lost their weights."""
        weights = np.zeros(len(self.weights))
        weights[0] = 1.0
        hull = Hull(x, self.atoms, self.keys, weights, 0 * self.idle)
        if self.gram is None:
            return hull
        assert metric is not None
        gram = self.gram.copy()
        gram[0] = gram[:, 0] = hull.scores(metric(x))
        return hull._replace(gram=gram)

    def trimmed(self, limit: int, max_age: float, scores: Array) -> Hull:
        """Return the hull without what has been idle too long, and within the limit.

        Over the limit, idle points with the largest scores go first, since they are the least
        useful. Points with weight always stay, and so does the origin.
        """
        fits = len(self.weights) <= limit
        if fits and (max_age == np.inf or self.idle.max() <= max_age):
            return self
        fixed = self.weights > 0
        fixed[0] = True
        stays = fixed | (self.idle <= max_age)
        if stays.sum() > limit:
            order = np.where(fixed, -np.inf, np.where(stays, scores, np.inf))
            last = max(limit, int(fixed.sum()))
            stays[np.argsort(order, kind="stable")[last:]] = False
        return self._only(stays)

    def _grown(self, added: Atoms, keys: tuple[str, ...]) -> Hull:
        """Return the hull with new vertices of weight 0, without a Gram matrix."""
        new = len(keys) - len(self.keys)
        atoms = join([added] if self.atoms is None else [self.atoms, added])
        weights = np.concatenate([self.weights, np.zeros(new)])
        idle = np.concatenate([self.idle, np.zeros(new, dtype=int)])
        return Hull(self.origin, atoms, keys, weights, idle)

    def _only(self, stays: Array) -> Hull:
        """Return the hull of the points where ``stays`` is True; the origin is one of them."""
        if stays.all():
            return self
        kept = np.flatnonzero(stays)
        atoms = None if self.atoms is None or len(kept) == 1 else self.atoms.take(kept[1:] - 1)
        gram = None if self.gram is None else self.gram[np.ix_(kept, kept)]
        keys = tuple(self.keys[i - 1] for i in kept[1:])
        return Hull(self.origin, atoms, keys, self.weights[kept], self.idle[kept], gram)


def bordered(gram: Array, rows: Array) -> Array:
    """Return the Gram matrix with the rows, and columns, of new points."""
    old, size = len(gram), rows.shape[1]
    out = np.empty((size, size))
    out[:old, :old], out[old:], out[:old, old:] = gram, rows, rows[:, :old].T
    return out


def digest(key: Hashable) -> str:
    """Return a short text that identifies a vertex's key, the same in every process."""
    feed = blake2b(digest_size=16)
    for part in key if isinstance(key, tuple) else (key,):
        part = digest(part) if isinstance(part, tuple) else part
        data = part if isinstance(part, bytes) else repr(part).encode()
        feed.update(b"%d:" % len(data))
        feed.update(data)
    return feed.hexdigest()
