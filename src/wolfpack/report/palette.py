"""Colours by role, for light and for dark backgrounds.

The series' colours differ in lightness and not in hue alone, and keep a contrast of at least 3 with
both backgrounds.
"""

from __future__ import annotations

_COLORS = {  # on a light and on a dark background
    "page": ("#ffffff", "#12171e"),
    "panel": ("#f4f6f9", "#1b222c"),
    "accent": ("#0b57a4", "#7cbcff"),
    "ink": ("#1c2430", "#e6eaf0"),
    "muted": ("#5a6675", "#a3afbd"),
    "grid": ("#d8dee6", "#353f4d"),
    "many": ("#0a58a8", "#64b1ff"),
    "one": ("#d1382c", "#ff8374"),
    "fw": ("#b36b00", "#efb04a"),
    "fw-ls": ("#6f4aa8", "#c3a3ff"),
    "exact": ("#0b7a53", "#5fd0a2"),
}
LIGHT = {role: light for role, (light, _) in _COLORS.items()}
DARK = {role: dark for role, (_, dark) in _COLORS.items()}


def css(colors: dict[str, str]) -> str:
    """Return the colours as declarations of CSS variables."""
    return " ".join(f"--{role}: {value};" for role, value in colors.items())


def themed(svg: str) -> str:
    """Return an SVG in light colours with these replaced by the page's CSS variables."""
    for role, value in LIGHT.items():
        svg = svg.replace(value, f"var(--{role})")
    return svg
