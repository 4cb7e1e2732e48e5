"""Parameters of a loss are trained, saved and resumed like the model's."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.base.evaluation import BaseEvaluator
from sentence_transformers.sentence_transformer.losses import MatryoshkaLoss
from torch import Tensor, nn
from transformers import TrainerCallback, TrainerControl, TrainerState

from st_biomed.errors import InputError
from st_biomed.losses import loss_parameters_callback
from st_biomed.losses.distilled import DistilledLoss
from st_biomed.losses.embed import embed_columns
from st_biomed.losses.loss_parameters_callback import (
    LossParametersCallback,
    own_parameters,
    own_state,
    require_loss_parameters_callback,
)
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.self_distillation import SelfDistillationLoss

NAMES = ["flu", "acute flu", "zoster", "shingles", "bronchitis", "chronic bronchitis", "gout", "podagra"]


class RelationLoss(nn.Module):
    """Moves a name towards the vector of its class, from a table that the loss learns."""

    def __init__(self, model: SentenceTransformer | None, scale: float = 1.0) -> None:
        super().__init__()
        self.model = model
        self.scale = scale
        self.relations = nn.Parameter(torch.linspace(-1, 1, 4 * 16).reshape(4, 16))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)

    def forward(self, features, labels: Tensor) -> Tensor:
        require_loss_parameters_callback(self)
        self.seen += 1
        (names,) = embed_columns(self.model, features)
        return self.scale * (names - self.relations[labels]).square().sum()


def train(
    folder: Path,
    model_folder: Path,
    *,
    callbacks_of=LossParametersCallback,
    resume=None,
    evaluator=None,
    **arguments,
) -> RelationLoss:
    """Four steps of four names, a checkpoint after the second."""
    model = SentenceTransformer(str(model_folder), device="cpu")
    loss = RelationLoss(model)
    settings = {"max_steps": 4, "save_steps": 2, "per_device_train_batch_size": 4, "learning_rate": 1e-2} | arguments
    args = SentenceTransformerTrainingArguments(
        output_dir=str(folder), use_cpu=True, logging_steps=1, disable_tqdm=True, **settings
    )
    trainer = SentenceTransformerTrainer(
        model=model,
        args=args,
        loss=loss,
        train_dataset=Dataset.from_dict({"text": NAMES, "label": [0, 0, 1, 1, 2, 2, 3, 3]}),
        evaluator=evaluator,
        callbacks=[] if callbacks_of is None else [callbacks_of(loss)],
    )
    trainer.train(resume_from_checkpoint=resume)
    return loss


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny_bert_folder) -> tuple[Path, RelationLoss]:
    folder = tmp_path_factory.mktemp("run")
    return folder, train(folder, tiny_bert_folder)


def test_a_resumed_run_ends_where_the_uninterrupted_one_does(run, tiny_bert_folder, tmp_path):
    """Catches a table that starts again from its first values, as the trainer alone leaves it."""
    folder, loss = run
    shutil.copytree(folder / "checkpoint-2", tmp_path / "checkpoint-2")
    resumed = train(tmp_path, tiny_bert_folder, resume=True)
    assert not torch.allclose(loss.relations, RelationLoss(None).relations, atol=1e-3)
    torch.testing.assert_close(resumed.state_dict(), loss.state_dict())
    assert resumed.seen == 4


class BestAtTwo(BaseEvaluator):
    """Finds the model best at the second step."""

    def __call__(self, model, output_path=None, epoch=-1, steps=-1) -> dict[str, float]:
        return {"score": float(steps == 2)}


def test_the_best_model_keeps_the_parameters_of_its_checkpoint(tiny_bert_folder, tmp_path):
    """Catches a graph encoder of the last step that is released beside the encoder of the best one."""
    best = {
        "eval_strategy": "steps",
        "eval_steps": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": "score",
    }
    loss = train(tmp_path, tiny_bert_folder, evaluator=BestAtTwo(), **best)
    at = {step: load_file(tmp_path / f"checkpoint-{step}" / "loss.safetensors") for step in (2, 4)}
    torch.testing.assert_close(at[2]["relations"], loss.relations.detach(), rtol=0, atol=0)
    assert not torch.equal(at[4]["relations"], loss.relations) and loss.seen == at[2]["seen"]


def test_a_checkpoint_holds_what_the_loss_owns_and_no_more(run):
    """Catches the encoder saved twice, and buffers forgotten."""
    folder, loss = run
    saved = load_file(folder / "checkpoint-4" / "loss.safetensors")
    assert saved.keys() == {"relations", "seen"}
    torch.testing.assert_close(saved["relations"], loss.relations.detach())


def begin(callback: TrainerCallback, args=None, state: TrainerState | None = None, **kwargs) -> None:
    args = args or SimpleNamespace(fp16=False)
    callback.on_train_begin(args, state or TrainerState(), TrainerControl(), **kwargs)


def resume_state(folder: Path) -> TrainerState:
    return TrainerState.load_from_json(str(folder / "checkpoint-2" / "trainer_state.json"))


def test_a_checkpoint_elsewhere_is_found_by_the_training_arguments(run, tmp_path):
    """Catches a run that resumes from another folder and takes the table from its own old checkpoint of that step."""
    folder, _ = run
    other = tmp_path / "other" / "checkpoint-2"
    shutil.copytree(folder / "checkpoint-2", other)
    state = json.loads((folder / "checkpoint-2" / "trainer_state.json").read_text())
    state["log_history"][0]["loss"] = float("nan")
    (other / "trainer_state.json").write_text(json.dumps(state))
    resumed = TrainerState.load_from_json(str(other / "trainer_state.json"))
    args = SimpleNamespace(fp16=False, output_dir=str(folder), resume_from_checkpoint=None)
    with pytest.raises(InputError, match=r"resumes at step 2, whose checkpoint is not .*set resume_from_checkpoint"):
        begin(LossParametersCallback(RelationLoss(None)), args, resumed)
    args.resume_from_checkpoint = str(other)
    loss = RelationLoss(None)
    begin(LossParametersCallback(loss), args, resumed)
    torch.testing.assert_close(loss.relations.detach(), load_file(other / "loss.safetensors")["relations"])


def test_a_checkpoint_without_the_table_is_refused(run, tmp_path):
    """Catches a run that goes on with a fresh table and old optimizer state."""
    shutil.copytree(run[0] / "checkpoint-2", tmp_path / "checkpoint-2")
    (tmp_path / "checkpoint-2" / "loss.safetensors").unlink()
    args = SimpleNamespace(fp16=False, output_dir=str(tmp_path), resume_from_checkpoint=None)
    with pytest.raises(InputError, match=r"loss\.safetensors: missing"):
        begin(LossParametersCallback(RelationLoss(None)), args, resume_state(tmp_path))


def test_a_table_of_another_shape_is_refused(run):
    """Catches values copied into a table with other relations."""
    loss = RelationLoss(None)
    loss.relations = nn.Parameter(torch.zeros(5, 16))
    args = SimpleNamespace(fp16=False, output_dir=str(run[0]), resume_from_checkpoint=None)
    with pytest.raises(InputError, match=r"holds .*'relations': \[4, 16\].*the loss has .*\[5, 16\]"):
        begin(LossParametersCallback(loss), args, resume_state(run[0]))


def test_gradients_are_clipped_as_a_group_and_cleared_after_the_step(tiny_bert):
    """Catches a table that explodes, and gradients that add up over the steps."""
    loss = RelationLoss(tiny_bert)
    for parameter in loss.parameters():
        parameter.grad = torch.full_like(parameter, 7.0)
    callback = LossParametersCallback({"relations": loss})
    args = SimpleNamespace(max_grad_norm=0.5)
    callback.on_pre_optimizer_step(args, TrainerState(), TrainerControl())
    torch.testing.assert_close(loss.relations.grad.norm(), torch.tensor(0.5), atol=1e-4, rtol=0)
    assert all((parameter.grad == 7.0).all() for parameter in tiny_bert.parameters())
    callback.on_step_end(args, TrainerState(), TrainerControl())
    assert loss.relations.grad is None


def test_own_parameters_are_those_beside_the_encoder(tiny_bert):
    """Catches a table inside a wrapper being missed, and the encoder or frozen parts being taken for the loss's."""
    loss = RelationLoss(tiny_bert)
    loss.frozen = nn.Parameter(torch.zeros(2), requires_grad=False)
    wrapped = MatryoshkaLoss(tiny_bert, loss, [16, 8])
    assert own_parameters(wrapped).keys() == {"loss.relations"}
    assert own_state(wrapped).keys() == {"loss.relations", "loss.frozen", "loss.seen"}
    assert not own_parameters(MultiSimilarityLoss(tiny_bert))


def test_a_name_with_a_dot_is_refused_in_one_line(tiny_bert):
    """Catches a KeyError of torch, which has no such name of a module."""
    with pytest.raises(InputError, match="losses: the name of a dataset must have no dot, found 'icd.10'"):
        LossParametersCallback({"mesh": RelationLoss(tiny_bert), "icd.10": RelationLoss(tiny_bert)})


def test_several_processes_need_the_callback(monkeypatch, tiny_bert):
    """Catches tables that drift apart between processes without a word."""
    monkeypatch.setattr(loss_parameters_callback, "get_world_size", lambda: 2)
    monkeypatch.setattr(loss_parameters_callback.dist, "broadcast", lambda tensor, src: None)
    loss, other = RelationLoss(tiny_bert), RelationLoss(tiny_bert)
    begin(LossParametersCallback(other))
    require_loss_parameters_callback(other)
    require_loss_parameters_callback(MultiSimilarityLoss(tiny_bert))
    with pytest.raises(InputError, match=r"RelationLoss learns relations.*LossParametersCallback\(loss\)"):
        require_loss_parameters_callback(loss)
    with torch.no_grad():
        require_loss_parameters_callback(loss)
    loss.model = None
    distilled = DistilledLoss(tiny_bert, loss, SelfDistillationLoss(None, np.ones((2, 16))))
    with pytest.raises(InputError, match="RelationLoss learns relations"):
        distilled([tiny_bert.preprocess(["a", "b"])], torch.tensor([0, 1]))
    with pytest.raises(InputError, match="fp16 with several processes cannot learn relations, seen"):
        begin(LossParametersCallback(other), SimpleNamespace(fp16=True))


def test_one_process_without_the_callback_is_warned_once(tiny_bert):
    """Catches a resumed run that begins with new parameters without a word."""
    loss, other = RelationLoss(tiny_bert), RelationLoss(tiny_bert)
    begin(LossParametersCallback(other))
    with pytest.warns(UserWarning, match=r"RelationLoss learns relations, which checkpoints .* do not hold"):
        require_loss_parameters_callback(loss)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for quiet in (loss, other, MultiSimilarityLoss(tiny_bert)):
            require_loss_parameters_callback(quiet)


def test_a_second_training_needs_a_callback_of_its_own(tiny_bert):
    """Catches a second stage whose parameters are not handled, because those of the first were."""
    loss = RelationLoss(tiny_bert)
    callback = LossParametersCallback(loss)
    begin(callback)
    require_loss_parameters_callback(loss)
    callback.on_train_end(SimpleNamespace(load_best_model_at_end=False), TrainerState(), TrainerControl())
    with pytest.warns(UserWarning, match="RelationLoss learns relations"):
        require_loss_parameters_callback(loss)


def test_the_names_of_datasets_are_those_of_the_trainer(tiny_bert):
    """Catches names that a module dictionary of torch has methods of."""
    callback = LossParametersCallback({"items": RelationLoss(tiny_bert), "values": RelationLoss(tiny_bert)})
    assert own_parameters(callback.loss).keys() == {"items.relations", "values.relations"}
