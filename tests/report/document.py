"""Reads an HTML document strictly enough to find what a browser would forgive."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Document(HTMLParser):
    """Tags with their attributes, headings, text of tables; refuses tags that do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[tuple[str, str]] = []
        self.tables: list[list[list[str]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, f"left open: {self._open}"

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Attributes of every element of that name."""
        return [attributes for name, attributes in self.tags if name == tag]

    def handle_starttag(self, tag, attrs):
        assert len(attrs) == len(dict(attrs)), f"attribute given twice in <{tag}>"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
        if tag in ("h1", "h2", "h3"):
            self.headings.append((tag, ""))
        elif tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1] == tag, f"</{tag}> closes <{self._open[-1]}>"
        self._open.pop()

    def handle_data(self, data):
        self.text += data
        if not self._open:
            return
        if any(tag in ("h1", "h2", "h3") for tag in self._open):
            tag, text = self.headings[-1]
            self.headings[-1] = (tag, text + data)
        if any(tag in ("td", "th") for tag in self._open):
            self.tables[-1][-1][-1] += data
