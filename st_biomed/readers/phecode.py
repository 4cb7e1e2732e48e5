"""PheCodes 1.2 and X: phenotypes for health records, each a small tree whose levels are the decimals of its code.

Codes are strings: "008.50" would be a child of "008.5", and "8.5" is a code damaged by a spreadsheet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file, read_header, read_table
from st_biomed.files.encodings import WINDOWS, resolve_encoding
from st_biomed.readers import icd9cm, icd10cm
from st_biomed.readers._duplicate_filter import DuplicateFilter
from st_biomed.readers._normalizers import name_normalizer
from st_biomed.records import Parent, Record, SourceInfo, Tally, Term, Type, Xref

SOURCE = SourceInfo(
    name="PHECODE",
    title="PheCodes",
    version="1.2",
    license="GPL-3.0 as part of the R package PheWAS",
    url="https://phewascatalog.org",
)
SOURCE_X = SourceInfo(
    name="PHECODEX",
    title="PheCodes X",
    version="X",
    license="not stated",
    url="https://github.com/PheWAS/PhecodeXVocabulary",
)
PATH = "the definitions, e.g. phecode_definitions1.2.csv"

# phecode_definitions1.2.csv names the column of names "phenotype", phecodeX_R_labels.csv uses it for codes.
_CODE = ("phecode", "phenotype")
_NAME = ("phecode_string", "description", "phenotype")
_CATEGORY = ("category", "group")
_ICD_NAME = (
    *("icd_string", "icd10_string", "icd10cm_string", "icd9_string", "icd9cm_string"),
    *("icd_str", "icd10_str", "icd10cm_str", "icd9_str", "icd9cm_str"),
)
# A map from ICD codes to phecodes has the code and its vocabulary, unless one column has both.
_ICD_CODE = ("code", "icd", "icd_code", "icdcode", "icd10cm", "icd10", "icd9cm", "icd9")
_VOCABULARY = ("vocabulary_id", "vocabulary", "flag")
_VOCABULARIES = {
    "ICD9CM": "ICD9CM",
    "ICD10CM": "ICD10CM",
    "ICD10": "ICD10",
    "ICD9": "ICD9CM",
    "9": "ICD9CM",
    "10": "ICD10CM",
}
# A few codes of version X have letters in front of the number: NB_N000.5.
_FORMS = {SOURCE: re.compile(r"\d{3,4}(\.\d{1,2})?"), SOURCE_X: re.compile(r"[A-Z]{2}_[A-Z]?\d{3,4}(\.\d{1,3})?")}


def records(
    path: Path,
    *,
    tally: Tally,
    icd_names: str | Path | None = None,
    icd_map: str | Path | None = None,
    icd9cm_titles: str | Path | None = None,
    icd10cm_titles: str | Path | None = None,
    encoding: str = "",
    normalizer: str = "none",
) -> Iterator[Record]:
    """Read the definitions of all phecodes; the form of the codes determines the version.

    A phecode's parent is the longest defined code that is shorter: 008.51 is below 008.5, and 008.5 below 008. The
    type is the category. The asterisk after names that are only in ICD-10 in version X is left out.

    In HiPrBERT (arXiv:2307.00266, section 3.1) "PheCODE is a hierarchy containing ICD codes": the strings of a phecode are
    those of the ICD codes that are mapped to it. They come from ``icd_names`` or, for the open map, which has codes
    alone, from ``icd_map`` with the titles of the codes. The names of all tables have the source of the phecodes.

    Args:
        path: The definitions as CSV, e.g. ``phecode_definitions1.2.csv`` or ``phecodeX_info.csv``.
        tally: Counts the rows of all tables.
        icd_names: A CSV with the columns ``phecode`` and ``ICD string`` (or ``ICD9 String``, ``ICD10 String``), e.g.
            ``phecode_icd10.csv`` or ``phecodeX_ICD_CM_map_flat.csv``: the names of the ICD codes that a phecode
            contains become its synonyms, as in HiPrBERT. Most are narrower than the phecode; by default none.
        icd_map: A CSV with the columns ``phecode``, ``code`` and ``vocabulary_id``, e.g.
            ``phecode_map_icd9cm_icd10cm.csv``: each ICD code becomes a cross-reference ``contains`` of its phecode, to
            ``ICD9CM:``, ``ICD10CM:`` or ``ICD10:``. The column of codes may also have the name of its vocabulary
            (``ICD10CM``, ``ICD9``), and the vocabulary may be a ``flag`` of 9 or 10. Lower-case placeholders
            ("T36.0x1A") become upper case, as in ICD-10-CM. By default none.
        icd9cm_titles: A file of ICD-9-CM that the reader ``icd9cm`` reads, e.g. ``CMS32_DESC_LONG_DX.txt``: the title of
            each code in ``icd_map`` becomes a synonym of its phecode, as with ``icd_names``. By default none.
        icd10cm_titles: The same of ICD-10-CM and the reader ``icd10cm``. Codes with a seventh character ("initial
            encounter") have no title. By default none.
        encoding: Encoding of these tables except files of titles, e.g. ``latin-1``; by default each is read as UTF-8 or, if
            it is not UTF-8, as ``cp1252``, the encoding of some files of the catalog (``phecodeX_info.csv``,
            ``Phecode_map_v1_2_icd10cm_beta.csv``). The encoding is recorded.
        normalizer: The normalizer of every name: ``"none"`` (default), ``"lower"`` or ``"coder"``, the cleaning of HiPrBERT's code.

    Raises:
        InputError: With file and line: a code of no version or of the other version, a repeated code, an empty name,
            an unknown vocabulary. Also: titles without ``icd_map``, or what the readers of the titles refuse.
    """
    files = {icd9cm.SOURCE.name: icd9cm_titles, icd10cm.SOURCE.name: icd10cm_titles}
    titled = {name: Path(file) for name, file in files.items() if file is not None}
    if titled and icd_map is None:
        raise InputError(
            f"{next(iter(titled)).lower()}_titles of reader 'phecode' needs icd_map with the codes of phecodes"
        )
    clean = name_normalizer(normalizer)
    names: dict[str, str] = {}
    source = SOURCE
    for line, code, name, category in _definitions(path, _settled(path, encoding, tally)):
        tally.read()
        source = source if names else next((s for s, form in _FORMS.items() if form.fullmatch(code)), SOURCE)
        if not _FORMS[source].fullmatch(code):
            raise InputError(
                f"{path}:{line}: {code!r} is not a phecode of version {source.version}; they look like 008.51 (1.2, "
                "zeros in front are part of it) or CM_705.11 (X)"
            )
        if code in names:
            raise InputError(f"{path}:{line}: phecode {code!r} is defined twice")
        if not name:
            raise InputError(f"{path}:{line}: phecode {code!r} has an empty name")
        names[code] = clean(name)
        tally.keep()
        yield Term(f"{source.name}:{code}", names[code], source=source.name)
        if category not in ("", "NULL", "NA"):
            yield Type(f"{source.name}:{code}", category)
    yield source
    for code in names:
        above = _parent(code, names)
        if above:
            yield Parent(f"{source.name}:{code}", f"{source.name}:{above}", source.name)
    names_once = DuplicateFilter(tally, "repeated names of a phecode")
    names_once.mark_seen(names.items())
    if icd_names is not None:
        read_as = _settled(icd_names, encoding, tally)
        yield from _icd_names(Path(icd_names), read_as, tally, names, names_once, source, clean)
    if icd_map is not None:
        read_as = _settled(icd_map, encoding, tally)
        links = list(_icd_codes(Path(icd_map), read_as, tally, names, source))
        yield from links
        yield from _icd_titles(links, titled, tally, names_once, clean)


def _settled(path: str | Path, encoding: str, tally: Tally) -> str:
    """The encoding of a table: the requested one, otherwise UTF-8 or the catalog's code page."""
    return resolve_encoding(check_file(path), encoding, tally, fallback=WINDOWS)


def _definitions(path: Path, encoding: str) -> Iterator[tuple[int, str, str, str]]:
    """Line, code, name and category (empty if the table has none)."""
    columns: list[str | tuple[str, ...]] = [_CODE, _NAME]
    if {name.lower() for name in read_header(path, encoding=encoding)} & set(_CATEGORY):
        columns.append(_CATEGORY)
    for line, cells in read_table(path, columns, encoding=encoding):
        code, name, category = (*cells, "")[:3]
        yield line, code.strip(), name.strip().removesuffix("*").rstrip(), category.strip()


def _parent(code: str, defined: dict[str, str]) -> str:
    """The longest defined code that is ``code`` with fewer decimals; empty for a root."""
    root, _, decimals = code.partition(".")
    shorter = [f"{root}.{decimals[:n]}" for n in range(len(decimals) - 1, 0, -1)]
    return next((above for above in (*shorter, root) if above != code and above in defined), "")


def _icd_names(
    path: Path,
    encoding: str,
    tally: Tally,
    names: dict[str, str],
    names_once: DuplicateFilter,
    source: SourceInfo,
    clean: Callable[[str], str],
) -> Iterator[Term]:
    for _, (code, name) in read_table(path, [("phecode",), _ICD_NAME], encoding=encoding):
        code, name = code.strip(), clean(name.strip())
        tally.read()
        if code not in names:
            tally.drop("ICD names of no defined phecode")
        elif not name:
            tally.drop("empty ICD names")
        elif names_once.keep(code, name):
            yield Term(f"{source.name}:{code}", name, "synonym", source=source.name)


def _icd_codes(path: Path, encoding: str, tally: Tally, names: dict[str, str], source: SourceInfo) -> Iterator[Xref]:
    codes_once = DuplicateFilter(tally, "repeated ICD codes of a phecode")
    for where, phecode, code, vocabulary in _links(path, encoding):
        tally.read()
        if vocabulary not in _VOCABULARIES:
            raise InputError(f"{where}: vocabulary must be one of {', '.join(_VOCABULARIES)}, found {vocabulary!r}")
        target = f"{_VOCABULARIES[vocabulary]}:{code}"
        if phecode not in names:
            tally.drop("ICD codes of no defined phecode")
        elif not code:
            tally.drop("empty ICD codes")
        elif codes_once.keep(phecode, target):
            yield Xref(f"{source.name}:{phecode}", target, "contains", source.name)


def _icd_titles(
    links: Iterable[Xref],
    titled: dict[str, Path],
    tally: Tally,
    names_once: DuplicateFilter,
    clean: Callable[[str], str],
) -> Iterator[Term]:
    """The titles of the ICD codes of phecodes, from the files by vocabulary; each code of these vocabularies is counted."""
    titles: dict[str, str] = {}
    for vocabulary in (icd9cm, icd10cm):
        if (path := titled.get(vocabulary.SOURCE.name)) is not None:
            own = Tally()
            for record in vocabulary.records(path, tally=own):
                if isinstance(record, Term) and record.kind == "preferred":
                    titles[record.code] = clean(record.text)
            tally.note(f"titles of {path.name}: {own}")
    for phecode, target, _, source in links:
        if target.partition(":")[0] not in titled:
            continue
        tally.read()
        if target not in titles:
            tally.drop("ICD codes without a title")
        elif names_once.keep(phecode.partition(":")[2], titles[target]):
            yield Term(phecode, titles[target], "synonym", source=source)


def _links(path: Path, encoding: str) -> Iterator[tuple[str, str, str, str]]:
    """``file:line``, phecode, ICD code and vocabulary of each row of a map."""
    header = {"_".join(name.lower().split()): name.upper() for name in read_header(path, encoding=encoding)}
    columns: list[str | tuple[str, ...]] = [("phecode",), _ICD_CODE]
    named = [column for column in _VOCABULARY if column in header]
    # Without such a column, the name of the code's column may be the vocabulary: ICD10CM.
    otherwise = next((header[column] for column in _ICD_CODE if column in header), "")
    if named or otherwise not in _VOCABULARIES:
        columns.append(_VOCABULARY)
    for line, cells in read_table(path, columns, encoding=encoding):
        phecode, code, vocabulary = (*cells, otherwise)[:3]
        yield f"{path}:{line}", phecode.strip(), code.strip().upper(), vocabulary.strip()
