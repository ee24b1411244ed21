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

    ``series`` is its name in the CSV file, ``label`` that in the legend, with mathematics in
    Matplotlib's notation. ``color`` and ``dash`` are names of `wolfpack.report`, ``width`` is in
    points. Of two curves that nearly coincide the later one is thinner, so that both are seen.
    ``bound`` is None for the run itself, else Theorem 2 with these constants ("paper", "sharp"), or
    "lower" for what no method can do that mixes one answer a round, or so many answers.
    ``max_rounds`` is the last round to draw.
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
    options = [(("alpha", alpha), ("m", m), ("M", "paper")) for m in ("theory", 1)]
    many, one = (Run("simplex-42", "pfw", chosen) for chosen in options)
    bounds = (("Theorem 2", "dotted", "paper"), ("sharp bound", "dashed", "sharp"))
    curves = []
    for kind, dash, bound in (("PFW", "solid", None), *bounds):
        series = f"{kind} m=1/sqrt(alpha)"
        curves.append(Curve(series, f"{kind}, {MANY}", "many", dash, many, bound, 2.2))
        curves.append(Curve(f"{kind} m=1", f"{kind}, {ONE}", "one", dash, one, bound, 1.1))
    title = rf"({letter})  simplex, $\alpha = 10^{{{power}}}$"
    return PanelSpec(letter, f"simplex, α = {alpha:g}", title, tuple(curves))


def _figure2_panel(letter: str, problem: str, M: float | str, L: str = "spectral") -> PanelSpec:
    many, one = (Run(problem, "r-pfw", (("m", m), ("M", M)), L) for m in ("theory", 1))
    about, title = _describe(problem, M, L)
    curves = (
        *_frank_wolfe(problem),
        Curve("R-PFW m=1/sqrt(alpha)", f"R-PFW, {MANY}", "many", "solid", many, None, 2.2),
        Curve("R-PFW m=1", f"R-PFW, {ONE}", "one", "solid", one, None, 1.1),
    )
    return PanelSpec(letter, about, f"({letter.replace('2', chr(0x2032))})  {title}", curves)


def _frank_wolfe(problem: str, max_rounds: int | None = None) -> tuple[Curve, Curve]:
    """Return the curves of Frank-Wolfe with both of its step rules."""
    fixed, search = (Run(problem, name, max_rounds=max_rounds) for name in ("fw", "fw-ls"))
    return (
        Curve("FW", r"FW, step $2/(k+2)$", "fw", "solid", fixed),
        Curve("FW-LS", "FW, exact line search", "fw-ls", "dashdot", search),
    )


def _describe(problem: str, M: float | str, L: str) -> tuple[str, str]:
    """Return what a panel of Figure 2 solves, in plain text and with mathematics."""
    vectors = problem.startswith("simplex")
    size, tex = ("√d", r"\sqrt{d}") if vectors else ("√(pq)", r"\sqrt{pq}")
    size, tex = (size, tex) if M == "paper" else ("1", "1")
    if vectors:
        return f"simplex, M = {size}", f"simplex, $M = {tex}$"
    norm, name = ("F", "Frobenius") if L == "frobenius" else ("2", "spectral")
    title = rf"trace ball, $M = {tex}$, $L = \|C^{{\mathsf{{T}}}} C\|_{norm}$"
    return f"trace ball, M = {size}, {name} L", title


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
    restarted = Run(problem, "r-pfw", (("m", "theory"), ("M", 1.0)), max_rounds=longest)
    curves = [*_frank_wolfe(problem, longest)]
    curves.append(Curve("R-PFW", "R-PFW, $M = 1$", "one", "solid", restarted))
    sizes = [(1, "dotted", 0.9), (16, "dashed", 1.4), (256, "solid", 2.0)]
    sizes += [] if problem.startswith("trace") else [("exact", "solid", 1.6)]
    for m, dash, width in sizes:
        color, words = ("exact", "closed form") if m == "exact" else ("many", f"$m = {m}$")
        run = Run(problem, "anytime", (("m", m),), "estimated", BEYOND_ROUNDS)
        curves.append(Curve(f"anytime m={m}", f"anytime, {words}", color, dash, run, width=width))
    if problem.startswith("projection"):
        words = (
            "no method with one answer a round" if against == "round" else "no method that samples"
        )
        curves.append(Curve("lower bound", words, "ink", "dashdot", curves[0].run, "lower", 1.0))
    drawn = tuple(replace(curve, max_rounds=BEYOND_ROUNDS) for curve in curves)
    axis = "rounds" if against == "round" else "oracle calls"
    return PanelSpec(letter, f"{about}, against {axis}", f"({letter})  {about}", drawn, against)


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
