"""MkDocs hook: formulas become MathML when the site is built.

Browsers display MathML by themselves, so formulas need no script and no network.
"""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">'
    r"(?:\\\((?P<inline>.*?)\\\)|\\\[(?P<display>.*?)\\\])"
    r"</(?P=tag)>",
    re.DOTALL,
)
# TeX sets the subscript of these below them in display style; the converter needs to be told.
OPERATOR = re.compile(r"\\(min|max|inf|sup)\s*_")


def on_page_content(page_html: str, **_: object) -> str:
    """Replace every formula that pymdownx.arithmatex marked by its MathML."""
    return FORMULA.sub(_to_mathml, page_html)


def _to_mathml(match: re.Match[str]) -> str:
    display = "inline" if match["display"] is None else "block"
    latex = html.unescape(match["inline"] or match["display"]).strip()
    if display == "block":
        latex = OPERATOR.sub(r"\\\1\\limits_", latex)
    return convert(latex, display=display)
