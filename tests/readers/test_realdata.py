"""Published counts of open sources; the files are outside the repository."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from pathlib import Path

import pytest

from st_biomed.terminology import Terminology
from st_biomed.terminology.crosswalk import Crosswalk

pytestmark = pytest.mark.realdata


def n_roots(terminology: Terminology) -> int:
    return terminology.n_concepts - len(set(terminology.parents["child"].to_pylist()))


def test_phecode_1_2_has_1817_codes_in_544_trees(realdata: Path) -> None:
    """543 whole numbers, and 305.2, whose 305 is not defined."""
    phecode = Terminology.read("phecode", realdata / "hierarchies" / "phecode1.2_pheinfo.csv.gz")
    assert phecode.n_concepts == phecode.n_texts == 1_817
    assert n_roots(phecode) == 544
    assert len(phecode.types["type"].unique()) == 17


def test_phecode_tables_read_as_a_parent_child_map_agree_with_the_codes(realdata: Path, tmp_path: Path) -> None:
    """The same tree by the other reader: each code's parent written out as a map."""
    strings = realdata / "hierarchies" / "phecode1.2_pheinfo.csv.gz"
    phecode = Terminology.read("phecode", strings)
    bare = [code.split(":")[1] for code in phecode.codes]
    rows = [f"{bare[row['parent']]},{bare[row['child']]}\n" for row in phecode.parents.to_pylist()]
    (tmp_path / "map.csv").write_text("parent,child\n" + "".join(rows))
    tables = Terminology.read("parent_child", tmp_path / "map.csv", strings=strings, code="phecode", name="PHECODE")
    assert tables.codes == phecode.codes
    assert tables.strings == phecode.strings
    assert tables.parents.equals(phecode.parents)


@pytest.fixture(scope="module")
def icd10cm_2019(realdata: Path) -> list[dict[str, str]]:
    with gzip.open(realdata / "hierarchies" / "icd10cm2019.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_icd10cm_2019_as_a_code_string_table_has_94444_codes(
    realdata: Path, icd10cm_2019: list[dict[str, str]]
) -> None:
    path = realdata / "hierarchies" / "icd10cm2019.csv.gz"
    terminology = Terminology.read("parent_child", path, string="long_desc", name="ICD10CM2019")
    assert terminology.n_concepts == len(icd10cm_2019) == 94_444
    assert terminology.parents.num_rows == 0


def test_icd10cm_2019_as_it_is_has_its_codes_below_21_chapters(realdata: Path, tmp_path: Path) -> None:
    """Catches the table's other headings, which stand beside the wrong categories: M11 below osteoarthritis."""
    path = realdata / "hierarchies" / "icd10cm2019.csv.gz"
    terminology = Terminology.read("icd10cm", path, extensions=True)
    assert terminology.n_concepts == 94_444 + 21
    assert terminology.parents.num_rows == 94_444
    assert n_roots(terminology) == 21
    assert terminology.tallies["icd10cm rows"].n_dropped == 0
    below = {terminology.codes[r["child"]]: terminology.codes[r["parent"]] for r in terminology.parents.to_pylist()}
    assert below["ICD10CM:C4A"] == "ICD10CM:C00-D49"
    assert below["ICD10CM:M1A"] == below["ICD10CM:M11"] == "ICD10CM:M00-M99"
    assert below["ICD10CM:Z3A.0"] == "ICD10CM:Z3A"


def test_icd10cm_2019_as_an_order_file_hangs_every_code_below_its_category(
    icd10cm_2019: list[dict[str, str]], tmp_path: Path
) -> None:
    """Catches an extension kept or a code of seven characters lost where the file does not tell them apart."""
    path = tmp_path / "icd10cm_order_2019.txt"
    with path.open("w", encoding="utf-8") as order:
        for number, row in enumerate(icd10cm_2019, 1):
            flag, short = int(row["billable"] == "True"), row["short_desc"][:60]
            order.write(f"{number % 100_000:05d} {row['code']:<7} {flag} {short:<60} {row['long_desc']}\n")
    categories = {row["three_digit"] for row in icd10cm_2019}
    everything = Terminology.read("icd10cm", path, extensions=True)
    assert everything.n_concepts == 94_444
    assert n_roots(everything) == len(categories)
    without = Terminology.read("icd10cm", path)
    long_codes = [code for code in without.codes if len(code.split(":")[1]) == 8]
    assert len(long_codes) == 55
    assert without.tallies["icd10cm rows"].dropped == {"seventh-character extensions": 50_012 - 55}
    assert n_roots(without) == len(categories)


@pytest.mark.parametrize(
    ("name", "of_all", "in_use"),
    [
        ("hp.v2024-04-26.json", 15_934, 15_929),
        ("doid.2024-01-31.obo", 9_731, 9_146),  # 9,733 lines, two of them of typedefs
        ("ncit-disease-2018-06-08.json", 17_180, 17_180),
        ("ordo-2_6-2018-07-12.json", 5_166, 5_166),
        ("maxo.2024-05-24.json", 12_816, 12_816),
        ("uberon.2015-04-23.obo", 10_859, 10_586),
        ("cl.2017-04-14.obo", 4_714, 4_619),
        ("bio-chebi.2023-03-10.obo", 0, 0),
    ],
)
def test_definitions_of_ontologies(realdata: Path, name: str, of_all: int, in_use: int) -> None:
    """Obsolete terms too, and those in use; each concept has one at most."""
    path, source = realdata / "ontologies" / f"{name}.gz", "obo" if name.endswith("obo") else "obograph"
    terminology = Terminology.read(source, path)
    stats = terminology.stats()
    assert stats["definitions"] == stats["concepts with a definition"] == in_use
    assert Terminology.read(source, path, obsolete=True).n_definitions == of_all
    assert not any("\n" in text or "  " in text for text in terminology.definition_strings)


def test_ontologies_are_united_over_the_cuis_that_both_refer_to(realdata: Path) -> None:
    """DOID, MONDO's mapping set and HPO, without UMLS: what two of them map to one CUI, and no third claims, is one."""
    folder = realdata / "ontologies"
    doid = Terminology.read("obo", folder / "doid.2024-01-31.obo.gz")
    mondo = Terminology.read("sssom", folder / "mondo_exactmatch_umls.sssom.tsv.gz")
    hpo = Terminology.read("obograph", folder / "hp.v2024-04-26.json.gz")
    walk = Crosswalk.between(doid, mondo, hpo, predicates=["xref", "exactMatch"], through=["UMLS"])
    assert walk.tally.adds_up()
    united = Counter((code.split(":")[0], other.split(":")[0]) for code, other in walk.codes.items())
    assert united == {("MONDO", "DOID"): 5_267, ("HP", "MONDO"): 712, ("HP", "DOID"): 634}
    assert len(walk.conflicts) == 3_693
    merged = Terminology.merge(doid, mondo, hpo, codes=walk.codes)
    assert merged.n_concepts == doid.n_concepts + mondo.n_concepts + hpo.n_concepts - len(walk.codes)
    assert merged.tallies["merge"].n_dropped == 0
    assert merged.strings[merged.preferred_texts[merged.concept("DOID:1612")]] == "breast cancer"
