"""The page says what the runs found, whatever they found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from report.document import Document
from wolfpack.paper import FIGURES, prose
from wolfpack.paper.experiments import solve
from wolfpack.paper.explain import Circumstances, gap_text, page, panel_name, plain
from wolfpack.paper.results import Results
from wolfpack.paper.series import runs_of

ROUNDS = 1_000
HOW = Circumstances("wolfpack reproduce all --out here", 75.0, 2)


@pytest.fixture(scope="module")
def results() -> Results:
    """The records of a run of 40 rounds, stretched to a thousand so that references apply."""
    figures = tuple(FIGURES.values())
    records = {}
    for run in runs_of(figures):
        record = solve(run, 40)
        columns = dict(record.columns)
        columns["round"] = columns["round"].copy()
        columns["round"][-1] = ROUNDS
        records[run] = replace(record, columns=columns)
    return Results(figures, records, ROUNDS)


def text_of(results: Results) -> str:
    drawings = {figure.name: "<svg></svg>" for figure in results.figures}
    document = Document(page(results, drawings, HOW).html())
    return " ".join(document.text.split())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.158, "0.16"),
        (3.92, "3.9"),
        (12.4, "12"),
        (0.0027, "2.7e-3"),
        (7.7e5, "7.7e5"),
        (0.0999, "1.0e-1"),
    ],
)
def test_gaps_have_two_digits(value, text):
    assert gap_text(value) == text


def test_names_read_as_a_person_would_write_them():
    assert plain("R-PFW m=1/sqrt(alpha)") == "R-PFW m = 1/√α"
    panels = {panel.letter: panel for panel in FIGURES["figure2"].panels}
    assert panel_name(panels["d2"]) == "(d′) trace ball, M = 1, spectral L"


def test_every_measured_value_is_quoted_and_compared_with_its_reference(results):
    text = text_of(results)
    for reference, _, measured in results.references():
        assert gap_text(measured) in text
        assert f"{measured / reference.gap:.2f}" in text
    assert "1 min 15 s in 2 processes" in text
    assert "wolfpack reproduce all --out here" in text


@pytest.mark.parametrize(
    ("factor", "said", "unsaid"), [(1e-3, "BELOW", "CROSSES"), (1e9, "CROSSES", "BELOW")]
)
def test_the_verdict_on_the_bounds_depends_on_the_curves(results, factor, said, unsaid):
    records = {
        run: replace(record, columns={**record.columns, "gap": factor * record.columns["gap"]})
        for run, record in results.records.items()
    }
    text = text_of(replace(results, records=records))
    assert " ".join(getattr(prose, said).split()) in text
    assert " ".join(getattr(prose, unsaid).split()) not in text


def test_one_figure_alone_has_a_page_of_its_own(results):
    figure = FIGURES["figure1"]
    alone = replace(results, figures=(figure,))
    document = Document(page(alone, {"figure1": "<svg></svg>"}, HOW).html())
    headings = [text for _, text in document.headings]
    assert "Figure 1: the method against its guarantee" in headings
    assert not any(text.startswith("Figure 2") for text in headings)
    assert "reference value" not in document.text


def test_a_run_is_listed_with_the_panels_of_each_figure(results):
    text = text_of(results)
    assert "Figure 2 (a) (b), Figure 3 (a) (d)" in text
    assert "Figure 2 (b), Figure 3 (a) (d)" in text
    assert "(b) (a)" not in text


def test_curves_that_coincide_are_explained_and_others_are_not(results):
    words = "the curves with m = 1 and with m = 1/√α coincide"
    assert text_of(results).count(words) == 2  # in runs of 40 iterations
    records = dict(results.records)
    for figure in results.figures[:2]:
        for panel in figure.panels:
            for curve in panel.curves:
                if curve.bound is None and curve.series.endswith("m=1/sqrt(alpha)"):
                    columns = dict(records[curve.run].columns)
                    columns["gap"] = columns["gap"] / 2.0
                    records[curve.run] = replace(records[curve.run], columns=columns)
    assert words not in text_of(Results(results.figures, records, results.rounds))
