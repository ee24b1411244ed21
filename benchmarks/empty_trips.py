"""Bare round trips to every worker, by the means that each engine offers itself.

Messages have the size of the library's own, answers ``answer`` bytes; workers do nothing. What a
round of the library costs beyond this is the library's.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

Trip = tuple[Callable[[], None], Callable[[], object]]
"""A function that goes there and back, and one that stops what it needs."""


def _idle(answer: int) -> type:
    """Return an actor without work; a local class travels to workers by value."""

    class Idle:
        def nothing(self, message: bytes) -> bytes:
            return message[:answer]

    return Idle


def threads(workers: int, message: bytes) -> Trip:
    pool = ThreadPoolExecutor(workers)

    def trip() -> None:
        for future in [pool.submit(len, message) for _ in range(workers)]:
            future.result()

    return trip, pool.shutdown


def _echo(connection: Any, answer: int) -> None:
    while True:
        connection.send_bytes(connection.recv_bytes()[:answer])


def processes(workers: int, message: bytes, answer: int = 300) -> Trip:
    context = get_context("spawn")
    pairs = [context.Pipe() for _ in range(workers)]
    echoes = [
        context.Process(target=_echo, args=(there, answer), daemon=True) for _, there in pairs
    ]
    for process in echoes:
        process.start()

    def trip() -> None:
        for here, _ in pairs:
            here.send_bytes(message)
        for here, _ in pairs:
            here.recv_bytes()

    def stop() -> None:
        for process in echoes:
            process.kill()
            process.join()

    trip()
    return trip, stop


def dask(engine: Any, message: bytes, answer: int = 300) -> Trip:
    client = engine._client
    places = [worker.address.place for worker in engine.workers]
    idle = _idle(answer)
    with client.as_current():
        seats = [client.submit(idle, actor=True, workers=[p], pure=False) for p in places]
        actors = [seat.result() for seat in seats]

    def trip() -> None:
        with client.as_current():
            for future in [actor.nothing(message) for actor in actors]:
                future.result()

    trip()
    return trip, seats.clear


def ray(workers: int, message: bytes, answer: int = 300) -> Trip:
    import ray as library

    actors = [library.remote(num_cpus=0)(_idle(answer)).remote() for _ in range(workers)]

    def trip() -> None:
        library.get([actor.nothing.remote(message) for actor in actors])

    trip()
    return trip, actors.clear


def mpi(comm: Any, message: bytes) -> None:
    """Go there and back; every rank calls this."""
    comm.bcast(pickle.dumps(message[:200]))
    comm.Bcast(np.zeros(len(message) // 8))
    if comm.Get_rank() == 0:
        for _ in range(comm.Get_size() - 1):
            comm.recv()
    else:
        comm.send(message[:300], dest=0)
