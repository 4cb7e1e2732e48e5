"""Types of concepts: where they come from, the papers' groups, and which are left."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from st_biomed import Hierarchy, Terminology
from st_biomed.errors import InputError
from st_biomed.hierarchy.concept_types import ConceptTypes
from st_biomed.readers.umls.semantic_types import ITALIAN_TYPES, SEMANTIC_GROUPS
from st_biomed.readers.umls.type_groups import TYPE_GROUPS
from st_biomed.records import Parent, SourceInfo, Term, Type

META = Path(__file__).parents[1] / "fixtures" / "readers" / "umls"
SOURCE = SourceInfo("Z", "Zorb", redistributable=True)


def spelled_out(types: ConceptTypes) -> dict[str, list[str]]:
    """Code to names of types, those without any left out."""
    rows = {code: [types.names[kind] for kind in types.types.row(i)] for i, code in enumerate(types.codes)}
    return {code: names for code, names in rows.items() if names}


def terminology(types: dict[str, list[str]], parents: tuple[tuple[str, str], ...] = ()) -> Terminology:
    records = [Term(code, f"zorb {code[2:]}") for code in types]
    records += [Type(code, name) for code, names in types.items() for name in names]
    records += [Parent(*pair) for pair in parents]
    return Terminology.from_records(records, SOURCE)


# ---------------------------------------------------------------------- sources of types


def test_types_of_a_terminology_are_those_of_its_table():
    """Catches indices of a dictionary taken for those of the sorted names."""
    given = {"Z:3": ["T900"], "Z:1": ["T901", "T900"], "Z:2": [], "Z:4": ["T902"]}
    types = ConceptTypes.from_terminology(terminology(given))
    assert types.names == ("T900", "T901", "T902") and types.codes == ["Z:1", "Z:2", "Z:3", "Z:4"]
    assert spelled_out(types) == {"Z:1": ["T900", "T901"], "Z:3": ["T900"], "Z:4": ["T902"]}
    assert (types.counts.tolist(), types.typed.tolist(), len(types)) == ([2, 1, 1], [0, 2, 3], 4)
    assert repr(types) == "ConceptTypes(4 concepts, 3 of them with 3 types)"
    part = ConceptTypes.from_terminology(terminology(given).subset(codes=["Z:3", "Z:4"]))
    assert spelled_out(part) == {"Z:3": ["T900"], "Z:4": ["T902"]}


def test_a_terminology_without_types_is_one_line():
    """Catches a mean over no type, far from where the types are missing."""
    with pytest.raises(InputError, match="the terminology has none; branches"):
        ConceptTypes.from_terminology(terminology({"Z:1": []}))


def test_branches_are_types_of_all_below_them_and_not_of_their_roots():
    """Catches children alone, a root that is of its own type, and a concept of two branches in one of them only."""
    edges = (("Z:a", "Z:r"), ("Z:b", "Z:r"), ("Z:a1", "Z:a"), ("Z:a11", "Z:a1"), ("Z:b1", "Z:b"), ("Z:b1", "Z:a1"))
    tree = Hierarchy(terminology({code: [] for code in ("Z:r", "Z:a", "Z:b", "Z:a1", "Z:a11", "Z:b1", "Z:x")}, edges))
    roots = ConceptTypes.from_branches(tree)
    assert spelled_out(roots) == {code: ["Z:r"] for code in ("Z:a", "Z:a1", "Z:a11", "Z:b", "Z:b1")}
    halves = ConceptTypes.from_branches(tree, children_of="Z:r")
    assert spelled_out(halves) == {"Z:a1": ["Z:a"], "Z:a11": ["Z:a"], "Z:b1": ["Z:a", "Z:b"]}
    listed = ConceptTypes.from_branches(tree, ["Z:a1", "Z:a", "Z:a1"])
    assert listed.names == ("Z:a1", "Z:a")
    assert spelled_out(listed) == {"Z:a1": ["Z:a"], "Z:a11": ["Z:a1", "Z:a"], "Z:b1": ["Z:a1", "Z:a"]}
    for arguments, message in (
        ((["Z:a11"],), "no concept lies below any of 1 roots"),
        ((["Z:none"],), "no concept has code 'Z:none'"),
        (("Z:a",), "expected a list of codes, found 'Z:a'"),
    ):
        with pytest.raises(InputError, match=message):
            ConceptTypes.from_branches(tree, *arguments)
    with pytest.raises(InputError, match="expected one of them, found both"):
        ConceptTypes.from_branches(tree, ["Z:a"], children_of="Z:b")


def test_branches_of_the_toy_are_its_descendants():
    """The ancestor graph as oracle, on trees that share concepts."""
    tree = Hierarchy(Terminology.read("toy", trees=4, branching=3))
    types = ConceptTypes.from_branches(tree)
    for kind, code in enumerate(types.names):
        root = tree.terminology.concept(code)
        below = [concept for concept in range(len(types)) if root in tree.graph.ancestors(concept)]
        rows = np.repeat(np.arange(len(types)), types.types.counts)
        assert rows[types.types.indices == kind].tolist() == below


def test_a_table_gives_its_rows(tmp_path: Path):
    """Catches a cell that is not stripped, a repeated row counted twice, and the columns exchanged."""
    (tmp_path / "types.csv").write_text('type,code,note\ngland,Z:1,\n"gland, large",Z:1,x\ngland, Z:2,\ngland,Z:2,\n')
    types = ConceptTypes.from_file(tmp_path / "types.csv")
    assert spelled_out(types) == {"Z:1": ["gland", "gland, large"], "Z:2": ["gland"]}
    (tmp_path / "own.tsv").write_text("CUI\tSTY\nZ:1\tgland\n")
    assert spelled_out(ConceptTypes.from_file(tmp_path / "own.tsv", ("CUI", "STY"))) == {"Z:1": ["gland"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("code\ttype\nZ:1\tgland\nZ:2\t \n", r"types.tsv:3: a code and a type are needed, found 'Z:2' and ''"),
        ("code\ttype\n\tgland\n", r"types.tsv:2: a code"),
        ("code\ttype\n", "types.tsv: has no row"),
        ("code\tkind\nZ:1\tgland\n", r"types.tsv:1: no column 'type'"),
    ],
)
def test_a_bad_table_is_one_line(tmp_path: Path, text: str, message: str):
    """Catches an empty type, which would be one of its own."""
    (tmp_path / "types.tsv").write_text(text)
    with pytest.raises(InputError, match=message):
        ConceptTypes.from_file(tmp_path / "types.tsv")


def test_lists_may_be_empty_and_are_numbered():
    """Catches concepts without a type that are lost, which shifts every row behind them."""
    types = ConceptTypes.from_lists([[], ["b", "a", "b"], [], ["a"]])
    assert types.names == ("b", "a") and spelled_out(types) == {"1": ["b", "a"], "3": ["a"]}
    assert types.types.indptr.tolist() == [0, 0, 2, 2, 3]
    with pytest.raises(InputError, match=r"types\[1\]: expected a list of names, found 'gland'"):
        ConceptTypes.from_lists([["a"], "gland"])
    with pytest.raises(InputError, match="one for each of 1 lists, found 2"):
        ConceptTypes.from_lists([["a"]], ["Z:1", "Z:2"])
    with pytest.raises(InputError, match="codes: 'Z:1' is there twice, expected one list for each concept"):
        ConceptTypes.from_lists([["a"], ["b"]], ["Z:1", "Z:1"])
    with pytest.raises(InputError, match="types: none of 1 codes has one$"):
        ConceptTypes.from_lists([]).for_codes(["Z:1"])


# ---------------------------------------------------------------------- a part of the types


def test_concepts_are_found_by_code_in_any_order():
    """Catches types that stay in the old order, and a code without types that takes those of another."""
    types = ConceptTypes.from_lists([["a"], ["b", "c"], ["c"]], ["Z:1", "Z:2", "Z:3"])
    other = types.for_codes(["Z:9", "Z:3", "Z:2"])
    assert other.codes == ["Z:9", "Z:3", "Z:2"] and other.names == types.names
    assert spelled_out(other) == {"Z:3": ["c"], "Z:2": ["b", "c"]}
    assert spelled_out(other.select(last_type_only=True)) == {"Z:3": ["c"], "Z:2": ["c"]}
    with pytest.raises(InputError, match="none of 1 codes has one; codes with types look like 'Z:1'"):
        types.for_codes(["Y:1"])


def test_the_last_type_is_that_stated_last():
    """Catches the last by name: CODER's script overwrites a concept's type with each row of MRSTY."""
    types = ConceptTypes.from_lists([["b", "c", "a"], ["c"], [], ["a", "b", "a"]]).select(last_type_only=True)
    assert spelled_out(types) == {"0": ["a"], "1": ["c"], "3": ["a"]}
    of_umls = ConceptTypes.from_terminology(Terminology.read("umls", META))
    assert spelled_out(of_umls)["UMLS:C9900001"] == ["T033", "T047"]
    assert spelled_out(of_umls.select(last_type_only=True))["UMLS:C9900001"] == ["T047"]


@pytest.mark.parametrize("steps", [1, 2])
def test_a_concept_whose_last_type_goes_has_none(steps: int):
    """Catches the last of the types that are left, with which CODER's six types would hold other concepts than CODER's."""
    types = ConceptTypes.from_lists([["T047", "T048"], ["T048", "T047"]])
    if steps == 1:
        chosen = types.select(last_type_only=True, groups="coder")
    else:
        chosen = types.select(groups="coder").select(last_type_only=True)
    assert spelled_out(chosen) == {"1": ["Disease or Syndrome"]}


def test_groups_join_types_and_may_overlap():
    """Catches a concept with two types of a group that is counted twice, and a type that is in one of its groups only."""
    types = ConceptTypes.from_lists([["a", "b"], ["b"], ["c"], ["d"]])
    chosen = types.select(groups={"two": ["c", "nothing"], "one": ["a", "b", "c"]})
    assert chosen.names == ("two", "one")
    assert spelled_out(chosen) == {"0": ["one"], "1": ["one"], "2": ["two", "one"]}
    assert chosen.counts.tolist() == [1, 3]
    assert spelled_out(types.select(groups={"one": ["a"]}, only_types=["one"])) == {"0": ["one"]}


def test_only_some_types_and_those_of_enough_concepts_stay(caplog: pytest.LogCaptureFixture):
    """Catches a type that goes in silence, the number compared with >, and the order of the names lost."""
    types = ConceptTypes.from_lists([["a", "b"], ["b"], ["c", "b"], ["c"]])
    assert types.select(only_types=["c", "a"]).names == ("c", "a")
    with caplog.at_level(logging.WARNING, logger="st_biomed"):
        chosen = types.select(least_concepts=2)
    assert spelled_out(chosen) == {"0": ["b"], "1": ["b"], "2": ["b", "c"], "3": ["c"]}
    assert "types of fewer than 2 concepts are left out: a" in caplog.text
    assert len(chosen) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": "italy"}, "unknown groups of types 'italy': allowed are 'coder', 'italian'"),
        ({"only_types": ["glan"]}, "unknown type 'glan': .*did you mean 'gland'"),
        ({"only_types": "gland"}, "expected a list of types, found 'gland'"),
        ({"only_types": []}, "none is left with 1 concepts or more, of gland"),
        ({"least_concepts": 0}, "least_concepts must be at least 1, found 0"),
        ({"least_concepts": 3}, "none is left with 3 concepts or more, of gland, T047"),
        ({"groups": {"x": "T047"}}, "group 'x': expected a list of types, found 'T047'"),
        ({"groups": ["gland"]}, "groups must be a Mapping, found list"),
        ({"groups": {"x": ["y"]}}, "none is left with 1 concepts or more, of gland, T047"),
    ],
)
def test_a_choice_that_cannot_be_is_one_line(options: dict, message: str):
    """Catches a mistyped type or group that leaves fewer types without a word."""
    with pytest.raises(InputError, match=message):
        ConceptTypes.from_lists([["gland"], ["gland", "T047"]]).select(**options)


# ---------------------------------------------------------------------- the papers' groups


def test_the_italian_groups_are_the_thirteen_types_and_those_below_them_once():
    """Catches a type in two groups, one of the thirteen in another's group, and a TUI mistyped."""
    groups = TYPE_GROUPS["italian"]
    assert " ".join(groups) == "BP BS C MD F SS HCA DP LP TPP PF PhF IP"
    heads = [types[0] for types in groups.values()]
    assert heads == list(ITALIAN_TYPES)
    every = [name for types in groups.values() for name in types]
    assert len(every) == len(set(every)) == 2 * 44
    known = {tui for types in SEMANTIC_GROUPS.values() for tui in types}
    assert {name for name in every if name[0] == "T" and name[1:].isdigit()} <= known


def test_chemicals_are_the_semantic_group_without_the_clinical_drug():
    """McCray's group is the sub-tree A1.4.1 and Clinical Drug (A1.3.3)."""
    tuis = {name for name in TYPE_GROUPS["italian"]["C"] if name[1:].isdigit()}
    assert set(SEMANTIC_GROUPS["CHEM"]) - tuis == {"T200"} and tuis < set(SEMANTIC_GROUPS["CHEM"])


def test_every_italian_group_lies_within_semantic_groups():
    """Catches a TUI of a quite different type: McCray's groups hold the sub-trees, but for test results (T034)."""
    held = {tui: group for group, types in SEMANTIC_GROUPS.items() for tui in types}
    of_groups = [
        " ".join(sorted({held[name] for name in types if name[1:].isdigit()}))
        for types in TYPE_GROUPS["italian"].values()
    ]
    assert of_groups == ["ANAT", "ANAT", "CHEM", "DEVI", "DISO PHEN", "DISO", *["PROC"] * 4, "DISO", "PHYS", "DISO"]


def test_the_groups_follow_the_tree_numbers_of_mrsty():
    """Each type of a group stands at or below its first one, which is the nearest of the thirteen above it."""
    rows = [line.split("|") for line in (META / "MRSTY.RRF").read_text("utf-8").splitlines()]
    numbers = {tui: number for _, tui, number, *_ in rows}
    names = {tui: name for _, tui, _, name, *_ in rows}
    group_of = {tui: group for group, types in TYPE_GROUPS["italian"].items() for tui in types}
    for tui, number in numbers.items():
        above = [head for head, at in ITALIAN_TYPES.items() if number == at or number.startswith(f"{at}.")]
        nearest = max(above, key=lambda head: len(ITALIAN_TYPES[head]), default=None)
        assert group_of.get(tui) == group_of.get(nearest)
        assert group_of.get(tui) == group_of.get(names[tui])


def test_types_are_grouped_by_identifier_or_by_name():
    """Catches tables of names that no group knows."""
    types = ConceptTypes.from_lists(
        [["T191"], ["Neoplastic Process"], ["Body Part, Organ, or Organ Component"], ["T071"]]
    )
    assert spelled_out(types.select(groups="italian")) == {"0": ["PF"], "1": ["PF"], "2": ["BP"]}
    assert spelled_out(types.select(groups="coder")) == {"0": ["Neoplastic Process"], "1": ["Neoplastic Process"]}
    assert list(TYPE_GROUPS["coder"]) == [
        "Pharmacologic Substance",
        "Disease or Syndrome",
        "Neoplastic Process",
        "Clinical Drug",
        "Finding",
        "Injury or Poisoning",
    ]
