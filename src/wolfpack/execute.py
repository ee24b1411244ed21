"""What `minimize` and `resume` share: a run from its description."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .loop import Limits, Result, run
from .loop.checkpoint import Checkpoint, Saver, Snapshot
from .loop.fingerprint import Fingerprint
from .loop.run import Options
from .problem import Problem
from .smoothing import Oracles

Array = Any


@dataclass(frozen=True)
class Config:
    """What a checkpoint keeps of the arguments of `minimize`.

    Attributes
    ----------
    method : str
        Name of the method.
    solver : object
        The solver with its options.
    noise, smoothing, sampling : object
        As given by the user.
    seed : int
        Seed of the random streams.
    L : float or None
        The user's smoothness constant.
    limits : Limits
        Tolerances and limits.
    record_every : int
        How often the run is certified and recorded.
    checkpoint : Checkpoint or None
        Where and how often it is saved.
    fingerprint : Fingerprint or None
        Of the problem, when checkpoints are written.
    """

    method: str
    solver: Any
    noise: Any
    smoothing: Any
    sampling: str
    seed: int
    L: float | None
    limits: Limits
    record_every: int
    checkpoint: Checkpoint | None = None
    fingerprint: Fingerprint | None = None


def execute(
    config: Config,
    problem: Problem,
    ways: Any,
    start: Array,
    talk: Options,
    origin: Snapshot | None = None,
) -> Result:
    """Run what ``config`` describes, from ``start`` or on from ``origin``."""
    oracles = Oracles(problem, ways, config.seed, config.sampling)
    saver = None
    if config.checkpoint is not None:
        fingerprint = config.fingerprint or Fingerprint.of(problem.objective, problem.set)
        saver = Saver(config.checkpoint, replace(config, fingerprint=fingerprint))
    talk = replace(talk, saver=saver, origin=origin)
    result = run(problem, config.solver, start, oracles, config.limits, talk)
    result.method = config.method
    return result


def as_checkpoint(checkpoint: Any) -> Checkpoint | None:
    """Return the user's ``checkpoint`` argument as an object."""
    if checkpoint is None or isinstance(checkpoint, Checkpoint):
        return checkpoint
    return Checkpoint(checkpoint)
