"""Batches whose size counts pairs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from accelerate.data_loader import BatchSamplerShard
from sentence_transformers import SentenceTransformer
from torch.utils.data import ConcatDataset

from st_biomed.errors import InputError
from st_biomed.samplers import HierarchyBatches, PairBatches, RankAlignedMixing, SynonymBatches
from st_biomed.samplers.batch_factories import TrainingBatches
from st_biomed.terminology import Terminology
from st_biomed.training.source_arguments import SourceArguments
from st_biomed.training_data import names_dataset

TOY = Terminology.read("toy")


def batches(made: TrainingBatches, size: int) -> list[list[int]]:
    return list(made(names_dataset(TOY), size, True, seed=1))


def test_synonyms_of_n_pairs_are_two_n_names():
    pairs = PairBatches.of(SynonymBatches.of(TOY))
    drawn = batches(pairs, 16)
    assert {len(batch) for batch in drawn} == {32}
    assert drawn == batches(SynonymBatches.of(TOY), 32)
    concepts = [set(TOY.text_concepts.row(i).tolist()) for i in range(TOY.n_texts)]
    assert all(concepts[a] & concepts[b] for batch in drawn for a, b in zip(batch[::2], batch[1::2]))


def test_a_hierarchy_has_whole_groups():
    """The paper's 256 pairs: 12 anchors with 20 partners, 252 names and no row that fills the batch up."""
    inner = HierarchyBatches.of(TOY, partners=(5, 5, 5, 5))
    drawn = batches(PairBatches.of(inner, names=21, pairs=20), 256)
    assert {len(batch) for batch in drawn} == {252}
    with pytest.raises(InputError, match="must hold the 20 pairs of an anchor and its partners, found 19 pairs"):
        batches(PairBatches.of(inner, names=21, pairs=20), 19)


@pytest.mark.parametrize("group", [{"names": 0}, {"pairs": 0}, {"pairs": 1.5}])
def test_a_group_without_names_or_pairs_is_refused(group: dict):
    (name,) = group
    with pytest.raises(InputError, match=f"^{name} must be an integer of at least 1"):
        PairBatches.of(SynonymBatches.of(TOY), **group)


def test_another_dataset_is_for_evaluation_in_its_own_size():
    rows = names_dataset(TOY).select(range(40))
    made = PairBatches.of(SynonymBatches.of(TOY))
    assert list(pickle.loads(pickle.dumps(made))(rows, 8, False)) == np.arange(40).reshape(5, 8).tolist()


def test_two_processes_get_batches_of_every_size(monkeypatch: pytest.MonkeyPatch):
    """Catches batches that accelerate leaves out because their size is not that of the first dataset."""
    monkeypatch.setattr("st_biomed.samplers.mixing.get_world_size", lambda: 2)
    made = [SynonymBatches.of(TOY), PairBatches.of(SynonymBatches.of(TOY))]
    parts = [names_dataset(TOY) for _ in made]
    samplers = [batch(rows, 16, True, seed=0) for batch, rows in zip(made, parts)]
    mixed = RankAlignedMixing()(ConcatDataset(parts), samplers)
    steps = [list(map(len, BatchSamplerShard(mixed, 2, rank, even_batches=False))) for rank in range(2)]
    assert steps[0] == steps[1] and set(steps[0]) == {16, 32}
    assert len(steps[0]) == len(mixed) // 2


def test_the_argument_changes_synonyms_and_the_hierarchy_alone(tiny_bert: SentenceTransformer, tmp_path):
    sizes = {}
    for unit in ("names", "pairs"):
        asked = SourceArguments(max_length=16, batch_unit=unit, partners=[1, 1, 1, 1])
        for name in ("synonyms", "relations", "hierarchy"):
            part = asked.part(name, tiny_bert, TOY, tmp_path, 0)
            sizes[unit, name] = len(next(iter(part.batches(part.rows, 16, True))))
    assert {name: n for (unit, name), n in sizes.items() if unit == "names"} == dict.fromkeys(
        ("synonyms", "relations", "hierarchy"), 16
    )
    assert [sizes["pairs", name] for name in ("synonyms", "relations", "hierarchy")] == [32, 16, 20]
