"""Orphanet's packets: lists in three shapes, and concepts that only other packets name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract

PACKETS = FIXTURES / "orphapackets.jsonl"
GENE = "Disease-causing_germline_mutation(s)_in"


class TestOrphapacket(ReaderContract):
    reader = "orphapacket"
    separator = b", "
    path = PACKETS


def read(path: Path = PACKETS, **options: Any) -> Terminology:
    return Terminology.read("orphapacket", path, **options)


def triples(terminology: Terminology) -> set[tuple[str, str, str]]:
    codes = terminology.codes
    return {(codes[row["head"]], row["relation"], codes[row["tail"]]) for row in terminology.relations.to_pylist()}


def test_a_packet_has_names_type_definition_and_version() -> None:
    """Catches a synonym equal to the label, and a definition with its line break."""
    packets = read()
    assert packets.concept_names("ORDO:990002") == ["Flumpa drod, mimpic type", "MFD", "Mimpic flumpa drod"]
    assert packets.definition_strings == ["A rare flumpa disease characterized by drods of the mimpic kind."]
    assert {packets.codes[row["concept"]]: row["type"] for row in packets.types.to_pylist()} == {
        "ORDO:990001": "Category",
        "ORDO:990002": "Disease",
        "ORDO:990003": "Clinical subtype",
    }
    assert packets.sources["ORPHAPACKET"].version == "2031-03-03"
    assert not packets.sources["HP-ORPHAPACKET"].redistributable


def test_parents_phenotypes_and_genes_are_found_in_every_shape() -> None:
    """Catches a list that is written without its wrapper, and a gene that is the tail instead of the head."""
    packets = read()
    codes = packets.codes
    assert {(codes[row["child"]], codes[row["parent"]]) for row in packets.parents.to_pylist()} == {
        ("ORDO:990002", "ORDO:990001"),
        ("ORDO:990002", "ORDO:990009"),
        ("ORDO:990003", "ORDO:990001"),
        ("ORDO:990003", "ORDO:990002"),
    }
    assert packets.concept_names("ORDO:990009") == ["Rare gland disease"]
    assert packets.concept_names("HGNC:990001") == ["ZRB1", "zorb transporter 1"]
    assert triples(packets) == {
        ("ORDO:990002", "has_phenotype_very_frequent", "HP:9900001"),
        ("ORDO:990002", "has_phenotype_occasional", "HP:9900002"),
        ("ORDO:990003", "has_phenotype_frequent", "HP:9900002"),
        ("HGNC:990001", GENE, "ORDO:990002"),
        ("HGNC:990001", GENE, "ORDO:990003"),
    }


def test_cross_references_keep_what_the_mapping_says() -> None:
    """Catches a broader disease given as equal to each of its parts elsewhere."""
    assert [(row["predicate"], row["target"]) for row in read().xrefs.to_pylist()] == [
        ("broadMatch", "ICD10:Z99.0"),
        ("exactMatch", "OMIM:990201"),
        ("xref", "MESH:D990002"),
        ("narrowMatch", "OMIM:990203"),
    ]


def test_every_statement_is_counted() -> None:
    tally = read().tallies["orphapacket rows"]
    assert tally.dropped == {
        "empty or repeated names of a concept": 1,
        "cross-references that are denied": 1,
        "genes without a code of HGNC, a name or an association": 1,
        "phenotypes that are excluded": 1,
        "repeated phenotypes and genes": 1,
        "statements of other kinds (Children)": 1,
        "statements of other kinds (Prevalences)": 2,
        "statements of other kinds (AverageAgeOfOnsets)": 1,
        "statements of other kinds (TypeOfInheritances)": 2,
    }


def test_options_leave_out_and_count() -> None:
    packets = read(phenotypes=False, genes=False, definitions=False)
    assert packets.codes == ["ORDO:990001", "ORDO:990002", "ORDO:990003", "ORDO:990009"]
    assert packets.relations.num_rows == packets.n_definitions == 0
    dropped = packets.tallies["orphapacket rows"].dropped
    assert (dropped["phenotypes"], dropped["genes"], dropped["definitions"]) == (5, 3, 1)
    assert {relation for _, relation, _ in triples(read(frequencies=False, genes=False))} == {"has_phenotype"}


def test_a_folder_of_official_files_is_the_same(tmp_path: Path) -> None:
    for line in PACKETS.read_text().splitlines():
        packet = json.loads(line)
        number = packet["Orphapacket"]["ORPHAcode"]
        (tmp_path / f"ORPHApacket_{number}.json").write_text(json.dumps(packet, indent=4))
    (tmp_path / "README.md").write_text("no packet")
    assert read(tmp_path).digest == read().digest


PACKET = '{"Orphapacket": {"ORPHAcode": "1", "Label": "a"%s}}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"x\.jsonl:1: is not JSON"),
        ("\n[1]\n", r"x\.jsonl:2: expected a JSON object, found '\[1\]'"),
        ('{"a": 1}', r"x\.jsonl:1: has no 'Orphapacket'"),
        ('{"Orphapacket": {"ORPHAcode": 10, "Label": "a"}}', r"x\.jsonl:1: 'ORPHAcode' must be a text, found '10'"),
        ('{"Orphapacket": {"ORPHAcode": "x1", "Label": "a"}}', r"a packet needs an 'ORPHAcode' and a 'Label'"),
        (f"{PACKET % ''}\n{PACKET % ''}", r"x\.jsonl:2: packet 1 occurs twice"),
        (PACKET % ', "Synonyms": ["b"]', r"'Synonyms' must contain objects, found 'b'"),
        (PACKET % ', "Synonyms": [{"Synonym": 3}]', r"'Synonym' must be a text, found '3'"),
        (PACKET % ', "Parents": {"Parent": {"Label": "b"}}', r"a parent needs an 'ORPHAcode', found ''"),
        (
            PACKET % ', "ExternalReferences": [{"Source": "OMIM", "Reference": "1", "DisorderMappingRelation": "Q"}]',
            r"a mapping must be one of E, NTBT, .*, found 'Q'",
        ),
        ("", r"contains no packet of Orphanet"),
    ],
)
def test_bad_packets_are_named_by_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "x.jsonl")


def test_a_path_with_packets_is_needed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="reader 'orphapacket' needs the path of packets"):
        Terminology.read("orphapacket")
    with pytest.raises(InputError, match="contains no packet of Orphanet"):
        read(tmp_path)
