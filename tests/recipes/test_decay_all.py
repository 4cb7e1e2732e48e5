"""What ``--decay_all`` says of the optimizer: the published code decays biases and layer norms, the trainer does not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformerTrainer
from torch import nn

from recipes import bergamot, hiprbert, sapbert

CONFIGS = Path(sapbert.__file__).parent / "configs"


class Made(Exception):
    """The optimizer is there, and nothing needs to be trained."""


@pytest.mark.long
@pytest.mark.parametrize(
    "recipe", [sapbert, hiprbert, bergamot], ids=lambda module: module.__name__.rpartition(".")[2]
)
@pytest.mark.parametrize("all_of_them", [True, False])
def test_every_parameter_decays_where_it_is_asked_for(
    recipe, all_of_them: bool, tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Catches an argument that reaches no optimizer, and a graph encoder or an encoder that is in none."""
    name = recipe.__name__.rpartition(".")[2]
    made: list[tuple[nn.Module, torch.optim.Optimizer]] = []

    def stop(self: SentenceTransformerTrainer, **_: object) -> None:
        self.create_optimizer()
        losses = self.loss.values() if isinstance(self.loss, dict) else [self.loss]
        made.append((nn.ModuleList([self.model, *losses]), self.optimizer))
        raise Made

    monkeypatch.setattr(SentenceTransformerTrainer, "train", stop)
    given = ["--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out", "--decay_all", all_of_them]
    words = [str(CONFIGS / f"{name}_smoke.yaml"), *map(str, given), "--weight_decay", "0.01", "--use_cpu", "true"]
    words += ["--optim", "adagrad", "--learning_rate_mapping", '{"embeddings": 0.125}']
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *words])
    with pytest.raises(Made):
        recipe.main()
    ((modules, optimizer),) = made
    held = {id(parameter): group["weight_decay"] for group in optimizer.param_groups for parameter in group["params"]}
    decays = {key: held.get(id(parameter)) for key, parameter in modules.named_parameters() if parameter.requires_grad}
    assert None not in decays.values()
    assert isinstance(optimizer, torch.optim.Adagrad) and 0.125 in {group["lr"] for group in optimizer.param_groups}
    assert any(value == 0.01 for value in decays.values())
    assert any(value == 0 for value in decays.values()) is not all_of_them
    assert any("graph_encoder" in key for key in decays) is (recipe is bergamot)
