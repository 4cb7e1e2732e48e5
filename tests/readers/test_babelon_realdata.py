"""Babelon tables whole: HPO in ten languages, DOID in Spanish."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "language", "n_rows", "n_official"),
    [
        ("it.babelon", "it", 3_488, 524),
        ("es.babelon", "es", 19_932, 19_932),
        ("fr.babelon", "fr", 14_693, 14_693 - 473),  # definitions
        ("de.babelon", "de", 3_488, 587),
        ("ja.babelon", "ja", 17_868, 17_868 - 219),  # not translated
        ("zh.babelon", "zh", 18_988, 18_988),
        ("pt.babelon", "pt", 7_214, 7_213),  # one definition
        ("nna.babelon", "nna", 201, 201),
        ("tw.babelon", "tw", 83, 83),
    ],
)
def test_hpo_labels(realdata: Path, name: str, language: str, n_rows: int, n_official: int) -> None:
    terminology = Terminology.read("babelon", realdata / "multilingual" / "hpo" / f"hp-{name}.tsv.gz")
    tally = terminology.tallies["babelon rows"]
    assert tally.n_read == n_rows
    n_names = tally.n_kept - terminology.n_definitions
    assert n_names + tally.dropped["repeated names of a concept"] == n_official
    assert terminology.n_definitions + tally.dropped["definitions of a term without a name"] == {
        "fr": 473,
        "pt": 1,
    }.get(language, 0)
    assert terminology.stats()["terms by language"] == {language: n_names}
    assert set(terminology.sources) == {f"HP-{language.upper()}"}


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "n_rows", "n_split", "n_official"),
    [
        ("it", 22, 21, 21),  # and one template line
        ("fr", 11_816, 19_829, 33),  # "a|b" in 3,700 cells
        ("cs", 18_812, 18_811, 14_782),
        ("tr", 18_707, 18_706, 10_983),
        ("de", 415, 746, 746),  # no statuses; "a|b" in 260 cells
    ],
)
def test_hpo_synonyms(realdata: Path, name: str, n_rows: int, n_split: int, n_official: int) -> None:
    path = realdata / "multilingual" / "hpo" / f"hp-{name}.synonyms.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        assert sum(1 for _ in lines) == n_rows + 1
    tally = Terminology.read("babelon", path).tallies["babelon rows"]
    assert tally.n_read == n_split + 1
    assert tally.n_kept + tally.dropped["repeated names of a concept"] == n_official


@pytest.mark.realdata
def test_dutch_is_all_candidates(realdata: Path) -> None:
    path = realdata / "multilingual" / "hpo" / "hp-nl.babelon.older.tsv.gz"
    with pytest.raises(InputError, match="no term was read .*12,486 translations with status CANDIDATE"):
        Terminology.read("babelon", path)
    candidates = Terminology.read("babelon", path, statuses="CANDIDATE")
    assert (candidates.n_concepts, candidates.n_definitions) == (12_448, 12_486 - 12_448)


@pytest.mark.realdata
def test_doid_in_spanish_has_5981_translations(realdata: Path) -> None:
    """8,361 lines, of which 2,380 are parts of remarks over several; 2,046 are definitions, 113 synonyms not exact.

    The label of 1,573 terms that are defined is not translated there.
    """
    doid = Terminology.read("babelon", realdata / "multilingual" / "doid-es-translated.tsv.gz")
    tally = doid.tallies["babelon rows"]
    assert tally.n_read == 5_981
    assert doid.n_definitions == 2_046 - 1_573
    assert tally.dropped["definitions of a term without a name"] == 1_573
    n_names = tally.n_kept - doid.n_definitions
    assert n_names + tally.dropped["repeated names of a concept"] == 5_981 - 2_046 - 113
    assert set(doid.sources) == {"DOID-ES"}
    assert doid.sources["DOID-ES"].redistributable


@pytest.mark.realdata
def test_italian_names_merge_with_hpo_on_its_codes(realdata: Path) -> None:
    hpo = Terminology.read("obograph", realdata / "ontologies" / "hp.v2024-04-26.json.gz")
    folder = realdata / "multilingual" / "hpo"
    italian = Terminology.read(
        "babelon",
        folder / "hp-it.babelon.tsv.gz",
        synonyms=folder / "hp-it.synonyms.tsv.gz",
        statuses="OFFICIAL,CANDIDATE",
    )
    merged = Terminology.merge(hpo, italian)
    assert italian.n_concepts == 3_488
    assert set(italian.codes) <= set(hpo.codes)
    assert merged.stats()["terms by language"]["it"] == italian.terms.num_rows
