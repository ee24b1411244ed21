"""What `minimize_many` returns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array, to_host
from ..files import replacing
from ..problem.checks import as_path, as_whole, shown
from .history import History
from .result import Result
from .status import Status

_NUMBERS = ("fun", "gap", "lower_bound", "nit", "nfev", "njev", "nlmo")


@dataclass
class ManyResult:
    """The answers to B problems, each with its own certificate.

    Attributes
    ----------
    x : array (B, *shape)
        The best feasible points found, in the library and on the device of the data.
    fun, gap, lower_bound : array (B,)
        Values, certified gaps and lower bounds, as for one problem (`wolfpack.Result`).
    status : array (B,) of Status
        Why each problem ended.
    nit, nfev, njev, nlmo : array (B,) of int
        Rounds, values, gradients and linear minima of each problem.
    method : str
        The method that solved them.
    message : str
        How they were solved, at once or one by one, and how many of them ended how.
    seconds : float
        Time since the call.

    Notes
    -----
    ``res[i]`` is the `wolfpack.Result` of problem i, with a history of one row; ``len(res)`` is B.
    """

    x: Array
    fun: np.ndarray
    gap: np.ndarray
    lower_bound: np.ndarray
    status: np.ndarray
    nit: np.ndarray
    nfev: np.ndarray
    njev: np.ndarray
    nlmo: np.ndarray
    method: str
    message: str
    seconds: float

    @property
    def success(self) -> np.ndarray:
        """Whether each gap is within the tolerance."""
        return self.status == Status.CONVERGED

    def __len__(self) -> int:
        return len(self.fun)

    def __getitem__(self, i: int) -> Result:
        number = as_whole(i)
        if number is None or not -len(self) <= number < len(self):
            raise IndexError(
                f"res[i] needs an integer i from 0 to {len(self) - 1}, found {shown(i)}"
            )
        numbers: dict[str, Any] = {name: getattr(self, name)[number].item() for name in _NUMBERS}
        status = self.status[number]
        row = (numbers["nit"], self.seconds, numbers["fun"], numbers["lower_bound"])
        row += (numbers["gap"], *(numbers[name] for name in ("nfev", "njev", "nlmo")))
        return Result(
            x=self.x[number, ...],
            **numbers,
            success=status is Status.CONVERGED,
            status=status,
            message=status.advice,
            method=self.method,
            seconds=self.seconds,
            solver_seconds=self.seconds,
            history=History([(*row, np.nan, 0.0)]),
            state=None,
            engine=None,
        )

    def __iter__(self) -> Iterator[Result]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"ManyResult({self.message})"

    def save(self, path: str | Path) -> Path:
        """Write the answers to an npz file, without pickle; `wolfpack.load` reads it.

        Returns
        -------
        Path
            The file written; the suffix ``.npz`` is added when it is missing.
        """
        path = Path(as_path(path, "path"))
        path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
        columns: dict[str, Any] = {name: getattr(self, name) for name in _NUMBERS}
        columns["x"] = np.asarray(to_host(self.x))
        columns["status"] = np.array([str(status) for status in self.status])
        header = {name: getattr(self, name) for name in ("method", "message", "seconds")}
        with replacing(path) as file:
            np.savez(file, many=np.array(json.dumps(header)), **columns)
        return path

    @classmethod
    def read(cls, data: Any) -> ManyResult:
        """Return what `save` wrote, from an open archive."""
        found = {field.name: data[field.name] for field in fields(cls) if field.name in data.files}
        found["status"] = as_statuses([Status(str(name)) for name in found["status"]])
        return cls(**found, **json.loads(str(data["many"])))


def as_statuses(statuses: list[Status]) -> np.ndarray:
    """Return statuses as an array of objects."""
    array = np.empty(len(statuses), dtype=object)
    array[:] = statuses
    return array
