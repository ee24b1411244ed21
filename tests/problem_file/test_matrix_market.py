"""Matrix Market files: what SciPy writes is read, and whatever is damaged is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmread, mmwrite

from wolfpack.problem_file.schema import ProblemError
from wolfpack.readers import read_matrix_market

RNG = np.random.default_rng(0)
SQUARE = np.round(RNG.standard_normal((6, 6)), 3)
SQUARE[abs(SQUARE) < 0.5] = 0.0
TALL = np.round(RNG.standard_normal((7, 3)), 3)
HEAD = "%%MatrixMarket matrix coordinate real general\n"


def read(path: Path) -> Any:
    return read_matrix_market(path, lambda size: None)


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(
    ("matrix", "symmetry"),
    [
        (TALL, "general"),
        (SQUARE + SQUARE.T, "symmetric"),
        (SQUARE - SQUARE.T, "skew-symmetric"),
        ((10 * TALL).astype(int), "general"),
        (np.zeros((3, 4)), "general"),
    ],
)
def test_what_scipy_writes_is_read(matrix, symmetry, kind, tmp_path):
    path = tmp_path / "m.mtx"
    given = matrix if kind == "dense" else sparse.coo_array(matrix)
    mmwrite(path, given, comment="a comment\nof two lines", symmetry=symmetry)
    found = read(path)
    assert sparse.issparse(found) == (kind == "sparse")
    assert found.dtype == mmread(path).dtype
    assert np.array_equal(dense(found), matrix)


def test_patterns_and_vectors(tmp_path):
    path = tmp_path / "m.mtx"
    mmwrite(path, sparse.coo_array(SQUARE), field="pattern")
    assert np.array_equal(read(path).toarray(), SQUARE != 0)
    mmwrite(path, TALL[:, :1])
    assert np.array_equal(read(path), TALL[:, 0])


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_file_that_was_cut_anywhere_is_refused(kind, tmp_path):
    path, cut = tmp_path / "m.mtx", tmp_path / "cut.mtx"
    mmwrite(path, SQUARE if kind == "dense" else sparse.coo_array(SQUARE))
    content = path.read_bytes()
    last = content.rstrip().rfind(b"\n" if kind == "dense" else b" ") + 1
    for length in {*range(0, last, 3), last - 1, last}:
        cut.write_bytes(content[:length])
        with pytest.raises(ProblemError, match=r"'cut.mtx'"):
            read(cut)


def test_random_damage_is_refused_or_gives_a_matrix(tmp_path):
    path, other = tmp_path / "m.mtx", tmp_path / "other.mtx"
    mmwrite(path, sparse.coo_array(SQUARE))
    content = bytearray(path.read_bytes())
    for _ in range(300):
        damaged = bytearray(content)
        for place in RNG.integers(len(damaged), size=3):
            damaged[place] = RNG.choice(list(b"0123456789 -.eE%\n\0x\xff"))
        other.write_bytes(damaged)
        try:
            matrix = read(other)
        except ProblemError:
            continue
        assert matrix.ndim == 2
        assert dense(matrix).shape == matrix.shape


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "its header ends early"),
        ("1 2 3\n", "its first line must be"),
        ("%%MatrixMarket matrix coordinate complex general\n1 1 0\n", "found complex ones"),
        ("%%MatrixMarket matrix cordinate real general\n1 1 0\n", "found 'cordinate'"),
        ("%%MatrixMarket matrix array pattern general\n1 1\n", "found a pattern"),
        ("%%MatrixMarket matrix array real symmetric\n2 1\n1\n", "must be square"),
        (HEAD + "2 2\n", "3 sizes must follow"),
        (HEAD + "2 -2 1\n1 1 1\n", "3 sizes must follow"),
        (HEAD + "2 2 100000000\n1 1 1\n", "truncated"),
        (HEAD + "2 2 1\n1 3 1\n", "columns from 1 to 2"),
        (HEAD + "2 2 1\n0 1 1\n", "rows must be integers from 1 to 2"),
        (HEAD + "2 2 1\n1.5 1 1\n", "rows must be integers"),
        (HEAD + "2 2 1\nnan 1 1\n", "rows must be integers"),
        (HEAD + "2 2 1\n1 1 one\n", "damaged"),
        (HEAD + "2 2 1\n1 1 1\n2 2 1\n", "announces 3 numbers, found more"),
        (HEAD.replace("real", "integer") + "2 2 1\n1 1 99999999999999999999\n", "integers"),
        ("%" * 70_000, "long line"),
    ],
)
def test_damage_has_a_name(text, words, tmp_path):
    (tmp_path / "m.mtx").write_text(text)
    with pytest.raises(ProblemError, match=words):
        read(tmp_path / "m.mtx")
