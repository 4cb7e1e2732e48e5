"""BioC that is refused: XML that may do nothing but be read, malformed JSON, and wrong options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from st_biomed.linking_data.bioc import read_bioc
from tests.linking_data.formats.bioc_files import FOLDER, NAMES, found

DOCUMENT = (
    "<document><id>1</id><passage><offset>0</offset><text>zorb</text>"
    '<annotation><infon key="identifier">X0003</infon><location offset="0" length="4"/></annotation></passage></document>'
)
ENTITIES = {
    "declared and not used": '<!DOCTYPE c [<!ENTITY a "zorb">]>',
    "a bomb": '<!DOCTYPE c [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>',
    "a file": '<!DOCTYPE c [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
    "a page": '<!DOCTYPE c [<!ENTITY % x SYSTEM "http://localhost:9/x.dtd"> %x;]>',
}
XML = {
    **{name: (f"{dtd}<collection>{DOCUMENT}</collection>", r":1: entity '\w'") for name, dtd in ENTITIES.items()},
    "an entity of the DTD": (
        f'<!DOCTYPE c SYSTEM "BioC.dtd"><collection>{DOCUMENT.replace(">zorb", ">zorb &alpha;")}</collection>',
        r":1: entity 'alpha' is declared or used",
    ),
    "an undefined entity": (
        f"<collection>{DOCUMENT.replace('zorb', '&alpha;')}</collection>",
        ":1: is not well-formed",
    ),
    "elements without end": (
        "<collection><document>" + "<passage>" * 9999,
        ":1: elements are nested more than 20 deep",
    ),
    "no end": (f"<collection>{DOCUMENT}", ":1: is not well-formed XML"),
    "HTML": ("<html><body/></html>", ":1: root element is <html>"),
    "no document": ("<collection><source/></collection>", ": contains no document"),
    "an unknown encoding": ('<?xml version="1.0" encoding="zorb"?><collection/>', ":1: cannot be decoded as XML"),
    "no id": ("<collection><document><passage/></document></collection>", ":1: a document must have an 'id'"),
    "no offset": (
        f"<collection>{DOCUMENT.replace('<offset>0</offset>', '')}</collection>",
        ": document 1: 'offset' must be",
    ),
    "a negative offset": (
        f"<collection>{DOCUMENT.replace('>0<', '>-1<')}</collection>",
        ": document 1: 'offset' must be",
    ),
    "an offset far away": (
        f"<collection>{DOCUMENT.replace('>0<', '>99999999<')}</collection>",
        "a passage begins at 99999999",
    ),
    "nothing": ("", ":1: is not well-formed XML"),
    "text": ("zorb", ":1: is not well-formed XML"),
}


def test_the_document_that_is_damaged_below_is_one(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(f"<collection>{DOCUMENT}</collection>")
    assert found(open_linking("bioc", tmp_path / "a.xml", dictionary=NAMES)) == [("zorb", "zorb")]


@pytest.mark.parametrize("name", XML)
def test_bad_xml_is_one_line(tmp_path: Path, name: str) -> None:
    """Catches a traceback, a file or page that is fetched, and memory that is filled."""
    text, message = XML[name]
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(InputError, match=rf"a\.xml.*{message}") as error:
        open_linking("bioc", tmp_path / "a.xml", dictionary=NAMES)
    assert "\n" not in str(error.value)


def test_a_document_type_that_is_named_is_not_fetched(tmp_path: Path) -> None:
    """BioC's own files name BioC.dtd, which is beside them or not."""
    (tmp_path / "BioC.dtd").write_text('<!ENTITY alpha "zorb">')
    (tmp_path / "a.xml").write_text(f'<!DOCTYPE collection SYSTEM "BioC.dtd"><collection>{DOCUMENT}</collection>')
    assert [document.id for document in read_bioc(tmp_path / "a.xml")] == ["1"]


def test_xml_is_streamed(tmp_path: Path) -> None:
    """Catches a whole corpus of gigabytes in the memory before its first document is there."""
    (tmp_path / "a.xml").write_text("<collection>" + DOCUMENT * 2000 + "<document>")
    documents = read_bioc(tmp_path / "a.xml")
    assert next(documents).id == "1"
    with pytest.raises(InputError, match=r"a.xml:1: is not well-formed XML"):
        list(documents)


BAD_JSON = {
    "no JSON": ("{", r"a.json:1: is not JSON"),
    "an end that is missing": ('{"documents": [\n{"id": 1,\n', r"a.json:2: is not JSON"),
    "a number": ("[1]", r"a.json:1: a document must have 'passages'"),
    "no list": ('{"documents": 1}', r"a.json:1: a document must have 'passages'"),
    "lists without end": ("[" * 900 + "]" * 900, r"a.json:1: a document must have 'passages'"),
    "collections without end": ('{"documents":[' * 90 + "]}" * 90, r"a.json:1: a document must have 'passages'"),
    "too deep": ("[" * 99999, r"a.json:1: is not readable JSON \(RecursionError\)"),
    "half a character": ('{"id": "\\ud800", "passages": []}', r"a.json:1: is not readable JSON"),
    "a long number": ('{"id": ' + "1" * 9999 + ', "passages": []}', r"a.json:1: is not readable JSON"),
    "no id": ('{"passages": []}', r"a.json:1: a document must have an 'id', found 'None'"),
    "passages of another form": ('{"id": 1, "passages": [1]}', r"document 1: 'passages' must be a list of objects"),
    "no place": (
        '{"id": 1, "passages": [{"text": "a"}]}',
        r"document 1: 'offset' must be a number of characters, found 'None'",
    ),
    "a text that is none": (
        '{"id": 1, "passages": [{"offset": 0, "text": 1}]}',
        r"document 1: 'text' must be a string, found '1'",
    ),
    "infons that are none": (
        '{"id": 1, "passages": [{"offset": 0, "text": "a", "annotations": [{"infons": 1}]}]}',
        r"document 1: 'infons' of an annotation must be an object, found '1'",
    ),
    "annotations of nothing": (
        '{"id": 1, "passages": [], "annotations": [{}]}',
        r"document 1 has annotations but no passage",
    ),
    "nothing": ("[]", r"a.json: contains no document; is it BioC\?"),
}


@pytest.mark.parametrize("name", BAD_JSON)
def test_bad_json_is_one_line(tmp_path: Path, name: str) -> None:
    text, message = BAD_JSON[name]
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=message) as error:
        open_linking("bioc", tmp_path / "a.json", dictionary=NAMES)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"several": "both"}, r"unknown several 'both': allowed are 'alternatives', 'groups'"),
        ({"form": "yaml"}, r"unknown form 'yaml': allowed are 'json', 'xml'"),
        (
            {"key": "cui"},
            r"unknown key of linking format 'bioc' \(no annotation has it\) 'cui': allowed are 'entry_term', 'identifier'",
        ),
        ({"types": "Zorb"}, r"no mention was read \(.*annotations of type"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_linking("bioc", FOLDER, dictionary=NAMES, **options)


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("<collection/>")
    with pytest.raises(InputError, match=r"a.txt: the suffix of a BioC file must be .xml, .json or .jsonl"):
        open_linking("bioc", tmp_path / "a.txt", dictionary=NAMES)
