"""Fine-tune an encoder on a linking data set (SapBERT, section 4.1): training mentions with all names of their concepts.

    python recipes/sapbert_finetune.py recipes/configs/sapbert_finetune.yaml --base_model out/sapbert \
        --linking evaluation/benchmarks/ncbi_disease.yaml

Pairs every mention of the training split with every name of its concepts in the dictionary, trains with the
multi-similarity loss, links the test split before and after, and writes a folder that plain sentence-transformers loads.
Test mentions are measured and nothing else. Every argument of the trainer is an argument here too.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from transformers import set_seed

from st_biomed.batches import EpochCallback, ShuffledBatches
from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import read_protocol
from st_biomed.evaluators.linking_protocol import LinkingProtocol, LinkingSuite
from st_biomed.finish import measure_and_release
from st_biomed.linking_data.preparation import prepare
from st_biomed.losses.ablation import LOSSES, loss_by_name
from st_biomed.losses.callbacks import TerminologyDigestCallback
from st_biomed.release.run_record import RunRecord
from st_biomed.samples import mention_pairs
from st_biomed.settings import read_settings, run_recipe
from st_biomed.training import (
    EncoderArguments,
    decaying_all,
    measured_in_training,
    output_folders,
    resume_point,
    with_precision,
)

EPOCHS = {"ncbi_disease": 3, "bc5cdr": 3, "medmentions": 3, "askapatient": 15, "cometa": 10}
"""By format: "On scientific language datasets, we train for 3 epochs while on AskAPatient and COMETA we train for 15 and
10 epochs respectively" (4.1)."""


@dataclass
class FinetuningArguments(EncoderArguments):
    """The paper's sentences as arguments; the section of the paper stands in the help."""

    linking: str = field(
        default="", metadata={"help": "the data set, as a file like evaluation/benchmarks/ncbi_disease.yaml"}
    )
    base_model: str = field(
        default="cambridgeltl/SapBERT-from-PubMedBERT-fulltext", metadata={"help": "Hub id or folder to start from"}
    )
    train_splits: list[str] = field(default_factory=lambda: ["train"], metadata={"help": "splits to train on"})
    epochs: int = field(
        default=0, metadata={"help": "by default the paper's for the data set (4.1), 3 for another one"}
    )
    loss: str = field(default="ms", metadata={"help": f"one of {', '.join(LOSSES)}"})
    miner: str = field(default="triplet", metadata={"help": "none, triplet or ms"})
    decay_all: bool = field(
        default=True, metadata={"help": "weight decay for biases and layer norms too (the published code)"}
    )
    back_off: bool = field(
        default=False,
        metadata={
            "help": "training mentions are names of the dictionary when test mentions are linked (COMETA's baseline)"
        },
    )


_HOST_EPOCHS = 3.0  # the trainer's default: another number was asked for


def main() -> None:
    recipe, training = read_settings((FinetuningArguments, SentenceTransformerTrainingArguments))
    if not recipe.linking:
        raise InputError("linking: the data set is needed, a file like evaluation/benchmarks/ncbi_disease.yaml")
    protocol = read_protocol(recipe.linking, LinkingProtocol)
    if training.max_steps < 0 and (recipe.epochs or training.num_train_epochs == _HOST_EPOCHS):
        training.num_train_epochs = recipe.epochs or EPOCHS.get(protocol.format, 3)
    if recipe.smoke:
        training.max_steps, training.per_device_train_batch_size = 2, 2
    training = with_precision(training, recipe.precision)
    folders = output_folders(training, "sapbert_finetuned", recipe.overwrite)
    set_seed(training.seed)

    # What is trained on, and what is linked.
    raw = protocol.open()
    dataset = protocol.prepared(raw)
    pairs = mention_pairs(dataset, recipe.train_splits)
    suite = LinkingSuite(
        bf16=training.bf16, show_progress_bar=not training.disable_tqdm, cache_dir=recipe.cache_dir or None
    )
    seen = [*dict.fromkeys([*recipe.train_splits, *protocol.seen])]
    if recipe.back_off:
        raw, dataset = (prepare(one, {"add_mentions": {"splits": recipe.train_splits}}) for one in (raw, dataset))
    if protocol.steps and protocol.raw:
        suite.add(raw, f"{protocol.name}_raw", dev="", test=protocol.test, seen=seen)
    dev = "" if protocol.dev in recipe.train_splits or training.eval_strategy == "no" else protocol.dev
    suite.add(dataset, protocol.name, dev=dev, test=protocol.test, seen=seen)
    print(f"{dataset.name}: {pairs.tally}\n{len(pairs.dataset):,} pairs; linking: {suite}")

    model = recipe.encoder()
    loss = loss_by_name(
        recipe.loss,
        model,
        miner=recipe.miner,
        mini_batch_size=recipe.mini_batch_size,
        lookup=pairs.terminology,
        gather_across_devices=recipe.gather_across_devices,
    )
    training.batch_sampler = ShuffledBatches.of(pairs.dataset)
    record = RunRecord(
        recipe="sapbert_finetune",
        base_model=recipe.base_model,
        configuration=asdict(recipe),
        seed=training.seed,
        terminologies=[pairs.terminology],
        licence=recipe.licence,
        description=f"An encoder of biomedical terms, fine-tuned on the mentions of {dataset.name}.",
        headline=suite.headline,
    )
    record.add_losses({"mentions": loss})
    before = suite.measure(model, "the base model" if training.should_log else "")
    with training.main_process_first(desc="terminology"):
        if training.should_save:
            folders.begin(pairs.terminology)
    optimizers: Any = (decaying_all(loss, training), None) if recipe.decay_all else (None, None)
    trainer = SentenceTransformerTrainer(
        model=model,
        args=training,
        train_dataset=pairs.dataset,
        loss=loss,
        evaluator=measured_in_training(training, suite.dev),
        optimizers=optimizers,
        callbacks=[record.callback(), TerminologyDigestCallback(loss), EpochCallback()],
    )
    trainer.train(resume_from_checkpoint=resume_point(training))
    measure_and_release(trainer, suite, folders, record, before=before, terminologies=[pairs.terminology])


if __name__ == "__main__":
    run_recipe(main)
