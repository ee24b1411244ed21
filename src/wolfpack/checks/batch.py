"""The checks of a batch: what `minimize_many` tests by default of a user's function of a batch.

One evaluation is one of all problems, so that a test of all of them costs as much as that of one.
Each test is made for all problems at once, roughly. What looks wrong there is looked at again, for
a few problems one by one, by the tests of `minimize` and in its words.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, epsilon, like, namespace, reshape, row_norms, sum_last, to_host
from ..objectives import Function
from ..problem import LimitReached, NonFiniteError, Problem, unit_of
from .audit import Audit
from .constrained import EVALUATIONS, SHARE
from .convexity import Sample, breach
from .finding import Finding
from .scatter import scatter_of_rows
from .search import STEPS, TRUST
from .slopes import LENGTHS, Slopes, blame_gradient, compare, precision

LOOKS = 3
"""Problems that are looked at one by one, of those that look wrong."""

_FAR = 100.0
"""Diameters from which a point is projected to find one of K on that side."""


class Rows(NamedTuple):
    """Points of all problems as the rows of a matrix, with values and gradients there."""

    x: Array
    values: Array
    gradients: Array


class Verdict(NamedTuple):
    """Which problems look wrong, and what was found of one of them."""

    wrong: np.ndarray
    problem: int
    finding: Finding

    def __str__(self) -> str:
        others = int(self.wrong.sum()) - 1
        more = f", and {others} more that look alike" if others else ""
        return f"Problem {self.problem}{more}: {self.finding.text}"


class BatchAudit:
    """Tests of one batch.

    Parameters
    ----------
    model : BatchedObjective
        The functions of the rows of a matrix.
    K : BatchedSet
        The sets of these rows.
    sets : list of Set
        The set of each problem, or one for all. Its points are those of rows, or of their weights.

    Tests raise `LimitReached` before the first evaluation after ``deadline``.
    """

    def __init__(self, model: Any, K: Any, sets: list[Any]) -> None:
        self.model, self.K, self.sets = model, K, sets
        self.convexity = model.convex is None
        self.evaluations = 0
        self.deadline = math.inf
        self._largest = np.zeros(model.count)
        self._open = np.ones(model.count, dtype=bool)

    def begin(self, x: Array) -> Verdict | None:
        """Test the gradients at the first rows, towards other points of the sets."""
        return self._gradient(self._sample(x))

    def conclude(self, x: Array, claimed: np.ndarray, evaluations: int) -> Verdict | None:
        """Look for what would disprove certificates at rows x, the best ones of a run.

        ``claimed`` tells which problems have one, and ``evaluations`` are those of the run.
        """
        self._open, best = claimed, self._sample(x)
        found = self._gradient(best)
        if found is None and self.convexity:
            found = self._bends(best, EVALUATIONS + int(SHARE * evaluations))
        return found

    def scatter(self, x: Array, claimed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Measure the errors of values and of slopes on the sets that no model explains.

        Both are 0 where there is nothing to add to what certificates have allowed for.
        """
        plain, unit = self.model.plain, unit_of(x)
        here, tips = self._sample(x), self._beside(x)
        found = scatter_of_rows(self._sample, here, tips - x, claimed)
        largest = np.where(claimed, found.largest, 0.0)
        known = _host(plain.user_errors(like(largest, x), unit))
        slopes = np.maximum(found.gradient, found.constant) - plain.gradient_error
        slopes = slopes - plain.relative_error(unit) * found.steepest
        more = np.stack([found.value - known, slopes * _host(self.K.diameter)])
        more = np.where(claimed & np.isfinite(more), np.maximum(more, 0.0), 0.0)
        return more[0], more[1]

    def _sample(self, x: Array) -> Rows:
        """Evaluate all functions, and remember how large values have become."""
        self._count()
        values, gradients = self.model.evaluate(x)
        sizes = np.nan_to_num(abs(_host(values)), nan=0.0, posinf=0.0)
        self._largest = np.maximum(self._largest, sizes)
        return Rows(x, values, gradients)

    def _count(self) -> None:
        """Count one more evaluation; raise `LimitReached` if the time is over."""
        if time.perf_counter() >= self.deadline:
            raise LimitReached("max_seconds")
        self.evaluations += 1

    def _gradient(self, here: Rows) -> Verdict | None:
        """Compare slopes and values on segments; look closer at what does not fit."""
        tips = self._beside(here.x)
        found = self._slopes(here, tips - here.x)
        excess = abs(found.change - found.promised) / found.error
        wrong = found.wrong & self._open
        unclear = ~(wrong | found.conclusive | found.flat) & self._open
        for i in [*_most(excess, wrong), *_most(excess, unclear)[:1]][:LOOKS]:
            problem = self._problem(here.x, i)
            x, tip = (self._point(rows, i) for rows in (here.x, tips))
            try:
                blamed = blame_gradient(problem, x, problem.evaluate(x), [tip])
            except NonFiniteError:
                continue
            if blamed is not None:
                wrong[i] = True
                return Verdict(wrong, i, blamed)
        return None

    def _beside(self, x: Array) -> Array:
        """Return rows between x and the middles of the sets, moved in all entries."""
        shift = 0.25 * self.K.diameter[:, None] * self._random(x, 8) / math.sqrt(x.shape[1])
        return self._projected(0.5 * (x + self._start(x)) + shift, x)

    def _slopes(self, here: Rows, d: Array) -> Slopes:
        """Compare slopes and values on the first part of segments, as `slopes.measure` does."""
        h = LENGTHS[0]
        middle, end = [self._sample(here.x + t * d) for t in (0.5 * h, h)]
        three = (here, middle, end)
        values = [_host(one.values) for one in three]
        slopes = [h * _host(sum_last(one.gradients * d, 1)) for one in three]
        steepest = [_host(row_norms(one.gradients)) for one in three]
        moved = np.maximum(steepest[0], steepest[2]) * _host(row_norms(here.x))
        finite = [value for value in np.concatenate(values).tolist() if math.isfinite(value)]
        eps = max(epsilon(here.gradients), epsilon(here.x), precision(*finite))
        return compare((values[0], values[2]), slopes, moved, self._largest, eps)

    def _bends(self, best: Rows, most: int) -> Verdict | None:
        """Compare values with tangents on the way to other sides of the sets, and downhill."""
        met = [best]
        for new in islice(self._samples(best), most):
            for old in met:
                found = self._below(old, new)
                if found is not None:
                    return found
            met.append(new)
        return None

    def _samples(self, best: Rows) -> Iterator[Rows]:
        """Yield rows halfway to other sides of the sets, downhill from there, and at the end."""
        start, u = self._start(best.x), self._random(best.x, 7)
        trails = [self._trail(best, start + way) for way in (start - best.x, u, -u)]
        for several in zip(*trails, strict=True):
            yield from several

    def _trail(self, best: Rows, beyond: Array) -> Iterator[Rows]:
        """Yield the rows of `search.projected_trail`, for all problems at once."""
        xp, start = namespace(best.x), self._start(best.x)
        way = beyond - start
        far = _FAR * self.K.diameter / _positive(row_norms(way))
        rival = self._projected(start + far[:, None] * way, best.x)
        former, here = best, self._sample(0.5 * (best.x + rival))
        yield here
        for _ in range(STEPS):
            step, change = here.x - former.x, here.gradients - former.gradients
            longest = TRUST * row_norms(here.x - best.x) / _positive(row_norms(here.gradients))
            bend = sum_last(step * change, 1)
            length = xp.where(bend > 0, sum_last(step * step, 1) / _positive(bend), longest)
            moved = here.x - xp.minimum(length, longest)[:, None] * here.gradients
            former, here = here, self._sample(self._projected(moved, best.x))
            yield here
        yield self._sample(0.5 * (best.x + here.x))
        yield self._sample(rival)

    def _below(self, old: Rows, new: Rows) -> Verdict | None:
        """Return what values below tangents prove, after a closer look at the deepest ones."""
        step = new.x - old.x
        rise = _host(new.values) - _host(old.values)
        slope, back = (_host(sum_last(one.gradients * step, 1)) for one in (old, new))
        depth = np.maximum(slope - rise, rise - back)
        size = abs(_host(new.values)) + abs(_host(old.values)) + abs(slope) + abs(back)
        relative = depth / _positive(size + self._largest)
        eps = max(epsilon(new.x), epsilon(new.gradients))
        suspects = (relative > 1e3 * eps) & self._open
        for i in _most(relative, suspects):
            problem = self._problem(old.x, i)
            points = [self._point(one.x, i) for one in (old, new)]
            deeper = breach(problem, *[Sample(x, problem.evaluate(x)) for x in points])
            if deeper is None:
                continue
            audit = Audit(problem, problem, True, True)
            audit.advice = ""
            found = audit.explain(deeper)
            if found is not None:
                return Verdict(suspects, i, found)
        return None

    def _problem(self, rows: Array, i: int) -> Problem:
        """Return problem i alone; the others stay where they are while it is evaluated."""
        inside = self.model.plain
        X = reshape(self.model.points_of(rows), (inside.count, *inside.shape))

        def one(x: Array) -> tuple[Any, Array]:
            self._count()
            xp = namespace(X)
            alone = xp.concat([X[:i, ...], xp.astype(x, X.dtype)[None, ...], X[i + 1 :, ...]])
            values, gradients = inside.evaluate(reshape(alone, (inside.count, -1)))
            return float(values[i]), reshape(gradients, tuple(X.shape))[i, ...]

        f = Function(one, shape=inside.shape, error=inside.error, convex=inside.convex)
        problem = Problem(f, self.sets[i if len(self.sets) > 1 else 0], convex=inside.convex)
        problem.counts.largest = float(self._largest[i])
        return problem

    def _point(self, rows: Array, i: int) -> Array:
        return reshape(self.model.points_of(rows)[i, ...], self.model.plain.shape)

    def _start(self, x: Array) -> Array:
        return _as(self.K.start(), x)

    def _projected(self, z: Array, x: Array) -> Array:
        return _as(self.K.project(z), x)

    def _random(self, x: Array, key: int) -> Array:
        draw = np.random.Generator(np.random.Philox(key=key)).standard_normal((1, x.shape[1]))
        return like(draw, x) + 0.0 * x


def _as(y: Array, x: Array) -> Array:
    return y if y.dtype == x.dtype else namespace(x).astype(y, x.dtype)


def _positive(a: Array) -> Array:
    xp = namespace(a)
    return xp.where(a > 0, a, xp.ones_like(a))


def _host(a: Array) -> np.ndarray:
    return np.asarray(to_host(a), dtype=np.float64)


def _most(sizes: np.ndarray, chosen: np.ndarray) -> list[int]:
    """Return the chosen entries with the largest sizes, a few."""
    found = np.flatnonzero(chosen & np.isfinite(sizes))
    return found[np.argsort(-sizes[found], kind="stable")][:LOOKS].tolist()
