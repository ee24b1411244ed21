"""MkDocs hook: the fonts of KaTeX move into its style sheet.

Some browsers load no fonts from files for a page that was itself opened as a file.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

FACE = re.compile(r"src:url\((fonts/[\w-]+\.woff2)\)[^;}]*")


def on_post_build(config: Any, **_: object) -> None:
    """Replace the names of the fonts by what is in them."""
    folder = Path(config["site_dir"]) / "assets" / "katex"
    sheet = folder / "katex.min.css"

    def inside(face: re.Match[str]) -> str:
        font = base64.b64encode((folder / face[1]).read_bytes()).decode()
        return f"src:url(data:font/woff2;base64,{font}) format('woff2')"

    sheet.write_text(FACE.sub(inside, sheet.read_text(encoding="utf-8")), encoding="utf-8")
