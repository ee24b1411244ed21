"""Objectives of a problem file whose data lie in many files: ``data = "rows-*.parquet"``."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from ..objectives import Multinomial, Objective, Partitioned
from ..objectives.partitioned import NAMES, Loading, as_parts, side_by_side
from . import schema
from .data import Access
from .schema import ProblemError, check_choice, check_keys, check_plain, show
from .values import section_named

PARTS = {
    "target": "text",
    "memory": "integer",
    "rows": "integer",
    "check": "text",
    "reduction": "text",
}
"""Keys beside ``data``, and their kinds. Options of the loss come on top."""


def in_blocks(table: object) -> bool:
    """Tell whether a table describes an objective by the files of its blocks."""
    return isinstance(table, dict) and "data" in table


def make_partitioned(
    section: str, table: dict[str, Any], home: Path, access: Access
) -> Partitioned:
    """Return the objective of a table with the key ``data``; no file is read."""
    losses = {kind.__name__: kind for kind in NAMES.values()}
    name = check_choice(section, "type", table.get("type"), losses)
    plain = ("number", "integer", "boolean", "size")
    names, _ = schema.parameters_of(losses[name])
    options = {key: schema.PARAMETERS[key] for key in names if schema.PARAMETERS[key] in plain}
    kinds = PARTS | options
    given = dict(check_keys(section, table, ["type", "data", *kinds]))
    files = _files(section, given.pop("data"), home, access)
    del given["type"]
    values = check_plain(section, given, kinds)
    with section_named(section):
        content = values.get("check") == "content"
        loading = Loading(values.get("rows"), values.get("target"), content)
        parts = as_parts(files, loading._replace(most_bytes=access.most_bytes))
        return Partitioned(losses[name], parts, **values)


def _files(section: str, data: object, home: Path, access: Access) -> list[Any]:
    """Return the files of each block: one, or several side by side for a list of patterns."""
    given: list[Any] = data if isinstance(data, list) else [data]
    patterns = [pattern for pattern in given if isinstance(pattern, str)]
    if not patterns or len(patterns) < len(given):
        raise ProblemError(
            f'[{section}] data must be a file name or a pattern such as "rows-*.npz", or a list '
            f'of patterns side by side such as ["A-*.npy", "b-*.npy"], found {show(data)}'
        )
    try:
        columns = [access.find_all(pattern, home) for pattern in patterns]
        for path in itertools.chain(*columns):
            access.check_bytes(path.stat().st_size)
    except ProblemError as error:
        raise ProblemError(f"[{section}] data: {error}") from None
    if len(columns) == 1:
        return list(columns[0])
    with section_named(section):
        return list(side_by_side(patterns, columns))


def shape_of(objective: Objective) -> tuple[int, ...] | None:
    """Return the shape of x; of an objective in blocks, from a look at the first one alone."""
    if not isinstance(objective, Partitioned):
        return objective.shape
    loss = objective.loss
    if loss.kind is Multinomial and "classes" not in loss.options:
        return objective.shape  # the largest label of all blocks tells the classes
    return loss.shape(objective.data.glance(0), loss.options)


def files_bytes(objective: Objective) -> int:
    """Return the bytes of the files of an objective in blocks, 0 for others."""
    parts = objective.parts if isinstance(objective, Partitioned) else ()
    return sum(part.nbytes or 0 for part in parts)
