"""SKOS: one content in Turtle and RDF/XML, labels by language, and links stated from either end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.readers import reader
from st_biomed.records import Record, Tally
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract

TURTLE, XML = FIXTURES / "zorb-skos.ttl", FIXTURES / "zorb-skos.rdf"
HEAD = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix z: <http://example.org/z/> .\n"


class TestTurtle(ReaderContract):
    reader = "skos"
    path = TURTLE
    separator = b" "
    damaged_options = {"hidden": True, "deprecated": True}


class TestXML(ReaderContract):
    reader = "skos"
    path = XML
    separator = b">"
    damaged_options = {"hidden": True, "deprecated": True}


class TestNotations(ReaderContract):
    reader = "skos"
    path = TURTLE
    options = {"codes": "notation"}
    separator = b'"'


def read(path: Path = TURTLE, **options: Any) -> Terminology:
    return Terminology.read("skos", path, **options)


def written(folder: Path, text: str, name: str = "x.ttl") -> Path:
    (folder / name).write_text(text)
    return folder / name


def names(terminology: Terminology) -> dict[str, list[str]]:
    """Preferred name first."""
    out: dict[str, list[str]] = {}
    for row in sorted(terminology.terms.to_pylist(), key=lambda row: row["kind"]):
        out.setdefault(terminology.codes[row["concept"]], []).append(terminology.strings[row["text"]])
    return out


def test_both_forms_have_the_same_records_and_tally() -> None:
    """Catches an order taken from the file, and an abbreviation of XML that is not replaced."""

    def stream(path: Path) -> tuple[list[Record], dict[str, Any]]:
        tally = Tally()
        return list(reader("skos").records(path, tally=tally)), tally.to_dict()

    assert stream(TURTLE) == stream(XML)


def test_labels_are_names_in_their_languages() -> None:
    """Catches a preferred label in the first language there is, a label of SKOS-XL lost, and a collection as a concept."""
    zorb = read()
    assert names(zorb) == {
        "OTHER:a": ["Zorbing"],
        "ZORB:1": ["Zorbity", "State of zorb", "Zorbiness", "Zorbità"],
        "ZORB:2": ["Drod"],
        "ZORB:3": ["Piccolo drod", "Klein-Drod"],
    }
    languages = {zorb.strings[row["text"]]: row["language"] for row in zorb.terms.to_pylist()}
    assert [languages[text] for text in ("State of zorb", "Zorbiness", "Zorbità", "Klein-Drod")] == [
        "en",
        "en",
        "it",
        "de",
    ]
    assert zorb.definition_strings == ["A state in which the flumpa is zorbed.", "Stato della flumpa."]
    assert names(read(language="it"))["ZORB:1"][0] == "Zorbità"


def test_links_are_stated_from_either_end() -> None:
    """Catches ``narrower`` read as ``broader``, and a pair stated twice counted twice."""
    zorb = read()
    codes = zorb.codes
    assert [(codes[row["child"]], codes[row["parent"]]) for row in zorb.parents.to_pylist()] == [
        ("ZORB:2", "ZORB:1"),
        ("ZORB:3", "ZORB:2"),
    ]
    assert [(codes[row["head"]], row["relation"], codes[row["tail"]]) for row in zorb.relations.to_pylist()] == [
        ("ZORB:2", "related", "ZORB:3")
    ]
    assert [(codes[row["concept"]], row["predicate"], row["target"]) for row in zorb.xrefs.to_pylist()] == [
        ("ZORB:1", "broadMatch", "CODES:77"),
        ("ZORB:1", "closeMatch", "OTHER:a"),
        ("ZORB:1", "exactMatch", "HP:9900001"),
    ]


def test_every_statement_is_told_of() -> None:
    tally = read().tallies["skos rows"]
    assert (tally.n_read, tally.n_kept) == (29, 16)
    assert tally.dropped == {
        "collections": 1,
        "concepts without a name": 1,
        "deprecated concepts": 1,
        "hidden labels": 1,
        "mappings to no other code": 1,
        "notations": 3,
        "parents and relations of no other concept": 1,
        "repeated labels of a concept": 1,
        "repeated parents, relations and mappings": 1,
        "statements of other kinds": 2,
    }


def test_the_source_is_the_concept_scheme() -> None:
    zorb, other = (read().sources[name] for name in ("ZORB", "OTHER"))
    assert (zorb.title, zorb.version, zorb.license, zorb.redistributable) == (
        "Zorb thesaurus",
        "2031-05",
        "CC-BY-4.0",
        True,
    )
    assert (zorb.url, other.title, other.license, other.redistributable) == (
        "http://example.org/thesaurus/scheme",
        "Other codes",
        "not stated",
        False,
    )


def test_a_second_license_closes_a_source(tmp_path: Path) -> None:
    """Catches the open one of two licenses taken for both."""
    licenses = "<https://creativecommons.org/licenses/by/4.0/> , <http://example.org/closed>"
    text = f'<http://a.org/s> <http://purl.org/dc/terms/license> {licenses} .\nz:1 skos:prefLabel "a" ; skos:inScheme <http://a.org/s> .'
    source = read(written(tmp_path, HEAD + text)).sources["Z"]
    assert not source.redistributable
    assert "http://example.org/closed" in source.license


def test_the_license_of_a_scheme_opens_no_names_of_a_terminology_of_others(tmp_path: Path) -> None:
    """Catches a list of codes of SNOMED CT under CC0 whose names are then left out of the search before a release."""
    iris = ("http://snomed.info/id/990", "http://purl.obolibrary.org/obo/HP_990", "http://b.org/UMLS/C990")
    concepts = [f"<{iri}>" for iri in (*iris, "http://purl.obolibrary.org/obo/MONDO_990", "http://a.org/zorb/1")]
    concepts += ["<http://identifiers.org/flump/1>", "<http://purl.other.org/ontology/CPT/990>"]
    text = "<http://a.org/s> <http://purl.org/dc/terms/license> <https://creativecommons.org/publicdomain/zero/1.0/> ."
    text += "".join(f'\n{concept} skos:prefLabel "a" ; skos:inScheme <http://a.org/s> .' for concept in concepts)
    path = written(tmp_path, HEAD + text)
    assert _open_sources(read(path)) == {"MONDO", "ZORB"}
    assert _open_sources(read(path, prefixes="http://snomed.info/id/=MINE")) == {"MONDO", "ZORB"}


def test_hosts_are_compared_without_case_and_may_be_invalid(tmp_path: Path) -> None:
    """Catches a traceback of an IRI that is no URL, and a source closed by capitals in its scheme."""
    concept = '\n<http://a.org/z/1> skos:prefLabel "a" ; skos:inScheme <http://A.org/s> .'
    text = "<http://A.org/s> <http://purl.org/dc/terms/license> <https://creativecommons.org/publicdomain/zero/1.0/> ."
    assert _open_sources(read(written(tmp_path, HEAD + text + concept))) == {"Z"}
    invalid = '<http://[a]/z/1> skos:prefLabel "a" ; skos:inScheme <http://[a]/s> .'
    assert read(written(tmp_path, HEAD + invalid)).n_concepts == 1


def _open_sources(terminology: Terminology) -> set[str]:
    return {name for name, source in terminology.sources.items() if source.redistributable}


def test_options_choose_and_count() -> None:
    assert "Zorbitty" in read(hidden=True).strings
    assert "ZORB:4" in read(deprecated=True).codes
    assert read(definitions=False).n_definitions == 0
    italian = read(languages="it")
    assert names(italian) == {"ZORB:1": ["Zorbità"], "ZORB:3": ["Piccolo drod"]}
    notes = read(languages="it,itt").tallies["skos rows"].notes
    assert len(notes) == 1 and notes[0].startswith("languages: no label is in language 'itt'; found ")
    of_scheme = read(scheme="http://example.org/other#scheme")
    assert of_scheme.codes == ["OTHER:a"]
    assert of_scheme.tallies["skos rows"].dropped["concepts of other schemes"] == 5
    assert "Z:1" in read(prefixes="http://example.org/thesaurus/concept/=Z").codes


def test_notations_are_codes_where_asked_for() -> None:
    """Catches a concept with two notations read twice, and one without lost."""
    zorb = read(codes="notation")
    assert zorb.codes == ["OTHER:a", "ZORB:3", "ZORB:Z.1", "ZORB:Z.2"]
    assert zorb.tallies["skos rows"].dropped["further notations"] == 1


def test_known_namespaces_have_the_prefix_of_other_readers(tmp_path: Path) -> None:
    text = '<http://purl.obolibrary.org/obo/HP_9900001> skos:prefLabel "a" .\n<urn:oid:2.16> skos:prefLabel "b" .'
    assert read(written(tmp_path, HEAD + text)).codes == ["HP:9900001", "OID:2.16"]


BOMB = '<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>\n<r>&b;</r>'
OUTSIDE = '<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/hostname">]>\n<r>&a;</r>'


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.rdf", BOMB, r"x\.rdf:2: entity 'b' must abbreviate an IRI"),
        ("x.rdf", OUTSIDE, r"x\.rdf:2: entity 'a' must abbreviate an IRI"),
        ("x.rdf", "<a>\n<b>", r"x\.rdf:2: is not well-formed XML"),
        ("x.rdf", "<a/>", r"x\.rdf: contains no concept of SKOS"),
        ("x.ttl", HEAD + "z:1 skos:prefLabel ] .", r"x\.ttl:3: is not readable turtle \(objectList expected\)"),
        ("x.ttl", HEAD + "z:1 skos:prefLabel", r"x\.ttl: is not readable turtle"),
        ("x.ttl", HEAD, r"x\.ttl: contains no concept of SKOS"),
        ("x.ttl", HEAD + '<a> skos:prefLabel "a" .', r"x\.ttl: IRI 'a' is relative, and the file states no base"),
        (
            "x.ttl",
            HEAD + '<http://a.org/c/1> skos:prefLabel "a" .\n<http://b.org/c/1> skos:prefLabel "b" .',
            r"namespace 'http://b\.org/c/' would have the prefix C of 'http://a\.org/c/'; set prefixes=http://b\.org/c/=OTHER",
        ),
        ("x.csv", "", r"x\.csv: suffix '\.csv' is no form of RDF; expected \.ttl"),
    ],
)
def test_bad_files_are_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(written(tmp_path, text, name))


def test_two_concepts_with_one_notation_are_refused(tmp_path: Path) -> None:
    text = 'z:1 skos:prefLabel "a" ; skos:notation "N" .\nz:2 skos:prefLabel "b" ; skos:notation "N" .'
    with pytest.raises(
        InputError, match=r"concepts 'http://example\.org/z/1' and 'http://example\.org/z/2' are both Z:N"
    ):
        read(written(tmp_path, HEAD + text), codes="notation")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"codes": "label"}, r"unknown codes of reader 'skos' 'label': allowed are 'iri', 'notation'"),
        ({"scheme": "http://a.org"}, r"no concept is in scheme 'http://a\.org'"),
        ({"language": "?"}, r"language: '\?' is not a language"),
        ({"prefixes": "z"}, r"prefixes of reader 'skos' must be URL=PREFIX,\.\.\., found 'z'"),
    ],
)
def test_bad_options_are_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(TURTLE, **options)


def test_a_path_and_rdflib_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="reader 'skos' needs the path of a concept scheme"):
        Terminology.read("skos")
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(InputError, match=r"reader 'skos' needs rdflib: pip install 'st-biomed\[skos\]'"):
        read()
