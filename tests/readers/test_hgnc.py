"""HGNC: names by column, groups above genes, and entries that are withdrawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract

GENES = FIXTURES / "hgnc_complete_set.txt"


class TestHGNC(ReaderContract):
    reader = "hgnc"
    path = GENES
    separator = b"\t"
    damaged_options = {"previous": True, "xrefs": "entrez_id,ensembl_gene_id,omim_id,orphanet,uniprot_ids"}


class TestGroupsAsTypes(ReaderContract):
    reader = "hgnc"
    path = GENES
    options = {"groups": "types", "preferred": "name"}
    separator = b"\t"


def read(path: Path = GENES, **options: Any) -> Terminology:
    return Terminology.read("hgnc", path, **options)


def preferred(terminology: Terminology) -> list[str]:
    return [terminology.strings[i] for i in terminology.preferred_texts]


def test_names_come_from_their_columns() -> None:
    """Catches a previous symbol of one gene that is the approved symbol of another, read without being asked for."""
    genes = read()
    assert genes.concept_names("HGNC:990001") == ["FLP", "ZORBR", "ZRB1", "flumpa receptor, large", "zorb receptor 1"]
    assert preferred(genes) == ["ZRB1", "DRD0", "ZRB1P1", "Zorb receptors", "Flumpa proteins"]
    assert preferred(read(preferred="name"))[0] == "zorb receptor 1"
    assert {"OLDZ", "DRD0", "old zorb receptor"} < set(read(previous=True).concept_names("HGNC:990001"))


def test_groups_are_above_their_genes_or_types() -> None:
    genes = read()
    codes = genes.codes
    assert [(codes[row["child"]], codes[row["parent"]]) for row in genes.parents.to_pylist()] == [
        ("HGNC:990001", "HGNC_GROUP:9901"),
        ("HGNC:990001", "HGNC_GROUP:9902"),
        ("HGNC:990002", "HGNC_GROUP:9902"),
    ]
    assert {row["type"] for row in genes.types.to_pylist()} == {"gene with protein product", "pseudogene"}
    typed = read(groups="types")
    assert typed.parents.num_rows == 0
    assert "Zorb receptors" in {row["type"] for row in typed.types.to_pylist()}
    assert read(groups="none").tallies["hgnc rows"].dropped["gene groups"] == 3


def test_identifiers_are_cross_references() -> None:
    assert [(row["concept"], row["target"]) for row in read().xrefs.to_pylist()] == [
        (0, "ENSEMBL:ENSG99000000001"),
        (0, "NCBIGene:990011"),
        (0, "OMIM:990101"),
        (0, "OMIM:990102"),
        (1, "NCBIGene:990012"),
    ]
    assert {row["target"] for row in read(xrefs="orphanet,uniprot_ids").xrefs.to_pylist()} == {
        "ORDO:990201",
        "UNIPROT:Q99001",
        "UNIPROT:Q99002",
    }


def test_every_row_is_told_of() -> None:
    genes = read()
    tally = genes.tallies["hgnc rows"]
    assert (tally.n_read, tally.n_kept) == (26, 20)
    assert tally.dropped == {
        "entries with status Entry Withdrawn": 1,
        "entries with status Symbol Withdrawn": 1,
        "previous symbols and names": 3,
        "repeated names of a gene": 1,
    }
    source = genes.sources["HGNC"]
    assert (source.license, source.redistributable) == ("CC0-1.0", True)


def test_families_are_the_groups_of_older_files(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(GENES.read_text().replace("gene_group", "gene_family"))
    assert read(tmp_path / "x.txt").digest == read().digest


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "HGNC:990002\t",
            "HGNC:990001\t",
            r"x\.txt:3: expected a unique identifier such as HGNC:5, found 'HGNC:990001'",
        ),
        ("HGNC:990002\t", "990002\t", r"x\.txt:3: expected a unique identifier such as HGNC:5, found '990002'"),
        ("drod factor 0", "", r"x\.txt:3: approved entry HGNC:990002 needs a symbol and a name"),
        ("9901|9902", "9901", r"x\.txt:2: expected a number for each gene group, found '9901' for 'Zorb receptors"),
        (
            "Flumpa proteins\t",
            "Others\t",
            r"x\.txt:3: gene group 9902 has the name 'Others' here and 'Flumpa proteins'",
        ),
        ("locus_type", "type", r"x\.txt:1: no column 'locus_type'"),
        ("\tdrod factor 0\t", "\t", r"x\.txt:3: 53 cells, expected 54"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "x.txt").write_text(GENES.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        read(tmp_path / "x.txt")


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        (None, {}, r"reader 'hgnc' needs the path of hgnc_complete_set\.txt"),
        (GENES, {"preferred": "alias"}, r"unknown preferred of reader 'hgnc' 'alias': allowed are 'name', 'symbol'"),
        (GENES, {"groups": "all"}, r"unknown groups of reader 'hgnc' 'all': allowed are 'none', 'parents', 'types'"),
        (GENES, {"xrefs": "vega_id"}, r"unknown xrefs 'vega_id'"),
    ],
)
def test_bad_options_are_one_line(path: Path | None, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Terminology.read("hgnc", path, **options)
