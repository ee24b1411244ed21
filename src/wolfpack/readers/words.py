"""What readers of files say of bad input: one line, with the closest name that exists."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ProblemError(ValueError):
    """A problem file, or a file that it names, cannot be used; the message says why in one line."""


def among(found: object, known: Iterable[str]) -> str:
    """Return the allowed names in words, the closest one first."""
    names = list(known)
    lower = {name.lower().replace("_", "").replace("-", ""): name for name in names}
    word = str(found).lower().replace("_", "").replace("-", "")
    close = difflib.get_close_matches(word, lower, 1)
    hint = f"did you mean {lower[close[0]]!r}? " if close else ""
    return f"{hint}allowed: {', '.join(names)}"


def show(value: object) -> str:
    """Return what was found, short enough for a line."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
