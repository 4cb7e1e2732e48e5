"""Masked-language training that scores masked tokens alone: transformers' own loss and gradients."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DistilBertConfig,
    DistilBertForMaskedLM,
    Trainer,
    TrainingArguments,
)

from st_biomed.training.masked_language import MaskedLanguageTrainer, scoring_only

PIECES = 50


def bert() -> nn.Module:
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    without_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return BertForMaskedLM(BertConfig(vocab_size=PIECES, **size, **without_dropout)).eval()


def distilbert() -> nn.Module:
    torch.manual_seed(0)
    return DistilBertForMaskedLM(
        DistilBertConfig(vocab_size=PIECES, dim=16, hidden_dim=32, n_layers=1, n_heads=2)
    ).eval()


class WithoutALayer(BertForMaskedLM):
    """A head that has no last layer of its own, as some of transformers' have none."""

    def get_output_embeddings(self):
        return None


def without_a_layer() -> nn.Module:
    return WithoutALayer(bert().config).eval()


def batch() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, PIECES, (3, 7), generator=generator)
    labels = torch.where(torch.rand(3, 7, generator=generator) < 0.3, ids, -100)
    mask = torch.ones_like(ids)
    mask[1, 4:] = 0
    labels[1, 4:] = -100
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def trainer(model: nn.Module, folder: Path, **arguments) -> MaskedLanguageTrainer:
    training = TrainingArguments(output_dir=str(folder), use_cpu=True, report_to="none", **arguments)
    return MaskedLanguageTrainer(model=model, args=training, train_dataset=[{}])


@pytest.mark.parametrize("model", [bert, distilbert, without_a_layer])
def test_loss_and_gradients_are_those_of_transformers(model, tmp_path):
    """Against the model's own loss over all scores; catches labels that lost their tokens, and a mean over the wrong count."""
    ours, theirs = model(), model()
    theirs.load_state_dict(ours.state_dict())
    loss = trainer(ours, tmp_path).compute_loss(ours, batch())
    expected = theirs(**batch()).loss
    loss.backward()
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    for (name, got), (_, want) in zip(ours.named_parameters(), theirs.named_parameters()):
        assert torch.allclose(got.grad, want.grad, atol=1e-6), name


def test_labels_are_smoothed_as_the_host_smooths_them(tmp_path):
    """Against transformers' own trainer; catches an argument that is taken and changes nothing."""
    model = bert()
    ours = trainer(model, tmp_path, label_smoothing_factor=0.1)
    theirs = Trainer(model=model, args=ours.args, train_dataset=[{}])
    expected = theirs.compute_loss(model, batch()).item()
    assert ours.compute_loss(model, batch()).item() == pytest.approx(expected, abs=1e-6)
    assert expected != pytest.approx(trainer(model, tmp_path).compute_loss(model, batch()).item(), abs=1e-4)


def test_only_labeled_tokens_are_scored_and_only_inside():
    """Catches a head that scores every token, which is most of the time at a vocabulary of 40,000."""
    model, inputs = bert(), batch()
    labeled = inputs.pop("labels") != -100
    with torch.inference_mode():
        everything = model(**inputs).logits
        with scoring_only(model, labeled):
            some = model(**inputs).logits
        again = model(**inputs).logits
    assert 0 < labeled.sum() < labeled.numel()
    assert some.shape == (labeled.sum(), PIECES)
    assert torch.allclose(some, everything[labeled], atol=1e-6)
    assert again.shape == everything.shape


def test_a_batch_without_labels_has_a_loss_of_zero(tmp_path):
    """Catches the mean over nothing, which is not a number and ends a training."""
    model, inputs = bert(), batch()
    inputs["labels"] = torch.full_like(inputs["labels"], -100)
    loss = trainer(model, tmp_path).compute_loss(model, inputs)
    loss.backward()
    assert loss.item() == 0.0


def test_accumulated_batches_are_averaged(tmp_path):
    """Two batches accumulated step as their mean; catches a loss that grows with the batches that are accumulated."""
    once, twice = (trainer(bert(), tmp_path, gradient_accumulation_steps=n) for n in (1, 2))
    for trainer_, steps in ((once, 1), (twice, 2)):
        trainer_.current_gradient_accumulation_steps = steps
        for _ in range(steps):
            trainer_.training_step(trainer_.model, batch(), torch.tensor(8))
    for (name, got), (_, want) in zip(twice.model.named_parameters(), once.model.named_parameters()):
        assert torch.allclose(got.grad, want.grad, atol=1e-6), name
