"""Open files read whole, one after the other: how many rows each has, and what becomes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from st_biomed.readers import reader
from st_biomed.records import Tally, Term

pytestmark = pytest.mark.realdata

FILES = [
    ("obo", "ontologies/uberon.2015-04-23.obo.gz", {}, 36_507, 173_781, 116_226 + 10_586),
    ("obo", "ontologies/cl.2017-04-14.obo.gz", {}, 17_066, 55_195, 37_168 + 4_619),
    ("obo", "ontologies/bio-chebi.2023-03-10.obo.gz", {}, 24_627, 86_964, 86_948),
    ("babelon", "multilingual/hpo/hp-cs.synonyms.tsv.gz", {}, 14_698, 18_812, 14_698),
    ("babelon", "multilingual/hpo/hp-de.babelon.tsv.gz", {}, 587, 3_488, 587),
    ("babelon", "multilingual/hpo/hp-de.synonyms.tsv.gz", {}, 745, 747, 745),
    ("babelon", "multilingual/hpo/hp-fr.babelon.tsv.gz", {}, 13_990, 14_693, 13_990 + 473),
    ("babelon", "multilingual/hpo/hp-fr.synonyms.tsv.gz", {}, 31, 19_830, 31),
    ("babelon", "multilingual/hpo/hp-ja.babelon.tsv.gz", {}, 17_649, 17_868, 17_649),
    ("babelon", "multilingual/hpo/hp-nl.synonyms.tsv.gz", {}, 0, 20_736, 0),
    ("babelon", "multilingual/hpo/hp-nna.babelon.tsv.gz", {}, 201, 201, 201),
    ("babelon", "multilingual/hpo/hp-pt.babelon.tsv.gz", {}, 7_213, 7_214, 7_213),
    ("babelon", "multilingual/hpo/hp-tr.synonyms.tsv.gz", {}, 10_637, 18_707, 10_637),
    ("babelon", "multilingual/hpo/hp-tw.babelon.tsv.gz", {}, 83, 83, 83),
    ("babelon", "multilingual/hpo/hp-zh.babelon.tsv.gz", {}, 18_988, 18_988, 18_988),
    (
        "phecode",
        "hierarchies/phecode1.2_pheinfo.csv.gz",
        {"icd_map": "hierarchies/phecode1.2_map_icd10who.csv.gz"},
        1_817,
        11_322,
        10_159,
    ),
    (
        "parent_child",
        "open2026/omop/gibleed/CONCEPT.csv",
        {"code": "CONCEPT_ID", "string": "CONCEPT_NAME"},
        444,
        444,
        444,
    ),
    (
        "parent_child",
        "open2026/mesh/data_mesh_thesaurus.tsv.gz",
        {"code": "DescriptorUI", "string": "TermName"},
        255_859,
        255_864,
        255_859,
    ),
    (
        "mesh",
        "open2026/mesh/data_mesh_thesaurus.tsv.gz",
        {
            "trees": "open2026/mesh/mtrees2022.bin.gz",
            "actions": "open2026/mesh/data_PharmacologicalActions.tsv.gz",
        },
        128_777,
        333_271,
        175_026,
    ),
    ("ssslm", "open2026/biolexica/phenotype.ssslm.tsv.gz", {}, 220_789, 321_567, 220_789),
    ("ssslm", "open2026/biolexica/anatomy.ssslm.tsv.gz", {}, 62_881, 93_577, 62_881),
    ("orphapacket", "open2026/orphanet/orphapackets.jsonl.gz", {}, 41_491, 240_429, 191_757),
]

PLACELESS = ["2 descriptors have no tree number, and so neither parents nor a type"]  # Female and Male


@pytest.mark.parametrize(
    ("name", "file", "options", "terms", "n_read", "n_kept"),
    FILES,
    ids=[f"{row[0]}-{Path(row[1]).name}" for row in FILES],
)
def test_a_file_is_read_whole(
    realdata: Path, name: str, file: str, options: dict[str, Any], terms: int, n_read: int, n_kept: int
) -> None:
    """Catches rows that are refused, or lost, in files that nobody made for a test."""
    tally = Tally()
    found = {key: realdata / value if "/" in value else value for key, value in options.items()}
    records = list(reader(name).records(realdata / file, tally=tally, **found))
    assert sum(isinstance(record, Term) for record in records) == terms
    assert (tally.n_read, tally.n_kept) == (n_read, n_kept)
    assert tally.adds_up()
    assert tally.notes == (PLACELESS if name == "mesh" else [])
