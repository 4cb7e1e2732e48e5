"""The tabular list of ICD-10-CM as XML: chapters, blocks, categories and their notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from st_biomed.errors import InputError
from st_biomed.files.gzipped import open_decompressed
from st_biomed.readers._coder_notes import BY_CODES, INSTRUCTIONS
from st_biomed.readers.icd10cm.concepts import EXTENSIONS, curie, named
from st_biomed.records import Parent, Record, Tally

INCLUDES = {"none": (), "categories": ("diag",), "all": ("diag", "section", "chapter")}
"""The "includes" notes that are synonyms, as names of the elements with such notes."""

# Titles of chapters and blocks end with their range, which is not part of the name: "Tuberculosis (A15-A19)".
_BLOCK = re.compile(r"\w+-\w+")
_DEEPEST = 20  # nested elements; the list has fewer than ten
_RANGE = re.compile(r"\s*\([A-Z]\w\w(-[A-Z]\w\w)?\)$")

# Notes for coders among inclusion terms and "includes" notes: how to code, what "screening" means, and references to the
# conditions that the codes below a category list.
_INSTRUCTION = re.compile(
    r"^(?:categories|codes also|these codes|this (?:category|code)|the following (?:category|codes)|the listed conditions"
    r"|the selection|use two|screening is|usually implies)|\bshould be (?:coded|recorded)|\bcode to\b|\bthis code is\b|\bis only for use\b",
    re.I,
)
# Codes as such look like parts of names (O157:H7, B12, LGMD R12): they have a point, a range, or words before them.
_CODES = re.compile(
    r"\bclassifi(?:able|ed) (?:to|under|elsewhere in)\b|\bconditions? (?:listed )?(?:in|under|from) [A-Z]\d"
    r"|\b[A-Z]\d[\dA-Z]\.(?:[\dA-Z]+-?|-)|\b[A-Z]\d[\dA-Z]-[A-Z]\d[\dA-Z]\b",
    re.I,
)


def tabular_list(path: Path) -> ElementTree.Element:
    """The root of the XML.

    Raises:
        InputError: The file is not readable XML, or not a tabular list, or its elements are nested too deep.
    """
    try:
        with open_decompressed(path) as (stream, _):
            root = ElementTree.parse(stream).getroot()
    except ElementTree.ParseError as error:
        raise InputError(f"{path}:{error.position[0]}: is not well-formed XML ({error})") from error
    except (LookupError, ValueError) as error:  # an encoding that Python or the parser does not know
        raise InputError(f"{path}:1: is not XML that can be decoded ({error}); convert it to UTF-8") from error
    if root.tag != "ICD10CM.tabular":
        raise InputError(f"{path}: root element is <{root.tag}>, the tabular list has <ICD10CM.tabular>")
    level = [root]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in node]
    if level:
        raise InputError(f"{path}: elements are nested more than {_DEEPEST} deep, which a tabular list does not allow")
    return root


class Tabular:
    """The walk through the XML, parents first.

    Args:
        path: The file, for errors.
        tally: Counts the names.
        includes: The elements whose "includes" notes are synonyms, a value of ``INCLUDES``.
        coder_notes: As in the reader.
        extensions: As in the reader.
        valid: The codes that exist, without points; all by default.
    """

    def __init__(
        self,
        path: Path,
        tally: Tally,
        *,
        includes: tuple[str, ...],
        coder_notes: bool,
        extensions: bool,
        valid: set[str] | None,
    ) -> None:
        self.path = path
        self.tally = tally
        self.includes = includes
        self.coder_notes = coder_notes
        self.extensions = extensions
        self.valid = valid
        self.seen: set[str] = set()

    def concept(
        self, node: ElementTree.Element, parent: str | None, seventh: ElementTree.Element | None
    ) -> Iterator[Record]:
        """A chapter, block, category or subcategory and all below it.

        Args:
            node: ``<chapter>``, ``<section>`` or ``<diag>``.
            parent: The code above it.
            seventh: The nearest ``<sevenChrDef>`` above it.
        """
        code = "-".join(_ends(node)) if node.tag == "section" else node.findtext("name", "").strip()
        if node.tag == "section" and not _BLOCK.fullmatch(code):
            raise InputError(
                f"{self.path}: the id of a <section> must be a range such as A00-A09, found {code[:40]!r}"
            )
        title = node.findtext("desc", "").strip()
        if not code or not title:
            raise InputError(f"{self.path}: <{node.tag}> {code!r} below {parent!r} has no code or no title")
        self.once(code)
        if node.tag != "diag":
            title = _RANGE.sub("", title)
        yield from named(code, [title, *self.synonyms(node)], self.tally)
        if parent is not None:
            yield Parent(curie(code), curie(parent))
        own = node.find("sevenChrDef")
        seventh = seventh if own is None else own
        children = [child for child in node if child.tag in ("section", "diag")]
        headings = [child for child in children if child.tag == "section" and child.find("diag") is None]
        for child in children:
            yield from self.concept(child, _heading_above(child, headings) or code, seventh)
        if not children and node.tag == "diag" and seventh is not None:
            yield from self.extended(code, title, seventh)

    def synonyms(self, node: ElementTree.Element) -> list[str]:
        """The notes of an element that are names; those for coders are tallied."""
        terms = [note.text or "" for note in node.iterfind("inclusionTerm/note")]
        included = [note.text or "" for note in node.iterfind("includes/note")] if node.tag in self.includes else []
        if self.coder_notes:
            return [*terms, *included]
        names = []
        for note in (*terms, *included):
            if reason := _coder_note(note.strip()):
                self.tally.read_dropped(reason)
            else:
                names.append(note)
        return names

    def once(self, code: str) -> None:
        """Reject a code that is listed twice: two concepts would become one with two titles."""
        if code in self.seen:
            raise InputError(f"{self.path}: code {code} is listed twice")
        self.seen.add(code)

    def extended(self, code: str, title: str, seventh: ElementTree.Element) -> Iterator[Record]:
        """The leaf ``code`` with each seventh character."""
        stem = (code if "." in code else code + ".").ljust(7, "X")
        for extension in seventh.iterfind("extension"):
            character, text = extension.get("char", ""), (extension.text or "").strip()
            if not character or not text:
                raise InputError(f"{self.path}: an <extension> of {code} has no character or no text")
            longer = stem + character
            if self.extensions and (self.valid is None or longer.replace(".", "") in self.valid):
                self.once(longer)
                yield from named(longer, [f"{title}, {text}"], self.tally)
                yield Parent(curie(longer), curie(code))
            else:
                self.tally.read_dropped("extensions that are no valid code" if self.extensions else EXTENSIONS)


def _coder_note(text: str) -> str:
    """Why a note is not a name; empty if it is one."""
    return INSTRUCTIONS if _INSTRUCTION.search(text) else BY_CODES if _CODES.search(text) else ""


def _ends(section: ElementTree.Element) -> tuple[str, str]:
    """The first and last code of a block; the source abbreviates "B99-B99" to the code of its only category."""
    first, _, last = section.get("id", "").partition("-")
    return first, last or first


def _heading_above(block: ElementTree.Element, headings: list[ElementTree.Element]) -> str | None:
    """The innermost heading whose range contains the block's.

    The XML lists blocks side by side. Some of them have no categories of their own ("Transport accidents
    (V00-V99)") and are the parents of those that follow.
    """
    if block.tag != "section":
        return None
    first, last = _ends(block)
    above = None
    for heading in headings:
        start, end = _ends(heading)
        if heading is not block and start <= first and last <= end:
            above = f"{start}-{end}"
    return above
