"""FHIR: one content in JSON and XML, resources put together, and what each statement becomes."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from st_biomed.readers import reader
from st_biomed.records import Grouping, Parent, Record, Relation, Tally
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import ReaderContract
from tests.readers.fhir_files import BUNDLE, BUNDLE_XML, FOLDER, SYSTEM, SYSTEM_XML, code_system, read, written


class TestCodeSystemJSON(ReaderContract):
    reader = "fhir"
    path = SYSTEM
    separator = b'"'
    damaged_options = {"inactive": True}


class TestCodeSystemXML(ReaderContract):
    reader = "fhir"
    path = SYSTEM_XML
    separator = b">"
    damaged_options = {"inactive": True}


class TestBundleJSON(ReaderContract):
    reader = "fhir"
    path = BUNDLE
    separator = b"{"


class TestBundleXML(ReaderContract):
    reader = "fhir"
    path = BUNDLE_XML
    separator = b"<"


class TestFolder(ReaderContract):
    reader = "fhir"
    path = FOLDER


def names(terminology: Terminology) -> dict[str, list[str]]:
    """Preferred name first."""
    rows = sorted(terminology.terms.to_pylist(), key=lambda row: row["kind"])
    out: dict[str, list[str]] = {}
    for row in rows:
        out.setdefault(terminology.codes[row["concept"]], []).append(terminology.strings[row["text"]])
    return out


def stream(path: Path, **options: Any) -> tuple[list[Record], Tally]:
    tally = Tally()
    return list(reader("fhir").records(path, tally=tally, **options)), tally


@pytest.mark.parametrize(("as_json", "as_xml"), [(SYSTEM, SYSTEM_XML), (BUNDLE, BUNDLE_XML)])
def test_both_forms_have_the_same_records_and_tally(as_json: Path, as_xml: Path) -> None:
    """Catches a list of XML with one member read as none, and a narrative read as content."""
    (records, tally), (others, other_tally) = stream(as_json), stream(as_xml)
    assert records == others
    assert tally.to_dict() == other_tally.to_dict()


def test_resources_of_a_code_system_are_put_together() -> None:
    """Catches a display of a value set before that of the code system, which stands later in the bundle."""
    zorb = read()
    assert names(zorb) == {
        "ICD10:Z99.1": ["Zorbing, unspecified"],
        "ICD10:Z99.2": ["Zorbing of flumpa"],
        "SNOMEDCT:99000001": ["Structure of flumpa (body structure)", "Struttura della flumpa"],
        "ZORB:A": ["Zorbity", "State of zorb", "Zorbità"],
        "ZORB:A1": ["Great zorbity"],
        "ZORB:A2a": ["Drod of the left flumpa"],
        "ZORB:B": ["Drod", "Drod, any"],
        "ZORB:C1": ["Smaller drod"],
        "ZORB:F": ["Fleck of zorb"],
    }
    assert zorb.definition_strings == ["A state in which the flumpa is zorbed."]
    languages = {zorb.strings[row["text"]]: row["language"] for row in zorb.terms.to_pylist()}
    assert (languages["Zorbità"], languages["State of zorb"]) == ("it", "en")


def test_parents_are_nested_or_stated_in_either_direction() -> None:
    """Catches a property known by its code alone (``below`` is FHIR's ``parent``), and parents read from an expansion."""
    records, _ = stream(BUNDLE)
    assert [(r.child, r.parent) for r in records if isinstance(r, Parent)] == [
        ("ZORB:A1", "ZORB:A"),
        ("ZORB:A2", "ZORB:A"),
        ("ZORB:A2a", "ZORB:A2"),
        ("ZORB:A2a", "ZORB:B"),
        ("ZORB:A1", "ZORB:B"),
    ]
    assert [r for r in records if isinstance(r, Grouping)] == [Grouping("ZORB:A2")]


def test_every_statement_is_told_of() -> None:
    tally = read().tallies["fhir rows"]
    assert (tally.n_read, tally.n_kept) == (46, 23)
    assert tally.dropped == {
        "concepts without a name": 1,
        "definitions equal to a name of their concept": 1,
        "definitions of a concept without a name": 1,
        "deprecated concepts": 1,
        "exclusions": 1,
        "files and entries without a resource of FHIR": 1,
        "headings of an expansion without a code": 1,
        "inactive concepts": 2,
        "inclusions by a rule, whose codes are not listed": 2,
        "mappings of a concept that was not read": 1,
        "mappings that are denied": 1,
        "mappings without a code system": 1,
        "parents and children that were not read": 2,
        "properties of other kinds": 1,
        "repeated mappings": 1,
        "repeated names of a concept": 3,
        "repeated parents": 1,
        "resources of other kinds (NamingSystem)": 1,
    }


def test_sources_have_the_license_of_their_resource() -> None:
    """Catches the license of a value set taken for that of the code system whose names it repeats."""
    zorb = read()
    own, imported = zorb.sources["ZORB"], zorb.sources["ZORB-DRODS"]
    assert (own.title, own.version, own.license, own.redistributable) == (
        "Codes of the zorb",
        "3.1.0",
        "CC0-1.0",
        True,
    )
    assert (imported.title, imported.license, imported.redistributable) == (
        "ZORB in Drods to choose from",
        "CC-BY-4.0",
        False,
    )
    assert own.url == "http://example.org/fhir/CodeSystem/zorb"


def test_a_second_resource_with_a_closed_license_closes_the_source(tmp_path: Path) -> None:
    """Catches names of an edition without a license that go out under that of another edition."""
    written(tmp_path, code_system({"code": "1", "display": "a"}, copyright="CC0"), "a.json")
    written(tmp_path, code_system({"code": "2", "display": "b"}, copyright="All rights reserved"), "b.json")
    source = read(tmp_path).sources["ZORB"]
    assert (source.license, source.redistributable) == ("All rights reserved", False)


def test_options_leave_out_and_count() -> None:
    everything = read(inactive=True)
    assert {"ZORB:C", "ZORB:D", "ICD10:Z99.3"} < set(everything.codes)
    assert "inactive concepts" not in everything.tallies["fhir rows"].dropped
    italian = read(languages="it")
    assert names(italian) == {"SNOMEDCT:99000001": ["Struttura della flumpa"], "ZORB:A": ["Zorbità"]}
    assert italian.tallies["fhir rows"].dropped["names in other languages"] == 14
    assert read(definitions=False).tallies["fhir rows"].dropped["definitions"] == 2
    assert read(SYSTEM, prefixes="https://example.org/fhir/CodeSystem/zorb/=Z").codes[0] == "Z:A"


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ([{"code": "status", "valueCode": "retired"}], "retired concepts"),
        ([{"code": "status", "valueCoding": {"code": "deprecated"}}], "deprecated concepts"),
        ([{"code": "deprecated", "valueDateTime": "2030-01-01"}], "deprecated concepts"),
        ([{"code": "retirementDate", "valueDateTime": "2030-01-01"}], "retired concepts"),
        ([{"code": "inactive", "valueBoolean": True}], "inactive concepts"),
        ([{"code": "inactive", "valueBoolean": False}, {"code": "status", "valueCode": "N"}], ""),
    ],
)
def test_a_concept_that_is_not_in_use_is_counted(tmp_path: Path, properties: list[Any], reason: str) -> None:
    """Catches a status of HL7 v2 (N, B) or a false flag taken for a withdrawal."""
    concepts = {"code": "1", "display": "a", "property": properties}, {"code": "2", "display": "b"}
    zorb = read(written(tmp_path, code_system(*concepts)))
    assert zorb.codes == (["ZORB:2"] if reason else ["ZORB:1", "ZORB:2"])
    assert zorb.tallies["fhir rows"].dropped == ({reason: 1} if reason else {})


def test_an_edition_in_use_precedes_a_retired_one(tmp_path: Path) -> None:
    """Catches a concept that goes with a retired edition of its code system, whichever file is read first."""
    written(
        tmp_path, code_system({"code": "1", "display": "a"}, {"code": "2", "display": "b"}, status="retired"), "a.json"
    )
    written(tmp_path, code_system({"code": "1", "display": "a"}, status="active"), "b.json")
    zorb = read(tmp_path)
    assert zorb.codes == ["ZORB:1"]
    assert zorb.tallies["fhir rows"].dropped == {"repeated names of a concept": 1, "retired concepts": 1}


def test_a_supplement_adds_names_to_another_code_system(tmp_path: Path) -> None:
    supplement = code_system(
        {"code": "1", "designation": [{"language": "it", "value": "uno"}]},
        url="http://example.org/zorb-it",
        content="supplement",
        supplements="http://example.org/zorb|3",
    )
    written(tmp_path, supplement, "a.json")
    written(tmp_path, code_system({"code": "1", "display": "one"}), "b.json")
    zorb = read(tmp_path)
    assert names(zorb) == {"ZORB:1": ["one", "uno"]}
    assert set(zorb.sources) == {"ZORB", "ZORB-ZORB-IT"}


def test_parts_are_no_parents(tmp_path: Path) -> None:
    """Catches an anatomy whose organs have their parts as kinds."""
    whole = {"code": "1", "display": "a", "concept": [{"code": "2", "display": "b"}]}
    records, _ = stream(written(tmp_path, code_system(whole, hierarchyMeaning="part-of")))
    assert [r for r in records if isinstance(r, Parent | Relation)] == [
        Relation("ZORB:2", "part_of", "ZORB:1", "ZORB")
    ]


def test_known_systems_have_the_prefix_of_other_readers(tmp_path: Path) -> None:
    systems = {
        "http://snomed.info/sct": ("9", "SNOMEDCT:9"),
        "https://loinc.org/": ("9-1", "LOINC:9-1"),
        "http://human-phenotype-ontology.org": ("HP:9", "HP:9"),
        "urn:oid:2.16.9": ("x", "OID-2.16.9:x"),
        "http://a.org/9": ("x", "N-9:x"),
    }
    include = [{"system": url, "concept": [{"code": code, "display": "a"}]} for url, (code, _) in systems.items()]
    path = written(tmp_path, {"resourceType": "ValueSet", "url": "http://a.org/all", "compose": {"include": include}})
    assert set(read(path).codes) == {curie for _, curie in systems.values()}


def test_archives_folders_lines_and_packages_are_the_same(tmp_path: Path) -> None:
    """Catches a member that is skipped in silence."""
    content = BUNDLE.read_bytes()
    with tarfile.open(tmp_path / "package.tgz", "w:gz") as archive:
        members = {
            "package/package.json": b'{"name": "zorb"}',
            "package/Bundle-zorb.json.gz": gzip.compress(content),
            "package/README.md": b"no resource",
        }
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    (tmp_path / "below" / "deep").mkdir(parents=True)
    (tmp_path / "below" / "deep" / "b.json").write_bytes(content)
    (tmp_path / "below" / "README.md").write_text("no resource")
    lines = [json.dumps(entry["resource"]) for entry in json.loads(content)["entry"] if "resource" in entry]
    (tmp_path / "b.ndjson").write_text("\n".join(lines) + "\n")
    digest = read().digest
    packed = read(tmp_path / "package.tgz")
    assert {packed.digest, read(tmp_path / "below").digest, read(tmp_path / "b.ndjson").digest} == {digest}
    dropped = packed.tallies["fhir rows"].dropped
    assert dropped["files of an archive that are neither JSON nor XML"] == 1
    assert dropped["files and entries without a resource of FHIR"] == 2
