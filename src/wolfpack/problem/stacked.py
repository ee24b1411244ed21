"""Many problems that differ in their data: one constructor call with one more leading axis.

``LeastSquares(A, b)`` with ``A`` of shape ``(B, n, d)`` and ``Simplex(d, radius=r)`` with ``r`` of
shape ``(B,)`` are no objective and no set, but B of each. A class that may be stacked derives from
`Stackable` and says in ``stack_axes`` how many axes one instance's argument has. A call with one
axis more returns a `Stacked` object in its place, which `wolfpack.minimize_many` takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import ArgumentError, as_float_array, is_foreign, namespace, own, plain_type
from .rational import Rational, is_exact, is_rational_array

Arguments = dict[str, Any]


class Stacked:
    """B objects of one class, made on demand from arguments of which some have a leading axis.

    Attributes
    ----------
    kind : type
        The class of each object.
    arguments : dict
        The arguments by name; those named in ``varying`` have a leading axis of length B.
    varying : tuple of str
        The names of the arguments that differ.
    """

    def __init__(self, kind: type, arguments: Arguments, varying: tuple[str, ...]) -> None:
        self.kind, self.varying = kind, varying
        self.arguments = {
            name: as_stack(value, name) if name in varying else value
            for name, value in arguments.items()
        }
        lengths = {name: _length(self.arguments[name]) for name in varying}
        (first, self.count), *others = lengths.items()
        for name, length in others:
            if length != self.count:
                raise ArgumentError(
                    f"{name} must have a leading axis of length {self.count}, as {first} has, "
                    f"found {length}"
                )

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> Any:
        """Return object number i, made and checked like any other."""
        picked = {
            name: _entry(value, i) if name in self.varying else value
            for name, value in self.arguments.items()
        }
        more = [
            picked.pop(name)
            for name, parameter in signature(self.kind).parameters.items()
            if parameter.kind is Parameter.VAR_POSITIONAL and name in picked
        ]
        try:
            return self.kind(*(more[0] if more else ()), **picked)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"problem {i}: {error}") from None

    def __repr__(self) -> str:
        return f"{self.count} x {self.kind.__name__}"


class Stackable:
    """A class whose constructor returns a `Stacked` object where arguments have one more axis.

    A class that sets ``rational_data`` itself returns a `Rational` for object arrays of Fractions,
    and its objects of floats keep in ``exact_arguments`` what they were made of, if that were
    single Fractions. Subclasses have constructors of their own.
    """

    stack_axes: ClassVar[dict[str, int]] = {}
    rational_data: ClassVar[bool] = False
    exact_arguments: Mapping[str, Fraction] = MappingProxyType({})
    _derived = ("exact_arguments",)
    stacked_class: ClassVar[type[Stacked]] = Stacked

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.stack_axes:  # what tools show is the constructor, not ``__new__``
            parameters = list(signature(cls.__init__).parameters.values())[1:]
            cls.__signature__ = signature(cls.__init__).replace(parameters=parameters)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        exact = "rational_data" in vars(cls) and any(map(is_exact, (*args, *kwargs.values())))
        given = cls._named(args, kwargs) if exact else {}
        if any(map(is_rational_array, given.values())):
            return Rational(cls, given)  # pyright: ignore[reportReturnType]
        if cls.stack_axes and (args or kwargs):
            found = cls._stack(args, kwargs)
            if found is not None:
                return found  # pyright: ignore[reportReturnType]
        made = super().__new__(cls)
        if exact:
            made.exact_arguments = {k: v for k, v in given.items() if isinstance(v, Fraction)}
        return made

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes of a pickle or of a copy; numbers get their type's own object."""
        for name, value in state.items():
            vars(self)[name] = plain_type(value) if type(value) is np.ndarray else value

    @classmethod
    def _named(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """Return the arguments of the constructor by name."""
        arguments = dict(signature(cls.__init__).bind(None, *args, **kwargs).arguments)
        arguments.pop("self")
        return arguments

    @classmethod
    def _stack(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Stacked | None:
        """Return the stack that these arguments describe, None where they describe one object."""
        try:
            arguments = dict(signature(cls).bind(*args, **kwargs).arguments)
        except TypeError:
            return None  # the constructor says what is wrong
        varying = cls.varying_arguments(arguments)
        return cls.stacked_class(cls, arguments, varying) if varying else None

    @classmethod
    def varying_arguments(cls, arguments: Arguments) -> tuple[str, ...]:
        """Return the names of the arguments that have one more axis than one object's."""
        return tuple(
            name
            for name, axes in cls.stack_axes.items()
            if name in arguments and axes_of(arguments[name]) == axes + 1
        )


def is_sequence(value: Any) -> bool:
    """Tell whether ``value`` is a list or a tuple; unlike after `isinstance`, it stays `Any`."""
    return isinstance(value, list | tuple)


def axes_of(value: Any) -> int:
    """Return the number of axes of an array, or of nested lists; 0 for anything else."""
    if is_array(value):
        return len(value.shape)
    if not is_sequence(value) or not value or (is_sequence(value[0]) and not value[0]):
        return 0
    return 1 + axes_of(value[0])


def length_of(value: Any) -> int:
    """Return the length of the first axis of an array, dense or sparse, or of a list."""
    shape = getattr(value, "shape", None)
    if shape:
        return shape[0]
    return len(value) if is_sequence(value) else 0


def is_array(value: Any) -> bool:
    """Tell whether ``value`` is an array of any library."""
    return isinstance(value, np.ndarray) or is_foreign(value)


def as_stack(value: Any, name: str) -> Any:
    """Return numbers with a leading axis as an array, or say which entry has another shape."""
    if is_array(value):
        array = own(as_float_array(value, name), value)
    elif any(isinstance(part, Stacked) for part in value):
        return value
    else:
        parts = [as_float_array(part, f"{name}[{i}]") for i, part in enumerate(value)]
        for i, part in enumerate(parts):
            if tuple(part.shape) != tuple(parts[0].shape):
                raise ArgumentError(
                    f"{name}[{i}] must have the shape of {name}[0], {tuple(parts[0].shape)}, "
                    f"found {tuple(part.shape)}: the problems of one call have one shape"
                )
        array = namespace(parts[0]).stack(parts) if parts else np.empty(0)
    if 0 in array.shape[1:]:
        raise ArgumentError(f"{name} must not be empty, found shape {tuple(array.shape)}")
    if array.shape[0] == 0:
        raise ArgumentError(
            f"{name} must hold at least one problem, found a leading axis of length 0"
        )
    return array


def _length(value: Any) -> int:
    if is_sequence(value):
        return next(len(part) for part in value if isinstance(part, Stacked))
    return value.shape[0]


def _entry(value: Any, i: int) -> Any:
    if is_sequence(value):  # of parts, which may be stacked or not
        return tuple(part[i] if isinstance(part, Stacked) else part for part in value)
    return value[i]
