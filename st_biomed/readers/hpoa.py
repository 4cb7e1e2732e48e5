"""HPO annotations, ``phenotype.hpoa``: the phenotypes of the diseases of OMIM, Orphanet and DECIPHER."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file, read_lines
from st_biomed.files.gzipped import plain_name
from st_biomed.readers import obo, obograph
from st_biomed.readers._curies import curie, describe
from st_biomed.readers._duplicate_filter import DuplicateFilter
from st_biomed.records import Record, Relation, SourceInfo, Tally, Term, Xref

SOURCE = SourceInfo(
    name="HPOA",
    title="HPO annotations of rare diseases",
    license=describe("HP").license,
    url="https://hpo.jax.org/data/annotations",
)

_N_COLUMNS = 12
_FIRST_COLUMN = ("#databaseid", "database_id")  # its name in older and newer files
_RELATIONS = {
    "P": "has_phenotype",
    "I": "has_inheritance",
    "C": "has_clinical_course",
    "M": "has_clinical_modifier",
    "H": "has_past_medical_history",
}
_NEVER = re.compile(r"HP:0040285|0+(\.0*)?\s*%|0+/\d+")  # "Excluded", "0%", "0/5"
_EDITION = re.compile(r"#\s*(?:date|version):\s*(\S+).*")


class _Annotation(NamedTuple):
    disease: str
    name: str
    relation: str
    phenotype: str
    denied: bool


def records(path: Path | None = None, *, tally: Tally, ontology: str | Path | None = None) -> Iterator[Record]:
    """Read diseases as concepts and their annotations as relations to the terms of HPO.

    The relation is ``has_phenotype``; the other aspects have ``has_inheritance``, ``has_clinical_course``,
    ``has_clinical_modifier`` and ``has_past_medical_history``. Negative annotations (qualifier NOT, frequency 0) are
    dropped. Frequencies, onset and evidence are not read. Orphanet's diseases have ORDO's codes. The first name of a
    disease is preferred, its other names are synonyms.

    The file has no names of phenotypes, so the ontology is required: each annotated term is read with its preferred
    name and with the ontology's source. For its synonyms and hierarchy, merge with the result of ``obograph`` or
    ``obo`` for the same file.

    Args:
        path: The annotations.
        tally: Counts the annotations.
        ontology: HPO as OBO graph (``hp.json``) or in OBO format (``hp.obo``), ideally from the annotations' date. It
            is required and has no default. An alternative id counts for its current term. Annotations of unknown terms
            are dropped.

    Raises:
        InputError: No ontology; with file and line: a row of another length, a code that is not a CURIE, a disease
            without a name, an unknown aspect. Also: a file without annotations.
    """
    if path is None or ontology is None:
        raise InputError(
            "reader 'hpoa' needs the path to phenotype.hpoa, and ontology=FILE (hp.json or hp.obo) for the names of "
            "the phenotypes, which phenotype.hpoa does not contain"
        )
    path = check_file(path)
    yield replace(SOURCE, version=_edition(path))
    names, current, sources = _terms(Path(ontology))
    diseases: dict[str, set[str]] = {}
    declared = {source.name for source in sources}
    used: set[str] = set()
    annotations = DuplicateFilter(tally, "repeated annotations")
    for where, (disease, name, relation, phenotype, denied) in _annotations(path):
        tally.read()
        if disease in names:
            raise InputError(f"{where}: disease {disease} is a term of {ontology}")
        prefix = disease.partition(":")[0]
        if prefix not in declared:
            declared.add(prefix)
            yield describe(prefix)
        known = diseases.setdefault(disease, set())
        if name not in known:
            yield Term(disease, name, "synonym" if known else "preferred")
            known.add(name)
        phenotype = current.get(phenotype, phenotype)
        if denied:
            tally.drop("annotations that deny (NOT, or frequency 0)")
        elif phenotype not in names:
            tally.drop("annotations of a phenotype that the ontology does not name")
        elif annotations.keep(disease, relation, phenotype):
            if phenotype not in used:
                used.add(phenotype)
                yield from sources
                sources = []
                yield names[phenotype]
            yield Relation(disease, relation, phenotype)
    if not diseases:
        raise InputError(f"{path}: contains no annotations")


def _annotations(path: Path) -> Iterator[tuple[str, _Annotation]]:
    """``file:line`` and the cells of each row."""
    for line, text in read_lines(path):
        cells = [cell.strip() for cell in text.split("\t")]
        if not text or text.startswith("#") or cells[0].lower() in _FIRST_COLUMN:
            continue
        where = f"{path}:{line}"
        if len(cells) != _N_COLUMNS:
            raise InputError(f"{where}: found {len(cells)} cells separated by tabs, expected {_N_COLUMNS}")
        disease, name, qualifier, phenotype, _, _, _, frequency, _, _, aspect, _ = cells
        codes = [curie(code) for code in (disease, phenotype)]
        if codes[0] is None or codes[1] is None:
            wrong = phenotype if codes[0] else disease
            raise InputError(f"{where}: {wrong[:40]!r} is not a code such as OMIM:100100 or HP:0000001")
        if not name:
            raise InputError(f"{where}: disease {disease} has no name")
        if aspect not in _RELATIONS:
            raise InputError(f"{where}: aspect {aspect[:40]!r} must be one of {', '.join(_RELATIONS)}")
        if qualifier not in ("", "NOT"):
            raise InputError(f"{where}: qualifier {qualifier[:40]!r} must be NOT or empty")
        denied = qualifier == "NOT" or bool(_NEVER.fullmatch(frequency))
        yield where, _Annotation(codes[0], name, _RELATIONS[aspect], codes[1], denied)


def _edition(path: Path) -> str:
    """The date in the ``#`` lines at the top."""
    top = takewhile(lambda text: text.startswith("#"), (text for _, text in read_lines(path)))
    return next((match[1] for match in map(_EDITION.fullmatch, top) if match), "")


def _terms(path: Path) -> tuple[dict[str, Term], dict[str, str], list[SourceInfo]]:
    """Preferred name of each term of the ontology, the current code of each alternative one, and its sources."""
    reader = obograph if plain_name(path).endswith(".json") else obo
    names: dict[str, Term] = {}
    current: dict[str, str] = {}
    sources: list[SourceInfo] = []
    for record in reader.records(path, tally=Tally()):
        if isinstance(record, Term) and record.kind == "preferred":
            names[record.code] = record
        elif isinstance(record, Xref) and record.predicate == "alt_id":
            current[record.target] = record.code
        elif isinstance(record, SourceInfo):
            sources.append(record)
    return names, {old: code for old, code in current.items() if old not in names}, sources
