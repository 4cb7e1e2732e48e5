"""Babelon tables: which translations count, labels before synonyms, and templates that name the language."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from st_biomed.errors import InputError
from st_biomed.readers import reader
from st_biomed.records import Tally, Term
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract
from tests.readers.mutations import check_contract, check_survives, mutated

LABELS = FIXTURES / "zorb-it.babelon.tsv"
SYNONYMS = FIXTURES / "zorb-it.synonyms.tsv"
COLUMNS = "subject_id\tpredicate_id\ttranslation_language\ttranslation_value\ttranslation_status\n"


class TestLabelsAndSynonyms(ReaderContract):
    reader = "babelon"
    separator = b"\t"
    path = LABELS
    options = {"synonyms": SYNONYMS}


class TestSynonymsAlone(ReaderContract):
    reader = "babelon"
    separator = b"\t"
    path = SYNONYMS


def kinds(path: Path, **options: object) -> dict[str, list[tuple[str, str]]]:
    """Kind and text of each name, by concept."""
    found: dict[str, list[tuple[str, str]]] = {}
    for record in reader("babelon").records(path, tally=Tally(), **options):
        if isinstance(record, Term):
            found.setdefault(record.code, []).append((record.kind, record.text))
    return found


def test_labels_are_preferred_wherever_they_stand() -> None:
    """Catches a synonym above its label taken for the preferred name, and two preferred names."""
    assert kinds(LABELS, synonyms=SYNONYMS) == {
        "ZORB:0000001": [
            ("preferred", "malattia della flumpa"),
            ("synonym", "disturbo della flumpa"),
            ("synonym", "flumpite"),
        ],
        "ZORB:0000002": [
            ("preferred", 'malattia "mimpica" della flumpa'),
            ("synonym", "flumpa mimpica"),
            ("synonym", "mimpa"),
        ],
        "ZORB:0000004": [("preferred", "drodtia della flumpa"), ("synonym", "drodtia")],
    }


def test_what_is_left_out_is_counted_by_status() -> None:
    """Catches a machine's proposals read as translations, and a definition read as a name."""
    terminology = Terminology.read("babelon", LABELS, synonyms=SYNONYMS)
    assert terminology.tallies["babelon rows"].to_dict() == {
        "read": 20,
        "kept": 9,
        "dropped": {
            "RELATED synonyms": 1,
            "definitions of a term without a name": 1,
            "empty definitions": 1,
            "empty names": 1,
            "repeated definitions of a concept": 1,
            "repeated names of a concept": 1,
            "template lines": 1,
            "translations with status CANDIDATE": 3,
            "translations with status NOT_TRANSLATED": 1,
        },
    }


def test_translated_definitions_stand_beside_the_names() -> None:
    """Catches a definition read as a synonym, in English, or of a concept that nothing here names."""
    terminology = Terminology.read("babelon", LABELS)
    assert terminology.definitions.to_pylist() == [
        {
            "concept": terminology.concept("ZORB:0000001"),
            "text": 'Una malattia "qualsiasi" della flumpa.',
            "language": "it",
            "source": "ZORB-IT",
        }
    ]
    without = Terminology.read("babelon", LABELS, definitions=False)
    assert (without.n_definitions, without.tallies["babelon rows"].dropped["definitions"]) == (0, 5)


def test_statuses_and_scopes_choose_the_names() -> None:
    candidates = kinds(LABELS, synonyms=SYNONYMS, statuses="CANDIDATE", scopes=["RELATED"])
    assert candidates == {"ZORB:0000004": [("preferred", "flumpa drodtica")]}
    more = kinds(LABELS, statuses=["OFFICIAL", "CANDIDATE"], scopes="EXACT,RELATED")
    assert ("synonym", "guai di flumpa") in more["ZORB:0000001"]
    assert more["ZORB:0000004"] == [("preferred", "flumpa drodtica")]


@pytest.mark.parametrize("statuses", ["OFFICIAL,CANDIDACY", ["CANDIDACY"]])
def test_a_status_that_no_translation_has_is_refused(statuses: object) -> None:
    """Catches a slip of the pen that drops rows without a word."""
    with pytest.raises(
        InputError, match=r"unknown status of reader 'babelon' .*'CANDIDACY'.*did you mean 'CANDIDATE'"
    ):
        kinds(LABELS, statuses=statuses)


def test_a_status_of_the_table_itself_may_be_asked_for_and_remarks_are_not_listed(tmp_path: Path) -> None:
    path = tmp_path / "zorb-it.babelon.tsv"
    rows = [
        f"ZORB:1\trdfs:label\tit\tflumpa\t{status}\n"
        for status in ("CHECKED TWICE", "as in ZORB:2 (terkia)", "OFFICIAL")
    ]
    path.write_text(COLUMNS + "".join(rows))
    assert kinds(path, statuses="CHECKED TWICE") == {"ZORB:1": [("preferred", "flumpa")]}
    with pytest.raises(InputError, match="'CHECKED TWICE'") as refused:
        kinds(path, statuses="CHECKED")
    assert "terkia" not in str(refused.value)
    assert kinds(path, statuses="UNDER_REVIEW,OFFICIAL") == {"ZORB:1": [("preferred", "flumpa")]}


def test_translations_stand_beside_the_english_names() -> None:
    """Catches codes of another prefix, and a source that merge takes for the ontology in another version."""
    zorb = Terminology.read("obo", FIXTURES / "zorb.obo")
    merged = Terminology.merge(zorb, Terminology.read("babelon", LABELS), Terminology.read("babelon", SYNONYMS))
    assert set(merged.codes) == set(zorb.codes)
    assert merged.stats()["terms by language"] == {"en": 7, "it": 8}
    assert set(merged.sources) == {"ZORB", "GLND-ZORB", "ZORB-IT"}
    assert merged.sources["ZORB-IT"].title == "ZORB, names in language 'it'"


def test_translations_have_the_license_of_what_they_translate(tmp_path: Path) -> None:
    for code, license, open_license in (("HP:990", "HPO license", False), ("DOID:990", "CC0-1.0", True)):
        (tmp_path / "x.tsv").write_text(f"{COLUMNS}{code}\trdfs:label\tit\tflumpa\tOFFICIAL\n")
        (source,) = Terminology.read("babelon", tmp_path / "x.tsv").sources.values()
        assert source.name == f"{code.partition(':')[0]}-IT"
        assert source.license.startswith(license)
        assert source.redistributable is open_license


def test_a_table_of_synonyms_may_lack_statuses_and_split_its_names(tmp_path: Path) -> None:
    """Catches remarks read as statuses, and "a|b" as one name where the template does not say how to split."""
    (tmp_path / "x.tsv").write_text(
        "subject_id\ttranslation_value\tcomment\tStatus\nID\tAL oboInOwl:hasExactSynonym@fr\t\t\n"
        "Z:1\tflumpa|flumpe\tof Z:1 (flumpa)\tOFFICIAL\nZ:2\tgruddle\t\tCANDIDATE\n"
    )
    assert kinds(tmp_path / "x.tsv") == {"Z:1": [("preferred", "flumpa"), ("synonym", "flumpe")]}
    (tmp_path / "x.tsv").write_text(
        "subject_id\ttranslation_value\ttranslator\nID\tA oio:hasRelatedSynonym@it SPLIT=;\t\nZ:1\ta;b|c\torcid:990\n"
    )
    assert kinds(tmp_path / "x.tsv", scopes="RELATED") == {"Z:1": [("preferred", "a"), ("synonym", "b|c")]}


def test_languages_without_two_letters_keep_three(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text(
        f"{COLUMNS}Z:1\trdfs:label\tnna\tflumpa\tOFFICIAL\nZ:1\trdfs:label\tpt-BR\tf\tOFFICIAL\n"
    )
    assert Terminology.read("babelon", tmp_path / "x.tsv").stats()["terms by language"] == {"nna": 1, "pt": 1}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("990\trdfs:label\tit\tflumpa\tOFFICIAL", r"x.tsv:2: '990' is not a code of an ontology"),
        ("Z:1\trdfs:label\t\tflumpa\tOFFICIAL", r"x.tsv:2: '' is not a language"),
        ("Z:1\trdfs:label\tItalian\tflumpa\tOFFICIAL", r"x.tsv:2: 'Italian' is not a language"),
        ("Z:1\trdfs:labels\tit\tflumpa\tOFFICIAL", r"x.tsv:2: predicate 'rdfs:labels' must be one of rdfs:label"),
        ("Z:1\trdfs:label\tit\tflumpa", r"x.tsv:2: 4 cells, expected 5"),
        ('Z:1\trdfs:label\tit\t"flumpa\tOFFICIAL', r"x.tsv:2: .*stray double quote"),
        ("ID\t\t\tAL hasExactSynonym@it@it SPLIT\t", r"x.tsv:2: is not a template of synonyms, found 'AL has"),
        ("Z:1\trdfs:label\tit\tflumpa\tCANDIDATE", r"no term was read .*1 translations with status CANDIDATE"),
        ("Z:1\trdfs:label\tit\tflumpa\t", r"no term was read .*1 translations with status \(none\)"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, row: str, message: str) -> None:
    (tmp_path / "x.tsv").write_text(COLUMNS + row + "\n")
    with pytest.raises(InputError, match=message):
        Terminology.read("babelon", tmp_path / "x.tsv")


def test_missing_columns_paths_and_languages_are_named(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("subject_id\ttranslation\nZ:1\tflumpa\n")
    with pytest.raises(InputError, match="x.tsv:1: no column 'translation_value' or 'translation_text'"):
        Terminology.read("babelon", tmp_path / "x.tsv")
    (tmp_path / "x.tsv").write_text("subject_id\ttranslation_value\nZ:1\tflumpa\n")
    with pytest.raises(InputError, match="x.tsv:2: '' is not a language"):
        Terminology.read("babelon", tmp_path / "x.tsv")
    with pytest.raises(InputError, match="reader 'babelon' needs the path"):
        Terminology.read("babelon")
    with pytest.raises(InputError, match="unknown scope 'EXAKT'"):
        Terminology.read("babelon", LABELS, scopes="EXAKT")


@pytest.mark.long
@given(damaged=mutated(SYNONYMS.read_bytes()))
def test_damaged_synonyms_are_one_line_or_read_by_the_contract(
    damaged: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.synonyms.tsv"
    path.write_bytes(damaged)
    check_contract("babelon", check_survives("babelon", LABELS, synonyms=path))
