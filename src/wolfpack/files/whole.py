"""Files that appear when they are complete.

A file is written under a temporary name in its folder, flushed to the disk and renamed. A full
disk, a crash or Ctrl-C therefore leaves what was there before. A symbolic link of that name is
replaced and never followed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_SPECIAL_FOLDERS = ("/dev", "/proc")


@contextmanager
def replacing(
    path: str | os.PathLike[str], keep: Path | None = None, durable: bool = True
) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of ``path`` when the block ends without an exception.

    What was there before is kept as ``keep``, if given. A file that is not ``durable`` costs no
    wait for the disk, and may be lost or empty after a power cut. Devices and pipes are written to
    directly.
    """
    path = Path(path)
    mode, named = _mode(path), str(path.parent.resolve()).startswith(_SPECIAL_FOLDERS)
    if named or (mode is not None and not stat.S_ISREG(mode)):
        with path.open("wb") as file:
            yield file
        return
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        # "x" refuses a name that exists already, also that of a symbolic link.
        with temporary.open("xb") as file:
            if mode is not None:
                with contextlib.suppress(OSError):
                    temporary.chmod(stat.S_IMODE(mode))
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        if keep is not None and os.path.lexists(path):
            os.replace(path, keep)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if durable:
        _sync_folder(path.parent)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8, whole or not at all."""
    with replacing(path) as file:
        file.write(text.encode())


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """Return a private folder whose files move into ``folder`` when the block ends well.

    Files that belong together are thus replaced together. If the block fails, ``folder`` keeps what
    it had.
    """
    with tempfile.TemporaryDirectory(
        prefix=".new-", dir=folder, ignore_cleanup_errors=True
    ) as name:
        yield Path(name)
        files = sorted(Path(name).iterdir())
        for path in files:
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        for path in files:
            os.replace(path, folder / path.name)
    _sync_folder(folder)


def _mode(path: Path) -> int | None:
    """Return the mode of what is written to, None for a new file or a link that is replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    return None if path.is_symlink() and stat.S_ISREG(mode) else mode


def _sync_folder(folder: Path) -> None:
    # This makes the rename itself survive a power cut. Not every system opens folders.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
