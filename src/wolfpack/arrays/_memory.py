"""Freed memory is kept for the next arrays."""

from __future__ import annotations

from functools import cache

import numpy as np

_MOST = 31 * 2**20
"""Bytes just below the largest size (32 MB) that glibc serves from memory that it has kept."""


@cache
def keep_freed_memory() -> None:
    """Let the C library keep the memory of freed arrays, up to 62 MB, for the arrays to come.

    A round frees as many arrays as it makes. By default glibc returns those of more than 128 KB to
    the operating system, which then fills the next ones with zeros, page by page: two thirds of the
    time of a round of Frank-Wolfe with 1e5 entries. When a larger mapping is freed, glibc takes its
    size as the new limit. So one array is made here and freed, without being touched. Other C
    libraries are not affected.
    """
    np.empty(_MOST, dtype=np.uint8)
