"""Linguistic variants of LOINC: names in other languages, a table for each language and country."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from st_biomed.errors import InputError, check_name
from st_biomed.files.delimited import read_header, read_table
from st_biomed.files.gzipped import plain_or_gzipped
from st_biomed.records import Tally, Term

_FOLDERS = ("AccessoryFiles/LinguisticVariants", "LinguisticVariants", "")
_LIST = "LinguisticVariants.csv"
_NAMES = ("LONG_COMMON_NAME", "LinguisticVariantDisplayName")
_OPTIONAL = {"LinguisticVariantDisplayName"}  # older releases have no such column
_CODE = re.compile(r"\d{1,7}-\d")
_LANGUAGE, _COUNTRY = re.compile(r"[a-z]{2,3}"), re.compile(r"[A-Z]{2}")


class _Variant(NamedTuple):
    """A row of the list of variants."""

    number: str
    language: str
    country: str

    @property
    def name(self) -> str:
        return f"{self.language}-{self.country}"


def variant_names(
    folder: Path,
    languages: Sequence[str],
    synonyms: Sequence[str],
    known: Collection[str],
    prefix: str,
    tally: Tally,
    clean: Callable[[str], str],
) -> Iterator[Term]:
    """The names of codes in other languages, all of them synonyms.

    Args:
        languages: ``"it"`` for all variants of a language, ``"es-MX"`` for one, ``"all"``.
        synonyms: Further columns of names: ``SHORTNAME``, ``COMPONENT``; others are not in variants.
        clean: The normalizer of every name.

    Raises:
        InputError: No list of variants, an unknown language, a missing table; with file and line: a malformed row.
    """
    listing = _find(folder, _LIST)
    variants = _listed(listing)
    chosen = _chosen(variants, languages)
    columns = [*_NAMES, *(column for column in synonyms if column in ("SHORTNAME", "COMPONENT"))]
    language, seen = "", set[tuple[str, str]]()
    for variant in sorted(chosen, key=lambda variant: variant.language):
        if variant.language != language:
            language, seen = variant.language, set()
        name = f"{variant.language}{variant.country}{variant.number}LinguisticVariant.csv"
        table = plain_or_gzipped(listing.parent / name)
        if table is None:
            raise InputError(f"{listing.parent}: contains no {name}, which {listing.name} lists")
        header = read_header(table, dialect="csv")
        present = [column for column in columns if column in header or column not in _OPTIONAL]
        for line, (number, *cells) in read_table(table, ["LOINC_NUM", *present], dialect="csv"):
            code = number.strip()
            if not _CODE.fullmatch(code):
                raise InputError(f"{table}:{line}: {code!r} is not a LOINC code; they look like 2345-7")
            names = list(dict.fromkeys(map(clean, filter(None, (cell.strip() for cell in cells)))))
            new = [text for text in names if (code, text) not in seen]
            tally.read()
            if code not in known:
                tally.drop("variant rows of a code that is left out")
            elif not names:
                tally.drop("variant rows without a name")
            elif not new:
                tally.drop("variant rows of repeated names")
            else:
                tally.keep()
                seen.update((code, text) for text in new)
                yield from (Term(f"{prefix}:{code}", text, "synonym", language) for text in new)


def _find(folder: Path, name: str) -> Path:
    for place in _FOLDERS:
        if file := plain_or_gzipped(folder / place / name):
            return file
    raise InputError(f"{folder}: contains no {name}, which languages need; looked in {', '.join(_FOLDERS[:2])}")


def _listed(path: Path) -> list[_Variant]:
    variants = []
    for line, cells in read_table(path, ["ID", "ISO_LANGUAGE", "ISO_COUNTRY"], dialect="csv"):
        variant = _Variant(*(cell.strip() for cell in cells))
        right = variant.number.isascii() and variant.number.isdecimal()
        if not (right and _LANGUAGE.fullmatch(variant.language) and _COUNTRY.fullmatch(variant.country)):
            raise InputError(f"{path}:{line}: a variant has an ID, a language and a country, found {list(variant)}")
        variants.append(variant)
    return variants


def _chosen(variants: Sequence[_Variant], languages: Sequence[str]) -> list[_Variant]:
    known = {variant.language for variant in variants} | {variant.name for variant in variants} | {"all"}
    for language in languages:
        check_name("language of reader 'loinc'", language, known)
    return [variant for variant in dict.fromkeys(variants) if {"all", variant.language, variant.name} & set(languages)]
