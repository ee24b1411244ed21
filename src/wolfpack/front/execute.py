"""The one road from a prepared task to its result, for every front door."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from ..arrays import Array, describe, without_graphs
from ..engines import (
    DataWorkers,
    Driver,
    Engine,
    EngineChoice,
    EngineLike,
    EngineLog,
    RankEngine,
    choose_engine,
)
from ..gradients import Gradients
from ..loop import Result, run
from ..loop.checkpoint import Saver
from ..loop.live_file import LiveFile
from ..loop.many_result import ManyResult
from ..loop.run import Options
from ..problem import CompositeProblem, LimitReached, Problem, Solver, counted
from ..problem.checks import shown
from ..smoothing import Oracles
from .config import CompositeSettings, Config, ConstrainedSettings, time_of
from .threads import few_threads

_log = logging.getLogger(__name__.partition(".")[0])
"""One line for each run, at level INFO."""


class ConvergenceError(RuntimeError):
    """A run did not reach its tolerance; ``result`` holds what it found."""

    def __init__(self, result: Result | ManyResult) -> None:
        status = f"{result.status}: " if isinstance(result, Result) else ""
        super().__init__(f"{status}{result.message}")
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception is rebuilt from `args`, which hold the message instead of the result.
        return type(self), (self.result,), self.__dict__


class PreparedRun(NamedTuple):
    """What the loop needs, prepared from a call.

    ``start`` is None for a run that is continued. ``oracles`` answers the questions of a round.
    ``conclude`` adds to the finished result what only this kind of problem has.
    """

    problem: Problem | CompositeProblem
    solver: Solver[Any]
    start: Array | None
    oracles: Oracles | Gradients
    conclude: Callable[[Result], None] | None = None


def execute(
    config: Config,
    task: PreparedRun,
    options: Options,
    engine: EngineLike | DataWorkers = None,
) -> Result:
    """Run a task, from its start or on from ``options.origin``; the clock began with the call."""
    choice = _choose_engine(config, task, engine)
    ranks = None if isinstance(engine, DataWorkers) else _ranks(choice.engine)
    if ranks is not None and ranks.follows:
        result = ranks.follow()
        if task.conclude is not None:
            task.conclude(result)
        return result
    if config.checkpoint is not None:
        options = replace(options, saver=Saver(config.checkpoint, config))
    log = None
    if options.watch is not None:
        options = replace(options, live=LiveFile(options.watch))
    try:
        oracles = task.oracles
        if isinstance(engine, DataWorkers):
            log = oracles.log = engine.log if choice.engine is not None else None
        if choice.engine is not None and isinstance(oracles, Oracles) and oracles.job is not None:
            assert isinstance(config.settings, ConstrainedSettings)
            policy = config.settings.policy
            if not isinstance(engine, DataWorkers):
                log = oracles.log = EngineLog(choice.engine.name, choice.reason)
            # without workers the run goes on to notice that its time is over
            with counted(time_of(config, options)), contextlib.suppress(LimitReached):
                if isinstance(engine, DataWorkers):
                    oracles.driver = engine.driver(oracles.job, policy)
                else:
                    assert log is not None
                    oracles.driver = Driver(choice.engine, oracles.job, policy, log)
        x = task.start if options.origin is None else options.origin.state.x
        with without_graphs(x), few_threads(task.problem, x):
            result = run(task.problem, task.solver, task.start, oracles, config.limits, options)
        ended = time.perf_counter()
        result.method, result.engine = config.method, log
        if ranks is not None:
            ranks.conclude(result)
    except Exception as error:
        partial = getattr(error, "result", None)
        if isinstance(partial, Result):
            partial.method, partial.engine = config.method, log
        if options.live is not None:
            options.live.fail(error)
        raise
    finally:
        if choice.ours and choice.engine is not None:
            choice.engine.close()
    if choice.reason:
        result.message += f" engine='auto': {choice.reason}."
    if task.conclude is not None:
        task.conclude(result)
    result.seconds += time.perf_counter() - ended
    if options.live is not None:
        options.live.finish(result)
    _log.info("%s: %s after %s rounds", result.method, result.status, result.nit)
    return result


def concluded(result: Result, raise_on_failure: bool) -> Result:
    """Return the result, or raise `ConvergenceError` if it is not the one that was asked for."""
    if raise_on_failure and not result.success:
        raise ConvergenceError(result)
    return result


def _ranks(engine: Engine | None) -> RankEngine | None:
    """Return an engine of ranks; looked for only where there is one, since that takes 20 us."""
    return engine if engine is not None and isinstance(engine, RankEngine) else None


def _choose_engine(
    config: Config, task: PreparedRun, engine: EngineLike | DataWorkers
) -> EngineChoice:
    if isinstance(engine, DataWorkers):
        return EngineChoice(engine.engine, False, engine.reason)
    job = task.oracles.job if isinstance(task.oracles, Oracles) else None
    if job is not None and not (job.on_device and engine is not None):
        return choose_engine(engine, job, getattr(task.solver, "m", None))
    if engine is None or (isinstance(engine, str) and engine == "auto"):
        return EngineChoice(None, False)
    if isinstance(config.settings, CompositeSettings):
        raise TypeError(
            "composite runs ask for gradients, and engines share out linear oracles: leave engine "
            f"out, found {shown(engine)}"
        )
    if job is not None:
        raise TypeError(
            f"x is {describe(job.smoothing.K.like)}, whose oracles are asked there in one batch: "
            f"leave engine out, found {shown(engine)}"
        )
    raise TypeError(
        f"method {config.method!r} asks one oracle per round, so there is nothing for an engine to "
        "share out; leave engine out, or choose a method that draws perturbed oracles ('anytime', "
        f"'r-pfw', 'pfw'), found engine {shown(engine)}"
    )
