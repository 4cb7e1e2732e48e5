"""The neighbors are those of the model as it is now: after a change, every epoch, every few steps, after a resume."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from torch import nn
from torch.utils.data import SequentialSampler
from transformers import TrainerState

from st_biomed.encoder.digest import model_digest
from st_biomed.errors import InputError
from st_biomed.samplers import HardNegativeBatches, HardNegativeBatchSampler, HardNegativeCallback, SynonymBatches
from st_biomed.samplers.hard_negatives import HardNegativePlan
from st_biomed.samplers.neighbor_table import NeighborTable
from st_biomed.terminology import Terminology
from st_biomed.training_data import names_dataset

TOY = Terminology.read("toy").subset(concepts=range(32))
PLAN = HardNegativePlan(prototypes=4, positives=1, neighbors=2, prototypes_per_concept=1)
N_STEPS = 6  # of an epoch: 24 concepts have two names


def sampler(dataset=None) -> HardNegativeBatchSampler:
    dataset = names_dataset(TOY) if dataset is None else dataset
    return HardNegativeBatchSampler(dataset, PLAN.batch_size, terminology=TOY, plan=PLAN)


def nearest_by_hand(model: SentenceTransformer, made: HardNegativeBatchSampler) -> np.ndarray:
    """Forward passes of one text each, without ``encode``."""
    model.eval()
    with torch.no_grad():
        vectors = [model(dict(model.preprocess([text])))["sentence_embedding"][0] for text in TOY.strings]
    unit = nn.functional.normalize(torch.stack(vectors).double(), dim=1)
    scores = (unit @ unit.T).fill_diagonal_(-2)[torch.from_numpy(made.prototypes)]
    return scores.argsort(dim=1, descending=True, stable=True)[:, : made.width].numpy()


def agreement(found: np.ndarray, expected: np.ndarray) -> float:
    """Share of the nearest rows in common; rounding may exchange those that are as good as tied."""
    return float(np.mean([len(set(a[:5]) & set(b[:5])) / 5 for a, b in zip(found, expected)]))


def shake(model: SentenceTransformer) -> None:
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.5 * torch.randn(weight.shape, generator=generator)


def test_neighbors_are_those_of_the_current_weights(tiny_bert):
    """Catches vectors of the model before it was trained, of another pooling, or with dropout."""
    made = sampler()
    for module in tiny_bert.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.5
    tiny_bert.train()
    tables = []
    for _ in range(2):
        HardNegativeCallback().refresh(made, tiny_bert, step=3, epoch=1)
        assert tiny_bert.training
        tables.append(made.table)
        assert agreement(made.table.rows, nearest_by_hand(tiny_bert, made)) > 0.99
        assert made.table.model_digest == model_digest(tiny_bert) and (made.table.step, made.table.epoch) == (3, 1)
        tiny_bert.train()
        shake(tiny_bert)
    assert agreement(tables[0].rows, tables[1].rows) < 0.9
    assert tables[0].model_digest != tables[1].model_digest
    tiny_bert.truncate_dim = 2  # losses train all dimensions
    HardNegativeCallback().refresh(made, tiny_bert)
    assert tiny_bert.truncate_dim == 2 and agreement(made.table.rows, nearest_by_hand(tiny_bert, made)) > 0.99


def test_batches_change_after_a_refresh(tiny_bert):
    made = sampler()
    drawn = []
    for _ in range(2):
        HardNegativeCallback().refresh(made, tiny_bert)
        drawn.append(list(made))
        shake(tiny_bert)
    assert drawn[0] != drawn[1]


def test_on_disk_it_is_the_same(tiny_bert, tmp_path):
    """Catches vectors that stay behind, and a table in memory where none is wanted."""
    made = sampler()
    HardNegativeCallback(batch_size=7).refresh(made, tiny_bert)
    expected = made.table
    HardNegativeCallback(folder=tmp_path).refresh(made, tiny_bert)
    assert isinstance(made.table.rows, np.memmap)
    assert agreement(made.table.rows, expected.rows) > 0.99
    assert sorted(file.name for file in (tmp_path / "0").iterdir()) == ["neighbors.json", "neighbors.npy"]


def test_texts_get_the_prompt_of_the_training_and_no_other(tiny_bert):
    """Catches the default prompt of a model, which the trainer does not put before its texts."""
    seen = []
    encode = tiny_bert.encode
    tiny_bert.encode = lambda texts, **options: seen.append(options["prompt"]) or encode(texts, **options)
    for prompt in ("", "term: "):
        HardNegativeCallback(prompt=prompt).refresh(sampler(), tiny_bert)
    assert seen == ["", "term: "]


def test_texts_are_cut_as_in_training(tiny_bert):
    limits, encode, own = [], tiny_bert.encode, tiny_bert.max_seq_length
    tiny_bert.encode = lambda texts, **options: limits.append(tiny_bert.max_seq_length) or encode(texts, **options)
    for max_length in (None, 5):
        HardNegativeCallback(max_length=max_length).refresh(sampler(), tiny_bert)
    assert limits == [own, 5] and tiny_bert.max_seq_length == own


class Recorder(nn.Module):
    """A loss that keeps the labels of every batch and changes the model."""

    def __init__(self, model) -> None:
        super().__init__()
        self.model = model
        self.labels: list[list[int]] = []

    def forward(self, features, labels):
        self.labels.append(labels.tolist())
        embeddings = self.model(features[0])["sentence_embedding"]
        return (embeddings * torch.linspace(-1, 1, embeddings.shape[1])).sum()


class Watch(HardNegativeCallback):
    """Keeps every table with the step it was made at, and checks that its weights are the model's of that moment."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.made: list[tuple[int, int]] = []

    def refresh(self, sampler, model, number=0, **options):
        super().refresh(sampler, model, number, **options)
        assert sampler.table.model_digest == model_digest(model)
        self.made.append((options["step"], options["epoch"]))


def train(folder: Path, model_folder: Path, callback, *, resume: str | None = None, **options) -> Recorder:
    """Two epochs of six steps, with a checkpoint after the fourth."""
    model = SentenceTransformer(str(model_folder), device="cpu")
    loss = Recorder(model)
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=PLAN.batch_size,
        num_train_epochs=2,
        learning_rate=0.05,
        save_steps=4,
        batch_sampler=options.pop("batch_sampler", HardNegativeBatches.of(TOY, **vars(PLAN))),
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        **options,
    )
    trainer = SentenceTransformerTrainer(
        model=model, args=arguments, train_dataset=names_dataset(TOY), loss=loss, callbacks=[callback]
    )
    trainer.train(resume_from_checkpoint=resume)
    return loss


@pytest.fixture(scope="module")
def run(tiny_bert_folder, tmp_path_factory):
    """A run of two epochs with its callback and its folder."""
    folder, callback = tmp_path_factory.mktemp("run"), Watch()
    return train(folder, tiny_bert_folder, callback), callback, folder


def test_every_epoch_has_the_neighbors_of_its_beginning(run):
    """Catches an index that is built once, and one that is built after the first batches are drawn."""
    loss, callback, _ = run
    assert callback.made == [(0, 0), (N_STEPS, 1)]
    assert len(loss.labels) == 2 * N_STEPS and {len(labels) for labels in loss.labels} == {PLAN.batch_size}


def test_a_checkpoint_says_what_its_neighbors_come_from_and_holds_no_text(run):
    folder = run[2] / "checkpoint-4"
    about = json.loads((folder / "hard_negatives/0/neighbors.json").read_text("utf-8"))
    assert (about["step"], about["epoch"]) == (0, 0) and about["model_digest"] != about["saved_with"]
    content = (folder / "training_args.bin").read_bytes()
    assert len(content) < 50_000 and not [text for text in TOY.strings if len(text) > 8 and text.encode() in content]


def test_a_resumed_run_has_the_same_batches(run, tiny_bert_folder, tmp_path):
    """Catches neighbors of the resumed weights in the middle of an epoch, and a refresh that is then forgotten."""
    loss, _, folder = run
    callback = Watch()
    resumed = train(
        tmp_path,
        tiny_bert_folder,
        callback,
        resume=str(folder / "checkpoint-4"),
        resume_from_checkpoint=str(folder / "checkpoint-4"),
    )
    assert callback.made == [(N_STEPS, 1)]
    assert resumed.labels == loss.labels[4:]


@pytest.mark.parametrize("damage", ["missing", "of other weights"])
def test_a_checkpoint_without_its_neighbors_is_noticed(run, tiny_bert_folder, tmp_path, caplog, damage):
    """Catches a stale table taken for the checkpoint's own."""
    shutil.copytree(run[2] / "checkpoint-4", tmp_path / "checkpoint-4")
    file = tmp_path / "checkpoint-4/hard_negatives/0/neighbors.json"
    if damage == "missing":
        shutil.rmtree(file.parents[1])
    else:
        NeighborTable.load(file.parent).save(file.parent, saved_with="another")
    callback = Watch()
    with caplog.at_level(logging.WARNING, logger="st_biomed"):
        train(tmp_path, tiny_bert_folder, callback, resume=str(tmp_path / "checkpoint-4"))
    assert "resumes at step 4 without the neighbors of its checkpoint" in caplog.text
    assert callback.made == [(4, 0), (N_STEPS, 1)]


@pytest.mark.parametrize("name", ["neighbors.json", "neighbors.npy"])
def test_neighbors_that_are_damaged_are_named(run, tmp_path, name):
    """Catches rows of the dataset that are nobody's neighbors, and a traceback."""
    folder = tmp_path / "0"
    for position in (0, 0.5, 1):
        shutil.copytree(run[2] / "checkpoint-4/hard_negatives/0", folder, dirs_exist_ok=True)
        content = bytearray((folder / name).read_bytes())
        content[int(position * (len(content) - 2))] ^= 1
        (folder / name).write_bytes(content)
        with pytest.raises(
            InputError, match=rf"{name}: damaged.*; remove the folder, and the neighbors are found anew"
        ):
            NeighborTable.load(folder)


def test_the_folder_of_a_training_is_its_own(tiny_bert_folder, tmp_path):
    """Catches two trainings that map each other's neighbors."""
    hold = (
        "import sys, time; from st_biomed.files import lock\nwith lock(sys.argv[1]): print(flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", hold, tmp_path / "table"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "\n"
        with pytest.raises(InputError, match=rf"table: .*process {process.pid} on .* has been writing to it since"):
            train(tmp_path, tiny_bert_folder, HardNegativeCallback(folder=tmp_path / "table"), save_strategy="no")
        process.kill()


def test_every_few_steps(tiny_bert_folder, tmp_path):
    """Catches a refresh at the last step, which no batch would see, and one at every epoch besides."""
    callback = Watch(every=4)
    train(tmp_path, tiny_bert_folder, callback, save_strategy="no")
    assert callback.made == [(0, 0), (4, 0), (8, 1)]


def test_other_batches_are_refused(tiny_bert_folder, tmp_path):
    """Catches a callback without effect."""
    with pytest.raises(InputError, match="found no hard-negative batches: give the training arguments"):
        train(tmp_path, tiny_bert_folder, HardNegativeCallback(), batch_sampler=SynonymBatches.of(TOY))


@pytest.mark.parametrize(
    ("every", "max_steps", "said"),
    [
        (None, N_STEPS, "training has 6 steps, and they are updated every 6"),
        (4, 3, "training has 3 steps, and they are updated every 4"),
        (None, N_STEPS + 1, None),
        (2, 3, None),
    ],
)
def test_neighbors_that_are_never_updated_are_told(every, max_steps, said, tiny_bert_folder, tmp_path, caplog):
    """Catches the run of 4.5 % of an epoch whose negatives were those of the initial weights to its end."""
    callback = Watch(every=every)
    train(tmp_path, tiny_bert_folder, callback, max_steps=max_steps)
    told = [record.getMessage() for record in caplog.records if "initial weights throughout" in record.getMessage()]
    assert (len(callback.made) == 1) == bool(told) == (said is not None)
    assert said is None or said in told[0]


@pytest.mark.parametrize("options", [{"every": 0}, {"batch_size": 2.5}])
def test_numbers_below_one_are_refused(options):
    (name,) = options
    with pytest.raises(InputError, match=f"{name} must be an integer of at least 1"):
        HardNegativeCallback(**options)


def test_samplers_are_found_through_every_wrapper(tiny_bert):
    """Catches a dataset among several that is never given neighbors."""
    first, second = sampler(), sampler()
    mixing = SimpleNamespace(batch_samplers=[first, SequentialSampler([]), second])
    dataloader = SimpleNamespace(batch_sampler=SimpleNamespace(batch_sampler=mixing))
    state = TrainerState(epoch=1.0, global_step=6)
    arguments = SimpleNamespace(bf16=False)
    HardNegativeCallback().on_epoch_begin(arguments, state, None, train_dataloader=dataloader, model=tiny_bert)
    assert [made.table.epoch for made in (first, second)] == [1, 1] == [made.epoch for made in (first, second)]
