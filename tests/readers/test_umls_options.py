"""UMLS: what the options ask for, whether it is there, and how the tally says so."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.readers import reader
from st_biomed.readers.umls import PRESETS
from st_biomed.records import Rows, Tally, Term
from tests.readers.umls_folder import META, links, names, parents, read


def renamed(folder: Path, **sources: str) -> Path:
    """A copy of the folder in which vocabularies have other names."""
    copy = Path(shutil.copytree(META, folder / "renamed"))
    for file in ("MRCONSO", "MRREL", "MRSAB"):
        path = copy / f"{file}.RRF"
        text = path.read_text("utf-8")
        for old, new in sources.items():
            text = text.replace(old, new)
        path.write_text(text, "utf-8")
    return copy


def lines_of_the_files() -> int:
    return sum(
        len((META / f"{file}.RRF").read_bytes().splitlines())
        for file in ("MRCONSO", "MRREL", "MRSTY", "MRCUI", "MRDEF")
    )


@pytest.mark.parametrize("sources", ["NOPE", "SRCA,NOPE", ["SRCB", "NOPE"]])
def test_relation_sources_have_to_be_there(sources: Any) -> None:
    """Catches a hierarchy without parents, or with part of them, after a slip of the pen."""
    message = r"unknown value of option relation_sources \(no row of MRREL has it\) 'NOPE': allowed are 'SRCA', 'SRCB'"
    with pytest.raises(InputError, match=message):
        read(relation_sources=sources)


def test_sources_without_relations_are_no_mistake_unless_relations_of_them_are_asked_for() -> None:
    assert parents(read(sources="SRCA,SRCC")) == {("01", "02")}
    assert parents(read(sources="SRCA,SRCC", relation_sources="SRCB")) == {("03", "02")}
    with pytest.raises(InputError, match="relation_sources"):
        read(sources="SRCC", relation_sources="SRCC")


def test_parents_may_be_those_of_one_vocabulary() -> None:
    """Catches relations that go with the parents of other vocabularies, and a slip of the pen."""
    whole, part = read(), read(parent_sources="SRCB")
    assert (parents(whole), parents(part)) == ({("01", "02"), ("03", "02")}, {("03", "02")})
    assert links(part) == links(whole)
    tally = part.tallies["umls rows"]
    assert tally.dropped["MRREL: parents of other sources"] == 2
    assert tally.adds_up()
    assert parents(read(relation_sources="SRCA", parent_sources="SRCA,SRCB")) == {("01", "02")}
    with pytest.raises(InputError, match=r"value of option parent_sources \(no row of MRREL has it\) 'NOPE'"):
        read(parent_sources="SRCA,NOPE")


@pytest.mark.parametrize(
    "concepts", ["C9900001,C9900003", "UMLS:C9900003, C9900001,", ["C9900001", "UMLS:C9900003"], Path, "file"]
)
def test_concepts_are_a_list_or_a_file(concepts: Any, tmp_path: Path) -> None:
    """Catches a list from the command line taken for the name of a file."""
    if concepts in (Path, "file"):
        file = tmp_path / "concepts.txt"
        file.write_text("C9900003\n\nUMLS:C9900001 \n")
        concepts = file if concepts is Path else str(file)
    assert set(names(read(concepts=concepts))) == {"01", "03"}


@pytest.mark.parametrize(
    ("concepts", "message"),
    [
        ("C9900001,flumpa", "concepts of reader 'umls': 'flumpa' is not a concept identifier"),
        ("flumpa,terkia", "flumpa,terkia: no such file, nor a list of concepts such as"),
        ("C9900001,C990", "concepts of reader 'umls': 'C990' is not a concept identifier"),
        ([], r"concepts of reader 'umls': found no identifier in '\[\]'"),
        ("C9900097,C9900098", "MRCONSO has none of the 2 requested concepts, the first is C9900097"),
    ],
)
def test_concepts_that_are_none_are_refused(concepts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(concepts=concepts)


def test_a_file_of_concepts_is_refused_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "concepts.txt").write_text("C9900001\n\nflumpa\n")
    with pytest.raises(InputError, match=r"concepts.txt:3: 'flumpa' is not a concept identifier"):
        read(concepts=tmp_path / "concepts.txt")


def test_concepts_asked_for_are_counted_by_what_became_of_them() -> None:
    """Catches codes that vanish: here one is not there, one was merged into another of the list, one is Italian."""
    listed = ["C9900002", "C9900071", "C9900098", "C9900007", "C9900008"]
    tally = read(concepts=listed, languages="ENG").tallies["umls rows"]
    assert {reason: n for reason, n in tally.dropped.items() if reason.startswith("concepts")} == {
        "concepts asked for: listed again": 1,
        "concepts asked for: not in MRCONSO": 1,
        "concepts asked for: without a kept name": 1,
    }
    assert tally.adds_up()
    assert tally.n_read == lines_of_the_files() + 5


def test_the_sources_of_a_preset_that_are_not_there_are_left_out_and_mentioned(tmp_path: Path) -> None:
    """Catches an Italian release without one vocabulary that the preset cannot read at all."""
    italian = read(renamed(tmp_path, SRCI="MDRITA"), preset="italian")
    assert names(italian) == {"01": {"Flumpa mimpica"}, "02": {"Flumpa"}}
    tally = italian.tallies["umls rows"]
    assert tally.adds_up()
    absent = {reason: n for reason, n in tally.dropped.items() if "preset" in reason}
    assert absent == {
        "MRCONSO: sources ICPCITA of preset 'italian', which no row has": 0,
        "MRCONSO: sources MSHITA of preset 'italian', which no row has": 0,
    }
    assert Tally.from_dict(tally.to_dict()).dropped == tally.dropped


def test_a_preset_of_which_nothing_is_there_is_named(tmp_path: Path) -> None:
    message = "preset 'italian' reads sources ICPCITA, MDRITA, MSHITA, and no row of MRCONSO has any of them; found "
    with pytest.raises(InputError, match=message + "SRCA, SRCB, SRCC, SRCI"):
        read(preset="italian")
    meta = renamed(tmp_path, **{"|ENG|": "|GER|"})
    with pytest.raises(InputError, match="preset 'sapbert' reads languages ENG, and no row of MRCONSO"):
        read(meta, preset="sapbert")


def test_sources_that_a_person_names_have_to_be_there_with_a_preset_too(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown value of option sources .*'ICPCITA'"):
        read(renamed(tmp_path, SRCI="MDRITA"), preset="italian", sources="ICPCITA,MDRITA")


def test_the_docstring_spells_the_presets_out() -> None:
    """Catches a preset that changes while what ``--describe`` prints does not."""
    docstring = " ".join((reader("umls").records.__doc__ or "").split())
    for preset in PRESETS.values():
        for name, value in preset.items():
            if name == "semantic_types":
                assert f"T023, {', '.join(value[1:])} with the types below them" in docstring
            elif value:
                written = {True: "true"}.get(value, value) if not isinstance(value, tuple) else ",".join(value)
                assert f"{name}={written}" in docstring


def test_trade_names_are_records_and_not_rows() -> None:
    """Catches a tally that has read more rows than the files have."""
    plain, trade = Tally(), Tally()
    n_terms = []
    for tally, asked in ((plain, False), (trade, True)):
        found = [r for r in reader("umls").records(META, tally=tally, trade_names=asked) if isinstance(r, Rows)]
        n_terms.append(sum(isinstance(term, Term) for rows in found for term in rows.one_by_one()))
    assert n_terms[1] == n_terms[0] + 3
    assert plain.to_dict() == trade.to_dict()
    assert trade.n_read == lines_of_the_files()


def test_a_name_is_dropped_for_its_type_or_for_its_concept() -> None:
    """Catches names of other semantic types counted as if a list of concepts had been given."""
    of_group = read(semantic_groups="DISO").tallies["umls rows"]
    assert of_group.dropped["MRCONSO: of other semantic types"] == 8
    assert "MRCONSO: other concepts" not in of_group.dropped
    both = read(semantic_groups="DISO", concepts="C9900001").tallies["umls rows"]
    assert both.dropped["MRCONSO: of other semantic types"] == 8
    assert both.dropped["MRCONSO: other concepts"] == 7
    assert both.adds_up()


def test_what_is_stated_not_to_be_related_is_no_relation(tmp_path: Path) -> None:
    """Catches rows of XR, "not related, no mapping", among the relations."""
    folder = Path(shutil.copytree(META, tmp_path / "umls"))
    (folder / "MRFILES.RRF").unlink()  # it has the number of rows
    with (folder / "MRREL.RRF").open("a", encoding="utf-8") as file:
        file.write("C9900001||CUI|XR|C9900003||CUI||R9909999||SRCA|SRCA|||N||\n")
    found, before = read(folder, relations="all"), read(relations="all")
    assert links(found) == links(before)
    assert found.tallies["umls rows"].dropped["MRREL: stated not to be related (XR)"] == 1
