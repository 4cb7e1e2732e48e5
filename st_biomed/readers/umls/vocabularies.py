"""The vocabularies of UMLS: versions, languages, and whether their names may be redistributed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from st_biomed.readers.umls.folder import MetaFolder
from st_biomed.records import Rows, SourceInfo


def described(folder: MetaFolder, whole: SourceInfo) -> Iterator[SourceInfo]:
    """The vocabularies in MRSAB with their current version and restriction level, then the release as a whole.

    A vocabulary of restriction level 0 is redistributable; all others and the release are not. MRDOC names the release; without
    it, the release is the latest in which a vocabulary has got its version.
    """
    release = ""
    for block in folder.blocks("MRSAB", ("RSAB", "SON", "SVER", "SRL", "CURVER", "IMETA")):
        for name, title, version, level, current, first in zip(*(column.to_pylist() for column in block.values())):
            if current == "Y":
                release = max(release, first)
                license = f"UMLS source restriction level {level}"
                yield SourceInfo(name, title or name, version, license, whole.url, redistributable=level == "0")
    yield replace(whole, version=_named_release(folder) or release)


def _named_release(folder: MetaFolder) -> str:
    """The release by MRDOC, e.g. ``2025AA``; empty if that has no such row."""
    for block in folder.blocks("MRDOC", ("VALUE", "TYPE", "EXPL")):
        for value, kind, release in zip(*(column.to_pylist() for column in block.values())):
            if (value, kind) == ("umls.release.name", "release_info"):
                return str(release)
    return ""


def spoken(folder: MetaFolder, met: Mapping[str, set[str]]) -> dict[str, str]:
    """SAB to LAT of the current version in MRSAB, otherwise the only language of its names.

    Args:
        met: SAB to the LAT of its rows in MRCONSO.
    """
    languages_of = {source: next(iter(languages)) for source, languages in met.items() if len(languages) == 1}
    for block in folder.blocks("MRSAB", ("RSAB", "LAT", "CURVER")):
        for name, language, current in zip(*(column.to_pylist() for column in block.values())):
            if current == "Y" and language:
                languages_of[name] = language
    return languages_of


def all_described(
    rows: Iterable[Rows], folder: MetaFolder, known: Iterable[SourceInfo], whole: SourceInfo
) -> Iterator[Rows | SourceInfo]:
    """The rows. The source of a vocabulary that MRSAB does not describe, not redistributable, precedes its first row.

    Args:
        rows: Columns of records.
        known: The result of :func:`described`.
        whole: The release.
    """
    names = {source.name for source in known} | {""}  # rows without a vocabulary belong to the release
    license = "not stated (not in MRSAB.RRF)" if folder.has("MRSAB") else "not stated (no MRSAB.RRF)"
    for some in rows:
        for name in some.columns["source"].unique().to_pylist() if "source" in some.columns else ():
            if name not in names:
                names.add(name)
                yield SourceInfo(name, name, license=license, url=whole.url, redistributable=False)
        yield some
