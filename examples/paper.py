"""The two problems of the paper, with one oracle per round and with many.

Least squares over the simplex (n = 200, d = 50, Gumbel noise) and generalised matrix completion
over the trace-norm ball (10 x 8, Gaussian noise), from the authors' own random numbers. R-PFW
runs PFW again and again, with less and less smoothing.

    python examples/paper.py [folder for the picture]
"""

from __future__ import annotations

from _picture import picture

import wolfpack as wp
from wolfpack.paper import instances

METHODS = {
    "Frank-Wolfe": {"method": "fw"},
    "R-PFW, m = 1": {"method": "r-pfw", "m": 1},
    "R-PFW, m = 100": {"method": "r-pfw", "m": 100},
}


def solve(rounds: int = 2000) -> dict[str, dict[str, wp.Result]]:
    """Run every method on both problems from the paper's starting points."""
    problems = {"simplex": instances.simplex(42), "trace-norm ball": instances.trace_ball(43)}
    answers = {}
    for name, p in problems.items():
        answers[name] = {
            label: wp.minimize(
                p.f, p.K, p.x0, tol=1e-8, max_rounds=rounds, noise=noise_of(p, how), **how
            )
            for label, how in METHODS.items()
        }
    return answers


def noise_of(problem: instances.Instance, how: dict) -> str:
    """Return the paper's law for methods that draw noise."""
    return "auto" if how["method"] == "fw" else problem.noise


def draw(axes: list, answers: dict[str, dict[str, wp.Result]]) -> None:
    """Draw the certified gaps against rounds."""
    for ax, (name, results) in zip(axes, answers.items(), strict=True):
        for label, result in results.items():
            ax.loglog(1 + result.history["round"], result.history["gap"], label=label)
        ax.set(title=name, xlabel="rounds", ylabel="certified gap")
    axes[-1].legend(fontsize=8)


if __name__ == "__main__":
    answers = solve()
    for name, results in answers.items():
        for label, result in results.items():
            print(f"{name:<16} {label:<15} f <= {result.fun:.6f}, certified gap {result.gap:.1e}")
    picture(__file__, draw, answers)
