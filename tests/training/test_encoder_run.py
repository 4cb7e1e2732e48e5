"""The training of an encoder: it ends with the best weights or with an error, and it trains something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from sentence_transformers.base.evaluation import BaseEvaluator
from transformers import TrainerCallback

from st_biomed.encoder.digest import model_digest
from st_biomed.errors import InputError
from st_biomed.losses import MultiSimilarityLoss
from st_biomed.losses.miners import TripletMarginMiner
from st_biomed.training.arguments import EncoderArguments
from st_biomed.training.encoder_run import NOTHING_LEARNED, record_run, train_encoder
from st_biomed.training.trained_parameters import prepare_encoder

NAMES = ["flu", "acute flu", "zoster", "shingles", "bronchitis", "chronic bronchitis", "gout", "podagra"]


class BestAtTwo(BaseEvaluator):
    """Finds the model best at the second step."""

    def __init__(self) -> None:
        super().__init__()
        self.primary_metric = "score"

    def __call__(self, model, output_path=None, epoch=-1, steps=-1) -> dict[str, float]:
        return {"score": float(steps == 2)}


class Watch(TrainerCallback):
    """Remembers the model of each step, and may damage a checkpoint once it is written."""

    def __init__(self, damaged: int = 0) -> None:
        self.damaged = damaged
        self.digests: dict[int, str] = {}

    def on_save(self, args, state, control, **kwargs: Any) -> None:
        self.digests[state.global_step] = model_digest(kwargs["model"])
        for file in Path(args.output_dir).glob(f"checkpoint-{self.damaged}/modules.json"):
            file.write_text("{")


def train(model: SentenceTransformer, folder: Path, watch: Watch, resumed: Path | None = None, **changed: Any) -> None:
    recipe = EncoderArguments(base_model="tiny", **changed)
    training = SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        use_cpu=True,
        max_steps=3,
        save_steps=1,
        eval_strategy="steps",
        eval_steps=1,
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        load_best_model_at_end=True,
        metric_for_best_model="score",
        disable_tqdm=True,
        resume_from_checkpoint=None if resumed is None else str(resumed),
    )
    loss = MultiSimilarityLoss(model, miner=None)
    rows = Dataset.from_dict({"text": NAMES, "label": [0, 0, 1, 1, 2, 2, 3, 3]})
    record = record_run("sapbert", recipe, training, {"names": loss}, terminologies=[])
    train_encoder(model, recipe, training, rows, loss, record, watch, dev=BestAtTwo())


@pytest.mark.parametrize("changed", [{}, {"ema_decay": 0.5}], ids=["weights", "average"])
def test_the_best_weights_are_loaded(tiny_bert: SentenceTransformer, tmp_path: Path, changed: dict[str, Any]):
    """Catches an error where nothing failed, as of an average that replaces the weights."""
    watch = Watch()
    train(tiny_bert, tmp_path, watch, **changed)
    assert len(set(watch.digests.values())) == 3
    assert (model_digest(tiny_bert) == watch.digests[2]) == (not changed)


def test_a_best_checkpoint_that_was_set_aside_is_missed_before_training(
    tiny_bert: SentenceTransformer, tmp_path: Path
):
    """Catches the last weights in place of the best, which sentence-transformers forgets where their checkpoint has another name."""
    train(tiny_bert, tmp_path, Watch())
    best = (tmp_path / "checkpoint-2").rename(tmp_path / "earlier-checkpoint-2")
    with pytest.raises(InputError, match=r"its best checkpoint, with score 1\.0000, is not where it was: rename"):
        train(tiny_bert, tmp_path, Watch(), tmp_path / "checkpoint-3")
    best.rename(tmp_path / "checkpoint-2")
    train(tiny_bert, tmp_path, Watch(), tmp_path / "checkpoint-3")


def test_a_model_that_is_frozen_as_a_whole_is_refused(tiny_bert: SentenceTransformer, tmp_path: Path):
    """Catches a traceback of the first backward pass."""
    prepare_encoder(tiny_bert, None, ".")
    with pytest.raises(InputError, match=r"frozen: '\.' matches all parameters, so that none is left to train"):
        train(tiny_bert, tmp_path, Watch(), frozen=".")


def test_weights_that_were_not_loaded_are_an_error(tiny_bert: SentenceTransformer, tmp_path: Path):
    """Catches the release of the last weights as the best ones: sentence-transformers only logs the error."""
    with pytest.raises(InputError, match=r"checkpoint-2: is the best checkpoint, and its weights were not loaded"):
        train(tiny_bert, tmp_path, Watch(damaged=2))


def test_a_training_without_a_gradient_is_told(tiny_bert, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Catches a release on which nothing was trained, which says that it is saved."""
    for miner, told in ((TripletMarginMiner(0.0), True), (None, False)):
        training = SentenceTransformerTrainingArguments(
            output_dir=str(tmp_path / "out"), use_cpu=True, max_steps=2, save_strategy="no", report_to="none"
        )
        apart = Dataset.from_dict({"text": NAMES[:4], "label": [0, 1, 2, 3]})  # no two names of one concept
        rows = apart if told else Dataset.from_dict({"text": NAMES[:4], "label": [0, 0, 1, 1]})
        loss, recipe = MultiSimilarityLoss(tiny_bert, miner=miner), EncoderArguments(base_model="tiny")
        record = record_run("sapbert", recipe, training, {"names": loss}, terminologies=[])
        train_encoder(tiny_bert, recipe, training, rows, loss, record)
        assert (NOTHING_LEARNED in capsys.readouterr().out) == told
