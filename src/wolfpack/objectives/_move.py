"""Objectives whose data are NumPy's, moved to a device."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..arrays import describe, empty_on, host_dtype, is_foreign, like
from ..problem import CapabilityError
from ._base import Objective
from .function import Function
from .matrix_completion import MatrixCompletion
from .multinomial import Multinomial


def on_device(f: Objective, device: str) -> Objective:
    """Return f with its arrays as PyTorch's on a device; f itself if they are there already.

    Parameters
    ----------
    f : Objective
        With dense NumPy arrays, or a callable, which is then asked with PyTorch's arrays.
    device : str
        A device in PyTorch's words: "cpu", "cuda", "cuda:1", "mps".
    """
    place: Any = getattr(f, "like", None)
    wanted = empty_on(device, np.float64 if place is None else host_dtype(place))
    if is_foreign(place):
        if describe(place).split()[::3] != describe(wanted).split()[::3]:  # library and device
            raise ValueError(
                f"device={device!r} moves NumPy's arrays, and the data of f are of another place "
                "already: leave device out"
            )
        return f
    if isinstance(f, MatrixCompletion):
        return MatrixCompletion(f.rows, f.columns, like(f.values, wanted), f.shape)  # pyright: ignore
    if isinstance(f, Multinomial) and isinstance(f.A, np.ndarray):
        data = like(f.A, wanted), like(f.labels, wanted)
        return Multinomial(*data, f.classes, f.reduction, f.batch)
    moved: Any = copy.copy(f)
    for name, value in vars(f).items():
        if isinstance(value, np.ndarray) and name != "_At":
            setattr(moved, name, like(value, wanted))
    if isinstance(getattr(f, "A", None), np.ndarray):
        moved._At = moved.A.T
    elif hasattr(f, "A") or not (place is None or isinstance(place, np.ndarray)):
        raise CapabilityError(
            f"device={device!r} moves dense arrays, and {type(f).__name__} has "
            f"{type(getattr(f, 'A', place)).__name__}: give it PyTorch's arrays of that device"
        )
    moved.like, moved.checked = wanted, not isinstance(f, Function)
    return moved
