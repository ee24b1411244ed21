"""Continue a run from its checkpoint."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from ..arrays import Array, describe, is_foreign
from ..engines import EngineLike
from ..loop import Callback, Limits, Result
from ..loop.checkpoint import Checkpoint, Snapshot, read
from ..loop.invariants import Implausible, check_invariants
from ..loop.run import Options
from ..objectives import Objective, as_objective
from ..problem import Counts
from ..problem.checks import as_float, checked, flag, optional, shown
from ..smoothing import Oracles
from ..solvers.integer import BranchAndBound
from .choose import as_set
from .config import Config, ConstrainedSettings, OtherProblem, as_checkpoint
from .execute import PreparedRun, concluded, execute
from .fingerprint import constrained_fingerprint
from .integer import prepare_integer
from .partitioned import with_workers
from .prepare import prepare_composite, prepare_constrained
from .random import schedule_of


def _as_place(value: Array, name: str) -> Array:
    """An array of any library, which says where to go on."""
    if is_foreign(value):
        return value
    if type(value) is not np.ndarray or value.dtype.kind != "f":
        raise TypeError(f"{name} must be an array of real numbers, found {shown(value)}")
    return value


_OF_TREES = {"gap": "tol", "max_nodes": "max_rounds"}
_LIMITS = ("tol", "rtol", "max_rounds", "max_seconds", "max_lmo", "max_passes")


@checked(raise_on_failure=flag, like=optional(_as_place))
@with_workers(1, "f")
def resume(
    path: str | PathLike[str],
    f: Any,
    K: Any,
    *,
    engine: EngineLike = None,
    checkpoint: bool | str | PathLike[str] | Checkpoint | None = True,
    callback: Callback | None = None,
    progress: bool | None = None,
    raise_on_failure: bool = False,
    like: Array | None = None,
    watch: str | PathLike[str] | None = None,
    **limits: Any,
) -> Result:
    """Continue a run that wrote a checkpoint: to the same bits as if it had never stopped.

    Parameters
    ----------
    path : str or Path
        The checkpoint. If it is missing or damaged, the generation before is used, with a warning.
    f, K : as for `minimize`
        The same problem (G and H for a run of `minimize_composite`); the checkpoint holds the state
        of the run, not the data. Another problem is noticed and refused.
    engine
        As for `minimize`; it need not be the one of the run before.
    checkpoint : True, None, str, Path or Checkpoint
        True goes on saving to ``path`` as before, None saves no more.
    callback, progress, raise_on_failure, watch
        As for `minimize`.
    like : array, optional
        Any array of the library, device and type to go on with, for runs on other arrays than
        NumPy's; those of f's data by default.
    **limits
        ``tol``, ``rtol``, ``max_rounds``, ``max_seconds``, ``max_lmo``, ``max_passes``: new values;
        those of the run before are kept otherwise. All count from the very beginning of the run.
        For a run of `minimize_integer` they may be called ``gap`` and ``max_nodes`` as well.
        ``math.inf`` lifts a limit, and None does too; ``rtol=None`` lifts that tolerance:
        ``resume(path, f, K, max_rounds=math.inf, max_seconds=60)``. When no limit is left, the
        default of `minimize`, 100,000 rounds, holds.

    Returns
    -------
    Result
        As of one run, the history included.

    Examples
    --------
    >>> import tempfile, numpy as np, wolfpack as wp
    >>> f = wp.objectives.LeastSquares(np.eye(3), np.array([0.9, 0.4, 0.1]))
    >>> path, K = tempfile.mkdtemp() + "/run.ckpt", wp.sets.Simplex(3)
    >>> _ = wp.minimize(f, K, method="r-pfw", max_rounds=20, tol=0, checkpoint=path)
    >>> wp.resume(path, f, K, max_rounds=40).nit
    40
    """
    began = time.perf_counter()
    limits = _by_names_of_loop(limits)
    if like is None and isinstance(f, Objective):
        like = f.like
    config, snapshot = read(path, like)
    if not isinstance(config, Config):
        raise ValueError(f"{path} is a checkpoint of something else: {type(config).__name__}")
    if checkpoint is True:
        checkpoint = replace(config.checkpoint, path=str(path)) if config.checkpoint else str(path)
    config = replace(
        config,
        limits=_limits(config.limits, limits),
        checkpoint=as_checkpoint(None if checkpoint is False else checkpoint),
    )
    view = Options(callback, progress, origin=snapshot, began=began, watch=watch)
    try:
        if isinstance(config.settings, ConstrainedSettings):
            settings = config.settings
            config, task = _constrained(config, settings, f, K, like, snapshot)
            assert isinstance(task.oracles, Oracles)
            schedule = schedule_of(task.oracles, config.record_every)
            view = replace(view, schedule=schedule, checks=settings.checks)
        else:
            config, task, view = prepare_composite(config, config.settings, f, K, view)
        check_invariants(snapshot, task.problem)
    except OtherProblem as error:
        raise ValueError(f"{path} was written for another problem: {error}") from None
    except Implausible as error:
        raise ValueError(f"{path} cannot be the checkpoint of this run: {error}") from None
    return concluded(execute(config, task, view, engine), raise_on_failure)


def _constrained(
    config: Config,
    settings: ConstrainedSettings,
    f: Any,
    K: Any,
    place: Array | None,
    snapshot: Snapshot,
) -> tuple[Config, PreparedRun]:
    """Return the config and the task of a run of `minimize` that is continued."""
    objective = as_objective(f, random=True)
    region = as_set(K)
    x = snapshot.state.x
    if is_foreign(place) and not is_foreign(x):
        raise TypeError(
            f"the checkpoint holds arrays of NumPy, and the data of f are {describe(place)}: "
            "resume it with NumPy's data"
        )
    config = config.identified(constrained_fingerprint(objective, region, place))
    if isinstance(config.solver, BranchAndBound):
        task = prepare_integer(config, settings, objective, region, Counts())
        return config, task._replace(start=None)
    return config, prepare_constrained(config, settings, objective, region.at(x), None, Counts())


def _by_names_of_loop(limits: dict[str, Any]) -> dict[str, Any]:
    """Return the limits by the names of the loop: trees call two of them ``gap``, ``max_nodes``."""
    renamed = {_OF_TREES.get(name, name): value for name, value in limits.items()}
    if len(renamed) < len(limits):
        raise TypeError("gap is tol, and max_nodes is max_rounds: pass one of the two names")
    return renamed


def _limits(old: Limits, given: dict[str, Any]) -> Limits:
    unknown = sorted(set(given) - set(_LIMITS))
    if unknown:
        raise TypeError(
            f"resume has no option {', '.join(map(repr, unknown))}; the method and its options are "
            f"those of the checkpoint, and only these can be changed: {', '.join(_LIMITS)}"
        )
    # a tolerance that is given now counts in place of the default
    given = {name: _lifted(name, value) for name, value in given.items()}
    return replace(old, **given, relative=old.relative and "tol" not in given)


def _lifted(name: str, value: Any) -> Any:
    """Return None for a limit that infinity lifts, other values as they are."""
    return None if name in _LIMITS[2:] and as_float(value) == math.inf else value
