"""Code systems of FHIR: the prefixes of their codes, and the licenses in their statements of copyright."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.readers.fhir_files import code_system, read, written


@pytest.mark.parametrize("url", ["hp.owl", "hp.obo", "hp.json", "hp.fhir", "hp", "hp/releases/2031-01-01/hp-base.owl"])
@pytest.mark.parametrize("code", ["HP:9900001", "9900001"])
def test_codes_of_an_obo_ontology_have_its_prefix(tmp_path: Path, url: str, code: str) -> None:
    """Catches ``HP.OWL:HP:9900001``, which no concept of another reader has."""
    resource = code_system({"code": code, "display": "a"}, url=f"http://purl.obolibrary.org/obo/{url}")
    assert read(written(tmp_path, resource)).codes == ["HP:9900001"]


def test_codes_of_meddra_have_its_prefix(tmp_path: Path) -> None:
    """Catches the host of a URL without a path as prefix."""
    resource = code_system({"code": "99000001", "display": "a"}, url="https://www.meddra.org")
    assert read(written(tmp_path, resource)).codes == ["MEDDRA:99000001"]


THO = "ZORB is copyright \u00a92031+ Zorb and is made available under the CC0 designation."


@pytest.mark.parametrize(
    ("statement", "is_open"),
    [
        (THO, True),
        ("CC0", True),
        ("CC0-1.0", True),
        ("Released under the Creative Commons Zero license (CC0)", True),
        ("This work is licensed under CC0 1.0.", True),
        ("CC0 1.0 Universal (CC0 1.0) Public Domain Dedication", True),
        ("License: CC0-1.0", True),
        ("Public domain (CC0).", True),
        ("This work has been released into the public domain under CC0", True),
        ('Licensed under Creative Commons "No Rights Reserved" (CC0)', True),
        ("Licensed under CC0 1.0 Universal. You do not need permission.", True),
        ("Copyright \u00a9 2031 Zorb. Made available under CC0. See the copyright page.", True),
        ("These names are NOT released under CC0", False),
        ("Released under CC0. Not for the names of Flumpa", False),
        ("Licensed under CC0. All rights reserved for the names", False),
        ("Other works of ours are in CC0", False),
        ("Released under a license other than CC0", False),
        (f"{THO} Some content from FLUMPA. It is theirs", False),
        (f"{THO} Names: Copyright \u00a9 Flumpa", False),
    ],
)
def test_names_are_open_only_where_the_whole_statement_says_so(tmp_path: Path, statement: str, is_open: bool) -> None:
    """Catches licensed names that are released since their statement has the word CC0 in it."""
    source = read(written(tmp_path, code_system({"code": "1", "display": "a"}, copyright=statement))).sources["ZORB"]
    assert (source.redistributable, source.license == "CC0-1.0") == (is_open, is_open)
