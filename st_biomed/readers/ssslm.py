"""Tables of names for many ontologies' concepts at once, as SSSOM's sibling for lexical mappings, SSSLM: Biolexica's files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.tables import check_file, read_header, read_table
from st_biomed.readers._curies import describe, registry_curie
from st_biomed.records import Record, SourceInfo, Tally, Term
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="SSSLM",
    title="Names of concepts of many ontologies",
    license="as each ontology states",
    url="https://github.com/biopragmatics/ssslm",
)

_LANGUAGE = re.compile("([a-z]{2})(-[A-Za-z]+)?")
_NEEDED = ("text", "curie", "name", "predicate")
_FURTHER = ("type", "language", "source")
LABEL = "rdfs:label"


@dataclass
class _Concept:
    """What the rows say of one code.

    Attributes:
        name: As the column has it, which may be empty.
        label: The first text that is kept as its label.
        names: Text and language to the prefix of the ontology that has it.
    """

    name: str
    label: str = ""
    names: dict[tuple[str, str], str] = field(default_factory=dict)


def records(
    path: Path | None = None,
    *,
    tally: Tally,
    predicates: str | Sequence[str] = "rdfs:label,oboInOwl:hasExactSynonym",
    without_types: str | Sequence[str] = "",
    prefixes: str | Sequence[str] = "",
    language: str = "en",
) -> Iterator[Record]:
    """Read the texts of each code as its names.

    The preferred name is what the column ``name`` calls the code, or its first label where the column is empty; every
    other text is a synonym, labels included: where an ontology's concept was merged into another's, the table has a
    label of each. Codes stay as they were merged. A code whose texts are all left out is no concept. Codes are written as in ontologies (``doid:9900001`` is
    DOID:9900001).

    The source of a name is that of the ontology in the column ``source``, else that of its code's prefix:
    ``DOID-SSSLM``, so that the names can be merged with the ontology in another version.

    Args:
        path: The table, e.g. ``phenotype.ssslm.tsv``.
        tally: Counts the texts, and the names that no text of their code is equal to.
        predicates: What makes a text a name, with commas between: ``rdfs:label,oboInOwl:hasExactSynonym`` by default;
            ``oboInOwl:hasRelatedSynonym``, ``hasBroadSynonym`` and ``hasNarrowSynonym`` are others.
        without_types: Types of synonyms to leave out, with commas between, e.g. ``omo:0003012`` for acronyms or
            ``owl:deprecated``; none by default.
        prefixes: Prefixes of the codes to read, as ontologies write them, e.g. ``"DOID,MONDO"``; all by default.
        language: ISO 639-1 code of the texts whose row names none; ``en`` by default.

    Raises:
        InputError: With file and line: a column that is missing, a row of another length, a stray quote, a code that
            is no CURIE, a code that the column calls by two names, no predicate. Also: a prefix that no code has.
    """
    if path is None:
        raise InputError("reader 'ssslm' needs the path of a table of names, e.g. phenotype.ssslm.tsv")
    path = check_file(path)
    wanted, unwanted = listed("predicate", predicates), listed("type", without_types)
    kept_prefixes = listed("prefix", prefixes)
    if not _LANGUAGE.fullmatch(language):
        raise InputError(f"language must be two letters of ISO 639-1, e.g. 'it', found {language!r}")
    concepts: dict[str, _Concept] = {}
    met: set[str] = set()
    for where, row in _rows(path):
        text, name, predicate = row["text"], row["name"], row["predicate"]
        tally.read()
        code = registry_curie(row["curie"])
        if code is None:
            raise InputError(f"{where}: {row['curie'][:40]!r} is no code such as doid:0001816")
        if not predicate:
            raise InputError(f"{where}: a text of {code} has no predicate, such as {LABEL}")
        spoken = _LANGUAGE.fullmatch(row["language"] or language)
        if spoken is None:
            raise InputError(f"{where}: {row['language'][:40]!r} is no language, such as 'it'")
        prefix, key = code.partition(":")[0], (text, spoken[1])
        met.add(prefix)
        concept = concepts.setdefault(code, _Concept(name))
        concept.name = concept.name or name
        if name and name != concept.name:
            raise InputError(f"{where}: {code} is called {name[:40]!r} here and {concept.name[:40]!r} above")
        if kept_prefixes and prefix not in kept_prefixes:
            tally.drop("texts of other prefixes")
        elif predicate not in wanted:
            tally.drop(f"texts by {predicate}")
        elif row["type"] in unwanted and text != name:
            tally.drop(f"texts of type {row['type']}")
        elif not text:
            tally.drop("empty texts")
        elif key in concept.names:
            tally.drop("repeated texts of a code")
        else:
            tally.keep()
            own = registry_curie(f"{row['source']}:0") if row["source"] else None
            concept.names[key] = (own or code).partition(":")[0]
            if predicate == LABEL and not concept.label:
                concept.label = text
    for prefix in kept_prefixes:
        if prefix not in met:
            raise InputError(f"{path}: no code has prefix {prefix!r}; there are {', '.join(sorted(met)) or 'none'}")
    yield from _terms(concepts, tally, language)


def _terms(concepts: dict[str, _Concept], tally: Tally, language: str) -> Iterator[Record]:
    """The names of every code, its preferred one first."""
    declared: set[str] = set()
    for code, concept in concepts.items():
        if not concept.names:
            continue
        prefix = code.partition(":")[0]
        name = concept.name or concept.label or next(iter(concept.names))[0]
        key = next((key for key in concept.names if key[0] == name), None)
        if key is None:
            tally.read()
            tally.keep()
            key = name, language[:2]
            concept.names = {key: prefix, **concept.names}
        for source in dict.fromkeys([prefix, *concept.names.values()]):
            if source not in declared:
                declared.add(source)
                own = describe(source)
                yield own
                yield replace(own, name=f"{source}-{SOURCE.name}", title=f"{own.title}, names in tables of names")
        text, spoken = key
        yield Term(code, text, "preferred", spoken, f"{concept.names.pop(key)}-{SOURCE.name}")
        for (text, spoken), source in concept.names.items():
            yield Term(code, text, "synonym", spoken, f"{source}-{SOURCE.name}")


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """``file:line`` and the stripped cells of each row; columns that a table may lack are empty there."""
    header = read_header(path, dialect="tsv_quoted")
    columns = [*_NEEDED, *(column for column in _FURTHER if column in header)]
    for line, cells in read_table(path, columns, dialect="tsv_quoted"):
        row = dict.fromkeys(_FURTHER, "")
        row.update((column, cell.strip()) for column, cell in zip(columns, cells))
        yield f"{path}:{line}", row
