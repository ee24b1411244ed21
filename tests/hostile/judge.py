"""What became of a call: its outcome in one word, and the reason."""

from __future__ import annotations

import ast
import re
import signal
import traceback
from collections.abc import Callable, Collection
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import wolfpack

SOURCE = Path(wolfpack.__file__).parent


class Outcome(StrEnum):
    """What a hostile input led to."""

    REFUSED = "refused"
    RAN = "ran"
    RAW = "raw error"
    CRASH = "crash"
    HANG = "hang"
    FALSE = "false claim"


class Verdict(NamedTuple):
    """An outcome and what shows it."""

    outcome: Outcome
    reason: str = ""


class FalseClaim(Exception):
    """The library went on and returned something that is not true."""


class Hung(BaseException):
    """A call took longer than it may; no ``except Exception`` must swallow this."""


def judge(
    call: Callable[[], Any], names: Collection[str] = (), *, seconds: float = 20.0
) -> Verdict:
    """Call, and return what became of it; a refusal must name one of ``names`` (if any)."""
    previous = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        call()
    except Hung:
        return Verdict(Outcome.HANG, f"longer than {seconds} s")
    except FalseClaim as error:
        return Verdict(Outcome.FALSE, str(error))
    except Exception as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        return refusal(error, names)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    return Verdict(Outcome.RAN)


def _ring(number: int, frame: FrameType | None) -> None:
    raise Hung


def refusal(error: BaseException, names: Collection[str] = ()) -> Verdict:
    """Return whether an exception is a clear refusal.

    It is if the last frame of its traceback is a ``raise`` of this library, and its sentence names
    the argument and says what is allowed or what was found.
    """
    frames = traceback.extract_tb(error.__traceback__)
    last, text = frames[-1], str(error)
    where = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {text[:300]}"
    if not is_raise(last.filename, last.lineno or 0):
        return Verdict(Outcome.RAW, where)
    if names and not any(re.search(rf"(?<!\w){re.escape(n)}(?!\w)", text) for n in names):
        return Verdict(Outcome.RAW, f"names no argument: {where}")
    if not _SAYS.search(text):
        return Verdict(Outcome.RAW, f"says neither what was found nor what is allowed: {where}")
    return Verdict(Outcome.REFUSED, where)


_SAYS = re.compile(
    r"must|found|has |have |lacks|needs|takes|allowed|known|outside|cannot|not |no |pass|raise |"
    r"damaged|truncated|another|holds"
)


def is_raise(file: str, line: int) -> bool:
    """Tell whether a line of this library, or of scikit-learn's checks of data, is a ``raise``."""
    path = Path(file)
    checks_of_data = path.parts[-3:] == ("sklearn", "utils", "validation.py")
    if not (checks_of_data or path.is_relative_to(SOURCE)):
        return False
    return line in _raises(file)


@cache
def _raises(file: str) -> frozenset[int]:
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    return frozenset(node.lineno for node in ast.walk(tree) if isinstance(node, ast.Raise))
