"""One run per folder: a lock that ends with the process that holds it."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

NAME = "run.lock"


class FolderInUse(OSError):
    """Another process writes into the folder; the message says which."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, the file ``run.lock``; raise `FolderInUse` if somebody else does.

    The operating system frees the lock when its holder ends, however it ends, so that the file of
    a process that was killed does not matter. Where the file system knows no locks there is none.
    """
    path = folder / NAME
    handle = _acquired(path)
    try:
        yield
    finally:
        # Unlinked while it is still held: whoever opened it before looks again (`_acquired`).
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(handle)
        with contextlib.suppress(OSError):  # Windows unlinks no open file
            path.unlink()


def _acquired(path: Path) -> int:
    """Return a handle of the locked file."""
    while True:
        # a symbolic link is not followed, and the file is private
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(path, flags, 0o600)
        try:
            if not _lock(handle):
                raise FolderInUse(f"{path.parent} is in use by {_holder(handle)}")
            if _is_there(handle, path):
                os.ftruncate(handle, 0)
                os.write(handle, f"process {os.getpid()} on {platform.node()}\n".encode())
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # its last holder has just unlinked it


def _lock(handle: int) -> bool:
    """Lock the file without waiting; tell whether nobody else has."""
    try:
        if os.name == "nt":
            windows = import_module("msvcrt")
            # beyond the text, which others must be able to read
            os.lseek(handle, 1 << 20, os.SEEK_SET)
            windows.locking(handle, windows.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            unix = import_module("fcntl")
            unix.flock(handle, unix.LOCK_EX | unix.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True  # the file system knows no locks
    return True


def _is_there(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except OSError:
        return False


def _holder(handle: int) -> str:
    with contextlib.suppress(OSError):
        os.lseek(handle, 0, os.SEEK_SET)
        return os.read(handle, 200).decode("utf-8", "replace").strip() or "another process"
    return "another process"
