"""The HTML page: whole, escaped, self-contained, accessible."""

from __future__ import annotations

import re

import pytest

from wolfpack.report import Figure, Page, Section, Table

from .document import Document

SVG = '<svg width="10" height="10"><path style="stroke: #0a58a8" d="M 0 0 L 9 9"/></svg>'


@pytest.fixture
def text() -> str:
    table = Table("Gaps <best>", ["Run", "Gap"], [["a & b", "1e-3"], ["`x < y`", "2"]])
    figure = Figure(SVG, 'Falls from "9" to 0', "A line.", ["line.png", "line.csv"])
    return Page(
        "Runs & bounds",
        "What <this> is.",
        [Section("First part", ["Text", ["one", "two"], table]), Section("Second", [figure])],
        "The end",
    ).html()


def test_document_is_well_formed_and_says_its_language(text):
    document = Document(text)
    assert text.startswith("<!DOCTYPE html>")
    assert document.all("html") == [{"lang": "en"}]
    assert document.headings == [("h1", "Runs & bounds"), ("h2", "First part"), ("h2", "Second")]


def test_text_is_escaped_and_backticks_make_code(text):
    assert "What &lt;this&gt; is." in text
    assert "<code>x &lt; y</code>" in text
    assert Document(text).tables == [[["Run", "Gap"], ["a & b", "1e-3"], ["x < y", "2"]]]


def test_figures_have_a_text_alternative_and_links_to_their_files(text):
    document = Document(text)
    images = [a for a in document.all("div") if a.get("role") == "img"]
    assert [image["aria-label"] for image in images] == ['Falls from "9" to 0']
    assert document.all("svg")[0]["aria-hidden"] == "true"
    assert {"href": "line.png"} in document.all("a")


def test_what_scrolls_can_be_reached_by_keyboard_and_has_a_name(text):
    regions = [a for a in Document(text).all("div") if a.get("class") == "wide"]
    assert len(regions) == 2
    assert all(region["tabindex"] == "0" and region["aria-label"] for region in regions)


def test_links_within_the_page_lead_somewhere(text):
    document = Document(text)
    ids = {attributes["id"] for _, attributes in document.tags if "id" in attributes}
    inner = {a["href"][1:] for a in document.all("a") if (a["href"] or "").startswith("#")}
    assert inner == {"content", "first-part", "second"}
    assert inner <= ids


def test_page_needs_nothing_from_elsewhere(text):
    document = Document(text)
    assert not document.all("script")
    assert not document.all("img")
    assert [link["href"] for link in document.all("link")] == ["data:,"]
    assert not re.search(r"@import|url\(", text)


def test_both_themes_define_every_colour_that_is_used(text):
    used = set(re.findall(r"var\(--([a-z-]+)\)", text))
    light, dark = re.findall(r":root \{ (.*?) \}", text)[:2]
    for theme in (light, dark):
        assert used <= set(re.findall(r"--([a-z-]+):", theme))
    assert "stroke: var(--many)" in text
