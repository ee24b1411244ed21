"""One launch for a whole function of arrays: CUDA graphs for PyTorch, jit for JAX."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from ._place import library, like, to_host
from ._types import Array

Round = Callable[..., tuple[Array, ...]]


class Compiled:
    """A function of arrays that is traced or recorded once, then run as a whole.

    The function is ``(numbers, *arrays) -> (*arrays_next, *more, results)``, where numbers and
    results are vectors. ``arrays_next`` have the shapes of ``arrays``, since the next call gets
    them. The function must not wait for the device. It is called as it is for libraries other than
    JAX and PyTorch on CUDA.
    """

    def __init__(self, function: Round) -> None:
        self.function = function
        self._run: Callable[..., tuple[Array, ...]] | None = None

    def __call__(
        self, numbers: Sequence[float] | Array, arrays: tuple[Array, ...]
    ) -> tuple[tuple[Array, ...], list[float]]:
        """Return the arrays, and the results as floats, for numbers of the host."""
        host = np.asarray(numbers, dtype=np.float64)
        if self._run is None:
            self._run = self._choose(arrays[0])
        *found, results = self._run(host, *arrays)
        return tuple(found), to_host(results).tolist()

    def _choose(self, x: Array) -> Callable[..., tuple[Array, ...]]:
        kind = library(x)
        if kind == "torch" and x.is_cuda:
            return Graphs(self.function)
        if kind == "jax":
            import jax

            return jax.jit(self.function)
        if kind == "torch":  # the numbers keep double precision, whatever the type of x
            import torch

            return lambda host, *arrays: self.function(torch.tensor(host, device=x.device), *arrays)
        return lambda host, *arrays: self.function(like(host, x), *arrays)


class Graphs:
    """A function recorded as two CUDA graphs between two sets of buffers.

    Recorded work reads and writes fixed memory. The first graph reads one set of arrays and writes
    their successors to the other set. The second does the reverse. So a call with what the last
    call returned, or with what it was given (a step taken again), copies nothing into buffers.
    Results are copies, which no later call touches.
    """

    def __init__(self, function: Round) -> None:
        self.function = function
        self.graphs: list[Array] = []

    def __call__(self, host: np.ndarray, *arrays: Array) -> tuple[Array, ...]:
        import torch

        if not self.graphs or self.pinned.shape[0] != host.size:
            self._record(host, arrays)
        side = next((i for i in (0, 1) if _same(self.given[i], arrays)), None)
        if side is None:
            side = 0
            for buffer, array in zip(self.buffers[0], arrays, strict=True):
                buffer.copy_(array)
            self.given[0] = arrays
        self.pinned.copy_(torch.from_numpy(host))
        self.numbers.copy_(self.pinned, non_blocking=True)
        self.graphs[side].replay()
        copies = [x.clone() for x in (*self.buffers[1 - side], *self.more[side])]
        self.given[1 - side] = tuple(copies[: len(arrays)])
        return (*copies, self.results[side])

    def _record(self, host: np.ndarray, arrays: tuple[Array, ...]) -> None:
        import torch

        place = arrays[0].device
        self.pinned = torch.zeros(host.size, dtype=torch.float64).pin_memory()
        self.numbers = torch.tensor(host, device=place)
        self.buffers = [[x.clone() for x in arrays], [x.clone() for x in arrays]]
        self.given: list[tuple[Array, ...]] = [(), ()]
        stream = torch.cuda.Stream(place)
        stream.wait_stream(torch.cuda.current_stream(place))
        with torch.cuda.stream(stream):
            for _ in range(2):  # libraries allocate what they need before the record
                self.function(self.numbers, *self.buffers[0])
        torch.cuda.current_stream(place).wait_stream(stream)
        self.graphs, self.more, self.results = [], [], []
        collects = gc.isenabled()
        gc.collect()
        gc.disable()  # a graph of an earlier run that is freed now would spoil the record
        try:
            for side in (0, 1):
                self._record_side(side, len(arrays))
        finally:
            if collects:
                gc.enable()

    def _record_side(self, side: int, count: int) -> None:
        import torch

        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            *found, results = self.function(self.numbers, *self.buffers[side])
            for buffer, array in zip(self.buffers[1 - side], found, strict=False):
                buffer.copy_(array)
        self.graphs.append(graph)
        self.more.append(found[count:])
        self.results.append(results)


class Repeated:
    """A function from arrays to arrays of the same shapes that is applied again and again.

    With PyTorch on CUDA the second call records it as a graph, and later calls launch the graph:
    launching each operation by itself takes longer than computing it where arrays are small. What a
    call returns is then overwritten by the next call. The function must not wait for the device,
    and must have no memory of its own. It is called as it is for other arrays, and where
    ``recordable`` is false.
    """

    def __init__(self, function: Callable[..., Sequence[Array]], recordable: bool = True) -> None:
        self.function, self.recordable = function, recordable
        self._calls = 0
        self._graph: Array = None

    def __call__(self, *arrays: Array) -> Sequence[Array]:
        """Return the function's answer for some arrays."""
        self._calls += 1
        x = arrays[0]
        recorded = self.recordable and library(x) == "torch" and x.is_cuda
        # the first call makes libraries allocate what they need
        if not recorded or self._calls == 1:
            return self.function(*arrays)
        if self._graph is None:
            self._graph = self._record(arrays)
        for buffer, array in zip(self._buffers, arrays, strict=True):
            if array is not buffer:
                buffer.copy_(array)
        self._graph.replay()
        return self._buffers

    @property
    def is_recorded(self) -> bool:
        """Whether calls launch a graph."""
        return self._graph is not None

    def _record(self, arrays: tuple[Array, ...]) -> Array:
        import torch

        self._buffers = tuple(x.clone() for x in arrays)
        stream = _side_stream(arrays[0].device)
        stream.wait_stream(torch.cuda.current_stream(arrays[0].device))
        graph = torch.cuda.CUDAGraph()
        collects = gc.isenabled()
        gc.disable()  # a graph of an earlier run that is freed now would spoil the record
        try:
            with torch.cuda.stream(stream):
                graph.capture_begin(capture_error_mode="thread_local")
                answers = self.function(*self._buffers)
                found = [x.clone() if _is_one_of(x, self._buffers) else x for x in answers]
                for buffer, array in zip(self._buffers, found, strict=True):
                    buffer.copy_(array)
                graph.capture_end()
        finally:
            if collects:
                gc.enable()
        return graph


@cache
def _side_stream(device: Array) -> Array:
    """Return the stream on which graphs are recorded, one for each device."""
    import torch

    return torch.cuda.Stream(device)


def _is_one_of(x: Array, arrays: tuple[Array, ...]) -> bool:
    return any(x is other for other in arrays)


def _same(a: tuple[Array, ...], b: tuple[Array, ...]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))
