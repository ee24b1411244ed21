"""What identifies a problem: digests of its data, and answers where data cannot be read.

Objects of this library are identified by their data (`wolfpack.loop.digest`). Functions, linear
operators and classes of the user's cannot be read. They are asked instead: f for values and
gradients at fixed points of K, K for the values of its answers to fixed directions.

Reading all data takes about a second for each gigabyte. It happens only in runs that write
checkpoints, and when they are resumed.
"""

from __future__ import annotations

import contextlib
import math
from typing import NamedTuple

import numpy as np

from ..arrays import Array, Streams, is_foreign, like, to_host
from ..loop.digest import Data, DataReader, close
from ..objectives import Batches, Objective, Stochastic
from ..regularizers import Regularizer
from ..sets import Set

QUESTIONS = 3
"""Number of points at which parts that cannot be read are asked."""

DIRECTIONS = 4
"""Number of directions that an oracle which cannot be read is asked."""

_RTOL = 1e-6  # of answers: whole computations differ in the last digits by machine


class Answer(NamedTuple):
    """An answer to a fixed question, and the size that its rounding error is relative to."""

    value: float
    size: float


class Fingerprint(NamedTuple):
    """What tells one problem from another.

    Attributes
    ----------
    kinds : dict
        The classes of the two parts of the problem, by their names: f and K, or G and H.
    shape : tuple of int
        Shape of x.
    data : dict
        Of the parts' attributes, by names such as "f (features)".
    answers : dict
        Of parts that cannot be read, by question.
    """

    kinds: dict[str, str]
    shape: tuple[int, ...]
    data: dict[str, Data]
    answers: dict[str, Answer]

    def difference(self, other: Fingerprint) -> str:
        """Return in words what differs in ``other``; an empty string if nothing does."""
        for name, kind in self.kinds.items():
            if kind != other.kinds.get(name):
                return f"{name} was {kind}, now it is {other.kinds.get(name)}"
        if self.shape != other.shape:
            return f"the shape of x was {self.shape}, now it is {other.shape}"
        for name in sorted(self.data.keys() ^ other.data.keys()):
            return f"the data of {name} are there in only one of the two"
        found = {name: data.difference(other.data[name]) for name, data in self.data.items()}
        differences = [f"the data of {name} {words}" for name, words in found.items() if words]
        for name in sorted(self.answers.keys() ^ other.answers.keys()):
            return f"{name} is known of only one of the two"
        differences += [_answer_difference(k, v, other.answers[k]) for k, v in self.answers.items()]
        return next(filter(None, differences), "")


def constrained_fingerprint(f: Objective, K: Set, place: Array = None) -> Fingerprint:
    """Identify min f over K; f is asked at arrays like ``place``, if given."""
    place = f.like if place is None else place
    place = getattr(K, "like", None) if place is None else place
    region = K.at(np.zeros(0))
    (data, f_read), (more, K_read) = _read("f", f), _read("K", region)
    answers: dict[str, Answer] = {}
    if not (f_read and K_read):
        directions = _directions(region.shape, QUESTIONS if K_read else DIRECTIONS)
        vertices = [_vertex(region, u) for u in directions]
        if not K_read:
            along = float(np.vdot(directions[0], np.asarray(region.start())))
            size = region.radius * float(np.linalg.norm(directions[0]))
            answers["the start of K, along u_0,"] = Answer(along, size)
            for i, (u, v) in enumerate(zip(directions, vertices, strict=True)):
                size = region.radius * float(np.linalg.norm(u))
                answers[f"min <u, x> over K, u = u_{i},"] = Answer(float(np.vdot(u, v)), size)
        if not f_read:
            corners = [region.start(), *vertices[:QUESTIONS]]
            answers |= _asked("f", f, _mixed(corners), place)
    kinds = {"f": type(f).__qualname__, "K": type(region).__qualname__}
    return Fingerprint(kinds, tuple(region.shape), data | more, answers)


def composite_fingerprint(G: Objective, H: Regularizer, y0: Array) -> Fingerprint:
    """Identify min G + H, whose points are arrays like ``y0``."""
    (data, G_read), (more, H_read) = _read("G", G), _read("H", H)
    answers: dict[str, Answer] = {}
    if not (G_read and H_read):
        directions = _directions(y0.shape)
        points = [np.asarray(to_host(H.argmin(like(u, y0)))) for u in directions]
        if not H_read:
            for i, (u, y) in enumerate(zip(directions, points, strict=True)):
                value, size = float(H.minimum(like(u, y0))), float(np.vdot(abs(u), abs(y)))
                answers[f"min <u, y> + H(y), u = u_{i},"] = Answer(value, size)
        if not G_read:
            answers |= _asked("G", G, points, y0)
    kinds = {"G": type(G).__qualname__, "H": type(H).__qualname__}
    return Fingerprint(kinds, tuple(y0.shape), data | more, answers)


def _directions(shape: tuple[int, ...], count: int = QUESTIONS) -> list[np.ndarray]:
    """Return the fixed directions u_0, u_1, ..."""
    return [Streams(0).at(i).standard_normal(tuple(shape)) for i in range(count)]


def _vertex(K: Set, u: np.ndarray) -> np.ndarray:
    return np.asarray(K.lmo_or_nearby(u[None, ...])).reshape(K.shape)


def _mixed(corners: list[np.ndarray]) -> list[np.ndarray]:
    """Return `QUESTIONS` different convex combinations of points."""
    n = len(corners)
    weights = [[1 + (i + j) % n for j in range(n)] for i in range(QUESTIONS)]
    return [np.average(corners, axis=0, weights=row) for row in weights]


def _asked(name: str, f: Objective, points: list[np.ndarray], place: Array) -> dict[str, Answer]:
    """Ask f for values and gradients at points, uncounted; NaN where it has none."""
    answers: dict[str, Answer] = {}
    if isinstance(f, Batches) and not f.repeats:
        f = f.first[0]
    for i, x in enumerate(points):
        here = like(x, place) if is_foreign(place) else x
        value, g = math.nan, np.full(1, math.nan)
        # f need not be defined at every point of K
        with contextlib.suppress(Exception), np.errstate(all="ignore"):
            at = f.evaluate(here)
            value = float(at.value)
            random = isinstance(f, Stochastic)
            gradient = f.draw(here, Streams(0).at(QUESTIONS + i)) if random else at.gradient
            g = np.asarray(to_host(gradient), dtype=np.float64)
        length = float(np.linalg.norm(g))
        weights = Streams(0).at(2 * QUESTIONS + i).standard_normal(g.shape)
        slope = float(np.vdot(weights, g)) / float(np.linalg.norm(weights))
        size = abs(value) + length * float(np.linalg.norm(x))
        answers[f"{name} at the fixed point x_{i}"] = Answer(value, size)
        answers[f"the gradient of {name} at the fixed point x_{i}, along a direction,"] = Answer(
            slope, length
        )
    return answers


def _read(name: str, part: object) -> tuple[dict[str, Data], bool]:
    """Return the data of f, K, G or H by attribute, and whether they are all there is to know."""
    reader = DataReader()
    data: dict[str, Data] = {}
    for attribute, value in reader.attributes(part):
        label = getattr(part, "_name", attribute) if attribute == "A" else attribute
        data[f"{name} ({label})"] = reader.data(value)
    return data, reader.complete


def _answer_difference(name: str, was: Answer, now: Answer) -> str:
    if close(was.value, now.value, _RTOL * max(was.size, now.size)):
        return ""
    return f"{name} was {was.value:.9g}, now it is {now.value:.9g}"
