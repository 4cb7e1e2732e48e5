"""The Italian tree of ICD-9-CM: chapters, indented notes, and titles that go on."""

from __future__ import annotations

from pathlib import Path

from st_biomed.terminology import Terminology
from tests.readers.icd9cm_files import NODES, TABLE, TREE, names, parents


def test_chapters_of_the_tree_are_ranges_and_procedures_are_kept_apart() -> None:
    """Catches chapter 10 of the procedures and category 10 below it under one code."""
    terminology = Terminology.read("icd9cm", TREE)
    assert parents(terminology) == {
        "900-909": "900-929",
        "900": "900-909",
        "900.0": "900",
        "900.1": "900",
        "910": "900-929",
        "V90": "V90-V91",
        "ICD9PROC:00": "ICD9PROC:00-00",
        "ICD9PROC:00.1": "ICD9PROC:00",
        "ICD9PROC:00.10": "ICD9PROC:00.1",
        "ICD9PROC:10": "ICD9PROC:10-11",
    }
    assert names(terminology, "ICD9PROC:10-11") == ["INTERVENTI SULLA GRADTA"]
    assert names(terminology, "ICD9CM:V90") == ['Stato della "flumpa"']
    assert terminology.stats()["terms by language"] == {"it": 18}
    assert {name: info.redistributable for name, info in terminology.sources.items()} == {"ICD9CM_IT": False}


def test_indented_notes_give_inclusion_terms() -> None:
    """Catches wrapped lines as terms of their own, and what is excluded behind a term on one line."""
    terminology = Terminology.read("icd9cm", TREE, parts=True)
    assert names(terminology, "ICD9CM:900") == [
        "Infezione della flumpa",
        "flumpa (mimpica) (drodtica) SAI",
        "terchite",
    ]
    assert names(terminology, "ICD9CM:900.0") == [
        "Infezione drodtica della flumpa",
        "Flumpite congenita minima",
        "Flumpite destra, anche bilaterale",
        "Flumpite sinistra",
        "Terchemia",
    ]
    assert names(terminology, "ICD9CM:900.1")[1:] == ["Morbo di Mimpi", "Pruglemia"]
    assert terminology.tallies["icd9cm rows"].dropped == {
        "exclusions": 4,
        "heads of lists, which stand in front of each item": 2,
        "includes notes not asked for": 2,
        "nodes without a code": 3,
        "notes to the coder": 3,
        "phrases that tell by codes what is included": 1,
        "repeated names of a concept": 1,
    }


ROWS = "\n".join(
    f"{node}\t{above}\t0\tdiagnosi\t{code}\t{label}\t{notes}"
    for node, above, code, label, notes in [
        (1, 0, "CH1", "TUMORI (140-239)", ""),
        (2, 1, "162", "Tumori maligni della gradta", r"Canale della gradta\nAdenocarcinoma gradtico\nMimpoma"),
        (3, 1, "214", "Mimpoma", r"Incl.: gradtoma\n       orlo SAI\n       orlo mimpico"),
        (4, 3, "214.0", "sede non specificata", ""),
        (5, 0, "CH2", "TRAUMATISMI (800-999)", ""),
        (6, 5, "820", "Frattura della flumpa", r"Fianco (flumpico)\nFlumpa rotta"),
        (7, 5, "960", "Avvelenamento da flumpine", r"Terchina\nFlumpina mimpica"),
        (8, 0, "CH3", "SINTOMI (780-799)", ""),
        (9, 8, "780", "Terchemia", r"Assenza\nMancanza di terchio\nspecificata\nterchemia"),
        (10, 8, "781", "Flumpemia", r"assenza\nAssenza\nFlumpite"),
        (11, 8, "782", "Flumpite", r"Flumpite acuta"),
    ]
)


def test_sites_substances_and_what_several_codes_share_are_no_names(tmp_path: Path) -> None:
    """Catches "fianco" as a name of one fracture, an antibiotic as that of its poisoning, and "absence" as a disease."""
    (tmp_path / "tree.tsv").write_text(f"{NODES}{ROWS}\n", "utf-8")
    terminology = Terminology.read("icd9cm", tmp_path / "tree.tsv")
    found = {code: names(terminology, f"ICD9CM:{code}")[1:] for code in ("162", "214", "820", "960", "780", "781")}
    assert found == {
        "162": ["Adenocarcinoma gradtico"],
        "214": ["gradtoma", "orlo mimpico"],
        "820": ["Flumpa rotta"],
        "960": [],
        "780": ["Mancanza di terchio"],
        "781": [],
    }
    dropped = terminology.tallies["icd9cm rows"].dropped
    assert dropped["sites and substances, a part of what the title names"] == 5
    assert dropped["names that stand below several codes, or are another's title"] == 4
    assert dropped["lines in lower case, which go on from a title or another line"] == 3
    everything = Terminology.read("icd9cm", tmp_path / "tree.tsv", parts=True)
    assert "Terchina" in names(everything, "ICD9CM:960")


def test_a_title_in_lower_case_goes_on_from_the_one_above(tmp_path: Path) -> None:
    """Catches "complete" as the name of thirty codes."""
    (tmp_path / "tree.tsv").write_text(f"{NODES}{ROWS}\n", "utf-8")
    terminology = Terminology.read("icd9cm", tmp_path / "tree.tsv")
    assert names(terminology, "ICD9CM:214.0") == ["Mimpoma sede non specificata"]


def test_italian_and_english_names_meet_in_one_concept() -> None:
    """Catches two sources of one name, which could not be merged."""
    merged = Terminology.merge(Terminology.read("icd9cm", TABLE), Terminology.read("icd9cm", TREE))
    assert merged.concept_names("ICD9CM:910") == ["Gradthosis", "Gradtosi"]
