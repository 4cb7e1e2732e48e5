"""BERGAMOT's loss in training: it goes down, and a run of the trainer resumes and accumulates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments

from st_biomed.losses.bergamot import BergamotLoss
from st_biomed.losses.cached_bergamot import CachedBergamotLoss
from st_biomed.losses.loss_parameters_callback import LossParametersCallback
from st_biomed.losses.relation_margin import RelationMarginLoss
from tests.losses.bergamot_losses import LABELS
from tests.losses.graph_steps import (
    NODE_TEXTS,
    RELATIONS,
    TEXTS,
    encoder_of,
    step_of,
)


@pytest.mark.long
def test_a_few_steps_bring_text_and_graph_together(tiny_bert):
    """Catches a part that goes up when it is trained."""
    loss = BergamotLoss(tiny_bert, encoder_of("gat"), relation=RelationMarginLoss(16, RELATIONS))
    optimizer = torch.optim.Adam(loss.parameters(), lr=5e-3)
    history = []
    for _ in range(40):
        optimizer.zero_grad()
        values = loss(step_of(tiny_bert), LABELS)
        history.append({name: value.item() for name, value in values.items()})
        sum(values.values()).backward()
        optimizer.step()
    for name in history[0]:
        before, after = (sum(step[name] for step in part) for part in (history[:5], history[-5:]))
        assert after < 0.9 * before, name


class Collator:
    """A step made from rows: their first two are targets, the texts of the rest neighbors."""

    valid_label_columns = ("label",)

    def __init__(self, model: SentenceTransformer) -> None:
        self.preprocess = model.preprocess

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        first = [row["concept"] for row in rows]
        texts = [TEXTS[i] for i in NODE_TEXTS[:, first].flatten()] + TEXTS[8:]
        n = len(rows)
        nodes = torch.tensor([[*range(n), 2 * n, 2 * n + 1], [*range(n, 2 * n), 2 * n + 2, 2 * n + 3]])
        edges = torch.tensor([[n, n + 1, 0], [0, 1, 1], [0, 1, 2]])
        features = {f"text_{name}": value for name, value in self.preprocess(texts).items()}
        label = torch.tensor([[c, c] for c in first])
        return {"label": label, "text_node_texts": nodes[None], "text_edges": edges[None], **features}


def train(model_folder: Path, save: Path, resume: str | None = None, **settings: Any) -> tuple[Any, BergamotLoss]:
    model = SentenceTransformer(str(model_folder), device="cpu")
    torch.manual_seed(0)
    relation = RelationMarginLoss(16, RELATIONS)
    loss_class = settings.pop("loss_class", BergamotLoss)
    loss = loss_class(model, encoder_of("rgcn", dropout=0.3), relation=relation)
    args = SentenceTransformerTrainingArguments(
        output_dir=str(save), use_cpu=True, max_steps=4, per_device_train_batch_size=2, save_steps=2, logging_steps=1,
        learning_rate=1e-2, disable_tqdm=True, seed=1, resume_from_checkpoint=resume, remove_unused_columns=False,
        **settings,
    )  # fmt: skip
    trainer = SentenceTransformerTrainer(
        model=model,
        args=args,
        loss=loss,
        train_dataset=Dataset.from_dict({"concept": [0, 1, 2, 3], "label": [0, 1, 2, 3]}),
        data_collator=Collator(model),
        callbacks=[LossParametersCallback(loss)],
    )
    trainer.train(resume_from_checkpoint=resume)
    return trainer, loss


@pytest.mark.long
@pytest.mark.parametrize("loss_class", [BergamotLoss, CachedBergamotLoss])
def test_a_resumed_run_ends_where_the_uninterrupted_one_does(tiny_bert_folder, tmp_path, loss_class):
    """Catches a graph encoder, a discriminator or a table that starts anew, and corruptions drawn from the start again."""
    trainer, loss = train(tiny_bert_folder, tmp_path / "whole", loss_class=loss_class)
    assert {"text", "node", "intermodal", "dgi", "relation"} <= trainer.state.log_history[0].keys()
    torch.manual_seed(0)
    fresh = {name: value.clone() for name, value in encoder_of("rgcn").state_dict().items()}
    moved = [name for name, value in loss.graph_encoder.state_dict().items() if not torch.equal(value, fresh[name])]
    assert len(moved) == len(fresh) and loss.steps == 4
    half = str(tmp_path / "whole" / "checkpoint-2")
    _, again = train(tiny_bert_folder, tmp_path / "resumed", half, loss_class=loss_class)
    torch.testing.assert_close(again.state_dict(), loss.state_dict(), atol=1e-6, rtol=0)
    files = {file.name for file in (tmp_path / "whole" / "checkpoint-4").rglob("*.safetensors")}
    assert files == {"model.safetensors", "loss.safetensors"}
    SentenceTransformer(str(tmp_path / "whole" / "checkpoint-4"), device="cpu")  # plain, and without a flag


@pytest.mark.long
def test_accumulated_steps_of_the_cached_form_are_those_of_the_plain_one(tiny_bert_folder, tmp_path):
    """Catches gradients of the graph encoder that miss the division by the number of accumulated batches."""
    runs = [
        train(
            tiny_bert_folder,
            tmp_path / loss_class.__name__,
            loss_class=loss_class,
            gradient_accumulation_steps=2,
            optim="sgd",
        )[1]
        for loss_class in (BergamotLoss, CachedBergamotLoss)
    ]
    torch.testing.assert_close(runs[1].state_dict(), runs[0].state_dict(), atol=1e-5, rtol=0)
