"""Learning the costs of shortest paths on a 5 x 5 grid: our layers beside PyEPO.

    python benchmarks/paths.py             # about a minute
    python benchmarks/paths.py --quick     # one seed and few epochs
    python benchmarks/paths.py --mpax      # PyEPO with MPAX too, 15 s an epoch

The task is that of PyEPO: features predict the costs of 40 edges by a linear model, and what counts
is the regret, the cost of the paths that predictions choose above the least cost, relative to it.
The data follow the description of PyEPO's generator: c = (B x / sqrt(p) + 3)^deg + 1, divided by
3.5^deg, times uniform noise, with B a random matrix of zeros and ones. All methods start from the
same model, see the same batches, and make as many steps of Adam. The times are processor time of
the epochs alone, on one thread: regret is measured beside them.

PyEPO asks a solver for every path, Gurobi here, for which the licence that `pip install gurobipy`
brings along suffices; with MPAX it solves all linear programs of a batch at once, in JAX.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import numpy as np
from pages import table
from threadpoolctl import threadpool_limits

import wolfpack as wp

GRID = 5
FEATURES = 5
DEGREE = 4
NOISE = 0.5
BATCH = 32
SAMPLES = 10
SCALE = 1.0


class Data(NamedTuple):
    """Features, costs of the edges, and least costs of training and test problems."""

    train: Any
    costs: Any
    test: Any
    test_costs: Any


def edges() -> list[tuple[int, int]]:
    """Return the edges to the right and down, row by row, as PyEPO lists them."""
    found: list[tuple[int, int]] = []
    for i in range(GRID):
        found += [(i * GRID + j, i * GRID + j + 1) for j in range(GRID - 1)]
        if i < GRID - 1:
            found += [(i * GRID + j, (i + 1) * GRID + j) for j in range(GRID)]
    return found


def generate(count: int, seed: int) -> tuple[Any, Any]:
    """Return features (count, p) and costs (count, d)."""
    rng = np.random.RandomState(seed)
    d = len(edges())
    B = rng.binomial(1, 0.5, (d, FEATURES))
    x = rng.normal(0, 1, (count, FEATURES))
    c = ((x @ B.T / np.sqrt(FEATURES) + 3) ** DEGREE + 1) / 3.5**DEGREE
    return x, c * rng.uniform(1 - NOISE, 1 + NOISE, c.shape)


def data(seed: int, train: int = 1000, test: int = 1000) -> Data:
    x, c = generate(train + test, seed)
    return Data(x[:train], c[:train], x[train:], c[train:])


def paths(K: Any, costs: Any) -> Any:
    """Return the shortest paths for rows of costs."""
    return np.asarray(K.lmo(costs).to_dense())


def regret(K: Any, model: Any, given: Data) -> float:
    """Return the cost of the paths that predictions choose above the least, relative to it."""
    import torch

    with torch.no_grad():
        predicted = model(torch.tensor(given.test, dtype=torch.float32)).double().numpy()
    least = (given.test_costs * paths(K, given.test_costs)).sum()
    return float((given.test_costs * paths(K, predicted)).sum() / least - 1.0)


def trained(
    K: Any, given: Data, make: Callable[[Any], Any], epochs: int, seed: int
) -> tuple[float, list[float]]:
    """Return the seconds an epoch, and the regret after each epoch."""
    import torch

    torch.manual_seed(seed)
    model = torch.nn.Linear(FEATURES, len(edges()))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = torch.tensor(given.train, dtype=torch.float32)
    c = torch.tensor(given.costs, dtype=torch.float32)
    w = torch.tensor(paths(K, given.costs), dtype=torch.float32)
    loss = make(given)
    generator = torch.Generator().manual_seed(seed)
    loss(model(x[:BATCH]), c[:BATCH], w[:BATCH]).backward()  # compiles and loads what there is to
    seconds, regrets = 0.0, [regret(K, model, given)]
    for _ in range(epochs):
        order = torch.randperm(len(x), generator=generator)
        began = time.process_time()
        for rows in order.split(BATCH):
            optimizer.zero_grad()
            loss(model(x[rows]), c[rows], w[rows]).backward()
            optimizer.step()
        seconds += time.process_time() - began
        regrets.append(regret(K, model, given))
    return seconds / epochs, regrets


def ours(K: Any) -> dict[str, Callable[[Data], Any]]:
    """Return our losses: paths of least cost are those of largest negative cost."""

    def fenchel_young(**options: Any) -> Callable[[Data], Any]:
        def make(given: Data) -> Any:
            layer = wp.layers.FenchelYoungLoss(K, scale=SCALE, **options)
            return lambda predicted, c, w: layer(-predicted, w)

        return make

    def perturbed(given: Data) -> Any:
        layer = wp.layers.PerturbedArgmax(K, scale=SCALE, m=SAMPLES, noise="gaussian")
        return lambda predicted, c, w: (layer(-predicted) - w).square().mean()

    return {
        "wolfpack, Fenchel-Young": fenchel_young(m=SAMPLES, noise="gaussian"),
        "wolfpack, Fenchel-Young, closed form": fenchel_young(),
        "wolfpack, perturbed": perturbed,
    }


def pyepo_losses(mpax: bool) -> dict[str, Callable[[Data], Any]]:
    """Return PyEPO's losses with the solvers that are installed; none where it is not."""
    if importlib.util.find_spec("pyepo") is None:
        return {}
    found: dict[str, Callable[[Data], Any]] = {}
    if importlib.util.find_spec("gurobipy"):
        from pyepo.model.grb import shortestPathModel

        found |= _of_pyepo("Gurobi", shortestPathModel)
    if mpax:
        from pyepo.model.mpax import shortestPathModel as batched

        found |= {
            name: make for name, make in _of_pyepo("MPAX", batched).items() if "Young" in name
        }
    return found


def _of_pyepo(solver: str, kind: Any) -> dict[str, Callable[[Data], Any]]:
    import pyepo

    def make(loss: Callable[[Any], Any]) -> Callable[[Data], Any]:
        return lambda given: loss(kind((GRID, GRID)))

    def fenchel_young(model: Any) -> Any:
        layer = pyepo.func.perturbedFenchelYoung(model, n_samples=SAMPLES, sigma=SCALE)
        return lambda predicted, c, w: layer(predicted, w)

    def perturbed(model: Any) -> Any:
        layer = pyepo.func.perturbedOpt(model, n_samples=SAMPLES, sigma=SCALE)
        return lambda predicted, c, w: (layer(predicted) - w).square().mean()

    def spo(model: Any) -> Any:
        layer = pyepo.func.SPOPlus(model)
        return lambda predicted, c, w: layer(predicted, c, w, (c * w).sum(1, keepdim=True))

    return {
        f"PyEPO with {solver}, Fenchel-Young": make(fenchel_young),
        f"PyEPO with {solver}, perturbed": make(perturbed),
        f"PyEPO with {solver}, SPO+": make(spo),
    }


def squares(given: Data) -> Any:
    """Return the loss that knows of no paths: the squared error of the costs."""
    return lambda predicted, c, w: (predicted - c).square().mean()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, two epochs")
    parser.add_argument("--mpax", action="store_true", help="PyEPO with MPAX too")
    arguments = parser.parse_args()
    seeds, epochs = (1, 2) if arguments.quick else (3, 10)
    K = wp.sets.DagFlow(edges(), 0, GRID * GRID - 1)
    methods = ours(K) | pyepo_losses(arguments.mpax) | {"squared error of costs": squares}
    rows = []
    import torch

    torch.set_num_threads(1)
    with threadpool_limits(1):
        for name, make in methods.items():
            runs = [trained(K, data(135 + s), make, epochs, s) for s in range(seeds)]
            times = [seconds for seconds, _ in runs]
            first, last = ([100 * path[k] for _, path in runs] for k in (1, -1))
            rows.append(
                [name, f"{np.mean(times):.2f}"]
                + [f"{np.mean(values):.2f} ({np.ptp(values):.2f})" for values in (first, last)]
            )
            print(rows[-1], flush=True)
    last = f"after {epochs}"
    print(table(["loss", "seconds an epoch", "regret in % after 1 epoch", last], rows))


if __name__ == "__main__":
    main()
