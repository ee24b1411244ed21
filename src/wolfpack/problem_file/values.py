"""From values of a problem file to arguments of objectives and sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array
from ..problem import Stacked
from . import schema
from .data import Data, as_numbers
from .schema import ProblemError, check_choice, check_keys, check_value

_SQUARE = ("Birkhoff", "Spectrahedron")
"""Sets of square matrices that are given by one side."""


@contextmanager
def section_named(section: str) -> Iterator[None]:
    """Turn what a constructor refuses into an error that names the section."""
    try:
        yield
    except ProblemError:
        raise
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        raise ProblemError(f"[{section}] {str(error) or type(error).__name__}") from None


class Reader:
    """Turns values of the file into arguments, with the arrays of ``[data]``."""

    def __init__(self, data: Data) -> None:
        self.data = data

    def make(
        self,
        section: str,
        table: object,
        known: Mapping[str, Callable[..., Any]],
        shape: tuple[int, ...] | None = None,
    ) -> Any:
        """Return the object that a table with the key ``type`` describes."""
        if not isinstance(table, dict) or "type" not in table:
            types, found = ", ".join(known), schema.show(table)
            wanted = "must be a table with the key 'type'"
            raise ProblemError(f"[{section}] {wanted}, found {found}; types: {types}")
        maker = known[check_choice(section, "type", table["type"], known)]
        names, required = schema.parameters_of(maker)
        given = {key: value for key, value in table.items() if key != "type"}
        size = next((key for key in ("n", "shape") if key in names), None)
        if size is not None and size not in given and shape is not None:  # the objective knows it
            single = len(shape) == 1 or table["type"] in _SQUARE
            given = {size: shape[0] if single else list(shape), **given}
        check_keys(section, given, names, required)
        kinds = schema.PARAMETERS
        values = {key: self.value(section, key, entry, kinds[key]) for key, entry in given.items()}
        several = values.pop("sets", ())
        with section_named(section):
            found = maker(*several, **values)
        if isinstance(found, Stacked):
            raise ProblemError(
                f"[{section}] has the data of {len(found)} problems, and a file holds one: use "
                "wolfpack.minimize_many for several"
            )
        return found

    def value(self, section: str, key: str, value: object, kind: str) -> Any:
        """Return the argument that a value of the file stands for."""
        if kind == "set":
            return self.make(f"{section}.{key}", value, schema.SETS)
        where, found = f"[{section}] {key}", schema.show(value)
        if kind == "sets":
            if not isinstance(value, list) or not value:
                raise ProblemError(f"{where} must be a list of sets, found {found}")
            return [
                self.make(f"{section}.{key}.{i}", part, schema.SETS) for i, part in enumerate(value)
            ]
        if kind == "scales":
            return self._scales(where, value)
        if kind == "rows":
            return self._rows(where, key, value)
        if kind in ("array", "integers", "number or array"):
            return self._array(where, value, kind)
        return check_value(section, key, value, kind)

    def _array(self, where: str, value: object, kind: str) -> Array:
        if isinstance(value, str | list):
            array = (
                self.data.get(value, where) if isinstance(value, str) else as_numbers(value, where)
            )
            return _whole(array, where) if kind == "integers" else array
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and kind == "number or array":
            return value
        allowed = "a number, " if kind == "number or array" else ""
        raise ProblemError(
            f"{where} must be {allowed}the name of an entry of [data] or a list of numbers, found "
            f"{schema.show(value)}"
        )

    def _scales(self, where: str, value: object) -> str | list[Array]:
        """Return "counts", or the scales of the rows and those of the columns."""
        if value == "counts":
            return "counts"
        if not isinstance(value, list) or len(value) != 2:
            raise ProblemError(
                f"{where} must be 'counts' or a list of two arrays, one number for each row and "
                f"one for each column, found {schema.show(value)}"
            )
        return [self._array(where, part, "array") for part in value]

    def _rows(self, where: str, key: str, value: object) -> Array | list[object]:
        """Return edges, demands, bounds or groups, which may have labels and rows of any length."""
        if isinstance(value, str):
            array = self.data.get(value, where)
            if sparse.issparse(array) or key == "bounds":
                return array
            if array.ndim == 2 and key != "groups":
                return [tuple(_label(v) for v in row) for row in array.tolist()]
            return _whole(array, where)
        if not isinstance(value, list):
            found = schema.show(value)
            raise ProblemError(
                f"{where} must be the name of an entry of [data] or a list, found {found}"
            )
        if key == "groups" and not any(isinstance(row, list) for row in value):
            return _whole(as_numbers(value, where), where)
        return [tuple(row) if isinstance(row, list) else row for row in value]


def _label(value: float) -> int | float:
    """Return a node's number, or an amount, as an integer where it is one."""
    return int(value) if float(value).is_integer() else value


def _whole(array: Array, what: str) -> Array:
    if not (array == np.floor(array)).all():
        raise ProblemError(f"{what} must hold integers")
    return array.astype(np.int64)
