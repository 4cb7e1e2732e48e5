"""Hard negatives are found with the prompt that the trainer puts before its texts, and a failure leaves the model as it was."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import TrainerControl, TrainerState

from st_biomed.errors import InputError
from st_biomed.samplers import HardNegativeBatchSampler, HardNegativeCallback, hard_negative_callback
from st_biomed.samplers.hard_negatives import HardNegativePlan
from st_biomed.samplers.neighbor_table import nearest_rows
from st_biomed.terminology import Terminology
from st_biomed.training_data import names_dataset

TOY = Terminology.read("toy").subset(concepts=range(32))
PLAN = HardNegativePlan(prototypes=4, positives=1, neighbors=2, prototypes_per_concept=1)


def begin(callback: HardNegativeCallback, model: SentenceTransformer, **arguments: object) -> HardNegativeBatchSampler:
    """The sampler of a training that begins with these training arguments."""
    made = HardNegativeBatchSampler(names_dataset(TOY), PLAN.batch_size, terminology=TOY, plan=PLAN)

    class Loader:
        batch_sampler, dataset, collate_fn = made, None, None

        def __len__(self) -> int:
            return 1

    args = SimpleNamespace(gradient_accumulation_steps=1, **arguments)
    callback.on_train_begin(args, TrainerState(max_steps=9), TrainerControl(), train_dataloader=Loader(), model=model)
    return made


@pytest.fixture
def asked(tiny_bert, monkeypatch) -> list[tuple[object, object]]:
    """The prompt and the task of each call of ``encode``."""
    calls: list[tuple[object, object]] = []
    encode = tiny_bert.encode

    def recorded(texts, *, prompt=None, task=None, **options):
        calls.append((prompt, task))
        return encode(texts, prompt=prompt, **options)

    monkeypatch.setattr(tiny_bert, "encode", recorded)
    return calls


@pytest.mark.parametrize(
    ("own", "arguments", "expected"),
    [
        (None, {}, ("", None)),
        (None, {"prompts": "name: "}, ("name: ", None)),
        ("other: ", {"prompts": "name: "}, ("other: ", None)),
        ("", {"prompts": {"text": "name: "}}, ("", None)),
        (None, {"prompts": None, "router_mapping": {"text": "query"}}, ("", "query")),
    ],
)
def test_the_prompt_and_the_route_are_those_of_the_training(tiny_bert, asked, own, arguments, expected):
    """Catches neighbors that are found by a route or with a prompt that is not trained."""
    callback = HardNegativeCallback(prompt=own)
    callback.refresh(begin(callback, tiny_bert, **arguments), tiny_bert)
    assert asked == [expected]


def test_one_of_several_prompts_is_stated(tiny_bert):
    with pytest.raises(InputError, match=r"found 2 by name; HardNegativeCallback\(prompt=...\) must say which"):
        begin(HardNegativeCallback(), tiny_bert, prompts={"text": "a: ", "other": "b: "})


def test_a_failure_leaves_the_model_as_it_was(tiny_bert, monkeypatch):
    """Catches a model that keeps all its dimensions, and stays in evaluation mode, after the search was interrupted."""

    def interrupted(*args: object, **options: object) -> None:
        tiny_bert.eval()
        raise KeyboardInterrupt

    callback = HardNegativeCallback()
    made = begin(callback, tiny_bert)
    tiny_bert.truncate_dim = 8
    tiny_bert.train()
    monkeypatch.setattr(tiny_bert, "encode", interrupted)
    with pytest.raises(KeyboardInterrupt):
        callback.refresh(made, tiny_bert)
    assert tiny_bert.truncate_dim == 8 and tiny_bert.training


def test_texts_embedded_part_by_part_have_the_same_neighbors(tiny_bert, monkeypatch):
    """Catches parts that are written over each other, which a dataset of one part cannot show."""
    tables = []
    for size in (65_536, 10):
        monkeypatch.setattr(hard_negative_callback, "_TEXTS", size)
        callback = HardNegativeCallback()
        made = begin(callback, tiny_bert)
        callback.refresh(made, tiny_bert)
        tables.append(made.table.rows)
    assert np.mean(tables[0][:, :3] == tables[1][:, :3]) > 0.98


def test_the_search_is_among_the_candidates_of_the_sampler(tiny_bert, monkeypatch):
    """Catches neighbors that the batches would leave out again."""
    asked = []
    monkeypatch.setattr(
        hard_negative_callback,
        "nearest_rows",
        lambda *args, **options: asked.append(options) or nearest_rows(*args, **options),
    )
    callback = HardNegativeCallback()
    made = begin(callback, tiny_bert)
    made.candidates = np.arange(60)
    callback.refresh(made, tiny_bert)
    assert asked[0]["candidates"] is made.candidates


@pytest.mark.parametrize("bf16", [False, True])
def test_texts_are_embedded_in_the_precision_of_the_training(tiny_bert, monkeypatch, bf16):
    """Catches a search in another precision than that of the trained vectors."""
    seen = []
    encode = tiny_bert.encode
    monkeypatch.setattr(
        tiny_bert,
        "encode",
        lambda *args, **options: seen.append(torch.is_autocast_enabled("cpu")) or encode(*args, **options),
    )
    callback = HardNegativeCallback()
    callback.refresh(begin(callback, tiny_bert), tiny_bert, bf16=bf16)
    assert seen == [bf16]


def test_routes_of_datasets_by_name_are_refused(tiny_bert):
    """Catches neighbors by the default route where the training uses another."""
    with pytest.raises(
        InputError, match="^router_mapping of the training arguments: found routes of 1 datasets by name"
    ):
        begin(HardNegativeCallback(), tiny_bert, router_mapping={"names": {"text": "document"}})
