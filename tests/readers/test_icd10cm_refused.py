"""ICD-10-CM: files and options that are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.readers import icd10cm
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES

TABULAR = FIXTURES / "icd10cm_tabular.xml"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "code,long_desc,chapter\n25000,A,B\n", r"a.csv:2: '25000' is not a code of ICD-10-CM"),
        ("a.csv", "code,long_desc,chapter\nU1.00,A,B\n", r"a.csv:2: 'U1.00' is not a code of ICD-10-CM"),
        ("a.csv", "code,long_desc,chapter\nU10,A,B\nU10,C,B\n", r"a.csv:3: code U10 is listed twice"),
        ("a.csv", "code,long_desc,chapter\nU10,,B\n", r"a.csv:2: code U10 has an empty long_desc or chapter"),
        (
            "a.csv",
            "code,long_desc,chapter\nU10,A,B\nU101,C,D\n",
            r"a.csv:3: category U10 is in chapter 'B' and in 'D'",
        ),
        (
            "a.csv",
            "code,name\nU10,A\n",
            r"a.csv:1: is not a line .*; a table has the columns chapter, code, long_desc, and",
        ),
        ("a.xml", "<ICD10CM.tabular>\n<chapter>", r"a.xml:2: is not well-formed XML"),
        (
            "a.xml",
            '<?xml version="1.0" encoding="ttf-8"?><a/>',
            r"a.xml:1: is not XML that can be decoded \(unknown encod",
        ),
        ("a.xml", "<ClaML/>", r"a.xml: root element is <ClaML>, the tabular list has <ICD10CM.tabular>"),
        (
            "a.xml",
            "<ICD10CM.tabular><chapter><name>1</name></chapter></ICD10CM.tabular>",
            r"a.xml: <chapter> '1' .* no title",
        ),
        (
            "a.xml",
            "<ICD10CM.tabular><chapter><name>1</name><desc>A</desc><section id='U10-U19'><desc>B</desc></section>"
            "<section id='U10-U19'><desc>C</desc></section></chapter></ICD10CM.tabular>",
            r"a.xml: code U10-U19 is listed twice",
        ),
        (
            "a.xml",
            "<ICD10CM.tabular><chapter><name>1</name><desc>A</desc><section id='U10-U19-U20'><desc>B</desc></section>"
            "</chapter></ICD10CM.tabular>",
            r"a.xml: the id of a <section> must be a range such as A00-A09, found 'U10-U19-U20'",
        ),
        (
            "a.xml",
            "<ICD10CM.tabular><chapter><name>1</name><desc>A</desc><diag><name>U10</name><desc>B</desc><sevenChrDef>"
            "<extension char='A'/></sevenChrDef></diag></chapter></ICD10CM.tabular>",
            r"a.xml: an <extension> of U10 has no character or no text",
        ),
        (
            "a.xml",
            f"<ICD10CM.tabular><chapter><name>1</name><desc>A</desc>{'<diag>' * 1200}{'</diag>' * 1200}</chapter>"
            "</ICD10CM.tabular>",
            r"a.xml: elements are nested more than 20 deep, which a tabular list does not allow",
        ),
        ("a.txt", "00001 U10     0 Mimpic\n", r"a.txt:1: is not a line of an order file, found '00001 U10"),
        ("a.txt", "U10 Mimpic\nmimpic\n", r"a.txt:2: is not a line of a codes file"),
        ("a.txt", "U10 Mimpic\nU10 Mimpa\n", r"a.txt:2: code U10 is listed twice"),
    ],
)
def test_malformed_files_are_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        Terminology.read("icd10cm", tmp_path / name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"includes": "every"}, "unknown includes of reader 'icd10cm' 'every'"),
        ({"valid_codes": TABULAR}, r"valid_codes .* needs the tabular list \(XML\) with extensions=true"),
        ({"short_names": True}, "short_names .* needs an order file or a table"),
    ],
)
def test_options_without_effect_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Terminology.read("icd10cm", TABULAR, **options)


def test_coder_notes_of_a_form_without_notes_are_refused() -> None:
    """Catches an option that is accepted and has no effect."""
    with pytest.raises(InputError, match=r"coder_notes .* needs the tabular list \(XML\); other forms have no notes"):
        Terminology.read("icd10cm", FIXTURES / "icd10cm_order_2031.txt", coder_notes=True)


def test_without_the_package_the_error_is_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(icd10cm, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'st-biomed\[quickstart\]'"):
        Terminology.read("icd10cm")
