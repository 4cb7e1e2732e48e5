"""What several terminologies say of their sources and replaced codes, as one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from st_biomed.errors import InputError
from st_biomed.records import FORMER_CODE, SourceInfo, Xref


def merged_sources(parts: Iterable[Iterable[SourceInfo]]) -> dict[str, SourceInfo]:
    """Name to description of the sources of all parts.

    Raises:
        InputError: Two parts say different things of one source.
    """
    sources: dict[str, SourceInfo] = {}
    for info in (info for part in parts for info in part):
        if (other := sources.setdefault(info.name, info)) != info:
            stated, restated = other.to_dict(), info.to_dict()
            field = (
                "version"
                if other.version != info.version
                else next(key for key in stated if stated[key] != restated[key])
            )
            raise InputError(
                f"merge: source {info.name} comes as {field} {stated[field]!r} and as {restated[field]!r}; "
                "parts of one source have to say the same of it (--option when they are read), "
                "others need names of their own"
            )
    return sources


def former_codes(codes: Mapping[str, str], present: Iterable[str], sources: Collection[str]) -> Iterator[Xref]:
    """A cross-reference of each present code that becomes another one.

    Args:
        codes: Codes that become others.
        present: The codes of all parts.
        sources: Names of the sources; the prefix of a code states its source if it is one of these.
    """
    for code in sorted({code for code in present if code in codes}):
        prefix = code.partition(":")[0]
        yield Xref(codes[code], code, FORMER_CODE, prefix if prefix in sources else "")
