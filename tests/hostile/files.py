"""Damaged files: data of every format, checkpoints and saved results."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import io as scipy_io
from scipy import sparse

import wolfpack as wp
from wolfpack.problem_file import read_problem

from .calls import checkpoint, folder, least_squares, saved_result, use_objective, use_result
from .judge import Verdict, judge

MATRIX = np.arange(12.0).reshape(4, 3) / 7.0
PROBLEM = """
[data]
A = "{name}"
[objective]
type = "LeastSquares"
A = "A"
b = [0.93, 0.41, 0.17, 0.2]
[set]
type = "Simplex"
"""


class Damaged(NamedTuple):
    """A kind of file, and the seed of what is done to it."""

    kind: str
    seed: int


@cache
def sound() -> dict[str, bytes]:
    """Return a sound file of each format of data, by suffix."""
    files: dict[str, bytes] = {}
    for suffix, write in _WRITERS.items():
        stream = io.BytesIO()
        write(stream)
        files[suffix] = stream.getvalue()
    if find_spec("pyarrow") is not None:
        import pyarrow
        import pyarrow.parquet

        stream = io.BytesIO()
        table = pyarrow.table({f"c{i}": MATRIX[:, i] for i in range(3)})
        pyarrow.parquet.write_table(table, stream)
        files[".parquet"] = stream.getvalue()
    return files


def _matrix_market(matrix: object) -> Callable[[io.BytesIO], None]:
    return lambda stream: scipy_io.mmwrite(stream, matrix)


_WRITERS: dict[str, Callable[[io.BytesIO], None]] = {
    ".npy": lambda stream: np.save(stream, MATRIX),
    ".npz": lambda stream: np.savez(stream, A=MATRIX),
    ".sparse.npz": lambda stream: sparse.save_npz(stream, sparse.csr_array(MATRIX)),
    ".csv": lambda stream: np.savetxt(stream, MATRIX, delimiter=",", header="a,b,c", comments=""),
    ".mtx": _matrix_market(MATRIX),
    ".sparse.mtx": _matrix_market(sparse.coo_array(MATRIX)),
}


def damage(raw: bytes, seed: int) -> bytes:
    """Return the bytes with something wrong: cut, flipped, moved, repeated, made up."""
    rng = random.Random(seed)
    data = bytearray(raw)
    kind = rng.randrange(8)
    at = rng.randrange(max(1, len(data)))
    if rng.random() < 0.5:  # headers are where the damage is interesting
        at = min(at, rng.randrange(128))
    if kind == 0:
        del data[at:]
    elif kind == 1:
        data[at] = rng.randrange(256)
    elif kind == 2:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 3:
        del data[at : at + rng.randrange(1, 64)]
    elif kind == 4:
        data[at:at] = rng.randbytes(rng.randrange(1, 32))
    elif kind == 5:
        data[at : at + 8] = rng.choice(
            (b"\xff" * 8, b"\0" * 8, b"99999999", b"-1 -1 -1", b"nan,inf,")
        )
    elif kind == 6:
        data = bytearray(rng.randbytes(rng.randrange(300)))
    else:
        digits = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
        if digits:
            data[rng.choice(digits)] = rng.choice(b"0123456789-.eE,")
    return bytes(data)


def data_inputs(count: int, seed: int = 0) -> list[Damaged]:
    """Return ``count`` damaged files of data."""
    kinds = list(sound())
    return [Damaged(kinds[i % len(kinds)], seed + i) for i in range(count)]


@cache
def _place(name: str) -> Path:
    place = folder() / name
    place.mkdir(exist_ok=True)
    return place


def run_data(given: Damaged) -> Verdict:
    """Read a problem whose data are damaged."""
    place = _place("data")
    name = f"A{given.kind}"
    (place / name).write_bytes(damage(sound()[given.kind], given.seed))
    (place / "problem.toml").write_text(PROBLEM.format(name=name), encoding="utf-8")
    return judge(lambda: use_objective(read_problem(place / "problem.toml").objective))


def saved_inputs(count: int, seed: int = 0) -> list[Damaged]:
    """Return ``count`` damaged checkpoints and results."""
    return [Damaged(("checkpoint", "result")[i % 2], seed + i) for i in range(count)]


def run_saved(given: Damaged) -> Verdict:
    """Resume from a damaged checkpoint, or load a damaged result."""
    sound_file = Path(checkpoint() if given.kind == "checkpoint" else saved_result())
    path = _place("saved") / f"damaged{sound_file.suffix}"
    path.write_bytes(damage(sound_file.read_bytes(), given.seed))
    f, K = least_squares(), wp.sets.Simplex(3)

    def resume() -> None:
        use_result(wp.resume(path, f, K, checkpoint=None, max_rounds=5), f, K)

    return judge(resume if given.kind == "checkpoint" else lambda: use_result(wp.load(path), f, K))
