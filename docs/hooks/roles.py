"""Griffe extension: the formulas of numpydoc docstrings, in the notation of the Markdown pages.

``:math:`x``` becomes ``$x$``, a ``.. math::`` directive becomes a ``$$`` block, and the inner
product <u, v> is kept from being read as an HTML tag.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any

from griffe import Extension, Object

ROLE = re.compile(r":math:`([^`]+)`")
DIRECTIVE = re.compile(
    r"^(?P<indent>[ ]*)\.\. math::[ ]*(?P<first>[^\n]*)\n"
    r"(?P<body>(?:(?P=indent)[ ]+\S.*\n?|[ ]*\n)*)",
    re.MULTILINE,
)
INNER_PRODUCT = re.compile(r"(`[^`]*`)|<(?=[^<>`]*,[^<>`]*>)")


class MathRoles(Extension):
    """Rewrites every docstring once, when it is collected."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Translate the formulas of ``obj``'s docstring."""
        if obj.docstring is not None:
            text = DIRECTIVE.sub(_block, obj.docstring.value + "\n")
            text = ROLE.sub(r"$\1$", text)
            text = INNER_PRODUCT.sub(lambda match: match[1] or "&lt;", text)
            obj.docstring.value = text.rstrip("\n")


def _block(match: re.Match[str]) -> str:
    lines = [match["first"], textwrap.dedent(match["body"]).strip("\n")]
    formula = "\n".join(line for line in lines if line.strip())
    return textwrap.indent(f"\n$$\n{formula}\n$$\n\n", match["indent"])
