"""What a check has found."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """Something that cannot be right.

    Attributes
    ----------
    culprit : {"gradient", "oracle", "convexity", "L", "set", "values"}
        What is most likely wrong.
    text : str
        What was seen and what it means, in plain sentences.
    """

    culprit: str
    text: str

    def __str__(self) -> str:
        return self.text
