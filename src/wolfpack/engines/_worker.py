"""The worker's side: a job, and the blocks that the driver asks for."""

from __future__ import annotations

import pickle
import time
import traceback

from ..problem import LimitReached
from ..sets._batch import stay_serial
from ..smoothing.job import Job, Question
from ._messages import Failure, Reply, deserialize


class BlockWorker:
    """Computes blocks of one job, which may be given as the bytes that `serialize` made.

    With ``pack``, contributions are made small for sending. With ``serial``, the set answers the
    directions of a batch one after the other, since several workers keep the cores busy.
    """

    def __init__(self, job: Job | bytes | memoryview, pack: bool = True, serial: bool = True):
        self.job = job if isinstance(job, Job) else deserialize(job)
        self._pack = pack
        self._serial = serial

    def work(self, ticket: int, question: Question, blocks: range) -> Reply:
        """Compute some blocks; an exception of the oracle becomes part of the reply."""
        began = time.perf_counter()
        partials = error = None
        try:
            if self._serial:
                stay_serial()
            partials = self.job.compute(question, blocks, self._pack)
        except LimitReached:  # The driver works in its own process, and its time is over.
            raise
        except (Exception, SystemExit) as raised:  # An oracle must not end its worker.
            error = _failure(raised)
        return Reply(ticket, partials, error, time.perf_counter() - began)


def _failure(error: BaseException) -> Failure:
    notes = "".join(f", {note}" for note in getattr(error, "__notes__", []))
    lines = "".join(traceback.format_exception(error, limit=-4))
    text = f"{type(error).__name__}: {error}{notes}"
    try:
        return Failure(pickle.loads(pickle.dumps(error)), text, lines)
    except Exception:
        return Failure(None, text, lines)
