"""Pictures of the sets: the shadow of each on a plane, and of its smoothed argmax.

As the direction u turns once around in the plane, the clean answers of the oracle run along the
outline of the shadow, and the smoothed argmax E argmax <u + alpha Delta, v> along a smooth curve
inside: the smaller alpha, the closer to the outline.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from scipy.spatial import ConvexHull
from sets_examples import Example

from wolfpack import noise, sets

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "wolfpack"  # the same file from every build
from matplotlib.figure import Figure  # noqa: E402

ALPHAS = (0.3, 0.8, 2.0)
ANGLES, SAMPLES = 181, 3000
FILL, LINE, CURVES = "#5c6bc0", "#3949ab", ("#e65100", "#fb8c00", "#ffcc80")


def draw(example: Example, path: Path) -> None:
    """Write the picture of one set as SVG."""
    K, plane = example
    angles = np.linspace(0.0, 2.0 * np.pi, ANGLES)
    directions = (np.stack([np.cos(angles), np.sin(angles)], axis=1) @ plane).reshape(-1, *K.shape)
    outline = _outline(_shadow(K.lmo(-directions).to_dense(), plane))
    figure = Figure(figsize=(1.8, 1.8))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.fill(*outline.T, facecolor=FILL, alpha=0.18, linewidth=0.0)
    _ring(axes, outline, LINE, 1.0)
    for edge, visible in _edges(K, plane):
        axes.plot(*edge.T, color=LINE, linewidth=0.8 if visible else 0.4, alpha=0.6)
    axes.plot(0.0, 0.0, marker="+", color="#757575", markersize=5, markeredgewidth=0.8)
    size = np.ptp(outline, axis=0).max()
    for alpha, color in zip(ALPHAS, CURVES, strict=True):
        _ring(axes, _shadow(smoothed(K, directions, alpha), plane), color, 1.3)
    middle = 0.5 * (outline.max(axis=0) + outline.min(axis=0))
    axes.set(aspect="equal", xlim=middle[0] + 0.55 * size * np.array([-1, 1]))
    axes.set_ylim(*(middle[1] + 0.55 * size * np.array([-1, 1])))
    axes.set_axis_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, transparent=True, metadata={"Date": None})


def smoothed(K: Any, directions: np.ndarray, alpha: float) -> np.ndarray:
    """Return E argmax <u + alpha Delta, v> for each u: exactly where K can, else from samples."""
    if K.closed_forms:
        return np.array([K.smoothed(u, alpha) for u in directions])
    # the same draws and their opposites for all directions make a smooth curve
    half = noise.get("gaussian").sample(np.random.default_rng(0), (SAMPLES // 2, *K.shape))
    draws = np.concatenate([half, -half])
    answers = sets.ConvexHull(_corners(K)) if K.polytope else K  # quicker, for few corners
    return np.array([answers.lmo(-(u + alpha * draws)).mean() for u in directions])


def _corners(K: Any) -> np.ndarray:
    """Return the vertices of a small polytope, as answers to many directions."""
    directions = np.random.default_rng(1).standard_normal((200, *K.shape))
    return np.unique(K.lmo(directions).to_dense().round(9), axis=0)


def _shadow(points: np.ndarray, plane: np.ndarray) -> np.ndarray:
    return points.reshape(len(points), -1) @ plane.T


def _outline(points: np.ndarray) -> np.ndarray:
    """Return the corners of the convex hull, in order.

    Where a side of the shadow is straight, the answers are any points of it in any order.
    """
    return points[ConvexHull(points).vertices]


def _ring(axes: Any, points: np.ndarray, color: str, width: float) -> None:
    """Draw a closed curve, without a seam where it begins."""
    axes.fill(*points.T, fill=False, edgecolor=color, linewidth=width, joinstyle="round")


def _edges(K: Any, plane: np.ndarray) -> list[tuple[np.ndarray, bool]]:
    """Return the shadows of the edges of a polytope of three dimensions, and which are in front."""
    if not K.polytope:
        return []
    points = _corners(K)
    points = points.reshape(len(points), -1)
    _, s, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    if int((s > 1e-9 * s[0]).sum()) != 3:
        return []
    hull = ConvexHull(points @ axes[:3].T)
    toward = np.cross(*(plane @ axes[:3].T))
    faces: dict[tuple[int, int], list[np.ndarray]] = {}
    for corners, equation in zip(hull.simplices, hull.equations, strict=True):
        for i, j in ((0, 1), (1, 2), (0, 2)):
            edge = (min(corners[i], corners[j]), max(corners[i], corners[j]))
            faces.setdefault(edge, []).append(equation[:3])
    # triangles of one face share their plane: the line between them is no edge
    return [
        (points[list(edge)] @ plane.T, bool(max(a @ toward, b @ toward) > 0))
        for edge, (a, b) in faces.items()
        if not np.allclose(a, b, atol=1e-6)
    ]
