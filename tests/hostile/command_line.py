"""The command line with full, closed and narrow streams, and with Ctrl-C at any moment."""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from wolfpack import cli

from .calls import folder
from .judge import FalseClaim, Outcome, Verdict, judge
from .toml_files import SOUND as PROBLEMS
from .toml_files import Damaged, text_of

COMMANDS = (
    ("--version",),
    ("--help",),
    ("info", "--json"),
    ("check", "problem.toml"),
    ("solve", "problem.toml", "--out", "out", "--overwrite"),
    ("solve", "problem.toml", "--out", "out", "--overwrite", "--json"),
    ("solve", "problem.toml", "--out", "out", "--overwrite", "--quiet"),
    ("resume", "out"),
    ("resume", "problem.toml"),
    ("solve", "no-such.toml"),
    ("solve", "problem.toml", "--out", "/dev/full"),
    ("solve", "problem.toml", "--out", "out", "--engine", "no such engine", "--overwrite"),
    ("solve", "problem.toml", "--out", "a" * 300),
    ("solve", "problem.toml", "--out", "problem.toml/out"),
    ("solve", "problem.toml", "--out", "out", "--log", "/dev/full", "--overwrite"),
    ("solve", "problem.toml", "--tol", "x"),
    ("no-such-command",),
    ("solve", "prob\udcfflem.toml"),
    ("check", "wörter ∇.toml"),
)
STREAMS = ("full", "closed", "ascii", "latin-1", "as usual")


class Session(NamedTuple):
    """A command with its two streams, a problem file, and when Ctrl-C comes (in ms, or never)."""

    command: tuple[str, ...]
    out: str
    err: str
    problem: Damaged | str
    interrupt: float | None


def inputs(count: int, seed: int = 0) -> list[Session]:
    """Return ``count`` sessions."""
    rng = random.Random(seed)
    sessions: list[Session] = []
    for i in range(count):
        sound = rng.choice(list(PROBLEMS))
        problem = sound if rng.random() < 0.6 else Damaged(sound, seed + i)
        late = 10.0 ** rng.uniform(-1, 2.3) if rng.random() < 0.4 else None
        command, out, err = rng.choice(COMMANDS), rng.choice(STREAMS), rng.choice(STREAMS)
        sessions.append(Session(command, out, err, problem, late))
    return sessions


def run(given: Session) -> Verdict:
    """Run a session: it must end with a known code and print no traceback."""
    place = folder() / "sessions"
    place.mkdir(exist_ok=True)
    os.chdir(place)
    text = given.problem if isinstance(given.problem, str) else text_of(given.problem)
    raw = PROBLEMS[text].encode() if isinstance(text, str) else text
    for name in ("problem.toml", "wörter ∇.toml"):
        Path(os.fsencode(name).decode(sys.getfilesystemencoding(), "surrogateescape")).write_bytes(
            raw
        )
    codes: list[int] = []

    def session() -> None:
        with (
            _streams(given.out, given.err) as said,
            contextlib.suppress(KeyboardInterrupt),  # the timer may ring when the command has ended
            _interrupted(given.interrupt),
        ):
            codes.append(cli.run(given.command))
        # An interrupt that meets a callback of a weak reference is reported by Python itself, which
        # then goes on. No code of ours can catch it.
        if b"Traceback" in said() and b"Exception ignored in" not in said():
            raise FalseClaim(f"a traceback was printed: {said()[-1500:]!r}")

    verdict = judge(session, seconds=20.0)
    code = codes[0] if codes else 130  # Ctrl-C before the command began
    if verdict.outcome is Outcome.RAN and code not in (0, 1, 2, 3, 130):
        return Verdict(Outcome.RAW, f"the exit code is {code}")
    if verdict.outcome is Outcome.REFUSED:
        return Verdict(Outcome.RAW, f"an exception left the command line: {verdict.reason}")
    if verdict.outcome is Outcome.RAN and code == 2:
        return Verdict(Outcome.REFUSED, "one line and code 2")
    return verdict


@contextlib.contextmanager
def _streams(out: str, err: str) -> Iterator[object]:
    """Replace the standard streams; yield a function that returns what was written to files."""
    before = sys.stdout, sys.stderr
    files = [Path(f"{name}.txt") for name in ("out", "err")]
    opened = [_stream(kind, file) for kind, file in zip((out, err), files, strict=True)]
    sys.stdout, sys.stderr = opened
    try:
        yield lambda: b"".join(file.read_bytes() for file in files if file.exists())
    finally:
        sys.stdout, sys.stderr = before
        for stream in opened:
            if stream is not None:
                with contextlib.suppress(OSError, ValueError):
                    stream.close()


def _stream(kind: str, file: Path) -> io.TextIOWrapper | None:
    file.unlink(missing_ok=True)
    if kind == "closed":
        return None
    encoding = kind if kind in ("ascii", "latin-1") else "utf-8"
    return open("/dev/full" if kind == "full" else file, "w", encoding=encoding)


@contextlib.contextmanager
def _interrupted(milliseconds: float | None) -> Iterator[None]:
    """Send Ctrl-C after some time of this process's own work."""
    if milliseconds is None:
        yield
        return
    ours = signal.signal(signal.SIGVTALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_VIRTUAL, milliseconds / 1e3)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, ours)
        signal.signal(signal.SIGINT, usual)
