"""A distance for each source."""

from __future__ import annotations

import logging
import pickle
from collections import Counter
from itertools import islice, pairwise

import numpy as np
import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.records import Parent, SourceInfo, Term
from st_biomed.samplers import HierarchyBatches
from st_biomed.terminology import Terminology
from st_biomed.training_data import names_dataset

PARENTS = {
    "P": {"008.51": "008.5", "008.52": "008.5", "008.5": "008", "008.6": "008", "010.1": "010"},
    "Q": {"b": "a", "c": "a", "d": "b", "e": "b", "f": "d"},
}


@pytest.fixture(scope="module")
def both() -> Terminology:
    """Phecodes and another hierarchy, and a phecode that is a leaf of that one."""
    records: list[object] = [SourceInfo(source, source) for source in PARENTS]
    for source, parents in PARENTS.items():
        records += [Term(f"{source}:{c}", f"{source} {c}", source=source) for c in {*parents, *parents.values()}]
        records += [Parent(f"{source}:{child}", f"{source}:{parent}", source) for child, parent in parents.items()]
    records.append(Parent("P:008.6", "Q:c", "Q"))
    return Terminology.from_records(records, SourceInfo("P", "P"))  # type: ignore[arg-type]


def level(hierarchy: Hierarchy, a: str, b: str) -> int:
    label = [torch.tensor([hierarchy.terminology.strings.index(name)]) for name in (a, b)]
    assert hierarchy.distance(*label) == hierarchy.distance(*reversed(label))
    index = [np.array([hierarchy.terminology.codes.index(name.replace(" ", ":"))]) for name in (a, b)]
    found = int(hierarchy.concept_distance(*index)[0])
    assert int(hierarchy.distance(*label)) == found
    return found


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("P 008.51", "P 008.52", 1),  # by depth: siblings below one decimal are at 1, and so is their parent
        ("P 008.5", "P 008.51", 1),
        ("P 008.5", "P 008.6", 2),  # siblings below one integer at 2, as their parent
        ("P 008.51", "P 008", 2),
        ("P 008.51", "P 010.1", 3),
        ("Q b", "Q c", 1),  # the paper's: siblings 1, parent and child 2
        ("Q d", "Q e", 1),
        ("Q a", "Q b", 2),
        ("Q d", "Q f", 2),
        ("Q f", "Q a", 3),
        ("Q c", "P 008.6", 2),  # an edge of Q
        ("P 008.51", "Q b", -1),
    ],
)
def test_each_source_has_its_own_levels(both: Terminology, a: str, b: str, expected: int):
    """Golden. Catches a definition of one source that is applied to the parents of another."""
    assert level(Hierarchy(both, source_distances={"P": "lca_depth"}), a, b) == expected


@pytest.mark.long
def test_a_source_by_itself_has_the_same_distances(both: Terminology):
    """Catches a depth of one source that counts the levels of another."""
    mixed = Hierarchy(both, "hops", source_distances={"P": "lca_depth"}, max_distance=4)
    for source, definition in (("P", "lca_depth"), ("Q", "hops")):
        tables = {
            **both.tables,
            "parents": both.parents.filter([s == source for s in both.parents["source"].to_pylist()]),
        }
        alone = Hierarchy(Terminology(tables, both.sources, {}, []), definition, max_distance=4)
        names = [f"{source} {code}" for code in {*PARENTS[source], *PARENTS[source].values()}]
        assert all(level(alone, a, b) == level(mixed, a, b) for a in names for b in names if a < b)


def test_batches_have_partners_of_both_definitions_also_in_another_process(both: Terminology, tmp_path):
    hierarchy = Hierarchy(both, source_distances={"P": "lca_depth"})
    assert "P=lca_depth" in repr(hierarchy)
    assert hierarchy.get_config_dict()["source_distances"] == {"P": "lca_depth"}
    made = HierarchyBatches.of(hierarchy, both.save(tmp_path / "both"), partners=(0, 1, 1, 1))
    rows = names_dataset(both)
    batches = list(made(rows, 4, True, seed=3))
    from st_biomed.samplers import hierarchy as module

    module._HIERARCHIES.clear()
    assert list(pickle.loads(pickle.dumps(made))(rows, 4, True, seed=3)) == batches


def test_bad_sources_and_distances_are_one_line(both: Terminology):
    with pytest.raises(InputError, match="^terminology must be a Terminology, found str$"):
        Hierarchy("toy")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unknown source of source_distances 'R': allowed are 'P', 'Q'"):
        Hierarchy(both, source_distances={"R": "hops"})
    with pytest.raises(InputError, match="unknown distance 'hop'.*did you mean 'hops'"):
        Hierarchy(both, source_distances={"P": "hop"})
    with pytest.raises(InputError, match="max_distance follows from levels"):
        Hierarchy(both, source_distances={"P": "lca_depth"}, max_distance=5)


def test_a_deep_hierarchy_by_depth_is_told(caplog: pytest.LogCaptureFixture):
    names = "abcdefgh"
    records = [Term(f"X:{c}", f"name {c}") for c in names] + [Parent(f"X:{b}", f"X:{a}") for a, b in pairwise(names)]
    deep = Terminology.from_records(records, SourceInfo("X", "X"))
    with caplog.at_level(logging.WARNING):
        Hierarchy(deep, "lca_depth", max_distance=8)
        Hierarchy(deep)
        assert not caplog.messages
        Hierarchy(deep, "lca_depth")
    assert "depth 7, and only common ancestors at depth 6 or deeper count as nearer than level 2" in caplog.messages[0]


@pytest.mark.realdata
def test_partners_of_a_deep_ontology_stand_at_one_level_by_depth_and_at_all_by_kinship(realdata):
    """DOID has one root and is 12 deep: by depth, every pair shares the root, and hardly one is in the last two layers."""
    doid = Terminology.read("obo", realdata / "ontologies" / "doid.2024-01-31.obo.gz")

    def shares(**options) -> dict[int, float]:
        hierarchy = Hierarchy(doid, **options)
        group = (0, 5, 5, 5)
        batches = HierarchyBatches.of(hierarchy, partners=group)(names_dataset(doid), 16, True)
        groups = torch.tensor(list(islice(batches, 200)))
        found = Counter(int(d) for g in groups for d in hierarchy.distance(g[:1], g[1:])[0])
        return {level: n / sum(found.values()) for level, n in sorted(found.items())}

    assert shares(distance="lca_depth")[2] > 0.99
    kin = shares(distance="sibling_parent")
    assert min(kin[level] for level in (1, 2, 3)) > 0.05
