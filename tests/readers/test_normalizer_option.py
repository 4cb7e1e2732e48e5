"""The normalizer of the readers of HiPrBERT's four hierarchies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.readers._normalizers import NORMALIZERS, name_normalizer
from st_biomed.records import Parent, SourceInfo, Term
from st_biomed.terminology import Terminology
from st_biomed.terminology.normalization import normalized
from tests.contracts.reader_contract import FIXTURES

READERS: dict[str, tuple[Path, dict[str, Any]]] = {
    "phecode": (FIXTURES / "phecode_1.2.csv", {"icd_names": FIXTURES / "phecode_icd_names.csv"}),
    "loinc": (FIXTURES / "loinc", {"languages": "all", "synonyms": "SHORTNAME,COMPONENT"}),
    "rxnorm": (FIXTURES / "rxnorm", {"sources": "all"}),
    "cpt": (FIXTURES / "cpt_2031.csv", {"synonyms": "short_description"}),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("normalizer", ["lower", "coder"])
def test_every_name_is_normalized_and_equal_ones_are_one(name: str, normalizer: str):
    """Would catch a table or a column whose names stay as they are, and a name that a concept has twice."""
    path, options = READERS[name]
    plain = Terminology.read(name, path, **options)
    clean = name_normalizer(normalizer)
    terminology = Terminology.read(name, path, normalizer=normalizer, **options)
    assert terminology.codes == plain.codes
    for code in plain.codes:
        assert set(terminology.concept_names(code)) == {clean(text) for text in plain.concept_names(code)}
    assert terminology.strings != plain.strings
    assert terminology.parents.to_pylist() == plain.parents.to_pylist()
    assert all(tally.adds_up() for tally in terminology.tallies.values())
    assert not terminology.tallies["records"].dropped.get("repeated terms")


def test_titles_of_icd_codes_are_normalized(tmp_path: Path):
    (tmp_path / "icd9.txt").write_text("0099   Mimpic-flumpa (acute) NOS\n")
    (tmp_path / "map.csv").write_text("vocabulary_id,code,phecode\nICD9CM,009.9,008.5\n")
    path, _ = READERS["phecode"]
    files = {"icd_map": tmp_path / "map.csv", "icd9cm_titles": tmp_path / "icd9.txt"}
    terminology = Terminology.read("phecode", path, normalizer="coder", **files)
    assert terminology.concept_names("PHECODE:008.5") == ["mimpic flumpa", "mimpic flumpa disease"]


@pytest.mark.parametrize("name", READERS)
def test_the_normalizer_is_recorded_with_its_version_and_a_misspelt_one_is_refused(name: str):
    path, _ = READERS[name]
    (reading,) = Terminology.read(name, path, normalizer="coder").readings
    assert reading["options"]["normalizer_version"] == NORMALIZERS["coder"][0]
    (plain,) = Terminology.read(name, path).readings
    assert "normalizer" not in plain["options"]
    with pytest.raises(InputError, match="unknown normalizer 'codr'.*did you mean 'coder'"):
        Terminology.read(name, path, normalizer="codr")


def test_a_name_of_which_nothing_is_left_stays():
    """Would catch an empty name, which no reader may yield."""
    assert name_normalizer("coder")("(terkic)") == "(terkic)"
    records = [Term("A:1", "(all)"), Term("A:2", "Zorb"), Parent("A:2", "A:1")]
    made = normalized(Terminology.from_records(records, SourceInfo("A", "a")), "coder")
    assert made.codes == ["A:1", "A:2"] and set(made.strings) == {"(all)", "zorb"} and made.parents.num_rows == 1
    assert name_normalizer("coder")("Terkic-flumpa NOS (left)") == "terkic flumpa"
    assert name_normalizer("none")(" Terkic") == " Terkic"
