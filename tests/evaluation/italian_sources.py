"""The open sources of the Italian experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from st_biomed.terminology import Terminology
from st_biomed.terminology.crosswalk import Crosswalk


def merged(data: Path, *, hpo: bool) -> Terminology:
    """The sources as in italian_open.sh, with HPO as the older runs had it or without."""
    ontology = data / "ontologies/hp.v2024-04-26.json.gz"
    translated = data / "multilingual/hpo"
    hl7 = {"name": "ICD9CM_HL7_IT", "prefix": "ICD9CM", "language": "it", "replace": "@=À,PIY=PIÙ"}
    statuses = {"statuses": "OFFICIAL,TRANSLATED,CANDIDATE"}
    read: list[tuple[bool, str, Path, dict[str, Any]]] = [
        (True, "icd9cm", data / "italian/icd9cm_it_tree.tsv.gz", {}),
        (True, "fsh", data / "italian/hl7it_icd9cm_diagnosi.fsh.gz", hl7),
        (hpo, "babelon", translated / "hp-it.babelon.tsv.gz", statuses | {"synonyms": translated / "hp-it.synonyms.tsv.gz"}),
        (hpo, "obograph", ontology, {}),
        (True, "obo", data / "ontologies/doid.2024-01-31.obo.gz", {}),
        (True, "obograph", data / "ontologies/ncit-disease-2018-06-08.json.gz", {}),
        (True, "obograph", data / "ontologies/ordo-2_6-2018-07-12.json.gz", {}),
        (hpo, "hpoa", data / "kg/phenotype.hpoa.2023-01-27.gz", {"ontology": ontology}),
    ]  # fmt: skip
    parts = [Terminology.read(reader, path, **options) for wanted, reader, path, options in read if wanted]
    walk = Crosswalk.between(*parts, predicates=["xref", "exactMatch"], through=["UMLS"])
    return Terminology.merge(*parts, codes=walk.codes).without_cycles()
