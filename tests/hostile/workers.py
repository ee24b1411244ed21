"""Run inputs in forked children, so that a crash or a hang costs one input and not the run."""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing as mp
import os
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import TypeVar

from .calls import folder
from .judge import Outcome, Verdict

T = TypeVar("T")

_CHILD_BYTES = 6 * 2**30
_PATIENCE = 60.0  # seconds after which a child that reports nothing hangs


def judged(
    inputs: Sequence[T], run: Callable[[T], Verdict], batch: int = 2000
) -> Iterator[tuple[T, Verdict]]:
    """Yield each input with its verdict, in order; children run ``batch`` of them each."""
    folder()  # before the first child, so that all have the same one
    start = 0
    while start < len(inputs):
        part = inputs[start : start + batch]
        done = 0
        for verdict in _in_child(part, run):
            yield part[done], verdict
            done += 1
        start += done


def _in_child(inputs: Sequence[T], run: Callable[[T], Verdict]) -> Iterator[Verdict]:
    """Yield the verdicts of a child; the last one is a crash or a hang if the child did not end."""
    context = mp.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(inputs, run, ours, theirs), daemon=True)
    sys.stdout.flush()
    child.start()
    theirs.close()
    try:
        for _ in inputs:
            if not ours.poll(_PATIENCE):
                yield Verdict(Outcome.HANG, f"longer than {_PATIENCE} s")
                return
            try:
                yield ours.recv()
            except EOFError:
                child.join()
                code = child.exitcode or 0
                name = signal.Signals(-code).name if code < 0 else f"exit {code}"
                yield Verdict(Outcome.CRASH, name)
                return
    finally:
        ours.close()
        if child.is_alive():
            child.kill()
        child.join()


def _work(
    inputs: Sequence[T], run: Callable[[T], Verdict], ours: Connection, theirs: Connection
) -> None:
    ours.close()
    faulthandler.disable()  # a crash is counted, and needs no report
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_CHILD_BYTES, _CHILD_BYTES))
    os.chdir(folder() / "here")  # some inputs name files
    with (
        open(os.devnull, "w") as null,
        contextlib.redirect_stdout(null),
        contextlib.redirect_stderr(null),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        for entry in inputs:
            theirs.send(run(entry))
    theirs.close()
    os._exit(0)
