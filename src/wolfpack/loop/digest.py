"""Digests of the data of objects: arrays, sparse matrices, numbers and texts.

An object of this library is identified by its public attributes, and those of the objects in them.
Caches, constants that follow from the data (the attributes that its class lists in ``_derived``)
and the device of arrays do not count. Of an object of the user's, the attributes named like the
arguments of its constructor count. Reading takes about a second for each gigabyte.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Iterator
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from ..arrays import is_foreign, namespace, to_host
from ..objectives._matrix import is_sparse_tensor

_RTOL = 1e-9  # of numbers: constants such as log 2 differ in the last digits by machine
_CHUNK_BYTES = 2**24
_LONG = 16  # sequences of more numbers are compared as arrays
_PACKAGE = __name__.partition(".")[0]


class Data(NamedTuple):
    """One attribute of f, K, G or H.

    Attributes
    ----------
    kind : str
        What it is, in words.
    digest : str
        Of its arrays, integers and texts.
    numbers : tuple of float
        Its numbers, which are compared up to rounding.
    """

    kind: str
    digest: str
    numbers: tuple[float, ...]

    def difference(self, other: Data) -> str:
        """Return in words how ``other`` differs; an empty string if it does not."""
        if self.kind != other.kind:
            return f"were {self.kind}, now they are {other.kind}"
        if self.digest != other.digest or len(self.numbers) != len(other.numbers):
            return "have changed"
        for was, now in zip(self.numbers, other.numbers, strict=True):
            if not close(was, now, _RTOL * abs(was)):
                return f"have changed: {was:.12g} was there, now {now:.12g}"
        return ""


class DataReader:
    """Reads the data of an object; ``complete`` turns False when it meets what cannot be read."""

    def __init__(self) -> None:
        self.complete = True
        self._numbers: list[float] = []
        # Arrays that occur twice are read once. They are kept, so that no other gets their id.
        self._known: dict[int, tuple[object, bytes]] = {}
        self._within: set[int] = set()

    def data(self, value: object) -> Data:
        """Return what identifies an attribute."""
        self._numbers = []
        hashed = _hash()
        self._feed(value, hashed.update)
        return Data(_in_words(value), hashed.hexdigest(), tuple(self._numbers))

    def attributes(self, part: object) -> Iterator[tuple[str, object]]:
        """Return the attributes that hold the data of an object, by name."""
        kind = type(part)
        ours = _is_ours(kind)
        self.complete &= ours
        derived = {name for base in kind.__mro__ for name in vars(base).get("_derived", ())}
        for name, value in vars(part).items() if ours else ():
            cached = isinstance(getattr(kind, name, None), cached_property)
            if not (name.startswith("_") or cached or name in derived):
                yield name, value
            elif name.startswith("_") and callable(value) and not _is_ours(value):
                self.complete = False
        for name in inspect.signature(kind).parameters:
            if ours and not isinstance(getattr(kind, name, None), property):
                continue
            value = getattr(part, name, None)
            if not (value is None or inspect.ismethod(value) or name in derived):
                yield name, value

    def _feed(self, value: Any, update: Callable[[bytes], None]) -> None:
        """Hash a value, and collect its numbers."""
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, float):
            self._numbers.append(value)
            update(b"number;")
        elif value is None or isinstance(value, bool | int | str | bytes | complex):
            update(f"{value!r};".encode())
        elif isinstance(value, np.ndarray) or is_foreign(value) or issparse(value):
            update(self._array(value))
        elif isinstance(value, list | tuple):
            self._feed_sequence(value, update)
        elif isinstance(value, dict | set | frozenset):
            items: Any = value.items() if isinstance(value, dict) else value
            self._feed_sequence(sorted(items, key=repr), update)
        elif isinstance(value, type) and _is_ours(value):
            update(f"{value.__qualname__};".encode())
        else:
            self._feed_object(value, update)

    def _feed_sequence(
        self, values: list[Any] | tuple[Any, ...], update: Callable[[bytes], None]
    ) -> None:
        update(f"{len(values)}(".encode())
        kinds = set(map(type, values))
        if len(values) > _LONG and kinds in ({int}, {float}):
            update(self._array(np.array(values)))
        else:
            for value in values:
                self._feed(value, update)
        update(b")")

    def _feed_object(self, value: object, update: Callable[[bytes], None]) -> None:
        if not _is_ours(value):
            self.complete = False
            return
        update(f"{type(value).__qualname__}(".encode())
        if id(value) not in self._within:
            self._within.add(id(value))
            for name, attribute in sorted(self.attributes(value), key=itemgetter(0)):
                update(f"{name}=".encode())
                self._feed(attribute, update)
            self._within.remove(id(value))
        update(b")")

    def _array(self, array: Any) -> bytes:
        """Return the digest of a dense or sparse array of any library."""
        known = self._known.get(id(array))
        if known is None:
            hashed = _hash()
            parts, shape = _parts(array), tuple(array.shape)
            hashed.update(f"{'sparse' if len(parts) > 1 else 'dense'} {shape}".encode())
            for part in parts:
                _feed_dense(part, hashed.update)
            known = self._known[id(array)] = array, hashed.digest()
        return known[1]


def _parts(array: Any) -> list[Any]:
    """Return the arrays that hold an array: itself, or those of a sparse matrix by rows."""
    if issparse(array):
        matrix: Any = array.tocsr()
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return [matrix.indptr, matrix.indices, matrix.data]
    if is_sparse_tensor(array):
        array = array.to_sparse_csr()
        return [array.crow_indices(), array.col_indices(), array.values()]
    return [array]


def _feed_dense(array: Any, update: Callable[[Any], None]) -> None:
    """Hash an array in pieces; memory order, byte order and width of integers do not matter."""
    if "bfloat16" in str(array.dtype):  # NumPy has no such type; float32 holds it exactly
        xp = namespace(array)
        array = xp.astype(array, xp.float32)
    rows = array.reshape(1) if array.ndim == 0 else array
    width = 8 * math.prod(rows.shape[1:])
    step = max(1, _CHUNK_BYTES // max(1, width))
    for start in range(0, rows.shape[0], step):
        piece = np.asarray(to_host(rows[start : start + step, ...]))
        kind = piece.dtype.kind
        wanted = "<i8" if kind in "iu" else piece.dtype.newbyteorder("<")
        if start == 0:
            update(f"{np.dtype(wanted).str};".encode())
        if kind == "O":
            update(repr(piece.tolist()).encode())
        else:
            update(np.ascontiguousarray(piece, dtype=wanted).data)


def _hash() -> Any:
    return hashlib.blake2b(digest_size=16)


def _is_ours(value: object) -> bool:
    """Tell whether a class, or the class of an object, is this library's."""
    kind = value if isinstance(value, type) else type(value)
    return kind.__module__.partition(".")[0] == _PACKAGE


def _in_words(value: Any) -> str:
    """Return in a few words what an attribute is; the word "number" leaves its value open."""
    if isinstance(value, float | np.floating):
        return "a number"
    if issparse(value) or isinstance(value, np.ndarray) or is_foreign(value):
        dtype = getattr(value.dtype, "name", str(value.dtype)).rpartition(".")[2]
        dtype = "integers" if "int" in dtype else dtype  # their width depends on the machine
        return f"{dtype} of shape {tuple(value.shape)}"
    if value is None or isinstance(value, bool | int | str):
        return repr(value)[:40]
    return f"a {type(value).__qualname__}" if _is_ours(value) else "an object"


def close(a: float, b: float, error: float) -> bool:
    """Tell whether two numbers differ by at most ``error``; NaN is close to NaN."""
    return a == b or abs(a - b) <= error or (math.isnan(a) and math.isnan(b))
