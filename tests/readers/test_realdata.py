"""Published counts of open sources; the files are outside the repository."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from st_biomed.linking_data.held_out_translations import hold_out_translations
from st_biomed.terminology import Terminology
from st_biomed.terminology.crosswalk import Crosswalk
from st_biomed.terminology.union import unite
from st_biomed.terminology.union_plan import UnionPlan

pytestmark = pytest.mark.realdata

PLANS = Path(__file__).parents[2] / "evaluation"


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


def test_mesh_2022_has_30194_descriptors_below_each_other_but_for_one_cycle(realdata: Path) -> None:
    """Catches permuted terms read as names, tree numbers of another heading, and a cycle that is cut in silence."""
    folder = realdata / "open2026" / "mesh"
    mesh = Terminology.read(
        "mesh",
        folder / "data_mesh_thesaurus.tsv.gz",
        trees=folder / "mtrees2022.bin.gz",
        actions=folder / "data_PharmacologicalActions.tsv.gz",
    )
    assert (mesh.n_concepts, mesh.terms.num_rows, mesh.parents.num_rows) == (30_194, 128_777, 41_080)
    assert mesh.relations.num_rows == 5_054
    assert mesh.n_cyclic_parents == 2
    cut = mesh.without_cycles()
    codes = [mesh.concept(f"MESH:{ui}") for ui in ("D054988", "D054990")]
    left = {(row["child"], row["parent"]) for row in cut.parents.to_pylist()}
    assert not left & {(codes[0], codes[1]), (codes[1], codes[0])}
    typed = set(mesh.types["concept"].to_pylist())
    assert {mesh.codes[i] for i in range(mesh.n_concepts) if i not in typed} == {"MESH:D005260", "MESH:D008297"}


def test_orphanet_of_2025_has_9960_packets(realdata: Path) -> None:
    """Catches a list in one of its other shapes that is passed over: 44 packets have their parents in one."""
    packets = Terminology.read("orphapacket", realdata / "open2026" / "orphanet" / "orphapackets.jsonl.gz")
    of = Counter(code.partition(":")[0] for code in packets.codes)
    assert of == {"ORDO": 9_960 + 38, "HP": 8_671, "HGNC": 4_469}
    own = packets.terms["source"].to_pylist().count("ORPHAPACKET")
    assert own - 38 == 9_960 + 13_888
    assert (packets.parents.num_rows, packets.n_definitions, packets.n_cyclic_parents) == (19_481, 6_891, 0)
    n_phenotypes = sum("has_phenotype" in relation for relation in packets.relations["relation"].to_pylist())
    assert n_phenotypes == 115_878 - 727 - 25  # excluded, repeated
    assert packets.relations.num_rows - n_phenotypes == 8_018 - 2  # without a code of HGNC


def test_biolexica_has_73545_and_29862_codes(realdata: Path) -> None:
    """Catches codes in two spellings, and codes that become concepts without a name."""
    folder = realdata / "open2026" / "biolexica"
    found = {name: Terminology.read("ssslm", folder / f"{name}.ssslm.tsv.gz") for name in ("phenotype", "anatomy")}
    assert {name: part.n_concepts for name, part in found.items()} == {"phenotype": 73_545, "anatomy": 29_862}
    prefixes = Counter(code.partition(":")[0] for code in found["phenotype"].codes)
    assert prefixes.most_common(4) == [("NCIT", 20_521), ("HP", 18_924), ("MONDO", 18_844), ("DOID", 14_219)]


def test_the_open_sources_make_one_terminology(realdata: Path) -> None:
    """Catches figures of docs/terminologies.md that are true no more; takes a minute of a processor."""
    made = unite(UnionPlan.read(PLANS / "open_terminology.yaml"), realdata)
    whole, case = made.terminology, made.report["names equal but for case, before they were normalized"]
    assert (whole.n_concepts, whole.n_texts, whole.n_definitions) == (241_220, 666_510, 82_333)
    assert (whole.parents.num_rows, whole.relations.num_rows) == (313_161, 459_008)
    assert (case["names"], case["too many"]) == (129_079, 68_740)
    several = np.flatnonzero(whole.text_concepts.counts > 1)
    shared = {pair for text in several for pair in combinations(sorted(whole.text_concepts.row(text)), 2)}
    assert (len(several), len(shared)) == (35_697, 41_860)
    assert made.report["cycles"]["parents"] == 78
    assert made.report["cycles"]["before"] == 2
    # "Penicillin", the short title of a history of allergy, and the substance of a therapy
    assert not {"ICD9CM:V14.0", "ICD9CM:760.71", "MAXO:0000178"} & whole.former_codes.keys()


def test_the_open_sources_in_seven_languages_make_one_terminology(realdata: Path) -> None:
    """Catches a translation that is lost, and held-out names that are drawn differently."""
    whole = unite(UnionPlan.read(PLANS / "open_terminology_multilingual.yaml"), realdata).terminology
    assert (whole.n_concepts, whole.n_texts, whole.n_definitions) == (246_201, 832_318, 83_317)
    assert (whole.parents.num_rows, whole.relations.num_rows) == (332_790, 459_008)
    assert whole.languages == ["de", "en", "es", "fr", "it", "nl", "pt"]
    others = [language for language in whole.languages if language != "en"]
    held = hold_out_translations(whole, languages=others, n_dev=100, n_test=500, prefix="HP:")
    assert held.train.n_texts == 830_414
    n_names = {dataset.name[-2:]: len(dataset.split("test")) for dataset in held.datasets.values()}
    assert n_names == {"de": 96, "es": 492, "fr": 451, "it": 87, "nl": 291, "pt": 189}
