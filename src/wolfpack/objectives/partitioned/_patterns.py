"""Patterns of file names, and which files of several patterns belong together."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path

from ...arrays import ArgumentError

SIGNS = "*?["
"""Characters that make a name a pattern."""


def matching(pattern: str | os.PathLike[str]) -> list[Path]:
    """Return the files that a pattern names, in the order of their names."""
    text = os.fspath(pattern)
    found = [Path(text)]
    if any(sign in text for sign in SIGNS) and not os.path.exists(text):
        found = [Path(name) for name in sorted(glob.glob(text, recursive=True))]
        found = [path for path in found if path.is_file()]
    if not found:
        raise ArgumentError(f"parts: no file matches the pattern {text!r}")
    for path in found:
        if not path.is_file():
            raise ArgumentError(f"parts: there is no file {os.fspath(path)!r}")
    return [path.absolute() for path in found]


def side_by_side(
    patterns: Sequence[str], columns: Sequence[Sequence[Path]]
) -> list[tuple[Path, ...]]:
    """Return the files of each block: one of each pattern.

    Files go together in the order of their names. Where some names agree in what their patterns
    leave open, as in A-07.npy and b-07.npy, all must.

    >>> side_by_side(["A-*", "b-*"], [[Path("A-1"), Path("A-2")], [Path("b-2"), Path("b-3")]])
    Traceback (most recent call last):
    ...
    wolfpack...ArgumentError: parts: no file of 'b-*' goes with A-1
    """
    keys = [_keys(pattern, paths) for pattern, paths in zip(patterns, columns, strict=True)]
    for one, other in ((i, j) for i in range(len(keys)) for j in range(len(keys)) if i != j):
        alone = [key for key in keys[one] if key not in keys[other]]
        if alone and len(alone) < len(keys[one]):
            file = keys[one][alone[0]].name
            raise ArgumentError(f"parts: no file of {patterns[other]!r} goes with {file}")
    if len(set(map(len, columns))) > 1:
        counts = zip(columns, patterns, strict=True)
        found = ", ".join(f"{len(paths)} of {pattern!r}" for paths, pattern in counts)
        raise ArgumentError(f"parts must name as many files of each kind, found {found}")
    return list(zip(*columns, strict=True))


def _keys(pattern: str, paths: Sequence[Path]) -> dict[tuple[str, ...], Path]:
    """Return the files by what the pattern leaves open in their names."""
    # fnmatch's expression of a lone sign becomes a group
    pieces = re.split(r"(\*+|\?|\[[^\]]*\])", os.path.basename(pattern))
    signs = [fnmatch.translate(piece)[4:-3] for piece in pieces[1::2]]
    fixed = [re.escape(piece) for piece in pieces[::2]]
    text = fixed[0] + "".join(
        f"({sign}){after}" for sign, after in zip(signs, fixed[1:], strict=True)
    )
    found = {}
    for path in paths:
        match = re.fullmatch(text, path.name, re.DOTALL)
        found[match.groups() if match else (path.name,)] = path
    return found
