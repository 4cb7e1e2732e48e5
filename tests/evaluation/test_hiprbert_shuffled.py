"""The control of a hierarchy: what moves and what stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evaluation.hiprbert_shuffled import shuffled
from st_biomed.evaluators.benchmark import read_benchmark_settings
from st_biomed.evaluators.tree.settings import TreeSettings
from st_biomed.hierarchy import Hierarchy
from st_biomed.terminology import Terminology
from st_biomed.training_data import split_by_subtree

ROOT = Path(__file__).parents[2]


def edges(terminology: Terminology) -> set[tuple[str, str]]:
    child, parent = (terminology.parents[column].to_pylist() for column in ("child", "parent"))
    return {(terminology.codes[a], terminology.codes[b]) for a, b in zip(child, parent)}


def test_concepts_of_training_change_places_and_held_out_trees_stay():
    """Would catch a control that shuffles what is measured, or that leaves the hierarchy of training as it was."""
    terminology = Terminology.read("toy")
    side = split_by_subtree(terminology, depth=1, dev=0.25, test=0.25).concept_split
    held_out = {terminology.codes[c] for c in np.flatnonzero(side)}
    control = shuffled(terminology, side == 0, 1)
    true, other = edges(terminology), edges(control)
    assert {edge for edge in true if held_out.issuperset(edge)} == {
        edge for edge in other if held_out.issuperset(edge)
    }
    movable = {edge for edge in true if held_out.isdisjoint(edge)}
    assert len(other) == len(true) and len(movable & other) < len(movable) / 2
    assert control.strings == terminology.strings
    for code in terminology.codes:
        assert control.concept_names(code) == terminology.concept_names(code)
    children = [sorted(Hierarchy(each).children.counts.tolist()) for each in (terminology, control)]
    assert children[0] == children[1], "the tree has the same shape"
    assert shuffled(terminology, side == 0, 1).digest == control.digest != shuffled(terminology, side == 0, 2).digest


def test_the_codes_of_the_published_test():
    """Would catch a code that is lost or doubled: the published list has 100, of which five are not in version 1.2."""
    settings = read_benchmark_settings(ROOT / "evaluation/hiprbert_codes.yaml", TreeSettings)
    assert len(set(settings.test_roots)) == len(settings.test_roots) == 95
    assert all(code.removeprefix("PHECODE:").isdecimal() for code in settings.test_roots)


def test_the_two_files_of_these_codes_differ_in_the_pairs_alone():
    """Would catch other codes, or another split of dev, beside the same base."""
    codes, published = (
        read_benchmark_settings(ROOT / "evaluation" / name, TreeSettings)
        for name in ("hiprbert_codes.yaml", "hiprbert_published.yaml")
    )
    assert (published.distance, published.pairs_per_concept, codes.pairs_per_concept) == ("decimals", 5, 0)
    for name in ("test_roots", "subtrees", "dev", "seed"):
        assert getattr(codes, name) == getattr(published, name)


@pytest.mark.realdata
def test_version_1_2_has_95_of_the_published_codes(realdata: Path):
    """Would catch a code that is left out although the map has it, and one that it has not."""
    settings = read_benchmark_settings(ROOT / "evaluation/hiprbert_codes.yaml", TreeSettings)
    codes = set(Terminology.read("phecode", realdata / "hierarchies" / "phecode1.2_pheinfo.csv.gz").codes)
    assert codes.issuperset(settings.test_roots)
    assert codes.isdisjoint(f"PHECODE:{number}" for number in (563, 617, 638, 661, 665))


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "pairs", "shares"),
    [
        ("hiprbert_codes", [1180, 1180, 1180, 1180], [58, 87, 60, 21]),
        ("hiprbert_published", [1279, 342, 1383, 1585], [11, 38, 14, 13]),
    ],
)
def test_the_largest_sub_trees_have_these_shares(
    name: str, pairs: list[int], shares: list[int], realdata: Path, monkeypatch: pytest.MonkeyPatch
):
    """Figures of results/hiprbert_open.md: the percentage of the ends of pairs, by distance, in the three sub-trees with most."""
    monkeypatch.setenv("ST_BIOMED_DATA", str(realdata))
    [evaluator] = read_benchmark_settings(ROOT / f"evaluation/{name}.yaml", TreeSettings).evaluators()
    assert list(evaluator.counts.values()) == pairs and evaluator.subtrees is not None
    found = []
    for distance in evaluator.counts:
        ends = np.unique(evaluator.subtrees[evaluator.distances == distance], return_counts=True)[1]
        found.append(round(100 * np.sort(ends)[-3:].sum() / ends.sum()))
    assert found == shares
