"""Files are written whole or not at all, and one run at a time uses a folder."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import wolfpack as wp
from problems import small_simplex
from wolfpack.files import FolderInUse, locked, replacing, staging, write_text


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_new_text_takes_the_place_of_the_old_one(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    path.chmod(0o640)
    write_text(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file(failure, tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def half() -> None:
        with replacing(path) as file:
            file.write(b"ne")
            raise failure

    with pytest.raises(type(failure)):
        half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_the_disk_refuses_at_the_very_end_changes_nothing(tmp_path, monkeypatch):
    f, K, x0 = small_simplex()
    res = wp.minimize(f, K, x0, method="fw", max_rounds=3)
    path = res.save(tmp_path / "a.npz")
    res.history.to_csv(tmp_path / "a.csv")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        wp.minimize(f, K, x0, method="fw", max_rounds=5).save(path)
    with pytest.raises(OSError, match="No space left"):
        wp.minimize(f, K, x0, method="fw", max_rounds=5).history.to_csv(tmp_path / "a.csv")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_links_are_replaced_and_devices_are_written_to(tmp_path):
    target, link = tmp_path / "target", tmp_path / "folder" / "link"
    target.write_text("mine")
    link.parent.mkdir()
    link.symlink_to(target)
    write_text(link, "new")
    assert target.read_text() == "mine"
    assert link.read_text() == "new"
    assert not link.is_symlink()
    if Path("/dev/full").exists():
        write_text("/dev/null", "nothing")
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
        with pytest.raises(OSError, match="No space left"):
            write_text("/dev/full", "too much")


def test_files_that_belong_together_come_together(tmp_path):
    write_text(tmp_path / "a", "old")

    def half() -> None:
        with staging(tmp_path) as stage:
            write_text(stage / "a", "new")
            full()

    with pytest.raises(OSError, match="No space left"):
        half()
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"a": "old"}
    with staging(tmp_path) as stage:
        assert stat.S_IMODE(stage.stat().st_mode) == 0o700
        write_text(stage / "a", "new")
        write_text(stage / "b", "new")
        assert (tmp_path / "a").read_text() == "old"
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"a": "new", "b": "new"}


def test_a_folder_has_one_holder_and_its_end_frees_it(tmp_path):
    with locked(tmp_path):
        with pytest.raises(FolderInUse, match=f"in use by process {os.getpid()} on "):
            locked(tmp_path).__enter__()
        assert (tmp_path / "run.lock").exists()
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path):
        pass


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path):
    script = textwrap.dedent(
        f"""
        import os, pathlib, signal
        from wolfpack.files import locked
        with locked(pathlib.Path({str(tmp_path)!r})):
            os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == -9
    assert (tmp_path / "run.lock").exists()
    with locked(tmp_path):
        assert f"process {os.getpid()} " in (tmp_path / "run.lock").read_text()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "run.lock").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="symbolic link"):
        locked(tmp_path).__enter__()
    assert (tmp_path / "mine").read_text() == "mine"


def test_arrays_survive(tmp_path):
    with replacing(tmp_path / "a.npy") as file:
        np.save(file, np.arange(5))
    assert np.array_equal(np.load(tmp_path / "a.npy"), np.arange(5))
