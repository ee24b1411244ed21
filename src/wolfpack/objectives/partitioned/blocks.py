"""The blocks of a sum where they are computed: kept in memory up to a limit, else read again."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from scipy.sparse import issparse

from ...arrays import as_plain
from ...problem import tick
from .._base import Objective
from ._part import Part, size_of
from .loss import BlockLoss, Facts
from .tasks import ANSWERS, SUMS, Task
from .tree import NodeSum, nodes_within

_LEFT_FREE = 0.25
"""Share of the machine's memory that blocks leave free where no limit is given."""

_NOTHING = np.zeros(0)


class BlockError(ValueError):
    """A block of data cannot be used; the message names it."""


class Contribution(NamedTuple):
    """What a block contributes: the sum of ``count`` blocks from it on, 0 if another has it."""

    count: int
    vector: np.ndarray
    answer: Any = None


class _Kept(NamedTuple):
    """A block in memory: its data, or with ``options`` its objective."""

    options: Any
    value: Any
    nbytes: int


class Blocks:
    """The blocks of a sum and its loss, as they are sent to workers.

    A worker loads the blocks that it is asked for, and keeps them for later questions while they
    fit into ``memory`` bytes together with two more that are being read. Without a limit it keeps
    them while a quarter of the machine's memory is free. Copies in one process share what is kept.
    """

    def __init__(self, parts: tuple[Part, ...], loss: BlockLoss, memory: int | None = None):
        self.parts = parts
        self.loss = loss
        self.memory = memory
        self.token = uuid.uuid4().hex
        self._store = _Store()
        _stores[self.token] = self._store

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_store"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._store = _stores.get(self.token) or _Store()
        _stores[self.token] = self._store
        _last[:] = [self._store]

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def kept_bytes(self) -> int:
        """Bytes of the blocks that this process keeps in memory."""
        return self._store.nbytes

    def compute(
        self, task: Task, x: np.ndarray, also: np.ndarray | None, blocks: range
    ) -> list[Contribution]:
        """Return what each block contributes to a task; sums stand at the first block of a node."""
        found: list[Contribution] = []
        answer, compute = ANSWERS.get(task.kind), SUMS.get(task.kind)
        for node in nodes_within(blocks, len(self)):
            total = NodeSum()
            for i, value in self._sweep(node, task):
                tick()
                try:
                    if answer is not None:
                        found.append(Contribution(1, _NOTHING, answer(value, x)))
                        continue
                    assert compute is not None
                    total.add(compute(value, i, task, x, also, self._store.lines))
                except Exception as error:
                    error.add_note(f"in {self.title(i)}")
                    raise
            if answer is None:
                found.append(Contribution(len(node), total.total()))
                found += [Contribution(0, _NOTHING)] * (len(node) - 1)
        return found

    def glance(self, i: int) -> Facts:
        """Return the facts of a block, read here and not kept."""
        facts: Facts = self._get(i, Task("facts"))
        self._store.drop(i)
        return facts

    def title(self, i: int) -> str:
        """Return what messages call a block."""
        return f"block {i} ({self.parts[i].name})"

    def _sweep(self, order: Sequence[int], task: Task) -> Iterator[tuple[int, Any]]:
        """Yield blocks in order; a thread reads the next one ahead if it is not in memory."""
        ahead: Future[Any] | None = None
        with ExitStack() as held:
            reader: ThreadPoolExecutor | None = None
            for place, i in enumerate(order):
                value = self._get(i, task) if ahead is None else ahead.result()
                ahead = None
                if place + 1 < len(order) and not self._store.has(order[place + 1]):
                    if reader is None:
                        reader = held.enter_context(ThreadPoolExecutor(1))
                    ahead = reader.submit(self._get, order[place + 1], task)
                yield i, value
                del value

    def _get(self, i: int, task: Task) -> Any:
        """Return a block's facts, or its objective with the options of a task."""
        with self._store.lock(i):
            kept = self._store.kept.get(i)
            part = self.parts[i]
            if task.kind != "facts" and kept is not None and kept.options == task.options:
                self._named(i, part.check)
                return kept.value
            self._store.drop(i)
            raw = kept is not None and kept.options is None
            data = kept.value if kept is not None and raw else self._named(i, part.load)
            if task.kind == "facts":
                facts = self._named(i, lambda: self.loss.facts(data))
                self._keep(i, _Kept(None, data, 0 if part.resident else facts.nbytes))
                return facts
            objective = self._named(i, lambda: self.loss.objective(data, dict(task.options)))
            self._keep(i, _Kept(task.options, objective, _memory_of(objective, data, part)))
            return objective

    def _named(self, i: int, call: Any) -> Any:
        """Return what ``call`` returns; what it raises names the block."""
        try:
            return call()
        except BlockError:
            raise
        except (Exception, SystemExit) as error:
            what = str(error) or type(error).__name__
            known = isinstance(error, ValueError | TypeError) or not str(error)
            what = what if known else f"{type(error).__name__}: {what}"
            raise BlockError(f"{self.title(i)} cannot be used: {what}") from error

    def _keep(self, i: int, kept: _Kept) -> None:
        store = self._store
        with store.guard:
            store.largest = max(store.largest, kept.nbytes)
            if self.memory is None:
                fits = kept.nbytes == 0 or _fits_machine(kept.nbytes)
            else:
                fits = store.nbytes + kept.nbytes + 2 * store.largest <= self.memory
            if fits or kept.nbytes == 0:
                store.kept[i] = kept
                store.nbytes += kept.nbytes


class _Store:
    """What a process keeps of some blocks."""

    def __init__(self) -> None:
        self.kept: dict[int, _Kept] = {}
        self.nbytes = 0
        self.largest = 0
        self.lines: dict[int, Any] = {}
        self.guard = threading.Lock()
        self._locks: dict[int, threading.Lock] = {}

    def lock(self, i: int) -> threading.Lock:
        """Return the lock of a block, which one thread at a time loads."""
        with self.guard:
            return self._locks.setdefault(i, threading.Lock())

    def has(self, i: int) -> bool:
        return i in self.kept

    def drop(self, i: int) -> None:
        """Forget a block."""
        with self.guard:
            kept = self.kept.pop(i, None)
            if kept is not None:
                self.nbytes -= kept.nbytes


_stores: WeakValueDictionary[str, _Store] = WeakValueDictionary()
_last: list[_Store] = []
"""What a worker keeps between two jobs about the same blocks."""


def _memory_of(objective: Objective, data: Any, part: Part) -> int:
    """Return the bytes that a block takes beside what is in memory anyway."""
    A = getattr(objective, "A", None)
    if issparse(A):
        return 2 * size_of(A)  # products with the transpose take a second copy
    given = data[0] if isinstance(data, tuple) and data else data
    shared = isinstance(A, np.ndarray) and np.may_share_memory(A, np.asarray(as_plain(given, "A")))
    if part.resident and (shared or A is None):
        return 0
    if isinstance(A, np.ndarray):
        return A.nbytes
    return sum(size_of(array) for array in data) if isinstance(data, tuple) else size_of(data)


def _fits_machine(nbytes: int) -> bool:
    """Tell whether a block leaves a quarter of the machine's memory free."""
    try:
        with open("/proc/meminfo") as file:
            known = dict(line.split(":", 1) for line in file)
        total, free = (1024 * int(known[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError, IndexError):
        return True
    return free - nbytes >= _LEFT_FREE * total


__all__ = ["BlockError", "Blocks", "Contribution", "Facts"]
