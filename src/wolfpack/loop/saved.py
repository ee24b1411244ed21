"""Results as files: npz archives without pickle.

The numbers and texts are JSON under ``header``, the columns of the history are arrays under
``history_<name>``, and the answer is an array ``x``, or its factors ``U``, ``S`` and ``V``. What is
not a number or a text, such as the plan, the engine's log and the solver's state, is written under
``more`` as checkpoints write it (`wolfpack.loop.codec`), with its arrays beside it. The results of
several starts are results of their own, with names that begin with ``start0_`` and so on.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import LowRank, is_foreign, to_host
from .codec import Decoder, Encoder
from .history import History
from .status import Status

NUMBERS = ("fun", "gap", "lower_bound", "nit", "nfev", "njev", "nlmo", "seconds", "solver_seconds")
TEXTS = ("success", "status", "message", "method")
EXTRAS = ("stationarity", "nodes", "open_nodes", "beta", "mu", "nu", "sigma2", "neighbourhood")
EXTRAS += ("passes", "distance", "distance_bound", "offset", "meet")
EXTRAS += ("expected_gap", "probable_gap", "confidence")
"""Numbers that only some runs have."""

_OTHERS = ("plan", "scale", "engine", "priced", "y", "normal", "pair", "state")


def header_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers and texts of a result as plain Python values."""
    names = [*NUMBERS, *TEXTS, *EXTRAS]
    found = {name: _plain(result[name]) for name in names if name in result}
    # of an intermediate result, which a callback saves, there is no status yet
    status = found["status"]
    return found | {"success": bool(found["success"]), "status": status and str(status)}


def parts_of(x: Any) -> dict[str, np.ndarray]:
    """Return an answer as arrays: one that is kept in factors stays so, however large it is."""
    if isinstance(x, LowRank):
        x = x.on_host()
        return {"U": x.U, "S": x.s, "V": x.V}
    return {"x": np.asarray(to_host(x))}


def as_columns(result: Mapping[str, Any], state: bool) -> dict[str, Any]:
    """Return the arrays of a file that holds a result, with or without the solver's state."""
    columns: dict[str, Any] = _under("history_", dict(result["history"].items()))
    columns |= parts_of(result["x"])
    encoder = Encoder()
    trees: dict[str, Any] = {}
    for name in _OTHERS:
        if name in result and (state or name != "state"):
            value = result[name]
            if name == "priced" and isinstance(value, tuple):  # duals that nothing could compute
                continue
            with contextlib.suppress(TypeError):  # of objects of the user's own classes
                trees[name] = encoder.encode(to_host(value) if is_foreign(value) else value)
    columns |= _under("more_", encoder.arrays)
    for i, start in enumerate(result.get("starts", ())):
        columns |= _under(f"start{i}_", as_columns(start, state))
    columns["more"] = np.array(json.dumps(trees))
    columns["header"] = np.array(json.dumps(header_of(result)))
    return columns


def fields_from(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the result that is in an open archive."""
    fields = json.loads(str(data["header"]))
    if fields["status"] is not None:
        fields["status"] = Status(fields["status"])
    # Files of earlier versions have the solver's share alone.
    fields.setdefault("solver_seconds", fields["seconds"])
    fields["history"] = History.from_columns(_below("history_", data))
    x = LowRank(data["U"], data["S"], data["V"]) if "U" in data else data["x"]
    fields |= {"x": x, "state": None, "engine": None}
    if "more" not in data:  # a file of an earlier version
        return fields
    # arrays of other libraries than NumPy come back as NumPy's, as x does
    place = np.zeros(0, dtype=x.dtype) if x.dtype.kind == "f" else np.zeros(0)
    decoder = Decoder(_below("more_", data), place)
    fields |= {name: decoder.decode(tree) for name, tree in json.loads(str(data["more"])).items()}
    starts: list[dict[str, Any]] = []
    while f"start{len(starts)}_header" in data:
        starts.append(fields_from(_below(f"start{len(starts)}_", data)))
    return fields | ({"starts": starts} if starts else {})


def _under(prefix: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    return {prefix + name: column for name, column in columns.items()}


def _below(prefix: str, data: Mapping[str, Any]) -> dict[str, Any]:
    return {name[len(prefix) :]: data[name] for name in data if name.startswith(prefix)}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
