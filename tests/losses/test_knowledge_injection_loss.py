"""Masked language modeling with entity linking: the parts, the base model's head, and a run of the trainer."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.losses import MatryoshkaLoss
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DistilBertConfig,
    DistilBertForMaskedLM,
    RobertaConfig,
    RobertaForMaskedLM,
)

from st_biomed.encoder.masked import load_masked_model
from st_biomed.errors import InputError
from st_biomed.losses import EntityLinkingLoss, KnowledgeInjectionLoss, LossParametersCallback
from st_biomed.losses.knowledge_injection import KnowledgeInjectionCollator
from st_biomed.modules.inject_knowledge import inject_knowledge
from st_biomed.modules.markers import add_markers
from st_biomed.modules.masked_language_head import MaskedLanguageHead
from st_biomed.release.card import BiomedCard
from tests.contracts.loss_contract import LossContract

ENTITIES = torch.randn(9, 6, generator=torch.Generator().manual_seed(1))
TEXTS = ["acute flu of the ear", "other disease", "chronic gout", "the type 2 disease"]
SIZE = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}


class Given(nn.Module):
    """A model whose queries are given."""

    def forward(self, features: dict) -> dict:
        return features


class TestKnowledgeInjectionLossContract(LossContract):
    """Of the linking part; every mention a text of its own."""

    loss_class = KnowledgeInjectionLoss
    arguments = {"entities": ENTITIES}
    nothing_to_learn = {"nothing linked": [-100, -100]}
    test_a_matrix_in_no_list_is_refused = None  # it has no compute_loss_from_embeddings

    @pytest.fixture
    def loss(self) -> nn.Module:
        return KnowledgeInjectionLoss(Given(), **self.arguments)

    def value(self, loss: nn.Module, embeddings: Tensor, labels: Tensor) -> Tensor:
        present = torch.ones(len(labels), 1, dtype=torch.bool)
        features = {"mention_queries": embeddings[:, None], "mention_present": present}
        return sum(loss([features], {"entities": labels[:, None]}).values())


def masked_bert(model: SentenceTransformer, words: int | None = None) -> BertForMaskedLM:
    torch.manual_seed(2)
    return BertForMaskedLM(BertConfig(vocab_size=words or len(model.tokenizer), **SIZE)).eval()


@pytest.fixture
def model(tiny_bert) -> SentenceTransformer:
    torch.manual_seed(0)
    return inject_knowledge(add_markers(tiny_bert), ENTITIES, layer=1, mention="none")


def mask(model: SentenceTransformer, rows: list[dict]) -> dict[str, Tensor]:
    """A masking collator in small: the second token, one mention of two tokens."""
    batch = dict(model.preprocess([row["text"] for row in rows]))
    ids = batch["input_ids"].clone()
    labels = torch.full_like(ids, -100)
    labels[:, 2] = ids[:, 2]
    ids[:, 2] = model.tokenizer.mask_token_id
    spans = torch.full((len(rows), 2, 2), -1)
    spans[:, 0] = torch.tensor([1, 3])
    entities = torch.full((len(rows), 2), -100)
    entities[:, 0] = torch.tensor([row["entity"] for row in rows])
    tokens = {"input_ids": ids, "attention_mask": batch["attention_mask"], "labels": labels}
    return {**tokens, "mention_spans": spans, "entity_labels": entities}


ROWS = [{"text": text, "entity": i} for i, text in enumerate(TEXTS)]


def as_trainer(batch: dict) -> tuple[list[dict], dict]:
    return [{key.removeprefix("text_"): value for key, value in batch.items() if key != "label"}], batch["label"]


def test_the_parts_are_the_two_losses(model):
    """By the masked model's own forward on the injected states; catches unmasked tokens in the mean, and a weight unused."""
    whole = masked_bert(model)
    head = MaskedLanguageHead(masked_bert(model), model)
    loss = KnowledgeInjectionLoss(model, head, masked_weight=0.5, linking_weight=3.0)
    features, labels = as_trainer(KnowledgeInjectionCollator(lambda rows: mask(model, rows))(ROWS))
    parts = loss(features, labels)
    out = model(as_trainer(KnowledgeInjectionCollator(lambda rows: mask(model, rows))(ROWS))[0][0])
    whole.cls.predictions.decoder.weight = model[0].model.get_input_embeddings().weight
    scores = whole.cls(out["token_embeddings"])
    expected = cross_entropy(scores.flatten(0, 1), labels["tokens"].flatten())
    torch.testing.assert_close(parts["masked_language"], 0.5 * expected)
    linking = cross_entropy(out["mention_queries"][:, 0] @ ENTITIES.T, torch.arange(4))
    torch.testing.assert_close(parts["entity_linking"], 3 * linking)
    alone = KnowledgeInjectionLoss(model)(features, labels)
    assert list(alone) == ["entity_linking"]
    nothing = {"tokens": torch.full_like(labels["tokens"], -100), "entities": labels["entities"] * 0 - 100}
    parts = loss(features, nothing)
    sum(parts.values()).backward()
    assert not any(parts.values())


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert"])
def test_the_head_is_the_base_models_own(model, kind):
    """Catches a head without its transform, another order of layers, and embeddings that are not shared."""
    words = model[0].model.get_input_embeddings()
    torch.manual_seed(3)
    masked = {
        "bert": lambda: masked_bert(model),
        "roberta": lambda: RobertaForMaskedLM(RobertaConfig(vocab_size=words.num_embeddings, **SIZE)).eval(),
        "distilbert": lambda: DistilBertForMaskedLM(
            DistilBertConfig(vocab_size=words.num_embeddings, dim=16, n_layers=1, n_heads=2, hidden_dim=32)
        ).eval(),
    }[kind]()
    masked.get_input_embeddings().weight.data.copy_(words.weight.data)
    ids = torch.tensor([[5, 6, 7]])
    states = masked.base_model(ids).last_hidden_state
    expected = masked(ids).logits
    head = MaskedLanguageHead(masked, model)
    torch.testing.assert_close(head(states[0]), expected[0])
    assert head.head.get_output_embeddings().weight is words.weight
    assert sum(parameter.numel() for parameter in head.parameters()) < words.weight.numel() + 16 * 16 + 16 * 4 + 200


def test_a_vocabulary_of_another_size_is_met(model, tmp_path):
    """Catches markers that the head has no row for."""
    words = model[0].model.get_input_embeddings().num_embeddings
    masked_bert(model, words - 2).save_pretrained(tmp_path)
    model.tokenizer.save_pretrained(tmp_path)
    head = MaskedLanguageHead(load_masked_model(tmp_path)[0], model)
    assert head(torch.randn(3, 16)).shape == (3, words)


def train(folder: Path, save: Path, resume: str | None = None) -> tuple[SentenceTransformer, nn.Module]:
    torch.manual_seed(0)
    model = SentenceTransformer(str(folder), device="cpu", model_card_data=BiomedCard())
    inject_knowledge(add_markers(model), ENTITIES, layer=1, mention="none")
    loss = KnowledgeInjectionLoss(model, MaskedLanguageHead(masked_bert(model), model))
    args = SentenceTransformerTrainingArguments(
        output_dir=str(save), use_cpu=True, max_steps=4, per_device_train_batch_size=2, save_steps=2, logging_steps=2,
        resume_from_checkpoint=resume, learning_rate=1e-2, lr_scheduler_type="constant", disable_tqdm=True, seed=1,
    )  # fmt: skip
    trainer = SentenceTransformerTrainer(
        model=model,
        args=args,
        loss=loss,
        train_dataset=Dataset.from_list(ROWS),
        data_collator=KnowledgeInjectionCollator(lambda rows: mask(model, rows)),
        callbacks=[LossParametersCallback(loss)],
    )
    trainer.train(resume_from_checkpoint=resume)
    assert {"masked_language", "entity_linking"} <= set(trainer.state.log_history[0])
    return model, loss


def test_the_trainer_trains_everything_but_the_entities_and_resumes(tiny_bert_folder, tmp_path):
    """Catches a head that no optimizer has, a table that trains, and a checkpoint without the injection or the head."""
    model, loss = train(tiny_bert_folder, tmp_path / "whole")
    assert torch.equal(model[0].injection.entities, ENTITIES)
    fresh = torch.nn.LayerNorm(16).weight
    moved = [model[0].injection.restore.bias, loss.head.head.cls.predictions.bias]
    assert all(value.abs().max() > 1e-3 for value in moved)
    assert not torch.equal(loss.head.head.cls.predictions.transform.LayerNorm.weight, fresh)
    resumed, loss_again = train(tiny_bert_folder, tmp_path / "resumed", str(tmp_path / "whole" / "checkpoint-2"))
    for (name, value), again in zip(loss.state_dict().items(), loss_again.state_dict().values()):
        torch.testing.assert_close(again, value, atol=1e-6, rtol=0, msg=name)
    checkpoint = SentenceTransformer(str(tmp_path / "whole" / "checkpoint-4"), device="cpu", trust_remote_code=True)
    torch.testing.assert_close(checkpoint.state_dict(), resumed.state_dict())
    assert "acute" not in (tmp_path / "whole" / "checkpoint-4" / "README.md").read_text()


def test_a_few_steps_link_and_guess(model):
    """Catches a part that goes up when it is trained."""
    loss = KnowledgeInjectionLoss(model, MaskedLanguageHead(masked_bert(model), model))
    collate = KnowledgeInjectionCollator(lambda rows: mask(model, rows))
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-2)
    history = []
    for _ in range(15):
        optimizer.zero_grad()
        parts = loss(*as_trainer(collate(ROWS)))
        history.append({name: value.item() for name, value in parts.items()})
        sum(parts.values()).backward()
        optimizer.step()
    assert all(history[-1][name] < 0.7 * value for name, value in history[0].items())


def test_mixed_precision_is_finite(model):
    loss = KnowledgeInjectionLoss(model, MaskedLanguageHead(masked_bert(model), model))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = sum(loss(*as_trainer(KnowledgeInjectionCollator(lambda rows: mask(model, rows))(ROWS))).values())
    value.backward()
    assert value.isfinite() and all(p.grad is None or p.grad.isfinite().all() for p in loss.parameters())


def test_bad_arguments_are_one_line(model, tiny_bert_folder, tmp_path):
    with pytest.raises(InputError, match="masked_weight must be a number of at least 0, found -1"):
        KnowledgeInjectionLoss(model, masked_weight=-1)
    for head in (None, nn.Identity()):
        with pytest.raises(InputError, match="at least one weight of a trained part must be above 0, found only 0"):
            KnowledgeInjectionLoss(model, head, masked_weight=float(head is None), linking_weight=0)
    with pytest.raises(InputError, match="the model has no injection of knowledge"):
        KnowledgeInjectionLoss(SentenceTransformer(str(tiny_bert_folder), device="cpu"))
    with pytest.raises(InputError, match="the masked batch has no 'mention_spans', it has input_ids"):
        KnowledgeInjectionCollator(lambda rows: {"input_ids": None})(ROWS)
    with pytest.raises(InputError, match="the masked language model has width 32, the encoder 16"):
        MaskedLanguageHead(BertForMaskedLM(BertConfig(vocab_size=9, **{**SIZE, "hidden_size": 32})), model)
    (features,), _ = as_trainer(KnowledgeInjectionCollator(lambda rows: mask(model, rows))(ROWS))
    for loss in (EntityLinkingLoss, KnowledgeInjectionLoss):
        with pytest.raises(InputError, match=f"^{loss.__name__} cannot be wrapped .*: it is a loss of the states"):
            MatryoshkaLoss(model, loss(model), [16, 8])([features], torch.zeros(len(ROWS), 1))
    config = KnowledgeInjectionLoss(model).get_config_dict()
    assert config["entities"] == 9 and config["masked_language"] is False
    assert KnowledgeInjectionLoss(model).citation == EntityLinkingLoss(model).citation


def test_the_collator_keeps_the_name_of_the_dataset():
    """Catches a dictionary of losses, from which the trainer takes the loss by this name."""
    nothing = torch.zeros(1, 1, dtype=torch.int64)
    batch = {"input_ids": nothing, "mention_spans": nothing[..., None], "labels": nothing, "entity_labels": nothing}
    collate = KnowledgeInjectionCollator(lambda rows: dict(batch))
    assert collate([{"text": "a", "dataset_name": "texts"}])["dataset_name"] == "texts"
    assert "dataset_name" not in collate([{"text": "a"}])
