"""What an engine did, round by round and worker by worker."""

from __future__ import annotations

import copyreg
import math
import operator
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..files import write_text
from ._protocol import Span, Stats
from ._rows import Rows

MAX_SPANS = 2**15
"""Number of spans that are kept: the last ones of a longer run."""

_TIMELINE = np.dtype(
    [(name, np.int64) for name in ("round", "worker", "block_first", "block_last")]
    + [("begin_s", np.float64), ("end_s", np.float64), ("status", "U10")]
)
_STATUSES = ("ok", "recomputed", "late", "failed")


class _Sums(NamedTuple):
    """Sums over the rounds since the history's last row."""

    recomputed: float = 0
    stragglers: float = 0
    traffic: float = 0
    busy: float = 0.0
    rounds: float = 0


@dataclass
class _Tally:
    """What one worker has done so far."""

    number: int
    first: float
    last: float
    blocks: int = 0
    busy: float = 0.0
    ends: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_STATUSES, 0))


class _Past(NamedTuple):
    """What a log of a file holds; the spans are columns."""

    alive: int
    began: float
    rows: np.ndarray
    spans: tuple[np.ndarray, ...]
    workers: dict[str, _Tally]


class Columns(Mapping[str, np.ndarray], dict[str, np.ndarray]):  # pyright: ignore
    """Numbers that are recorded row by row and read column by column.

    It is a dictionary because pandas makes a table of dictionaries only. Nothing is kept in the
    dictionary itself: `Mapping` gives all methods, from `__getitem__` and the names.
    """

    columns: tuple[str, ...]
    reals: tuple[str, ...]  # the columns of real numbers; the others hold integers
    rows: Rows

    def to_csv(self, path: str | Path) -> None:
        """Write the columns as a CSV file with a header."""
        lines = [",".join(self.columns)]
        lines += [",".join(map(repr, row)) for row in zip(*self._lists(), strict=True)]
        write_text(path, "\n".join(lines) + "\n")

    def __getitem__(self, column: str) -> np.ndarray:
        if column not in self.columns:
            raise KeyError(f"{column!r}; the columns are {', '.join(self.columns)}")
        found = self.rows.column(self.columns.index(column))
        return found if column in self.reals else found.astype(np.int64)

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        # what a dictionary adds, its items, would be computed for nothing
        return copyreg.__newobj__, (type(self),), self.__dict__  # pyright: ignore

    def _lists(self) -> list[list[float]]:
        return [self[column].tolist() for column in self.columns]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


class EngineLog(Columns):
    """What each round cost on an engine, as columns of equal length.

    ``round``; ``blocks`` of samples that were asked for; ``late`` blocks of earlier rounds that
    were used; the other columns are the fields of `Stats`.

    Attributes
    ----------
    name : str
        Name of the engine.
    reason : str
        Why ``engine="auto"`` has chosen it.
    alive : int
        Workers alive at the end of the last round.
    unrecorded : tuple
        Sums over the rounds since the history's last row: blocks recomputed, stragglers, bytes,
        ``busy``, and the number of these rounds.

    Examples
    --------
    ``res.engine["busy"]`` is an array; ``pandas.DataFrame(res.engine)`` is a table, and so are
    ``pandas.DataFrame(res.engine.timeline)`` and ``pandas.DataFrame(res.engine.per_worker)``.
    """

    columns = ("round", "blocks", "late", *(name for name in Stats._fields if name != "spans"))
    reals = ("busy",)

    def __init__(self, name: str, reason: str = "", past: _Past | None = None) -> None:
        self.name = name
        self.reason = reason
        self.alive = 0
        self.unrecorded: tuple[float, ...] = _Sums()
        self.rows = Rows(len(self.columns))
        self._spans: deque[Span] = deque(maxlen=MAX_SPANS)
        self._began = time.perf_counter()
        self._workers: dict[str, _Tally] = {}
        if past is not None:
            self.alive, self._began, self._workers = past.alive, past.began, dict(past.workers)
            self.rows = Rows.of(past.rows)
            columns = (column.tolist() for column in past.spans)
            self._spans.extend(map(Span._make, zip(*columns, strict=True)))

    def saved_fields(self) -> dict[str, Any]:
        """Return what a file keeps of the log: the arguments that make it again."""
        spans = tuple(map(np.array, zip(*self._spans, strict=True)))
        past = _Past(self.alive, self._began, self.rows.table(), spans, self._workers)
        return {"name": self.name, "reason": self.reason, "past": past}

    def add(self, k: int, blocks: int, late: int, stats: Stats) -> None:
        """Record a round."""
        self.alive = stats.workers
        self.rows.append((k, blocks, late, *stats[:-1]))
        traffic = stats.bytes_out + stats.bytes_in
        here = _Sums(stats.recomputed, stats.stragglers, traffic, stats.busy, rounds=1)
        self.unrecorded = _Sums._make(map(operator.add, self.unrecorded, here))
        self.add_spans(stats.spans)

    def recorded(self) -> tuple[float, ...]:
        """Return the history's columns on the rounds since the last call."""
        sums = _Sums._make(self.unrecorded)
        self.unrecorded = _Sums()
        busy = sums.busy / sums.rounds if sums.rounds else math.nan
        return self.alive, sums.recomputed, sums.stragglers, sums.traffic, busy

    def add_spans(self, spans: tuple[Span, ...]) -> None:
        """Record who computed what."""
        for span in spans:
            tally = self._workers.get(span.worker)
            if tally is None:
                tally = _Tally(len(self._workers), first=span.begin, last=span.begin)
                self._workers[span.worker] = tally
            tally.ends[span.status] += 1
            tally.last = max(tally.last, span.end)
            if span.status in ("ok", "recomputed"):
                tally.blocks += span.last - span.first + 1
                tally.busy += span.end - span.begin
            self._spans.append(span)

    @property
    def timeline(self) -> np.ndarray:
        """Who computed which blocks, from when to when: a structured array, a row per message.

        Fields ``round`` (-1: a certificate), ``worker`` (a row of `per_worker`), ``block_first``
        and ``block_last`` (both included), ``begin_s`` and ``end_s`` (seconds since the run began),
        ``status``: "ok"; "recomputed", also used, but in the place of a worker that was lost or
        slow; "late", after the round was over or another worker had answered; "failed", when the
        worker was lost or ended, or its oracle raised. The last 32,768 rows are kept.
        """
        w, zero = self._workers, self._began
        rows = [
            (s.round, w[s.worker].number, s.first, s.last, s.begin - zero, s.end - zero, s.status)
            for s in self._spans
        ]
        return np.array(rows, dtype=_TIMELINE)

    @property
    def per_worker(self) -> np.ndarray:
        """What each worker did in the whole run: a structured array, a row per worker.

        Fields ``worker``, ``name`` (process number, address, rank), ``blocks`` whose answers were
        used and ``busy_s``, the seconds that these took, ``first_s`` and ``last_s`` (when it began
        its first and ended its last message), and how many messages ended ``ok``, ``recomputed``,
        ``late`` and ``failed``.
        """
        zero, width = self._began, max(map(len, self._workers), default=1)
        kind: list[tuple[str, type | str]]
        kind = [("worker", np.int64), ("name", f"U{width}"), ("blocks", np.int64)]
        kind += [(name, np.float64) for name in ("busy_s", "first_s", "last_s")]
        kind += [(name, np.int64) for name in _STATUSES]
        rows = [
            (t.number, name, t.blocks, t.busy, t.first - zero, t.last - zero, *t.ends.values())
            for name, t in self._workers.items()
        ]
        return np.array(rows, dtype=kind)

    def __repr__(self) -> str:
        return f"EngineLog({self.name}: {len(self.rows)} rounds of {', '.join(self.columns)})"
