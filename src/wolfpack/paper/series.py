r"""Every series of the paper's figures, as data.

A `Run` is one computation; a `Curve` draws a run, or a bound on it, in a panel. Runs that several
panels share (Frank-Wolfe does not know M) are computed once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from .instances import Instance, instance

FULL_ROUNDS = 100_000
QUICK_ROUNDS = 2_000
MILESTONES = (1_000, 10_000, 100_000)


@dataclass(frozen=True)
class Run:
    """One run of a method of `wolfpack.minimize` on the `Instance` called ``problem``.

    ``options`` are pairs of a name and a value. ``L`` says which norm of A'A is the smoothness
    constant: "spectral", "frobenius", or "estimated" when none is given. The run has at most
    ``max_rounds`` rounds.
    """

    problem: str
    method: str
    options: tuple[tuple[str, Any], ...] = ()
    L: str = "spectral"
    max_rounds: int | None = None

    @property
    def name(self) -> str:
        """A short description: problem, method and options."""
        extra = [f"{name}={value}" for name, value in self.options]
        extra += [] if self.L == "spectral" else [f"L={self.L}"]
        return " ".join([self.problem, self.method, *extra])

    def length(self, rounds: int) -> int:
        """Return how many rounds this run has when ``rounds`` are asked for."""
        return rounds if self.max_rounds is None else min(rounds, self.max_rounds)

    def smoothness(self, on: Instance) -> float:
        """Return the constant L of this run on its problem."""
        return on.frobenius_L if self.L == "frobenius" else on.spectral_L

    def option(self, name: str) -> Any:
        """Return an option's value, None when it is not set."""
        return dict(self.options).get(name)

    def oracle_calls(self, rounds: int) -> int:
        """Return how many linear problems the run solves, certificates not counted."""
        m = self.option("m")
        if m is None or m == "exact":
            return rounds
        if m != "theory":
            return m * rounds
        if self.method == "pfw":
            return rounds * _batch(self.option("alpha"))
        L, alpha, left, calls = self.smoothness(instance(self.problem)), 1.0, rounds, 0
        while left > 0:
            stage = min(left, max(1, math.ceil(math.sqrt(L / alpha) * math.log(1.0 / alpha))))
            calls += stage * _batch(alpha)
            left, alpha = left - stage, 0.5 * alpha
        return calls


def _batch(alpha: float) -> int:
    """The paper's m = 1/sqrt(alpha), a whole number."""
    return math.ceil(1.0 / math.sqrt(alpha))


@dataclass(frozen=True)
class Curve:
    """One line of a panel: a run's best gap so far, or a bound on its mean.

    Attributes
    ----------
    series, label : str
        Name in the CSV file, and in the legend with mathematics in Matplotlib's notation.
    color, dash, width
        How it is drawn: names of `wolfpack.report` and a width in points. Of two curves that nearly
        coincide the later one is thinner, so that both are seen.
    bound : {None, "paper", "sharp"}
        None for the run itself; else Theorem 2 with these constants.
    max_rounds : int, optional
        Last round to draw.
    """

    series: str
    label: str
    color: str
    dash: str
    run: Run
    bound: str | None = None
    width: float = 1.5
    max_rounds: int | None = None


@dataclass(frozen=True)
class PanelSpec:
    """One set of axes, called ``letter`` in the CSV file.

    ``about`` says what is solved in plain text, ``title`` with mathematics in Matplotlib's
    notation. The horizontal axis counts rounds ("round") or oracle calls ("nlmo").
    """

    letter: str
    about: str
    title: str
    curves: tuple[Curve, ...]
    against: str = "round"


@dataclass(frozen=True)
class FigureSpec:
    """A figure: its panels, row by row."""

    name: str
    title: str
    panels: tuple[PanelSpec, ...]
    columns: int

    @property
    def curves(self) -> list[tuple[PanelSpec, Curve]]:
        """Every curve with its panel."""
        return [(panel, curve) for panel in self.panels for curve in panel.curves]


def runs_of(figures: Iterable[FigureSpec]) -> list[Run]:
    """Return the distinct runs that the figures draw."""
    return list(dict.fromkeys(curve.run for figure in figures for _, curve in figure.curves))


MANY = r"$m = 1/\sqrt{\alpha}$"
ONE = r"$m = 1$"


def _figure1_panel(letter: str, alpha: float, power: int) -> PanelSpec:
    bounds = (("Theorem 2", "dotted", "paper"), ("sharp bound", "dashed", "sharp"))
    kinds = (("PFW", "solid", None), *bounds)
    sizes = (("theory", "m=1/sqrt(alpha)", MANY, "many", 2.2), (1, "m=1", ONE, "one", 1.1))
    curves = [
        Curve(
            series=f"{kind} {series}",
            label=f"{kind}, {label}",
            color=color,
            dash=dash,
            run=Run("simplex-42", "pfw", (("alpha", alpha), ("m", m), ("M", "paper"))),
            bound=bound,
            width=width,
        )
        for kind, dash, bound in kinds
        for m, series, label, color, width in sizes
    ]
    title = rf"({letter})  simplex, $\alpha = 10^{{{power}}}$"
    return PanelSpec(letter, f"simplex, α = {alpha:g}", title, tuple(curves))


def _figure2_panel(letter: str, problem: str, M: float | str, L: str = "spectral") -> PanelSpec:
    many, one = (Run(problem, "r-pfw", (("m", m), ("M", M)), L) for m in ("theory", 1))
    about, title = _describe(problem, M, L)
    return PanelSpec(
        letter,
        about,
        f"({letter.replace('2', chr(0x2032))})  {title}",
        (
            Curve("FW", r"FW, step $2/(k+2)$", "fw", "solid", Run(problem, "fw")),
            Curve("FW-LS", "FW, exact line search", "fw-ls", "dashdot", Run(problem, "fw-ls")),
            Curve("R-PFW m=1/sqrt(alpha)", f"R-PFW, {MANY}", "many", "solid", many, None, 2.2),
            Curve("R-PFW m=1", f"R-PFW, {ONE}", "one", "solid", one, None, 1.1),
        ),
    )


def _describe(problem: str, M: float | str, L: str) -> tuple[str, str]:
    """Return what a panel of Figure 2 solves, in plain text and with mathematics."""
    if problem.startswith("simplex"):
        if M == "paper":
            return "simplex, M = √d", r"simplex, $M = \sqrt{d}$"
        return "simplex, M = 1", "simplex, $M = 1$"
    norm, name = ("F", "Frobenius") if L == "frobenius" else ("2", "spectral")
    size, tex = ("√(pq)", r"\sqrt{pq}") if M == "paper" else ("1", "1")
    return (
        f"trace ball, M = {size}, {name} L",
        rf"trace ball, $M = {tex}$, $L = \|C^{{\mathsf{{T}}}} C\|_{norm}$",
    )


FIGURE1 = FigureSpec(
    "figure1",
    "Parallel Frank-Wolfe against its guarantee",
    (_figure1_panel("a", 1e-2, -2), _figure1_panel("b", 1e-3, -3)),
    columns=2,
)

# The paper has (a) to (d), with the authors' L on the trace ball; (c2) and (d2) have the smaller,
# spectral one.
FIGURE2 = FigureSpec(
    "figure2",
    "Restarted Parallel Frank-Wolfe against Frank-Wolfe",
    (
        _figure2_panel("a", "simplex-43", "paper"),
        _figure2_panel("c", "trace-43", "paper", "frobenius"),
        _figure2_panel("c2", "trace-43", "paper"),
        _figure2_panel("b", "simplex-43", 1.0),
        _figure2_panel("d", "trace-43", 1.0, "frobenius"),
        _figure2_panel("d2", "trace-43", 1.0),
    ),
    columns=3,
)

BEYOND_ROUNDS = 10_000


def _beyond_panel(letter: str, problem: str, about: str, against: str) -> PanelSpec:
    # Figure 2 has the longer runs of its two problems.
    longest = None if problem in ("simplex-43", "trace-43") else BEYOND_ROUNDS

    def run(method: str, **options: float | str) -> Run:
        return Run(problem, method, tuple(options.items()), "spectral", longest)

    restarted = run("r-pfw", m="theory", M=1.0)
    curves = [
        Curve("FW", r"FW, step $2/(k+2)$", "fw", "solid", run("fw")),
        Curve("FW-LS", "FW, exact line search", "fw-ls", "dashdot", run("fw-ls")),
        Curve("R-PFW", "R-PFW, $M = 1$", "one", "solid", restarted),
    ]
    sizes = [(1, "dotted", 0.9), (16, "dashed", 1.4), (256, "solid", 2.0)]
    sizes += [] if problem.startswith("trace") else [("exact", "solid", 1.6)]
    for m, dash, width in sizes:
        color = "exact" if m == "exact" else "many"
        words = "closed form" if m == "exact" else f"$m = {m}$"
        anytime = Run(problem, "anytime", (("m", m),), "estimated", BEYOND_ROUNDS)
        curves.append(
            Curve(f"anytime m={m}", f"anytime, {words}", color, dash, anytime, width=width)
        )
    return PanelSpec(
        letter,
        f"{about}, against {'rounds' if against == 'round' else 'oracle calls'}",
        f"({letter})  {about}",
        tuple(replace(curve, max_rounds=BEYOND_ROUNDS) for curve in curves),
        against,
    )


_BEYOND = (
    ("simplex-43", "simplex, d = 50"),
    ("trace-43", "trace ball, 10 × 8"),
    ("projection-0", "projection, d = 10,000"),
)

FIGURE3 = FigureSpec(
    "figure3",
    "Past the paper: the anytime method",
    tuple(
        _beyond_panel(letter, *problem, against)
        for letters, against in (("abc", "round"), ("def", "nlmo"))
        for letter, problem in zip(letters, _BEYOND, strict=True)
    ),
    columns=3,
)

FIGURES = {figure.name: figure for figure in (FIGURE1, FIGURE2, FIGURE3)}


@dataclass(frozen=True)
class Reference:
    """A best gap that an independent implementation of the paper's methods measured."""

    figure: str
    letter: str
    series: str
    round: int
    gap: float


REFERENCES = (
    Reference("figure2", "b", "FW", 1_000, 1.6e-1),
    Reference("figure2", "b", "FW", 10_000, 1.4e-2),
    Reference("figure2", "b", "R-PFW m=1/sqrt(alpha)", 1_000, 4e-2),
    Reference("figure2", "b", "R-PFW m=1/sqrt(alpha)", 10_000, 9e-4),
    Reference("figure2", "d2", "FW", 1_000, 6.3e-3),
    Reference("figure2", "d2", "R-PFW m=1/sqrt(alpha)", 1_000, 2.7e-3),
)
