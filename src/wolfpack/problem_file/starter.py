"""Commented problem files to begin with, and the small data that they use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..files import staging, write_text

_COMMON = """
[method]
name = "auto"            # 'wolfpack info' lists the methods; 'wolfpack check' says what auto does
# m = 16                 # perturbed oracles a round, for methods that draw them
# noise = "gumbel"       # their law: gumbel, gaussian, logistic

[stop]                   # the run ends as soon as one of these is met
tol = {tol}               # certified gap: f(x) is proved to be within tol of the minimum
# rtol = 1e-3            # the same relative to |f(x)|
max_rounds = 20000
# max_seconds = 60       # on the clock, from the start of the command's run
# max_lmo = 100000       # oracle calls

[run]
seed = 0                 # same seed, same result, on every engine
# engine = "auto"        # where oracles run: threads:4, processes:4, dask, ray, mpi; this process
# record_every = 10      # certify and record every so many rounds; by cost otherwise

[output]
# folder = "my-results"  # '<name of this file>-out' otherwise; --out goes before both
figure = true            # convergence.png and convergence.svg (needs Matplotlib)
report = true            # report.html, one file that works offline
checkpoint = true        # run.ckpt, from which 'wolfpack resume' continues
"""

_HEAD = """# A problem for wolfpack: minimise f(x) over x in K.
#   wolfpack check {file}     what it will do and cost
#   wolfpack solve {file}     solve it
title = "{title}"

[data]                   # files lie beside this one: .npy .npz .csv .mtx .parquet, or [1.0, 2.0]
"""

_LASSO = """A = {{ file = "{data}", key = "A" }}
b = {{ file = "{data}", key = "b" }}

[objective]              # f(x) = 1/2 ||A x - b||^2
type = "LeastSquares"
A = "A"                  # names of entries of [data]
b = "b"

[set]                    # K = {{x : sum |x_i| <= radius}}
type = "L1Ball"
radius = 4.0             # its dimension n is taken from the objective
"""

_COMPLETION = """A = {{ file = "{data}", key = "A" }}
B = {{ file = "{data}", key = "B" }}

[objective]              # f(X) = 1/2 ||A X - B||^2 (Frobenius), X a 20 x 12 matrix
type = "LeastSquares"
A = "A"                  # names of entries of [data]
b = "B"

[set]                    # K = {{X : sum of singular values <= radius}}
type = "TraceNormBall"
radius = 3.0             # its shape is taken from the objective
"""

_PORTFOLIO = """covariance = "{data}"
none = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]

[objective]              # f(x) = 1/2 <x, Q x> + <c, x>: the variance of a portfolio
type = "Quadratic"
Q = "covariance"         # names of entries of [data]
c = "none"

[set]                    # K = {{0 <= x <= cap, sum x_i = total}}
type = "CappedSimplex"
cap = 0.25               # no more than a quarter in one asset
total = 1.0
"""


class Starter(NamedTuple):
    """A kind of starter: its title, its own part of the file, its tolerance, its data."""

    title: str
    text: str
    tol: str
    suffix: str
    write: Callable[[Path], None]


def _lasso(path: Path) -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 100)) / np.sqrt(200)
    x = np.zeros(100)
    x[[2, 7, 19]] = 1.5, -2.0, 1.0
    np.savez(path, A=A, b=A @ x + 0.05 * rng.standard_normal(200))


def _completion(path: Path) -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 20)) / np.sqrt(40)
    X = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 12)) / 10.0
    np.savez(path, A=A, B=A @ X + 0.02 * rng.standard_normal((40, 12)))


def _portfolio(path: Path) -> None:
    rng = np.random.default_rng(0)
    returns = rng.standard_normal((120, 3)) @ rng.standard_normal((3, 10))
    returns += 0.5 * rng.standard_normal((120, 10))
    rows = [",".join(f"asset{i}" for i in range(10))]
    rows += [",".join(f"{v:.12g}" for v in row) for row in np.cov(returns.T)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


STARTERS = {
    "lasso": Starter("Sparse least squares", _LASSO, "1e-4", ".npz", _lasso),
    "low-rank": Starter("Low-rank regression", _COMPLETION, "1e-3", ".npz", _completion),
    "portfolio": Starter("Portfolio of least variance", _PORTFOLIO, "1e-4", ".csv", _portfolio),
}
"""Kinds of problem files that `write_starter` knows."""


def write_starter(path: Path, kind: str = "lasso") -> list[Path]:
    """Write a problem file of a kind in `STARTERS` that runs as it is, and its data beside it.

    Returns the two files; the data are called after the problem file.
    """
    starter = STARTERS[kind]
    data = path.with_name(f"{path.stem}-data{starter.suffix}")
    text = _HEAD.format(file=path.name, title=starter.title)
    text += starter.text.format(data=data.name) + _COMMON.format(tol=starter.tol)
    with staging(path.parent) as stage:
        starter.write(stage / data.name)
        write_text(stage / path.name, text)
    return [path, data]
