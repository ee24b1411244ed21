"""One self-contained HTML page: text, tables and figures, light and dark.

Every text is escaped, and `code` between backticks is set as code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Protocol

from .palette import DARK, LIGHT, css, themed


@dataclass(frozen=True)
class Table:
    """A table whose first ``text_columns`` columns hold text, the others numbers."""

    caption: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: int = 1

    def html(self) -> str:
        """Return the element, in a box that scrolls on narrow screens."""
        head = "".join(
            f'<th scope="col"{self._kind(i)}>{_inline(text)}</th>'
            for i, text in enumerate(self.headers)
        )
        body = "\n".join(f"<tr>{self._row(row)}</tr>" for row in self.rows)
        table = (
            f"<table>\n<caption>{_inline(self.caption)}</caption>\n"
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
        )
        return scrolling(table, self.caption)

    def _row(self, row: Sequence[str]) -> str:
        first, *others = row
        cells = [f'<th scope="row">{_inline(first)}</th>']
        cells += [
            f"<td{self._kind(i)}>{_inline(text)}</td>" for i, text in enumerate(others, start=1)
        ]
        return "".join(cells)

    def _kind(self, column: int) -> str:
        return "" if column < self.text_columns else ' class="number"'


@dataclass(frozen=True)
class Figure:
    """A figure: an SVG element in the palette's light colours.

    ``alt`` tells a reader who cannot see the figure what it shows. ``files`` are names of files
    beside the page that hold the same figure or its data.
    """

    svg: str
    alt: str
    caption: str
    files: Sequence[str] = ()

    def html(self) -> str:
        links = ", ".join(f'<a href="{escape(name)}">{escape(name)}</a>' for name in self.files)
        files = f' <span class="files">Files: {links}.</span>' if links else ""
        svg = themed(self.svg).replace("<svg", '<svg aria-hidden="true" focusable="false"', 1)
        image = f'<div role="img" aria-label="{escape(self.alt)}" class="chart">{svg}</div>'
        caption = f"<figcaption>{_inline(self.caption)}{files}</figcaption>"
        return f"<figure>{scrolling(image, 'Figure')}{caption}</figure>"


class Block(Protocol):
    """A part of a page that writes itself as HTML, such as `Table` and `Figure`."""

    def html(self) -> str:
        """Return the element."""
        ...


@dataclass(frozen=True)
class Section:
    """A heading and what is under it: paragraphs (text), lists (of texts), tables, figures."""

    title: str
    blocks: Sequence[str | list[str] | Block]

    @property
    def anchor(self) -> str:
        """The heading's id."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")

    def html(self) -> str:
        inside = "\n".join(_block(block) for block in self.blocks)
        heading = f'<h2 id="{self.anchor}">{_inline(self.title)}</h2>'
        return f'<section aria-labelledby="{self.anchor}">\n{heading}\n{inside}\n</section>'


@dataclass(frozen=True)
class Page:
    """A page: its title, what it is about in a sentence or two, and its sections.

    A ``live`` page may hold `LiveChart` and `Drawing`, which need a script and more style. A
    ``watched`` one asks its server for news (`wolfpack.report.watching`).
    """

    title: str
    lead: str
    sections: Sequence[Section]
    footer: str = ""
    live: bool = False
    watched: bool = False

    def html(self) -> str:
        """Return the whole document."""
        style = _file("page.css") + (_file("live_page.css") if self.live else "")
        script = f"<script>\n{_file('live_chart.js')}</script>\n" if self.live else ""
        script += watch_script() if self.watched else ""
        contents = "".join(
            f'<li><a href="#{section.anchor}">{_inline(section.title)}</a></li>'
            for section in self.sections
        )
        body = "\n".join(section.html() for section in self.sections)
        return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="{escape(self.lead)}">
<link rel="icon" href="data:,">
<title>{escape(self.title)}</title>
<style>
:root {{ {css(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {css(DARK)} }} }}
{style}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<h1>{_inline(self.title)}</h1>
<p class="lead">{_inline(self.lead)}</p>
<nav aria-label="Contents"><ul>{contents}</ul></nav>
</header>
<main id="content">
{body}
</main>
<footer><p>{_inline(self.footer)}</p></footer>
{script}</body>
</html>
"""


def watch_script() -> str:
    """Return what a page needs to ask its server for news."""
    return f"<script>\n{_file('watch.js')}</script>\n"


def _file(name: str) -> str:
    """Return the text of a file of this package."""
    return files("wolfpack.report").joinpath(name).read_text(encoding="utf-8")


def _block(block: str | list[str] | Block) -> str:
    if isinstance(block, str):
        return f"<p>{_inline(block)}</p>"
    if isinstance(block, list):
        items = "\n".join(f"<li>{_inline(item)}</li>" for item in block)
        return f"<ul>\n{items}\n</ul>"
    return block.html()


def _inline(text: str) -> str:
    """Escape ``text``; parts between backticks become code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def scrolling(element: str, label: str) -> str:
    """Wrap what may be wider than the screen; the keyboard can reach and scroll it."""
    name = escape(label.replace("`", ""))
    return f'<div class="wide" role="region" tabindex="0" aria-label="{name}">{element}</div>'
