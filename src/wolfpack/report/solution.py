"""Drawings of an answer: bars for vectors, colours for matrices, widths for flows on a graph.

Colours are CSS variables of the page, so that drawings follow its light and dark palettes: blue
for positive, red for negative numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..arrays import LowRank
from ..sets import Birkhoff
from .page import scrolling

MOST_BARS = 80
MOST_CELLS = 48
MOST_NODES = 150
_MOST_LABELS = 40
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720.0, 220.0, 64.0, 24.0


@dataclass(frozen=True)
class Drawing:
    """An SVG element in the page's CSS variables, with its caption.

    ``legend`` holds colours of the palette and what they mean.
    """

    svg: str
    alt: str
    caption: str
    legend: Sequence[tuple[str, str]] = ()

    def html(self) -> str:
        """Return the figure."""
        keys = "".join(
            f'<span class="key"><span style="background: var(--{color})"></span>{escape(words)}'
            "</span> "
            for color, words in self.legend
        )
        keys = f'<p class="keys">{keys}</p>' if keys else ""
        image = f'<div role="img" aria-label="{escape(self.alt)}">{self.svg}</div>'
        return (
            f'<figure class="drawing">{scrolling(image, "Drawing")}{keys}'
            f"<figcaption>{escape(self.caption)}</figcaption></figure>"
        )


def drawings(x: np.ndarray | LowRank, K: Any) -> Iterator[Drawing]:
    """Yield what can be drawn of the point ``x`` of the set ``K``.

    Parameters
    ----------
    x : array or LowRank
        The answer; one of low rank is never made whole.
    K : Set or None
        A set that has a ``graph`` with one entry of x per edge is drawn on that graph.
    """
    if isinstance(x, LowRank):
        yield heat_map(x)
        yield bars(_singular_values(x), "singular values")
        return
    graph = getattr(K, "graph", None)
    if graph is not None and x.shape == (graph.edge_count,) and graph.node_count <= MOST_NODES:
        yield network(x, graph)
    if x.ndim == 1:
        yield bars(x)
    elif x.ndim == 2:
        yield heat_map(x, permutation=isinstance(K, Birkhoff))
        yield bars(np.linalg.svd(x, compute_uv=False), "singular values")


def bars(values: np.ndarray, what: str = "entries") -> Drawing:
    """Return one bar per number; of many numbers, those of largest size, in their order."""
    count = len(values)
    shown = np.arange(count)
    if count > MOST_BARS:
        largest = np.argsort(-np.abs(values), kind="stable")[:MOST_BARS]
        shown = np.sort(largest)
    heights = values[shown]
    low, high = min(0.0, float(heights.min())), max(0.0, float(heights.max()))
    span = (high - low) or 1.0
    room, top = _WIDTH - _LEFT, 8.0
    pitch = min(48.0, room / len(shown))
    scale = (_HEIGHT - _BOTTOM - top) / span
    zero = top + high * scale
    parts = [
        _rect(
            (_LEFT + i * pitch + 0.1 * pitch, zero - max(v, 0.0) * scale),
            (0.8 * pitch, abs(v) * scale),
            _color(v),
            title=f"{k}: {v:.6g}",
        )
        for i, (k, v) in enumerate(zip(shown.tolist(), heights.tolist(), strict=True))
    ]
    parts.append(_line((_LEFT, zero), (_LEFT + pitch * len(shown), zero), "muted"))
    parts += [
        _text((_LEFT - 8, max(top + 8, zero - v * scale + 4)), f"{v:.3g}", "end")
        for v in sorted({low, 0.0, high})
        if v == 0.0 or abs(v) * scale > 14
    ]
    every = max(1, len(shown) // 12)
    parts += [
        _text((_LEFT + (i + 0.5) * pitch, _HEIGHT - 6), str(shown[i]), "middle")
        for i in range(0, len(shown), every)
    ]
    some = "" if count <= MOST_BARS else f"the {MOST_BARS} largest of "
    nonzero = int((np.abs(values) > 1e-6 * max(1e-300, float(np.abs(values).max()))).sum())
    caption = f"{some}{count:,} {what}, {nonzero:,} of them above a millionth of the largest."
    alt = f"Bars of {what}: smallest {values.min():.4g}, largest {values.max():.4g}"
    return Drawing(
        svg(parts, (_LEFT + pitch * len(shown), _HEIGHT)), alt, caption[0].upper() + caption[1:]
    )


def heat_map(x: np.ndarray | LowRank, permutation: bool = False) -> Drawing:
    """Return the matrix as coloured cells; a large one as means over blocks of entries.

    With ``permutation``, rings mark the permutation matrix that is nearest to it.
    """
    means = _block_means(x)
    rows, columns = means.shape
    side = min(24.0, _WIDTH / columns, 480.0 / rows)
    most = float(np.abs(means).max()) or 1.0
    parts = [
        _rect(
            (j * side, i * side), (side, side), _color(v), abs(v) / most, title=f"{i}, {j}: {v:.4g}"
        )
        for i, row in enumerate(means.tolist())
        for j, v in enumerate(row)
    ]
    nearest = ""
    if permutation and isinstance(x, np.ndarray) and means.shape == x.shape:
        columns_of = linear_sum_assignment(x, maximize=True)[1].tolist()
        parts += [
            _ring(((j + 0.5) * side, (i + 0.5) * side), side) for i, j in enumerate(columns_of)
        ]
        share = float(np.take_along_axis(x, np.array(columns_of)[:, None], 1).mean())
        nearest = f" Rings mark the nearest permutation matrix, which holds {share:.1%} of it."
    border = f'<rect x="0.5" y="0.5" width="{columns * side - 1:.1f}" '
    border += f'height="{rows * side - 1:.1f}" fill="none" stroke="var(--grid)"/>'
    cells = f", as means over {rows} x {columns} blocks" if means.shape != x.shape else ""
    caption = f"The matrix{cells}: blue positive, red negative, full colour at {most:.4g}.{nearest}"
    alt = f"Heat map of a {x.shape[0]} x {x.shape[1]} matrix, largest size {most:.4g}"
    return Drawing(svg([*parts, border], (columns * side, rows * side)), alt, caption)


def _block_means(x: np.ndarray | LowRank) -> np.ndarray:
    """Return a matrix of at most MOST_CELLS rows and columns: means over blocks of entries."""

    def bands(matrix: np.ndarray) -> np.ndarray:
        parts = np.array_split(matrix, min(len(matrix), MOST_CELLS))
        return np.array([part.mean(axis=0) for part in parts])

    if isinstance(x, LowRank):
        return (bands(x.U) * x.s) @ bands(x.V).T
    return bands(bands(x).T).T


def _singular_values(x: LowRank) -> np.ndarray:
    """Return those of U diag(s) V', from triangular factors of U and V."""
    left, right = np.linalg.qr(x.U).R, np.linalg.qr(x.V).R
    found = np.linalg.svd((left * x.s) @ right.T, compute_uv=False)
    return found if len(found) else np.zeros(1)


def network(x: np.ndarray, graph: Any) -> Drawing:
    """Return the graph with edges as wide as their entries of ``x``."""
    places = _places(graph)
    most = float(np.abs(x).max()) or 1.0
    parts = []
    ends = list(zip(graph.tails.tolist(), graph.heads.tolist(), x.tolist(), strict=True))
    for tail, head, v in ends:
        (x1, y1), (x2, y2) = places[tail], places[head]
        width = 1.0 + 9.0 * abs(v) / most
        title = f"<title>{escape(f'{graph.nodes[tail]} - {graph.nodes[head]}')}: {v:.6g}</title>"
        parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="var(--{_color(v)})" stroke-opacity="{0.15 + 0.6 * abs(v) / most:.3f}" '
            f'stroke-width="{width:.2f}">{title}</line>'
        )
    if len(ends) <= 30:
        for tail, head, v in ends:
            # a third of the way, where crossing edges are apart
            place = (2 * np.array(places[tail]) + np.array(places[head])) / 3
            parts.append(_text((place[0], place[1] - 6), f"{v:.3g}", "middle"))
    named = graph.node_count <= _MOST_LABELS
    for label, (px, py) in zip(graph.nodes, places, strict=True):
        parts.append(
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="{13 if named else 4}" fill="var(--panel)" '
            f'stroke="var(--muted)"><title>{escape(str(label))}</title></circle>'
        )
        if named:
            parts.append(_text((px, py + 4), _short(label), "middle"))
    caption = f"Each edge is as wide as its entry of x; the widest is {most:.4g}."
    alt = f"Graph of {graph.node_count} nodes and {graph.edge_count} edges, widths show x"
    tops = [y for _, y in places]
    low, high = min(tops) - 30, max(tops) + 30
    return Drawing(svg(parts, (_WIDTH, high - low), low), alt, caption)


def _places(graph: Any) -> list[tuple[float, float]]:
    """Return where nodes go: in columns by their distance from a source, else on a circle."""
    count = graph.node_count
    depth = np.zeros(count, dtype=int)
    for _ in range(count):
        deeper = depth.copy()
        np.maximum.at(deeper, graph.heads, depth[graph.tails] + 1)
        if (deeper == depth).all():
            break
        depth = deeper
    else:  # a cycle
        turn = 2 * np.pi * np.arange(count) / count
        return list(zip(360 + 300 * np.cos(turn), 160 + 135 * np.sin(turn), strict=True))
    step = (_WIDTH - 60) / max(1, depth.max())
    rows = _rows(graph, depth)
    places = []
    for node in range(count):
        peers = int((depth == depth[node]).sum())
        # a bend keeps edges that skip a column apart from a node that is alone there
        alone = peers == 1 and 0 < depth[node] < depth.max()
        bend = (80.0 if depth[node] % 2 else -80.0) if alone else 0.0
        y = 320 * (rows[node] + 1) / (peers + 1) + bend
        places.append((30 + step * float(depth[node]), float(y)))
    return places


def _rows(graph: Any, depth: np.ndarray) -> np.ndarray:
    """Return the nodes' rows in their columns, so that few edges cross.

    Over and over, forwards and backwards, each column is sorted by the mean height of the
    neighbours on the side that it is looked at from.
    """
    count = len(depth)
    height = np.zeros(count)
    rows = np.zeros(count, dtype=int)
    for sweep in range(8):
        ahead = sweep % 2 == 0
        here, there = (graph.heads, graph.tails) if ahead else (graph.tails, graph.heads)
        columns = range(depth.max() + 1) if ahead else range(depth.max(), -1, -1)
        for column in columns:
            nodes = np.flatnonzero(depth == column)
            total = np.bincount(here, height[there], count)[nodes]
            degree = np.bincount(here, minlength=count)[nodes]
            wish = np.where(degree > 0, total / np.maximum(degree, 1), height[nodes])
            order = nodes[np.lexsort((rows[nodes], wish))]
            rows[order] = np.arange(len(nodes))
            height[order] = (np.arange(len(nodes)) + 1) / (len(nodes) + 1)
    return rows


def _short(label: Any) -> str:
    """Return a node's name for a small circle: (1, 2) is 1,2."""
    text = str(label)
    if isinstance(label, tuple):
        text = ",".join(map(str, label))
    return text if len(text) <= 4 else f"{text[:3]}…"


def _color(value: float) -> str:
    return "many" if value >= 0 else "one"


def _rect(
    place: tuple[float, float],
    size: tuple[float, float],
    color: str,
    opacity: float = 1.0,
    title: str = "",
) -> str:
    return (
        f'<rect x="{place[0]:.2f}" y="{place[1]:.2f}" width="{size[0]:.2f}" height="{size[1]:.2f}" '
        f'fill="var(--{color})" fill-opacity="{opacity:.3f}"><title>{title}</title></rect>'
    )


def _ring(place: tuple[float, float], side: float) -> str:
    return (
        f'<circle cx="{place[0]:.2f}" cy="{place[1]:.2f}" r="{0.34 * side:.2f}" fill="none" '
        f'stroke="var(--fw)" stroke-width="{max(1.0, 0.1 * side):.2f}"/>'
    )


def _line(start: tuple[float, float], end: tuple[float, float], color: str) -> str:
    return (
        f'<line x1="{start[0]:.2f}" y1="{start[1]:.2f}" x2="{end[0]:.2f}" y2="{end[1]:.2f}" '
        f'stroke="var(--{color})"/>'
    )


def _text(place: tuple[float, float], words: str, anchor: str) -> str:
    return (
        f'<text x="{place[0]:.1f}" y="{place[1]:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
    )


def svg(parts: Sequence[str], size: tuple[float, float], top: float = 0.0) -> str:
    """Return the element; on a narrow screen it keeps a width at which texts can be read."""
    width, height = size
    least = f"min({width:.0f}px, 34rem)"
    style = f"max-width: {width:.0f}px; min-width: {least}"
    head = f'viewBox="0 {top:.0f} {width:.0f} {height:.0f}" style="{style}"'
    return f'<svg {head} aria-hidden="true" focusable="false">{"".join(parts)}</svg>'
