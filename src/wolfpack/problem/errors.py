"""Errors that a run may end with."""

from __future__ import annotations


class CapabilityError(ValueError):
    """A method needs something that the objective, the set or the machine does not have."""


class NonFiniteError(ArithmeticError):
    """The objective returned a NaN or infinite value or gradient in the middle of a run."""


class EndOfData(RuntimeError):
    """A source of data that can be read once has ended in the middle of a run."""
