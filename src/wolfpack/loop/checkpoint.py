"""Checkpoints: a run that stops, for whatever reason, continues to the same bits.

A checkpoint is an npz file without pickle: a JSON header and the arrays that it names. It holds the
state as a step left it, before the loop has looked at it; a resumed run enters the loop at that
point and does what the undisturbed run would have done. The file is written under a temporary name,
flushed to the disk and renamed; the generation before is kept beside it with the suffix ``.1``.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np

from ..arrays import Array
from ..engines._rows import Rows
from ..files import replacing
from ..problem.checks import as_path, checked, count, nonnegative, optional
from ..problem.warn import warn_user
from .codec import Decoder, Encoder
from .history import History
from .monitor import Monitor
from .tracker import Tracker

SCHEMA = "wolfpack-checkpoint/4"
"""The number changes whenever states or the header change; files with another one are refused."""


class OtherLayout(ValueError):
    """A checkpoint of another version of wolfpack."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written, or an older generation had to be read."""


@checked(rounds=optional(count), seconds=optional(nonnegative))
@dataclass(frozen=True)
class Checkpoint:
    """Where and how often to save a run.

    Parameters
    ----------
    path : str or Path
        The file. The checkpoint before the last one is kept as ``path`` with ``.1`` added.
    rounds : int, optional
        Save every so many rounds.
    seconds : float, optional
        Save when so many seconds have passed since the last time; 30 by default, unless ``rounds``
        is given. A run is also saved when it ends, whatever ends it.
    """

    path: str | os.PathLike[str]
    rounds: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", as_path(self.path, "checkpoint"))
        if self.rounds is None and self.seconds is None:
            object.__setattr__(self, "seconds", 30.0)


@dataclass(frozen=True)
class Snapshot:
    """A run between two rounds.

    The first ``length`` of the history's ``rows`` belong to the rounds before.
    """

    state: Any  # the solver's, as its step left it
    best: dict[str, Any]  # the tracker's best point, bounds, seconds and unrecorded engine work
    rows: Rows
    length: int
    counts: dict[str, Any]  # the fields of the problem's `Counts`
    monitor: dict[str, Any]  # what the run had to remark on L and convexity
    # directions that the user's own oracle was asked last, and the minima that its answers claim
    asked: tuple[tuple[Array, float], ...] = ()

    @property
    def history(self) -> History:
        """The columns recorded in the rounds before."""
        return History(self.rows[: self.length])

    @classmethod
    def take(cls, state: Any, tracker: Tracker, monitor: Monitor) -> Snapshot:
        """Return what is needed to continue from here; rows are shared, being only appended."""
        names = ("x", "at", "fun", "best_bound", "convex", "seconds")
        names += ("solver_seconds", "unrecorded")
        best = {name: getattr(tracker, name) for name in names}
        best["slope"] = tracker.problem.counts.slope
        seen = {"remarks": list(monitor.remarks), "seen": sorted(monitor.seen)}
        rows, counts = tracker.history.rows, tracker.problem.counts.saved()
        return cls(state, best, rows, len(rows), counts, seen, monitor.asked)

    def restore(self, tracker: Tracker, monitor: Monitor) -> Any:
        """Put everything back into a new run's objects and return the state.

        Files of earlier versions have the solver's share of the time alone.
        """
        tracker.solver_seconds = self.best["seconds"]
        best = dict(self.best)
        tracker.problem.counts.slope = best.pop("slope", None)
        for name, value in best.items():
            setattr(tracker, name, value)
        for name, value in self.counts.items():
            setattr(tracker.problem.counts, name, value)
        tracker.history = self.history
        monitor.remarks, monitor.seen = list(self.monitor["remarks"]), set(self.monitor["seen"])
        return self.state


@dataclass
class Saver:
    """Writes a run's checkpoints when they are due, and one at the end."""

    checkpoint: Checkpoint
    config: Any = None  # what else is needed to build the run again; `Encoder` must accept it
    _last: Snapshot | None = None
    _written: bool = False
    _warned: bool = False
    _clock: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        Encoder().encode(self.config)  # tells before the run what cannot be saved

    def mark(self, state: Any, tracker: Tracker, monitor: Monitor) -> None:
        """Note a round's state, and write it if a checkpoint is due."""
        self._last, self._written = Snapshot.take(state, tracker, monitor), False
        rounds, seconds = self.checkpoint.rounds, self.checkpoint.seconds
        due = rounds is not None and state.k > 0 and state.k % rounds == 0
        if due or (seconds is not None and time.monotonic() - self._clock >= seconds):
            self.write()

    def write(self) -> None:
        """Write the last state that was noted; a disk that fails is a warning, not a lost run."""
        if self._last is None or self._written:
            return
        try:
            save(self.checkpoint.path, self._last, self.config)
        except OSError as error:
            if not self._warned:
                text = f"no checkpoint could be written, the run goes on without: {error}"
                warn_user(text, CheckpointWarning)
            self._warned = True
        self._written, self._clock = True, time.monotonic()


def save(path: str | os.PathLike[str], snapshot: Snapshot, config: Any) -> None:
    """Write a checkpoint, keeping the one before as ``path`` + ".1"."""
    path, encoder = Path(path), Encoder()
    header = {
        "schema": SCHEMA,
        "versions": _versions(),
        "k": snapshot.state.k,
        "config": encoder.encode(config),
        "state": encoder.encode(snapshot.state),
        "best": encoder.encode(snapshot.best),
        "history": encoder.encode(dict(snapshot.history)),
        "counts": snapshot.counts,
        "monitor": snapshot.monitor,
        "asked": encoder.encode(snapshot.asked),
    }
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with replacing(path, keep=older(path)) as file:
        np.savez(file, allow_pickle=False, header=text, **encoder.arrays)


def read(path: str | os.PathLike[str], place: Any = None) -> tuple[Any, Snapshot]:
    """Return a checkpoint's config and snapshot; fall back on the generation before.

    Arrays of other libraries than NumPy come back like the array ``place``.

    Raises
    ------
    FileNotFoundError
        If neither generation exists.
    ValueError
        If the file is no checkpoint, or is damaged and so is the one before.
    """
    path = Path(as_path(path, "path"))
    try:
        return _read(path, place)
    except OtherLayout:
        raise
    except (ValueError, FileNotFoundError) as error:
        if not older(path).exists():
            raise
        found = _read(older(path), place)
        text = f"{error}; continuing from the generation before, {older(path)}"
        warn_user(text, CheckpointWarning)
        return found


def older(path: str | os.PathLike[str]) -> Path:
    """Return where the checkpoint before the last one is kept."""
    return Path(path).with_name(Path(path).name + ".1")


def _read(path: Path, place: Any) -> tuple[Any, Snapshot]:
    try:
        with path.open("rb") as file:
            if not is_zipfile(file):  # NumPy would advise to load it unsafely
                raise ValueError("it is no archive of arrays, or its end or beginning is damaged")
            file.seek(0)
            data = np.load(file, allow_pickle=False)
            header = json.loads(_header(data))
            decoder = Decoder(data, place)
            config = decoder.decode(header["config"])
            rows = History.from_columns(decoder.decode(header["history"])).rows
            state, best = decoder.decode(header["state"]), decoder.decode(header["best"])
            counts, remarks = header["counts"], header["monitor"]
            asked = decoder.decode(header.get("asked", {"tuple": []}))
            snapshot = Snapshot(state, best, rows, len(rows), counts, remarks, asked)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no checkpoint {path}") from None
    except OtherLayout as error:
        raise OtherLayout(f"{path} {error}") from None
    except Exception as error:  # a damaged zip file fails in ways that its reader does not list
        raise ValueError(f"{path} is not a readable checkpoint: {error}") from None
    return config, snapshot


def _header(data: Mapping[str, Any]) -> str:
    if not isinstance(data, np.lib.npyio.NpzFile) or "header" not in data.files:
        raise ValueError("it has no header")
    raw = data["header"]
    if raw.dtype != np.uint8:
        raise ValueError("its header is that of another kind of file")
    text = bytes(raw).decode()
    schema = json.loads(text).get("schema")
    if schema != SCHEMA and str(schema).startswith("wolfpack-checkpoint/"):
        raise OtherLayout(
            f"was written by another version of wolfpack (its schema is {schema!r}, this version "
            f"reads {SCHEMA!r}): resume it with that version, or start the run again"
        )
    if schema != SCHEMA:
        raise ValueError(f"its schema is {schema!r}, this version reads {SCHEMA!r}")
    return text


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    versions = {"python": platform.python_version(), "numpy": np.__version__}
    with contextlib.suppress(PackageNotFoundError):
        versions["wolfpack"] = version("wolfpack")
    return versions
