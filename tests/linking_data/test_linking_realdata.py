"""NCBI disease as it is distributed, with MEDIC of July 2012: what later figures stand on."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.linking_data import LinkingDataset, open_linking
from st_biomed.linking_data.preparation import prepare

pytestmark = pytest.mark.realdata


@pytest.fixture(scope="module")
def folder(realdata: Path) -> Path:
    return realdata / "benchmarks_dev" / "ncbi_disease"


@pytest.fixture(scope="module")
def dataset(folder: Path) -> LinkingDataset:
    return open_linking("ncbi_disease", folder, dictionary=folder / "medic_06Jul2012.txt.gz")


@pytest.fixture(scope="module")
def prepared(dataset: LinkingDataset, folder: Path) -> LinkingDataset:
    steps = {
        "expand_abbreviations": None,
        "split_composites": None,
        "correct_spelling": {"path": folder / "ncbi-spell-check.txt"},
        "lower_case": None,
        "remove_punctuation": None,
        "merge_names": None,
    }
    return prepare(dataset, steps)


def exact_match(dataset: LinkingDataset) -> float:
    """Share of test mentions of which every part is a name of the dictionary with one of the mention's ids."""
    ids_of: dict[str, frozenset[str]] = {}
    for name, ids in dataset.dictionary.entries():
        ids_of[name] = ids_of.get(name, frozenset()).union(ids)
    mentions = dataset.split("test")
    hits = [all(ids_of.get(part, frozenset()) & mention.ids for part in mention.parts) for mention in mentions]
    return sum(hits) / len(hits)


def test_counts(dataset: LinkingDataset) -> None:
    """5,145 training mentions are published; 11 of them stand in an abstract that the file has twice."""
    assert {split: len(found) for split, found in dataset.mentions.items()} == {"train": 5134, "dev": 787, "test": 960}
    documents = {split: len({m.document for m in found}) for split, found in dataset.mentions.items()}
    assert documents == {"train": 592, "dev": 100, "test": 100}
    tally = dataset.tallies["mentions"]
    assert (tally.n_read, tally.dropped) == (6892, {"mentions of a document that came before": 11})
    assert all(mention.start >= 0 for found in dataset.mentions.values() for mention in found)


def test_the_dictionary_covers_every_gold_id(dataset: LinkingDataset) -> None:
    assert len(dataset.dictionary) == 76237
    assert dataset.tallies["dictionary"].n_dropped == 0
    assert [dataset.missing(split) for split in dataset.mentions] == [[], [], []]


def test_a_third_of_the_test_mentions_are_abbreviations(dataset: LinkingDataset) -> None:
    assert sum(mention.is_abbreviation for mention in dataset.split("test")) == 307


def test_exact_match_step_by_step(dataset: LinkingDataset, prepared: LinkingDataset) -> None:
    """51.7% is the figure after lower-casing and nothing else."""
    assert exact_match(dataset) == pytest.approx(170 / 960)
    assert exact_match(prepare(dataset, ["lower_case"])) == pytest.approx(496 / 960)
    assert exact_match(prepare(dataset, ["expand_abbreviations", "lower_case"])) == pytest.approx(541 / 960)
    assert exact_match(prepared) == pytest.approx(572 / 960)
    assert exact_match(prepare(prepared, ["add_mentions"])) == pytest.approx(739 / 960)


def test_what_the_steps_change(prepared: LinkingDataset) -> None:
    tallies = {name.split(": ")[1]: tally for name, tally in prepared.tallies.items() if name.startswith("step")}
    assert tallies["split_composites"].changed["split"] == 107
    assert tallies["merge_names"].to_dict()["kept"] == len(prepared.dictionary) == 71924


def test_the_refined_set_is_almost_the_published_one(prepared: LinkingDataset) -> None:
    """Published are 204 mentions (GEBERT's 71.57 and 84.31 are 146 and 172 of them), with abbreviations from Ab3P."""
    assert len(prepare(prepared, ["refine"]).split("test_refined")) == 202
