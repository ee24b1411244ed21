r"""Active sets: x as a convex combination of known points of K.

.. math:: x = \sum_{i \ge 0} w_i v_i, \qquad w_i \ge 0, \quad \sum_i w_i = 1,

with v_0 = x_0, the starting point, which need not be a vertex, and v_1, v_2, ... answers of the
linear oracle, kept as one structured batch. The weights are the truth and x follows from them:
every change renormalises them, drops vertices without weight and adds x up anew, so that rounding
does not accumulate over rounds and x is as feasible as the answers are.

For a quadratic f with Hessian H, an active set may carry the Gram matrix
:math:`G_{ij} = \langle v_i, H v_j\rangle`, grown by one row for each new vertex.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from ...arrays import Array, inner, to_host
from ...atoms import Atoms, join, weighted

Product = Callable[[Array], Array]

PURGE = 1e-15
"""Weight up to which a vertex is dropped."""


class ActiveSet(NamedTuple):
    """Points and weights; never written to, each change returns a new one.

    Attributes
    ----------
    origin : array
        v_0, the starting point. It keeps position 0 also when it has lost its weight.
    atoms : Atoms or None
        The batch v_1, v_2, ...; None while there is none.
    keys : tuple of str
        Digests of the identities of the atoms.
    weights : array, float64
        One weight for the origin and each atom.
    gram : array or None
        <v_i, H v_j>, for quadratics where it was asked for.
    """

    origin: Array
    atoms: Atoms | None
    keys: tuple[str, ...]
    weights: Array
    gram: Array | None = None

    @classmethod
    def start(cls, x0: Array, product: Product | None = None) -> ActiveSet:
        """Return the active set of ``x0`` alone, with a Gram matrix if d -> H d is given."""
        gram = None if product is None else np.array([[inner(x0, product(x0))]])
        return cls(x0, None, (), np.ones(1), gram)

    @property
    def first(self) -> int:
        """The first position that may have weight: 1 once the origin has lost its own."""
        return 0 if self.weights[0] > 0 or self.atoms is None else 1

    def scores(self, g: Array) -> Array:
        """Return <g, v_i> for all i."""
        out = np.empty(len(self.weights))
        out[0] = inner(g, self.origin)
        if self.atoms is not None:
            out[1:] = to_host(self.atoms.dot(g))
        return out

    def best(self, scores: Array) -> int:
        """Return the position with the smallest score."""
        return self.first + int(scores[self.first :].argmin())

    def worst(self, scores: Array) -> int:
        """Return the position with the largest score, where a step away from it begins."""
        return self.first + int(scores[self.first :].argmax())

    def vertex(self, i: int) -> Array:
        """Return v_i as a dense array."""
        return self.origin if i == 0 or self.atoms is None else self.atoms.take(i - 1).to_dense()

    def point(self) -> Array:
        """Return x, added up from the weights."""
        if self.atoms is None:
            return self.origin
        return weighted(self.atoms, self.weights, self.origin)

    def add(self, atom: Atoms, product: Product | None = None) -> tuple[ActiveSet, int]:
        """Return the set with ``atom`` (of weight 0 if it is new) and the atom's position.

        ``product``, d -> H d, is needed where there is a Gram matrix.
        """
        key = digest(atom.key())
        if key in self.keys:
            return self, 1 + self.keys.index(key)
        gram = self.gram
        if gram is not None:
            assert product is not None
            Hv = product(atom.to_dense())
            row = self.scores(Hv)
            gram = np.block([[gram, row[:, None]], [row[None, :], np.array(float(atom.dot(Hv)))]])
        atoms = join([atom] if self.atoms is None else [self.atoms, atom])
        weights = np.append(self.weights, 0.0)
        return ActiveSet(self.origin, atoms, (*self.keys, key), weights, gram), len(self.weights)

    def admit(
        self, atom: Atoms, value: float, scores: Array, product: Product | None = None
    ) -> tuple[ActiveSet, int]:
        """Return the set with ``atom`` and its position, or that of an active vertex as good.

        ``value`` is <g, atom>. An exact oracle is never beaten; an inexact one may be.
        """
        best = self.best(scores)
        return (self, best) if scores[best] <= value else self.add(atom, product)

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

    def transfer(self, step: float, source: int | None, target: int | None) -> ActiveSet:
        r"""Return the active set of x + step (target - source): weight moves from source to target.

        None stands for x, that is for all vertices in proportion to their weights: a Frank-Wolfe
        step takes from x, an away step gives to x, a pairwise step does neither.
        """
        if source == target or step <= 0:
            return self.reweighted(self.weights)
        scale = 1.0 + step * ((target is None) - (source is None))
        weights = scale * self.weights
        if target is not None:
            weights[target] += step
        if source is not None:
            emptied = step >= self.max_step(source, target)
            weights[source] = 0.0 if emptied else weights[source] - step
        return self.reweighted(weights)

    def reweighted(self, weights: Array) -> ActiveSet:
        """Return the set with these weights, scaled to sum 1, without vertices of no weight."""
        weights = np.where(weights > PURGE, weights, 0.0)
        weights /= weights.sum()
        if self.atoms is None or weights[1:].all():
            return self._replace(weights=weights)
        kept = np.flatnonzero(weights[1:])
        keys = tuple(self.keys[i] for i in kept)
        both = np.concatenate([[0], 1 + kept])
        gram = None if self.gram is None else self.gram[np.ix_(both, both)]
        atoms = self.atoms.take(kept) if len(kept) else None
        return ActiveSet(self.origin, atoms, keys, weights[both], gram)


def digest(key: Hashable) -> str:
    """Return a short text that identifies a vertex's key, the same in every process."""
    if not isinstance(key, tuple):
        key = (key,)
    feed = blake2b(digest_size=16)
    for part in key:
        if isinstance(part, tuple):
            part = digest(part)
        data = part if isinstance(part, bytes) else repr(part).encode()
        feed.update(b"%d:" % len(data))
        feed.update(data)
    return feed.hexdigest()
