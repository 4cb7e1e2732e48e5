"""The batches as sentence-transformers trains on them: through its training arguments, its data loader and its checkpoints."""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from torch import nn

import st_biomed.samplers.batch_factories
import st_biomed.samplers.hierarchy
from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.samplers import (
    BatchesByName,
    HierarchyBatches,
    HierarchyBatchSampler,
    RankAlignedMixing,
    ShuffledBatches,
    ShuffledBatchSampler,
    SynonymBatches,
    SynonymBatchSampler,
)
from st_biomed.samplers.batch_factories import InOrderBatchSampler
from st_biomed.terminology import Terminology
from st_biomed.training_data import names_dataset, relation_pairs

TOY = Terminology.read("toy")
B = 16


class Recorder(nn.Module):
    """A loss that keeps the labels of every batch."""

    def __init__(self, model) -> None:
        super().__init__()
        self.model = model
        self.train_labels: list[torch.Tensor] = []
        self.eval_labels: list[torch.Tensor] = []

    def forward(self, features, labels):
        (self.train_labels if self.model.training else self.eval_labels).append(labels)
        return sum(self.model(column)["sentence_embedding"].pow(2).mean() for column in features)


def train(model, folder, *, train_dataset, batch_sampler, loss, eval_dataset=None, **options):
    """Two steps, and a checkpoint."""
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=B,
        per_device_eval_batch_size=B,
        max_steps=options.pop("max_steps", 2),
        save_steps=2,
        batch_sampler=batch_sampler,
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        **options,
    )
    trainer = SentenceTransformerTrainer(
        model=model, args=arguments, train_dataset=train_dataset, eval_dataset=eval_dataset, loss=loss
    )
    trainer.train()
    return trainer


def hold_no_term(file) -> None:
    """The privacy and size of what a checkpoint says about the batches."""
    content = file.read_bytes()
    assert len(content) < 50_000
    assert not [text for text in TOY.strings if len(text) > 8 and text.encode() in content]


def test_a_run_gets_batches_of_synonyms_and_leaves_a_small_checkpoint(tiny_bert, tmp_path):
    """Would catch a sampler instance (batch size 1), a lambda (no checkpoint) and tables in training_args.bin."""
    dataset, loss = names_dataset(TOY), Recorder(tiny_bert)
    train(tiny_bert, tmp_path, train_dataset=dataset, batch_sampler=SynonymBatches.of(TOY), loss=loss)
    expected = SynonymBatchSampler(dataset, B, seed=42, terminology=TOY)
    assert [labels.tolist() for labels in loss.train_labels] == list(expected)[:2]
    hold_no_term(tmp_path / "checkpoint-2" / "training_args.bin")


def as_rows(labels):
    """The labels of a batch, one entry per row, whatever the number of text columns."""
    return tuple(str(row) for row in labels.tolist())


@pytest.mark.long
def test_three_datasets_are_batched_each_in_its_own_way(tiny_bert, tmp_path):
    """Would catch names that get mixed up: synonyms and hierarchy batches come from equal datasets."""
    relations = relation_pairs(TOY)
    datasets = {"synonyms": names_dataset(TOY), "hierarchy": names_dataset(TOY), "relations": relations}
    losses = {name: Recorder(tiny_bert) for name in datasets}
    batches = BatchesByName(
        {
            "hierarchy": HierarchyBatches.of(Hierarchy(TOY)),
            "relations": ShuffledBatches.of(relations),
            "synonyms": SynonymBatches.of(TOY),
        }
    )
    trainer = train(
        tiny_bert,
        tmp_path,
        train_dataset=datasets,
        batch_sampler=batches,
        loss=losses,
        multi_dataset_batch_sampler=RankAlignedMixing(temperature=2),
        max_steps=24,
        save_strategy="no",
    )
    samplers = trainer.get_train_dataloader().batch_sampler.batch_samplers
    assert [type(sampler) for sampler in samplers] == [
        SynonymBatchSampler,
        HierarchyBatchSampler,
        ShuffledBatchSampler,
    ]
    seen = {name: {as_rows(labels) for labels in loss.train_labels} for name, loss in losses.items()}
    for name, sampler in zip(datasets, samplers):
        sampler.set_epoch(0)
        labels = datasets[name].with_format("numpy")["label"][:]
        first_pass = [as_rows(labels[batch]) for batch in sampler]
        assert seen[name] and seen[name] <= set(first_pass)
    assert {len(batch) for batches_of in seen.values() for batch in batches_of} == {B}
    torch.save(trainer.args, tmp_path / "training_args.bin")
    hold_no_term(tmp_path / "training_args.bin")


def test_evaluation_goes_through_its_dataset_in_order(tiny_bert, tmp_path, caplog):
    """Would catch evaluation on drawn batches, and a training set that is taken for an evaluation set in silence."""
    held_out = names_dataset(TOY).select(range(0, 60, 2))
    loss = Recorder(tiny_bert)
    st_biomed.samplers.batch_factories._say_in_order.cache_clear()
    with caplog.at_level(logging.WARNING, logger="st_biomed"):
        trainer = train(
            tiny_bert,
            tmp_path,
            train_dataset=names_dataset(TOY),
            eval_dataset=held_out,
            batch_sampler=SynonymBatches.of(TOY),
            loss=loss,
            save_strategy="no",
        )
        assert "30 rows is not the training dataset" not in caplog.text
        trainer.evaluate()
    assert "30 rows is not the training dataset" in caplog.text
    assert [label for labels in loss.eval_labels for label in labels.tolist()] == list(range(0, 60, 2))


def test_a_selection_of_names_can_be_the_training_dataset():
    part = names_dataset(TOY).select(range(200))
    assert isinstance(SynonymBatches.of(TOY, dataset=part)(part, B, True), SynonymBatchSampler)
    assert type(SynonymBatches.of(TOY, dataset=part)(names_dataset(TOY), B, True)) is InOrderBatchSampler


def test_other_texts_with_the_same_labels_are_another_dataset():
    """Would catch contexts that are held out, or pairs without labels, taken for the training set: drawn, some left out."""
    train, held_out = (
        Dataset.from_dict({"text": [f"{where} {i}" for i in range(20)], "label": [0, 1] * 10}) for where in "ab"
    )
    for columns in (["text", "label"], ["text"]):
        batches = ShuffledBatches.of(train.select_columns(columns))
        assert isinstance(batches(train.select_columns(columns).with_format("torch"), 8, True), ShuffledBatchSampler)
        assert type(batches(held_out.select_columns(columns), 8, True)) is InOrderBatchSampler


@pytest.mark.parametrize("make", [SynonymBatches.of, HierarchyBatches.of])
def test_another_process_loads_the_terminology(make, tmp_path, monkeypatch):
    """Would catch a callable that works only where it was made."""
    dataset = names_dataset(TOY)
    here = make(TOY)(dataset, B, True, seed=3)
    frozen = pickle.dumps(make(TOY, TOY.save(tmp_path / "toy")))
    assert len(frozen) < 1_000
    monkeypatch.setattr(st_biomed.samplers.batch_factories, "_TERMINOLOGIES", {})
    monkeypatch.setattr(st_biomed.samplers.hierarchy, "_HIERARCHIES", {})
    assert list(pickle.loads(frozen)(dataset, B, True, seed=3)) == list(here)


def test_a_terminology_that_cannot_be_found_is_named(tmp_path, monkeypatch):
    batches, dataset = SynonymBatches.of(TOY), names_dataset(TOY)
    other = SynonymBatches.of(TOY, Terminology.read("toy", trees=2).save(tmp_path / "other"))
    monkeypatch.setattr(st_biomed.samplers.batch_factories, "_TERMINOLOGIES", {})
    with pytest.raises(InputError, match="is not in memory: make the batches with"):
        batches(dataset, B, True)
    with pytest.raises(InputError, match="other: holds terminology"):
        other(dataset, B, True)


def test_the_distances_travel_with_the_batches(tmp_path, monkeypatch):
    """Would catch a hierarchy that comes back with other distances than it was given."""
    hierarchy = Hierarchy(TOY, levels=("sibling", ("parent_child", "grandparent_child"), "uncle_nephew"))
    made = HierarchyBatches.of(
        hierarchy,
        TOY.save(tmp_path / "toy"),
        partners={2: 3, 3: 1},
        synonym_anchors=0.5,
        anchor_repeats={"TOY": 3},
        names_per_partner=2,
    )
    frozen = pickle.dumps(made)
    monkeypatch.setattr(st_biomed.samplers.batch_factories, "_TERMINOLOGIES", {})
    monkeypatch.setattr(st_biomed.samplers.hierarchy, "_HIERARCHIES", {})
    sampler = pickle.loads(frozen)(names_dataset(TOY), B, True)
    assert sampler.partners == (0, 0, 3, 1, 0)
    assert (sampler.plan.synonym_anchors, sampler.plan.names_per_partner) == (0.5, 2)
    assert len(sampler) > 2.9 * len(HierarchyBatches.of(hierarchy, partners={2: 3, 3: 1})(names_dataset(TOY), B, True))
    assert sampler.hierarchy.levels == hierarchy.levels
    labels = torch.arange(TOY.n_texts)
    assert torch.equal(sampler.hierarchy.distance(labels, labels), hierarchy.distance(labels, labels))


def swap(pairs):
    """Siblings at 2, parents and children at 1."""
    return torch.tensor([0, 2, 1, 3, -1], dtype=torch.int8)[pairs.distance.long()]


def test_functions_travel_with_the_batches(tmp_path, monkeypatch):
    """Would catch a hierarchy that comes back without them, and two hierarchies that are taken for one."""
    path, dataset = TOY.save(tmp_path / "toy"), names_dataset(TOY)
    swapped = HierarchyBatches.of(Hierarchy(TOY, level_function=swap, weight_function=swap), path)
    plain = HierarchyBatches.of(TOY, path)
    assert swapped(dataset, B, True).hierarchy.level_function is swap
    assert plain(dataset, B, True).hierarchy.level_function is None
    monkeypatch.setattr(st_biomed.samplers.hierarchy, "_HIERARCHIES", {})
    hierarchy = pickle.loads(pickle.dumps(swapped))(dataset, B, True).hierarchy
    assert hierarchy.level_function is swap and hierarchy.weight_function is swap


def test_a_function_without_a_name_stays_in_its_process(monkeypatch):
    """Would catch another process that trains without the function, and two lambdas taken for one."""
    first, second = (lambda pairs: pairs.distance), (lambda pairs: pairs.distance)
    batches = [HierarchyBatches.of(Hierarchy(TOY, level_function=function)) for function in (first, second)]
    dataset = names_dataset(TOY)
    assert [sampler_of(dataset, B, True).hierarchy.level_function for sampler_of in batches] == [first, second]
    monkeypatch.setattr(st_biomed.samplers.hierarchy, "_HIERARCHIES", {})
    with pytest.raises(InputError, match="<lambda> cannot be imported by another process: "):
        batches[0](dataset, B, True)


def test_without_names_datasets_are_known_by_their_rows():
    """sentence-transformers tells no names where there is one loss for all."""
    relations = relation_pairs(TOY)
    batches = BatchesByName({"names": SynonymBatches.of(TOY), "relations": ShuffledBatches.of(relations)})
    assert isinstance(batches(names_dataset(TOY), B, True), SynonymBatchSampler)
    assert isinstance(batches(relations, B, True), ShuffledBatchSampler)
    assert type(batches(relations.select(range(40)), B, True)) is InOrderBatchSampler


def test_what_cannot_be_told_apart_is_refused():
    batches = BatchesByName({"synonyms": SynonymBatches.of(TOY), "hierarchy": HierarchyBatches.of(TOY)})
    with pytest.raises(InputError, match="have the same rows: give the losses as a dictionary"):
        batches(names_dataset(TOY), B, True)
    named = Dataset.from_dict({"text": ["a"], "label": [0], "dataset_name": ["synonym"]})
    with pytest.raises(InputError, match=r"unknown dataset 'synonym'.*did you mean 'synonyms'"):
        batches(named, B, True)


DRAWS = """
from st_biomed.samplers import HierarchyBatches, SynonymBatches
from st_biomed.training_data import names_dataset, relation_pairs, split_by_subtree
from st_biomed.terminology import Terminology

toy = Terminology.read("toy")
drawn = [list(make(toy)(names_dataset(toy), 16, True, seed=5)) for make in (SynonymBatches.of, HierarchyBatches.of)]
drawn.append(relation_pairs(toy, max_concept_pairs=20)["label"][:])
drawn.append(split_by_subtree(toy, depth=1).text_split.tolist())
"""


@pytest.mark.long
def test_two_processes_draw_the_same():
    """Would catch an order that hangs on hashes of strings: processes would train on different batches."""
    here: dict[str, list] = {}
    exec(DRAWS, here)
    process = subprocess.run(
        [sys.executable, "-c", DRAWS + "print(drawn)"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "77"},
        check=True,
    )
    assert process.stdout.strip() == str(here["drawn"])
