"""Tables, written as Markdown and as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Cell(NamedTuple):
    """Text of a table's cell, and whether it is the best of its row."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table of a report.

    Attributes:
        columns: Headings of the columns after the first.
        rows: Label and cells of each row.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]]
    notes: Sequence[str] = ()


def markdown(title: str, tables: Sequence[Table]) -> str:
    """The tables as Markdown, the best of a row in bold."""
    lines = [f"# {title}", ""]
    for table in tables:
        lines += [f"## {table.title}", ""]
        lines.append("| | " + " | ".join(map(_escaped, table.columns)) + " |")
        lines.append("|---|" + "--:|" * len(table.columns))
        for label, cells in table.rows:
            texts = [f"**{cell.text}**" if cell.best else cell.text for cell in cells]
            lines.append(f"| {_escaped(label)} | " + " | ".join(map(_escaped, texts)) + " |")
        lines += ["", *(f"{note}\n" for note in table.notes)]
    return "\n".join(lines).rstrip() + "\n"


def html_page(title: str, tables: Sequence[Table]) -> str:
    """The tables as a self-contained page, with the best value of a row in bold."""
    parts = [_HEAD.format(title=html.escape(title)), f"<h1>{html.escape(title)}</h1>"]
    for table in tables:
        head = "".join(f"<th>{html.escape(column)}</th>" for column in ("", *table.columns))
        body = "".join(
            f"<tr><th>{html.escape(label)}</th>"
            + "".join(f"<td{' class=best' if cell.best else ''}>{html.escape(cell.text)}</td>" for cell in cells)
            + "</tr>\n"
            for label, cells in table.rows
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in table.notes)
        parts.append(
            f"<h2>{html.escape(table.title)}</h2>\n<table><thead><tr>{head}</tr></thead>\n"
            f"<tbody>{body}</tbody></table>\n{notes}"
        )
    return "\n".join([*parts, "</body></html>"]) + "\n"


_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.4 sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: .25em .7em; text-align: right; border-bottom: 1px solid #ccc; white-space: nowrap; }}
tbody th, thead th:first-child {{ text-align: left; font-weight: normal; }}
.best {{ font-weight: bold; }}
</style></head><body>"""


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
