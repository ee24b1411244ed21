"""The one layer that checks what users pass.

A *kind* is a function ``kind(value, name)`` that returns the value in the form that the library
works with, or raises `ArgumentError`: a sentence with the argument's name, what is allowed and what
was found. Public functions and constructors declare the kinds of their arguments with `checked`,
and their bodies begin with values that are right. Where a kind changes the type, the body calls
it::

    @checked(radius=positive)
    def __init__(self, n: Shape, radius: float = 1.0) -> None:
        self.shape = as_shape(n, "n")
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable
from functools import wraps
from inspect import signature
from numbers import Integral
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from ..arrays import MAX_SIZE, ArgumentError, Array, as_float_array, check_finite, check_size

Kind: TypeAlias = Callable[[Any, str], Any]
Shape: TypeAlias = int | tuple[int, ...] | list[int]
"""A number of entries or a shape, as users give it."""

Checked = TypeVar("Checked", bound=Callable[..., Any])

MAX_ENTRIES = 2**48
"""Entries of x at most: more would fill the memory of any machine."""
_MAX_TEXT = 80


def checked(**kinds: Kind) -> Callable[[Checked], Checked]:
    """Check the arguments of a function or of a class's constructor by their kinds.

    Arguments that are left out are not checked, so that a default may be anything; names that the
    function takes in ``**options`` are checked as well.
    """

    def declare(function: Checked) -> Checked:
        if isinstance(function, type):
            made: Any = function
            made.__init__ = declare(made.__init__)
            return made
        names = tuple(signature(function).parameters)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for name in kwargs:
                if name in kinds:
                    kwargs[name] = kinds[name](kwargs[name], name)
            if args:
                args = (
                    tuple(
                        kinds[name](value, name) if name in kinds else value
                        for name, value in zip(names, args, strict=False)
                    )
                    + args[len(names) :]
                )
            return function(*args, **kwargs)

        return call  # pyright: ignore[reportReturnType]

    return declare


def shown(value: Any) -> str:
    """Return what was found, in one short line; objects that have no text are named by type."""
    try:
        if _is_single(value):
            return shown(value.item())
        if hasattr(value, "shape"):
            return f"a {type(value).__name__} of shape {tuple(value.shape)}"
        text = " ".join(repr(value).split())
    except Exception:  # of any object's own ``__repr__``, or a number of too many digits
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 3]}..."


def _is(value: Any, *kinds: type) -> bool:
    """Tell whether ``value`` is of one of these types; unlike `isinstance`, it stays `Any`."""
    return isinstance(value, kinds)


def as_float(value: Any) -> float:
    """Return ``value`` as a float, NaN where it is no real number or too large for a float.

    Words, truth values, masked entries and arrays with axes are no numbers.
    """
    if type(value) is float:
        return value
    if _is(value, np.ndarray, np.generic):
        if value.ndim or value.dtype.kind not in "iuf" or isinstance(value, np.ma.MaskedArray):
            return math.nan
    elif isinstance(value, bool | str | bytes | bytearray):
        return math.nan
    try:
        x = float(value)
        return x if math.isfinite(x) or value == x else math.nan
    except Exception:  # what the conversion of a foreign object raises is its own affair
        return math.nan


def number(value: Any, name: str) -> float:
    """A finite number."""
    return _ranged(value, name, "a finite number", lambda x: True)


def positive(value: Any, name: str) -> float:
    """A positive finite number."""
    return _ranged(value, name, "a positive finite number", lambda x: x > 0)


def extent(value: Any, name: str) -> float:
    """A radius or another size of a set: positive, and its square is a number of a float."""
    allowed = f"a positive finite number, from {1.0 / MAX_SIZE:g} to {MAX_SIZE:g}"
    return _ranged(value, name, allowed, lambda x: 1.0 / MAX_SIZE <= x <= MAX_SIZE)


def weight(value: Any, name: str) -> float:
    """A factor of a term: at least 0, and its square is a number of a float."""
    return _ranged(value, name, f"a number from 0 to {MAX_SIZE:g}", lambda x: 0 <= x <= MAX_SIZE)


def nonnegative(value: Any, name: str) -> float:
    """A finite number of at least 0."""
    return _ranged(value, name, "a number >= 0", lambda x: x >= 0)


def between(low: float, high: float, *, low_open: bool = False, high_open: bool = False) -> Kind:
    """A number between two others; an end is left out where it is open."""
    brackets = ("(" if low_open else "[") + f"{low:g}, {high:g}" + (")" if high_open else "]")
    allowed = f"a number in {brackets}"

    def kind(value: Any, name: str) -> float:
        if type(value) is not float and as_float(value) == math.inf == high and not high_open:
            return math.inf
        return _ranged(
            value,
            name,
            allowed,
            lambda x: (
                (low < x if low_open else low <= x) and (x < high if high_open else x <= high)
            ),
        )

    return kind


def at_least(low: float) -> Kind:
    """A number of at least ``low``, infinity included."""
    allowed = f"a number >= {low:g}"

    def kind(value: Any, name: str) -> float:
        x = as_float(value)
        return x if x == math.inf else _ranged(value, name, allowed, lambda x: x >= low)

    return kind


def _ranged(value: Any, name: str, allowed: str, inside: Callable[[float], bool]) -> float:
    x = as_float(value)
    if not (math.isfinite(x) and inside(x)):
        raise ArgumentError(f"{name} must be {allowed}, found {shown(value)}")
    return x


def is_number(value: Any) -> bool:
    """Tell whether ``value`` is of a type of real numbers, whatever its value."""
    if _is_single(value):
        return value.dtype.kind in "iuf"
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_single(value: Any) -> bool:
    """Tell whether ``value`` is one entry of NumPy's, or an array without axes that holds one."""
    known = _is(value, np.ndarray, np.generic) and not _is(value, np.ma.MaskedArray)
    return known and value.ndim == 0


def as_whole(value: Any) -> int | None:
    """Return a whole number as an integer, None where ``value`` is not one.

    Floats and arrays without axes count by their values: 1e6 is 1000000. Floats beyond 2**53 do not
    tell which integer is meant.
    """
    if type(value) is int:
        return value
    if _is_single(value) and value.dtype.kind in "iuf":
        value = value[()]
    if _is(value, Integral) and not _is(value, bool):
        return operator.index(value)
    if _is(value, float, np.floating) and abs(value) <= MOST_EXACT and value == int(value):
        return int(value)
    return None


MOST_EXACT = 2**53
"""Up to here floats hold every integer."""


def whole(low: int = 0, high: int | None = None) -> Kind:
    """A whole number of at least ``low``, and at most ``high`` where that is given."""
    allowed = f"an integer >= {low}"

    def kind(value: Any, name: str) -> int:
        found = as_whole(value)
        if found is None or found < low:
            raise ArgumentError(f"{name} must be {allowed}, found {shown(value)}")
        if high is not None and found > high:
            raise ArgumentError(f"{name} must be at most {high}, found {shown(value)}")
        return found

    return kind


count = whole(1, MOST_EXACT)
"""An integer of at least 1, which a float can hold."""

seed = whole(0, 2**128 - 1)
"""A seed of random streams."""


def flag(value: Any, name: str) -> bool:
    """True or False."""
    if value is True or value is False:
        return value
    if _is(value, np.bool_):
        return bool(value)
    raise ArgumentError(f"{name} must be True or False, found {shown(value)}")


def choice(*names: object) -> Kind:
    """One of a few words or numbers."""
    listed = f"one of {', '.join(map(repr, names))}"
    allowed = listed if len(names) > 2 else " or ".join(map(repr, names))

    def kind(value: Any, name: str) -> Any:
        if isinstance(value, str | int | np.integer) and not isinstance(value, bool):
            for known in names:
                if value == known:
                    return known
        raise ArgumentError(f"{name} must be {allowed}, found {shown(value)}")

    return kind


def optional(kind: Kind) -> Kind:
    """None, or what ``kind`` allows."""

    def either_none(value: Any, name: str) -> Any:
        return None if value is None else _or(kind, value, name, "None")

    return either_none


def either(kind: Kind, *names: str) -> Kind:
    """One of a few words, or what ``kind`` allows."""

    def either_word(value: Any, name: str) -> Any:
        if isinstance(value, str) and value in names:
            return str(value)
        return _or(kind, value, name, *map(repr, names))

    return either_word if names else kind


def _or(kind: Kind, value: Any, name: str, *others: str) -> Any:
    """Return what ``kind`` makes of the value; its sentence also tells the other choices."""
    try:
        return kind(value, name)
    except ArgumentError as error:
        text = str(error)
        head, found, tail = text.rpartition(", found ")
        if not found:
            raise
        raise ArgumentError(f"{head} or {' or '.join(others)}{found}{tail}") from None


def function(value: Any, name: str) -> Any:
    """Something that can be called, and is no class."""
    if not callable(value):
        raise ArgumentError(f"{name} must be callable, found {shown(value)}")
    return value


def instance(wanted: type | tuple[type, ...], what: str) -> Kind:
    """An object of a class, which ``what`` describes."""

    def kind(value: Any, name: str) -> Any:
        if not isinstance(value, wanted):
            hint = " (a class: call it to make an object)" if isinstance(value, type) else ""
            raise ArgumentError(f"{name} must be {what}, found {shown(value)}{hint}")
        return value

    return kind


def _plain_path(value: Any) -> Any:
    return cast("Any", os.fspath(value))


def as_path(value: Any, name: str) -> str:
    """The name of a file."""
    if _is(value, os.PathLike):
        try:
            value = _plain_path(value)
        except Exception as error:
            raise ArgumentError(f"{name} must be a path, found {shown(value)}: {error}") from None
    if not isinstance(value, str):
        raise ArgumentError(f"{name} must be a path, a text or a Path, found {shown(value)}")
    if not value or "\0" in value:
        raise ArgumentError(f"{name} must be a path that is not empty, found {shown(value)}")
    try:
        os.fsencode(value)
    except UnicodeError:
        raise ArgumentError(f"{name} must be a path that can be written, found {value!a}") from None
    return value


def as_shape(value: Any, name: str) -> tuple[int, ...]:
    """A positive integer n, which stands for (n,), or a tuple of them."""
    allowed = "a positive integer or a tuple of them"
    several = isinstance(value, tuple | list)
    given: list[Any] = [*value] if several else [value]
    sizes = [as_whole(n) for n in given]
    found = tuple(n for n in sizes if n is not None)
    if len(found) < len(sizes):
        raise ArgumentError(f"{name} must be {allowed}, found {shown(value)}")
    if not found or min(found) < 1:
        raise ArgumentError(f"{name} must be at least 1, found {shown(value)}")
    if math.prod(found) > MAX_ENTRIES or len(found) > _MAX_AXES:
        raise ArgumentError(
            f"{name} must have at most {_MAX_AXES} axes and 2**48 entries, found {shown(value)}"
        )
    return found


_MAX_AXES = 32


def as_size(value: Any, name: str) -> int:
    """One positive integer, the number of entries or the side of a square matrix."""
    found = as_shape(value, name)
    if len(found) != 1:
        raise ArgumentError(f"{name} must be a positive integer, found {shown(value)}")
    return found[0]


def as_matrix_shape(value: Any, name: str) -> tuple[int, int]:
    """A pair (p, q) of positive integers."""
    found = as_shape(value, name)
    if len(found) != 2:
        raise ArgumentError(f"{name} must be (p, q), two positive integers, found {shown(value)}")
    return found


def constant(value: Any, name: str) -> float | None:
    """A Lipschitz constant, None where it is unknown."""
    if value is None:
        return None
    allowed = "a finite number >= 0, or None if unknown"
    return _ranged(value, name, allowed, lambda x: x >= 0)


def as_array(value: Any, name: str) -> Array:
    """An array of finite real numbers, whose squares are finite too."""
    return check_size(check_finite(as_float_array(value, name), name), name)


def check_positive(name: str, value: Any) -> None:
    """Raise unless ``value`` is a positive finite number."""
    positive(value, name)


def check_nonnegative(name: str, value: Any) -> None:
    """Raise unless ``value`` is a finite number >= 0."""
    nonnegative(value, name)


def check_count(name: str, value: Any) -> None:
    """Raise unless ``value`` is an integer of at least 1."""
    count(value, name)


def is_own(part: object) -> bool:
    """Tell whether the class of a part of a problem belongs to the library."""
    return type(part).__module__.partition(".")[0] == __name__.partition(".")[0]
