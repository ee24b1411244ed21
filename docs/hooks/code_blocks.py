"""The Python of a page: run it, and write what it prints and draws into the page.

    python docs/hooks/code_blocks.py PAGE.md ...

The command runs the blocks of each page in order and writes what they print below them. A block
that leaves a figure of Matplotlib open is followed by an image, ``![what it shows](path.png)``; the
figure is written there. `tests/test_docs.py` runs the pages and compares.

Marks in a page: ``<!-- no-run -->`` before a block leaves it out, ``<!-- needs torch -->`` where
that package is missing. ``<!-- about -->`` before an output says that its numbers differ a little
from machine to machine, ``<!-- varies -->`` that another output is as right, because the answer is
one of many; it is not compared.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

BLOCK = re.compile(
    r"^(?:<!-- (?P<skip>no-run|needs (?P<needs>\w+)) -->\n)?```python\n(?P<code>.*?)^```$"
    r"(?:\n\n(?P<about><!-- (?:about|varies) -->\n)?```(?:text)?\n(?P<output>.*?)^```$)?"
    r"(?:\n\n!\[(?P<alt>[^\]]*)\]\((?P<picture>[^)]+)\))?",
    re.M | re.S,
)
PICTURES = {
    "figure.figsize": (6.4, 3.6),
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.titlesize": 12,
    "savefig.dpi": 110,
}
"""Letters stay legible when a picture of 704 pixels is shown 400 pixels wide."""


@dataclass(frozen=True)
class Ran:
    """A block of a page that was run: where it stands, what it printed, the figure it left open."""

    block: re.Match[str]
    printed: str
    figure: Any


def run(path: Path) -> Iterator[Ran]:
    """Run the blocks of a page one after another, as one script."""
    text = path.read_text(encoding="utf-8")
    space: dict[str, object] = {"__name__": "__main__"}
    with look():
        for block in BLOCK.finditer(text):
            if block["skip"] and not (block["needs"] and find_spec(block["needs"])):
                continue
            tree = ast.parse(block["code"], filename=str(path))
            ast.increment_lineno(tree, text.count("\n", 0, block.start("code")))
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(tree, str(path), "exec"), space)
            yield Ran(block, printed.getvalue(), open_figure())


@contextlib.contextmanager
def look() -> Iterator[None]:
    """Draw without a screen, in the project's style, where Matplotlib is installed."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        yield
        return
    from wolfpack.report.plots import style

    matplotlib.use("agg")
    with matplotlib.rc_context({**style(), **PICTURES}):
        yield


def open_figure() -> Any:
    """Return the figure that a block left open, if any, and close it."""
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is None or not plt.get_fignums():
        return None
    figure = plt.gcf()
    plt.close("all")
    return figure


def refresh(path: Path) -> None:
    """Write what the blocks of a page print and draw into the page and its pictures."""
    text, parts, end = path.read_text(encoding="utf-8"), [], 0
    for ran in run(path):
        block = ran.block
        parts.append(text[end : block.end("code")] + "```")
        if ran.printed.strip():
            about = block["about"] or ""
            parts.append(f"\n\n{about}```text\n{ran.printed.rstrip()}\n```")
        if block["picture"]:
            parts.append(f"\n\n![{block['alt']}]({block['picture']})")
        if ran.figure is not None:
            picture = path.parent / (block["picture"] or f"{path.stem}.png").partition("#")[0]
            picture.parent.mkdir(parents=True, exist_ok=True)
            ran.figure.savefig(picture, metadata={"Software": None})
        end = block.end()
    path.write_text("".join(parts) + text[end:], encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        refresh(Path(name))
