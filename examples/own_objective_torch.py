"""Bring your own objective in PyTorch: write the value, let autograd find the gradient.

The entropic risk of `own_objective.py`, with no gradient written down (needs PyTorch). On a machine
with a GPU the data, the iterates and the answer stay there.

    python examples/own_objective_torch.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _picture import need
from own_objective import scenarios

import wolfpack as wp


def solve(aversion: float = 1.0, shares: int = 40, tol: float = 1e-4) -> wp.Result:
    """Return the portfolio of least risk."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    returns = torch.tensor(scenarios(500, shares), device=device)

    def risk(x: Any) -> Any:
        total = torch.logsumexp(-aversion * (returns @ x), dim=0)
        return (total - np.log(len(returns))) / aversion

    f = wp.objectives.from_torch(risk, like=returns)
    return wp.minimize(f, wp.sets.Simplex(shares), method="anytime", tol=tol)


if __name__ == "__main__":
    need("torch", "torch")
    result = solve()
    print(f"risk {result.fun:+.4f} (gap {result.gap:.0e})")
