r"""Every series of the paper's figures, as data.

A `Run` is one computation; a `Curve` draws a run, or a bound on it, in a panel. Runs that several
panels share (Frank-Wolfe does not know M) are computed once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .data import Instance, instance

FULL_ROUNDS = 100_000
QUICK_ROUNDS = 2_000
MILESTONES = (1_000, 10_000, 100_000)


@dataclass(frozen=True)
class Run:
    """One run of one method on one problem.

    Attributes
    ----------
    problem : str
        Name of an `Instance`.
    method : str
        Name of a method of `wolfpack.minimize`.
    options : tuple of (name, value)
        Its options.
    L : {"spectral", "frobenius", "estimated"}
        Which norm of A'A is the smoothness constant, if one is given at all.
    most : int, optional
        Longest that this run may be.
    """

    problem: str
    method: str
    options: tuple[tuple[str, Any], ...] = ()
    L: str = "spectral"
    most: int | None = None

    @property
    def name(self) -> str:
        """A short description: problem, method and options."""
        extra = [f"{name}={value}" for name, value in self.options]
        extra += [] if self.L == "spectral" else [f"L={self.L}"]
        return " ".join([self.problem, self.method, *extra])

    def length(self, rounds: int) -> int:
        """Return how many rounds this run has when ``rounds`` are asked for."""
        return rounds if self.most is None else min(rounds, self.most)

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
    series : str
        Name in the CSV file.
    label : str
        Name in the legend, with mathematics in Matplotlib's notation.
    color, dash, width
        How it is drawn: names of `wolfpack.report` and a width in points. Of two curves that nearly
        coincide the later one is thinner, so that both are seen.
    run : Run
        The computation.
    bound : {None, "paper", "sharp"}
        None for the run itself; else Theorem 2 with these constants.
    most : int, optional
        Last round to draw.
    """

    series: str
    label: str
    color: str
    dash: str
    run: Run
    bound: str | None = None
    width: float = 1.5
    most: int | None = None


@dataclass(frozen=True)
class PanelSpec:
    """One set of axes.

    Attributes
    ----------
    letter : str
        Name in the CSV file.
    about : str
        What is solved, in plain text.
    title : str
        The same above the axes, with mathematics in Matplotlib's notation.
    curves : tuple of Curve
    against : {"round", "nlmo"}
        What the horizontal axis counts: rounds, or oracle calls.
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
    measured, theorem, sharp = [], [], []
    for m, series, label, color, width in (
        ("theory", "m=1/sqrt(alpha)", MANY, "many", 2.2),
        (1, "m=1", ONE, "one", 1.1),
    ):
        run = Run("simplex-42", "pfw", (("alpha", alpha), ("m", m), ("M", "paper")))
        measured.append(Curve(f"PFW {series}", f"PFW, {label}", color, "solid", run, None, width))
        theorem.append(
            Curve(
                f"Theorem 2 {series}", f"Theorem 2, {label}", color, "dotted", run, "paper", width
            )
        )
        sharp.append(
            Curve(
                f"sharp bound {series}",
                f"sharp bound, {label}",
                color,
                "dashed",
                run,
                "sharp",
                width,
            )
        )
    title = rf"({letter})  simplex, $\alpha = 10^{{{power}}}$"
    about = f"simplex, α = {alpha:g}"
    return PanelSpec(letter, about, title, (*measured, *theorem, *sharp))


def _figure2_panel(letter: str, problem: str, M: Any, L: str = "spectral") -> PanelSpec:
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


def _describe(problem: str, M: Any, L: str) -> tuple[str, str]:
    """Return what a panel of Figure 2 solves, in plain text and with mathematics."""
    if problem.startswith("simplex"):
        if M == "paper":
            return "simplex, M = √d", r"simplex, $M = \sqrt{d}$"
        return "simplex, M = 1", "simplex, $M = 1$"
    norm = "F" if L == "frobenius" else "2"
    size, tex = ("√(pq)", r"\sqrt{pq}") if M == "paper" else ("1", "1")
    spoken = "Frobenius" if L == "frobenius" else "spectral"
    return (
        f"trace ball, M = {size}, {spoken} L",
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
    exact = not problem.startswith("trace")
    sizes: list[tuple[Any, str, str, float]] = [
        (1, "1", "dotted", 0.9),
        (16, "16", "dashed", 1.4),
        (256, "256", "solid", 2.0),
    ]
    sizes += [("exact", "exact", "solid", 1.6)] if exact else []

    def curve(series: str, label: str, look: tuple[str, str, float], run: Run) -> Curve:
        color, dash, width = look
        return Curve(series, label, color, dash, run, None, width, BEYOND_ROUNDS)

    most = None if problem in ("simplex-43", "trace-43") else BEYOND_ROUNDS  # Figure 2 has these
    restarted = Run(problem, "r-pfw", (("m", "theory"), ("M", 1.0)), "spectral", most)
    anytime = [
        curve(
            f"anytime m={name}",
            "anytime, closed form" if m == "exact" else f"anytime, $m = {name}$",
            ("exact" if m == "exact" else "many", dash, width),
            Run(problem, "anytime", (("m", m),), "estimated", BEYOND_ROUNDS),
        )
        for m, name, dash, width in sizes
    ]
    what = "rounds" if against == "round" else "oracle calls"
    return PanelSpec(
        letter,
        f"{about}, against {what}",
        f"({letter})  {about}",
        (
            curve(
                "FW",
                r"FW, step $2/(k+2)$",
                ("fw", "solid", 1.5),
                Run(problem, "fw", most=most),
            ),
            curve(
                "FW-LS",
                "FW, exact line search",
                ("fw-ls", "dashdot", 1.5),
                Run(problem, "fw-ls", most=most),
            ),
            curve("R-PFW", "R-PFW, $M = 1$", ("one", "solid", 1.5), restarted),
            *anytime,
        ),
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
