"""MkDocs hook: the tutorial and the case studies as Jupyter notebooks, with outputs and figures.

The pages are the one source. What they print and draw is written by `code_blocks` and compared by
tests/test_docs.py; here it is put into notebooks beside the pages, and a line at the end of each
page links to its notebook. tests/test_notebooks.py executes them all.
"""

from __future__ import annotations

import ast
import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from code_blocks import BLOCK

DOCS = Path(__file__).resolve().parents[1]
MARK = re.compile(r"^<!-- (?:no-run|about|varies|needs \w+) -->\n", re.M)
LINK = re.compile(r"(\]\([^)\s:]+)\.md(#[^)]*)?\)")
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def pages() -> list[Path]:
    """Return the pages that become notebooks."""
    chapters = sorted((DOCS / "tutorial").glob("[0-9]*.md"))
    cases = sorted(path for path in (DOCS / "cases").glob("*.md") if path.stem != "index")
    return [*chapters, *cases]


def notebook(path: Path) -> dict[str, Any]:
    """Return a page as a notebook, in the layout of nbformat 4.5."""
    cells = [cell | {"id": f"cell-{i}"} for i, cell in enumerate(_cells(path))]
    return {"cells": cells, "metadata": {"kernelspec": KERNEL}, "nbformat": 4, "nbformat_minor": 5}


def _cells(path: Path) -> Iterator[dict[str, Any]]:
    text, end, count = path.read_text(encoding="utf-8"), 0, 0
    for block in BLOCK.finditer(text):
        if block["skip"] == "no-run":
            continue  # it stays a part of the text
        yield from _words(text[end : block.start()])
        count, end = count + 1, block.end()
        yield {
            "cell_type": "code",
            "execution_count": count,
            "metadata": {},
            "outputs": list(_outputs(path, block)),
            "source": _source(block["code"]),
        }
    yield from _words(text[end:])


def _words(text: str) -> Iterator[dict[str, Any]]:
    """Yield the cell of a text between two blocks, if there is something in it."""
    text = LINK.sub(r"\1.html\2)", MARK.sub("", text)).strip()
    if text:
        yield {"cell_type": "markdown", "metadata": {}, "source": text}


def _source(code: str) -> str:
    """Return the code of a cell, without an echo of what its last expression returns."""
    last = ast.parse(code).body[-1]
    return code.rstrip() + (";" if isinstance(last, ast.Expr) else "")


def _outputs(path: Path, block: re.Match[str]) -> Iterator[dict[str, Any]]:
    if block["output"]:
        yield {"output_type": "stream", "name": "stdout", "text": block["output"]}
    if block["picture"]:
        picture = path.parent / block["picture"].partition("#")[0]
        data = {
            "image/png": base64.b64encode(picture.read_bytes()).decode(),
            "text/plain": block["alt"],
        }
        yield {"output_type": "display_data", "data": data, "metadata": {}}


def on_files(files: Any, config: Any) -> Any:
    """Add the notebooks to the site."""
    from mkdocs.structure.files import File

    for path in pages():
        name = path.relative_to(DOCS).with_suffix(".ipynb").as_posix()
        files.append(File.generated(config, name, content=json.dumps(notebook(path), indent=1)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Link to the notebook at the end of its page."""
    path = DOCS / page.file.src_uri
    if path not in pages():
        return markdown
    hint = "it has the outputs and figures of this page and runs from top to bottom"
    return f"{markdown}\n\n*This page as a [Jupyter notebook]({path.stem}.ipynb): {hint}.*\n"
