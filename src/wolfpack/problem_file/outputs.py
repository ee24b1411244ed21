"""The files that a run leaves: answer, history, figure, page."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..engines._interrupts import interrupts_held
from ..files import staging, write_text
from ..loop import Result
from .build import Task

MAX_ENTRIES = 10_000
"""Larger answers are not repeated in result.json."""


CHECKPOINT = "run.ckpt"
NAMES = ("run.json", CHECKPOINT, f"{CHECKPOINT}.1", "result.npz", "result.json", "history.csv")
NAMES += ("engine.csv", "timeline.csv", "convergence.png", "convergence.svg", "report.html")
"""Names of all files that a run may leave in its folder."""


@dataclass(frozen=True)
class Written:
    """The files, what result.json holds, and notes on what was left out and why."""

    summary: dict[str, Any]
    files: list[Path]
    notes: list[str]


class EarlierFiles:
    """The files that earlier runs left in a folder, to be removed once new ones are there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known = {name: found for name in NAMES if (found := _identity(folder / name))}

    @property
    def names(self) -> list[str]:
        """Names of the files."""
        return list(self._known)

    def remove(self) -> None:
        """Remove those that no new file has replaced, also under another of the names."""
        for name in NAMES:
            if _identity(self._folder / name) in self._known.values():
                (self._folder / name).unlink(missing_ok=True)


def write(
    result: Result,
    task: Task,
    folder: Path,
    facts: dict[str, Any],
    earlier: EarlierFiles | None = None,
) -> Written:
    """Write the results of a run, and ``facts`` such as versions, into an existing folder.

    The numbers replace those of an earlier run all at once. Then the rest of the ``earlier`` files
    is removed, and the page and the figure are made.
    """
    written = Written(_summary(result, task, facts), [], [])
    try:
        # Until all files are there: drawing takes about a second, and an interrupt that meets the
        # import of an extension module would leave an error of another kind.
        with interrupts_held():
            with staging(folder) as stage:
                _write_numbers(result, stage, written)
            written.files[:] = [folder / path.name for path in written.files]
            if earlier is not None:
                earlier.remove()
            with staging(folder) as stage:
                drawn = _draw(result, task, stage, written)
            written.files.extend(folder / path.name for path in drawn)
    except KeyboardInterrupt:
        written.notes.append("interrupted while the files were written, all of which are there")
    return written


def _write_numbers(result: Result, stage: Path, written: Written) -> None:
    files = [stage / name for name in ("result.npz", "result.json", "history.csv")]
    result.save(files[0])
    text = json.dumps(written.summary, indent=2, allow_nan=False)
    write_text(files[1], text + "\n")
    result.history.to_csv(files[2])
    log = result.get("engine")
    if log is not None:
        files += [stage / "engine.csv", stage / "timeline.csv"]
        log.to_csv(files[3])
        spans = log.timeline
        lines = [spans.dtype.names or (), *spans.tolist()]
        write_text(files[4], "\n".join(",".join(map(str, line)) for line in lines) + "\n")
    written.files.extend(files)


def _identity(path: Path) -> tuple[int, int, int] | None:
    """Return what tells a file from all others, None if there is no such file."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns


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


def _draw(result: Result, task: Task, stage: Path, written: Written) -> list[Path]:
    """Write the page and the figure, where they are wanted and possible; return the files."""
    from ..report import need_matplotlib
    from ..report.run_figure import draw
    from ..report.run_page import run_page

    files: list[Path] = []
    if task.output.report:
        files.append(stage / "report.html")
        write_text(files[0], run_page(result, task.set, written.summary))
    if not task.output.figure:
        return files
    try:
        need_matplotlib()
    except ImportError as error:
        written.notes.append(str(error))
        return files
    if draw(result.history, stage, "convergence"):
        files += [stage / f"convergence.{suffix}" for suffix in ("png", "svg")]
    else:
        written.notes.append("no figure: the run ended before there was a gap to draw")
    return files
