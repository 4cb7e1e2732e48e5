"""ICD-10-CM: the tabular list that comes with ``simple-icd-10-cm``, any edition's tabular XML, or a flat code file.

Chapters contain blocks, blocks categories, categories subcategories. Where a block has a single category both carry
one code in the source ("B99"); here the block is ``ICD10CM:B99-B99``, so that nothing is its own parent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from tqdm import tqdm

from st_biomed.errors import InputError, unknown_name
from st_biomed.readers.records import Parent, Record, SourceInfo, Tally, Term
from st_biomed.readers.tables import check_file, read_lines

SOURCE = SourceInfo(
    name="ICD10CM",
    title="International Classification of Diseases, 10th Revision, Clinical Modification",
    licence="US public domain (CDC/NCHS)",
    url="https://www.cdc.gov/nchs/icd/icd-10-cm/",
    redistributable=True,
)

_PACKAGE = "simple_icd_10_cm"
_INCLUDES = {"none": (), "categories": ("diag",), "all": ("diag", "section", "chapter")}
# Titles of chapters and blocks end with their range, which is no part of the name: "Tuberculosis (A15-A19)".
_RANGE = re.compile(r"\s*\([A-Z]\w\w(-[A-Z]\w\w)?\)$")
_ORDER_LINE = re.compile(r"\d{5} (?P<code>[A-Z]\w{2,6}) * [01] (?P<short>.{60}) (?P<long>.+)")
_CODE_LINE = re.compile(r"(?P<code>[A-Z]\w{2,6}) +(?P<short>)(?P<long>\S.+)")
_EXTENSIONS = "seventh-character extensions"  # reason of the tally
_LISTED_CODE = re.compile(r"(?:\d{5} )?([A-Z]\S{2,7})")


def records(
    path: Path | None = None,
    *,
    tally: Tally,
    extensions: bool = False,
    includes: str = "categories",
    short_names: bool = False,
    valid_codes: str | Path | None = None,
) -> Iterator[Record]:
    """Read titles as preferred names, inclusion terms and "includes" notes as synonyms, and the hierarchy.

    Args:
        path: The tabular list (``icd10cm-tabular-*.xml``), the order file (``icd10cm_order_*.txt``) or the codes file
            (``icd10cm_codes_*.txt``). The text files know neither chapters and blocks nor synonyms; there a code's
            parent is the longest other code it begins with. By default the XML inside ``simple-icd-10-cm``.
        tally: Counts the names.
        extensions: Whether to make the codes with a seventh character ("initial encounter"), placeholders X included.
            Notes in their definitions are left out. A text file lists them without a mark: a code of seven characters
            whose name continues its parent's after a comma is taken for one.
        includes: Whose "includes" notes are synonyms. ``"categories"``: those of categories and subcategories, some
            of which have no other synonym (I10). ``"all"``: also those of chapters and blocks, which state their
            scope rather than name them. ``"none"``.
        short_names: Whether the abbreviated names of an order file are synonyms.
        valid_codes: For the XML with ``extensions``: a text file that lists the valid codes, since a few extensions
            that the XML describes do not exist; by default the package's own list for the package's XML, else all
            that it describes.

    Raises:
        InputError: The package is not installed, no such file, XML that is no tabular list, a malformed line, a code
            that is listed twice.
    """
    if includes not in _INCLUDES:
        raise unknown_name("includes of reader 'icd10cm'", includes, _INCLUDES)
    if path is None:
        path, packaged_codes = _packaged()
        valid_codes = valid_codes or packaged_codes
    if check_file(path).suffix.lower() != ".xml":
        yield replace(SOURCE, version="".join(re.findall(r"20\d\d", path.name)[:1]))
        yield from _flat(path, tally, extensions, short_names)
        return
    root = _tabular(path)
    yield replace(SOURCE, version=root.findtext("version", "").strip())
    valid = _listed(Path(valid_codes)) if extensions and valid_codes is not None else None
    reading = _Tabular(path, tally, _INCLUDES[includes], extensions, valid)
    chapters = root.findall("chapter")
    for chapter in tqdm(chapters, desc=path.name, unit=" chapters", delay=2, disable=None, leave=False):
        yield from reading.concept(chapter, None, None)


def _packaged() -> tuple[Path, Path]:
    """The tabular list and the code list of the installed package, found without its import, which takes seconds."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(
            "reader 'icd10cm' needs the package simple-icd-10-cm: pip install 'st-biomed[quickstart]' "
            "(or the path of a tabular XML or order file)"
        )
    folder = Path(spec.submodule_search_locations[0], "data")
    found = [sorted(folder.glob(pattern)) for pattern in ("*tabular*.xml", "code-list*.txt")]
    if not all(found):
        raise InputError(f"{folder}: holds no tabular XML and code list; install simple-icd-10-cm>=1.5")
    return found[0][-1], found[1][-1]


def _tabular(path: Path) -> ElementTree.Element:
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise InputError(f"{path}:{error.position[0]}: is not well-formed XML ({error})") from error
    except (LookupError, ValueError) as error:  # an encoding that Python or the parser does not know
        raise InputError(f"{path}:1: is no XML that can be decoded ({error}); UTF-8 can") from error
    if root.tag != "ICD10CM.tabular":
        raise InputError(f"{path}: root element is <{root.tag}>, the tabular list has <ICD10CM.tabular>")
    return root


def _curie(code: str) -> str:
    return f"{SOURCE.name}:{code}"


def _names(code: str, names: Iterable[str], tally: Tally) -> Iterator[Term]:
    """The first name is preferred; a name that a concept has twice, and an empty one, is dropped."""
    stripped = [name.strip() for name in names]
    distinct = dict.fromkeys(filter(None, stripped))
    tally.read(len(stripped))
    tally.keep(len(distinct))
    tally.drop("empty names", stripped.count(""))
    tally.drop("repeated names of a concept", len(stripped) - stripped.count("") - len(distinct))
    for i, name in enumerate(distinct):
        yield Term(_curie(code), name, "synonym" if i else "preferred")


class _Tabular:
    """The walk through the XML, parents first."""

    def __init__(
        self, path: Path, tally: Tally, includes: tuple[str, ...], extensions: bool, valid: set[str] | None
    ) -> None:
        self.path = path
        self.tally = tally
        self.includes = includes
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
        code = _block(node) if node.tag == "section" else node.findtext("name", "").strip()
        title = node.findtext("desc", "").strip()
        if not code or not title:
            raise InputError(f"{self.path}: <{node.tag}> {code!r} below {parent!r} has no code or no title")
        self.once(code)
        if node.tag != "diag":
            title = _RANGE.sub("", title)
        notes = [note.text or "" for note in node.iterfind("inclusionTerm/note")]
        if node.tag in self.includes:
            notes += [note.text or "" for note in node.iterfind("includes/note")]
        yield from _names(code, [title, *notes], self.tally)
        if parent is not None:
            yield Parent(_curie(code), _curie(parent))
        own = node.find("sevenChrDef")
        seventh = seventh if own is None else own
        children = [child for child in node if child.tag in ("section", "diag")]
        headings = [child for child in children if child.tag == "section" and child.find("diag") is None]
        for child in children:
            yield from self.concept(child, _heading_above(child, headings) or code, seventh)
        if not children and node.tag == "diag" and seventh is not None:
            yield from self.extended(code, title, seventh)

    def once(self, code: str) -> None:
        """Two concepts of one code would become one with two titles."""
        if code in self.seen:
            raise InputError(f"{self.path}: code {code} is listed twice")
        self.seen.add(code)

    def extended(self, code: str, title: str, seventh: ElementTree.Element) -> Iterator[Record]:
        """The leaf ``code`` with each seventh character."""
        stem = (code if "." in code else code + ".").ljust(7, "X")
        for extension in seventh.iterfind("extension"):
            longer = stem + extension.get("char", "")
            if self.extensions and (self.valid is None or longer.replace(".", "") in self.valid):
                self.once(longer)
                yield from _names(longer, [f"{title}, {extension.text}"], self.tally)
                yield Parent(_curie(longer), _curie(code))
            else:
                self.tally.read()
                self.tally.drop("extensions that are no valid code" if self.extensions else _EXTENSIONS)


def _block(section: ElementTree.Element) -> str:
    """A block's range as its code, also where the source abbreviates "B99-B99" to the code of its one category."""
    first, _, last = section.get("id", "").partition("-")
    return f"{first}-{last or first}"


def _heading_above(block: ElementTree.Element, headings: list[ElementTree.Element]) -> str | None:
    """The innermost heading whose range contains the block's.

    The XML lists blocks side by side, among them some without categories of their own ("Transport accidents
    (V00-V99)") that stand above those that follow.
    """
    if block.tag != "section":
        return None
    first, last = _block(block).split("-")
    above = None
    for heading in headings:
        start, end = _block(heading).split("-")
        if heading is not block and start <= first and last <= end:
            above = _block(heading)
    return above


def _listed(path: Path) -> set[str]:
    """The codes, without points, of an order file, a codes file or a bare list."""
    return {match[1].replace(".", "") for _, text in read_lines(path) if (match := _LISTED_CODE.match(text))}


def _flat(path: Path, tally: Tally, extensions: bool, short_names: bool) -> Iterator[Record]:
    """The records of an order or codes file."""
    names: dict[str, tuple[str, str]] = {}
    form, kind = None, ""
    for line, text in read_lines(path):
        if not text.strip():
            continue
        if form is None:
            form, kind = (_ORDER_LINE, "an order") if text[:5].isdigit() else (_CODE_LINE, "a codes")
        match = form.fullmatch(text)
        if not match:
            raise InputError(f"{path}:{line}: is no line of {kind} file, found {text[:40]!r}")
        if match["code"] in names:
            raise InputError(f"{path}:{line}: code {match['code']} is listed twice")
        names[match["code"]] = match["long"].rstrip(), match["short"].rstrip()
    for code, (long, short) in names.items():
        above = next((code[:n] for n in range(len(code) - 1, 2, -1) if code[:n] in names), None)
        if not extensions and len(code) == 7 and above and long.startswith(names[above][0] + ", "):
            tally.read()
            tally.drop(_EXTENSIONS)
            continue
        yield from _names(_dotted(code), [long, short] if short_names and short else [long], tally)
        if above:
            yield Parent(_curie(_dotted(code)), _curie(_dotted(above)))


def _dotted(code: str) -> str:
    return code if len(code) == 3 else f"{code[:3]}.{code[3:]}"
