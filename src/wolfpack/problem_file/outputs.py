"""The files that a run leaves: answer, history, figure, page."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..engines._interrupts import interrupts_held
from ..loop import Result
from .build import Task

MAX_ENTRIES = 10_000
"""Larger answers are not repeated in result.json."""


@dataclass(frozen=True)
class Written:
    """The files, what result.json holds, and notes on what was left out and why."""

    summary: dict[str, Any]
    files: list[Path]
    notes: list[str]


def write(result: Result, task: Task, folder: Path, facts: dict[str, Any]) -> Written:
    """Write the results of a run, and ``facts`` such as versions, into an existing folder."""
    files = [folder / name for name in ("result.npz", "result.json", "history.csv")]
    written = Written(_summary(result, task, facts), files, [])
    try:
        # Until all files are there: drawing takes about a second, and an interrupt that meets the
        # import of an extension module would leave an error of another kind.
        with interrupts_held():
            result.save(files[0])
            text = json.dumps(written.summary, indent=2, allow_nan=False)
            files[1].write_text(text + "\n", encoding="utf-8")
            result.history.to_csv(files[2])
            log = result.get("engine")
            if log is not None:
                files += [folder / "engine.csv", folder / "timeline.csv"]
                log.to_csv(files[3])
                spans = log.timeline
                lines = [spans.dtype.names or (), *spans.tolist()]
                text = "\n".join(",".join(map(str, line)) for line in lines)
                files[4].write_text(text + "\n", encoding="utf-8")
            _draw(result, task, folder, written)
    except KeyboardInterrupt:
        written.notes.append("interrupted while the files were written, all of which are there")
    return written


def _summary(result: Result, task: Task, facts: dict[str, Any]) -> dict[str, Any]:
    large = math.prod(result.x.shape) > MAX_ENTRIES
    # A matrix of low rank may be too large to be made whole. The history is in history.csv.
    x = np.empty(0) if large else np.asarray(result.x)
    bare = Result({**result, "history": {}, "x": x}).to_dict()
    left_out = {"history", "x"} if large else {"history"}
    log = result.get("engine")
    return {
        "title": task.title,
        **{name: _finite(value) for name, value in bare.items() if name not in left_out},
        "shape": list(result.x.shape),
        "objective": type(task.objective).__name__,
        "set": repr(task.set),
        "engine": None if log is None else log.name,
        "problem": task.table,
        **facts,
    }


def _finite(value: object) -> object:
    """Return None for infinite numbers and NaN, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _draw(result: Result, task: Task, folder: Path, written: Written) -> None:
    from ..report import need_matplotlib
    from ..report.run_figure import draw
    from ..report.run_page import run_page

    if task.output.report:
        page = folder / "report.html"
        page.write_text(run_page(result, task.set, written.summary), encoding="utf-8")
        written.files.append(page)
    if not task.output.figure:
        return
    try:
        need_matplotlib()
    except ImportError as error:
        written.notes.append(str(error))
        return
    if draw(result.history, folder, "convergence"):
        written.files.extend(folder / f"convergence.{suffix}" for suffix in ("png", "svg"))
    else:
        written.notes.append("no figure: the run ended before there was a gap to draw")
