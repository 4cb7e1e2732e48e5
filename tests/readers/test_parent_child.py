"""HiPrBERT's input: a parent-child map and a code-string map, or the strings alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract


class TestMapAndStrings(ReaderContract):
    reader = "parent_child"
    path = FIXTURES / "gland_map.csv"
    options = {"strings": FIXTURES / "gland_strings.csv", "name": "GLANDS"}
    damaged_options = {"missing": "drop"}


class TestMapWithNamelessCodes(ReaderContract):
    reader = "parent_child"
    path = FIXTURES / "gland_groups.csv"
    options = {"strings": FIXTURES / "gland_strings.csv", "name": "GLANDS", "missing": "group"}


class TestCodeDoublePipeName(ReaderContract):
    reader = "parent_child"
    path = FIXTURES / "glands.txt"
    separator = b"||"


class TestStringsAlone(ReaderContract):
    reader = "parent_child"
    path = FIXTURES / "gland_strings.csv"


class TestOneTableOfBoth(ReaderContract):
    reader = "parent_child"
    path = FIXTURES / "gland_tree.csv"
    damaged_options = {"missing": "drop"}


class TestLanguagesAndRelations(ReaderContract):
    reader = "parent_child"
    path = FIXTURES / "gland_languages.csv"
    options = {"relations": FIXTURES / "gland_relations.csv", "name": "GLANDS"}
    damaged_options = {"missing": "drop"}


class TestDefinitions(ReaderContract):
    reader = "parent_child"
    path = FIXTURES / "gland_definitions.csv"
    damaged_options = {"missing": "drop"}


def table(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, "utf-8")
    return folder / name


def test_the_two_tables_become_a_hierarchy() -> None:
    """Catches a swapped direction, "NA" read as nothing, "008.50" read as a number, and the loss of a second parent."""
    terminology = Terminology.read(
        "parent_child", FIXTURES / "gland_map.csv", strings=FIXTURES / "gland_strings.csv", name="GLANDS"
    )
    parents = [
        (terminology.codes[r["child"]], terminology.codes[r["parent"]]) for r in terminology.parents.to_pylist()
    ]
    assert parents == [
        ("GLANDS:F1", "GLANDS:F"),
        ("GLANDS:F2", "GLANDS:F"),
        ("GLANDS:F21", "GLANDS:F2"),
        ("GLANDS:F21", "GLANDS:G"),
    ]
    assert terminology.concept_names("GLANDS:F21") == ["NA"]
    assert terminology.concept_names("GLANDS:F2") == ["008.50"]
    assert terminology.strings[terminology.preferred_texts[terminology.concept("GLANDS:F")]] == "flumpa disease"
    assert terminology.tallies["parent_child rows"].dropped == {
        "map rows of a root": 1,
        "repeated map rows": 1,
        "repeated strings of a code": 1,
    }


def test_codes_without_a_string_group_those_below_them() -> None:
    """Catches edges that go with their nameless end, and a node with no string below it."""
    strings = FIXTURES / "gland_strings.csv"
    terminology = Terminology.read(
        "parent_child", FIXTURES / "gland_groups.csv", strings=strings, name="GLANDS", missing="group"
    )
    codes = terminology.codes
    assert [code for code, named in zip(codes, terminology.has_name) if not named] == ["GLANDS:Q", "GLANDS:R"]
    parents = [(codes[r["child"]], codes[r["parent"]]) for r in terminology.parents.to_pylist()]
    assert ("GLANDS:F", "GLANDS:Q") in parents
    assert ("GLANDS:Q", "GLANDS:R") in parents
    assert len(parents) == 6
    tally = terminology.tallies["parent_child rows"]
    assert tally.dropped == {
        "map rows of a code without a string": 1,
        "map rows of a root": 1,
        "repeated strings of a code": 1,
    }
    dropped = Terminology.read(
        "parent_child", FIXTURES / "gland_groups.csv", strings=strings, name="GLANDS", missing="drop"
    )
    assert (dropped.n_nameless, dropped.parents.num_rows) == (0, 3)


def test_a_column_of_definitions_is_read() -> None:
    """Catches a definition lost with the repeated string beside it, one that is two for a line break, and empty ones."""
    terminology = Terminology.read("parent_child", FIXTURES / "gland_definitions.csv", name="G")
    codes = terminology.codes
    assert [(codes[r["concept"]], r["language"], r["text"]) for r in terminology.definitions.to_pylist()] == [
        ("G:F", "en", "A disease of the flumpa, whatever its cause."),
        ("G:F", "it", "Una malattia della flumpa."),
        ("G:F1", "en", 'A disease of the flumpa that is "mimpic".'),
    ]
    assert terminology.tallies["parent_child rows"].dropped == {
        "map rows of a root": 4,
        "repeated definitions of a code": 1,
        "repeated map rows": 1,
        "repeated strings of a code": 1,
    }


def test_the_column_of_definitions_may_have_any_name(tmp_path: Path) -> None:
    """Catches a column that is named and passed over."""
    path = table(tmp_path, "t.csv", "code,name,what it is\nF,flumpa,A gland.\n")
    assert Terminology.read("parent_child", path).n_definitions == 0
    assert Terminology.read("parent_child", path, definition="what it is").definition_strings == ["A gland."]
    with pytest.raises(InputError, match="t.csv.* 'meaning'"):
        Terminology.read("parent_child", path, definition="meaning")
    bare = table(tmp_path, "bare.csv", "F,flumpa\n")
    with pytest.raises(InputError, match=r"has no header, so no column can have the name 'meaning' \(definition\)"):
        Terminology.read("parent_child", bare, header=False, definition="meaning")


def test_strings_alone_are_synonyms_without_a_hierarchy() -> None:
    by_path = Terminology.read("parent_child", FIXTURES / "gland_strings.csv", name="G")
    by_option = Terminology.read("parent_child", strings=FIXTURES / "gland_strings.csv", name="G")
    assert by_path.digest == by_option.digest
    assert by_path.parents.num_rows == 0
    assert by_path.n_concepts == 5


def test_code_double_pipe_name_keeps_pipes_and_quotes() -> None:
    """Catches a split at one pipe, and quotes taken for quoting."""
    terminology = Terminology.read("parent_child", FIXTURES / "glands.txt")
    assert terminology.concept_names("glands:F") == ["disease | of the flumpa", "flumpa disease"]
    assert terminology.concept_names("glands:F1") == ['"mimpic" flumpa disease']


def test_columns_by_option_and_without_a_header(tmp_path: Path) -> None:
    path = table(tmp_path, "loinc.csv", "PATH,IMMEDIATE_PARENT,CODE,CODE_TEXT\n,,L1,part\n,L1,L2,piece\n")
    named = Terminology.read("parent_child", path, strings=path, name="L")
    assert (named.n_concepts, named.parents.num_rows) == (2, 1)
    odd = table(tmp_path, "odd.csv", "up,down\nA,B\n")
    bare = table(tmp_path, "bare.tsv", "A\talpha\nB\tbeta\n")
    with pytest.raises(InputError, match=r"odd.csv:1: no column 'parent' or .*columns are \['up', 'down'\]"):
        Terminology.read("parent_child", odd, strings=FIXTURES / "glands.txt")
    positional = table(tmp_path, "positional.csv", "A,B\n")
    terminology = Terminology.read("parent_child", positional, strings=bare, header=False, name="P")
    assert terminology.parents.num_rows == 1
    terminology = Terminology.read(
        "parent_child", odd, strings=table(tmp_path, "n.txt", "A||a\nB||b\n"), parent="up", child="down"
    )
    assert terminology.codes == ["odd:A", "odd:B"]


def test_one_table_with_a_column_of_parents_is_a_hierarchy(tmp_path: Path) -> None:
    """Catches parents that are passed over without a word, and a second row of a code that loses one of its two."""
    terminology = Terminology.read("parent_child", FIXTURES / "gland_tree.csv", name="G")
    edges = {(terminology.codes[r["child"]], terminology.codes[r["parent"]]) for r in terminology.parents.to_pylist()}
    assert edges == {("G:F1", "G:F"), ("G:F2", "G:F"), ("G:F21", "G:F2"), ("G:F21", "G:K")}
    assert set(terminology.concept_names("G:F2")) == {"mimpic flumpa", "flumpa mimpica"}
    tally = terminology.tallies["parent_child rows"]
    assert tally.adds_up()
    assert tally.n_read == 2 * 8
    assert tally.dropped == {"map rows of a root": 3, "repeated map rows": 1, "repeated strings of a code": 1}
    by_option = Terminology.read("parent_child", strings=FIXTURES / "gland_tree.csv", name="G")
    assert by_option.digest == terminology.digest


def test_a_column_of_languages_and_a_table_of_relations_are_read() -> None:
    """Catches names in Italian that pass for English ones, and a triple turned round."""
    relations = FIXTURES / "gland_relations.csv"
    terminology = Terminology.read("parent_child", FIXTURES / "gland_languages.csv", relations=relations, name="G")
    assert terminology.languages == ["en", "it"]
    assert sorted(terminology.concept_names("G:F1")) == ["malattia mimpica della flumpa", "mimpic flumpa disease"]
    assert terminology.subset(languages=["it"]).strings == ["malattia della flumpa", "malattia mimpica della flumpa"]
    named = terminology.relations.to_pylist()
    triples = {(terminology.codes[r["head"]], r["relation"], terminology.codes[r["tail"]]) for r in named}
    assert triples == {("G:F1", "part_of", "G:F"), ("G:G", "causes", "G:F1")}
    tally = terminology.tallies["parent_child rows"]
    assert tally.dropped == {"map rows of a root": 3, "repeated map rows": 1, "repeated relations": 1}
    others = Terminology.read("parent_child", FIXTURES / "gland_languages.csv", name="G", language="de")
    assert others.languages == ["de", "en", "it"]  # the row that says none
    assert others.sources["G"].version != terminology.sources["G"].version


def test_one_table_may_call_its_columns_anything_and_have_others(tmp_path: Path) -> None:
    """Catches the child's code looked for in another column than the code of the string."""
    odd = table(tmp_path, "odd.csv", "id,key,what,up\n1,A,alpha,\n2,B,beta,A\n")
    terminology = Terminology.read("parent_child", odd, code="key", string="what", parent="up")
    assert terminology.codes == ["odd:A", "odd:B"]
    assert terminology.parents.num_rows == 1
    assert Terminology.read("parent_child", odd, code="key", string="what").parents.num_rows == 0
    roots = table(tmp_path, "roots.csv", "code,name,Parent ID\nA,alpha,\n")
    terminology = Terminology.read("parent_child", roots)
    assert terminology.parents.num_rows == 0
    assert terminology.tallies["parent_child rows"].dropped == {"map rows of a root": 1}


def test_the_source_is_what_the_person_says() -> None:
    """Catches strings that pass for redistributable by default, and a second source that no row comes from."""
    terminology = Terminology.read(
        "parent_child", FIXTURES / "glands.txt", name="KB", version="3", license="mine", language="it"
    )
    assert list(terminology.sources) == ["KB"]
    source = terminology.sources["KB"]
    assert (source.version, source.license, source.redistributable) == ("3", "mine", False)
    assert terminology.terms["language"].unique().to_pylist() == ["it"]


@pytest.mark.parametrize("with_map", [False, True])
def test_different_tables_of_one_name_are_two_versions(tmp_path: Path, with_map: bool) -> None:
    """Catches a heart and a knee that merge into one concept because both files are called "terms.csv"."""
    read = {}
    for folder, rows in (("a", "1,heart\n2,x\n"), ("b", "1,knee\n2,x\n"), ("c", "1,heart\n2,x\n")):
        (tmp_path / folder).mkdir()
        strings = table(tmp_path / folder, "terms.csv", "code,string\n" + rows)
        path = table(tmp_path / folder, "map.csv", "parent,child\n1,2\n") if with_map else None
        read[folder] = Terminology.read("parent_child", path, strings=strings)
    with pytest.raises(InputError, match=r"source (map|terms) comes as version '[0-9a-f]{12}' and as '[0-9a-f]{12}'"):
        Terminology.merge(read["a"], read["b"])
    assert Terminology.merge(read["a"], read["c"]).digest == read["a"].digest
    with pytest.raises(
        InputError, match="comes as license 'not stated' and as 'CC0-1.0'; parts of one source have to say"
    ):
        same = {"strings": strings, "version": read["a"].sources[path.stem if path else "terms"].version}
        other = Terminology.read("parent_child", path, license="CC0-1.0", **same)
        Terminology.merge(read["a"], other)


def test_codes_without_a_string_can_be_dropped_and_are_counted(tmp_path: Path) -> None:
    path = table(tmp_path, "map.csv", "parent,child\nA,B\nA,C\n")
    strings = table(tmp_path, "strings.csv", "code,string\nA,a\nC,c\n")
    terminology = Terminology.read("parent_child", path, strings=strings, missing="drop")
    assert terminology.parents.num_rows == 1
    assert terminology.tallies["parent_child rows"].dropped == {"map rows of a code without a string": 1}


def test_codes_that_are_curies_already_keep_their_prefix(tmp_path: Path) -> None:
    """Catches HP:HP:1, of which no other terminology has a concept."""
    (tmp_path / "t.csv").write_text("curie,name,parent\nHP:1,flumpa,\nHP:2,drod,HP:1\n")
    table = Terminology.read("parent_child", tmp_path / "t.csv", name="HP")
    assert table.codes == ["HP:1", "HP:2"] and table.parents.num_rows == 1


def test_a_code_with_its_prefix_and_without_is_one_code(tmp_path: Path) -> None:
    """Catches two preferred names, and a parent that is lost later because it is its own child."""
    (tmp_path / "ZORB.csv").write_text(
        "code,string,parent\n1,zorb,\nZORB:1,zorb disease,\n2,glimt,ZORB:1\nZORB:2,glimt,1\n"
    )
    terminology = Terminology.read("parent_child", tmp_path / "ZORB.csv")
    assert list(terminology.codes) == ["ZORB:1", "ZORB:2"]
    assert terminology.terms["kind"].to_pylist().count("preferred") == 2
    (tmp_path / "ZORB.csv").write_text("code,string,parent\n1,zorb,\nZORB:1,zorb disease,1\n")
    with pytest.raises(InputError, match=r"ZORB.csv:3: code 'ZORB:1' is its own parent"):
        Terminology.read("parent_child", tmp_path / "ZORB.csv")
