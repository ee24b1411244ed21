"""What a run returns."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import OptimizeResult

from ..arrays import ArgumentError, Array
from ..engines import EngineLog
from ..files import replacing, write_text
from ..problem import CapabilityError
from ..problem.checks import as_path, count, flag, instance, optional, shown
from ..problem.html import as_table
from .active import Mixture, active_of, reduced
from .history import History
from .saved import as_columns, fields_from, header_of, parts_of
from .status import Status


class Result(OptimizeResult):
    """The answer and its certificate, with SciPy's names.

    Attributes
    ----------
    x : array
        The best feasible point found.
    fun : float
        f(x).
    lower_bound : float
        A number proved to be at most the minimum.
    gap : float
        ``fun - lower_bound``: a certificate that f(x) is within ``gap`` of the minimum.
    success : bool
        Whether the gap is within the tolerance.
    status : Status
        Why the run ended.
    message : str
        The same in words, with advice.
    nit, nfev, njev, nlmo : int
        Rounds, values, gradients and oracle calls.
    seconds : float
        Time since the call: the user's clock. A resumed run adds the time of the run before.
    solver_seconds : float
        The solver's own share of it, without preparation, certificates, history and callbacks.
    history : History
        Columns recorded along the run.
    state : object
        The solver's last state.
    stationarity : float
        Only with ``convex=False``: the Frank-Wolfe gap at x, the most that a first-order step could
        promise. ``gap`` is infinite then, and ``success`` is True if this is within the tolerance.
    starts : list of Result
        Only with ``starts``: the result of each start, in the order of the starts.
    engine : EngineLog or None
        What the engine did, round by round and worker by worker.
    plan : Plan
        Only with ``method="auto"``: the methods that were used and the rounds in which they took
        turns. ``minimize(f, K, method=res.plan)`` repeats the run to the same bits.
    duals : dict or None
        By how much the minimum rises with each right-hand side of K's constraints: `Set.prices` at
        the gradient of the best bound. None for sets without prices.
    y, distance, distance_bound, meet, normal, offset
        Only of `between`, whose docstring explains them.
    passes : float
        Only with random gradients: the observations that were read, over the size of the data.
    expected_gap : float
        Only with random gradients that are drawn independently: a number whose mean bounds the mean
        of f(x) - min f from above. It proves nothing about this run; ``gap`` does where it is
        finite.
    probable_gap : float
        Beside it: f(x) - min f is at most this with probability ``confidence``, if ``sigma2``, the
        variance of a round's gradient, is right.
    nodes, open_nodes : int
        Only of `minimize_integer`: the nodes of the tree that were solved, and that are left.
    """

    x: Array
    fun: float
    lower_bound: float
    gap: float
    success: bool
    status: Status
    message: str
    method: str
    nit: int
    nfev: int
    njev: int
    nlmo: int
    seconds: float
    solver_seconds: float
    history: History
    state: Any
    engine: EngineLog | None
    # only with method="auto" or a plan
    plan: Any
    # only with convex=False
    stationarity: float
    starts: list[Result]
    # K and the slope of the best bound, or the prices at it, for sets that have them
    priced: Any
    # only of minimize_integer
    nodes: int
    open_nodes: int
    # only of between; pair is x and y as one vector, of which the vertices are those of a product
    y: Array
    distance: float
    distance_bound: float
    meet: bool | None
    normal: Array
    offset: float
    pair: Array
    # only of minimize with random gradients
    expected_gap: float
    probable_gap: float
    confidence: float
    # only of minimize_composite; sigma2 and passes of minimize with random gradients as well
    beta: float
    mu: float
    nu: float
    sigma2: float
    neighbourhood: float
    passes: float
    scale: Array

    def __repr__(self) -> str:
        # a state holds several arrays of x's size, which no one wants to read
        hidden = ("state", "starts", "priced", "pair")
        return repr(OptimizeResult({k: v for k, v in self.items() if k not in hidden}))

    def _repr_html_(self) -> str:
        """Return the main numbers as a small table, for notebooks."""
        gap = f"{float(self.gap):.3g}" if math.isfinite(self.gap) else "none"
        rows = {
            "status": f"{self.status}",
            "f(x)": f"{float(self.fun):.9g}",
            "certified gap": gap,
            "lower bound": f"{float(self.lower_bound):.9g}",
            "rounds": f"{self.nit:,}",
            "oracle calls": f"{self.nlmo:,}",
            "seconds": f"{self.seconds:.3g}",
            "method": str(self.get("method", "")),
        }
        return f"{as_table(rows)}<p>{escape(str(self.message))}</p>"

    @property
    def duals(self) -> dict[str, Any] | None:
        """The prices of K's constraints: how fast the minimum rises with each right-hand side.

        ``res.duals["radius"]`` of a ball, ``["rows"]`` and ``["columns"]`` of a transport polytope,
        ``["nodes"]`` of flows, ``["b_ub"]``, ``["b_eq"]``, ``["lower"]`` and ``["upper"]`` of a
        linear program. They are computed when they are first asked for, by one call of the oracle
        or one linear program, at the slope of the best lower bound: at the minimum that is the
        gradient. None where K has no prices or nothing was proved. See `Set.prices` for the signs.
        """
        priced = self.get("priced")
        if isinstance(priced, tuple):
            K, slope = priced
            self["priced"] = priced = K.prices(slope)
        return priced

    @property
    def active(self) -> Mixture | None:
        """The vertices that the method keeps and their weights, None where it keeps none.

        ``res.active.vertices`` and ``res.active.weights`` make up the last iterate, and
        ``res.active.distance`` is how far that is from ``res.x``, which is the best iterate.
        """
        return active_of(self.get("state"), self.get("pair", self.x))

    def decompose(self, max_vertices: int | None = None) -> Mixture:
        """Return ``x`` as a mixture of few vertices: at most d + 1 in dimension d.

        Parameters
        ----------
        max_vertices : int, optional
            A smaller limit. The mixture is then near to ``x`` at the ``distance`` that it names.

        Raises
        ------
        CapabilityError
            If the method kept no vertices.
        """
        limit = optional(count)(max_vertices, "max_vertices")
        found = self.active
        if found is None:
            raise CapabilityError(
                f"method {self.get('method')!r} kept no vertices, so that x cannot be decomposed: "
                "use 'corrective', 'bpcg', 'away', 'pairwise' or 'fcfw'"
            )
        return reduced(found, self.get("pair", self.x), limit)

    def plot(self, x: str = "round", *, kind: str = "gap", ax: Any = None) -> Any:
        """Draw the certified gap, or the band that holds the minimum, and return Matplotlib's axes.

        Parameters
        ----------
        x : {"round", "seconds", "nlmo", "njev"}
            The horizontal axis: rounds (of `minimize_integer` nodes), seconds, oracle calls or
            gradients.
        kind : {"gap", "band", "tree"}
            The certified gap, or the best value and the best lower bound, or these two and the
            open nodes of `minimize_integer`.
        ax : Axes, optional
            Where to draw; new axes by default.
        """
        return _drawing("curves").plot(self, x, kind=kind, ax=ax)

    def report(self, path: str | Path, K: Any = None, title: str = "A run of wolfpack") -> Path:
        """Write a page on the run, one HTML file that needs no other, and return its path.

        With the set ``K``, answers that are flows are drawn on their graph.
        """
        path = Path(as_path(path, "path"))
        title = instance(str, "a text")(title, "title")
        if not (K is None or hasattr(K, "lmo")) or isinstance(K, type):
            raise ArgumentError(f"K must be the set of the run or None, found {shown(K)}")
        write_text(path, _drawing("run_page").run_page(_in_floats(self), K, {"title": title}))
        return path

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the solver's state, as plain numbers, strings and lists.

        An ``x`` of low rank is ``{"U": ..., "S": ..., "V": ...}``, the matrix U diag(S) V'. A plan
        is the text that describes it, an engine's log the name of the engine. Fractions are texts
        such as "1/3".
        """
        x = {name: part.tolist() for name, part in parts_of(self.x).items()}
        history = {name: column.tolist() for name, column in self.history.items()}
        found = header_of(self) | {"x": x.get("x", x), "history": history}
        if _is_rational(self):
            found["x"] = self.x.astype(str).tolist()
            found |= {name: str(self[name]) for name in ("fun", "lower_bound", "gap")}
        if "plan" in self:
            found["plan"] = str(self.plan)
        for name in ("y", "normal"):
            if name in self:
                found[name] = parts_of(self[name])["x"].tolist()
        if "scale" in self:
            found["scale"] = parts_of(self.scale)["x"].tolist()
        if "starts" in self:
            found["starts"] = [start.to_dict() for start in self.starts]
        log = self.get("engine")
        return found | {"engine": None if log is None else log.name}

    def save(self, path: str | Path, state: bool = True) -> Path:
        """Write the result to an npz file, without pickle; `wolfpack.load` reads it.

        The file holds ``x``, or for an answer of low rank its factors ``U``, ``S`` and ``V`` with x
        = U diag(S) V', each column of the history under ``history_<name>``, ``header``, the numbers
        and texts as JSON, and ``more``, the plan, the engine's log, the duals, the results of
        several starts and the solver's state. It appears when it is complete: a full disk leaves
        the old file.

        Parameters
        ----------
        path : str or Path
            Where to write; the suffix ``.npz`` is added when it is missing.
        state : bool
            Whether to write the solver's state, which may be several times as large as ``x`` and
            which ``active`` and ``decompose`` need. States of your own solvers are left out.

        Returns
        -------
        Path
            The file written.
        """
        flag(state, "state")
        path = Path(as_path(path, "path"))
        if _is_rational(self):
            raise CapabilityError(
                "x is an array of Fractions, which npz files cannot hold without pickle: save the "
                "texts of its entries, list(map(str, result.x.flat))"
            )
        path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
        with contextlib.suppress(RuntimeError):  # prices that cannot be computed are left out
            _ = self.duals
        with replacing(path) as file:
            np.savez(file, **as_columns(self, state))
        return path


Callback: TypeAlias = Callable[[Result], object]
"""Called with the intermediate result after each recorded round. StopIteration ends the run."""


def _is_rational(result: Result) -> bool:
    """Tell whether a result is one of exact arithmetic."""
    return isinstance(result.x, np.ndarray) and result.x.dtype.kind == "O"


def _in_floats(result: Result) -> Result:
    """Return a result with its Fractions as the nearest floats; one of floats as it is."""
    if not _is_rational(result):
        return result
    numbers = {name: float(result[name]) for name in ("fun", "lower_bound", "gap")}
    return Result({**result, **numbers, "x": result.x.astype(np.float64)})


def _drawing(module: str) -> Any:
    """Return a module of `wolfpack.report`, which is built on results and imported on use."""
    return import_module(f"{__name__.partition('.')[0]}.report.{module}")


def load(path: str | Path) -> Any:
    """Read what `Result.save` or `ManyResult.save` has written.

    An ``x`` that was saved in factors is a matrix of low rank again, with attributes ``U``, ``s``
    and ``V``; ``np.asarray(result.x)`` makes it whole.

    Raises
    ------
    ValueError
        If the file is not such a result.
    """
    path = Path(as_path(path, "path"))
    try:
        with np.load(path, allow_pickle=False) as data:
            if "many" in data.files:
                from .many_result import ManyResult  # which imports this module

                return ManyResult.read(data)
            fields = fields_from(data)
            if "starts" in fields:
                fields["starts"] = [Result(start) for start in fields["starts"]]
            return Result(fields)
    except OSError as error:
        raise type(error)(
            f"there is no result at path {shown(str(path))}: {error.strerror}"
        ) from None
    except Exception as error:  # a damaged archive fails in ways that its reader does not list
        raise ValueError(f"path {shown(str(path))} is not a saved result: {error}") from None
