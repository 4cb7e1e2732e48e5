"""A step of masked-language training that scores masked tokens alone, beside transformers' trainer, which scores all."""

from __future__ import annotations

import tempfile
from collections.abc import Callable

import torch
from torch import Tensor
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments

from benchmarks.harness import Table, interleaved, peak_memory
from st_biomed.training.masked_language import MaskedLanguageTrainer

LAYERS, DIMENSION, PIECES = 6, 384, 43_000  # MiniLM with the pieces of an Italian corpus
BATCH, LENGTH, SHARE = 32, 128, 0.15
TRAINERS: dict[str, type[Trainer]] = {"ours": MaskedLanguageTrainer, "transformers": Trainer}


def batch(rows: int) -> dict[str, Tensor]:
    """Full sequences of which 15% of the tokens have a label, ``[rows, LENGTH]``."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, PIECES, (rows, LENGTH), generator=generator)
    labels = torch.where(torch.rand(rows, LENGTH, generator=generator) < SHARE, ids, -100)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}


def stepper(name: str, rows: int) -> Callable[[], object]:
    """Forward and backward pass of one trainer."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=PIECES,
        hidden_size=DIMENSION,
        num_hidden_layers=LAYERS,
        num_attention_heads=12,
        intermediate_size=4 * DIMENSION,
    )
    model = BertForMaskedLM(config)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(output_dir=folder, report_to="none", save_strategy="no", use_cpu=True)
    trainer = TRAINERS[name](model=model, args=arguments, train_dataset=[{}])
    inputs = batch(rows)

    def step() -> None:
        model.zero_grad()
        loss = trainer.compute_loss(model, dict(inputs))
        assert isinstance(loss, Tensor)
        loss.backward()

    return step


def main(*, quick: bool = False) -> Table:
    rows = []
    for size in (2,) if quick else (8, BATCH):
        times = interleaved({name: stepper(name, size) for name in TRAINERS}, repeats=2 if quick else 7)
        memory = [peak_memory(stepper, name, size) for name in TRAINERS]
        rows.append(
            [
                size,
                *(f"{times[name].median:.2f} s" for name in TRAINERS),
                f"{times['ours'].times_faster_than(times['transformers']):.2f}",
                *(f"{megabytes:,.0f} MB" for megabytes in memory),
            ]
        )
    return Table(
        "Masked-language training",
        ["sequences", "ours", "transformers", "times faster", "memory, ours", "transformers"],
        rows,
        notes=[
            f"Forward and backward pass of a BERT with {LAYERS} layers, {DIMENSION} dimensions and {PIECES:,} word pieces on "
            f"sequences of {LENGTH} tokens, of which {SHARE:.0%} are masked: the trainer of `extend_bert` and the trainer of "
            "transformers, with the same loss and gradients (`tests/training/test_masked_language.py`). Medians of interleaved "
            "rounds; memory is the rise of a fresh process during one step."
        ],
        peers=["transformers"],
    )
