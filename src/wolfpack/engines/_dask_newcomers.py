"""How workers of Dask come into a run, and which address is no scheduler's.

A worker without wolfpack cannot even read a message that names a class of ours: Dask would end it.
So a newcomer is first asked, in words of Python alone, whether it can import the library. Only
then does it get an actor. Nothing here waits, so that a newcomer that freezes delays nobody.
"""

from __future__ import annotations

import socket
import uuid
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..arrays import ArgumentError
from ._set_aside import SetAside

if TYPE_CHECKING:
    from distributed import Future

_SPEAKS_SECONDS = 2.0
"""Seconds in which a scheduler greets whoever connects; servers of web pages wait to be asked."""


class Arrived(NamedTuple):
    """A worker whose actor has read the job."""

    place: str
    host: str
    future: Future


@dataclass(eq=False)
class _Newcomer:
    """A worker that is asked whether it can be used; ``found`` is the answer or what it raised."""

    place: str
    host: str = ""
    found: bool | BaseException | None = None
    future: Future | None = None


class Newcomers:
    """Workers of a cluster on their way into a run.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    actor : type
        The class of actors, made from ``job``.
    job : bytes
        What the actors are to compute.
    engine : str
        What messages call the engine.
    set_aside : SetAside
        Where those are noted that cannot be used.
    """

    def __init__(
        self, client: Any, actor: type, job: bytes, engine: str, set_aside: SetAside
    ) -> None:
        self._client, self._actor, self._job, self._engine = client, actor, job, engine
        self._set_aside = set_aside
        self._coming: dict[str, _Newcomer] = {}

    def __len__(self) -> int:
        return len(self._coming)

    def advance(self, present: Collection[str], known: Collection[str]) -> Iterator[Arrived]:
        """Yield who has read the job by now; ``present`` are all workers, ``known`` those used."""
        self._set_aside.forget_others(present)
        self._coming = {place: one for place, one in self._coming.items() if place in present}
        for place in present:
            if not (place in known or place in self._coming or place in self._set_aside):
                self._coming[place] = newcomer = _Newcomer(place)
                self._client.loop.add_callback(self._ask, newcomer)
        for newcomer in list(self._coming.values()):
            arrived = self._step(newcomer)
            if arrived is not None:
                del self._coming[newcomer.place]
                yield arrived

    async def _ask(self, newcomer: _Newcomer) -> None:
        """Ask a worker for the name of its host, and whether it can import the library."""
        place, run = newcomer.place, self._client.run
        words = f"bool(__import__({self._actor.__module__!r}))"
        try:
            newcomer.host = (await run(socket.gethostname, workers=[place]))[place]
            newcomer.found = (await run(eval, words, workers=[place], on_error="return"))[place]
        except Exception as error:
            newcomer.found = error

    def _step(self, newcomer: _Newcomer) -> Arrived | None:
        found, future, place = newcomer.found, newcomer.future, newcomer.place
        name = f"the Dask worker {place} on {newcomer.host}"
        if isinstance(found, OSError):  # It could not be reached: ask again if it stays.
            del self._coming[place]
        elif isinstance(found, BaseException):
            self._refuse(place, name, f"{type(found).__name__}: {found}")
        elif found and future is None:
            newcomer.future = self._new_actor(place)
        elif future is not None:
            if future.status == "finished":
                return Arrived(place, newcomer.host, future)
            if future.status in ("error", "cancelled"):
                why = future.exception() if future.status == "error" else "it was cancelled"
                self._refuse(place, name, f"it could not read the job: {why}")
        return None

    def _refuse(self, place: str, name: str, cause: str) -> None:
        del self._coming[place]
        self._set_aside.add(place, name, self._engine, cause)

    def _new_actor(self, place: str) -> Future:
        """Begin to make an actor on a worker; the job travels with it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # Dask warns of large jobs.
            key = f"wolfpack-{uuid.uuid4().hex}"
            return self._client.submit(self._actor, self._job, key=key, workers=[place], actor=True)


def check_address(address: str) -> None:
    """Refuse the address of a web server, such as that of Dask's dashboard.

    A client would wait for its greeting until its patience ends. A scheduler that cannot be reached
    yet is the client's business.
    """
    scheme, _, rest = address.rpartition("://")
    host, _, port = rest.partition("/")[0].rpartition(":")
    if scheme not in ("", "tcp") or not port.isdecimal():
        return
    place = host.strip("[]"), int(port)
    try:
        with socket.create_connection(place, _SPEAKS_SECONDS) as link:
            if link.recv(1):
                return
    except TimeoutError:
        pass
    except OSError:
        return
    try:
        with socket.create_connection(place, _SPEAKS_SECONDS) as link:
            link.sendall(b"GET / HTTP/1.0\r\n\r\n")
            answer = link.recv(5)
    except OSError:
        return
    if answer == b"HTTP/":
        raise ArgumentError(
            f"engine='dask:{address}' must name a scheduler, found a server of web pages (the "
            "dashboard has port 8787): pass the address that the scheduler prints, such as "
            f"'dask:tcp://{host}:8786'"
        )
