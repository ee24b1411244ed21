"""The checks of one run of `minimize`: what it tests by default of f and K of the user's own.

At the start, the slope of f along one segment of K. Along the way, each answer of the oracle
against the answers before, and each tangent against the values of other rounds. Before a gap is
handed out, a few values and answers at points that the run itself would not have looked at.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np

from ..arrays import Array, Structured, inner, like, namespace, norm, same_type, to_host
from ..problem import Evaluation, LimitReached, NonFiniteError, Problem, Scatter
from .audit import Audit
from .convexity import Sample
from .finding import Finding
from .oracle import Witness
from .scatter import scatter
from .search import curvatures, oracle_trail, projected_trail, sample
from .slopes import chance, disproof

RIVALS = 3
"""Points towards which a lower value than the certificate allows is looked for."""

QUESTIONS = 6
"""Oracle calls that the search may take, on sets without a cheap projection."""

SIDES = 4
"""Random directions that it also takes on such sets where the gradient vanishes."""

EVALUATIONS, SHARE = 8, 0.1
"""Evaluations that the search for it may take: a few, and a part of those that the run has made."""

ENTRIES = 8
"""Questions to a user's oracle for points that differ from the best one in an entry in which no
known point does; and a part, `SHARE`, of the oracle calls of the run."""


class ConstrainedAudit(Audit):
    """Tests of one run of `minimize`.

    Parameters
    ----------
    problem : Problem
        Evaluations are counted there.
    lmo : callable
        The oracle of the run, which counts its calls.
    """

    def __init__(self, problem: Problem, lmo: Callable[[Array], Any]) -> None:
        super().__init__(problem, problem, not problem.objective.tested, problem.convex is None)
        self.problem, self._lmo = problem, lmo
        self.foreign = not problem.set.tested
        self.witness = Witness(problem.set, compares=self.foreign)
        self._single = False  # whether the oracle has answered everything with one point

    @property
    def active(self) -> bool:
        """Whether there is anything to test."""
        return super().active or self.foreign

    @property
    def finding(self) -> Finding | None:
        """What disproves the oracle, if anything does."""
        return self.witness.finding

    @property
    def remark(self) -> str:
        """What is to be said of an oracle that is inexact but not wrong."""
        if self._single and self.foreign:
            return (
                "The oracle answered every direction with the same point: either K is that point, "
                "or the oracle ignores its argument and the gap means nothing."
            )
        return self.witness.remark

    def begin(self, x: Array, at: Evaluation, vertex: Any) -> Finding | None:
        """Test the gradient at the first point, towards the oracle's first answer."""
        if not self.gradient or isinstance(x, Structured):
            return None
        tip = point_of(vertex, x)
        if not self.foreign:
            tip = self._middle([tip, like(self.problem.set.start(), x)])
        if norm(tip - x) <= 1e-12 * norm(x):
            return None
        found = disproof(self.problem, x, at, tip - x)
        if found is None:
            return None
        points = [tip, *self._answers(x, at, vertex)]
        return self.blame(x, at, points)

    def note(self, x: Array, at: Evaluation) -> Finding | None:
        """Compare a round with those before."""
        return None if self.problem.convex is False else super().note(x, at)

    def conclude(self, x: Array, at: Evaluation | None, vertex: Any) -> Finding | None:
        """Look for what would disprove a certificate at x, the best point of the run."""
        problem = self.problem
        if isinstance(x, Structured):
            return None  # in factors, because it would be too large otherwise
        try:
            at = problem.evaluate(x) if at is None else at
            random = chance(problem, x, at) if self.gradient else None
            if random is not None:
                return random
            answers = self._answers(x, at, vertex)
            if self.foreign:
                self.witness.meet(x, "a point of the run")
                if self.witness.finding is not None:
                    return self.witness.finding
            centre = self._middle(answers)
            if self.gradient and norm(centre - x) > 0:
                blamed = self.blame(x, at, [centre])
                if blamed is not None:
                    return blamed
            return self._search(Sample(x, at), answers) if self.convexity else None
        except (NonFiniteError, LimitReached):
            return None  # outside the domain of f, or beyond a limit, these tests cannot go

    def scatter(self, x: Array, at: Evaluation | None, vertex: Any) -> Scatter | None:
        """Measure the errors of values and gradients at x, towards the middle of known points."""
        if not self.measures or isinstance(x, Structured):
            return None
        try:
            at = self.problem.evaluate(x) if at is None else at
            known = [one for _, one, _ in self.witness.answers] if self.foreign else []
            points = [point_of(one, x) for one in (vertex, *known) if one is not None]
            if not self.foreign:
                points.append(like(self.problem.set.start(), x))
            return scatter(self.problem, x, at, self._middle(points) - x) if points else None
        except (NonFiniteError, LimitReached):
            return None

    def _answers(self, x: Array, at: Evaluation, vertex: Any) -> list[Array]:
        """Return points of K, the farthest from x first.

        They are those that the run has met. Only where these are few is the oracle asked for more.
        """
        met = [] if self._projects else [one for _, one, _ in self.witness.answers]
        points = [point_of(one, x) for one in (vertex, *met)]
        if not self.foreign:
            points.append(like(self.problem.set.start(), x))
        known = _distinct(points)
        if not self._projects and len(known) <= RIVALS:
            directions = _directions(at.gradient, self._takes_all_signs(at.gradient))
            known = _distinct(known + [self._ask(u, x) for u in directions])
        if not self._projects and len(known) == 1:
            known = _distinct(known + self._opposite(x, at.gradient))
            self._single = len(known) == 1
        elif self.foreign:
            if self._takes_all_signs(at.gradient):
                known = _distinct([*known, self._ask(_across(known, x), x)])
            known = self._beyond(known, x, at.gradient)
        known.sort(key=lambda point: -norm(point - x))
        if self.convexity and not self._projects and self._flat(Sample(x, at)):
            return [*self._sideways(x), *known]
        return known

    def _beyond(self, known: list[Array], x: Array, g: Array) -> list[Array]:
        """Return known points of K, and more that differ from x where no known point does.

        An error of the gradient in such an entry cannot be seen: it is what kept the run from going
        there. Entries in which the gradient is exactly 0 are asked for first.
        """
        points = np.array([to_host(one).reshape(-1) for one in (x, *known)])
        order = np.random.Generator(np.random.Philox(key=11)).permutation(points.shape[1])
        zeros = to_host(g).reshape(-1)[order] == 0.0
        fixed = (points == points[0]).all(axis=0)
        most = ENTRIES + int(SHARE * self.problem.counts.nlmo)
        for i in (*order[zeros], *order[~zeros]):
            if not most:
                break
            if fixed[i]:
                u = _towards(int(i), float(points[0, i]), to_host(g), self._takes_all_signs(g))
                known = [*known, self._ask(like(u, x), x)]
                fixed &= to_host(known[-1]).reshape(-1) == points[0]
                most -= 1
        return _distinct(known)

    def _sideways(self, x: Array) -> list[Array]:
        """Return answers to random directions, for a point where the gradient vanishes.

        The run may have reached it along a line on which f is convex, a saddle for instance. There
        gradients nearby have all signs, so that directions need not be like those before. Where an
        oracle refuses one, nothing is proved.
        """
        rng = np.random.Generator(np.random.Philox(key=12))
        found: list[Array] = []
        for _ in range(SIDES):
            u = like(rng.standard_normal(tuple(x.shape)), x)
            self.problem.counts.ask()
            with contextlib.suppress(Exception):
                found.append(point_of(self.problem.set.lmo(u), x))
        return found

    def _takes_all_signs(self, g: Array) -> bool:
        """Tell whether the run has asked directions with entries of both signs, g among them."""
        return _mixed(g) or any(_mixed(asked) for asked, _, _ in self.witness.answers)

    def _opposite(self, x: Array, g: Array) -> list[Array]:
        """Return answers to directions against g and across it, if the oracle gives any.

        An oracle that has answered everything with one point is asked for them. Some oracles refuse
        them, which proves nothing.
        """
        rng = np.random.Generator(np.random.Philox(key=9))
        found: list[Array] = []
        for u in (-g, like(rng.standard_normal(tuple(g.shape)), g)):
            try:
                found.append(self._ask(u, x))
            except LimitReached:
                raise
            except Exception:
                return found
        return found

    def _ask(self, g: Array, x: Array) -> Array:
        """Return a vertex for a direction that the run itself need not ever ask."""
        if self.foreign:
            return point_of(self._lmo(g), x)
        self.problem.counts.ask()
        return point_of(self.problem.set.lmo_or_nearby(g[None, ...]).take(0), x)

    @property
    def _projects(self) -> bool:
        K = self.problem.set
        return not self.foreign and K.has("project") and K.cheap_projection

    def _middle(self, points: list[Array]) -> Array:
        """Return a point between points of K, if possible one whose entries all differ from zero.

        A segment to such a point shows errors of every entry of the gradient.
        """
        K, mean = self.problem.set, sum(points[1:], points[0]) / len(points)
        if not self._projects:
            return mean
        rng = np.random.Generator(np.random.Philox(key=8))
        shift = 0.25 * K.radius / K.dimension * rng.standard_normal(K.shape)
        return same_type(K.project(mean + like(shift, mean)), mean)

    def _search(self, best: Sample, answers: list[Array]) -> Finding | None:
        """Look for values below tangents, with as many evaluations as the run can afford."""
        most = EVALUATIONS + int(SHARE * self.problem.counts.nfev)
        for one in chain([best], islice(self._samples(best, answers), most)):
            found = self._seen(one)
            if found is not None:
                return found
        return None

    def _samples(self, best: Sample, answers: list[Array]) -> Iterator[Sample]:
        """Yield samples of f that may prove it not convex."""
        problem, K = self.problem, self.problem.set
        if not self._projects:
            known, left = list(answers), iter(range(QUESTIONS))

            def target(g: Array) -> Array:
                if next(left, None) is not None:
                    known.append(point_of(self._lmo(g), best.x))
                return min(known, key=lambda point: inner(g, point))

            if self._flat(best):
                for side in answers[:SIDES]:
                    yield sample(problem, 0.5 * (best.x + side))
            for rival in answers[:RIVALS]:
                yield from oracle_trail(problem, best, rival, target)
            return

        def project(x: Array) -> Array:
            return same_type(K.project(x), x)

        if self._flat(best):
            yield from curvatures(problem, best, project)
        rivals = [self._ask(g, best.x) for g in self._asked(best)]
        trails = [projected_trail(problem, best, rival, project) for rival in rivals]
        while trails:  # one step of each at a time
            one = trails.pop(0)
            for found in islice(one, 1):
                yield found
                trails.append(one)

    def _asked(self, best: Sample) -> list[Array]:
        """Return directions whose answers lie on other sides of K than the best point."""
        away = best.x - like(self.problem.set.start(), best.x)
        u = np.random.Generator(np.random.Philox(key=7)).standard_normal(tuple(away.shape))
        return [away, like(u, away), like(-u, away)]

    def _flat(self, best: Sample) -> bool:
        """Tell whether the gradient vanishes at a point: it may be a saddle, or a maximum."""
        slope = norm(best.at.gradient) * self.problem.set.diameter
        return slope <= 1e-9 * (abs(best.at.value) + self.problem.counts.scale)

    def _seen(self, sample: Sample) -> Finding | None:
        found = self.tangents.add(*sample)
        return None if found is None else self.explain(found)


def point_of(vertex: Any, x: Array) -> Array:
    """Return an answer of the oracle as an array of the type of x."""
    return same_type(vertex.to_dense(), x)


def _distinct(points: list[Array]) -> list[Array]:
    """Return points without repetitions."""
    found: list[Array] = []
    for point in points:
        if all(norm(point - one) > 0.0 for one in found):
            found.append(point)
    return found


def _across(points: list[Array], x: Array) -> Array:
    """Return a direction whose answer lies on the other side of x than points of K.

    In entries in which all of them agree with x, it lies beyond the origin.
    """
    mean = sum(points[1:], points[0]) / len(points)
    return namespace(x).where(mean == x, mean, mean - x)


def _towards(i: int, value: float, g: np.ndarray, all_signs: bool) -> np.ndarray:
    """Return a direction whose answer may have another entry i than ``value``.

    Unless ``all_signs``, its entries have the signs of g's: where lengths must not be negative,
    entry i alone costs nothing.
    """
    u = np.zeros(g.size)
    if all_signs or g.max() <= 0.0:
        u[i] = 1.0 if all_signs and value > 0.0 else -1.0
    else:
        u += np.arange(g.size) != i
    return u.reshape(g.shape)


def _mixed(g: Array) -> bool:
    """Tell whether g has entries of both signs."""
    xp = namespace(g)
    return bool(xp.min(g) < 0.0 < xp.max(g))


def _directions(g: Array, all_signs: bool) -> list[Array]:
    """Return a few random directions; unless ``all_signs``, their entries have the signs of g's.

    Some oracles answer no others: shortest paths need lengths that are not negative.
    """
    rng = np.random.Generator(np.random.Philox(key=7))
    u = [like(rng.standard_normal(tuple(g.shape)), g) for _ in range(2)]
    if all_signs:
        return [sign * one for one in u for sign in (1.0, -1.0)]
    xp = namespace(g)
    sign = 1.0 if float(xp.max(g)) > 0.0 else -1.0 if float(xp.min(g)) < 0.0 else 1.0
    return [sign * abs(one) for one in u] + [g * xp.exp(one) for one in u]
