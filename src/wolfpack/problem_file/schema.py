"""What a problem file may contain, and messages that help when it contains something else.

Every message is one line: the section and the key, what was found, what is allowed, and the closest
name that exists.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .. import objectives, sets
from ..problem.checks import as_whole
from ..readers import ProblemError, among, show

_OBJECTIVES = "LeastSquares Quadratic Logistic SquaredHinge Huber Quantile Poisson Multinomial "
_OBJECTIVES += "MatrixCompletion DOptimal AOptimal LogUtility"
OBJECTIVES = {name: getattr(objectives, name) for name in _OBJECTIVES.split()}
"""Objectives that data describe; the others need code."""

SETS = {
    name: getattr(sets, name)
    for name in sets.__all__
    if name not in ("Set", "Oracle", "MatroidBase", "from_cvxpy")
}
"""Sets that data describe; the others need code."""

_NAMES = {
    "array": "A A_eq A_ub V a b b_eq b_ub c center counts features labels matrix points returns "
    "targets values vector weights",
    "number or array": "Q cap capacity integrality lower offset upper",
    "number": "delta factor mip_gap order p q r radius time_limit total trace",
    "integer": "batch classes k",
    "integers": "columns rows",
    "boolean": "equality perfect warm_start",
    "text": "reduction solver",
    "label": "source target",
    "size": "n shape",
    "rows": "bounds demands edges graph group groups",
    "scales": "scales",
    "set": "K",
    "sets": "sets",
}
PARAMETERS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
"""The kind of each parameter of an objective or a set; equal names are of one kind everywhere."""

STOP = {
    "tol": "number",
    "rtol": "number",
    "max_rounds": "integer",
    "max_seconds": "number",
    "max_lmo": "integer",
    "max_passes": "number",
}
RUN = {
    "engine": "text",
    "device": "text",
    "seed": "integer",
    "record_every": "integer",
    "x0": "array",
    "oracle_timeout": "number",
    "stragglers": "text",
    "quorum": "number",
    "mode": "text",
    "staleness": "integer",
}
SOLVE = {
    "integer": "boolean",
    "integrality": "number or array",
    "branching": "text",
    "search": "text",
    "batch": "integer",
    "max_nodes": "integer",
}
OUTPUT = {"folder": "text", "figure": "boolean", "report": "boolean", "checkpoint": "boolean"}
SMOOTHING = {"noise": "text", "smoothing": "text", "sampling": "text", "block": "integer"}
SECTIONS = ("title", "data", "objective", "set", "method", "solve", "stop", "run", "output")

_WORDS = {
    "number": "a number",
    "integer": "an integer",
    "boolean": "true or false",
    "text": "a text",
    "label": "the name of a node, a text or an integer",
    "size": "a positive integer or a list of them",
    "columns": "a name, a number from 0 on, or a list of them",
}
_MAX_WORKERS = 256
_ENGINE = re.compile(r"(auto|local|mpi)|(threads|processes|dask|ray)(:(?P<count>[0-9]{1,6}))?")


def check_keys(
    section: str, table: object, known: Iterable[str], required: Iterable[str] = ()
) -> dict[str, Any]:
    """Return ``table`` if it is one, has only ``known`` keys and all ``required`` ones."""
    if not isinstance(table, dict):
        raise ProblemError(f"[{section}] must be a table of keys and values, found {show(table)}")
    known = list(known)
    for key in table:
        if key not in known:
            raise ProblemError(f"[{section}] has no key {key!r}; {among(key, known)}")
    missing = [key for key in required if key not in table]
    if missing:
        raise ProblemError(
            f"[{section}] lacks {', '.join(map(repr, missing))}; its keys are {', '.join(known)}"
        )
    return table


def check_value(section: str, key: str, value: Any, kind: str) -> Any:
    """Return a plain ``value`` if it is of the kind that ``key`` needs; 1e6 is an integer too."""
    if kind in ("integer", "size"):
        value = [_as_integer(n) for n in value] if isinstance(value, list) else _as_integer(value)
    integer, text = _is_integer(value), isinstance(value, str)
    several = value if isinstance(value, list) else [value]
    good = {
        "number": integer or isinstance(value, float),
        "integer": integer,
        "boolean": isinstance(value, bool),
        "text": text,
        "label": integer or text,
        "size": bool(several) and all(_is_integer(n) and n > 0 for n in several),
        "columns": bool(several)
        and all(isinstance(v, str) or (_is_integer(v) and v >= 0) for v in several),
    }[kind]
    if not good:
        raise ProblemError(f"[{section}] {key} must be {_WORDS[kind]}, found {show(value)}")
    return tuple(value) if isinstance(value, list) else value


def check_choice(section: str, key: str, value: object, known: Iterable[str]) -> str:
    """Return ``value`` if it is one of the ``known`` names."""
    names = list(known)
    if not isinstance(value, str) or value not in names:
        raise ProblemError(f"[{section}] {key}: no such name {show(value)}; {among(value, names)}")
    return value


def check_plain(section: str, table: object, kinds: Mapping[str, str]) -> dict[str, Any]:
    """Return a table of plain values, each of its kind."""
    given = check_keys(section, table, kinds)
    return {key: check_value(section, key, value, kinds[key]) for key, value in given.items()}


def check_engine(name: str) -> str:
    """Return the engine's name if a file may ask for it.

    Addresses of clusters are allowed on the command line only: a cluster may send code.
    """
    match = _ENGINE.fullmatch(name)
    if match is None:
        raise ProblemError(
            f"[run] engine must be auto, local, threads[:n], processes[:n], dask[:n], ray[:n] or "
            f"mpi, found {show(name)}; addresses of clusters can only be given with --engine"
        )
    if not 1 <= int(match["count"] or 1) <= _MAX_WORKERS:
        raise ProblemError(
            f"[run] engine must have between 1 and {_MAX_WORKERS} workers, found {show(name)}"
        )
    return name


def parameters_of(maker: Callable[..., Any]) -> tuple[list[str], list[str]]:
    """Return the names of a class's parameters that a file can give, and the required ones."""
    found = inspect.signature(maker).parameters.values()
    known = [p.name for p in found if p.name in PARAMETERS]
    required = [p.name for p in found if p.default is p.empty and p.name in PARAMETERS]
    return known, required


def _as_integer(value: object) -> object:
    """Return a float that is a whole number as an integer, anything else as it is."""
    found = as_whole(value) if isinstance(value, float) else None
    return value if found is None else found


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
