"""OMOP: open test sets of OHDSI, read whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.readers.test_omop import read


@pytest.mark.realdata
def test_gibleed_has_443_concepts_and_20_parents(realdata: Path) -> None:
    """A test set with an upper-case header; of 65,690 pairs of ancestors, 19 are concepts of it one level apart."""
    terminology = read(realdata / "open2026" / "omop" / "gibleed")
    assert (terminology.n_concepts, terminology.n_texts, terminology.parents.num_rows) == (443, 1_093, 20)
    assert (terminology.terms.num_rows, terminology.xrefs.num_rows) == (1_095, 446)
    assert len(set(terminology.types["type"].to_pylist())) == 7 + 1
    tally = terminology.tallies["omop rows"]
    assert (tally.n_read, tally.n_kept) == (67_206, 1_118)
    assert tally.dropped["CONCEPT_SYNONYM: repeated names of a concept"] == 411
    assert tally.dropped["CONCEPT_ANCESTOR: not one level apart"] == 63_015
    assert tally.dropped["CONCEPT_ANCESTOR: of a concept that is not in CONCEPT"] == 2_656
    assert terminology.sources["OMOP"].version == "v5.0 18-JAN-19"
    assert read(realdata / "open2026" / "omop" / "gibleed", standard=True).n_concepts == 439


@pytest.mark.realdata
def test_synthea27nj_has_2191_valid_concepts(realdata: Path) -> None:
    """A test set with a lower-case header, whose relationships mostly end at concepts that it does not have."""
    terminology = read(realdata / "open2026" / "omop" / "synthea27nj")
    assert (terminology.n_concepts, terminology.n_texts, terminology.parents.num_rows) == (2_191, 2_182, 115)
    assert (terminology.relations.num_rows, terminology.xrefs.num_rows) == (364, 2_191)
    tally = terminology.tallies["omop rows"]
    assert (tally.n_read, tally.n_kept) == (2_294 + 266_588, 2_670)
    assert tally.dropped == {
        "CONCEPT: invalid": 103,
        "CONCEPT_RELATIONSHIP: inverses of Is a and Maps to": 71_246,
        "CONCEPT_RELATIONSHIP: of a concept that is not in CONCEPT": 190_334,
        "CONCEPT_RELATIONSHIP: of a concept that is not read": 173,
        "CONCEPT_RELATIONSHIP: of a concept to itself": 4_356,
    }
