"""FHIR: the maps of a ConceptMap as cross-references."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.readers.fhir_files import read, written


def test_mappings_are_cross_references_with_a_direction() -> None:
    """Catches ``wider`` read from the side of the target."""
    zorb = read()
    rows = [(zorb.codes[row["concept"]], row["predicate"], row["target"]) for row in zorb.xrefs.to_pylist()]
    assert rows == [
        ("ZORB:A", "broadMatch", "ICD10:Z99.1"),
        ("ZORB:A", "exactMatch", "ICD10:Z99.2"),
        ("ZORB:F", "relatedMatch", "ICD10:Z99.4"),
    ]
    without = read(mappings=False)
    assert without.xrefs.num_rows == 0
    assert without.tallies["fhir rows"].dropped["mappings"] == 7


@pytest.mark.parametrize(
    ("relationship", "predicate"),
    [
        ("source-is-narrower-than-target", "broadMatch"),
        ("source-is-broader-than-target", "narrowMatch"),
        ("equivalent", "exactMatch"),
        ("related-to", "relatedMatch"),
    ],
)
def test_relationships_of_r5_are_read(tmp_path: Path, relationship: str, predicate: str) -> None:
    element = {"code": "1", "display": "a", "target": [{"code": "2", "relationship": relationship}]}
    group = {"source": "http://a.org/one|2031", "target": "http://a.org/two", "element": [element]}
    path = written(tmp_path, {"resourceType": "ConceptMap", "url": "http://a.org/map", "group": [group]})
    assert read(path).xrefs.to_pylist() == [
        {"concept": 0, "predicate": predicate, "target": "TWO:2", "source": "ONE-MAP"}
    ]


def test_a_mapping_that_depends_on_other_elements_is_conditional(tmp_path: Path) -> None:
    """Catches the code of men and that of women, both taken for that of every patient."""
    sexes = {"2": "female", "3": "male", "4": ""}
    targets = [
        {
            "code": code,
            "equivalence": "equivalent",
            **({"dependsOn": [{"property": "sex", "value": sex}]} if sex else {}),
        }
        for code, sex in sexes.items()
    ]
    element = {"code": "1", "display": "a", "target": targets}
    group = {"source": "http://a.org/one", "target": "http://a.org/two", "element": [element]}
    path = written(tmp_path, {"resourceType": "ConceptMap", "url": "http://a.org/map", "group": [group]})
    in_xml = "".join(
        f'<target><code value="{code}"/><equivalence value="equivalent"/>'
        + (f'<dependsOn><property value="sex"/><value value="{sex}"/></dependsOn>' if sex else "")
        + "</target>"
        for code, sex in sexes.items()
    )
    as_xml = tmp_path / "map.xml"
    as_xml.write_text(
        '<ConceptMap xmlns="http://hl7.org/fhir"><url value="http://a.org/map"/><group><source value="http://a.org/one"/>'
        '<target value="http://a.org/two"/><element><code value="1"/><display value="a"/>'
        f"{in_xml}</element></group></ConceptMap>"
    )
    for form in (path, as_xml):
        found = [(row["predicate"], row["target"]) for row in read(form).xrefs.to_pylist()]
        assert found == [("conditional", "TWO:2"), ("conditional", "TWO:3"), ("exactMatch", "TWO:4")]
