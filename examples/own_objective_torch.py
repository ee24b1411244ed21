"""Bring your own objective in PyTorch: write the value, let autograd find the gradient.

The entropic risk of `own_objective.py`, with no gradient written down (needs PyTorch).

    python examples/own_objective_torch.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from own_objective import scenarios

import wolfpack as wp


def differentiated(value: Callable[[Any], Any]) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Return x -> (value, gradient) for a value written in PyTorch."""
    import torch

    def fun(x: np.ndarray) -> tuple[float, np.ndarray]:
        point = torch.tensor(x, requires_grad=True)
        answer = value(point)
        answer.backward()
        return answer.item(), point.grad.numpy()

    return fun


def solve(aversion: float = 1.0, shares: int = 40, tol: float = 1e-4) -> wp.Result:
    """Return the portfolio of least risk."""
    import torch

    returns = torch.tensor(scenarios(500, shares))

    def risk(x: Any) -> Any:
        total = torch.logsumexp(-aversion * (returns @ x), dim=0)
        return (total - np.log(len(returns))) / aversion

    return wp.minimize(differentiated(risk), wp.sets.Simplex(shares), method="bpcg", tol=tol)


if __name__ == "__main__":
    result = solve()
    print(f"risk {result.fun:+.4f} (gap {result.gap:.0e})")
