r"""Pools: all vertices worth remembering, of which few have weight.

.. math:: x = \sum_{i \ge 0} w_i v_i, \qquad w_i \ge 0, \quad \sum_i w_i = 1,

with v_0 = x_0, the starting point, and v_1, v_2, ... answers of the linear oracle as one structured
batch. Unlike an active set, a pool keeps vertices that have no weight, since a later correction may
want them: up to an age, and up to a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...arrays import Array, inner, to_host
from ...atoms import Atoms, join, weighted
from .active_set import PURGE, digest

Product = Callable[[Array], Array]


class Pool(NamedTuple):
    """Points, weights and ages; never written to, each change returns a new one.

    Attributes
    ----------
    origin : array
        v_0, the starting point.
    atoms : Atoms or None
        The batch v_1, v_2, ...; None while there is none.
    keys : tuple of str
        Digests of the identities of the atoms.
    weights : array, float64
        One weight for the origin and each atom.
    idle : array of int
        For how many rounds each has had no weight.
    gram : array or None
        <v_i, B v_j>, for the metric B that corrections use.
    """

    origin: Array
    atoms: Atoms | None
    keys: tuple[str, ...]
    weights: Array
    idle: Array
    gram: Array | None = None

    @classmethod
    def start(cls, x0: Array, product: Product | None = None) -> Pool:
        """Return the pool of ``x0`` alone, with a Gram matrix if d -> B d is given."""
        gram = None if product is None else np.array([[inner(x0, product(x0))]], dtype=float)
        return cls(x0, None, (), np.ones(1), np.zeros(1, dtype=int), gram)

    @property
    def size(self) -> int:
        """Number of points, the origin included."""
        return len(self.weights)

    def scores(self, g: Array) -> Array:
        """Return <g, v_i> for all i."""
        out = np.empty(self.size)
        out[0] = inner(g, self.origin)
        if self.atoms is not None:
            out[1:] = to_host(self.atoms.dot(g))
        return out

    def point(self, weights: Array) -> Array:
        """Return the point with these weights."""
        if self.atoms is None:
            return float(weights[0]) * self.origin
        return weighted(self.atoms, weights, self.origin)

    def vertex(self, i: int) -> Array:
        """Return v_i as a dense array."""
        return self.origin if i == 0 or self.atoms is None else self.atoms.take(i - 1).to_dense()

    def extend(self, answers: Atoms, product: Product | None = None) -> tuple[Pool, Array]:
        """Return the pool with a batch of answers, and the position of each of them.

        Answers that are known already, or that occur twice, are kept once. ``product``, d -> B d,
        is needed where there is a Gram matrix.
        """
        known = {key: 1 + i for i, key in enumerate(self.keys)}
        new, positions = [], np.empty(len(answers), dtype=int)
        for i in range(len(answers)):
            key = digest(answers.take(i).key())
            if key not in known:
                known[key] = 1 + len(known)
                new.append(i)
            positions[i] = known[key]
        if not new:
            return self, positions
        added = answers.take(np.array(new))
        pool = Pool(
            self.origin,
            join([added] if self.atoms is None else [self.atoms, added]),
            tuple(known),
            np.concatenate([self.weights, np.zeros(len(new))]),
            np.concatenate([self.idle, np.zeros(len(new), dtype=int)]),
        )
        if self.gram is None:
            return pool, positions
        assert product is not None
        old = self.size
        rows = np.array([pool.scores(product(pool.vertex(i))) for i in range(old, pool.size)])
        gram = np.empty((pool.size, pool.size))
        gram[:old, :old], gram[old:], gram[:old, old:] = self.gram, rows, rows[:, :old].T
        return pool._replace(gram=gram), positions

    def reweighted(self, weights: Array) -> Pool:
        """Return the pool with these weights, scaled to sum 1, and everyone's age."""
        weights = np.where(weights > PURGE, weights, 0.0)
        weights /= weights.sum()
        return self._replace(weights=weights, idle=np.where(weights > 0, 0, self.idle + 1))

    def trimmed(self, limit: int, max_age: int, scores: Array) -> Pool:
        """Return the pool without what has been idle too long, and within the limit.

        Over the limit, those that are farthest from being useful go first: idle points with the
        largest scores. Points with weight always stay, and so does the origin.
        """
        fixed = self.weights > 0
        fixed[0] = True
        stays = fixed | (self.idle <= max_age)
        if stays.sum() > limit:
            order = np.where(fixed, -np.inf, np.where(stays, scores, np.inf))
            last = max(limit, int(fixed.sum()))
            stays[np.argsort(order, kind="stable")[last:]] = False
        if stays.all():
            return self
        kept = np.flatnonzero(stays)
        atoms = None if self.atoms is None or len(kept) == 1 else self.atoms.take(kept[1:] - 1)
        gram = None if self.gram is None else self.gram[np.ix_(kept, kept)]
        keys = tuple(self.keys[i - 1] for i in kept[1:])
        return Pool(self.origin, atoms, keys, self.weights[kept], self.idle[kept], gram)
