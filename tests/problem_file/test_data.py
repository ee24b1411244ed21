"""Data of problem files: every format gives the same numbers, every damage one clear line."""

from __future__ import annotations

import io
import os
import struct
import zipfile

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite

from wolfpack.problem_file import Access, ProblemError
from wolfpack.problem_file.data import Data

M = np.array([[1.0, -2.5, 0.0], [0.0, 4.0, 3.0]])


def read(folder, entry, access=None):
    return Data({"A": entry}, folder, access or Access()).get("A", "[objective] A")


def refused(folder, entry, access=None) -> str:
    with pytest.raises(ProblemError) as caught:
        read(folder, entry, access)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("[data")
    return message


def write_csv(path):
    path.write_text("a,b,c\n" + "\n".join(",".join(map(repr, r)) for r in M.tolist()) + "\n")


def write_parquet(path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({n: M[:, i] for i, n in enumerate("abc")}), path)


WRITERS = {
    "m.npy": lambda path: np.save(path, M),
    "m.npz": lambda path: np.savez(path, only=M),
    "packed.npz": lambda path: np.savez_compressed(path, only=M),
    "csr.npz": lambda path: sparse.save_npz(path, sparse.csr_array(M)),
    "csc.npz": lambda path: sparse.save_npz(path, sparse.csc_matrix(M)),
    "coo.npz": lambda path: sparse.save_npz(path, sparse.coo_array(M)),
    "m.mtx": lambda path: mmwrite(path, sparse.coo_array(M)),
    "dense.mtx": lambda path: mmwrite(path, M),
    "m.csv": write_csv,
    "m.parquet": write_parquet,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_matrix(tmp_path, name):
    WRITERS[name](tmp_path / name)
    found = read(tmp_path, name)
    np.testing.assert_array_equal(found.toarray() if sparse.issparse(found) else found, M)


@pytest.mark.parametrize("name", ["m.csv", "m.parquet"])
def test_columns_by_name_and_by_number(tmp_path, name):
    WRITERS[name](tmp_path / name)
    np.testing.assert_array_equal(read(tmp_path, {"file": name, "columns": "b"}), M[:, 1])
    np.testing.assert_array_equal(read(tmp_path, {"file": name, "columns": ["c", 0]}), M[:, [2, 0]])
    assert "did you mean 'a'" in refused(tmp_path, {"file": name, "columns": "A"})
    assert "has 3 columns" in refused(tmp_path, {"file": name, "columns": 3})
    assert "columns must be" in refused(tmp_path, {"file": name, "columns": [True]})


def test_a_table_without_names_and_with_another_delimiter(tmp_path):
    (tmp_path / "t.csv").write_text("1;2\n3;4\n")
    np.testing.assert_array_equal(
        read(tmp_path, {"file": "t.csv", "delimiter": ";"}), [[1.0, 2.0], [3.0, 4.0]]
    )


def test_one_column_is_a_vector(tmp_path):
    (tmp_path / "v.csv").write_text("y\n1\n2\n")
    mmwrite(tmp_path / "v.mtx", np.array([[1.0], [2.0]]))
    for name in ("v.csv", "v.mtx"):
        np.testing.assert_array_equal(read(tmp_path, name), [1.0, 2.0])


def test_an_archive_of_several_arrays_needs_a_key(tmp_path):
    np.savez(tmp_path / "two.npz", first=M, second=M[0])
    np.testing.assert_array_equal(read(tmp_path, {"file": "two.npz", "key": "second"}), M[0])
    assert "choose one with key: first, second" in refused(tmp_path, "two.npz")
    assert "did you mean 'first'" in refused(tmp_path, {"file": "two.npz", "key": "frst"})


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("keep", [0, 0.3, 0.7])
def test_truncated_files_are_refused(tmp_path, name, keep):
    WRITERS[name](tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    cut = whole[: int(keep * len(whole))]
    if name.endswith(".csv"):
        cut = cut[: cut.rfind(b",")] if keep else b""  # a row that is cut short
    (tmp_path / name).write_bytes(cut)
    refused(tmp_path, name)


@pytest.mark.parametrize("name", WRITERS)
def test_files_of_another_kind_are_refused(tmp_path, name):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(bytes(range(256)) * 8)
    refused(tmp_path, name)


def test_a_flipped_bit_in_an_archive_is_noticed(tmp_path):
    np.savez_compressed(tmp_path / "m.npz", only=np.arange(1000.0))
    raw = bytearray((tmp_path / "m.npz").read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    (tmp_path / "m.npz").write_bytes(raw)
    assert "not a readable npz archive" in refused(tmp_path, "m.npz")


def test_pickled_objects_are_never_read(tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    bomb = np.array([Bomb()], dtype=object)
    np.save(tmp_path / "o.npy", bomb, allow_pickle=True)
    np.savez(tmp_path / "o.npz", only=bomb)
    for name in ("o.npy", "o.npz"):
        assert "Python objects" in refused(tmp_path, name)
    assert not (tmp_path / "ran").exists()


def announce(shape) -> bytes:
    """An npy header that promises this shape, without the data."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return buffer.getvalue()


def test_what_is_announced_is_checked_before_memory_is_taken(tmp_path):
    (tmp_path / "huge.npy").write_bytes(announce((10**6, 10**6)))
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as archive:
        archive.writestr("only.npy", announce((10**6, 10**6)))
    (tmp_path / "huge.mtx").write_text(
        f"%%MatrixMarket matrix coordinate real general\n{10**12} 5 1\n1 1 1.0\n"
    )
    parts = {"format": np.array(b"csr"), "shape": np.array([10**12, 5])}
    parts |= {"data": np.ones(1), "indices": np.zeros(1, int), "indptr": np.zeros(2, int)}
    np.savez(tmp_path / "tall.npz", **parts)
    for name in ("huge.npy", "huge.npz", "huge.mtx", "tall.npz"):
        message = refused(tmp_path, name)
        assert "GB allowed" in message
        assert "--max-data" in message


@pytest.mark.parametrize("name", [n for n in WRITERS if not n.endswith("parquet")])
def test_the_size_limit_counts(tmp_path, name):
    WRITERS[name](tmp_path / name)
    assert "--max-data" in refused(tmp_path, name, Access(most_bytes=20))


def test_sparse_indices_out_of_range_are_refused(tmp_path):
    parts = {"format": np.array(b"csr"), "shape": np.array([2, 3]), "data": np.ones(2)}
    np.savez(tmp_path / "m.npz", **parts, indices=np.array([0, 10**6]), indptr=np.array([0, 1, 2]))
    assert "damaged sparse matrix" in refused(tmp_path, "m.npz")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_counted(tmp_path, bad):
    array = M.copy()
    array[0, 1] = bad
    np.save(tmp_path / "m.npy", array)
    (tmp_path / "m.csv").write_text(f"1,2\n{bad},4\n")
    sparse.save_npz(tmp_path / "m.npz", sparse.csr_array(array))
    assert "1 NaN or infinite entries of 6" in refused(tmp_path, "m.npy")
    assert "1 NaN or infinite entries of 4" in refused(tmp_path, "m.csv")
    assert "1 NaN or infinite entries" in refused(tmp_path, "m.npz")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("a,b\n", "no data"),
        ("a,b\n1,2\n3\n", "not a table of numbers"),
        ("a,b\n1,\n", "not a table of numbers"),
        ("a,b\n1,two\n", "two"),
    ],
)
def test_bad_tables(tmp_path, text, said):
    (tmp_path / "t.csv").write_text(text)
    assert said in refused(tmp_path, "t.csv")


def test_complex_and_text_arrays_are_refused(tmp_path):
    np.save(tmp_path / "c.npy", M + 1j)
    np.save(tmp_path / "s.npy", np.array(["a"]))
    np.save(tmp_path / "e.npy", np.zeros((0, 3)))
    mmwrite(tmp_path / "c.mtx", M + 1j)
    for name in ("c.npy", "s.npy", "c.mtx"):
        assert "real numbers" in refused(tmp_path, name)
    assert "must not be empty" in refused(tmp_path, "e.npy")


def test_files_outside_the_folder_need_permission(tmp_path):
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    np.save(other / "m.npy", M)
    (home / "link.npy").symlink_to(other / "m.npy")
    for name in ("../other/m.npy", str(other / "m.npy"), "link.npy"):
        assert "--data-root" in refused(home, name)
        np.testing.assert_array_equal(read(home, name, Access(root=other)), M)
    np.testing.assert_array_equal(read(home, "m.npy", Access(root=other)), M)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_only_regular_files_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.npy")
    assert "not a regular file" in refused(tmp_path, "pipe.npy")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("gone.npy", "there is no file 'gone.npy'"),
        ("m.pkl", "allowed: .npy, .npz, .mtx, .csv, .parquet"),
        ({"file": "m.npy", "key": "a"}, "no key 'key'"),
        ({"fil": "m.npy"}, "file must be a text"),
        ({"file": 3}, "file must be a text"),
        ({"file": "m.npz", "key": 1}, "key must be a text"),
        ([[1.0], [1.0, 2.0]], "rows of one length"),
        (["x"], "a list of numbers"),
        ([], "a list of numbers"),
        ([float("nan")], "NaN"),
        (3.0, "a file name"),
    ],
)
def test_bad_entries(tmp_path, entry, said):
    np.save(tmp_path / "m.npy", M)
    np.savez(tmp_path / "m.npz", a=M)
    assert said in refused(tmp_path, entry)


def test_npy_versions_that_hold_no_plain_numbers(tmp_path):
    header = announce((2,))
    (tmp_path / "m.npy").write_bytes(header[:6] + struct.pack("BB", 3, 0) + header[8:])
    assert "version" in refused(tmp_path, "m.npy")
