"""MCSM as a benchmark: types from where the settings say."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators.mcsm.evaluator import MCSMEvaluator
from st_biomed.evaluators.mcsm.settings import MCSMSettings
from st_biomed.hierarchy import Hierarchy
from st_biomed.terminology import Terminology

TOY = Terminology.read("toy")
ROOTS = [TOY.codes[root] for root in Hierarchy(TOY).graph.roots]


def made(**settings: object) -> MCSMEvaluator:
    (evaluator,) = MCSMSettings("zorb", ["toy"], **settings).evaluators(n_bootstrap=0)
    assert evaluator.name == "zorb"
    return evaluator


def test_branches_are_types_and_the_root_is_of_none():
    evaluator = made(branches=ROOTS[:2], k=3)
    assert evaluator.types.names == tuple(ROOTS[:2]) and evaluator.k == 3
    below = TOY.subset(below=ROOTS[:2]).n_concepts - 2
    assert len(evaluator.rows) == below
    assert len(made(branches=ROOTS[:2], keep_untyped=True).rows) == TOY.n_concepts
    names = {TOY.strings[text] for text in TOY.preferred_texts}
    shown = list(evaluator.headline)[-2:]
    assert shown == [label for code in ROOTS[:2] for label in shown if label.endswith(f" ({code})")]
    assert {label.rpartition(" (")[0] for label in shown} <= names
    children = made(children_of=ROOTS[0])
    assert 0 < len(children.rows) < below


def test_a_table_says_types_and_a_part_is_measured(tmp_path: Path):
    codes = TOY.subset(below=[ROOTS[0]]).codes
    rows = "".join(f"{code},{'even' if i % 2 else 'odd'}\n" for i, code in enumerate(TOY.codes))
    (tmp_path / "types.csv").write_text(f"code,type\n{rows}")
    evaluator = made(types=str(tmp_path / "types.csv"), below=[ROOTS[0]])
    assert len(evaluator.rows) == len(codes) and set(evaluator.types.names) == {"even", "odd"}
    assert made(types=str(tmp_path / "types.csv"), keys="codes").texts == TOY.codes


def test_a_part_has_the_types_of_the_whole_hierarchy():
    """Catches branches of the part that is measured, which may lack their roots."""
    hierarchy = Hierarchy(TOY)
    child = TOY.codes[hierarchy.children.row(hierarchy.graph.roots[0])[0]]
    evaluator = made(branches=ROOTS[:1], below=[child])
    assert evaluator.types.names == (ROOTS[0],) and len(evaluator.rows) == TOY.subset(below=[child]).n_concepts


def test_rare_types_and_others_than_those_named_are_left_out(tmp_path: Path):
    """Catches settings that nobody reads."""
    kinds = ["rare"] * 2 + ["even", "odd"] * 20
    rows = "".join(f"{code},{kind}\n" for code, kind in zip(TOY.codes, kinds))
    (tmp_path / "types.csv").write_text(f"code,type\n{rows}")
    types = str(tmp_path / "types.csv")
    assert set(made(types=types, least_concepts=3).types.names) == {"even", "odd"}
    assert made(types=types, only_types=["odd"]).types.names == ("odd",)
    assert set(made(types=types, least_concepts=2).types.names) == {"even", "odd", "rare"}


def test_types_from_two_places_are_refused():
    with pytest.raises(InputError, match="zorb: types, branches and children_of: only one of them"):
        made(branches=ROOTS, children_of=ROOTS[0])


def test_as_published_the_last_type_counts_alone():
    (evaluator,) = MCSMSettings("zorb", ["toy"], branches=ROOTS[:2]).evaluators(as_published=True)
    assert evaluator.last_type_only


OBO = """format-version: 1.2
ontology: {ontology}

[Term]
id: {prefix}:1
name: flumpa

[Term]
id: {prefix}:2
name: gradtha

[Term]
id: {prefix}:3
name: terkia
is_a: {prefix}:2

[Term]
id: {prefix}:4
name: zorb
is_a: {prefix}:2
"""


@pytest.mark.parametrize(("source", "label"), [("doid", "gradtha (DOID:2)"), ("zorb", "ZORB:2")])
def test_branches_have_names_where_these_may_be_told(tmp_path: Path, source: str, label: str):
    """Would catch names of a terminology that may not be redistributed in a table that is published."""
    prefix = source.upper()
    (tmp_path / "t.obo").write_text(OBO.format(ontology=source, prefix=prefix))
    (evaluator,) = MCSMSettings("m", [f"obo:{tmp_path / 't.obo'}"], branches=[f"{prefix}:2"]).evaluators()
    assert list(evaluator.headline) == ["mean of types", "all concepts", label]
