"""What an index finds, from a terminology or a dictionary, and on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.linking import Catalogue
from st_biomed.linking.catalogue import CONCEPTS, NAMES
from st_biomed.linking_data.records import LinkingDictionary
from st_biomed.terminology import Terminology


def entries(catalogue: Catalogue) -> list[tuple[str, list[str]]]:
    names = catalogue.texts(slice(None))
    return [
        (name, [catalogue.concepts[i] for i in catalogue.name_concepts.row(row)]) for row, name in enumerate(names)
    ]


def test_a_terminology_gives_each_string_once_with_all_its_concepts(zorb: Terminology) -> None:
    catalogue = Catalogue.of(zorb)
    assert dict(entries(catalogue))["flumpitis"] == ["ZORB:1", "ZORB:4"]
    assert catalogue.labels == ["flumpa disease", "gradtha disease", "flumpa", "mimpic gradtha"]
    assert catalogue.types == [["disorder"], ["disorder"], ["organ"], ["organ"]]
    assert [source.name for source in catalogue.sources] == ["ZORB"]


def test_equal_names_of_a_dictionary_become_one(dictionary: LinkingDictionary) -> None:
    """Catches names that are encoded twice, and a label that is not the first name of its id."""
    catalogue = Catalogue.of(dictionary)
    assert [(name, sorted(ids)) for name, ids in entries(catalogue)] == [
        ("vogla fever", ["MESH:X0001", "MESH:X0002", "MESH:X0003"]),
        ("tarsta", ["MESH:X0001"]),
    ]
    assert dict(zip(catalogue.concepts, catalogue.labels)) == {
        "MESH:X0001": "tarsta",
        "MESH:X0002": "vogla fever",
        "MESH:X0003": "vogla fever",
    }


def test_saved_and_loaded_is_the_same(zorb: Terminology, dictionary: LinkingDictionary, tmp_path: Path) -> None:
    for number, source in enumerate((zorb, dictionary)):
        catalogue = Catalogue.of(source)
        (tmp_path / str(number)).mkdir()
        catalogue.save(tmp_path / str(number))
        loaded = Catalogue.load(tmp_path / str(number))
        assert (entries(loaded), loaded.labels, loaded.types) == (
            entries(catalogue),
            catalogue.labels,
            catalogue.types,
        )
        assert loaded.digest == catalogue.digest


def test_the_digest_names_every_part(zorb: Terminology) -> None:
    """Catches an index that is taken for one of a terminology whose concepts, labels or types have changed."""
    whole = Catalogue.of(zorb)
    names, table, concepts, labels, types = (
        whole.names,
        whole.name_concepts,
        whole.concepts,
        whole.labels,
        whole.types,
    )
    moved = type(table)(table.indptr, table.indices[::-1])
    others = [
        Catalogue(names[::-1], table, concepts, labels, types),
        Catalogue(names, moved, concepts, labels, types),
        Catalogue(names, table, concepts[::-1], labels, types),
        Catalogue(names, table, concepts, labels[::-1], types),
        Catalogue(names, table, concepts, labels, None),
    ]
    assert len({whole.digest, *(other.digest for other in others)}) == 6


def test_types_choose_concepts_and_their_names(zorb: Terminology, dictionary: LinkingDictionary) -> None:
    catalogue = Catalogue.of(zorb)
    organs = catalogue.of_types(["organ"])
    assert organs.tolist() == [False, False, True, True]
    named = catalogue.texts(np.flatnonzero(catalogue.names_of(organs)))
    assert sorted(named) == ["flumpa", "flumpitis", "mimpic gradtha"]
    with pytest.raises(InputError, match="no concept has type 'gland'; there are disorder, organ"):
        catalogue.of_types(["organ", "gland"])
    with pytest.raises(InputError, match="the index has no semantic types"):
        Catalogue.of(dictionary).of_types(["organ"])


def test_other_objects_and_damaged_tables_are_refused(zorb: Terminology, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a Terminology or a LinkingDictionary, found list"):
        Catalogue.of(["flumpa"])  # type: ignore[arg-type]
    Catalogue.of(zorb).save(tmp_path)
    for name in (NAMES, CONCEPTS):
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-20])
        with pytest.raises(InputError, match=f"{name}: missing or damaged; build the index again"):
            Catalogue.load(tmp_path)
        Catalogue.of(zorb).save(tmp_path)
