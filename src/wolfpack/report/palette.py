"""Colours by role, for light and for dark backgrounds.

The series' colours differ in lightness and not in hue alone, and keep a contrast of at least 3 with
both backgrounds.
"""

from __future__ import annotations

LIGHT = {
    "page": "#ffffff",
    "panel": "#f4f6f9",
    "accent": "#0b57a4",
    "ink": "#1c2430",
    "muted": "#5a6675",
    "grid": "#d8dee6",
    "many": "#0a58a8",
    "one": "#d1382c",
    "fw": "#b36b00",
    "fw-ls": "#6f4aa8",
    "exact": "#0b7a53",
}
DARK = {
    "page": "#12171e",
    "panel": "#1b222c",
    "accent": "#7cbcff",
    "ink": "#e6eaf0",
    "muted": "#a3afbd",
    "grid": "#353f4d",
    "many": "#64b1ff",
    "one": "#ff8374",
    "fw": "#efb04a",
    "fw-ls": "#c3a3ff",
    "exact": "#5fd0a2",
}


def css(colors: dict[str, str]) -> str:
    """Return the colours as declarations of CSS variables."""
    return " ".join(f"--{role}: {value};" for role, value in colors.items())


def themed(svg: str) -> str:
    """Return an SVG in light colours with these replaced by the page's CSS variables."""
    for role, value in LIGHT.items():
        svg = svg.replace(value, f"var(--{role})")
    return svg
