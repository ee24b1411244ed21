"""The page that explains the figures: every number in its text comes from the runs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..report import Figure, Page, Section, Table
from ..report.machine import SYSTEM, versions
from . import prose
from .instances import instance
from .results import Results
from .series import BEYOND_ROUNDS, Curve, FigureSpec, PanelSpec, Run

MANY = "1/sqrt(alpha)"
PACKAGES = ("wolfpack", "numpy", "scipy", "matplotlib")
_TOGETHER = 1.25
"""Two curves whose last values are within this factor look like one."""


@dataclass(frozen=True)
class Circumstances:
    """How the runs were made: the command, its duration and the number of processes."""

    command: str
    seconds: float
    workers: int


def page(results: Results, drawings: dict[str, str], how: Circumstances) -> Page:
    """Return the page about these results; ``drawings`` holds each figure's SVG by its name."""
    explain = {"figure1": _figure1, "figure2": _figure2, "figure3": _figure3}
    sections = [explain[f.name](results, f, drawings[f.name]) for f in results.figures]
    sections += [
        _numbers(results),
        _settings(),
        Section("Where this differs from the authors’ scripts", [prose.DIFFERENCES]),
        _reproduce(results, how),
    ]
    return Page(
        "The experiments of the paper, run again",
        f"{prose.LEAD.strip()}: {results.rounds:,} iterations a run.",
        sections,
        "Made by wolfpack. This file needs no other file and no network.",
    )


def gap_text(value: float) -> str:
    """Return a gap with two digits: 3.9, 0.16, 2.7e-3."""
    if math.isnan(value):
        return "–"
    if 0.1 <= value < 100:
        return f"{value:.2g}"
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits}e{int(exponent)}"


def plain(text: str) -> str:
    """Return the name of a series as a reader would write it."""
    return text.replace("sqrt(alpha)", "√α").replace("m=", "m = ")


def panel_name(panel: PanelSpec) -> str:
    """Return the panel's letter and what it solves."""
    return f"({_prime(panel.letter)}) {panel.about}"


def _figure1(results: Results, figure: FigureSpec, svg: str) -> Section:
    below, ends = True, []
    for panel in figure.panels:
        curves = {curve.series: curve for curve in panel.curves}
        for m in ("1", MANY):
            measured = results.xy(curves[f"PFW m={m}"])[1]
            for name in ("Theorem 2", "sharp bound"):
                below &= bool((measured <= results.xy(curves[f"{name} m={m}"])[1]).all())
        last = {name: gap_text(results.value(c, results.rounds)) for name, c in curves.items()}
        ends.append(
            f"{panel_name(panel)}: after {results.rounds:,} iterations the gap is "
            f"{last['PFW m=1']} with m = 1 and {last[f'PFW m={MANY}']} with m = 1/√α. For the "
            f"latter, Theorem 2 promises {last[f'Theorem 2 m={MANY}']}, the sharp bound "
            f"{last[f'sharp bound m={MANY}']}."
        )
    drawing = _figure(results, figure, svg, prose.FIGURE1_CAPTION)
    ends.insert(0, prose.BELOW if below else prose.CROSSES)
    title = "Figure 1: the method against its guarantee"
    together = _coinciding(results, figure, "PFW m=1", f"PFW m={MANY}")
    return Section(title, [prose.FIGURE1, drawing, *together, ends, prose.SHARP])


def _figure2(results: Results, figure: FigureSpec, svg: str) -> Section:
    names = ("FW", "FW-LS", "R-PFW m=1", f"R-PFW m={MANY}")
    rows = []
    for panel in _sorted(figure):
        curves = {curve.series: curve for curve in panel.curves}
        gaps = [results.value(curves[name], results.rounds) for name in names]
        rows.append([panel_name(panel), *map(gap_text, gaps), f"{gaps[0] / gaps[-1]:.2g}"])
    words = "and how many times smaller than FW’s it is for R-PFW with m = 1/√α."
    caption = f"Best gap after {results.rounds:,} iterations, {words}"
    ends = Table(caption, ["Panel", *map(plain, names), "Ratio"], rows)
    drawing = _figure(results, figure, svg, prose.FIGURE2_CAPTION)
    title = "Figure 2: the restarted method against Frank-Wolfe"
    together = _coinciding(results, figure, *names[2:])
    return Section(title, [prose.FIGURE2, drawing, *together, ends, prose.M_IS_ONE])


def _figure3(results: Results, figure: FigureSpec, svg: str) -> Section:
    panels = [panel for panel in figure.panels if panel.against == "round"]
    names = list(dict.fromkeys(curve.series for panel in panels for curve in panel.curves))
    rows = []
    for panel in panels:
        gaps = {curve.series: results.last(curve) for curve in panel.curves}
        rows.append([panel_name(panel), *(gap_text(gaps.get(name, math.nan)) for name in names)])
    rounds = min(results.rounds, BEYOND_ROUNDS)
    drawing = _figure(results, figure, svg, prose.FIGURE3_CAPTION)
    ends = Table(f"Best gap after {rounds:,} iterations.", ["Panel", *map(plain, names)], rows)
    blocks = [prose.FIGURE3, drawing, ends, prose.FIGURE3_HONESTLY]
    return Section("Figure 3: past the paper", blocks)


def _numbers(results: Results) -> Section:
    columns = results.milestones
    heads = ["Panels", "Series", *(f"{k:,}" for k in columns)]
    rows = [
        [where, plain(curve.series), *(gap_text(results.value(curve, k)) for k in columns)]
        for where, curve in _distinct(results)
    ]
    blocks: list[str | Table] = [Table("Best gap so far, by iteration.", heads, rows, 2)]
    compared = [
        [
            f"{reference.figure[-1]}{panel_name(panel)}",
            plain(reference.series),
            f"{reference.round:,}",
            gap_text(reference.gap),
            gap_text(measured),
            f"{measured / reference.gap:.2f}",
        ]
        for reference, panel, measured in results.references()
    ]
    if compared:
        heads = ["Panel", "Series", "Iteration", "Reference", "Measured", "Ratio"]
        table = Table("Measured against reference values.", heads, compared, text_columns=2)
        blocks += [prose.REFERENCES, table]
    return Section("Numbers", blocks)


def _settings() -> Section:
    laws = {"gumbel": "Gumbel, centred", "gaussian": "Gaussian"}
    rows = []
    for name, figure, loss, shape in (
        ("simplex-42", "1", "½‖Ax − b‖²", "A is 200 × 50"),
        ("simplex-43", "2 (a), (b)", "½‖Ax − b‖²", "A is 200 × 50"),
        ("trace-43", "2 (c), (d)", "½‖AX − B‖²", "C is 10 × 10, X is 10 × 8"),
    ):
        on = instance(name)
        row = [figure, f"{loss} on {on.K}", shape, laws[on.noise], str(on.seed)]
        rows.append([*row, f"{on.spectral_L:.4g}", f"{on.frobenius_L:.4g}"])
    caption = "Problems. L is the Lipschitz constant of the gradient."
    heads = ["Figure", "Problem", "Data", "Noise", "Seed", "L, spectral", "L, Frobenius"]
    return Section("Settings", [Table(caption, heads, rows, text_columns=4), prose.SETTINGS])


def _reproduce(results: Results, how: Circumstances) -> Section:
    minutes, seconds = divmod(round(how.seconds), 60)
    took = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    with_versions = ", ".join(f"{name} {number}" for name, number in versions(PACKAGES).items())
    command = [f"`{how.command}`"] if how.command else []
    facts = (
        f"{len(results.records)} runs of {results.rounds:,} iterations took {took} in "
        f"{how.workers} {'process' if how.workers == 1 else 'processes'}, with "
        f"{with_versions} on {SYSTEM}."
    )
    return Section("Run it again", [*command, facts])


def _prime(letter: str) -> str:
    return letter.replace("2", "′")


def _sorted(figure: FigureSpec) -> list[PanelSpec]:
    return sorted(figure.panels, key=lambda panel: panel.letter)


def _distinct(results: Results) -> list[tuple[str, Curve]]:
    """Return every measured curve once, with the panels that draw it."""
    where: dict[Run, dict[str, list[str]]] = {}
    curves: dict[Run, Curve] = {}
    for figure in results.figures:
        for panel in _sorted(figure):
            for curve in panel.curves:
                if curve.bound is None:
                    letters = where.setdefault(curve.run, {}).setdefault(figure.name, [])
                    letters.append(f"({_prime(panel.letter)})")
                    curves[curve.run] = curve

    def places(run: Run) -> str:
        return ", ".join(f"Figure {f[-1]} {' '.join(where[run][f])}" for f in where[run])

    return [(places(run), curve) for run, curve in curves.items()]


def _coinciding(results: Results, figure: FigureSpec, first: str, second: str) -> list[str]:
    """Return what explains that two series end together, if they do in some panels."""
    found = []
    for panel in _sorted(figure):
        curves = {curve.series: curve for curve in panel.curves}
        ends = [results.value(curves[name], results.rounds) for name in (first, second)]
        if max(ends) <= _TOGETHER * min(ends):
            found.append(f"({_prime(panel.letter)})")
    if not found:
        return []
    return [f"In {' '.join(found)} {prose.COINCIDE}"]


def _figure(results: Results, figure: FigureSpec, svg: str, caption: str) -> Figure:
    """Return a figure, with every curve's first and last value for readers who cannot see it."""
    parts = [
        f"{figure.title}: {len(figure.panels)} log-log charts of the best primal-dual gap against "
        f"the iteration, from 1 to {results.rounds:,}."
    ]
    for panel in _sorted(figure):
        curves = [(plain(curve.series), results.xy(curve)[1]) for curve in panel.curves]
        ends = [f"{name} from {gap_text(y[0])} to {gap_text(y[-1])}" for name, y in curves]
        parts.append(f"{panel_name(panel)}: {'; '.join(ends)}.")
    files = [f"{figure.name}.{suffix}" for suffix in ("png", "svg", "csv")]
    return Figure(svg, " ".join(parts), caption, files)
