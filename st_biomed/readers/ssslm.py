"""Tables of names for the concepts of many ontologies (SSSLM, the lexical sibling of SSSOM), such as Biolexica's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file, read_header, read_table
from st_biomed.readers._curies import describe, registry_curie
from st_biomed.readers._languages import language_of
from st_biomed.readers._unmet_values import note_unmet
from st_biomed.records import Record, SourceInfo, Tally, Term
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="SSSLM",
    title="Names of concepts of many ontologies",
    license="as each ontology states",
    url="https://github.com/biopragmatics/ssslm",
)
PATH = "a table of names, e.g. phenotype.ssslm.tsv"

_NEEDED = ("text", "curie", "name", "predicate")
_FURTHER = ("type", "language", "source")
LABEL = "rdfs:label"
_NAMES = f"{LABEL},oboInOwl:hasExactSynonym"


@dataclass
class _Concept:
    """The rows of one code.

    Attributes:
        name: The text of the column ``name``, which may be empty.
        label: The first kept text that is a label.
        names: Text and language to the prefix of its ontology.
    """

    name: str
    label: str = ""
    names: dict[tuple[str, str], str] = field(default_factory=dict)


def records(
    path: Path,
    *,
    tally: Tally,
    predicates: str | Sequence[str] = _NAMES,
    without_types: str | Sequence[str] = "",
    prefixes: str | Sequence[str] = "",
    language: str = "en",
) -> Iterator[Record]:
    """Read the texts of each code as its names.

    The preferred name is the column ``name``, or the first label of the code if the column is empty. Every other text
    is a synonym, including labels: if an ontology's concept was merged into another's, the table has a label of each.
    Codes stay as they were merged. A code whose texts are all left out is not a concept. Codes are written as in
    ontologies (``doid:9900001`` is DOID:9900001).

    The source of a name is the ontology in the column ``source``, or the prefix of its code:
    ``DOID-SSSLM``, so that the names can be merged with the ontology in another version.

    Args:
        path: The table, e.g. ``phenotype.ssslm.tsv``.
        tally: Counts the texts, and the names that differ from all texts of their code.
        predicates: The predicates of names, separated by commas: ``rdfs:label,oboInOwl:hasExactSynonym`` by default;
            ``oboInOwl:hasRelatedSynonym``, ``hasBroadSynonym`` and ``hasNarrowSynonym`` are others.
        without_types: Types of synonyms to leave out, separated by commas, e.g. ``omo:0003012`` for acronyms or
            ``owl:deprecated``; none by default.
        prefixes: Prefixes of the codes to read, as ontologies write them, e.g. ``"DOID,MONDO"``; all by default.
        language: ISO 639-1 code of the texts whose row has none; ``en`` by default.

    Raises:
        InputError: With file and line: a missing column, a row of the wrong length, a stray quote, a code that
            is not a CURIE, a code with two values in the column ``name``, no predicate. Also: a prefix that no code
            has.
    """
    path = check_file(path)
    wanted, unwanted = listed("predicate", predicates), listed("type", without_types)
    kept_prefixes = listed("prefix", prefixes)
    language = language_of("language", language)
    concepts: dict[str, _Concept] = {}
    met, met_predicates, met_types = set[str](), set[str](), set[str]()
    for where, row in _rows(path):
        text, name, predicate = row["text"], row["name"], row["predicate"]
        tally.read()
        code = registry_curie(row["curie"])
        if code is None:
            raise InputError(f"{where}: {row['curie'][:40]!r} is not a code such as doid:0001816")
        if not predicate:
            raise InputError(f"{where}: a text of {code} has no predicate, such as {LABEL}")
        prefix, key = code.partition(":")[0], (text, language_of(where, row["language"] or language))
        met.add(prefix)
        met_predicates.add(predicate)
        met_types.add(row["type"])
        concept = concepts.setdefault(code, _Concept(name))
        concept.name = concept.name or name
        if name and name != concept.name:
            raise InputError(
                f"{where}: {code} has the name {name[:40]!r} here and {concept.name[:40]!r} in an earlier row"
            )
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
            raise InputError(f"{path}: no code has prefix {prefix!r}; found {', '.join(sorted(met)) or 'none'}")
    if predicates != _NAMES:
        note_unmet(tally, "predicates", wanted, met_predicates, "no text has predicate")
    note_unmet(tally, "without_types", unwanted, met_types, "no text has type")
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
            tally.read_kept()
            key = name, language
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
    """``file:line`` and the stripped cells of each row; optional columns that a table lacks are empty."""
    header = read_header(path, dialect="tsv_quoted")
    columns = [*_NEEDED, *(column for column in _FURTHER if column in header)]
    for line, cells in read_table(path, columns, dialect="tsv_quoted"):
        row = dict.fromkeys(_FURTHER, "")
        row.update((column, cell.strip()) for column, cell in zip(columns, cells))
        yield f"{path}:{line}", row
