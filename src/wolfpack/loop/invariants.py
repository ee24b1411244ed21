"""What must be true of a run, whoever wrote its checkpoint.

A checksum shows that a file is whole and not that its contents are right. A resumed run therefore
checks what it can: all arrays are finite, points are feasible, weights are those of convex
combinations, values are those of f, bounds are below values. The sums over earlier rounds that
some methods keep, and the best lower bound, cannot be proved again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array, LowRank, all_finite, epsilon, is_foreign, like, norm, to_host
from ..atoms import Atoms
from ..problem import CompositeProblem, Problem
from ..problem.checks import shown
from .active import active_of
from .checkpoint import Snapshot

_FEASIBLE = 1e-6  # relative to max(1, R_K), as for starting points
_SAME_ANSWER = (
    1e-6  # relative to ||g|| R_K: whole computations differ in the last digits by machine
)
_QUESTIONS = 64  # about the vertices of a run with the user's own oracle, in all
_QUESTIONS_EACH = 8  # about one vertex: is it still in K?
_SECONDS = 1.0  # that the user's own oracle is asked, one question more at most
_WEIGHTS = 1e-6  # how far weights may be below 0, and their sum from 1


class Implausible(ValueError):
    """The contents of a checkpoint contradict each other or the problem."""


def check_invariants(snapshot: Snapshot, problem: Problem | CompositeProblem) -> None:
    """Raise `Implausible` if a run of this problem cannot have left this snapshot.

    It takes one or two evaluations of f, which are not counted, and one feasibility check for each
    point and each vertex that the state holds. An oracle of the user's own is asked again what the
    run asked last, and at most 64 times about the vertices that it has given, for a second.
    """
    state, best = snapshot.state, snapshot.best
    _check_counts(snapshot)
    for name, array in _arrays(state, "state"):
        if not all_finite(array):
            raise Implausible(f"{name} has NaN or infinite entries")
    points = {"the iterate": state.x} | ({} if best["x"] is None else {"the best point": best["x"]})
    for name, x in points.items():
        _check_point(name, x, problem)
    if isinstance(problem, Problem):
        _check_hulls(state, problem)
        if not problem.set.tested:
            _check_oracle(snapshot, problem)
    _check_values(snapshot, problem)
    _check_history(snapshot)


def _check_counts(snapshot: Snapshot) -> None:
    whole = {"round": snapshot.state.k}
    whole |= {name: snapshot.counts.get(name, 0) for name in ("nfev", "njev", "nlmo")}
    for name, number in whole.items():
        if not (isinstance(number, int | np.integer) and number >= 0):
            raise Implausible(f"{name} must be an integer >= 0, found {number!r}")
    seconds = snapshot.best["seconds"]
    if not (math.isfinite(seconds) and seconds >= 0):
        raise Implausible(f"seconds must be a number >= 0, found {seconds!r}")


def _check_point(name: str, x: Array, problem: Problem | CompositeProblem) -> None:
    if not hasattr(x, "shape"):
        raise Implausible(f"{name} is no array, found {shown(x)}")
    if isinstance(problem, CompositeProblem):
        if not (all_finite(x) and math.isfinite(problem.regularizer.value(x))):
            raise Implausible(f"{name} is outside of the domain of H")
        return
    K: Any = problem.set
    if tuple(x.shape) != tuple(K.shape):
        raise Implausible(f"{name} has shape {tuple(x.shape)}, and K has shape {tuple(K.shape)}")
    if isinstance(x, LowRank) or not K.cheap_violation:
        outside = norm(x) - K.radius  # all that is cheap to know
    else:
        outside = K.violation(x) if all_finite(x) else math.nan
    if not outside <= _FEASIBLE * max(1.0, K.radius):
        raise Implausible(f"{name} is outside of K: it violates the constraints by {outside:.3g}")


def _check_hulls(state: Any, problem: Problem) -> None:
    blocks = {f"state.caches.{i}": part for i, part in enumerate(problem.set.factors)}
    for name, hull in _parts(state, "state"):
        if not (hasattr(hull, "weights") and hasattr(hull, "atoms")):
            continue
        weights, atoms = np.asarray(hull.weights, dtype=np.float64), hull.atoms
        if weights.min() < -_WEIGHTS or abs(weights.sum() - 1.0) > _WEIGHTS:
            raise Implausible(f"the weights of {name} are not those of a convex combination")
        if atoms is None:
            continue
        if len(atoms) != len(weights) - 1:
            raise Implausible(f"{name} has {len(atoms)} vertices, {len(weights)} weights")
        for i in np.flatnonzero(weights[1:]).tolist():
            own = replace(problem, set=blocks[name]) if name in blocks else problem
            _check_point(f"vertex {i} of {name}", atoms.take(i).to_dense(), own)


def _check_oracle(snapshot: Snapshot, problem: Problem) -> None:
    """Check that the user's own oracle still is that of the run.

    It must have the same minima in the directions that the run asked last, and answer no direction
    worse than a vertex that it has given before: neither those, nor the directions of a short
    search for the point of K nearest to the vertex.
    """
    K: Any = problem.set
    found = active_of(snapshot.state, snapshot.state.x)
    vertices = [] if found is None else list(found.vertices)
    missed = getattr(K, "inexact", 0.0)

    def ask(g: Array) -> tuple[Any, float, float]:
        """Return the oracle's answer, its minimum, and how far from it other numbers may be."""
        answer, scale = K._lmo(g), norm(g) * K.radius
        return answer, K.certify(g, answer), (_SAME_ANSWER + 2.0 * missed) * scale

    deadline = time.perf_counter() + _SECONDS
    for g, claimed in reversed(snapshot.asked):
        _, least, error = ask(g)
        if not abs(least - claimed) <= error:
            raise Implausible(
                f"the oracle of K has changed: in a direction that the run has asked, its minimum "
                f"was {claimed:.9g}, now it is {least:.9g}"
            )
        _check_not_better(vertices, g, least - error)
        if time.perf_counter() >= deadline:
            return
    middle = np.mean(vertices, axis=0) if vertices else np.zeros(K.shape)
    questions = _QUESTIONS
    for vertex in vertices:
        nearest = middle
        for _ in range(min(_QUESTIONS_EACH, questions)):
            if time.perf_counter() >= deadline:
                return
            questions -= 1
            u = like(nearest - vertex, snapshot.state.x)
            answer, least, error = ask(u)
            _check_not_better([vertex], u, least - error)
            dense = np.asarray(to_host(answer.to_dense()), dtype=np.float64)
            nearest = _nearer(nearest, dense, vertex)
            if norm(nearest - vertex) <= _SAME_ANSWER * K.radius:
                break


def _nearer(y: np.ndarray, z: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return the point between y and z that is nearest to another point."""
    step = z - y
    length = float(np.vdot(step, step))
    t = float(np.vdot(step, point - y)) / length if length > 0.0 else 0.0
    return y + min(max(t, 0.0), 1.0) * step


def _check_not_better(vertices: list[np.ndarray], g: Array, least: float) -> None:
    direction = np.asarray(to_host(g), dtype=np.float64)
    best = min((float(np.vdot(direction, vertex)) for vertex in vertices), default=math.inf)
    if best < least:
        raise Implausible(
            "the oracle of K has changed: a vertex that it gave in this run has "
            f"<g, v> = {best:.9g} in a direction where it now claims a minimum of {least:.9g}"
        )


def _check_values(snapshot: Snapshot, problem: Problem | CompositeProblem) -> None:
    best, at = snapshot.best, snapshot.state.at
    known = {} if at is None else {"the iterate": (snapshot.state.x, at.value, at.gradient)}
    if best["x"] is not None:
        known["the best point"] = best["x"], best["fun"], None
    for name, (x, value, gradient) in known.items():
        found = problem.objective.evaluate(x)
        exact, size = float(found.value), abs(float(found.value))
        if isinstance(problem, CompositeProblem):
            exact += problem.regularizer.value(x)
        scale = 1.0 if found.gradient is None else norm(found.gradient)
        error = math.sqrt(epsilon(x)) * (size + abs(exact) + scale * (1.0 + norm(x)))
        unknown = math.isnan(exact) and math.isnan(value)
        if not (unknown or abs(exact - value) <= error):
            raise Implausible(f"f at {name} is {exact:.9g}, and the file says {value:.9g}")
        if gradient is not None and found.gradient is not None:
            _check_gradient(gradient, found.gradient, scale, error)


def _check_gradient(gradient: Array, exact: Array, scale: float, error: float) -> None:
    if is_foreign(gradient) != is_foreign(exact) or tuple(gradient.shape) != tuple(exact.shape):
        raise Implausible("the gradient at the iterate has another shape than that of f")
    difference = norm(gradient - exact)
    if not difference <= math.sqrt(epsilon(exact)) * scale + error:
        raise Implausible(f"the gradient at the iterate is wrong by {difference:.3g}")


def _check_history(snapshot: Snapshot) -> None:
    best = snapshot.best
    bound = best.get("best_bound", best.get("lower_bound", -math.inf))
    fun, history = best["fun"], snapshot.history
    if math.isnan(bound) or bound == math.inf:
        raise Implausible(f"the lower bound is {bound}")
    room = 1e-3 * (abs(fun) + abs(bound)) if math.isfinite(bound) else 0.0
    if best["convex"] and bound - fun > room:
        raise Implausible(f"the lower bound {bound:.9g} is above the best value {fun:.9g}")
    for name in ("round", "seconds"):
        if not (np.diff(history[name]) >= 0).all():
            raise Implausible(f"the column {name!r} of the history must rise")
    gap = history["gap"]
    # Bounds on rounding errors change along a run, so that the gap may rise by little.
    allowed = gap[:-1] * (1.0 + 1e-3) + 1e-6 * abs(history["fun"][1:])
    if np.isnan(gap).any() or ((gap[1:] > allowed) & np.isfinite(gap[1:])).any():
        raise Implausible("the column 'gap' of the history must fall")
    if len(history["round"]) and history["round"][-1] > snapshot.state.k:
        raise Implausible("the history has rounds after that of the checkpoint")


def _parts(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Return the named tuples and dataclasses in a state, itself included, with their names."""
    fields = _fields(value)
    if fields:
        yield name, value
    items: dict[Any, Any] = fields
    if type(value) in (list, tuple):
        items = dict(enumerate(value))
    for key, part in items.items():
        yield from _parts(part, f"{name}.{key}")


def _arrays(value: Any, name: str) -> Iterator[tuple[str, Array]]:
    """Return all arrays of real numbers in a state, with their names."""
    if isinstance(value, np.ndarray) or is_foreign(value):
        if "float" in str(value.dtype):
            yield name, value
        return
    items: dict[Any, Any] = _fields(value)
    if isinstance(value, Atoms):
        items = vars(value)
    elif type(value) in (list, tuple):
        items = dict(enumerate(value))
    elif type(value) is dict:
        items = value
    for key, part in items.items():
        yield from _arrays(part, f"{name}.{key}")


def _fields(value: Any) -> dict[str, Any]:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()  # pyright: ignore[reportAttributeAccessIssue]
    return {name: getattr(value, name) for name in getattr(value, "__dataclass_fields__", ())}
