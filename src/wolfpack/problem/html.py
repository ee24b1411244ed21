"""How results and sets show themselves in notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape


def as_table(rows: Mapping[str, str]) -> str:
    """Return names and texts as a small table in HTML."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(value)}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table>{cells}</table>"
