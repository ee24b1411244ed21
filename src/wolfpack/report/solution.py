"""Drawings of an answer: bars for vectors, colours for matrices, widths for flows on a graph.

Positive numbers are blue, negative ones red.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..arrays import LowRank
from ..sets import Birkhoff, Set
from ..sets._graph import Graph
from .drawing import Drawing, element, label, line, picture, rect

MAX_BARS = 80
MAX_CELLS = 48
MAX_NODES = 150
_MAX_NAMED_NODES = 40
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720.0, 220.0, 64.0, 24.0


def drawings(x: np.ndarray | LowRank, K: Set | None) -> Iterator[Drawing]:
    """Yield what can be drawn of the point ``x`` of the set ``K``.

    A matrix of low rank is never made whole. If K has a ``graph`` with one entry of x per edge, x
    is drawn on that graph.
    """
    if isinstance(x, LowRank):
        yield heat_map(x)
        values = x.singular_values()
        yield bars(values if len(values) else np.zeros(1), "singular values")
        return
    graph: Graph | None = getattr(K, "graph", None)
    if graph is not None and x.shape == (graph.edge_count,) and graph.node_count <= MAX_NODES:
        yield network(x, graph)
    if x.ndim == 1:
        yield bars(x)
    elif x.ndim == 2:
        yield heat_map(x, permutation=isinstance(K, Birkhoff))
        yield bars(np.linalg.svd(x, compute_uv=False), "singular values")


def bars(values: np.ndarray, what: str = "entries") -> Drawing:
    """Return one bar per number; of many numbers, those of largest size, in their order."""
    count = len(values)
    shown = np.sort(np.argsort(-np.abs(values), kind="stable")[:MAX_BARS])
    heights = values[shown]
    low, high = min(0.0, float(heights.min())), max(0.0, float(heights.max()))
    top = 8.0
    pitch = min(48.0, (_WIDTH - _LEFT) / len(shown))
    scale = (_HEIGHT - _BOTTOM - top) / ((high - low) or 1.0)
    zero = top + high * scale
    parts = []
    for i, (k, v) in enumerate(zip(shown.tolist(), heights.tolist(), strict=True)):
        x, y, words = _LEFT + i * pitch + 0.1 * pitch, zero - max(v, 0.0) * scale, f"{k}: {v:.6g}"
        parts.append(rect(x, y, 0.8 * pitch, abs(v) * scale, fill=_color(v), title=words))
    right = _LEFT + pitch * len(shown)
    parts.append(line(_LEFT, zero, right, zero, stroke="muted"))
    parts += [
        label(_LEFT - 8, max(top + 8, zero - v * scale + 4), f"{v:.3g}", "end")
        for v in sorted({low, 0.0, high})
        if v == 0.0 or abs(v) * scale > 14
    ]
    every = max(1, len(shown) // 12)
    parts += [
        label(_LEFT + (i + 0.5) * pitch, _HEIGHT - 6, str(shown[i]))
        for i in range(0, len(shown), every)
    ]
    some = "" if count <= MAX_BARS else f"the {MAX_BARS} largest of "
    nonzero = int((np.abs(values) > 1e-6 * max(1e-300, float(np.abs(values).max()))).sum())
    caption = f"{some}{count:,} {what}, {nonzero:,} of them above a millionth of the largest."
    alt = f"Bars of {what}: smallest {values.min():.4g}, largest {values.max():.4g}"
    return Drawing(picture(parts, right, _HEIGHT), alt, caption[0].upper() + caption[1:])


def heat_map(x: np.ndarray | LowRank, permutation: bool = False) -> Drawing:
    """Return the matrix as coloured cells; a large one as means over blocks of entries.

    With ``permutation``, rings mark the permutation matrix that is nearest to it.
    """
    means = _block_means(x)
    rows, columns = means.shape
    side = min(24.0, _WIDTH / columns, 480.0 / rows)
    most = float(np.abs(means).max()) or 1.0
    parts = []
    for (i, j), v in np.ndenumerate(means):
        opacity, words = f"{abs(v) / most:.3f}", f"{i}, {j}: {v:.4g}"
        place = (j * side, i * side, side, side)
        parts.append(rect(*place, fill=_color(v), fill_opacity=opacity, title=words))
    nearest = ""
    if permutation and isinstance(x, np.ndarray) and means.shape == x.shape:
        columns_of = linear_sum_assignment(x, maximize=True)[1].tolist()
        ring = {"r": 0.34 * side, "fill": "none", "stroke": "fw"}
        ring["stroke_width"] = max(1.0, 0.1 * side)
        parts += [
            element("circle", cx=(j + 0.5) * side, cy=(i + 0.5) * side, **ring)
            for i, j in enumerate(columns_of)
        ]
        share = float(np.take_along_axis(x, np.array(columns_of)[:, None], 1).mean())
        nearest = f" Rings mark the nearest permutation matrix, which holds {share:.1%} of it."
    width, height = columns * side, rows * side
    parts.append(rect(0.5, 0.5, width - 1, height - 1, fill="none", stroke="grid"))
    cells = f", as means over {rows} x {columns} blocks" if means.shape != x.shape else ""
    caption = f"The matrix{cells}: blue positive, red negative, full colour at {most:.4g}.{nearest}"
    alt = f"Heat map of a {x.shape[0]} x {x.shape[1]} matrix, largest size {most:.4g}"
    return Drawing(picture(parts, width, height), alt, caption)


def _block_means(x: np.ndarray | LowRank) -> np.ndarray:
    """Return a matrix of at most MAX_CELLS rows and columns: means over blocks of entries."""

    def bands(matrix: np.ndarray) -> np.ndarray:
        parts = np.array_split(matrix, min(len(matrix), MAX_CELLS))
        return np.array([part.mean(axis=0) for part in parts])

    if isinstance(x, LowRank):
        return (bands(x.U) * x.s) @ bands(x.V).T
    return bands(bands(x).T).T


def network(x: np.ndarray, graph: Graph) -> Drawing:
    """Return the graph with edges as wide as their entries of ``x``."""
    places = _places(graph)
    most = float(np.abs(x).max()) or 1.0
    parts = []
    edges = list(zip(graph.tails.tolist(), graph.heads.tolist(), x.tolist(), strict=True))
    for tail, head, v in edges:
        words = f"{graph.nodes[tail]} - {graph.nodes[head]}: {v:.6g}"
        style = {"stroke": _color(v), "stroke_opacity": f"{0.15 + 0.6 * abs(v) / most:.3f}"}
        width = 1.0 + 9.0 * abs(v) / most
        parts.append(line(*places[tail], *places[head], **style, stroke_width=width, title=words))
    if len(edges) <= 30:
        for tail, head, v in edges:
            # a third of the way, where crossing edges are apart
            px, py = (2 * np.array(places[tail]) + np.array(places[head])) / 3
            parts.append(label(px, py - 6, f"{v:.3g}"))
    named = graph.node_count <= _MAX_NAMED_NODES
    r = 13 if named else 4
    for node, (px, py) in zip(graph.nodes, places, strict=True):
        parts.append(element("circle", cx=px, cy=py, r=r, fill="panel", stroke="muted", title=node))
        if named:
            parts.append(label(px, py + 4, _short(node)))
    caption = f"Each edge is as wide as its entry of x; the widest is {most:.4g}."
    alt = f"Graph of {graph.node_count} nodes and {graph.edge_count} edges, widths show x"
    tops = [y for _, y in places]
    low, high = min(tops) - 30, max(tops) + 30
    return Drawing(picture(parts, _WIDTH, high - low, low), alt, caption)


def _places(graph: Graph) -> list[tuple[float, float]]:
    """Return where nodes go: in columns by their distance from a source, else on a circle."""
    count = graph.node_count
    depth = np.zeros(count, dtype=int)
    for _ in range(count):
        before = depth.copy()
        np.maximum.at(depth, graph.heads, before[graph.tails] + 1)
        if (depth == before).all():
            break
    else:  # a cycle
        turn = 2 * np.pi * np.arange(count) / count
        return list(zip(360 + 300 * np.cos(turn), 160 + 135 * np.sin(turn), strict=True))
    step = (_WIDTH - 60) / max(1, depth.max())
    peers = np.bincount(depth)[depth]
    # a bend keeps edges that skip a column apart from a node that is alone there
    alone = (peers == 1) & (depth > 0) & (depth < depth.max())
    bend = np.where(depth % 2 == 1, 80.0, -80.0) * alone
    y = 320 * (_rows(graph, depth) + 1) / (peers + 1) + bend
    return list(zip((30 + step * depth).tolist(), y.tolist(), strict=True))


def _rows(graph: Graph, depth: np.ndarray) -> np.ndarray:
    """Return the nodes' rows in their columns, so that few edges cross.

    Sweeps go forwards and backwards in turn. Each sorts every column by the mean height of the
    neighbours in the columns before it.
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
            mean = np.where(degree > 0, total / np.maximum(degree, 1), height[nodes])
            order = nodes[np.lexsort((rows[nodes], mean))]
            rows[order] = np.arange(len(nodes))
            height[order] = (np.arange(len(nodes)) + 1) / (len(nodes) + 1)
    return rows


def _short(node: object) -> str:
    """Return a node's name for a small circle: (1, 2) is 1,2."""
    text = ",".join(map(str, node)) if isinstance(node, tuple) else str(node)
    return text if len(text) <= 4 else f"{text[:3]}…"


def _color(value: float) -> str:
    return "many" if value >= 0 else "one"
