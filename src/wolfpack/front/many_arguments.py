"""The arguments of `wolfpack.minimize_many`, checked and brought to one form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import (
    ArgumentError,
    Array,
    as_float_array,
    check_finite,
    is_foreign,
    namespace,
    reshape,
    same_place,
    to_host,
)
from ..objectives import Function, LeastSquares, Objective, Quadratic
from ..objectives.finite_sum import SignLoss
from ..problem import Stacked
from ..problem.checks import shown
from ..problem.stacked import is_array, is_sequence
from ..sets import Box, ConvexHull, Set


@dataclass(frozen=True)
class Problems:
    """The arguments of a call, brought to one form.

    ``f`` is a stack, a list or a callable on a batch; ``K`` a set, a stack or a list; ``x0`` is
    (B, *shape) or None; ``place`` is an array of the library, device and type of the points.
    """

    count: int
    shape: tuple[int, ...]
    f: Any
    K: Any
    x0: Array | None
    place: Array


def as_problems(given_f: Any, given_K: Any, x0: Any) -> Problems:
    """Return the arguments in one form, after checks of everything that they share."""
    f: Any = [*given_f] if isinstance(given_f, list | tuple) else given_f
    region: Any = [*given_K] if isinstance(given_K, list | tuple) else given_K
    _check_kinds(f, region)
    _check_first(f, "f")
    _check_first(region, "K")
    shape = _shape(f, region)
    f, region = _stacked_as(f, shape), _sets_as(region, shape)
    x0 = None if x0 is None else as_float_array(x0, "x0")
    counts: dict[str, int] = {}
    for name, value in (("f", f), ("K", region)):
        if isinstance(value, Stacked | list):
            counts[name] = _length(value)
    if x0 is not None and x0.ndim == len(shape) + 1:
        counts["x0"] = x0.shape[0]
    if not counts:
        raise TypeError(
            "the number of problems is unknown: f is one callable, K one set and x0 no batch; pass "
            f"x0 of shape (B, {', '.join(map(str, shape))})"
        )
    (first, count), *others = counts.items()
    for name, other in others:
        if other != count:
            raise ArgumentError(
                f"{name} must hold {count} problems, as {first} does, found {other}"
            )
    if count == 0:
        raise ArgumentError(f"{first} must hold at least one problem, found none")
    place = _place(f, x0)
    if x0 is not None:
        x0 = _start_given(x0, count, shape, place)
    return Problems(count, shape, f, region, x0, place)


def _check_first(value: Any, name: str) -> None:
    """Make the first problem of a stack, whose constructor says what is wrong with shared data.

    What is wrong with the first problem's own data is found with those of all others.
    """
    if not isinstance(value, Stacked):
        return
    try:
        value[0]
    except ArgumentError as error:
        what = str(error).removeprefix("problem 0: ")
        found = value.arguments.get(what.split()[0])
        lost = "NaN or infinite" in what and found is not None and np.ndim(found) > 0
        if what.split()[0] not in value.varying and not lost:
            raise ArgumentError(f"{name}: {what}") from None


def _length(value: Any) -> int:
    return len(value)


def _check_kinds(f: Any, K: Any) -> None:
    for name, value, kind, what in (
        ("f", f, Objective, "objectives"),
        ("K", K, Set, "sets"),
    ):
        if is_sequence(value):
            if not value:
                raise ArgumentError(f"{name} must hold at least one problem, found an empty list")
            for i, part in enumerate(value):
                if not (isinstance(part, kind) or (name == "f" and callable(part))):
                    raise ArgumentError(
                        f"{name} must be a list of {what}, found {shown(part)} at {name}[{i}]"
                    )
        elif name == "K" and not (
            isinstance(value, Set) or (isinstance(value, Stacked) and issubclass(value.kind, Set))
        ):
            raise ArgumentError(f"K must be a set, or a list of them, found {shown(value)}")
        elif name == "f" and not (callable(value) or isinstance(value, Stacked)):
            raise ArgumentError(
                "f must be an objective with stacked data, a list of objectives or a callable on "
                f"a batch, found {shown(value)}"
            )


def _shape(f: Any, K: Any) -> tuple[int, ...]:
    """Return the shape of one point, from the objectives or else from the sets."""
    known = _shape_of(f, "f")
    found = _shape_of(K, "K")
    assert found is not None
    alike = known == found and isinstance(f, Objective) and not isinstance(f, Function)
    if alike and isinstance(K, Box | ConvexHull) and len(found) > 1:
        return found[1:]  # data and bounds alike have a leading axis
    if known is None or known == found:
        return found
    if isinstance(K, Box | ConvexHull) and len(found) == len(known) + 1 and found[1:] == known:
        return known  # a leading axis of bounds or points
    if isinstance(f, Objective) and len(known) == len(found) + 1:
        return found  # a leading axis of data
    raise ArgumentError(f"f takes x of shape {known}, K has shape {found}")


def _shape_of(value: Any, name: str) -> tuple[int, ...] | None:
    if is_sequence(value):
        shapes = [_shape_of(part, name) for part in value]
        known = next((shape for shape in shapes if shape is not None), None)
        for i, shape in enumerate(shapes):
            if shape not in (None, known):
                raise ArgumentError(
                    f"{name}[{i}] must have points of shape {known}, as {name}[0] has, found "
                    f"{shape}: the problems of one call have one shape"
                )
        return known
    if isinstance(value, Stacked):
        return _stack_shape(value)
    return tuple(value.shape) if getattr(value, "shape", None) is not None else None


def _stack_shape(value: Any) -> tuple[int, ...]:
    """Return the shape of the points of a stack, without making an objective."""
    if issubclass(value.kind, Set):
        return tuple(value[0].shape)
    kind: Any = value.kind
    matrix = value.arguments[next(iter(kind.stack_axes))]
    if kind is Quadratic:
        c = value.arguments["c"]
        shape = tuple(c.shape) if hasattr(c, "shape") else np.shape(c)
        return shape[1:] if "c" in value.varying else shape
    return (matrix.shape[-1],) if kind.row_data else tuple(value[0].shape)


def _stacked_as(f: Any, shape: tuple[int, ...]) -> Any:
    """Return data that were read as those of matrices x as data of many problems."""
    own: Any = f.shape if isinstance(f, Objective) else None
    if isinstance(f, LeastSquares | SignLoss) and len(own) == 2 and len(shape) == 1:
        name = f.row_data
        data = getattr(f, name)
        if data.shape[0] != data.shape[1]:
            raise ArgumentError(
                f"{name} must have shape (B, {f.n}), one row for each problem, found "
                f"{tuple(data.shape)}"
            )
        matrix = next(iter(f.stack_axes))
        reduction = "mean" if f.weight != 1.0 or f.n == 1 else "sum"
        arguments = {matrix: f.A, name: data, "reduction": reduction}
        return Stacked(type(f), arguments, (name,))
    if isinstance(f, Quadratic) and isinstance(f.Q, float) and len(own) == len(shape) + 1:
        return Stacked(Quadratic, {"Q": f.Q, "c": f.c, "r": f.r}, ("c",))
    if isinstance(f, Objective) and not isinstance(f, Function):
        raise ArgumentError(
            f"f must have data with a leading axis, one entry for each problem, found one "
            f"{type(f).__name__} for x of shape {f.shape}: use minimize for one problem"
        )
    return f


def _sets_as(K: Any, shape: tuple[int, ...]) -> Any:
    """Return a set whose parameters have a leading axis as a stack."""
    if isinstance(K, Box) and len(K.shape) > len(shape):
        return Stacked(Box, {"lower": K.lower, "upper": K.upper}, ("lower", "upper"))
    if isinstance(K, ConvexHull) and len(K.shape) > len(shape):
        return Stacked(ConvexHull, {"points": K.points}, ("points",))
    return K


def _place(f: Any, x0: Array | None) -> Array:
    """Return an array of the library, device and type that points must have."""
    given: dict[str, Array] = {}
    if isinstance(f, Stacked):
        given = {name: value for name, value in f.arguments.items() if is_array(value)}
    elif is_sequence(f) and isinstance(f[0], Objective) and f[0].like is not None:
        for i, part in enumerate(f):
            if not isinstance(part, Objective) or part.like is None:
                continue  # a callable, which takes arrays of the others' kind
            same_place(**{"the data of f[0]": f[0].like, f"the data of f[{i}]": part.like})
        given = {"the data of f": f[0].like}
    found = [value for value in given.values() if np.ndim(value) > 0 or is_foreign(value)]
    if x0 is not None:
        if found and (is_foreign(found[0]) or is_foreign(x0)):
            same_place(**{"the data of f": found[0], "x0": x0})
        return found[0] if found else x0
    return found[0] if found else np.zeros(0)


def _start_given(x0: Array, count: int, shape: tuple[int, ...], place: Array) -> Array:
    if tuple(x0.shape) not in (shape, (count, *shape)):
        raise ArgumentError(
            f"x0 must have shape {(count, *shape)}, or {shape} for all problems, found "
            f"{tuple(x0.shape)}"
        )
    xp = namespace(x0)
    if tuple(x0.shape) == shape:
        check_finite(x0, "x0")
    else:
        finite = np.asarray(to_host(xp.all(reshape(xp.isfinite(x0), (count, -1)), axis=1)))
        if not finite.all():
            i = int(finite.argmin())
            check_finite(x0[i, ...], f"x0[{i}]")
    if not is_foreign(x0) and not is_foreign(place):
        x0 = x0.astype(place.dtype, copy=False)
    return xp.broadcast_to(x0, (count, *shape)) if tuple(x0.shape) == shape else x0
