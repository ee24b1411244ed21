"""Problems that have no batched form: `minimize` for each, here or on the workers of an engine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ..arrays import ArgumentError, Array, like, to_host
from ..engines import EngineLike, RankEngine, choose_engine
from ..loop import Status
from ..loop.many_result import ManyResult, as_statuses
from ..loop.progress import Progress
from ..problem import Counts, LimitReached, counted
from ..sets import Set
from ..smoothing.job import Job, Partial, Question
from .minimize import minimize

_GRACE = 1.0
"""Seconds at most, and a tenth of the time, that the driver waits for the last answers."""


class Answer(NamedTuple):
    """The result of one problem, as it travels; ``remark`` is the message of a contradiction."""

    x: np.ndarray | None
    numbers: tuple[Any, ...]
    status: str
    remark: str = ""

    @property
    def nbytes(self) -> int:
        """Bytes of the point."""
        return 0 if self.x is None else self.x.nbytes


UNTOUCHED = Answer(None, (math.nan, math.inf, -math.inf, 0, 0, 0, 0), Status.MAX_SECONDS)
"""What is known of a problem that was not begun in time."""


class InstanceJob(Job):
    """Problems as the blocks of a job, so that every engine can run them."""

    pins = False

    def __init__(self, f: Any, K: Any, x0: Array | None, settings: dict[str, Any]) -> None:
        self.f, self.K, self.x0, self.settings = f, K, x0, settings
        self._ends = math.inf  # when the time of all problems is over, by the clock of this process
        self._asked = -1
        # workers reserve memory for a question, which says nothing here
        self.smoothing: Any = SimpleNamespace(K=SimpleNamespace(dimension=1))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.f, self.K, self.x0, self.settings)

    def length(self, m: int) -> int:
        return 1

    def answers_of(self, question: Question, block: int) -> int:
        return 1

    def quiet(self) -> AbstractContextManager[object]:
        from contextlib import nullcontext

        return nullcontext()

    def compute(self, question: Question, blocks: range, pack: bool = True) -> list[Partial]:
        if self._asked != question.k:  # this worker's first problems of the call
            self._asked, self._ends = question.k, time.perf_counter() + float(question.v[0])
        return [Partial(1, self.in_time(i), 0.0) for i in blocks]  # pyright: ignore

    def in_time(self, i: int) -> Answer:
        """Return the answer of problem i in the time that is left, which may be none."""
        if self._ends == math.inf:
            return self.solve(i, None)
        left = self._ends - time.perf_counter()
        return self.solve(i, left) if left > 0.0 else UNTOUCHED

    def solve(self, i: int, seconds: float | None) -> Answer:
        """Return the answer of problem i; data that no objective accepts end it as nonfinite."""
        K = self.K if isinstance(self.K, Set) else self.K[i]
        try:
            f = self.f[i]
        except ArgumentError as error:
            if "NaN or infinite" not in str(error):
                error.add_note(f"in problem {i}")
                raise
            return Answer(None, (math.nan, math.inf, -math.inf, 0, 0, 0, 0), Status.NONFINITE)
        x0 = None if self.x0 is None else self.x0[i, ...]
        try:
            found = minimize(f, K, x0, progress=False, max_seconds=seconds, **self.settings)
        except Exception as error:
            error.add_note(f"in problem {i}")
            raise
        numbers = (found.fun, found.gap, found.lower_bound)
        numbers += (found.nit, found.nfev, found.njev, found.nlmo)
        remark = found.message if found.status is Status.CONTRADICTION else ""
        return Answer(np.asarray(to_host(found.x)), numbers, str(found.status), remark)


def solve_one_by_one(
    problems: Any,
    settings: dict[str, Any],
    engine: EngineLike,
    max_seconds: float | None,
    began: float,
    callback: Callable[[ManyResult], object] | None,
    progress: bool | None,
    reason: str,
) -> ManyResult:
    """Return the answers of `minimize` for each problem."""
    from .many import summary  # which imports this module

    job = InstanceJob(problems.f, problems.K, problems.x0, settings)
    method = settings["method"]
    engine = None if isinstance(engine, str) and engine == "auto" else engine
    choice = choose_engine(engine, job, None)
    answers: list[Answer | None] = [None] * problems.count
    status, name = Status.MAX_SECONDS, "this process"
    bar = Progress(progress, problems.count)

    def so_far(message: str) -> ManyResult:
        return _gathered(answers, problems, method, status, message, began)

    try:
        if choice.engine is None:
            for i in range(problems.count):
                left = None
                if max_seconds is not None:
                    left = max(0.0, began + max_seconds - time.perf_counter())
                    if left == 0.0 and i > 0:
                        break
                answer = answers[i] = job.solve(i, left)
                if answer.status == Status.INTERRUPTED:  # Ctrl-C is meant for all problems
                    status = Status.INTERRUPTED
                    break
                bar.share(i + 1, problems.count)
                if callback is not None:
                    callback(so_far("so far"))
        else:
            name = f"engine {choice.engine.name!r}"
            ends = math.inf if max_seconds is None else began + max_seconds
            followed = _on_engine(choice.engine, job, problems.count, choice.ours, answers, ends)
            if followed is not None:
                answers = followed
    except StopIteration:
        status = Status.CALLBACK_STOP
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    finally:
        bar.close()
    result = so_far("")
    how = f"solved one by one by minimize(method={method!r}) in {name}, since {reason}"
    remarks = enumerate("" if answer is None else answer.remark for answer in answers)
    first = next((f"Problem {i}: {remark}" for i, remark in remarks if remark), "")
    result.message = f"{summary(result, how)} {first}".strip()
    return result


def _on_engine(
    engine: Any,
    job: InstanceJob,
    count: int,
    ours: bool,
    answers: list[Answer | None],
    ends: float,
) -> list[Answer | None] | None:
    """Fill in the answers; return them where another process has driven the engine.

    Each worker is told how much time is left when it gets its first problem, and gives problems
    the rest of it. The driver waits a little longer, for the answers that they return at the end.
    """
    counts = Counts()
    counts.allow(ends, math.inf)
    try:
        with counted(counts):
            engine.open(job)
        if isinstance(engine, RankEngine) and engine.follows:
            return engine.follow()
        left = max(0.0, ends - time.perf_counter())
        counts.allow(ends + min(_GRACE, 0.1 * left), math.inf)
        question = Question(0, np.array([left]), 0.0, count)
        with counted(counts):
            found = engine.run_round(question, range(count))
        _enter(found, answers)
        if isinstance(engine, RankEngine):
            engine.conclude(answers)
        return None
    except LimitReached as reached:
        _enter(reached.done, answers)
        return None
    finally:
        if ours:
            engine.close()


def _enter(found: dict[int, Partial], answers: list[Answer | None]) -> None:
    for i, partial in found.items():
        answers[i] = partial.mean  # pyright: ignore


def _gathered(
    answers: list[Answer | None],
    problems: Any,
    method: str,
    status: Status,
    message: str,
    began: float,
) -> ManyResult:
    """Return answers as one result; problems that were not begun have the given status."""
    missing = Answer(None, (math.nan, math.inf, -math.inf, 0, 0, 0, 0), str(status))
    found = [missing if answer is None else answer for answer in answers]
    table = np.array([answer.numbers for answer in found], dtype=np.float64)
    starts: dict[int, np.ndarray] = {}
    points = np.stack([_point(answer, problems, i, starts) for i, answer in enumerate(found)])
    whole = table[:, 3:].astype(int)
    return ManyResult(
        x=like(points, problems.place) if points.dtype.kind == "f" else points,
        fun=table[:, 0],
        gap=table[:, 1],
        lower_bound=table[:, 2],
        status=as_statuses([Status(answer.status) for answer in found]),
        nit=whole[:, 0],
        nfev=whole[:, 1],
        njev=whole[:, 2],
        nlmo=whole[:, 3],
        method=method,
        message=message,
        seconds=time.perf_counter() - began,
    )


def _point(answer: Answer, problems: Any, i: int, starts: dict[int, np.ndarray]) -> np.ndarray:
    """Return the answer's point, or the start of a problem that has none.

    Each set is asked once, since its start may take a call of the user's oracle.
    """
    if answer.x is not None:
        return answer.x
    if problems.x0 is not None:
        return np.asarray(to_host(problems.x0[i, ...]))
    K = problems.K if isinstance(problems.K, Set) else problems.K[i]
    if id(K) not in starts:
        starts[id(K)] = np.asarray(K.start())
    return starts[id(K)]
