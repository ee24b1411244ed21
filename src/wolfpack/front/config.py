"""What a call has asked for, in the form that a checkpoint keeps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from ..arrays import Array
from ..engines import Policy
from ..loop import Limits
from ..loop.checkpoint import Checkpoint
from ..noise import Noise
from ..problem import Counts, Solver
from ..problem.checks import instance
from .fingerprint import Fingerprint

if TYPE_CHECKING:
    from ..loop.run import Options


@dataclass(frozen=True)
class ConstrainedSettings:
    """Arguments of `minimize` alone, as the user gave them.

    ``block`` is the number of answers per block of draws, ``policy`` how long a round waits for its
    workers, ``L`` the smoothness constant, ``convex`` whether f is convex, ``checks`` whether f and
    K are checked where they are not the library's own, ``confidence`` the probability of the bound
    that random gradients give.
    """

    noise: str | Noise | None
    smoothing: str | None
    sampling: str
    block: int | None
    policy: Policy
    L: float | None
    convex: bool | None = None
    checks: bool = True
    confidence: float = 0.95


@dataclass(frozen=True)
class CompositeSettings:
    """Arguments of `minimize_composite` alone, as the user gave them.

    A mirror map ``w`` of the user's own cannot be saved. ``sampling`` and ``reduction`` say how
    gradients are drawn and how their variance is reduced, ``remark`` what was chosen for the user,
    ``checks`` whether the gradient and the convexity of a G of the user's own are checked.
    """

    y0: Array | None
    w: Any
    beta: float | str | None
    variance: float | None
    sampling: str | None
    reduction: str | None
    scale: Any
    remark: str = ""
    checks: bool = True


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
    record_every : int, "auto" or None
        How often the run is certified and recorded; None is what composite runs do by themselves.
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
    record_every: int | str | None
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


def time_of(config: Config, options: Options) -> Counts:
    """Return counts that limit nothing but the time, for what starts before the first round."""
    counts, seconds = Counts(), config.limits.max_seconds
    if seconds is not None:
        spent = 0.0 if options.origin is None else options.origin.best["seconds"]
        counts.allow(options.began + seconds - spent, math.inf)
    return counts
