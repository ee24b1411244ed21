"""Drawings of what workers did: who computed when, what was slow, lost or done again.

Colours are CSS variables of the page. A worker is a row, time goes to the right.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from .live_chart import LiveChart, Series
from .page import Section, Table
from .solution import Drawing, svg

STATUSES = {
    "ok": ("many", "computed"),
    "recomputed": ("exact", "computed in place of another worker"),
    "late": ("fw", "came too late"),
    "failed": ("one", "lost or failed"),
}
"""Colour and words of each way in which a message to a worker can end."""

MOST_SPANS = 400
MOST_ROWS = 32
_BINS = 200
_WIDTH, _LEFT, _ROW, _AXIS = 760.0, 64.0, 22.0, 36.0


def sections(log: Any) -> list[Section]:
    """Return who was alive and busy, for a run with an engine; nothing for one without."""
    if log is None or not len(log["round"]):
        return []
    lost = int((log.per_worker["failed"] > 0).sum())
    words = [
        f"Engine {log.name}. {log.reason}".strip(),
        f"{_many(log.alive, 'worker')} alive at the end, {_many(lost, 'worker')} lost or failed on "
        f"the way; {_many(int(log['recomputed'].sum()), 'block')} computed again, "
        f"{_many(int(log['stragglers'].sum()), 'straggler')}, "
        f"{_many(int(log['dropped'].sum()), 'block')} not waited for.",
    ]
    return [Section("Workers", [*words, *timelines(log.timeline), _people(log), *_rounds(log)])]


def timelines(spans: np.ndarray) -> list[Drawing]:
    """Return the whole run, and of a long one also a part in which single messages can be seen.

    Parameters
    ----------
    spans : structured array
        `EngineLog.timeline`.
    """
    if not len(spans):
        return []
    if len(spans) <= MOST_SPANS:
        return [_gantt(spans, "The whole run")]
    trouble = np.flatnonzero(spans["status"] == "failed")
    trouble = trouble if trouble.size else np.flatnonzero(spans["status"] != "ok")
    half = MOST_SPANS // 4
    middle = int(trouble[0]) if trouble.size else len(spans) - half
    part = spans[max(0, middle - half) : middle + half]
    what = "Around the first trouble" if trouble.size else "The last rounds"
    return [_overview(spans), _gantt(part, what)]


def _gantt(spans: np.ndarray, what: str) -> Drawing:
    """Return one bar per message."""
    begin, end = float(spans["begin_s"].min()), float(spans["end_s"].max())
    frame = _Frame(spans["worker"], begin, end)
    parts = []
    for span in spans[np.argsort(spans["status"] != "ok", kind="stable")]:  # trouble on top
        worker, status = int(span["worker"]), str(span["status"])
        if worker not in frame.rows:
            continue
        x, top = frame.x(float(span["begin_s"])), frame.top(worker)
        width = max(1.0 if status == "ok" else 3.0, frame.x(float(span["end_s"])) - x)
        height = _ROW - 6
        title = f"<title>{escape(_words(span))}</title>"
        parts.append(
            f'<rect x="{x:.2f}" y="{top:.1f}" width="{width:.2f}" height="{height:.0f}" '
            f'fill="var(--{STATUSES[status][0]})" stroke="var(--page)" stroke-width="0.5">{title}'
            "</rect>"
        )
        if status == "failed":  # a cross too, for those who do not see red
            at = x + width - 5
            cross = f"M{at:.1f} {top + 3:.1f}l10 10m0 -10l-10 10"
            parts.append(f'<path d="{cross}" stroke="var(--ink)" stroke-width="2" fill="none"/>')
    rounds = spans["round"][spans["round"] >= 0]
    span_words = f", rounds {rounds.min():,} to {rounds.max():,}" if len(rounds) else ""
    caption = f"{what}{span_words}: a bar for each message to a worker."
    return frame.drawing(parts, what, caption, spans)


def _overview(spans: np.ndarray) -> Drawing:
    """Return the share of time in which each worker was busy, bin by bin, and where trouble was."""
    begin, end = float(spans["begin_s"].min()), float(spans["end_s"].max())
    frame = _Frame(spans["worker"], begin, end)
    edges = np.linspace(begin, end, _BINS + 1)
    width = (edges[1] - edges[0]) or 1.0
    parts = []
    for worker in frame.rows:
        own = spans[(spans["worker"] == worker) & (spans["status"] != "failed")]
        busy = np.diff(_time_before(edges, own["begin_s"], own["end_s"])) / width
        parts += [
            f'<rect x="{frame.x(a):.2f}" y="{frame.top(worker):.1f}" '
            f'width="{frame.x(b) - frame.x(a) + 0.2:.2f}" height="{_ROW - 6:.0f}" '
            f'fill="var(--many)" fill-opacity="{min(1.0, share):.3f}"><title>worker {worker}, '
            f"{a:.3g} to {b:.3g} s: busy {min(1.0, share):.0%}</title></rect>"
            for a, b, share in zip(edges[:-1], edges[1:], busy, strict=True)
            if share > 0.005
        ]
    for span in spans[spans["status"] != "ok"]:
        worker = int(span["worker"])
        if worker in frame.rows:
            x, top = frame.x(float(span["end_s"])), frame.top(worker)
            parts.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 2:.1f}" y2="{top + _ROW - 4:.1f}" '
                f'stroke="var(--{STATUSES[str(span["status"])][0]})" stroke-width="2">'
                f"<title>{escape(_words(span))}</title></line>"
            )
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
    last = np.append(0.0, ends)[done]  # of spans that have begun, the latest may still go on
    return lengths[done] - np.maximum(last - edges, 0.0)


class _Frame:
    """Rows of workers over a time axis."""

    def __init__(self, workers: np.ndarray, begin: float, end: float) -> None:
        found = np.unique(workers)
        self.left_out = max(0, len(found) - MOST_ROWS)
        self.rows = {int(worker): row for row, worker in enumerate(found[:MOST_ROWS])}
        self.begin, self.length = begin, (end - begin) or 1.0

    def x(self, seconds: float) -> float:
        """Return where a time is."""
        return _LEFT + (seconds - self.begin) / self.length * (_WIDTH - _LEFT - 12)

    def top(self, worker: int) -> float:
        """Return where a worker's bars begin."""
        return 6 + self.rows[worker] * _ROW

    def drawing(self, parts: list[str], alt: str, caption: str, spans: np.ndarray) -> Drawing:
        """Return the picture with axis, names and a legend of what occurs in it."""
        bottom = 6 + len(self.rows) * _ROW
        text = [
            f'<text x="{_LEFT - 8:.0f}" y="{self.top(worker) + 12:.0f}" text-anchor="end">'
            f"{worker}</text>"
            for worker in self.rows
        ]
        for seconds in _ticks(self.begin, self.begin + self.length):
            x = self.x(seconds)
            text.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{bottom:.0f}" stroke="var(--grid)"/>'
                f'<text x="{x:.1f}" y="{bottom + 16:.0f}" text-anchor="middle">{seconds:.4g}</text>'
            )
        middle = (_LEFT + _WIDTH) / 2
        text.append(
            f'<text x="{middle:.0f}" y="{bottom + 32:.0f}" text-anchor="middle">seconds since the '
            "run began</text>"
        )
        picture = svg([*text, *parts], (_WIDTH, bottom + _AXIS))
        legend = [
            (color, words) for name, (color, words) in STATUSES.items() if name in spans["status"]
        ]
        more = f" {self.left_out:,} more workers are not drawn." if self.left_out else ""
        words = f"{alt}: {_counts(spans)}"
        return Drawing(picture, words, f"{caption}{more}", legend)


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


def _people(log: Any) -> Table:
    people = log.per_worker
    rows = [
        [
            f"{row['worker']}: {row['name']}".replace(" ", "\u00a0"),
            f"{row['blocks']:,}",
            f"{row['busy_s']:.3g}",
            f"{row['busy_s'] / max(1e-12, row['last_s'] - row['first_s']):.0%}",
            *(f"{row[name]:,}" for name in STATUSES),
        ]
        for row in people[:MOST_ROWS]
    ]
    heads = ["Worker", "Blocks", "Seconds in oracles", "Share", "Messages", "In place of another"]
    more = len(people) - MOST_ROWS
    left_out = f"; {more:,} more are left out" if more > 0 else ""
    return Table(f"What each worker did{left_out}", [*heads, "Too late", "Lost or failed"], rows)


def _rounds(log: Any) -> list[LiveChart]:
    """Return the columns of the log, round by round: counts and traffic."""
    axes = {"round": log["round"].astype(float)}
    series = [
        Series("workers", "workers alive", log["workers"].astype(float), "many"),
        Series("busy", "share of time in oracles", log["busy"], "exact", "6 3"),
        Series("recomputed", "blocks computed again", log["recomputed"].astype(float), "one"),
        Series("stragglers", "stragglers", log["stragglers"].astype(float), "fw-ls", "8 3 2 3"),
        Series("dropped", "blocks not waited for", log["dropped"].astype(float), "fw", "2 4"),
    ]
    charts = [LiveChart("workers", "Workers along the run", axes, series, "Round by round.", "")]
    if (log["bytes_out"] > 0).any() or (log["bytes_in"] > 0).any():
        traffic = [
            Series("out", "bytes to workers", log["bytes_out"].astype(float), "many"),
            Series("in", "bytes from workers", log["bytes_in"].astype(float), "fw", "6 3"),
        ]
        words = "What was sent, round by round."
        charts.append(LiveChart("traffic", "Traffic along the run", axes, traffic, words, ""))
    return charts


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
