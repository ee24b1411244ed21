"""States as JSON and arrays: what a checkpoint can hold, and nothing else.

A value becomes a tree of JSON with the arrays apart, named. Objects are written as the name of
their class and their fields, and are read back only if that class belongs to wolfpack and is a
named tuple, a dataclass, a structured vertex or has a method ``saved_fields``. No file can make a
reader run foreign code.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..arrays import is_foreign, like, to_host
from ..atoms import Atoms

_PACKAGE = __name__.partition(".")[0]


class Encoder:
    """Turns values into JSON; the arrays that it met are in ``arrays``.

    An array that occurs twice is kept once. Those of other libraries than NumPy are copied to the
    host.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._copies: dict[int, tuple[Any, np.ndarray]] = {}
        self._names: dict[int, str] = {}

    def encode(self, value: Any) -> Any:
        """Return ``value`` as a JSON tree."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, np.ndarray):
            return {"array": self._name(value)}
        if is_foreign(value):
            # the original is kept along, so that no other array gets its id meanwhile
            _, copy = self._copies.setdefault(id(value), (value, to_host(value)))
            return {"foreign": self._name(copy)}
        if isinstance(value, np.generic):
            return {"scalar": self._name(np.asarray(value))}
        if type(value) in (list, tuple):
            return {type(value).__name__: [self.encode(entry) for entry in value]}
        if type(value) is dict:
            return {"dict": [[self.encode(k), self.encode(v)] for k, v in value.items()]}
        if type(value) is slice:
            return {"slice": [value.start, value.stop, value.step]}
        if type(value) is bytes:
            return {"bytes": value.hex()}
        fields = _fields(value)
        name = f"{type(value).__module__}:{type(value).__qualname__}"
        return {"object": name, "fields": {k: self.encode(v) for k, v in fields.items()}}

    def _name(self, array: np.ndarray) -> str:
        if array.dtype.hasobject:
            raise TypeError("a checkpoint cannot hold arrays of Python objects")
        # Every array that has a name is kept in `arrays`, so that no other one gets its id.
        name = self._names.setdefault(id(array), f"array{len(self.arrays)}")
        self.arrays[name] = array
        return name


class Decoder:
    """Turns JSON back into values; each of the named ``arrays`` is read once.

    Arrays of other libraries than NumPy get the library, device and type of the array ``place``.
    """

    def __init__(self, arrays: Mapping[str, Any], place: Any = None) -> None:
        self._source = arrays
        self._place = place
        self._moved: dict[str, Any] = {}
        self._arrays: dict[str, np.ndarray] = {}
        self._readers: dict[str | None, Callable[[Any], Any]] = {
            "array": self._array,
            "foreign": self._foreign,
            "scalar": lambda name: self._array(name)[()],
            "list": lambda entries: list(map(self.decode, entries)),
            "tuple": lambda entries: tuple(map(self.decode, entries)),
            "dict": lambda pairs: {self.decode(k): self.decode(v) for k, v in pairs},
            "slice": lambda ends: slice(*ends),
            "bytes": bytes.fromhex,
        }

    def decode(self, tree: Any) -> Any:
        """Return the value that `Encoder.encode` turned into ``tree``."""
        if not isinstance(tree, dict):
            return tree
        kind = next(iter(tree), None)
        if kind == "object":
            fields = {name: self.decode(value) for name, value in tree["fields"].items()}
            return _build(_class(tree["object"]), fields, self._place)
        if kind not in self._readers:
            raise ValueError(f"unknown kind of value {kind!r}")
        return self._readers[kind](tree[kind])

    def _array(self, name: str) -> np.ndarray:
        if name not in self._arrays:
            self._arrays[name] = self._source[name]
        return self._arrays[name]

    def _foreign(self, name: str) -> Any:
        if self._place is None:
            raise ValueError(
                "the run's arrays were not NumPy's: pass like=, an array of the library, device "
                "and type to go on with"
            )
        if name not in self._moved:
            self._moved[name] = like(self._array(name), self._place)
        return self._moved[name]


def _fields(value: Any) -> dict[str, Any]:
    """Return the fields of an object that may be saved; raise for any other."""
    cls = type(value)
    if _allowed(cls):
        if hasattr(cls, "saved_fields"):
            return value.saved_fields()
        if isinstance(value, Atoms):
            # a type is restored with the arrays
            return {k: None if k == "dtype" else v for k, v in vars(value).items()}
        if isinstance(value, tuple):
            return value._asdict()  # pyright: ignore[reportAttributeAccessIssue]
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
    raise TypeError(
        f"a checkpoint cannot hold {cls.__module__}.{cls.__qualname__}: it holds numbers, strings, "
        "NumPy arrays, lists, tuples and dictionaries of them, and wolfpack's own solvers, states, "
        "noise laws and vertices"
    )


def _allowed(cls: type) -> bool:
    ours = cls.__module__.partition(".")[0] == _PACKAGE
    named = issubclass(cls, tuple) and hasattr(cls, "_fields")
    saves = hasattr(cls, "saved_fields")
    return ours and (named or saves or dataclasses.is_dataclass(cls) or issubclass(cls, Atoms))


def _class(name: str) -> type:
    module, _, qualname = name.partition(":")
    if module.partition(".")[0] != _PACKAGE:
        raise ValueError(f"{name} is no class of {_PACKAGE}")
    try:
        cls: Any = importlib.import_module(module)
        for part in qualname.split("."):
            cls = getattr(cls, part)
    except (ImportError, AttributeError):
        raise ValueError(f"this version of {_PACKAGE} has no {name}") from None
    if not (isinstance(cls, type) and _allowed(cls)):
        raise ValueError(f"{name} is not a class that a checkpoint may hold")
    return cls


def _build(cls: type, fields: dict[str, Any], place: Any = None) -> Any:
    if issubclass(cls, Atoms):
        vertex = object.__new__(cls)
        vars(vertex).update(fields)
        if "dtype" in fields and any(map(is_foreign, fields.values())):
            vars(vertex)["dtype"] = place.dtype
        return vertex
    return cls(**fields)
