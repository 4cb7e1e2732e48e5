from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.linking_data import dictionary_forms, open_dictionary
from st_biomed.linking_data.dictionaries import TERMINOLOGY, is_terminology
from st_biomed.readers import reader_names
from st_biomed.records import Tally
from st_biomed.terminology import Terminology
from tests.contracts.linking_contract import FIXTURES
from tests.readers.mutations import mutated

FILES = {
    "names": FIXTURES / "medmentions" / "names.txt",
    "medic": FIXTURES / "ncbi_disease" / "medic.txt",
    "ctd": FIXTURES / "bc5cdr" / "CTD_diseases.tsv",
}
SEPARATORS = {"names": b"||", "medic": b"|", "ctd": b"\t"}


def entries(form: str, path: Path, prefix: str = "") -> list[tuple[str, set[str]]]:
    dictionary = open_dictionary(path, form=form, prefix=prefix)
    return [(name, set(ids)) for name, ids in map(dictionary.entry, range(len(dictionary)))]


def test_every_form_is_tested() -> None:
    assert set(dictionary_forms()) == {*FILES, TERMINOLOGY}


def test_names_with_alternative_ids_repeated_lines_and_lines_without_a_concept() -> None:
    tally = Tally()
    dictionary = open_dictionary(FILES["names"], form="names", tally=tally)
    assert dictionary.names == ["flumpa one", "flumpa", "flumpa three", "skark"]
    assert dictionary.entry(1) == ("flumpa", frozenset({"X0001", "X0002"}))
    assert tally.to_dict() == {"read": 6, "kept": 4, "dropped": {"names without an id": 1, "repeated entries": 1}}
    assert tally.adds_up()


def test_medic_gives_every_name_all_ids_of_its_concept() -> None:
    """Catches an alternative id that would make its mentions unlinkable."""
    found = entries("medic", FILES["medic"], "MESH")
    assert ("Familial Mimpic Flumpa", {"MESH:X0002", "MESH:X0012"}) in found
    assert ("Vorb Disease", {"OMIM:900001"}) in found
    assert [name for name, _ in found[:2]] == ["Mimpic Flumpa", "Flumpa, Mimpic"]


def test_equal_names_of_two_concepts_are_two_entries_until_they_are_merged() -> None:
    names = [name.lower() for name, _ in entries("medic", FILES["medic"])]
    assert names.count("mimpic flumpa") == 2


def test_ctd_diseases_and_chemicals_by_the_names_of_their_fields() -> None:
    """Catches columns taken by number: chemicals have no alternative ids; and a name that repeats as a synonym."""
    assert entries("ctd", FILES["ctd"]) == [
        ("Mimpic Flumpa", {"MESH:X0001", "OMIM:900009", "MESH:X0011"}),
        ("Flumpa, Mimpic", {"MESH:X0001", "OMIM:900009", "MESH:X0011"}),
        ("Vorb", {"MESH:X0003"}),
        ("Terkin", {"MESH:X0004"}),
        ('Terkins "B"', {"MESH:X0004"}),
    ]
    assert entries("ctd", FIXTURES / "bc5cdr" / "CTD_chemicals.csv") == [
        ("Gradthine, 2-", {"MESH:X1001"}),
        ("gradthines A", {"MESH:X1001"}),
        ("Gradthin", {"MESH:X1001"}),
        ("Gradthine B", {"MESH:X1002"}),
    ]


def test_a_saved_terminology_and_the_form_in_front_of_a_path(tmp_path: Path) -> None:
    terminology = Terminology.open("toy")
    terminology.save(tmp_path / "toy")
    for source in (tmp_path / "toy", "terminology:toy"):
        dictionary = open_dictionary(source)
        assert (dictionary.names, dictionary.ids) == (terminology.strings, terminology.codes)
    (tmp_path / "m.gz").write_bytes(gzip.compress(FILES["medic"].read_bytes()))
    assert open_dictionary(f"medic:{tmp_path / 'm.gz'}", form="names").names[1] == "Flumpa, Mimpic"


OBO = 'format-version: 1.2\n\n[Term]\nid: ZORB:1\nname: flumpa\nsynonym: "terkia" EXACT []\nsynonym: "gradtha" BROAD []\n'


def test_a_reader_and_its_file_are_a_dictionary(tmp_path: Path) -> None:
    """Catches `obo:doid.obo` that is opened as a file of this name, and options that are taken for a part of it."""
    (tmp_path / "zorb.obo").write_text(OBO)
    for form in ("", "names", "ctd"):
        found = open_dictionary(f"obo:{tmp_path / 'zorb.obo'}", form=form, prefix="MESH")
        assert (found.names, found.ids) == (["flumpa", "terkia"], ["ZORB:1"])
    assert "gradtha" in open_dictionary(f"obo:{tmp_path / 'zorb.obo'}?scopes=EXACT,BROAD", form="names").names
    assert open_dictionary("toy", form="names").names == Terminology.open("toy").strings
    with pytest.raises(InputError, match=r"none\.obo: no such file"):
        open_dictionary(f"obo:{tmp_path / 'none.obo'}", form="names")
    assert not is_terminology(FILES["names"]) and not is_terminology("obos:x.obo") and is_terminology(tmp_path)


def test_no_form_of_a_file_is_called_like_a_reader() -> None:
    """Would catch a reader `ctd`, of which nobody could say whether it or the form is meant."""
    assert not set(dictionary_forms()) & set(reader_names())


@pytest.mark.parametrize(
    ("form", "content", "message"),
    [
        ("names", "X1|flumpa\n", r"d.tsv:1: expected id\|\|name, found 'X1\|flumpa'"),
        ("names", "X1|| \n", r"d.tsv:1: expected id\|\|name"),
        ("names", "-1||flumpa\n", r"d.tsv: no name with an id was read \(1 read, 0 kept, 1 dropped; 1 names without"),
        ("names", "", r"d.tsv: no name with an id was read \(0 read"),
        ("medic", "X1|flumpa\n", r"d.tsv:1: expected id\|id\|\|name\|name"),
        ("medic", "X1||flumpa\nX2||zorb\nX1||skark\n", r"d.tsv:3: concept X1 is also listed in line 1"),
        ("ctd", "flumpa\tX1\n", r"d.tsv:1: no earlier comment names the fields \(DiseaseName or ChemicalName"),
        ("ctd", "# DiseaseName\tDiseaseID\nflumpa\n", r"d.tsv:2: 1 cells, expected 2"),
        ("ctd", "# DiseaseName\tDiseaseID\n\tX1\n", r"d.tsv:2: expected a name and an id, found '' and 'X1'"),
        ("ctd", "# DiseaseName\tDiseaseID\nf\tX1\ng\tX1\n", r"d.tsv:3: concept X1 is also listed in line 2"),
        ("medics", "", r"unknown dictionary form 'medics': allowed are .*did you mean 'medic'"),
        ("", "", r"give its form as form:path; forms are ctd, medic, names, terminology"),
    ],
)
def test_bad_files_and_forms_are_named(tmp_path: Path, form: str, content: str, message: str) -> None:
    (tmp_path / "d.tsv").write_text(content)
    with pytest.raises(InputError, match=message):
        open_dictionary(tmp_path / "d.tsv", form=form)


@pytest.mark.parametrize("form", sorted(FILES))
@given(data=st.data())
def test_a_damaged_file_is_one_line(form: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / f"damaged_{form}.tsv"
    path.write_bytes(data.draw(mutated(FILES[form].read_bytes(), SEPARATORS[form])))
    tally = Tally()
    try:
        dictionary = open_dictionary(path, form=form, prefix="MESH", tally=tally)
    except InputError as error:
        assert "\n" not in str(error), repr(str(error))
        return
    assert tally.adds_up()
    assert tally.n_kept == len(dictionary)
