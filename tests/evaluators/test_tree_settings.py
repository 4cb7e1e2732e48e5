"""The frozen protocol: its pairs are still those that committed figures were measured on."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import read_benchmark_settings
from st_biomed.evaluators.tree.settings import TreeSettings
from st_biomed.hierarchy import Hierarchy
from st_biomed.metrics.random_draws import MANY_CLUSTERS
from st_biomed.records import Parent, SourceInfo, Term
from st_biomed.terminology import Terminology

PROTOCOL = Path(__file__).parents[2] / "evaluation" / "benchmarks" / "icd10cm_tree.yaml"


@pytest.fixture(scope="module")
def toy() -> Hierarchy:
    return Hierarchy(Terminology.read("toy"))


@pytest.mark.long
@pytest.mark.skipif(find_spec("simple_icd_10_cm") is None, reason="the package with the tabular list is not installed")
def test_the_frozen_pairs_are_those_of_the_real_icd10cm():
    """Fails when reading, splitting or drawing changes: then every committed figure has to be measured again."""
    trees = read_benchmark_settings(PROTOCOL, TreeSettings).hold_out(
        Hierarchy(Terminology.read("icd10cm", coder_notes=True))
    )
    assert trees.test.counts == {0: 800, 1: 800, 2: 800, 3: 800}
    held_out = {text.lower() for text in trees.dev.texts + trees.test.texts}
    assert not held_out & {text.lower() for text in trees.splits.train.strings}


def test_pairs_of_dev_and_test_are_disjoint_from_training_and_from_each_other(toy: Hierarchy):
    trees = TreeSettings(depth=1, dev=0.25, test=0.25, pairs_per_class=10).hold_out(toy)
    assert not set(trees.dev.texts) & set(trees.test.texts)
    assert not (set(trees.dev.texts) | set(trees.test.texts)) & set(trees.splits.train.strings)
    assert (trees.dev.name, trees.test.name) == ("tree_dev", "tree_test")
    assert (trees.dev.n_bootstrap, trees.test.n_bootstrap) == (0, 1000)  # dev is measured during training


def test_only_held_out_concepts_are_anchors():
    """``x`` and ``y`` are held out as names of S:B.1 and S:B.1.1, a parent and its child; two other concepts, which are
    siblings, have the same names. Catches the siblings' pair at distance 1."""
    names = {"A.1": "a1", "A.2": "a2", "A.1.1": "a3", "A.1.2": "a4"}
    names |= {"B.1": "x", "B.2": "b2", "B.1.1": "y", "B.1.2": "b4"}
    names |= {"C.1": "x", "C.2": "y", "C.3": "c3", "C.4": "c4", "": "root", "A": "a0", "B": "b0", "C": "c0"}
    records = [Term(f"S:{code}", name) for code, name in names.items()]
    records += [Parent(f"S:{code}", f"S:{code.rpartition('.')[0]}") for code in names if "." in code]
    records += [Parent(f"S:{code}", "S:") for code in "ABC"]
    hierarchy = Hierarchy(Terminology.from_records(records, SourceInfo("S", "S")))
    settings = TreeSettings(depth=1, dev=1, test_roots=["S:B"], distances=[1, 2], pairs_per_concept=9)
    test = settings.hold_out(hierarchy).test
    found = [frozenset(pair) for pair, distance in zip(test.pairs, test.distances) if distance == 1]
    assert sorted(map(sorted, found)) == [["b2", "x"], ["b4", "y"]]


def test_pairs_know_their_sub_trees(toy: Hierarchy):
    """Would catch pairs of which every one is drawn alone, and numbers of other texts."""
    trees = TreeSettings(depth=1, dev=0.25, test=0.25, pairs_per_class=10).hold_out(toy)
    text_id = {text: i for i, text in enumerate(toy.terminology.strings)}
    for evaluator in (trees.dev, trees.test):
        assert evaluator.subtrees is not None and evaluator.subtrees.min() >= 0
        expected = [[trees.splits.text_subtree[text_id[text]] for text in pair] for pair in evaluator.pairs]
        np.testing.assert_array_equal(evaluator.subtrees, expected)
        is_near = evaluator.distances < 3
        assert (evaluator.subtrees[is_near, 0] == evaluator.subtrees[is_near, 1]).any()
        assert (evaluator.subtrees[~is_near, 0] != evaluator.subtrees[~is_near, 1]).any()
        drawn = "sub-trees" if len(np.unique(evaluator.subtrees)) >= MANY_CLUSTERS else "pairs"
        assert evaluator.get_config_dict()["resampling"] == drawn


def test_another_terminology_or_other_pairs_are_refused(toy: Hierarchy):
    protocol = TreeSettings(depth=1, dev=0.25, test=0.25, pairs_per_class=10)
    with pytest.raises(InputError, match="frozen on terminology 0000"):
        replace(protocol, terminology="0" * 64).hold_out(toy)
    with pytest.raises(InputError, match="tree_test: pairs have sha256"):
        replace(protocol, test_pairs="0" * 64).hold_out(toy)


def test_as_a_benchmark_the_test_trees_are_measured():
    protocol = TreeSettings("zorb", sources=["toy"], depth=1, dev=0.25, test=0.25, pairs_per_class=10)
    (evaluator,) = protocol.evaluators(n_bootstrap=7)
    assert evaluator.pairs == protocol.hold_out(Hierarchy(Terminology.read("toy"))).test.pairs
    assert (evaluator.name, evaluator.n_bootstrap) == ("zorb_test", 7)
    (steps,) = replace(protocol, distance="hops", distances=[1, 2]).evaluators()
    assert steps.pairs != evaluator.pairs and set(steps.counts) == {1, 2}
    with pytest.raises(InputError, match="zorb: expected either a terminology"):
        replace(protocol, sources=[]).evaluators()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pairs": "x.txt", "distances": [1], "test_pairs": "0"}, "are not drawn; remove distances, test_pairs$"),
        ({"pairs": "x.txt", "whole": True}, "pairs of a file are not drawn; remove whole$"),
        ({"pairs": "x.txt", "terminology": "0", "pairs_per_class": 3}, "remove pairs_per_class, terminology$"),
        (
            {"sources": ["toy"], "whole": True, "terminology": "0", "test_pairs": "0"},
            "remove terminology, test_pairs$",
        ),
    ],
)
def test_settings_that_nothing_reads_are_refused(settings: dict, message: str):
    """Catches a benchmark that looks frozen and is not."""
    with pytest.raises(InputError, match=f"zorb: .*{message}"):
        TreeSettings("zorb", **settings).evaluators()


def test_a_file_of_pairs_or_the_whole_terminology_is_measured(tmp_path: Path):
    (tmp_path / "pairs.txt").write_text("0||flumpa||terkia\n1||flumpa||gradtha\n")
    (of_file,) = TreeSettings("zorb", pairs=str(tmp_path / "pairs.txt")).evaluators()
    whole = TreeSettings("zorb", sources=["toy"], whole=True, pairs_per_class=5, distances=[1, 2])
    (of_whole,), (other,) = whole.evaluators(), replace(whole, seed=1).evaluators()
    assert (set(of_file.counts), set(of_whole.counts)) == ({0, 1}, {1, 2})
    assert other.pairs != of_whole.pairs
