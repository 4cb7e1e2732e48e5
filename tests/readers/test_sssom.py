"""SSSOM tables: metadata on top, a label for each subject, and mappings that say no."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.readers import sssom
from st_biomed.records import SourceInfo, Tally, Term, Xref
from st_biomed.terminology import Terminology
from st_biomed.terminology.crosswalk import Crosswalk
from tests.contracts.reader_contract import FIXTURES, ReaderContract

ZORB = FIXTURES / "zorb.sssom.tsv"
COLUMNS = "subject_id\tsubject_label\tpredicate_id\tobject_id\n"


class TestSssom(ReaderContract):
    reader = "sssom"
    separator = b"\t"
    path = ZORB


def test_mappings_are_cross_references_of_named_subjects() -> None:
    """Catches a predicate with its prefix, a code in two spellings, and a quoted cell with a tab taken apart."""
    tally = Tally()
    records = list(sssom.records(ZORB, tally=tally))
    assert [tuple(r[:3]) for r in records if isinstance(r, Xref)] == [
        ("ZORB:0000001", "UMLS:C9900001", "exactMatch"),
        ("ZORB:0000001", "MESH:D990001", "broadMatch"),
        ("ZORB:0000004", "ORDO:990004", "closeMatch"),
        ("ZORB:0000004", "NCIT:C990004", "exactMatch"),
    ]
    assert [tuple(r[:3]) for r in records if isinstance(r, Term)] == [
        ("ZORB:0000001", "flumpa disorder", "preferred"),
        ("ZORB:0000001", "disorder of the flumpa", "synonym"),
        ("ZORB:0000004", "drodthic flumpa disorder", "preferred"),
    ]
    assert tally.dropped == {
        "mappings of a subject without a label": 1,
        "mappings that are denied": 1,
        "mappings to nothing": 1,
        "repeated mappings": 1,
    }


def test_a_subject_has_the_labels_of_all_its_rows(tmp_path: Path) -> None:
    """Catches mappings lost since the label of their subject is in a later row."""
    rows = "Z:1\t\tskos:exactMatch\tY:1\nZ:1\tflumpa\tskos:exactMatch\tY:2\nZ:1\tflump\tskos:exactMatch\tY:2\n"
    (tmp_path / "x.tsv").write_text(COLUMNS + rows)
    read = Terminology.read("sssom", tmp_path / "x.tsv")
    assert [row["target"] for row in read.xrefs.to_pylist()] == ["Y:1", "Y:2"]
    assert read.concept_names("Z:1") == ["flump", "flumpa"]
    assert read.strings[read.preferred_texts[0]] == "flumpa"
    assert read.tallies["sssom rows"].dropped == {"repeated mappings": 1}


def test_prefixes_of_bioregistry_meet_those_of_ontologies(tmp_path: Path) -> None:
    """Catches lower-case prefixes, over which a crosswalk finds no concept of the ontologies."""
    (tmp_path / "x.tsv").write_text(f"{COLUMNS}chebi:990\tflumpa\tskos:exactMatch\tdoid:991\n")
    others = [
        Terminology.from_records([Term(f"{name}:{number}", "zorb")], SourceInfo(name, name))
        for name, number in (("CHEBI", 990), ("DOID", 991))
    ]
    parts = [*others, Terminology.read("sssom", tmp_path / "x.tsv")]
    assert Crosswalk.between(*parts, predicates=["exactMatch"]).codes == {"DOID:991": "CHEBI:990"}


def test_metadata_give_version_and_license() -> None:
    """Catches the license of the ontology taken for that of the mappings."""
    assert Terminology.read("sssom", ZORB).sources == {
        "ZORB-SSSOM": SourceInfo(
            "ZORB-SSSOM", "ZORB, terms with mappings", "2031-02-03", "CC0-1.0", "not stated", redistributable=False
        )
    }


@pytest.mark.parametrize(("license", "open_sources"), [("CC0-1.0", {"MONDO-SSSOM"}), ("mine", set())])
def test_the_license_of_a_mapping_set_opens_no_names_of_a_closed_terminology(
    tmp_path: Path, license: str, open_sources: set[str]
) -> None:
    """Catches names of SNOMED CT and HPO left out of the search before a release, since their mappings are open."""
    rows = (f"{prefix}:990\tflumpa\tskos:exactMatch\tUMLS:C990\n" for prefix in ("MONDO", "HP", "SNOMEDCT", "ZORB"))
    (tmp_path / "x.tsv").write_text(f"# license: {license}\n{COLUMNS}{''.join(rows)}")
    sources = Terminology.read("sssom", tmp_path / "x.tsv").sources
    assert {name for name, source in sources.items() if source.redistributable} == open_sources


def test_without_metadata_nothing_may_be_redistributed(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text(f"{COLUMNS}MONDO:990\tflumpa\tskos:exactMatch\tUMLS:C990\n")
    source = Terminology.read("sssom", tmp_path / "x.tsv").sources["MONDO-SSSOM"]
    assert (source.version, source.license, source.redistributable) == ("", "not stated", False)


def test_mappings_merge_with_the_ontology(tmp_path: Path) -> None:
    """Catches one source in two versions, which merge refuses."""
    (tmp_path / "zorb.sssom.tsv.gz").write_bytes(gzip.compress(ZORB.read_bytes()))
    merged = Terminology.merge(
        Terminology.read("obo", FIXTURES / "zorb.obo"), Terminology.read("sssom", tmp_path / "zorb.sssom.tsv.gz")
    )
    targets = {row["target"] for row in merged.xrefs.to_pylist() if row["predicate"] == "exactMatch"}
    assert targets == {"NCIT:C990002", "NCIT:C990004", "UMLS:C9900001"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"x.tsv: is empty"),
        ("# license: x\n", r"x.tsv: is empty"),
        (
            "subject_id\tobject_id\n",
            r"x.tsv:1: no column 'subject_label'; split at tabs the columns are \['subject_id', 'object_id'\]",
        ),
        ("# a: b\n\n" + COLUMNS + "Z:1\ta\tx:eq\n", r"x.tsv:4: 3 cells, expected 4, split at tabs"),
        (COLUMNS + "Z:1\ta\tx:eq\tnone\n", r"x.tsv:2: 'none' is not a code such as MONDO:0000001"),
        (COLUMNS + "flumpa\ta\tx:eq\tY:1\n", r"x.tsv:2: 'flumpa' is not a code"),
        (COLUMNS + "Z:1\ta\t\tY:1\n", r"x.tsv:2: the mapping of Z:1 has no predicate"),
        (COLUMNS + 'Z:1\t"a\tx:eq\tY:1\n', r"x.tsv:2: .*stray double quote"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.tsv").write_text(text)
    with pytest.raises(InputError, match=message):
        Terminology.read("sssom", tmp_path / "x.tsv")


def test_a_path_is_needed() -> None:
    with pytest.raises(InputError, match="reader 'sssom' needs the path"):
        Terminology.read("sssom")


@pytest.mark.realdata
def test_mondo_has_21660_exact_matches_in_umls(realdata: Path) -> None:
    mondo = Terminology.read("sssom", realdata / "ontologies" / "mondo_exactmatch_umls.sssom.tsv.gz")
    assert mondo.n_concepts == mondo.xrefs.num_rows == 21_660
    assert set(mondo.xrefs["predicate"].to_pylist()) == {"exactMatch"}
    assert {target.partition(":")[0] for target in mondo.xrefs["target"].to_pylist()} == {"UMLS"}
    assert mondo.sources["MONDO-SSSOM"].license == "CC0-1.0"
    assert mondo.sources["MONDO-SSSOM"].version == "2026-08-04"
