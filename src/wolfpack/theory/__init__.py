"""The constants and the guarantees of the paper, and those that go past it.

| result                               | function                                          |
|--------------------------------------|---------------------------------------------------|
| weights A_k of Algorithms 1 and 2    | `next_weight`, `capped_weight`, `step_weights`    |
| Theorem 1 (Algorithm 1)              | `bound_composite`, `batch_for`                    |
| Theorem 2 (Algorithm 2)              | `bound_pfw`                                       |
| Theorem 3 (a target epsilon)         | `parameters_for`, `best_m`                        |
| Assumption 2, norms                  | `rho`, `norm_of`                                  |
| Proposition 2, curvature and bias    | `smoothness`, `s1`, `mean_width`                  |
| Theorem A1, Corollary A5 (anytime)   | `anytime_alpha`, `bound_anytime`, `affine_curvature` |
| Theorem R4 (corrective)              | `corrective_rounds`                               |
| Theorems B1, B2 (lower bounds)       | `lower_bound`                                     |
| Theorem C1 (converging Algorithm 1)  | `converging_weight`, `bound_converging`           |
| Theorem C4, Corollary C5 (anchors)   | `anchor_rho`, `bound_anchor`, `rounds_to_halve`   |
| Theorems N1, N3 (random gradients)   | `bound_table`, `bound_stochastic`, `stochastic_alpha` |

Statements and proofs are in docs/theory.
"""

from __future__ import annotations

from .anchors import anchor_rho, bound_anchor, rounds_to_halve
from .anytime import affine_curvature, anytime_alpha, bound_anytime
from .bounds import Settings, batch_for, best_m, bound_composite, bound_pfw, parameters_for
from .constants import Estimate, mean_width, s1, smoothness
from .converging import (
    bound_converging,
    converging_switch,
    converging_weight,
    next_converging_weight,
)
from .corrective import corrective_rounds
from .lower import lower_bound
from .norms import EUCLIDEAN, Norm, norm_of, rho
from .stochastic import bound_stochastic, bound_table, stochastic_alpha
from .weights import capped_weight, next_weight, step_weights

__all__ = [
    "EUCLIDEAN",
    "Estimate",
    "Norm",
    "Settings",
    "affine_curvature",
    "anchor_rho",
    "anytime_alpha",
    "batch_for",
    "best_m",
    "bound_anchor",
    "bound_anytime",
    "bound_composite",
    "bound_converging",
    "bound_pfw",
    "bound_stochastic",
    "bound_table",
    "capped_weight",
    "converging_switch",
    "converging_weight",
    "corrective_rounds",
    "lower_bound",
    "mean_width",
    "next_converging_weight",
    "next_weight",
    "norm_of",
    "parameters_for",
    "rho",
    "rounds_to_halve",
    "s1",
    "smoothness",
    "step_weights",
    "stochastic_alpha",
]
