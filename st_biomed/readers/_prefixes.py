"""Prefixes of codes for terminologies that are named by a URL."""

from __future__ import annotations

import re
from typing import NoReturn

from st_biomed.errors import InputError
from st_biomed.settings.keyword_options import listed

_PREFIX = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
_URL_SHOWN = 80


def given_prefixes(reader: str, prefixes: str) -> dict[str, str]:
    """The pairs of an option ``URL=PREFIX,URL=PREFIX``.

    Raises:
        InputError: A pair of another form.
    """
    given = {}
    for pair in listed("prefixes", prefixes):
        url, _, prefix = pair.rpartition("=")
        if not url.strip() or not _PREFIX.fullmatch(prefix):
            raise InputError(f"prefixes of reader {reader!r} must be URL=PREFIX,..., found {pair[:_URL_SHOWN]!r}")
        given[url.strip()] = prefix
    return given


def end_of_url(url: str) -> str:
    """The last part of a URL in capitals, as a prefix: ``FHIR/CodeSystem/zorb`` ZORB, ``urn:oid:2.16`` OID-2.16."""
    end = url.removeprefix("urn:") if url.startswith("urn:") else re.split("[/#]", url.rstrip("/#"))[-1]
    prefix = re.sub(r"[^A-Za-z0-9_.-]+", "-", end).strip("-").upper()
    return prefix if _PREFIX.fullmatch(prefix) else f"N-{prefix}"


def refuse_shared_prefix(where: object, kind: str, url: str, prefix: str, other: str) -> NoReturn:
    """Reject a URL whose prefix another one has.

    Raises:
        InputError: Always.
    """
    raise InputError(
        f"{where}: {kind} {url[:_URL_SHOWN]!r} would have the prefix {prefix[:40]} of {other[:_URL_SHOWN]!r}; "
        f"set prefixes={url[:_URL_SHOWN]}=OTHER"
    )
