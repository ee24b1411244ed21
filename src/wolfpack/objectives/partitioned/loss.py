"""What is summed over the blocks: a loss of the library, or a function of a block."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from ...arrays import ArgumentError, as_float_array, as_plain
from ...problem.checks import as_shape, shown
from .._base import Objective
from ..classification import Logistic, Multinomial, SquaredHinge
from ..finite_sum import FiniteSum, SignLoss
from ..function import Function
from ..matrix_completion import MatrixCompletion
from ..regression import Huber, LeastSquares, Poisson, Quantile
from ._part import size_of

_KINDS: tuple[type[Objective], ...] = (
    LeastSquares,
    Logistic,
    SquaredHinge,
    Huber,
    Quantile,
    Poisson,
    Multinomial,
    MatrixCompletion,
)
NAMES = {
    "least_squares": LeastSquares,
    "logistic": Logistic,
    "squared_hinge": SquaredHinge,
    "huber": Huber,
    "quantile": Quantile,
    "poisson": Poisson,
    "multinomial": Multinomial,
    "matrix_completion": MatrixCompletion,
}
"""Losses by name."""


class Facts(NamedTuple):
    """What is known of a block once it has been read.

    Attributes
    ----------
    rows, columns : int
        Observations, and length of a row.
    outputs : tuple of int
        Shape of the targets of a row.
    low, high : float
        The smallest and the largest target, NaN where there are none.
    nbytes : int
        Memory that the data take.
    """

    rows: int
    columns: int = 0
    outputs: tuple[int, ...] = ()
    low: float = math.nan
    high: float = math.nan
    nbytes: int = 0


class BlockLoss:
    """A loss of one block of data, as a sum over its rows.

    Attributes
    ----------
    kind : type or None
        The class of the library's or of a user's objective, None for a function of a block.
    function : callable or None
        ``(x, block) -> (value, gradient)``.
    options : dict
        Further arguments of the class.
    mean : bool
        Whether the whole sum is divided by the number of rows.
    """

    def __init__(
        self,
        kind: type[Objective] | None,
        function: Callable[..., Any] | None,
        options: dict[str, Any],
        mean: bool = False,
    ) -> None:
        self.kind = kind
        self.function = function
        self.options = options
        self.mean = mean

    @property
    def name(self) -> str:
        """What messages and ``repr`` call it."""
        known: Any = self.kind or self.function
        return getattr(known, "__name__", type(known).__name__)

    def facts(self, data: Any) -> Facts:
        """Return what is known of a block; raise ValueError if it cannot be one."""
        if self.kind is None:
            block = data[0] if isinstance(data, tuple) and len(data) == 1 else data
            parts = block if isinstance(block, tuple) else (block,)
            return Facts(1, nbytes=sum(size_of(array) for array in parts))
        if self.kind is MatrixCompletion:
            return self._facts_of_entries(data)
        A, b = self._pair(data)
        rows, columns = A.shape
        if rows == 0:
            raise ValueError("is empty: it has no rows")
        if not b.shape or b.shape[0] != rows:
            raise ValueError(
                f"has {rows} rows and targets of shape {tuple(b.shape)}: one for each row is needed"
            )
        numbers = b if b.dtype.kind in "iufb" else np.full(1, math.nan)
        low, high = float(numbers.min()), float(numbers.max())
        nbytes = size_of(A) + size_of(b)
        return Facts(rows, columns, tuple(b.shape[1:]), low, high, nbytes)

    def _facts_of_entries(self, data: Any) -> Facts:
        if not isinstance(data, tuple) or len(data) != 3:
            raise ValueError("must have three arrays: rows, columns and values")
        values = np.asarray(data[2])
        if not values.size:
            raise ValueError("is empty: it has no entries")
        return Facts(len(values), nbytes=sum(size_of(np.asarray(array)) for array in data))

    def _pair(self, data: Any) -> tuple[Any, Any]:
        """Return the matrix and the targets of a block."""
        if not isinstance(data, tuple | list) or len(data) != 2:
            found = f"{len(data)} things" if isinstance(data, tuple | list) else shown(data)
            raise ValueError(f"must be a pair of arrays (A, b), found {found}")
        A, b = data
        A = A if issparse(A) else np.asarray(as_plain(A, "A"))
        if len(A.shape) != 2:
            raise ValueError(f"must have a matrix first, found shape {tuple(A.shape)}")
        return A, as_plain(b, "b")

    def shape(self, facts: Facts, options: dict[str, Any]) -> tuple[int, ...] | None:
        """Return the shape of x; None where a function of a block takes any."""
        if self.kind is None or self.kind is MatrixCompletion:
            return options.get("shape")
        if self.kind is Multinomial:
            return facts.columns, options["classes"]
        return facts.columns, *facts.outputs

    def completed(self, facts: list[Facts]) -> dict[str, Any]:
        """Return all options: those that the loss would take from its targets are of all blocks."""
        options = dict(self.options)
        if self.kind is Poisson and options.get("cap") is None:
            options["cap"] = math.log(max(max(fact.high for fact in facts), 1.0)) + 1.0
        if self.kind is Multinomial and options.get("classes") is None:
            options["classes"] = int(max(fact.high for fact in facts)) + 1
        return options

    def disagreement(self, facts: list[Facts]) -> tuple[int, str] | None:
        """Return the first block that does not go with the others and why, None if all do."""
        first = facts[0]
        for i, fact in enumerate(facts):
            if fact.columns != first.columns:
                return i, f"has {fact.columns} columns, and block 0 has {first.columns}"
            if fact.outputs != first.outputs:
                return i, (
                    f"has targets of shape (n, {', '.join(map(str, fact.outputs))}) and those of "
                    f"block 0 are (n, {', '.join(map(str, first.outputs))})"
                )
        if self.kind is not None and issubclass(self.kind, SignLoss):
            signs = [i for i, fact in enumerate(facts) if fact.low == -1.0]
            bits = [i for i, fact in enumerate(facts) if fact.low == 0.0]
            if signs and bits:
                i = max(signs[0], bits[0])
                words = {True: "0/1", False: "-1/+1"}
                return i, (
                    f"has labels {words[i in bits]}, and block {min(signs[0], bits[0])} has "
                    f"{words[i in signs]}: use the same in all"
                )
        return None

    def objective(self, data: Any, options: dict[str, Any]) -> Objective:
        """Return the loss of a block as an objective, a sum over its rows."""
        if self.kind is None:
            fun: Any = self.function
            block = data[0] if isinstance(data, tuple) and len(data) == 1 else data
            return Function(lambda x: fun(x, block), shape=options.get("shape"))
        if self.kind is MatrixCompletion:
            return MatrixCompletion(*data, **options)
        kind: Any = self.kind
        A, b = self._pair(data)
        if not issparse(A):
            A = _unwritten(np.asarray(as_float_array(A, "A")).astype(np.float64, copy=False))
        elif A.dtype != np.float64:
            A = A.astype(np.float64)
        return kind(A, b, reduction="sum", **options)


def _unwritten(array: np.ndarray) -> np.ndarray:
    """Return an array as one that nobody writes to, so that it is not copied once more."""
    view = array.view()
    view.flags.writeable = False
    return view


def as_loss(loss: Any, reduction: str | None, options: dict[str, Any]) -> BlockLoss:
    """Return the loss that a user has named, with its options."""
    if isinstance(loss, str):
        if loss not in NAMES:
            raise ArgumentError(f"loss must be one of {', '.join(NAMES)}, found {shown(loss)}")
        loss = NAMES[loss]
    if not isinstance(loss, type):
        if isinstance(loss, Objective) or not callable(loss):
            raise ArgumentError(
                "loss must be a name, a class of objectives or a function of x and a block, found "
                f"{shown(loss)}"
            )
        _known(options, ["shape"], "a function")
        if options.get("shape") is not None:
            options["shape"] = as_shape(options["shape"], "shape")
        return BlockLoss(None, loss, options, reduction == "mean")
    parameters = inspect.signature(loss).parameters
    if loss is MatrixCompletion:
        _known(options, ["shape"], loss.__name__)
        if "shape" not in options:
            raise ArgumentError("shape must be given for matrix completion, found none")
        return BlockLoss(loss, None, options, reduction == "mean")
    if not (issubclass(loss, FiniteSum) and "reduction" in parameters):
        raise ArgumentError(
            f"loss must be summed over rows, as {', '.join(NAMES)} are, found {shown(loss)}"
        )
    names = [name for name in parameters if name not in ("reduction", "batch")][2:]
    _known(options, names, loss.__name__)
    default = parameters["reduction"].default
    return BlockLoss(loss, None, options, (reduction or default) == "mean")


def _known(options: dict[str, Any], names: list[str], of: str) -> None:
    unknown = [name for name in options if name not in names]
    if unknown:
        allowed = ", ".join(names) or "none"
        raise ArgumentError(f"the loss {of} has no option {unknown[0]!r}; it has {allowed}")
