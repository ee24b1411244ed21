"""Values that no caller should pass, and some that are merely unusual.

A value is made from the valid one in whose place it stands, so that an array of complex numbers has
the right shape and nothing else is wrong with it. Makers return `SKIP` where they do not apply.
"""

from __future__ import annotations

import decimal
import fractions
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

SKIP = object()
"""What a maker returns that cannot spoil the value it was given."""


class Loud:
    """An object whose conversions all fail, and whose text is rude."""

    def __float__(self) -> float:
        raise RuntimeError("no float")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise RuntimeError("no array")

    def __repr__(self) -> str:
        return "<Loud>"


class Unhashable:
    """An object that compares with anything and cannot be a key."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return False


def constant(value: Any) -> Callable[[Any], Any]:
    """Return a maker that ignores the valid value."""
    return lambda valid: value


CONSTANTS: dict[str, Any] = {
    "None": None,
    "word": "no such thing",
    "empty word": "",
    "number as word": "3.5",
    "nan as word": "nan",
    "NUL": "a\0b",
    "surrogate": "\udcff",
    "bytes": b"\x00\xff",
    "words": ["a", "b", "c"],
    "mixed list": [1.0, "b", None],
    "ragged list": [[1.0, 2.0], [3.0]],
    "empty list": [],
    "nested empty list": [[]],
    "empty tuple": (),
    "dict": {"a": 1},
    "empty dict": {},
    "set": {1, 2},
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "-1": -1,
    "0": 0,
    "-0.0": -0.0,
    "0.5": 0.5,
    "-0.5": -0.5,
    "2": 2,
    "1e-320": 1e-320,
    "1e-300": 1e-300,
    "1e200": 1e200,
    "1e308": 1e308,
    "2**63": 2**63,
    "2**70": 2**70,
    "-2**70": -(2**70),
    "10**400": 10**400,
    "-10**400": -(10**400),
    "10**5000": 10**5000,
    "True": True,
    "False": False,
    "np.bool": np.bool_(True),
    "complex": 1.0 + 2.0j,
    "real complex": complex(1.0, 0.0),
    "np.complex64": np.complex64(1 + 1j),
    "np.int64": np.int64(2),
    "np.float32": np.float32(0.5),
    "np.nan": np.float64("nan"),
    "longdouble": np.longdouble("1e4000"),
    "datetime": np.datetime64("2026-01-01"),
    "Decimal": decimal.Decimal("1e500"),
    "Decimal nan": decimal.Decimal("sNaN"),
    "Fraction": fractions.Fraction(1, 3),
    "0-d array": np.array(0.5),
    "1-entry array": np.array([2.0]),
    "empty array": np.zeros(0),
    "empty matrix": np.zeros((0, 3)),
    "matrix of no columns": np.zeros((3, 0)),
    "32 axes": np.zeros((1,) * 32),
    "array of words": np.array(["a", "b"]),
    "array of bytes": np.array([b"a", b"b"]),
    "array of objects": np.array([object(), None], dtype=object),
    "array of datetimes": np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]"),
    "array of timedeltas": np.array([1, 2], dtype="timedelta64[s]"),
    "structured array": np.zeros(3, dtype=[("a", float), ("b", int)]),
    "record array": np.rec.array([(1.0, 2)], dtype=[("a", float), ("b", int)]),
    "void": np.zeros(2, dtype="V8"),
    "masked": np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False]),
    "masked scalar": np.ma.masked,
    "object": object(),
    "loud": Loud(),
    "unhashable": Unhashable(),
    "class": dict,
    "exception": ValueError("given as a value"),
    "function": len,
    "lambda of nothing": lambda: None,
    "lambda of anything": lambda *args, **kwargs: None,
    "returns words": lambda *args, **kwargs: "word",
    "returns nan": lambda *args, **kwargs: math.nan,
    "returns complex pair": lambda x, *rest: (1.0j, 1.0j * np.ones(np.shape(x))),
    "returns masked pair": lambda x, *rest: (1.0, np.ma.masked_array(x, mask=True)),
    "returns triple": lambda x, *rest: (1.0, x, x),
    "returns wrong shape": lambda x, *rest: (1.0, np.ones(7)),
    "returns sparse pair": lambda x, *rest: (1.0, sparse.coo_array(np.ones(np.shape(x)))),
    "returns matrix pair": lambda x, *rest: (1.0, np.ones(np.shape(x)).view(np.matrix)),
    "returns words pair": lambda x, *rest: ("a", ["b"]),
    "module": math,
    "slice": slice(0, 3),
    "Ellipsis": ...,
    "NotImplemented": NotImplemented,
    "range": range(3),
    "sparse": sparse.csr_array(np.eye(3)),
    "sparse of objects": sparse.coo_array(np.eye(3)).astype(bool),
    "sparse vector": sparse.coo_array(np.ones((1, 3))),
    "empty sparse": sparse.csr_array((0, 0)),
}

FRESH: dict[str, Callable[[], Any]] = {
    "generator": lambda: (float(i) for i in range(3)),
    "endless generator": lambda: iter(float, 1.0),
    "list in itself": lambda: _in_itself(),
    "random generator": lambda: np.random.default_rng(0),
}


def _in_itself() -> list[Any]:
    values: list[Any] = [1.0]
    values.append(values)
    return values


def _array(valid: Any) -> np.ndarray | None:
    """Return ``valid`` as an array of numbers, None if it is none."""
    if isinstance(valid, np.ndarray) and valid.dtype.kind in "fiu" and valid.ndim > 0:
        return valid
    if isinstance(valid, list | tuple) and valid and all(isinstance(v, float) for v in valid):
        return np.asarray(valid)
    return None


def of_array(change: Callable[[np.ndarray], Any]) -> Callable[[Any], Any]:
    """Return a maker that changes arrays of numbers and skips everything else."""

    def make(valid: Any) -> Any:
        array = _array(valid)
        return SKIP if array is None else change(array)

    return make


def _with(entry: Any) -> Callable[[np.ndarray], Any]:
    def change(array: np.ndarray) -> Any:
        wrong = np.array(array, dtype=float)
        wrong.reshape(-1)[-1] = entry
        return wrong

    return change


def _masked(array: np.ndarray) -> Any:
    mask = np.zeros(array.shape, dtype=bool)
    mask.reshape(-1)[0] = True
    return np.ma.masked_array(array, mask=mask)


def _class_of(valid: Any) -> Any:
    """Return the class of one of the library's objects, a usual slip."""
    return type(valid) if type(valid).__module__.startswith("wolfpack") else SKIP


def _negated(valid: Any) -> Any:
    number = isinstance(valid, int | float) and not isinstance(valid, bool)
    return -valid if number else SKIP


SPOILED: dict[str, Callable[[Any], Any]] = {
    "masked entries": of_array(_masked),
    "complex entries": of_array(lambda a: a * (1.0 + 1.0j)),
    "complex without imaginary part": of_array(lambda a: a.astype(complex)),
    "long entries": of_array(lambda a: a.astype(np.longdouble)),
    "half entries": of_array(lambda a: a.astype(np.float16)),
    "single entries": of_array(lambda a: a.astype(np.float32)),
    "objects": of_array(lambda a: a.astype(object)),
    "words": of_array(lambda a: a.astype(str)),
    "datetimes": of_array(lambda a: a.astype("int64").astype("datetime64[s]")),
    "integers": of_array(lambda a: np.rint(a).astype(np.int64)),
    "small unsigned integers": of_array(lambda a: np.rint(abs(a)).astype(np.uint8)),
    "booleans": of_array(lambda a: a > 0),
    "foreign byte order": of_array(lambda a: a.astype(">f8")),
    "a nan": of_array(_with(math.nan)),
    "an inf": of_array(_with(math.inf)),
    "a minus inf": of_array(_with(-math.inf)),
    "a huge entry": of_array(_with(1e308)),
    "a tiny entry": of_array(_with(1e-320)),
    "times 1e200": of_array(lambda a: a * 1e200),
    "times 1e160": of_array(lambda a: a * 1e160),
    "times 1e12": of_array(lambda a: a * 1e12),
    "times 1e-160": of_array(lambda a: a * 1e-160),
    "times 1e-300": of_array(lambda a: a * 1e-300),
    "all zero": of_array(lambda a: a * 0.0),
    "negative": of_array(lambda a: -abs(a) - 1.0),
    "one axis more": of_array(lambda a: a[None]),
    "one axis less": of_array(lambda a: a[0]),
    "flat": of_array(lambda a: a.reshape(-1)),
    "transposed": of_array(lambda a: a.T),
    "cut short": of_array(lambda a: a[:-1]),
    "empty": of_array(lambda a: a[:0]),
    "doubled": of_array(lambda a: np.concatenate([a, a])),
    "list": of_array(lambda a: a.tolist()),
    "list of words": of_array(lambda a: [str(entry) for entry in a.reshape(-1)]),
    "not contiguous": of_array(lambda a: np.repeat(a, 2, axis=0)[::2]),
    "backwards": of_array(lambda a: np.flip(a.copy())),
    "Fortran order": of_array(np.asfortranarray),
    "csr": of_array(lambda a: sparse.csr_array(np.atleast_2d(a)) if a.ndim < 3 else SKIP),
    "csc": of_array(lambda a: sparse.csc_array(np.atleast_2d(a)) if a.ndim < 3 else SKIP),
    "coo": of_array(lambda a: sparse.coo_array(np.atleast_2d(a)) if a.ndim < 3 else SKIP),
    "lil": of_array(lambda a: sparse.lil_array(np.atleast_2d(a)) if a.ndim < 3 else SKIP),
    "dok": of_array(lambda a: sparse.dok_array(np.atleast_2d(a)) if a.ndim < 3 else SKIP),
    "dia": of_array(lambda a: sparse.dia_array(np.atleast_2d(a)) if a.ndim < 3 else SKIP),
    "bsr": of_array(lambda a: sparse.bsr_array(np.atleast_2d(a)) if a.ndim < 3 else SKIP),
    "sparse complex": of_array(
        lambda a: sparse.csr_array(np.atleast_2d(a) * 1j) if a.ndim < 3 else SKIP
    ),
    "np.matrix": of_array(lambda a: np.asmatrix(a) if a.ndim < 3 else SKIP),
    "its class": _class_of,
    "negated": _negated,
}


def _read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


SPOILED["read-only"] = of_array(_read_only)

MAKERS: dict[str, Callable[[Any], Any]] = {
    **{name: constant(value) for name, value in CONSTANTS.items()},
    **{name: (lambda valid, make=make: make()) for name, make in FRESH.items()},
    **SPOILED,
}
"""All makers by name."""

NAMES = tuple(MAKERS)

NEVER = {
    "masked",
    "masked scalar",
    "masked entries",
    "complex",
    "np.complex64",
    "complex entries",
    "sparse complex",
    "long entries",
    "longdouble",
    "datetimes",
    "array of datetimes",
    "structured array",
    "a nan",
    "nan",
    "np.nan",
    "Decimal nan",
}
"""Values that nothing may take: to go on with them is to claim something that was not asked."""
