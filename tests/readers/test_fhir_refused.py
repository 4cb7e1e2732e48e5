"""FHIR: files, resources and options that are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.readers.fhir_files import SYSTEM, code_system, read, written

BOMB = '<?xml version="1.0"?>\n<!DOCTYPE d [<!ENTITY a "aaaa">]>\n<CodeSystem xmlns="http://hl7.org/fhir">&a;</CodeSystem>'
DEEP = "<CodeSystem>" + "<concept>" * 300 + "</concept>" * 300 + "</CodeSystem>"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.xml", BOMB, r"x\.xml:2: entity 'a' is declared or used; FHIR has only the predefined"),
        ("x.xml", DEEP, r"x\.xml:1: elements are nested more than 200 deep"),
        ("x.xml", "<CodeSystem>\n<concept>", r"x\.xml:2: is not well-formed XML"),
        ("x.json", '{"resourceType":\n', r"x\.json:2: is not JSON"),
        ("x.json", '{"name": "zorb"}', r"x\.json: has no 'resourceType'; is it a resource of FHIR\?"),
        ("x.json", '{"resourceType": "Patient"}', r"x\.json: contains no concept of a CodeSystem"),
        (
            "x.ndjson",
            '\n{"resourceType": "Bundle", "entry": [1]}',
            r"x\.ndjson:2: entry\[0\] must be an object, found '1'",
        ),
        ("x.csv", "", r"x\.csv: suffix '\.csv' is no form of FHIR; expected \.json"),
        ("x.tgz", "no archive", r"x\.tgz: is not a complete gzip or tar file"),
    ],
)
def test_bad_files_are_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        (code_system({"display": "a"}), r"x\.json: concept\[0\]: a concept needs a 'code', found"),
        (code_system({"code": 1}), r"concept\[0\]: 'code' must be a text, found '1'"),
        (
            code_system({"code": "1", "concept": [{"code": "1"}]}),
            r"concept\[0\]\.concept\[0\]: code ZORB:1 is listed twice",
        ),
        (
            code_system({"code": "1", "designation": [{"language": "?", "value": "a"}]}),
            r"'\?' is not a language, such as 'it'",
        ),
        (
            {"resourceType": "CodeSystem", "concept": [{"code": "1"}]},
            r"x\.json: the CodeSystem has no url, id or name",
        ),
        (
            code_system({"code": "1"}, url="http://a.org/loinc"),
            r"would have the prefix LOINC of 'another terminology'",
        ),
        (
            {"resourceType": "ValueSet", "compose": {"include": [{"concept": [{"code": "1"}]}]}},
            r"include\[0\]: has concepts without a 'system'",
        ),
        (
            {
                "resourceType": "ValueSet",
                "compose": {
                    "include": [
                        {"system": f"http://{host}.org/zorb", "concept": [{"code": "1", "display": "x"}]}
                        for host in "ab"
                    ]
                },
            },
            r"code system 'http://b\.org/zorb' would have the prefix ZORB of 'a\.org/zorb'; set prefixes=http://b\.org/zorb",
        ),
        (
            {
                "resourceType": "ConceptMap",
                "group": [
                    {
                        "source": "http://a.org/one",
                        "target": "http://a.org/two",
                        "element": [{"code": "1", "target": [{"code": "2", "equivalence": "same"}]}],
                    }
                ],
            },
            r"group\[0\]\.element\[0\]: equivalence must be one of equal, .*, found 'same'",
        ),
    ],
)
def test_bad_resources_are_named_by_element(tmp_path: Path, resource: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(written(tmp_path, resource))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prefixes": "zorb"}, r"prefixes of reader 'fhir' must be URL=PREFIX,\.\.\., found 'zorb'"),
        ({"prefixes": "http://a.org/b=1"}, r"prefixes of reader 'fhir' must be URL=PREFIX"),
        ({"language": "italiano"}, r"language: 'italiano' is not a language"),
        ({"languages": "it,?"}, r"languages: '\?' is not a language"),
        (
            {"languages": "it,fr"},
            r"unknown value of option languages \(no name or definition has it\) 'fr': allowed are .*'en'.*'it'",
        ),
    ],
)
def test_bad_options_are_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(SYSTEM, **options)


def test_a_path_is_needed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="reader 'fhir' needs the path of resources"):
        Terminology.read("fhir")
    with pytest.raises(InputError, match="contains no concept .* or ConceptMap$"):
        read(tmp_path)
    rule: dict[str, Any] = {"resourceType": "ValueSet", "url": "http://z.example/vs", "status": "active"}
    rule["compose"] = {"include": [{"system": "http://z.example", "filter": [{"property": "concept"}]}]}
    (tmp_path / "rule.json").write_text(json.dumps(rule))
    with pytest.raises(InputError, match="inclusions by a rule, whose codes are not listed: expand the value sets"):
        read(tmp_path)
