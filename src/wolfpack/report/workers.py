"""Drawings of what workers did: who computed when, what was slow, lost or computed again.

A worker is a row, time goes to the right.
"""

from __future__ import annotations

import numpy as np

from ..engines import EngineLog
from .drawing import Drawing, element, label, line, picture, rect
from .live_chart import LiveChart, Series
from .page import Section, Table

STATUSES = {
    "ok": ("many", "computed"),
    "recomputed": ("exact", "computed in place of another worker"),
    "late": ("fw", "came too late"),
    "failed": ("one", "lost or failed"),
}
"""How a message to a worker can end: the colour and the words of each case."""

MAX_SPANS = 400
MAX_ROWS = 32
_BINS = 200
_WIDTH, _LEFT, _ROW, _BAR, _AXIS = 760.0, 64.0, 22.0, 16.0, 36.0


def sections(log: EngineLog | None) -> list[Section]:
    """Return who was alive and busy, for a run with an engine; nothing for one without."""
    if log is None or not len(log["round"]):
        return []
    lost = int((log.per_worker["failed"] > 0).sum())
    words = [
        f"Engine {log.name}. {log.reason}".strip(),
        f"{_count(log.alive, 'worker')} alive at the end, {_count(lost, 'worker')} lost or failed "
        f"on the way; {_count(int(log['recomputed'].sum()), 'block')} computed again, "
        f"{_count(int(log['stragglers'].sum()), 'straggler')}, "
        f"{_count(int(log['dropped'].sum()), 'block')} not waited for.",
    ]
    return [Section("Workers", [*words, *timelines(log.timeline), _per_worker(log), *_rounds(log)])]


def timelines(spans: np.ndarray) -> list[Drawing]:
    """Draw `EngineLog.timeline`: the whole run, and of a long run a part message by message."""
    if not len(spans):
        return []
    if len(spans) <= MAX_SPANS:
        return [_gantt(spans, "The whole run")]
    trouble = np.flatnonzero(spans["status"] == "failed")
    trouble = trouble if trouble.size else np.flatnonzero(spans["status"] != "ok")
    half = MAX_SPANS // 4
    middle = int(trouble[0]) if trouble.size else len(spans) - half
    part = spans[max(0, middle - half) : middle + half]
    what = "Around the first trouble" if trouble.size else "The last rounds"
    return [_overview(spans), _gantt(part, what)]


def _gantt(spans: np.ndarray, what: str) -> Drawing:
    """Return one bar per message."""
    frame = _Frame(spans)
    parts = []
    for span in spans[np.argsort(spans["status"] != "ok", kind="stable")]:  # trouble on top
        worker, status = int(span["worker"]), str(span["status"])
        if worker not in frame.rows:
            continue
        x, top = frame.x(float(span["begin_s"])), frame.top(worker)
        width = max(1.0 if status == "ok" else 3.0, frame.x(float(span["end_s"])) - x)
        bar = {"fill": STATUSES[status][0], "stroke": "page", "title": _words(span)}
        parts.append(rect(x, top, width, _BAR, stroke_width=0.5, **bar))
        if status == "failed":  # a cross too, for readers who do not see red
            cross = f"M{x + width - 5:.1f} {top + 3:.1f}l10 10m0 -10l-10 10"
            parts.append(element("path", d=cross, stroke="ink", stroke_width=2, fill="none"))
    rounds = spans["round"][spans["round"] >= 0]
    span_words = f", rounds {rounds.min():,} to {rounds.max():,}" if len(rounds) else ""
    caption = f"{what}{span_words}: a bar for each message to a worker."
    return frame.drawing(parts, what, caption, spans)


def _overview(spans: np.ndarray) -> Drawing:
    """Return the share of time in which each worker was busy, bin by bin, and where trouble was."""
    frame = _Frame(spans)
    edges = np.linspace(frame.begin, frame.end, _BINS + 1)
    width = (edges[1] - edges[0]) or 1.0
    parts = []
    for worker in frame.rows:
        own = spans[(spans["worker"] == worker) & (spans["status"] != "failed")]
        busy = np.diff(_time_before(edges, own["begin_s"], own["end_s"])) / width
        for a, b, share in zip(edges[:-1], edges[1:], busy, strict=True):
            if share > 0.005:
                share, x = min(1.0, share), frame.x(a)
                title = f"worker {worker}, {a:.3g} to {b:.3g} s: busy {share:.0%}"
                bar = {"fill": "many", "fill_opacity": f"{share:.3f}", "title": title}
                parts.append(rect(x, frame.top(worker), frame.x(b) - x + 0.2, _BAR, **bar))
    for span in spans[spans["status"] != "ok"]:
        worker = int(span["worker"])
        if worker in frame.rows:
            x, top = frame.x(float(span["end_s"])), frame.top(worker)
            mark = {"stroke": STATUSES[str(span["status"])][0], "title": _words(span)}
            parts.append(line(x, top - 2, x, top + _ROW - 4, stroke_width=2, **mark))
    caption = (
        f"{len(spans):,} messages: the fuller the colour, the busier the worker; lines mark what "
        "was not simply computed."
    )
    return frame.drawing(parts, "Workers over the run", caption, spans)


def _time_before(edges: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return how much of the spans lies before each edge."""
    order = np.argsort(begins)
    begins, ends = begins[order], ends[order]
    lengths = np.append(0.0, np.cumsum(ends - begins))
    done = np.searchsorted(begins, edges, side="right")
    last = np.append(0.0, ends)[done]  # the last span that has begun may not have ended
    return lengths[done] - np.maximum(last - edges, 0.0)


class _Frame:
    """Rows of workers over a time axis."""

    def __init__(self, spans: np.ndarray) -> None:
        found = np.unique(spans["worker"])
        self.left_out = max(0, len(found) - MAX_ROWS)
        self.rows = {int(worker): row for row, worker in enumerate(found[:MAX_ROWS])}
        self.begin, self.end = float(spans["begin_s"].min()), float(spans["end_s"].max())
        self.length = (self.end - self.begin) or 1.0

    def x(self, seconds: float) -> float:
        """Return where a time is."""
        return _LEFT + (seconds - self.begin) / self.length * (_WIDTH - _LEFT - 12)

    def top(self, worker: int) -> float:
        """Return where a worker's bars begin."""
        return 6 + self.rows[worker] * _ROW

    def drawing(self, parts: list[str], alt: str, caption: str, spans: np.ndarray) -> Drawing:
        """Return the picture with axis, names and a legend of what occurs in it."""
        bottom = 6 + len(self.rows) * _ROW
        axis = [label(_LEFT - 8, self.top(worker) + 12, str(worker), "end") for worker in self.rows]
        for seconds in _ticks(self.begin, self.begin + self.length):
            x = self.x(seconds)
            axis.append(line(x, 4, x, bottom, stroke="grid"))
            axis.append(label(x, bottom + 16, f"{seconds:.4g}"))
        axis.append(label((_LEFT + _WIDTH) / 2, bottom + 32, "seconds since the run began"))
        legend = [
            (color, words) for name, (color, words) in STATUSES.items() if name in spans["status"]
        ]
        more = f" {self.left_out:,} more workers are not drawn." if self.left_out else ""
        svg = picture([*axis, *parts], _WIDTH, bottom + _AXIS)
        return Drawing(svg, f"{alt}: {_counts(spans)}", f"{caption}{more}", legend)


def _ticks(low: float, high: float) -> np.ndarray:
    raw = (high - low) / 6
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(f * power for f in (1, 2, 5, 10) if f * power >= raw)
    return np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step


def _words(span: np.void) -> str:
    blocks = f"blocks {span['block_first']} to {span['block_last']}"
    what = f"round {span['round']:,}, {blocks}" if span["round"] >= 0 else "certificate"
    times = f"{span['begin_s']:.4g} to {span['end_s']:.4g} s"
    return f"worker {span['worker']}, {what}, {times}: {STATUSES[str(span['status'])][1]}"


def _counts(spans: np.ndarray) -> str:
    found = {name: int((spans["status"] == name).sum()) for name in STATUSES}
    return ", ".join(f"{count} {STATUSES[name][1]}" for name, count in found.items() if count)


def _per_worker(log: EngineLog) -> Table:
    people = log.per_worker
    rows = [
        [
            f"{row['worker']}: {row['name']}".replace(" ", "\u00a0"),
            f"{row['blocks']:,}",
            f"{row['busy_s']:.3g}",
            f"{row['busy_s'] / max(1e-12, row['last_s'] - row['first_s']):.0%}",
            *(f"{row[name]:,}" for name in STATUSES),
        ]
        for row in people[:MAX_ROWS]
    ]
    heads = ["Worker", "Blocks", "Seconds in oracles", "Share", "Messages", "In place of another"]
    more = len(people) - MAX_ROWS
    left_out = f"; {more:,} more are left out" if more > 0 else ""
    return Table(f"What each worker did{left_out}", [*heads, "Too late", "Lost or failed"], rows)


def _rounds(log: EngineLog) -> list[LiveChart]:
    """Return the columns of the log, round by round: counts and traffic."""
    axes = {"round": log["round"].astype(float)}

    def series(column: str, words: str, color: str, dash: str = "none") -> Series:
        return Series(column, words, log[column].astype(float), color, dash)

    counts = [
        series("workers", "workers alive", "many"),
        series("busy", "share of time in oracles", "exact", "6 3"),
        series("recomputed", "blocks computed again", "one"),
        series("stragglers", "stragglers", "fw-ls", "8 3 2 3"),
        series("dropped", "blocks not waited for", "fw", "2 4"),
    ]
    charts = [LiveChart("workers", "Workers along the run", axes, counts, "Round by round.", "")]
    if (log["bytes_out"] > 0).any() or (log["bytes_in"] > 0).any():
        traffic = [
            series("bytes_out", "bytes to workers", "many"),
            series("bytes_in", "bytes from workers", "fw", "6 3"),
        ]
        words = "What was sent, round by round."
        charts.append(LiveChart("traffic", "Traffic along the run", axes, traffic, words, ""))
    return charts


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
