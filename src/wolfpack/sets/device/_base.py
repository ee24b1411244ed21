"""The twin of a set that is asked on the host, and what all twins share."""

from __future__ import annotations

import copy
import logging
from typing import Any

import numpy as np

from ...arrays import describe, is_foreign, like, to_host, zeros
from ...atoms import Atoms
from ...problem import Polyhedron
from .._base import Array, Set
from .._combination import Combination
from .._laws import NoiseLike

log = logging.getLogger("wolfpack")
_HOST = np.zeros(0)
_logged: set[str] = set()  # names of sets whose transfers the log has mentioned

COPIED = (
    "polytope",
    "strictly_convex",
    "releases_gil",
    "one_by_one",
    "proof_calls",
    "batch_hint",
    "default_noise",
    "closed_forms",
    "cheap_projection",
    "factored_from",
    "unconditional",
)


class Twin(Set, anywhere=True):
    """A set whose questions and answers are arrays of another library than NumPy.

    This class asks the set itself, on the host: the direction is copied there and the answer
    back, which the log says once. Subclasses override what they can do on the arrays' device.
    ``x`` is any array of the library, device and type that questions will have.
    """

    def __init__(self, K: Set, x: Array) -> None:
        self.K: Any = K
        self.shape = K.shape
        self.like = zeros((1,), x)
        for name in COPIED:
            setattr(self, name, getattr(K, name))
        here = type(self).violation is not Twin.violation  # judged without a copy to the host
        self.cheap_violation = here and self.cheap_violation and K.cheap_violation

    def __getattr__(self, name: str) -> Array:
        if name == "K":  # while a copy is being made
            raise AttributeError(name)
        return getattr(self.K, name)

    @property
    def tested(self) -> bool:
        return self.K.tested

    @property
    def radius(self) -> float:
        return self.K.radius

    def absolute_support(self, c: np.ndarray) -> float:
        return self.K.absolute_support(c)

    @property
    def diameter(self) -> float:
        return self.K.diameter

    @property
    def centred_radius(self) -> float:
        return self.K.centred_radius

    def at(self, x: Array) -> Set:
        return self if is_foreign(x) else self.K

    def start(self) -> Array:
        return like(self.K.start(), self.like)

    def has(self, capability: str) -> bool:
        # what asks the set on the host has no use for matrices in factors elsewhere
        return capability != "core" and self.K.has(capability)

    def smoothed_at_zero(self, noise: NoiseLike) -> float | None:
        return self.K.smoothed_at_zero(noise)

    def smoothness(self, noise: NoiseLike) -> float | None:
        return self.K.smoothness(noise)

    def _lmo(self, g: Array) -> Atoms:
        return self._on_host("_lmo", g)

    def lmo_or_nearby(self, g: Array) -> Atoms:
        nearby = "lmo_or_nearby"
        return self._on_host(nearby, g) if self.K.has(nearby) else self._lmo(g)

    def certify(self, g: Array, vertex: Atoms) -> float:
        return self._on_host("certify", g, vertex.to(_HOST))

    def violation(self, x: Array) -> float:
        return self._on_host("violation", x)

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        return self._on_host("smoothed", y, alpha, noise)

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        return self._on_host("smoothed_support", y, alpha, noise)

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> Atoms:
        return self._on_host("draw", y, alpha, count, rng)

    def k_best(self, g: Array, k: int) -> Atoms:
        return self._on_host("k_best", g, k)

    def _project(self, x: Array) -> Array:
        return self._on_host("_project", x)

    def _polyhedron(self) -> Polyhedron:
        return self.K._polyhedron()

    def _on_host(self, method: str, x: Array, *args: object) -> Array:
        """Ask the set on the host; arrays and vertices of its answer are copied back."""
        name = type(self.K).__name__
        if name not in _logged:
            _logged.add(name)
            log.warning(
                "%s is asked on the host: arrays (%s) are copied there and back", name, describe(x)
            )
        answer = getattr(self.K, method)(to_host(x), *args)
        if isinstance(answer, Atoms):
            return answer.to(self.like)
        return like(answer, self.like) if isinstance(answer, np.ndarray) else answer

    def __repr__(self) -> str:
        return repr(self.K)


class Exact:
    """Twins whose answers are minimisers: the value of an answer is the bound."""

    def certify(self, g: Array, vertex: Atoms) -> float:
        """Return the value of the answer."""
        return float(vertex.dot(g))


def moved(K: Set, x: Array) -> Set:
    """Return a copy of a set whose own code serves any library, with its constants near ``x``."""
    twin = copy.copy(K)
    for name, value in vars(K).items():
        if isinstance(value, np.ndarray):
            setattr(twin, name, like(value, x))
    if isinstance(twin, Combination):
        twin.parts = tuple(part.at(x) for part in twin.parts)
    vars(twin).update(original=K, like=zeros((1,), x))
    return twin
