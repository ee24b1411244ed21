"""MkDocs hook: the table of sets and their pictures, made from the classes themselves.

    python docs/hooks/sets_gallery.py [--redraw]

The command writes the table between the marks in docs/sets.md and draws the pictures in
docs/assets/sets that are missing, as the build does; --redraw draws all of them. Formula, cost and
radius are read from the docstrings and from a small instance of each set.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

from sets_examples import Example, examples

try:
    from sets_pictures import draw
except ModuleNotFoundError as missing:
    if missing.name != "matplotlib":
        raise
    draw = None  # the pictures are kept as they are

DOCS = Path(__file__).resolve().parents[1]
PAGE, PICTURES = DOCS / "sets.md", DOCS / "assets" / "sets"
BEGIN, END = "<!-- table of sets: begin -->", "<!-- table of sets: end -->"
HEAD = (
    "| | set | oracle | R | smoothed exactly | k best | projection |\n"
    "|---|---|---|---|---|---|---|\n"
)
MATH_ROLE = re.compile(r":math:`([^`]+)`")
ORDER = re.compile(r"O\((?:[^()]|\([^()]*\))*\)")
MATH_BLOCK = re.compile(r"\.\. math::\s*(.*?)(?:\n\n|$)", re.DOTALL)


def on_pre_build(**_: object) -> None:
    """Bring the table up to date and draw the pictures that are missing."""
    write(redraw=False)


def write(redraw: bool) -> None:
    """Write the table, and the pictures: all of them, or those that are missing."""
    shown = examples()
    for name, example in shown.items():
        path = PICTURES / f"{name}.svg"
        if draw is not None and (redraw or not path.exists()):
            draw(example, path)
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    page = f"{before}{BEGIN}\n{table(shown)}{END}{rest.split(END)[1]}"
    if page != PAGE.read_text(encoding="utf-8"):
        PAGE.write_text(page, encoding="utf-8")


def table(shown: dict[str, Example]) -> str:
    """Return the rows in Markdown, one per set."""
    return HEAD + "".join(f"| {' | '.join(cells(*item))} |\n" for item in shown.items())


def cells(name: str, example: Example) -> list[str]:
    """Return the cells of one row."""
    K = example.K
    picture = f"![{name}](assets/sets/{name}.svg)"
    return [
        f'{picture}{{ style="min-width: 6rem" }}',
        f"**`{name}`**<br>{formula(type(K))}<br>Drawn: `{K!r}`",
        cost(type(K)),
        f"{K.radius:.4g}",
        "<br>".join(K.closed_forms),
        _yes(K, "k_best"),
        _yes(K, "project"),
    ]


def formula(kind: type) -> str:
    """Return the first paragraph of the docstring, and the next if that has the formula."""
    first, *others = inspect.cleandoc(kind.__doc__ or "").split("\n\n")
    if others and (block := MATH_BLOCK.match(others[0])):
        first = f"{first}<br>${block[1].rstrip(',.')}$"
    elif others and ":math:" in others[0] and ":math:" not in first:
        first = f"{first}<br>{others[0]}"
    return _in_cell(MATH_ROLE.sub(r"$\1$", first))


def cost(kind: type) -> str:
    """Return the O(...) of the first sentence that has one, else what is said of the oracle."""
    _, _, notes = inspect.cleandoc(kind.__doc__ or "").partition("Notes\n-----")
    sentences = re.split(r"(?<=[.:;]) ", " ".join(notes.split()))
    for sentence in sentences:
        if orders := ORDER.findall(sentence):
            return _in_cell(", ".join(dict.fromkeys(orders)))
    about = [sentence for sentence in sentences if sentence.startswith(("The oracle", "Oracle"))]
    return _in_cell(MATH_ROLE.sub(r"$\1$", about[0].rstrip(".:;"))) if about else "its callable"


def _in_cell(text: str) -> str:
    """Return the text on one line, without the bars that would end the cell."""
    line = " ".join(text.split()).replace("\\|", "\\Vert ").replace("|", "\\vert ")
    line = re.sub(r"<(?!br>)", "&lt;", line)
    return line if "$" in line else re.sub(r"\^(\d)", r"<sup>\1</sup>", line)


def _yes(K: Any, capability: str) -> str:
    return "yes" if K.has(capability) else ""


if __name__ == "__main__":
    write(redraw="--redraw" in sys.argv)
