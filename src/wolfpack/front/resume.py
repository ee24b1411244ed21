"""Continue a run from its checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..arrays import describe, is_foreign
from ..loop import Limits, Result
from ..loop.checkpoint import read
from ..loop.fingerprint import Fingerprint
from ..loop.run import Options
from ..objectives import as_objective
from ..problem import Problem
from ..sets import Set
from .composite import resume_composite
from .composite_run import CompositeConfig
from .execute import Config, as_checkpoint, execute
from .minimize import ConvergenceError, smoothing_of

_LIMITS = ("tol", "rtol", "max_rounds", "max_seconds", "max_lmo")


def resume(
    path: str | Path,
    f: Any,
    K: Any,
    *,
    engine: Any = None,
    checkpoint: Any = True,
    callback: Callable[[Result], Any] | None = None,
    progress: bool | None = None,
    raise_on_failure: bool = False,
    like: Any = None,
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
    callback, progress, raise_on_failure
        As for `minimize`.
    like : array, optional
        Any array of the library, device and type to go on with, for runs on other arrays than
        NumPy's; those of f's data by default.
    **limits
        ``tol``, ``rtol``, ``max_rounds``, ``max_seconds``, ``max_lmo``: new values; those of the
        run before are kept otherwise. All count from the very beginning of the run.

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
    if like is None:
        like = getattr(f, "like", None)
    config, snapshot = read(path, like)
    if checkpoint is True and isinstance(config, Config | CompositeConfig):
        checkpoint = replace(config.checkpoint, path=str(path)) if config.checkpoint else path
    if isinstance(config, CompositeConfig):
        config = replace(
            config, limits=_limits(config.limits, limits), checkpoint=as_checkpoint(checkpoint)
        )
        talk = Options(callback, progress)
        result = resume_composite(config, snapshot, path, f, K, talk)
        return _checked(result, raise_on_failure)
    if not isinstance(config, Config):
        raise ValueError(f"{path} is a checkpoint of something else: {type(config).__name__}")
    objective = as_objective(f)
    if not isinstance(K, Set):
        raise TypeError(f"K must be a set (wolfpack.sets), found {type(K).__name__}")
    if is_foreign(like) and not is_foreign(snapshot.state.x):
        raise TypeError(
            f"{path} holds arrays of NumPy, and the data of f are {describe(like)}: resume it with "
            "NumPy's data"
        )
    _check_problem(path, config, Fingerprint.of(objective, K, like))
    config = replace(
        config, limits=_limits(config.limits, limits), checkpoint=as_checkpoint(checkpoint)
    )
    K = K.at(snapshot.state.x)
    ways = smoothing_of(
        config.method, config.solver, (objective, K), config.noise, config.smoothing
    )
    talk = Options(callback, progress, config.record_every, origin=snapshot)
    result = execute(config, Problem(objective, K, config.L), ways, None, talk, engine)
    return _checked(result, raise_on_failure)


def _checked(result: Result, raise_on_failure: bool) -> Result:
    if raise_on_failure and not result.success:
        raise ConvergenceError(result)
    return result


def _check_problem(path: Any, config: Config, found: Fingerprint) -> None:
    difference = config.fingerprint.difference(found) if config.fingerprint else ""
    if difference:
        raise ValueError(f"{path} was written for another problem: {difference}")


def _limits(old: Limits, given: dict[str, Any]) -> Limits:
    unknown = sorted(set(given) - set(_LIMITS))
    if unknown:
        raise TypeError(
            f"resume has no option {', '.join(map(repr, unknown))}; the method and its options are "
            f"those of the checkpoint, and only these can be changed: {', '.join(_LIMITS)}"
        )
    return replace(old, **{name: value for name, value in given.items() if value is not None})
