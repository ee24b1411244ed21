"""Objectives of problem files whose rows lie in many files."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from wolfpack import cli
from wolfpack.objectives.partitioned import BlockError
from wolfpack.problem_file import Access, ProblemError, read_problem

D = 4
FILE = """
[objective]
type = "{type}"
data = {data}
{more}
[set]
type = "L1Ball"
radius = 2.0
[stop]
max_rounds = 5
"""


def rows(i: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(i)
    A = rng.standard_normal((6 + i, D))
    return A, np.sign(A @ [1.0, -1.0, 0.0, 0.0] + rng.standard_normal(6 + i))


def write(folder, kind: str, i: int, A: np.ndarray, b: np.ndarray) -> None:
    if kind == "npz":
        np.savez(folder / f"rows-{i}.npz", A=A, b=b)
    if kind == "npy":
        np.save(folder / f"A-{i}.npy", A)
        np.save(folder / f"b-{i}.npy", b)
    if kind not in ("csv", "parquet"):
        return
    table = np.column_stack([b, A])
    names = ["label", *(f"x{j}" for j in range(A.shape[1]))]
    if kind == "csv":
        lines = [",".join(names), *(",".join(map(repr, row)) for row in table.tolist())]
        (folder / f"rows-{i}.csv").write_text("\n".join(lines) + "\n")
    if kind == "parquet":
        arrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        columns = dict(zip(names, table.T, strict=True))
        parquet.write_table(arrow.table(columns), folder / f"rows-{i}.parquet")


DATA = {
    "npz": '"rows-*.npz"',
    "npy": '["A-*.npy", "b-*.npy"]',
    "csv": '"rows-*.csv"',
    "parquet": '"rows-*.parquet"',
}


def problem(folder, kind: str = "npz", more: str = "", type: str = "Logistic", data: str = ""):
    path = folder / "problem.toml"
    more += '\ntarget = "label"' if kind in ("csv", "parquet") else ""
    path.write_text(FILE.format(type=type, data=data or DATA[kind], more=more))
    return path


def solved(folder, kind: str, **settings):
    task = read_problem(problem(folder, kind))
    return wp.minimize(task.objective, task.set, **task.settings, **settings)


@pytest.mark.parametrize("kind", DATA)
def test_every_kind_of_file_gives_the_same_run(tmp_path, kind):
    for i in range(3):
        write(tmp_path, kind, i, *rows(i))
    f = wp.objectives.Partitioned("logistic", [rows(i) for i in range(3)])
    expected = wp.minimize(f, wp.sets.L1Ball(D, radius=2.0), max_rounds=5)
    assert solved(tmp_path, kind).x.tobytes() == expected.x.tobytes()
    assert solved(tmp_path, kind, engine="threads:2").x.tobytes() == expected.x.tobytes()


def test_options_of_the_blocks_and_of_the_loss(tmp_path):
    write(tmp_path, "npy", 0, *rows(0))
    more = 'rows = 4\nmemory = 1e6\ncheck = "content"\nreduction = "sum"\ndelta = 0.5'
    task = read_problem(problem(tmp_path, "npy", more, "Huber"))
    f: Any = task.objective
    assert isinstance(f, wp.objectives.Partitioned)
    assert len(f.parts) == 2
    assert f.data.memory == 10**6
    assert f.loss.options == {"delta": 0.5}
    A, b = rows(0)
    expected = wp.objectives.Huber(A, b, delta=0.5, reduction="sum")
    assert f.value(np.ones(D)) == pytest.approx(expected.value(np.ones(D)))
    size = sum(path.stat().st_size for path in tmp_path.glob("*.npy"))
    assert size - 2 <= task.data_bytes <= size


def test_one_block_alone_is_read_for_the_shape(tmp_path):
    for i in range(3):
        write(tmp_path, "npz", i, *rows(i))
    (tmp_path / "rows-1.npz").write_bytes(b"no archive")
    task = read_problem(problem(tmp_path))
    f: Any = task.objective
    assert task.set.shape == (D,)
    assert f.data.kept_bytes == 0
    with pytest.raises(BlockError, match=r"block 1 \(rows-1.npz\).*not a readable npz archive"):
        wp.minimize(task.objective, task.set, **task.settings)


def test_the_classes_are_those_of_all_blocks(tmp_path):
    for i in range(3):
        A, _ = rows(i)
        write(tmp_path, "npz", i, A, np.arange(len(A)) % (i + 2))
    path = problem(tmp_path, type="Multinomial")
    assert read_problem(path).set.shape == (D, 4)


A, B = rows(1)


@pytest.mark.parametrize(
    ("A", "b", "message"),
    [
        (A[:, :3], B, "block 1 (rows-1.npz) does not go with the others: it has 3 columns, and"),
        (A[:0], B[:0], "block 1 (rows-1.npz) cannot be used: is empty: it has no rows"),
        (
            np.where(A > 1, np.nan, A),
            B,
            "block 1 (rows-1.npz) cannot be used: features has 2 NaN or infinite entries of 28",
        ),
        (A, B[1:], "block 1 (rows-1.npz) cannot be used: has 7 rows and targets of shape (6,)"),
        (A, 0.5 * (B + 1), "has labels 0/1, and block 0 has -1/+1: use the same in all"),
        (A, B + 7.0, "block 1 (rows-1.npz) cannot be used: labels must be -1/+1 or 0/1, found"),
    ],
)
def test_a_bad_block_is_named_in_one_line(capsys, tmp_path, A, b, message):
    for i in range(3):
        write(tmp_path, "npz", i, *((A, b) if i == 1 else rows(i)))
    assert cli.run(["solve", str(problem(tmp_path)), "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1


@pytest.mark.parametrize(
    ("data", "more", "message"),
    [
        ('"none-*.npz"', "", "[objective] data: no file matches 'none-*.npz' beside the problem"),
        ('"../*.npz"', "", "lies outside of the problem file's folder"),
        ("3", "", "[objective] data must be a file name or a pattern"),
        ("[]", "", "[objective] data must be a file name or a pattern"),
        ('["rows-*.npz", "*.toml"]', "", "found 2 of 'rows-*.npz', 1 of '*.toml'"),
        ('["rows-*.npz", "rows-1*.npz"]', "", "parts"),
        ('"rows-*.npz"', 'memory = "much"', "[objective] memory must be an integer, found 'much'"),
        ('"rows-*.npz"', 'check = "size"', "check must be"),
        ('"rows-*.npz"', "delta = 1.0", "[objective] has no key 'delta'"),
        ('"rows-*.npz"', 'A = "A"', "[objective] has no key 'A'"),
    ],
)
def test_bad_tables(tmp_path, data, more, message):
    for i in range(2):
        write(tmp_path, "npz", i, *rows(i))
    (tmp_path.parent / "outside.npz").write_bytes(b"")
    with pytest.raises(ProblemError) as caught:
        read_problem(problem(tmp_path, more=more, data=data))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_objectives_that_are_no_sums_have_no_blocks(tmp_path):
    with pytest.raises(ProblemError, match=r"\[objective\] type: no such name 'Quadratic'"):
        read_problem(problem(tmp_path, type="Quadratic"))


def test_files_that_do_not_go_together(tmp_path):
    for i in range(3):
        write(tmp_path, "npy", i, *rows(i))
    (tmp_path / "b-1.npy").rename(tmp_path / "b-3.npy")
    with pytest.raises(ProblemError, match=r"no file of 'b-\*.npy' goes with A-1.npy"):
        read_problem(problem(tmp_path, "npy"))


def test_sizes_are_checked_before_blocks_are_read(tmp_path):
    np.savez_compressed(tmp_path / "rows-0.npz", A=np.zeros((1000, 1000)), b=np.ones(1000))
    assert (tmp_path / "rows-0.npz").stat().st_size < 10**5
    with pytest.raises(ProblemError, match=r"more than the 0.000977 GB allowed; raise it with"):
        read_problem(problem(tmp_path), Access(most_bytes=2**20))


def test_check_says_what_blocks_cost(capsys, tmp_path):
    for i in range(3):
        write(tmp_path, "npz", i, *rows(i))
    path = problem(tmp_path)
    path.write_text(path.read_text() + '[run]\nengine = "processes:2"\n')
    assert tomllib.loads(path.read_text())["run"]["engine"] == "processes:2"
    assert cli.run(["check", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert cli.run(["check", str(path)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    sizes = {"blocks": 3, "block_bytes": 8 * 8 * (D + 1), "workers": 2, "sent_bytes": 8 * D}
    assert {key: found[key] for key in sizes} == sizes
    assert "3 of data, the largest of 320 bytes" in shown
    assert "a gradient, after sending 32 bytes to each and 32 bytes back" in shown
