"""ICD-10-CM: the tabular list of ``simple-icd-10-cm``, the tabular XML of any edition, a code file or a table.

Chapters contain blocks, blocks contain categories, categories contain subcategories. A block with a single category
has the same code as the category in the source ("B99"). Its code here is ``ICD10CM:B99-B99``, so that no concept is
its own parent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from tqdm import tqdm

from st_biomed.errors import InputError, check_name
from st_biomed.files.delimited import check_file
from st_biomed.files.gzipped import plain_name
from st_biomed.readers._years import year_in_name
from st_biomed.readers.icd10cm.codes import listed_codes, read_codes
from st_biomed.readers.icd10cm.concepts import PREFIX
from st_biomed.readers.icd10cm.tabular import INCLUDES, Tabular, tabular_list
from st_biomed.records import Record, SourceInfo, Tally

SOURCE = SourceInfo(
    name=PREFIX,
    title="International Classification of Diseases, 10th Revision, Clinical Modification",
    license="US public domain (CDC/NCHS)",
    url="https://www.cdc.gov/nchs/icd/icd-10-cm/",
    redistributable=True,
)

_PACKAGE = "simple_icd_10_cm"


def records(
    path: Path | None = None,
    *,
    tally: Tally,
    extensions: bool = False,
    includes: str = "categories",
    coder_notes: bool = False,
    short_names: bool = False,
    valid_codes: str | Path | None = None,
) -> Iterator[Record]:
    """Read titles as preferred names, inclusion terms and "includes" notes as synonyms, and the hierarchy.

    A file, plain or gzipped, has one of four forms:

    - the tabular list (``icd10cm-tabular-*.xml``), with chapters, blocks and notes;
    - the order file (``icd10cm_order_*.txt``), with abbreviated names beside the long ones;
    - the codes file (``icd10cm_codes_*.txt``);
    - a CSV with the columns ``code``, ``long_desc``, ``chapter`` and, for abbreviated names, ``short_desc``
      (``icd10cm2019`` of the R package icd). The code of a chapter is the range of its categories, e.g.
      ``ICD10CM:A00-B99``. Its other headings, ``major`` and ``sub_chapter``, are not read: for categories with a
      letter in third place (C4A, M1A) they are those of a neighbor.

    In all forms except the first, a code's parent is the longest other code that it begins with, and the only synonyms
    are the abbreviated names.

    Args:
        path: The file; by default the tabular list inside ``simple-icd-10-cm``.
        tally: Counts the names.
        extensions: Whether to create the codes with a seventh character ("initial encounter"), including placeholders
            X; off by default. Notes in their definitions are left out. Files other than the tabular list do not mark
            them: a code of seven characters is an extension if its name continues its parent's after a comma.
        includes: The "includes" notes that are synonyms. ``"categories"`` (default): those of categories and
            subcategories, some of which have no other synonym (I10). ``"all"``: also those of chapters and blocks,
            which describe their scope and are not names. ``"none"``.
        coder_notes: Whether notes that are written for coders are synonyms: "Conditions classifiable to C50.-", "Use two
            codes if both a vertical and transverse fracture are present". Off by default. Before this option existed these
            notes were always read as names; ``coder_notes=true`` reproduces figures of that time. For the tabular list.
        short_names: Whether the abbreviated names of an order file or a table are synonyms; off by default.
        valid_codes: For the XML with ``extensions``: a text file that lists the valid codes, because a few extensions
            in the XML do not exist. By default, the package's own list for the package's XML, otherwise all codes that
            the XML describes.

    Raises:
        InputError: The package is not installed, no such file, XML other than a tabular list, a malformed line or row,
            a code that is listed twice, a category in two chapters; ``valid_codes`` without extensions or for another
            form, ``short_names`` of a tabular list, which has none, or ``coder_notes`` of another form.
    """
    check_name("includes of reader 'icd10cm'", includes, INCLUDES)
    packaged_codes = None
    if path is None:
        path, packaged_codes = _packaged()
    of_list = Path(plain_name(check_file(path))).suffix.lower() == ".xml"
    if valid_codes is not None and not (of_list and extensions):
        raise InputError("valid_codes of reader 'icd10cm' needs the tabular list (XML) with extensions=true")
    if short_names and of_list:
        raise InputError("short_names of reader 'icd10cm' needs an order file or a table; the tabular list has none")
    if coder_notes and not of_list:
        raise InputError("coder_notes of reader 'icd10cm' needs the tabular list (XML); other forms have no notes")
    if not of_list:
        yield replace(SOURCE, version=year_in_name(path))
        yield from read_codes(path, tally, extensions, short_names)
        return
    root = tabular_list(path)
    yield replace(SOURCE, version=root.findtext("version", "").strip())
    listing = valid_codes or packaged_codes
    valid = listed_codes(Path(listing)) if extensions and listing is not None else None
    reading = Tabular(
        path, tally, includes=INCLUDES[includes], coder_notes=coder_notes, extensions=extensions, valid=valid
    )
    chapters = root.findall("chapter")
    for chapter in tqdm(chapters, desc=path.name, unit=" chapters", delay=2, disable=None, leave=False):
        yield from reading.concept(chapter, None, None)


def _packaged() -> tuple[Path, Path]:
    """The tabular list and the code list of the installed package, located without its import, which takes seconds."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(
            "reader 'icd10cm' needs the package simple-icd-10-cm: pip install 'st-biomed[quickstart]' "
            "(or the path of a tabular XML or order file)"
        )
    folder = Path(spec.submodule_search_locations[0], "data")
    files = [sorted(folder.glob(pattern)) for pattern in ("*tabular*.xml", "code-list*.txt")]
    if not all(files):
        raise InputError(f"{folder}: holds no tabular XML and code list; install simple-icd-10-cm>=1.5")
    return files[0][-1], files[1][-1]
