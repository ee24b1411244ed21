"""Is the gradient right, the oracle right, f convex? `check` looks thoroughly and says so."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, LowRank, inner, like, namespace, norm, same_type, to_host
from ..checks import Finding, Sample, Tangents, Witness
from ..checks.slopes import chance, describe, disproof
from ..objectives import Objective, as_objective
from ..problem import Counts, Evaluation, LimitReached, NonFiniteError, Problem, counted
from ..problem.checks import checked, flag, nonnegative, optional
from ..problem.checks import seed as seed_kind
from ..sets import Set
from .choose import as_set
from .minimize import starting_point

DIRECTIONS = 16
"""Random directions that the oracle is asked, each with both signs."""

POINTS = 24
"""Points of K at which f is evaluated."""

_TOLERANCE = 1e-6

_TESTS = ("the set", "the oracle", "values, gradient and convexity", "L")
"""What is tested, in this order."""


@dataclass(frozen=True)
class Report:
    """What `check` has found.

    Attributes
    ----------
    findings : list of Finding
        What is wrong, each with its ``culprit`` and a ``text``; empty where nothing is.
    lines : list of str
        What was tested, and the outcome.
    nfev, nlmo : int
        Evaluations and oracle calls that it took.
    left_out : tuple of str
        The tests that ``max_seconds`` has cut short or left no time for.
    """

    findings: list[Finding]
    lines: list[str]
    nfev: int
    nlmo: int
    left_out: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing was found; tests that were left out have found nothing."""
        return not self.findings

    def __str__(self) -> str:
        head = "Nothing wrong was found." if self.ok else f"{len(self.findings)} found wrong:"
        wrong = [f"  {found.culprit}: {found.text}" for found in self.findings]
        lines = [f"  {line}" for line in self.lines]
        if self.left_out:
            lines.append(
                f"  max_seconds left no time to end the tests of {_listed(self.left_out)}: raise "
                "it to have them."
            )
        cost = f"It took {self.nfev} evaluations of f and {self.nlmo} oracle calls."
        return "\n".join([head, *wrong, *lines, cost])


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


@checked(seed=seed_kind, quiet=flag, max_seconds=optional(nonnegative))
def check(
    f: Objective | Callable[[Array], tuple[float, Array]],
    K: Set,
    x: Array | None = None,
    seed: int = 0,
    *,
    quiet: bool = False,
    max_seconds: float | None = None,
) -> Report:
    """Test thoroughly whether a gradient, an oracle and convexity are what they should be.

    `wolfpack.minimize` does a small part of this in every run with functions and sets of your own.
    All points at which f is evaluated are points of K.

    Parameters
    ----------
    f, K : as for `wolfpack.minimize`
    x : array, optional
        A point of K to look at besides random ones; ``K.start()`` by default.
    seed : int
        Seed of the random directions.
    quiet : bool
        Do not print the report.
    max_seconds : float, optional
        Limit on the caller's clock. It is looked at before each call of f and of the oracle; a call
        under way is not interrupted. ``left_out`` names the tests that it cost.

    Returns
    -------
    Report
        With ``ok``, ``findings`` (each with ``culprit`` and ``text``) and the whole as ``str``.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> report = wp.check(lambda x: (float(x @ x), x), wp.sets.Simplex(3), quiet=True)
    >>> report.ok, report.findings[0].culprit
    (False, 'gradient')
    """
    counts = Counts()
    if max_seconds is not None:
        counts.allow(time.perf_counter() + max_seconds, math.inf)
    objective, region = as_objective(f), as_set(K)
    findings: list[Finding] = []
    lines: list[str] = []
    left = _TESTS
    with counted(counts), contextlib.suppress(LimitReached):
        counts.check_time()
        start = starting_point(objective, region, x, "x")
        start = start.to_dense() if isinstance(start, LowRank) else start
        problem = Problem(objective, region.at(start), counts=counts, convex=objective.convex)
        examination = _Examination(problem, start, np.random.default_rng(seed), lines)
        for step in (
            examination.set_,
            examination.oracle,
            examination.values,
            examination.smoothness,
        ):
            findings.extend(step())
            left = left[1:]
    report = Report(findings, lines, counts.nfev, counts.nlmo, left)
    if not quiet:
        print(report)
    return report


class _Examination:
    """The tests, one after another; each yields what is wrong and adds a line about the rest."""

    def __init__(
        self,
        problem: Problem,
        start: Array,
        rng: np.random.Generator,
        lines: list[str],
    ) -> None:
        self.problem, self.start, self.rng = problem, start, rng
        self.lines = lines
        self.vertices: list[Array] = []
        self.samples: list[Sample] = []

    def set_(self) -> Iterator[Finding]:
        """Test what K says about itself: its start and its radius."""
        K: Any = self.problem.set
        off = float(K.violation(like(K.start(), self.start)))
        if not off <= _TOLERANCE * max(1.0, K.radius):
            yield Finding(
                "set", f"K.start() is outside K: it violates the constraints by {off:.3g}."
            )
        if not (math.isfinite(K.radius) and K.radius >= 0):
            yield Finding("set", f"The radius of K must be finite and >= 0, found {K.radius!r}.")

    def oracle(self) -> Iterator[Finding]:
        """Test answers for feasibility, against each other, in a batch and against the support."""
        K: Any = self.problem.set
        directions = self._directions()
        witness = Witness(self.problem.set, kept=len(directions))
        answers: list[Any] = []
        for g in directions:
            self.problem.counts.ask()
            try:
                answer = K.lmo(g)
            except LimitReached:
                raise
            except Exception as error:
                # A set may have only finite minima for some directions, such as lengths >= 0.
                self.lines.append(
                    f"The oracle refused a direction: {type(error).__name__}: {error}"
                )
                continue
            answers.append(answer)
            self.vertices.append(same_type(answer.to_dense(), self.start))
            witness(g, answer)
        witness.meet(self.start, "the starting point")
        if witness.finding is not None:
            yield witness.finding
        elif witness.inexact:
            yield Finding("oracle", witness.remark)
        yield from self._feasible(K)
        if len(answers) == len(directions):
            yield from self._batched(K, directions, answers)
        if len(self.vertices) > 1 and all(norm(v - self.vertices[0]) == 0 for v in self.vertices):
            text = "The oracle answers every direction with the same point."
            yield Finding("oracle", f"{text} Either K is that point, or the oracle ignores g.")
        spread = max((norm(v - self.start) for v in self.vertices), default=0.0)
        self.lines.append(
            f"{len(self.vertices)} oracle answers were compared with each other; the farthest is "
            f"{spread:.3g} from the start."
        )

    def _directions(self) -> list[Array]:
        """Return random directions; with the signs of the gradient if the oracle needs them.

        Some oracles answer no others: shortest paths need lengths that are not negative.
        """
        u = self.rng.standard_normal((DIRECTIONS, *self.start.shape))
        signs = (1.0, -1.0)
        if self._refuses(u[0]):
            try:
                g = to_host(self.problem.evaluate(self.start).gradient)
            except NonFiniteError:
                g = np.zeros(1)
            if g.min() >= 0 or g.max() <= 0:
                u, signs = abs(u), (1.0 if g.min() >= 0 else -1.0,)
        return [like(sign * one, self.start) for one in u for sign in signs]

    def _refuses(self, u: Array) -> bool:
        """Tell whether the oracle raises an error for a direction or for its opposite."""
        K: Any = self.problem.set
        self.problem.counts.ask(2)
        try:
            K.lmo(like(u, self.start))
            K.lmo(like(-u, self.start))
        except LimitReached:
            raise
        except Exception:
            return True
        return False

    def _feasible(self, K: Any) -> Iterator[Finding]:
        allowed = 1e-6 * max(1.0, K.radius)
        large = max((norm(v) for v in self.vertices), default=0.0)
        if large > K.radius + allowed:
            yield Finding(
                "set", f"An answer has norm {large:.6g}, and the radius of K is {K.radius:.6g}."
            )
        worst = max((float(K.violation(v)) for v in self.vertices[:8]), default=0.0)
        if not worst <= allowed:
            yield Finding("oracle", f"An answer is outside K: it violates it by {worst:.3g}.")

    def _batched(self, K: Any, directions: list[Array], answers: list[Any]) -> Iterator[Finding]:
        self.problem.counts.ask(len(directions))
        batch = K.lmo(namespace(self.start).stack(directions))
        for i, (g, one) in enumerate(zip(directions, answers, strict=True)):
            alone, among = float(one.dot(g)), float(batch.take(i).dot(g))
            if abs(alone - among) > _TOLERANCE * norm(g) * max(K.radius, 1e-300):
                text = f"In a batch the oracle attains <g, v> = {among:.6g}, alone {alone:.6g}."
                yield Finding("oracle", text)
                return
        support = float(K.support(-directions[0]))
        value = float(answers[0].dot(directions[0]))
        if abs(support + value) > 1e-2 * norm(directions[0]) * K.radius:
            text = f"K.support(-g) is {support:.6g}, and -<g, lmo(g)> is {-value:.6g}."
            yield Finding("oracle", text)

    def values(self) -> Iterator[Finding]:
        """Test values for being finite, gradients against values, and values against tangents."""
        outside = 0
        for x in self._points():
            try:
                self.samples.append(Sample(x, self.problem.evaluate(x)))
            except NonFiniteError:
                outside += 1
        if outside:
            self.lines.append(
                f"f is not finite at {outside} of {POINTS} points of K: it has a domain of its own."
            )
        if not self.samples:
            yield Finding("values", "f is not finite at any of the points of K that were tried.")
            return
        random = chance(self.problem, *self.samples[0])
        if random is not None:
            yield random
            return
        found = list(self._gradient())
        yield from found
        if not found:
            yield from self._convexity()

    def _points(self) -> Iterator[Array]:
        """Yield the starting point, then mixtures of it and of a few vertices."""
        yield self.start
        known = [self.start, *self.vertices]
        for _ in range(POINTS - 1):
            chosen = self.rng.choice(len(known), size=min(4, len(known)), replace=False)
            weights = self.rng.dirichlet([0.7] * len(chosen))
            parts = [float(w) * known[i] for w, i in zip(weights, chosen, strict=True)]
            yield sum(parts[1:], parts[0])

    def _gradient(self) -> Iterator[Finding]:
        """Compare slopes and values from several points towards others."""
        seen: list[Any] = []
        tried = 0
        for here, there in zip(self.samples, self.samples[1:] + self.samples[:1], strict=True):
            if norm(there.x - here.x) == 0:
                continue
            tried += 1
            wrong = self._slopes(here.x, here.at, there.x - here.x)
            if wrong is not None:
                seen.append(wrong)
        if seen:
            # In the middle of all points few entries are zero, so that wrong ones show.
            total = sum((sample.x for sample in self.samples[1:]), self.samples[0].x)
            x = total / len(self.samples)
            yield describe(self.problem, x, self.problem.evaluate(x), seen[:5], tried)
        fits = f"it did not fit on {len(seen)}" if seen else "it fits on all of them"
        self.lines.append(f"The gradient was compared with values along {tried} segments: {fits}.")

    def _slopes(self, x: Array, at: Evaluation, d: Array) -> Any:
        try:
            return disproof(self.problem, x, at, d)
        except NonFiniteError:
            return None

    def _convexity(self) -> Iterator[Finding]:
        """Compare each value with each tangent, and with those at the middles of chords."""
        tangents = Tangents(self.problem, most=3 * POINTS)
        worst = None
        for sample in [*self.samples, *self._middles()]:
            found = tangents.add(*sample)
            if found is not None and (worst is None or found.depth > worst.depth):
                worst = found
        count = len(tangents.samples)
        if worst is None or self.problem.convex is False:
            verdict = "none is violated" if worst is None else "f is not convex, as it says"
            self.lines.append(f"{count * (count - 1)} inequalities of convexity: {verdict}.")
            return
        yield Finding(
            "convexity",
            f"f is not convex: at a point of K it is {worst.depth:.3g} below one of its tangents. "
            "wolfpack.minimize(..., convex=False) searches for a stationary point.",
        )

    def _middles(self) -> Iterator[Sample]:
        for one, other in zip(self.samples, self.samples[2:], strict=False):
            try:
                x = 0.5 * (one.x + other.x)
                yield Sample(x, self.problem.evaluate(x))
            except NonFiniteError:
                continue

    def smoothness(self) -> Iterator[Finding]:
        """Compare the declared L with the curvature that was seen."""
        seen = 0.0
        for i, one in enumerate(self.samples):
            for other in self.samples[i + 1 :]:
                step = other.x - one.x
                square = inner(step, step)
                if square > 0:
                    change = norm(other.at.gradient - one.at.gradient)
                    seen = max(seen, change / math.sqrt(square))
        declared = self.problem.objective.L
        said = "unknown to f" if declared is None else f"{declared:.4g} declared"
        self.lines.append(f"L is at least {seen:.4g} between the points that were tried, {said}.")
        if declared is not None and seen > declared * (1.0 + 1e-6) + 1e-12:
            yield Finding(
                "L", f"f declares L = {declared:.6g}, and between two points it is {seen:.6g}."
            )
