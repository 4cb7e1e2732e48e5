"""What an index finds, from a terminology or a dictionary, and on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.linking import Catalog
from st_biomed.linking.catalog import CONCEPTS, NAMES
from st_biomed.linking.origins import ORIGINS, Origin
from st_biomed.linking_data.records import LinkingDictionary
from st_biomed.terminology import Terminology


def tree(parents: list[list[int]]) -> CSR:
    pairs = [(child, parent) for child, above in enumerate(parents) for parent in above]
    return CSR.from_pairs(*np.array(pairs, dtype=np.int64).reshape(-1, 2).T, len(parents))


def entries(catalog: Catalog) -> list[tuple[str, list[str]]]:
    names = catalog.texts(slice(None))
    return [(name, [catalog.concepts[i] for i in catalog.name_concepts.row(row)]) for row, name in enumerate(names)]


def test_a_terminology_gives_each_string_once_with_all_its_concepts(zorb: Terminology) -> None:
    catalog = Catalog.of(zorb)
    assert dict(entries(catalog))["flumpitis"] == ["ZORB:1", "ZORB:4"]
    assert catalog.labels == ["flumpa disease", "gradtha disease", "flumpa", "mimpic gradtha"]
    assert catalog.types == [["disorder"], ["disorder"], ["organ"], ["organ"]]
    assert [source.name for source in catalog.sources] == ["ZORB"]


def test_equal_names_of_a_dictionary_become_one(dictionary: LinkingDictionary) -> None:
    """Catches names that are encoded twice, and a label that is not the first name of its id."""
    catalog = Catalog.of(dictionary)
    assert [(name, sorted(ids)) for name, ids in entries(catalog)] == [
        ("vogla fever", ["MESH:X0001", "MESH:X0002", "MESH:X0003"]),
        ("tarsta", ["MESH:X0001"]),
    ]
    assert dict(zip(catalog.concepts, catalog.labels)) == {
        "MESH:X0001": "tarsta",
        "MESH:X0002": "vogla fever",
        "MESH:X0003": "vogla fever",
    }


def test_saved_and_loaded_is_the_same(zorb: Terminology, dictionary: LinkingDictionary, tmp_path: Path) -> None:
    for number, source in enumerate((zorb, dictionary)):
        catalog = Catalog.of(source)
        (tmp_path / str(number)).mkdir()
        catalog.save(tmp_path / str(number))
        loaded = Catalog.load(tmp_path / str(number))
        assert (entries(loaded), loaded.labels, loaded.types) == (
            entries(catalog),
            catalog.labels,
            catalog.types,
        )
        assert loaded.digest == catalog.digest
        assert (loaded.parents is None, loaded.origins is None) == (catalog.parents is None, catalog.origins is None)
        if catalog.origins is not None and loaded.origins is not None:
            assert loaded.origins.sets == catalog.origins.sets
            assert loaded.origins.of_entry.tolist() == catalog.origins.of_entry.tolist()


def test_the_digest_names_every_part(zorb: Terminology) -> None:
    """Catches an index that is taken for one of a terminology whose concepts, labels or types have changed."""
    whole = Catalog.of(zorb)
    names, table, concepts, labels, types = (
        whole.names,
        whole.name_concepts,
        whole.concepts,
        whole.labels,
        whole.types,
    )
    moved = type(table)(table.indptr, table.indices[::-1])
    others = [
        Catalog(names[::-1], table, concepts, labels, types),
        Catalog(pa.concat_arrays([names[:-1], pa.array(["nub"], names.type)]), table, concepts, labels, types),
        Catalog(names, moved, concepts, labels, types),
        Catalog(names, table, concepts[::-1], labels, types),
        Catalog(names, table, concepts, labels[::-1], types),
        Catalog(names, table, concepts, labels, None),
        Catalog(names, table, concepts, labels, types),
        Catalog(names, table, concepts, labels, types, parents=tree([[], [0], [], []])),
        Catalog(names, table, concepts, labels, types, parents=tree([[], [], [0], []])),
        Catalog(names, table, concepts, labels, types, origins=whole.origins._replace(sets=[(Origin("it", "ZORB"),)])),
    ]
    assert len({whole.digest, *(other.digest for other in others)}) == 1 + len(others)


def test_types_choose_concepts_and_their_names(zorb: Terminology, dictionary: LinkingDictionary) -> None:
    catalog = Catalog.of(zorb)
    organs = catalog.of_types(["organ"])
    assert organs.tolist() == [False, False, True, True]
    table = catalog.names_with(organs[catalog.name_concepts.indices])
    named = catalog.texts(np.flatnonzero(table.counts))
    assert sorted(named) == ["flumpa", "flumpitis", "mimpic gradtha"]
    with pytest.raises(InputError, match="no concept has type 'gland'; there are disorder, organ"):
        catalog.of_types(["organ", "gland"])
    with pytest.raises(InputError, match="the index has no semantic types"):
        Catalog.of(dictionary).of_types(["organ"])


def test_other_objects_and_damaged_tables_are_refused(zorb: Terminology, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a Terminology or a LinkingDictionary, found list"):
        Catalog.of(["flumpa"])  # type: ignore[arg-type]
    Catalog.of(zorb).save(tmp_path)
    for name in (NAMES, CONCEPTS, ORIGINS):
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-20])
        with pytest.raises(InputError, match=f"{name}: missing or damaged; build the index again"):
            Catalog.load(tmp_path)
        Catalog.of(zorb).save(tmp_path)
