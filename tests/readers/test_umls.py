"""UMLS: each feature on a META folder of invented concepts."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.readers import reader
from st_biomed.readers._normalizers import coder
from st_biomed.readers.umls.semantic_types import SEMANTIC_GROUPS
from st_biomed.records import Tally
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import ReaderContract
from tests.readers.umls_folder import META, change, links, names, parents, preferred, read


class TestUMLS(ReaderContract):
    reader = "umls"
    path = META
    of_sources = True

    def test_the_tables_hold_all_that_was_read(self, records) -> None:
        """MRREL states a parent as PAR and as CHD: only such repeats are dropped."""
        tally = Terminology.from_records(iter(records), reader("umls").SOURCE).tallies["records"]
        assert tally.dropped == {"repeated parents": 1}


def test_names_are_taken_as_they_stand_and_suppressed_ones_dropped():
    """Catches quotes that swallow cells, "NA" and "null" read as nothing, and obsolete names."""
    found = names(read())
    assert found["01"] == {
        "Mimpic flumpa",
        "Mimpic Flumpa",
        'Flumpa, 5" mimpic NOS (disorder)',
        "Mimpic-flumpa NOS",
        "Flumpa mimpica",
    }
    assert found["03"] == {"NA", "null", "Terkia"}
    assert "09" not in found
    kept = names(read(keep_suppressed=True))
    assert kept["01"] - found["01"] == {"Old flumpa"}
    assert kept["09"] == {"Suppressed thing"}


def test_preferred_names_follow_language_ts_stt_and_ispref():
    """Catches the first row taken for the preferred one, and a foreign name before the English one."""
    assert preferred(read())["01"] == "Mimpic Flumpa"
    assert preferred(read(languages=["ITA"]))["01"] == "Flumpa mimpica"


def test_the_language_comes_before_ts_stt_and_ispref(tmp_path):
    """Catches columns that decide in the order from the last to the first."""
    change(Path(shutil.copytree(META, tmp_path / "meta")) / "MRCONSO.RRF", 2, "|Y|", "|N|")
    assert preferred(read(tmp_path / "meta"))["01"] == "Mimpic flumpa"


def test_a_string_of_several_concepts_keeps_them_all():
    terminology = read()
    assert [terminology.strings[t] for t in terminology.ambiguous_texts] == ["Terkia"]
    merged = read(trade_names=True, normalizer="lower")
    assert "belzor" in {merged.strings[t] for t in merged.ambiguous_texts}


def test_parents_are_read_from_par_and_chd_alike():
    """Catches the direction turned around: the second concept is the parent with PAR and the child with CHD."""
    assert parents(read()) == {("01", "02"), ("03", "02")}


def test_the_second_concept_has_the_relation_to_the_first():
    """Catches heads and tails exchanged, and relations that are found by a part of their name."""
    found = links(read())
    assert ("03", "has_target", "08") in found
    assert ("08", "target_of", "03") in found
    assert ("07", "seen_with", "01") in found
    assert not [r for r in found if r[1] in ("SIB", "RB", "isa", "inverse_isa", "")]
    assert links(read(relations="all")) - found == {("03", "SIB", "01"), ("04", "RB", "08")}
    assert read(relations="none").relations.num_rows == 0
    assert parents(read(relations="none")) == parents(read())


def test_relations_can_go_by_their_rel_alone():
    """Catches rows with a RELA that keep it, as BERGAMOT's twelve relations never have."""
    by_rel, every = links(read(relations="rel")), links(read(relations="all"))
    assert {(head, tail) for head, _, tail in by_rel} == {(head, tail) for head, _, tail in every}
    assert {name for _, name, _ in by_rel} == {"RB", "RO", "SIB"}
    assert links(read(preset="bergamot", keep_suppressed=False)) == by_rel
    assert parents(read(relations="rel")) == parents(read())


def test_trade_names_are_synonyms_of_the_drug_by_equality_in_both_directions():
    """Catches RELA matched by substring ("had_tradename_of_old"), and one direction forgotten."""
    plain, trade = names(read()), names(read(trade_names=True))
    assert trade["04"] - plain["04"] == {"Belzor", "Belzor forte", "Quizor"}
    assert {code for code in plain if trade[code] != plain[code]} == {"04"}


def test_the_preset_bergamot_has_the_names_of_the_published_code():
    """Catches names in their case, drugs without trade names, a language left out, and suppressed names dropped."""
    options = {"relations": "rel", "keep_suppressed": True, "normalizer": "lower", "trade_names": True}
    found = read(preset="bergamot")
    assert names(found) == names(read(**options)) and links(found) == links(read(**options))
    every = {name for of_concept in names(found).values() for name in of_concept}
    assert every == {name.lower() for of_concept in names(read(keep_suppressed=True)).values() for name in of_concept}
    assert {"belzor", "quizor"} <= names(found)["04"]
    assert found.languages == read().languages


def test_rare_and_inverse_relations_can_be_left_out():
    found = links(read(inverses=False, least_relation_rows=2))
    assert {name for _, name, _ in found} == {"has_target"}
    tally = read(inverses=False, least_relation_rows=2).tallies["umls rows"]
    assert tally.adds_up()
    assert tally.dropped["MRREL: inverse relations"] == 4
    assert tally.dropped["MRREL: rare relations"] == 3


def test_merged_concepts_are_mapped_to_what_they_are_today():
    """Catches a chain of mergers followed halfway, and a deleted concept mapped to nothing."""
    terminology = read()
    rows = terminology.xrefs.to_pylist()
    assert {(terminology.codes[r["concept"]], r["target"], r["predicate"]) for r in rows} == {
        ("UMLS:C9900002", "UMLS:C9900071", "replaces"),
        ("UMLS:C9900002", "UMLS:C9900072", "replaces"),
    }
    assert read(concepts=["C9900071", "UMLS:C9900008"]).codes == ["UMLS:C9900002", "UMLS:C9900008"]


def test_sources_have_the_current_version_and_the_right_to_redistribute():
    """Catches an old version taken, and a restricted vocabulary that a release could quote."""
    sources = read().sources
    assert (sources["SRCA"].version, sources["SRCA"].redistributable) == ("2.1", True)
    assert (sources["SRCB"].version, sources["SRCB"].redistributable) == ("3", False)
    assert sources["SRCC"].license == "UMLS source restriction level 9"
    assert sources["UMLS"].version == "2020AA"


def test_a_subset_of_slow_vocabularies_has_the_release_that_mrdoc_names(tmp_path: Path):
    """Catches two releases that count as one version, since none of their vocabularies has changed."""
    folder = Path(shutil.copytree(META, tmp_path / "meta"))
    with (folder / "MRDOC.RRF").open("a", encoding="utf-8") as file:
        file.write("RELEASE|umls.release.name|release_info|2031AB|\n")
    assert Terminology.read("umls", folder).sources["UMLS"].version == "2031AB"


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"languages": ["ITA"]}, {"01", "02", "07"}),
        ({"sources": ["SRCB"]}, {"01", "04", "05", "06"}),
        ({"term_types": ["BN"]}, {"05", "06"}),
        ({"semantic_types": ["T046"]}, {"01", "02", "10"}),
        ({"semantic_types": ["T033"]}, {"01", "03"}),
        ({"semantic_types": ["T103"]}, {"04", "05", "06"}),
        ({"semantic_types": ["A"]}, None),
        ({"semantic_types": ["T071"]}, {"04", "05", "06", "07", "01", "03"}),
        ({"semantic_groups": ["PROC", "DISO"]}, {"01", "02", "03", "08", "10"}),
        ({"preset": "sapbert"}, {"01", "02", "03", "04", "05", "06", "08", "09", "11"}),
    ],
)
def test_filters_keep_what_they_name(options: dict[str, Any], kept: set[str] | None):
    """Catches a filter that does nothing; a semantic type includes those below it in the tree."""
    if kept is None:
        with pytest.raises(InputError, match="semantic type 'A' does not occur in MRSTY"):
            read(**options)
    else:
        assert {code[-2:] for code in read(**options).codes} == kept


def test_the_manifest_says_what_a_preset_and_a_normalizer_stood_for():
    """Catches a terminology of which nobody can tell later whether suppressed names are in it."""
    [reading] = read(preset="sapbert", languages="ENG,ITA").readings
    assert reading["options"] == {
        "preset": "sapbert",
        "languages": "ENG,ITA",
        "keep_suppressed": True,
        "normalizer": "lower",
        "normalizer_version": 1,
        "trade_names": True,
    }


def test_presets_restate_the_papers_and_given_options_win(tmp_path):
    """SapBERT: English, suppressed names too, lower case, trade names. The Italian paper: three sources, 13 types."""
    sapbert = names(read(preset="sapbert"))
    assert sapbert["01"] == {"mimpic flumpa", 'flumpa, 5" mimpic nos (disorder)', "mimpic-flumpa nos", "old flumpa"}
    assert "belzor forte" in sapbert["04"]
    assert "Old flumpa" not in names(read(preset="sapbert", keep_suppressed=False, normalizer="none"))["01"]
    shutil.copytree(META, tmp_path / "meta")
    for name in ("MRCONSO.RRF", "MRREL.RRF", "MRSAB.RRF"):
        path = tmp_path / "meta" / name
        path.write_text(path.read_text("utf-8").replace("SRCI", "MDRITA"), "utf-8")
    italian = read(tmp_path / "meta", preset="italian")
    assert names(italian) == {"01": {"Flumpa mimpica"}, "02": {"Flumpa"}}
    assert parents(italian) == {("01", "02")}


def test_normalizers_are_pythons_lower_case_and_coders_cleaning():
    """Catches arrow's lower case, which differs for these letters."""
    assert "İlfa ΣΑΣ àèì".lower() in names(read(normalizer="lower"))["07"]
    assert names(read(normalizer="coder"))["01"] >= {'flumpa, 5" mimpic', "mimpic flumpa"}
    assert coder("A-B (x) NOS (y) nos") == "a b"
    assert names(read(normalizer="coder"))["11"] == {"( )"}, "a name of which nothing is left stays"


def test_the_groups_hold_each_of_the_127_types_once():
    types = [t for group in SEMANTIC_GROUPS.values() for t in group]
    assert len(types) == len(set(types)) == 127


def test_the_tally_counts_every_line_of_the_five_files():
    files = ("MRCONSO", "MRREL", "MRSTY", "MRCUI", "MRDEF")
    lines = sum(len((META / f"{name}.RRF").read_bytes().splitlines()) for name in files)
    tally = Tally()
    assert list(reader("umls").records(META, tally=tally))
    assert tally.n_read == lines
    assert tally.adds_up()
