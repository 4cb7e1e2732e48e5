"""What a card says of clipped gradients, and that the trainer clips as its argument says."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from torch import Tensor, nn

from st_biomed.release.card import BiomedCard
from st_biomed.release.gradients import clipping
from st_biomed.release.run_data import MetricData, RunData, empty_run


def run_of(limit: float | None, *norms: float | None) -> RunData:
    run = empty_run()
    run["training_arguments"] = {} if limit is None else {"max_grad_norm": limit}
    run["metrics"] = [MetricData(step=i, epoch=None, name="grad_norm", value=norm) for i, norm in enumerate(norms)]
    run["metrics"].append(MetricData(step=0, epoch=None, name="loss", value=9.0))
    return run


@pytest.mark.parametrize(
    ("run", "clause"),
    [
        (
            run_of(1.0, 0.5, 130.0, 2090.0),
            "clipped to a norm of 1, which 2 of the 3 logged norms exceed (median 130.0000, largest 2090.0000)",
        ),
        (
            run_of(0.5, 0.5, 0.25),
            "clipped to a norm of 0.5, which 0 of the 2 logged norms exceed (median 0.3750, largest 0.5000)",
        ),
        (
            run_of(1.0, 2.0, None),
            "clipped to a norm of 1, which 2 of the 2 logged norms exceed (median 2.0000, largest 2.0000, 1 not finite)",
        ),
        (run_of(0.0, 3.0, 5.0), "not clipped; norms of the 2 logged steps: median 4.0000, largest 5.0000"),
        (
            run_of(1.0, 0.0, 0.0),
            "clipped to a norm of 1; no logged step had a gradient, so that nothing was learned there",
        ),
        (
            run_of(1.0, 0.0, None),
            "clipped to a norm of 1, which 1 of the 2 logged norms exceed (median 0.0000, largest 0.0000, 1 not finite)",
        ),
        (run_of(0.0), "not clipped; no norm was logged"),
        (run_of(1.0), "clipped to a norm of 1; no norm was logged"),
        (run_of(None), ""),
    ],
)
def test_the_clause_counts_the_norms_that_were_logged(run: RunData, clause: str):
    """Catches a norm at the limit that is counted as clipped, and a run without clipping that seems to have had it."""
    assert clipping(run) == clause


def test_norms_of_phases_are_counted_together():
    """Catches a run of several phases whose card says that no norm was logged."""
    run = run_of(1.0, 0.5, 2.0)
    for entry, phase in zip(run["metrics"], ("contrastive", "student-1")):
        entry["name"] = f"{phase}/grad_norm"
    assert "which 1 of the 2 logged norms exceed" in clipping(run)


def test_the_card_says_whether_gradients_were_clipped(trained, tiny_bert: SentenceTransformer):
    """Catches a card from which nobody learns that every step was rescaled, or that none was."""
    (line,) = [line for line in BiomedCard.from_run(trained.run).render(tiny_bert).splitlines() if "Gradients" in line]
    norms = [entry["value"] for entry in trained.run["metrics"] if entry["name"] == "grad_norm"]
    assert line.startswith("- **Gradients:** clipped to a norm of 1, which ")
    assert f" of the {len(norms)} logged norms exceed (median " in line and len(norms) == 2
    run: RunData = {**trained.run, "training_arguments": {**trained.run["training_arguments"], "max_grad_norm": 0.0}}
    assert "- **Gradients:** not clipped; norms of the 2 logged steps: " in BiomedCard.from_run(run).render(tiny_bert)
    assert "Gradients" not in BiomedCard(local_files_only=True).render(tiny_bert)


class Steep(nn.Module):
    """A loss whose gradient is far longer than 1."""

    def __init__(self, model: SentenceTransformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, columns: list[dict[str, Tensor]], labels: Tensor | None) -> Tensor:
        return 100 * sum(self.model(column)["sentence_embedding"].sum() for column in columns)


@pytest.mark.parametrize("limit", [0.0, 1.0])
def test_the_host_clips_at_the_limit_and_leaves_gradients_alone_at_zero(
    limit: float, tiny_bert_folder: Path, tmp_path: Path
):
    """What `max_grad_norm: 0` of the configurations rests on: a step of plain descent is as long as the gradient."""
    model = SentenceTransformer(str(tiny_bert_folder), device="cpu")
    before = [weight.detach().clone() for weight in model.parameters()]
    trainer = SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(
            output_dir=str(tmp_path),
            max_steps=1,
            per_device_train_batch_size=2,
            max_grad_norm=limit,
            logging_steps=1,
            lr_scheduler_type="constant",
            report_to="none",
            save_strategy="no",
            use_cpu=True,
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_dict({"name": ["gradtha", "flumpa"]}),
        loss=Steep(model),
        optimizers=(torch.optim.SGD(model.parameters(), lr=1e-4), None),
    )
    trainer.train()
    moved = math.sqrt(sum(float(((new.detach() - old) ** 2).sum()) for new, old in zip(model.parameters(), before)))
    if limit:
        assert next(entry["grad_norm"] for entry in trainer.state.log_history if "grad_norm" in entry) > 10 * limit
        assert moved == pytest.approx(1e-4 * limit, rel=0.05)
    else:
        assert moved > 1e-3
