"""OBO flat files and options that are refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.readers.mutations import check_survives
from tests.readers.obo_files import ZORB, read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[Term]\nid: Z:1\nname: a\nsynonym a\n",
            r"x.obo:4: expected 'tag: value' or a stanza.* found 'synonym a'",
        ),
        ("[Term]\nname: a\n", r"x.obo:1: \[Term\] has no id"),
        ("[Term]\nid: Z:1\nname: a\nname: b\n", r"x.obo:4: term 'Z:1' has a second name, 'b'"),
        ("[Term]\nid: Z:1\nname: a\n\n[Term]\nid: Z:1\nname: b\n", r"x.obo:5: term Z:1 is defined twice$"),
        (
            "[Term]\nid: Orphanet:1\nname: a\n\n[Term]\nid: ORPHA:1\nname: b\n",
            r"x.obo:5: term ORDO:1 is defined twice, as Orphanet:1 and as ORPHA:1",
        ),
        (
            "[Term]\nid: Z:1\nname: a\nsynonym: b EXACT []\n",
            r"x.obo:4: expected a synonym with a text in double quotes",
        ),
        ("[Term]\nid: Z:1\nname: a\ndef: b []\n", r"x.obo:4: expected a definition in double quotes, found 'b"),
        (
            '[Term]\nid: Z:1\nname: a\nsynonym: "b" EXACTLY []\n',
            r"x.obo:4: scope 'EXACTLY' of a synonym must be one of",
        ),
        ("[Term]\nid: Z:1\nname: a\nis_a: Z:2 Z:3\n", r"x.obo:4: is_a needs a term, found 'Z:2 Z:3'"),
        ("[Term]\nid: Z:1\nname: a\nrelationship: Z:3\n", r"x.obo:4: relationship needs a relation and a term"),
        ("format-version: 1.2\n", r"x.obo: has no \[Term\] stanza"),
        ("", r"x.obo: has no \[Term\] stanza"),
        ('{"graphs": []}', r"x.obo: has no \[Term\] stanza"),
    ],
)
def test_malformed_files_are_named_by_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.obo").write_text(text)
    with pytest.raises(InputError, match=message):
        Terminology.read("obo", tmp_path / "x.obo")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scopes": "EXACTLY"}, r"unknown scope 'EXACTLY'.* did you mean 'EXACT'"),
        ({"prefixes": "ZROB"}, r"zorb.obo: no term has prefix 'ZROB'; found GLND, ZORB"),
        ({"language": "Italian"}, r"language: 'Italian' is not a language, such as 'it' or 'de-CH'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(**options)


def test_a_path_is_needed() -> None:
    with pytest.raises(InputError, match="reader 'obo' needs the path"):
        Terminology.read("obo")


def test_a_gzip_file_cut_short_is_one_line(tmp_path: Path) -> None:
    whole = gzip.compress(ZORB.read_bytes())
    for length in (0, 5, 40, len(whole) - 4):
        (tmp_path / "x.obo.gz").write_bytes(whole[:length])
        check_survives("obo", tmp_path / "x.obo.gz")
