"""A small few-shot encoder, and a run of the trainer that is watched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.modules import InputModule, Module
from torch import Tensor, nn
from transformers import TrainerCallback

from st_biomed.losses import FewShotLoss, FewShotNegativesCallback, FewShotValidationCallback
from st_biomed.losses.few_shot_names import FewShotNames

SHOTS, CONCEPTS, WIDTH = 4, 3, 8


def names_of(seed: int) -> tuple[Tensor, Tensor]:
    """Names around three centers, far apart from each other and from their centers."""
    generator = torch.Generator().manual_seed(seed)
    centers = torch.randn(CONCEPTS, WIDTH, generator=torch.Generator().manual_seed(99))
    labels = torch.arange(CONCEPTS).repeat_interleave(SHOTS)
    return centers[labels] + torch.randn(len(labels), WIDTH, generator=generator), labels


TRAIN, LABELS = names_of(0)
VALIDATION, VALIDATION_LABELS = names_of(1)


class Table(InputModule):
    """Vectors of names "0", "1", ..."""

    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors, persistent=False)

    def preprocess(self, inputs: list[str], prompt: str | None = None, **kwargs: Any) -> dict[str, Tensor]:
        return {"sentence_embedding": self.vectors[[int(text) for text in inputs]]}

    def forward(self, features: dict[str, Tensor], **kwargs: Any) -> dict[str, Tensor]:
        return features

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        save_file({"vectors": self.vectors}, Path(output_path) / "table.safetensors")

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any) -> Table:
        return cls(load_file(Path(model_name_or_path) / subfolder / "table.safetensors")["vectors"])


class Residual(Module):
    """f(u) = (FFN(u) + u) / 2."""

    config_keys = ["width"]

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.ffn = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, width))

    def forward(self, features: dict[str, Tensor], **kwargs: Any) -> dict[str, Tensor]:
        u = features["sentence_embedding"]
        return {**features, "sentence_embedding": (self.ffn(u) + u) / 2}

    def get_embedding_dimension(self) -> int:
        return self.width

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        self.save_config(output_path)
        self.save_torch_weights(output_path)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any) -> Residual:
        config = cls.load_config(model_name_or_path, subfolder=subfolder)
        return cls.load_torch_weights(model_name_or_path, subfolder=subfolder, model=cls(**config))


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


class Watcher(TrainerCallback):
    """Keeps the weights with which every epoch begins and ends, and the negatives drawn for it."""

    def __init__(self, names: FewShotNames) -> None:
        self.names = names
        self.begun: list[dict[str, Tensor]] = []
        self.ended: list[dict[str, Tensor]] = []
        self.drawn: list[Tensor] = []

    def on_epoch_begin(self, args, state, control, **kwargs):
        self.begun.append(weights(kwargs["model"]))
        self.drawn.append(self.names.drawn.clone())

    def on_epoch_end(self, args, state, control, **kwargs):
        self.ended.append(weights(kwargs["model"]))


class Run:
    """A small training; with ``validated``, one that stops."""

    def __init__(
        self, folder: Path, *, epochs: int = 4, validated: bool = True, resume: Path | None = None, **settings: Any
    ) -> None:
        torch.manual_seed(5)
        self.model = SentenceTransformer(modules=[Table(TRAIN), Residual(WIDTH)], device="cpu")
        self.loss = FewShotLoss(self.model, TRAIN, LABELS, seed=settings.pop("draw_seed", 0))
        self.validation = FewShotValidationCallback(
            self.loss, VALIDATION, VALIDATION_LABELS, lookback=settings.pop("lookback", 10)
        )
        self.watcher = Watcher(self.loss.names)
        callbacks = [FewShotNegativesCallback(self.loss), self.watcher]
        arguments = SentenceTransformerTrainingArguments(
            output_dir=str(folder),
            num_train_epochs=epochs,
            use_cpu=True,
            disable_tqdm=True,
            resume_from_checkpoint=None if resume is None else str(resume),
            **{
                "per_device_train_batch_size": 5,
                "learning_rate": 1e-2,
                "lr_scheduler_type": "constant",
                "save_strategy": "no",
                **settings,
            },
        )
        rows = {"text": [str(i) for i in range(len(LABELS))], "label": LABELS.tolist()}
        self.trainer = SentenceTransformerTrainer(
            model=self.model,
            args=arguments,
            train_dataset=Dataset.from_dict(rows),
            loss=self.loss,
            callbacks=[*callbacks, self.validation] if validated else callbacks,
        )
        self.trainer.train(resume_from_checkpoint=None if resume is None else str(resume))
        self.weights = weights(self.model)
