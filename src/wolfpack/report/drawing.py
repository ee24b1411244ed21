"""Drawings as SVG in the page's CSS variables, so that they follow its light and dark palettes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .page import scrolling


@dataclass(frozen=True)
class Drawing:
    """An SVG element, with a text alternative and a caption.

    ``legend`` holds colours of the palette and what they mean.
    """

    svg: str
    alt: str
    caption: str
    legend: Sequence[tuple[str, str]] = ()

    def html(self) -> str:
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


def element(name: str, text: object = "", title: object = "", **style: float | str) -> str:
    """Return one element of a drawing.

    Numbers get two decimals. ``fill`` and ``stroke`` are colours of the palette. ``title`` is shown
    under the pointer. In the names of attributes, an underscore stands for a hyphen.
    """
    words = []
    for key, value in style.items():
        if not isinstance(value, str):
            value = f"{value:.2f}"
        elif key in ("fill", "stroke") and value != "none":
            value = f"var(--{value})"
        words.append(f'{key.replace("_", "-")}="{value}"')
    inside = (f"<title>{escape(str(title))}</title>" if title else "") + escape(str(text))
    return f"<{name} {' '.join(words)}>{inside}</{name}>"


def rect(x: float, y: float, width: float, height: float, **style: float | str) -> str:
    """Return a rectangle."""
    return element("rect", x=x, y=y, width=width, height=height, **style)


def line(x1: float, y1: float, x2: float, y2: float, **style: float | str) -> str:
    """Return a line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **style)


def label(x: float, y: float, text: str, anchor: str = "middle") -> str:
    """Return a text whose middle, or the given end, is at a place."""
    return element("text", text, x=x, y=y, text_anchor=anchor)


def picture(parts: Sequence[str], width: float, height: float, top: float = 0.0) -> str:
    """Return the whole drawing; on a narrow screen it keeps a width at which texts can be read."""
    style = f"max-width: {width:.0f}px; min-width: min({width:.0f}px, 34rem)"
    head = f'viewBox="0 {top:.0f} {width:.0f} {height:.0f}" style="{style}"'
    return f'<svg {head} aria-hidden="true" focusable="false">{"".join(parts)}</svg>'
