"""Mappings between terminologies as SSSOM tables, such as Mondo's: from a named subject to the code of an object."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file, read_header, read_lines, read_table
from st_biomed.readers._curies import closed_unless_published_open, curie, describe
from st_biomed.records import Record, SourceInfo, Tally, Term, Xref

SOURCE = SourceInfo(
    name="SSSOM",
    title="Mappings between terminologies",
    license="as each mapping set states",
    url="https://mapping-commons.github.io/sssom/",
)
PATH = "a mapping table, e.g. mondo_exactmatch_umls.sssom.tsv"

_COLUMNS = ("subject_id", "subject_label", "predicate_id", "object_id")
_MODIFIER = "predicate_modifier"  # "Not" for a negated mapping; few tables have the column
_NOTHING = "NoTermFound"


class _Mapping(NamedTuple):
    """A row with codes as other readers write them."""

    subject: str
    label: str
    predicate: str
    target: str
    modifier: str


def records(path: Path, *, tally: Tally) -> Iterator[Record]:
    """Read each mapping as a cross-reference of its subject, whose name is its label.

    The predicate is written without its prefix: ``exactMatch``. Codes are written as in ontologies (``ORPHA:123`` is
    ORDO:123, ``chebi:1`` CHEBI:1). The first label of a subject is preferred, its other labels are synonyms; a subject
    without labels has no mappings. The source is ``MONDO-SSSOM`` for subjects of Mondo, so that the labels can be merged
    with the ontology in another version. The labels can be redistributed only if the license of the mapping set and the
    published license of the ontology are open.

    Args:
        path: The table, e.g. ``mondo_exactmatch_umls.sssom.tsv``; its metadata are the ``#`` lines at the top.
        tally: Counts the mappings.

    Raises:
        InputError: With file and line: a missing column, a row of the wrong length, a stray quote, a code that
            is not a CURIE, no predicate.
    """
    path = check_file(path)
    metadata = _metadata(path)
    labels: dict[str, dict[str, None]] = {}
    for mapping in _mappings(path):
        of_subject = labels.setdefault(mapping.subject, {})
        if mapping.label:
            of_subject[mapping.label] = None
    seen: set[tuple[str, str, str]] = set()
    named: set[str] = set()
    sources: set[str] = set()
    for mapping in _mappings(path):
        tally.read()
        code, key = mapping.subject, (mapping.subject, mapping.predicate, mapping.target)
        reason = _reason(mapping, is_named=bool(labels[code]), is_repeated=key in seen)
        if reason:
            tally.drop(reason)
            continue
        tally.keep()
        seen.add(key)
        prefix = code.partition(":")[0]
        source = f"{prefix}-SSSOM"
        if prefix not in sources:
            sources.add(prefix)
            yield describe(prefix)
            yield replace(_source(prefix, metadata), name=source)
        if code not in named:
            named.add(code)
            for i, label in enumerate(labels[code]):
                yield Term(code, label, "synonym" if i else "preferred", source=source)
        yield Xref(code, mapping.target, mapping.predicate, source)


def _source(prefix: str, metadata: dict[str, str]) -> SourceInfo:
    """The source of the labels of a prefix; the license of a mapping set does not open the names of a terminology."""
    date = re.search(r"\d{4}-\d\d-\d\d", metadata.get("mapping_set_version", ""))
    own = describe(
        prefix,
        version=date[0] if date else metadata.get("mapping_set_version", ""),
        license=metadata.get("license", "not stated"),
    )
    return replace(closed_unless_published_open(own), title=f"{own.title}, terms with mappings")


def _reason(mapping: _Mapping, *, is_named: bool, is_repeated: bool) -> str:
    """The reason for dropping a mapping; empty if it is kept."""
    if mapping.modifier.lower() == "not":
        return "mappings that are denied"
    if mapping.target.endswith(f":{_NOTHING}"):
        return "mappings to nothing"
    if not is_named:
        return "mappings of a subject without a label"
    return "repeated mappings" if is_repeated else ""


def _metadata(path: Path) -> dict[str, str]:
    """The ``# key: value`` lines at the top."""
    lines = takewhile(lambda text: text.startswith("#"), (text for _, text in read_lines(path)))
    pairs = (text.lstrip("# ").partition(":") for text in lines)
    return {key.strip(): value.strip().strip("'\"") for key, _, value in pairs}


def _mappings(path: Path) -> Iterator[_Mapping]:
    """The rows of the table."""
    columns = [*_COLUMNS, _MODIFIER]
    if _MODIFIER not in read_header(path, dialect="tsv_quoted", comment="#"):
        columns = [*_COLUMNS]
    for line, row in read_table(path, columns, dialect="tsv_quoted", comment="#"):
        subject, label, predicate, target, *modifier = (cell.strip() for cell in row)
        where, predicate = f"{path}:{line}", re.split("[:#/]", predicate)[-1]
        code, other = curie(subject), curie(target)
        if code is None or other is None:
            raise InputError(f"{where}: {(target if code else subject)[:40]!r} is not a code such as MONDO:0000001")
        if not predicate:
            raise InputError(f"{where}: the mapping of {code} has no predicate, such as skos:exactMatch")
        yield _Mapping(code, label, predicate, other, "".join(modifier))
