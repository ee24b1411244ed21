"""Readers of data files: npy, npz, Matrix Market, CSV, Parquet.

None of them unpickles anything, and each checks the announced size before it takes memory.
"""

from __future__ import annotations

from .arrays import npz_names, read_npy, read_npz
from .matrix_market import read_matrix_market
from .tables import read_csv, read_parquet
from .words import ProblemError, among, show

__all__ = [
    "ProblemError",
    "among",
    "npz_names",
    "read_csv",
    "read_matrix_market",
    "read_npy",
    "read_npz",
    "read_parquet",
    "show",
]
