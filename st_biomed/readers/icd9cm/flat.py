"""ICD-9-CM in rows: CMS's code files, and the table of codes with their categories, blocks and chapters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines, read_table
from st_biomed.readers.icd9cm.concepts import DIAGNOSES, Concept, code_above, curie

CODE_LINE = re.compile(r"([VE\d]\d{1,4})\s+(\S.*)")
_ORDER_LINE = re.compile(r"\d{5}\s+[A-Z]\w{2,6}\s+[01]\s")  # their numbers look like codes


def read_code_file(path: Path, prefix: str, encoding: str) -> Iterator[Concept]:
    """Lines of a code without its point and a name."""
    names: dict[str, str] = {}
    for line, text in read_lines(path, encoding=encoding):
        if not text.replace("\t", " ").replace("\xa0", " ").isprintable():
            raise InputError(f"{path}:{line}: contains control characters, found {text[:40]!r}")
        if not text.strip():
            continue
        match = CODE_LINE.fullmatch(text.rstrip())
        if not match or _ORDER_LINE.match(text):
            raise InputError(f"{path}:{line}: expected a code and a name, found {text[:40]!r}")
        code = curie(f"{path}:{line}", match[1], prefix)
        if code in names:
            raise InputError(f"{path}:{line}: code {match[1]} is listed twice")
        names[code] = match[2]
    for code, name in names.items():
        yield Concept(code, code_above(code, names), [name])


def read_hierarchy_table(path: Path, encoding: str, short_names: bool) -> Iterator[Concept]:
    """Chapters, blocks, categories and codes; the code of a chapter or block is the range of its categories."""
    columns = ["code", "long_desc", "three_digit", "major", "sub_chapter", "chapter", *(["short_desc"] * short_names)]
    names: dict[str, list[str]] = {}
    categories: dict[str, tuple[str, str, str]] = {}
    for line, row in read_table(path, columns, dialect="csv", encoding=encoding):
        bare, long, three_digit, major, block, chapter, *short = (cell.strip() for cell in row)
        code, category = (curie(f"{path}:{line}", code_text) for code_text in (bare, three_digit))
        if code in names:
            raise InputError(f"{path}:{line}: code {bare} is listed twice")
        if not (long and major and chapter):
            raise InputError(f"{path}:{line}: code {bare} has an empty long_desc, major or chapter")
        if code_above(f"{code} ", {category}) != category:
            raise InputError(f"{path}:{line}: code {bare} does not begin with its three_digit, found {three_digit!r}")
        headings = categories.setdefault(category, (major, block or chapter, chapter))
        if headings != (major, block or chapter, chapter):
            raise InputError(
                f"{path}:{line}: three_digit {three_digit} has another major, sub_chapter or chapter in an earlier row"
            )
        names[code] = [long, *filter(None, short)]
    blocks: dict[str, str] = {}
    yield from _headings(categories, blocks)
    for category, (major, _, _) in categories.items():
        names.setdefault(category, []).append(major)
    for code, titles in names.items():
        yield Concept(code, blocks.get(code) or code_above(code, names), list(dict.fromkeys(titles)))


def _headings(categories: dict[str, tuple[str, str, str]], blocks: dict[str, str]) -> Iterator[Concept]:
    """The chapters and blocks, parents first; ``blocks`` is filled with the block of each category."""
    members: dict[tuple[str, str], list[str]] = {}
    for category, (_, block, chapter) in categories.items():
        for heading in ((chapter, ""), (chapter, block)):
            members.setdefault(heading, []).append(category)
    ranges = {
        heading: f"{min(within)}-{max(within).removeprefix(f'{DIAGNOSES}:')}" for heading, within in members.items()
    }
    headings: dict[str, Concept] = {}
    for (chapter, block), code in ranges.items():
        above = ranges[chapter, ""]
        # A chapter with one block has the same range, and usually the same name.
        names = headings.setdefault(code, Concept(code, "" if above == code else above, [])).names
        if (block or chapter) not in names:
            names.append(block or chapter)
    blocks.update({category: ranges[chapter, block] for category, (_, block, chapter) in categories.items()})
    yield from headings.values()
