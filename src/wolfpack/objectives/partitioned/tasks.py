"""What can be asked of a block: vectors that are added over all blocks, or answers of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from ...arrays import inner, matmul
from .._base import Objective
from .._matrix import squares
from ..finite_sum import FiniteSum
from ..matrix_completion import MatrixCompletion
from ..regression import LeastSquares

HEAD = 3
"""Numbers before the gradient: the value; how many blocks are not finite, and the sum of which."""


class Task(NamedTuple):
    """What is asked.

    Attributes
    ----------
    kind : str
        A key of `SUMS` or `ANSWERS`.
    options : tuple of (str, object)
        All options of the loss.
    line, t : int, float
        Number of a line x + t d on which slopes are asked, and where.
    """

    kind: str
    options: tuple[tuple[str, Any], ...] = ()
    line: int = 0
    t: float = 0.0


class Constants(NamedTuple):
    """What a loss knows of itself: its smoothness, whether it is quadratic, has a Hessian."""

    smoothness: float | None
    quadratic: bool
    hessian: bool


class Line(NamedTuple):
    """Slopes on a line, for which A x and A d are kept."""

    number: int
    slope: Callable[[float], float]


Sum = Callable[[Any, int, Task, np.ndarray, Any, dict[int, Line]], np.ndarray]


def _head(value: float, i: int, finite: bool) -> list[float]:
    return [value, 0.0 if finite else 1.0, 0.0 if finite else float(i)]


def _evaluate(f: Objective, i: int, task: Task, x: np.ndarray, also: Any, lines: Any) -> np.ndarray:
    at = f.evaluate(x)
    out = np.empty(HEAD + x.size)
    out[HEAD:] = np.asarray(at.gradient).reshape(-1)
    value = float(at.value)
    out[:HEAD] = _head(value, i, math.isfinite(value) and bool(np.isfinite(out[HEAD:]).all()))
    return out


def _value(f: Objective, i: int, task: Task, x: np.ndarray, also: Any, lines: Any) -> np.ndarray:
    value = f.value(x)
    return np.array(_head(value, i, math.isfinite(value)))


def _slope(f: Objective, i: int, task: Task, x: Any, also: Any, lines: Any) -> np.ndarray:
    """Return the slope at x + t d, and 1 if the block has forgotten the line and must be told."""
    known = lines.get(i)
    if known is None or known.number != task.line:
        if also is None:
            return np.array([0.0, 1.0])
        known = lines[i] = Line(task.line, f.slope_along(x.copy(), also.copy()))
    return np.array([known.slope(task.t), 0.0])


def _linear_slope(f: Any, i: int, task: Task, x: Any, also: Any, lines: Any) -> np.ndarray:
    """Return the slope at x and the curvature along d, which tell all slopes of a quadratic."""
    slope = f.slope_along(x, also)(0.0)
    return np.array([slope, f.curvature(x, also)])


def _hessian(f: Any, i: int, task: Task, x: Any, also: Any, lines: Any) -> np.ndarray:
    if not isinstance(f, FiniteSum):
        return np.asarray(f.hessian_product(x, also)).reshape(-1)
    curvatures, change = f.curvatures(f.loss(matmul(f.A, x))[1]), matmul(f.A, also)
    assert curvatures is not None
    if curvatures.ndim == 3:
        bent = np.einsum("nij,nj->ni", curvatures, change)
    else:
        bent = curvatures * change
    return np.asarray(matmul(f._At, bent)).reshape(-1)


def _curvature(f: Any, i: int, task: Task, x: Any, also: Any, lines: Any) -> np.ndarray:
    return np.array([f.curvature(x, also)])


def _image_square(f: Any, i: int, task: Task, x: np.ndarray, also: Any, lines: Any) -> np.ndarray:
    z = f.A @ x
    return np.array([inner(z, z)])


def _gram(f: Any, i: int, task: Task, x: Any, also: Any, lines: Any) -> np.ndarray:
    product = f.A.T @ f.A
    return np.asarray(product.toarray() if issparse(product) else product).reshape(-1)


def _normal(f: Any, i: int, task: Task, x: np.ndarray, also: Any, lines: Any) -> np.ndarray:
    return np.array(matmul(f._At, matmul(f.A, x)))


def _columns(f: Any, i: int, task: Task, x: Any, also: Any, lines: Any) -> np.ndarray:
    if isinstance(f, MatrixCompletion):
        return np.asarray(f.pull_back(np.ones((1, len(f.rows))))).reshape(-1)
    return np.array(squares(f.A, 0))


SUMS: dict[str, Sum] = {
    "evaluate": _evaluate,
    "value": _value,
    "slope": _slope,
    "linear_slope": _linear_slope,
    "hessian": _hessian,
    "curvature": _curvature,
    "image_square": _image_square,
    "gram": _gram,
    "normal": _normal,
    "columns": _columns,
}
"""Tasks whose vectors are added over the blocks."""


def _facts(facts: Any, x: Any) -> Any:
    return facts


def _constants(f: Any, x: Any) -> Constants:
    linear = isinstance(f, FiniteSum)
    smoothness = f.loss_smoothness if linear or isinstance(f, MatrixCompletion) else None
    quadratic = isinstance(f, LeastSquares | MatrixCompletion)
    return Constants(smoothness, quadratic, quadratic or (linear and f.has_curvatures))


def _remark(f: Objective, x: np.ndarray) -> str:
    return f.remark(x)


ANSWERS: dict[str, Callable[[Any, Any], Any]] = {
    "facts": _facts,
    "constants": _constants,
    "remark": _remark,
}
"""Tasks that each block answers for itself."""
