"""Copies of objectives on another device."""

from __future__ import annotations

import copy

import numpy as np

from ..arrays import describe, empty_on, host_dtype, is_foreign, like
from ..problem import CapabilityError
from ._base import LinearModel, Objective
from .classification import Multinomial
from .design import Design
from .function import Function
from .matrix_completion import MatrixCompletion


def on_device(f: Objective, device: str) -> Objective:
    """Return f with its arrays as PyTorch tensors on a device; f itself if they are there already.

    f has dense NumPy arrays, or is a callable, which is then called with tensors. The device has
    PyTorch's name: "cpu", "cuda", "cuda:1", "mps".
    """
    place = f.like
    wanted = empty_on(device, np.float64 if place is None else host_dtype(place))
    if is_foreign(place):
        if describe(place).split()[::3] != describe(wanted).split()[::3]:  # library and device
            raise ValueError(
                f"device={device!r} moves NumPy arrays, and the data of f are already "
                f"{describe(place)}: leave device out"
            )
        return f
    if isinstance(f, MatrixCompletion):
        return MatrixCompletion(f.rows, f.columns, like(f.values, wanted), f.shape, f.scales)
    if isinstance(f, Multinomial) and isinstance(f.A, np.ndarray):
        data = like(f.A, wanted), like(f.labels, wanted)
        return Multinomial(*data, f.classes, f.reduction, f.batch)
    moved = copy.copy(f)
    for name, value in vars(f).items():
        if isinstance(value, np.ndarray) and name != "_At":
            setattr(moved, name, like(value, wanted))
    data = f.A if isinstance(f, LinearModel) else place
    if not (data is None or isinstance(data, np.ndarray)):
        raise CapabilityError(
            f"device={device!r} moves dense arrays, and {type(f).__name__} has "
            f"{type(data).__name__}: give it PyTorch tensors on that device"
        )
    if isinstance(moved, LinearModel | Design):
        moved._At = moved.A.T
    moved.like, moved.checked = wanted, not isinstance(f, Function)
    return moved
