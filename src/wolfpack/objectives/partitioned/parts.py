"""Blocks of rows as a user names them: arrays, files, functions, blocks of Dask, objects of Ray.

A part knows its name, and can be loaded where it is computed. The driver never loads a part that
is not in its memory already.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from ...arrays import ArgumentError
from ...problem.checks import shown
from ._files import FilePart, Stamp, row_counts
from ._part import Part, size_of, split_frame
from ._patterns import matching, side_by_side

BLOCK_BYTES = 2**26
"""Arrays that can be cut are cut into blocks of about this size."""


class ArrayPart(Part):
    """Arrays of this process."""

    def __init__(self, data: tuple[Any, ...], name: str = "") -> None:
        self.data = tuple(map(_fixed, data))
        self.name = name
        self.nbytes = sum(size_of(array) for array in data)
        self.resident = not any(isinstance(array, np.memmap) for array in data)

    def load(self) -> Any:
        return self.data


def _fixed(array: Any) -> Any:
    """Return an array that nobody writes to: a copy, but of read-only ones and mapped files."""
    if issparse(array):
        return array.copy()
    if not isinstance(array, np.ndarray) or isinstance(array, np.memmap):
        return array
    if array.flags.writeable:
        array = array.copy(order="K")
        array.flags.writeable = False
    return array


class CallPart(Part):
    """What ``loader(*arguments)`` returns."""

    def __init__(self, loader: Callable[..., Any], arguments: Any) -> None:
        self.loader = loader
        self.arguments = arguments if isinstance(arguments, tuple) else (arguments,)
        words = ", ".join(map(shown, self.arguments))
        self.name = f"{getattr(loader, '__name__', 'loader')}({words})"

    def load(self) -> Any:
        return self.loader(*self.arguments)


class DaskPart(Part):
    """Delayed arrays of Dask, computed by the worker that needs them."""

    def __init__(self, data: tuple[Any, ...], name: str, target: str | None) -> None:
        self._data = data
        self.name = name
        self.target = target
        # names of Dask's keys tell what they compute, and identify the data
        self.keys = tuple(str(part.key) for part in data)

    def load(self) -> Any:
        from dask.base import compute

        return split_frame(compute(*self._data, scheduler="synchronous"), self.target)


class RayPart(Part):
    """An object in Ray's store."""

    def __init__(self, reference: Any, target: str | None) -> None:
        self._reference = reference
        self.target = target
        self.key = reference.hex()
        self.name = f"object {self.key[:12]} of Ray"

    def load(self) -> Any:
        import ray

        return split_frame(ray.get(self._reference), self.target)


class Loading(NamedTuple):
    """How parts are read and cut.

    Attributes
    ----------
    rows : int or None
        Rows per block of arrays that are cut, None for blocks of about 64 MB.
    target : str or None
        The column of tables that holds the targets.
    content : bool
        Whether files are identified by their contents instead of their times.
    plain : bool
        Whether blocks are pairs of arrays; those of a user's function may be anything.
    most_bytes : int or None
        What an array of a file may take in memory, None for no limit.
    """

    rows: int | None = None
    target: str | None = None
    content: bool = False
    plain: bool = True
    most_bytes: int | None = None


def as_parts(given: Any, loading: Loading) -> tuple[Part, ...]:
    """Return the blocks that a user has named, in their order."""
    if isinstance(given, str | os.PathLike):
        found = _files(given, loading)
    elif _is_dask(given) or (isinstance(given, tuple) and given and all(map(_is_dask, given))):
        found = _dask_blocks(given, loading)
    elif _is_ray_dataset(given):
        dataset: Any = given
        found = [RayPart(reference, loading.target) for reference in dataset.to_pandas_refs()]
    elif isinstance(given, Iterable) and not isinstance(given, np.ndarray | dict | bytes):
        found = [part for entry in given for part in _parts_of(entry, loading)]
    else:
        raise ArgumentError(f"parts must be {_ALLOWED}, found {shown(given)}")
    if not found:
        raise ArgumentError("parts must not be empty: name at least one block")
    for i, part in enumerate(found):
        part.name = part.name or f"part {i}"
    return tuple(found)


_ALLOWED = (
    "a list of pairs of arrays, a pattern of file names, pairs of patterns, Dask arrays, objects "
    "of Ray or pairs (loader, arguments)"
)


def _parts_of(entry: Any, loading: Loading) -> Sequence[Part]:
    """Return the blocks of one entry of a user's list."""
    if isinstance(entry, Part):
        return [entry]
    if isinstance(entry, str | os.PathLike):
        return _files(entry, loading)
    if _is_ray(entry):
        return [RayPart(entry, loading.target)]
    if _is_dask(entry):
        return _dask_blocks(entry, loading)
    if not (isinstance(entry, tuple | list) and entry):
        if loading.plain:
            raise ArgumentError(f"parts must be {_ALLOWED}, found {shown(entry)} among them")
        return [ArrayPart((entry,))]
    if callable(entry[0]) and len(entry) == 2:
        return [CallPart(entry[0], entry[1])]
    if all(isinstance(word, str | os.PathLike) for word in entry):
        return _paired_files(entry, loading)
    if all(map(_is_dask, entry)):
        return _dask_blocks(tuple(entry), loading)
    if not loading.plain:
        return [ArrayPart(tuple(entry))]
    return _array_parts(tuple(entry), loading)


def _array_parts(data: tuple[Any, ...], loading: Loading) -> list[Part]:
    """Return arrays as blocks, cut where they are large or where the user says so."""
    for array in data:
        if not (hasattr(array, "shape") or isinstance(array, list | tuple)):
            raise ArgumentError(f"parts must be {_ALLOWED}, found {shown(array)} in a pair")
    data = tuple(np.asarray(array) if isinstance(array, list | tuple) else array for array in data)
    counts = {array.shape[0] if array.ndim else 0 for array in data}
    step = _rows_per_block(sum(map(size_of, data)), max(counts), loading)
    if len(counts) > 1 or max(counts) <= step:
        return [ArrayPart(data)]
    n = counts.pop()
    whole = tuple(array.tocsr() if issparse(array) else array for array in data)
    return [
        ArrayPart(tuple(array[first : first + step] for array in whole))
        for first in range(0, n, step)
    ]


def _rows_per_block(nbytes: int, n: int, loading: Loading) -> int:
    if loading.rows is not None:
        return loading.rows
    pieces = -(-nbytes // BLOCK_BYTES)
    return max(1, -(-n // max(1, pieces)))


def _files(pattern: str | os.PathLike[str], loading: Loading) -> list[Part]:
    return [_file_part((path,), loading) for path in matching(pattern)]


def _paired_files(entry: Sequence[str | os.PathLike[str]], loading: Loading) -> list[Part]:
    """Return the blocks of patterns side by side: matrices, then targets."""
    patterns = [os.fspath(pattern) for pattern in entry]
    parts: list[Part] = []
    for paths in side_by_side(patterns, [matching(pattern) for pattern in patterns]):
        counts = row_counts(paths)
        if counts is None:
            parts.append(_file_part(paths, loading))
            continue
        nbytes, n = sum(path.stat().st_size for path in paths), counts
        step = _rows_per_block(nbytes, n, loading)
        for first in range(0, max(n, 1), step):
            rows = None if step >= n else range(first, min(n, first + step))
            parts.append(_file_part(paths, loading, rows))
    return parts


def _file_part(paths: tuple[Path, ...], loading: Loading, rows: range | None = None) -> Part:
    stamps = tuple(Stamp.of(path, loading.content) for path in paths)
    return FilePart(paths, stamps, loading.target, rows, loading.most_bytes)


def _is_dask(value: Any) -> bool:
    return type(value).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(
        value, "to_delayed"
    )


def _is_ray(value: Any) -> bool:
    return type(value).__module__.split(".")[0] == "ray" and type(value).__name__ == "ObjectRef"


def _is_ray_dataset(value: Any) -> bool:
    return type(value).__module__.startswith("ray.data") and hasattr(value, "to_pandas_refs")


def _dask_blocks(given: Any, loading: Loading) -> list[Part]:
    """Return the row blocks of arrays or data frames of Dask, side by side."""
    columns: list[list[Any]] = []
    for value in given if isinstance(given, tuple) else (given,):
        delayed = value.to_delayed()
        if isinstance(delayed, np.ndarray):
            if delayed.ndim == 2 and delayed.shape[1] > 1:
                raise ArgumentError(
                    f"parts: a row of a Dask array must lie in one chunk, found {delayed.shape[1]} "
                    "chunks across: rechunk({1: -1})"
                )
            delayed = delayed.reshape(-1).tolist()
        columns.append(list(delayed))
    if len({len(column) for column in columns}) > 1:
        counts = ", ".join(str(len(column)) for column in columns)
        raise ArgumentError(f"parts: Dask arrays must have the same row chunks, found {counts}")
    return [
        DaskPart(tuple(pieces), f"chunk {i} of Dask", loading.target)
        for i, pieces in enumerate(zip(*columns, strict=True))
    ]
