"""UMLS: definitions of MRDEF, whose language is that of their vocabulary."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from st_biomed.terminology import Terminology
from tests.readers.umls_folder import META, read

MIMPIC = 'A flumpa with "mimps", 5" or more of them.'
MIMPICA = "Una flumpa con dei mimpi, cioè mimpica."


@pytest.fixture
def meta(tmp_path: Path) -> Path:
    """A copy of the folder that a test may spoil."""
    return Path(shutil.copytree(META, tmp_path / "meta", ignore=shutil.ignore_patterns("MRFILES.RRF")))


def definitions(terminology: Terminology) -> set[tuple[str, str, str, str]]:
    """Last two digits of the concept, text, language and source."""
    rows = terminology.definitions.to_pylist()
    return {(terminology.codes[r["concept"]][-2:], r["text"], r["language"], r["source"]) for r in rows}


def test_definitions_are_in_the_language_of_their_vocabulary() -> None:
    """Catches quotes that swallow cells, English everywhere, and what is suppressed, empty or of no concept here."""
    terminology = read()
    assert definitions(terminology) == {
        ("01", MIMPIC, "en", "SRCA"),
        ("01", MIMPICA, "it", "SRCI"),
        ("02", "Ghiandola che nessuno ha.", "it", "SRCI"),
        ("04", "A drug for terkia; see NA.", "en", "SRCB"),
        ("10", "Una flumpa mímpica.", "es", "SRCC"),
    }
    dropped = terminology.tallies["umls rows"].dropped
    assert {reason: n for reason, n in dropped.items() if reason.startswith("MRDEF")} == {
        "MRDEF: suppressed": 1,
        "MRDEF: empty definitions": 1,
        "MRDEF: of a concept without a kept name": 1,
    }
    assert terminology.strings == read(definitions=False).strings


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"sources": "SRCA"}, {"01"}),
        ({"sources": "SRCB,SRCI"}, {"01", "02", "04"}),
        ({"languages": "ITA"}, {"01", "02"}),
        ({"languages": "ENG", "sources": "SRCB"}, {"04"}),
        ({"concepts": "C9900004"}, {"04"}),
        ({"definitions": False}, set()),
    ],
)
def test_only_what_is_asked_for_is_defined(options: dict[str, Any], found: set[str]) -> None:
    """Catches definitions of vocabularies that a person did not ask for, and perhaps has no license of."""
    terminology = read(**options)
    assert {code for code, *_ in definitions(terminology)} == found
    assert terminology.tallies["umls rows"].adds_up()


def test_suppressed_definitions_are_kept_with_suppressed_names() -> None:
    assert definitions(read(keep_suppressed=True)) - definitions(read()) == {
        ("01", "What a flumpa was once.", "en", "SRCA"),
        ("09", "A thing that is no longer.", "en", "SRCA"),
    }


def test_without_mrsab_the_names_tell_the_language(meta: Path) -> None:
    """Catches Italian definitions that count as English, and a guess where the names are in two languages."""
    (meta / "MRSAB.RRF").unlink()
    assert definitions(read(meta)) == definitions(read())
    names = meta / "MRCONSO.RRF"
    names.write_text(names.read_text("utf-8").replace("C9900007|ITA|", "C9900007|SPA|"), "utf-8")
    terminology = read(meta)
    assert {language for *_, language, _ in definitions(terminology)} == {"en", "es"}
    assert terminology.tallies["umls rows"].dropped["MRDEF: of a source of no known language"] == 2


def test_blocks_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a language looked up by the place of a vocabulary in another block."""
    whole = definitions(read())
    monkeypatch.setattr("st_biomed.files.column_blocks._BLOCK", 90)
    assert definitions(read()) == whole


def test_a_folder_without_mrdef_has_none(meta: Path) -> None:
    (meta / "MRDEF.RRF").unlink()
    assert read(meta).n_definitions == 0
