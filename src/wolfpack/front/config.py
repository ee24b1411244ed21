"""What a call has asked for, in the form that a checkpoint keeps, and what identifies a problem."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, Streams, is_foreign, like, to_host
from ..engines import Policy
from ..loop import Limits
from ..loop.checkpoint import Checkpoint
from ..noise import Noise
from ..objectives import Objective
from ..objectives.finite_sum import FiniteSum
from ..problem import Solver
from ..problem.checks import instance
from ..regularizers import Regularizer
from ..sets import Set


@dataclass(frozen=True)
class ConstrainedSettings:
    """Arguments of `minimize` alone, as the user gave them.

    ``block`` is the number of answers per block of draws, ``policy`` how long a round waits for its
    workers, ``L`` the smoothness constant.
    """

    noise: str | Noise | None
    smoothing: str | None
    sampling: str
    block: int | None
    policy: Policy
    L: float | None


@dataclass(frozen=True)
class CompositeSettings:
    """Arguments of `minimize_composite` alone, as the user gave them.

    A mirror map ``w`` of the user's own cannot be saved. ``sampling`` and ``reduction`` say how
    gradients are drawn and how their variance is reduced.
    """

    y0: Array | None
    w: Any
    beta: float | str | None
    variance: float | None
    sampling: str | None
    reduction: str | None
    scale: Any


class Fingerprint(NamedTuple):
    """Answers to a few fixed questions that tell one problem from another.

    Attributes
    ----------
    names : tuple of str
        What the two parts of the problem are: f and K, or G and H.
    shape : tuple of int
        Shape of x.
    answers : tuple of float
        Values at fixed points; NaN where a part cannot be asked.
    questions : tuple of str
        What was asked, in words: the two names, the shape, then the answers.
    """

    names: tuple[str, str]
    shape: tuple[int, ...]
    answers: tuple[float, ...]
    questions: tuple[str, ...]

    def difference(self, other: Fingerprint) -> str:
        """Return in words what differs in ``other``; an empty string if nothing does."""
        known = len(self.names) + 1
        before, now = (*self.names, self.shape), (*other.names, other.shape)
        for question, old, new in zip(self.questions, before, now, strict=False):
            if old != new:
                return f"{question} was {old}, now it is {new}"
        for question, was, found in zip(
            self.questions[known:], self.answers, other.answers, strict=True
        ):
            # Machines may differ in the last digits; problems differ in the first.
            close = math.isclose(was, found, rel_tol=1e-6, abs_tol=1e-12)
            if not (close or math.isnan(was) or math.isnan(found)):
                return f"{question} was {was:.9g}, now it is {found:.9g}"
        return ""


def constrained_fingerprint(objective: Objective, K: Set, place: Array = None) -> Fingerprint:
    """Ask f and K one question each, uncounted; f at an array like ``place``, if given."""
    place = objective.like if place is None else place
    place = getattr(K, "like", None) if place is None else place
    here = K.at(np.zeros(0))
    u = np.random.Generator(np.random.Philox(key=0)).standard_normal(here.shape)
    try:
        start = here.start()
        value = float(objective.value(like(start, place) if is_foreign(place) else start))
    except ArithmeticError:
        value = math.nan
    names = type(objective).__name__, type(here).__name__
    support = "the support of K in a fixed direction"
    questions = "its objective", "its set", "its shape", "f(K.start())", support
    return Fingerprint(names, tuple(here.shape), (value, float(here.support(u))), questions)


def composite_fingerprint(G: object, H: Regularizer, y0: Array) -> Fingerprint:
    """Ask G and H one question each, uncounted."""
    direction = like(Streams(0).at(0).standard_normal(y0.shape), y0)
    value = slopes = math.nan
    if isinstance(G, FiniteSum):
        # Not at y0 itself: at 0 most losses have one value, whatever the data are.
        at = G.evaluate(y0 + direction)
        rows: Any = to_host(at.dual).reshape(-1)
        weights: Any = Streams(0).at(1).standard_normal(len(rows))
        value, slopes = float(at.value), float(rows @ weights)
    questions = (
        "G",
        "H",
        "the shape of y",
        "G at a fixed point",
        "the slopes of G's rows there",
        "min <u, y> + H(y) at a fixed u",
    )
    answers = value, slopes, float(H.minimum(direction))
    return Fingerprint((type(G).__name__, repr(H)), tuple(y0.shape), answers, questions)


@dataclass(frozen=True)
class Config:
    """What a checkpoint keeps of a call.

    Attributes
    ----------
    method : str
        Name of the method.
    solver : Solver
        The solver with its options.
    seed : int
        Seed of the random streams.
    limits : Limits
        Tolerances and limits.
    record_every : int or None
        How often the run is certified and recorded; None for once per pass over the data.
    settings : ConstrainedSettings or CompositeSettings
        The other arguments.
    checkpoint : Checkpoint or None
        Where and how often the run is saved.
    fingerprint : Fingerprint or None
        Of the problem, when checkpoints are written.
    """

    method: str
    solver: Solver[Any]
    seed: int
    limits: Limits
    record_every: int | None
    settings: ConstrainedSettings | CompositeSettings
    checkpoint: Checkpoint | None = None
    fingerprint: Fingerprint | None = None

    def identified(self, found: Fingerprint) -> Config:
        """Return the config with the fingerprint of the problem; refuse another problem."""
        difference = "" if self.fingerprint is None else self.fingerprint.difference(found)
        if difference:
            raise OtherProblem(difference)
        return replace(self, fingerprint=found)


class OtherProblem(ValueError):
    """A checkpoint was written for another problem; the message says what differs."""


def as_checkpoint(checkpoint: str | PathLike[str] | Checkpoint | None) -> Checkpoint | None:
    """Return the user's ``checkpoint`` argument as an object."""
    if checkpoint is None or isinstance(checkpoint, Checkpoint):
        return checkpoint
    return Checkpoint(instance((str, PathLike), "a path or a Checkpoint")(checkpoint, "checkpoint"))
