"""What `minimize` and `resume` share: a run from its description."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..arrays import Array, describe, without_graphs
from ..engines import Driver, EngineLog, Mpi, Policy, choose_engine
from ..engines._choose import Choice
from ..loop import Limits, Result, run
from ..loop.checkpoint import Checkpoint, Saver
from ..loop.fingerprint import Fingerprint
from ..loop.run import Options
from ..problem import Problem
from ..smoothing import Oracles


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
    block : int or None
        Answers per block of draws, as given by the user.
    policy : Policy
        How long a round waits for its workers.
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
    block: int | None
    policy: Policy
    seed: int
    L: float | None
    limits: Limits
    record_every: int
    checkpoint: Checkpoint | None = None
    fingerprint: Fingerprint | None = None


def execute(
    config: Config, problem: Problem, ways: Any, start: Array, talk: Options, engine: Any = None
) -> Result:
    """Run what ``config`` describes, from ``start`` or on from ``talk.origin``."""
    oracles = Oracles(problem, ways, config.seed, config.sampling, config.block)
    choice = _engine(config, oracles, engine)
    if isinstance(choice.engine, Mpi) and choice.engine.follows:
        return choice.engine.follow()
    if config.checkpoint is not None:
        fingerprint = config.fingerprint or Fingerprint.of(problem.objective, problem.set)
        saver = Saver(config.checkpoint, replace(config, fingerprint=fingerprint))
        talk = replace(talk, saver=saver)
    log = None
    try:
        if choice.engine is not None and oracles.job is not None:
            log = EngineLog(choice.engine.name, choice.reason)
            oracles.driver = Driver(choice.engine, oracles.job, config.policy, log)
        with without_graphs(start if talk.origin is None else talk.origin.state.x):
            result = run(problem, config.solver, start, oracles, config.limits, talk)
        result.method, result.engine = config.method, log
        if isinstance(choice.engine, Mpi):
            choice.engine.conclude(result)
    except Exception as error:
        partial = getattr(error, "result", None)
        if isinstance(partial, Result):
            partial.method, partial.engine = config.method, log
        raise
    finally:
        if choice.ours and choice.engine is not None:
            choice.engine.close()
    if choice.reason:
        result.message += f" engine='auto': {choice.reason}."
    return result


def _engine(config: Config, oracles: Oracles, engine: Any) -> Choice:
    if oracles.job is not None and oracles.job.on_device and engine is not None:
        if isinstance(engine, str) and engine == "auto":
            return Choice(None, False)
        raise TypeError(
            f"x is {describe(oracles.job.smoothing.K.like)}, whose oracles are asked there in one "
            f"batch: leave engine out, found {engine!r}"
        )
    if oracles.job is not None:
        return choose_engine(engine, oracles.job, getattr(config.solver, "m", None))
    if engine is None or (isinstance(engine, str) and engine == "auto"):
        return Choice(None, False)
    raise TypeError(
        f"method {config.method!r} asks one oracle per round, so there is nothing for an engine to "
        "share out; leave engine out, or choose a method that draws perturbed oracles ('anytime', "
        "'r-pfw', 'pfw')"
    )


def as_checkpoint(checkpoint: Any) -> Checkpoint | None:
    """Return the user's ``checkpoint`` argument as an object."""
    if checkpoint is None or isinstance(checkpoint, Checkpoint):
        return checkpoint
    return Checkpoint(checkpoint)
