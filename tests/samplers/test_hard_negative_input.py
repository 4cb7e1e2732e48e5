"""Hard negatives are found with the prompt that the trainer puts before its texts, and a failure leaves the model as it was."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from sentence_transformers import SentenceTransformer
from transformers import TrainerControl, TrainerState

from st_biomed.errors import InputError
from st_biomed.samplers import HardNegativeBatchSampler, HardNegativeCallback
from st_biomed.samplers.hard_negatives import HardNegativePlan
from st_biomed.terminology import Terminology
from st_biomed.training_data import names_dataset

TOY = Terminology.read("toy").subset(concepts=range(32))
PLAN = HardNegativePlan(prototypes=4, positives=1, neighbors=2, prototypes_per_concept=1)


def begin(callback: HardNegativeCallback, model: SentenceTransformer, **arguments: object) -> HardNegativeBatchSampler:
    """The sampler of a training that begins with these training arguments."""
    made = HardNegativeBatchSampler(names_dataset(TOY), PLAN.batch_size, terminology=TOY, plan=PLAN)

    class Loader:
        batch_sampler = made

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
