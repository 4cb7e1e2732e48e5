"""ext-BERT (Amore Bondarenko et al. 2022, section 3): a BERT with a vocabulary extended from a corpus.

    python recipes/extend_bert.py recipes/configs/extend_bert_paper.yaml --corpus texts/ --base_model dbmdz/bert-base-italian-cased

The recipe trains word pieces on the corpus, adds them to the model, each as the mean of its old pieces,
continues masked-language training (with whole mentions masked if a terminology is given), and writes a folder that
transformers loads. The trainer's arguments are accepted too; ``--help-all`` lists them.
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from transformers import TrainingArguments, set_seed

from st_biomed.corpus.arguments import CorpusArguments
from st_biomed.corpus.masking import MentionMaskingCollator
from st_biomed.corpus.matching import TermMatcher
from st_biomed.corpus.vocabulary import SIZE, extend_vocabulary, train_pieces
from st_biomed.corpus.windows import mention_windows
from st_biomed.encoder.foreign_code import FLAG_HELP
from st_biomed.encoder.masked import load_masked_model
from st_biomed.errors import InputError, check_name
from st_biomed.release.privacy import may_leave
from st_biomed.release.push_target import push_target
from st_biomed.release.run_record import corpus_data
from st_biomed.settings.checks import PATH, about, at_least, one_of, within
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training.arguments import PRECISIONS, changed_arguments, with_precision
from st_biomed.training.checkpoints import with_complete_checkpoints
from st_biomed.training.encoder_run import record_run
from st_biomed.training.finish import check_finite, finish
from st_biomed.training.masked_language import MaskedLanguageTrainer
from st_biomed.training.output import OutputFolders, output_folders, resume_point
from st_biomed.training.same_run import check_or_record_run

CORPUS = "corpus.json"
"""The file of the output folder with statistics of the corpus and of the vocabulary."""


@dataclass
class ExtendBERTArguments(CorpusArguments):
    """Arguments from the paper."""

    base_model: str = field(
        default="dbmdz/bert-base-italian-cased",
        metadata=about(
            "Hub id or folder of a BERT (the paper uses an Italian one of 31,102 pieces without its name)", PATH
        ),
    )
    trust_remote_code: bool = field(default=False, metadata={"help": FLAG_HELP})
    new_head: bool = field(
        default=False,
        metadata={
            "help": "train a random head for masked tokens if the base model has none, as in a sentence encoder"
        },
    )
    vocabulary_size: int = field(
        default=SIZE, metadata=about("pieces trained on the corpus; 0 adds none", at_least(0))
    )
    terminology: str = field(
        default="",
        metadata={
            "help": "terminology whose mentions are masked as a whole; a folder, a reader's name or reader:path"
        },
    )
    max_length: int = field(default=128, metadata=about("maximum number of tokens of a sequence", at_least(3)))
    mlm_probability: float = field(default=0.15, metadata=about("share of masked tokens", within("(0, 1]")))
    held_out: float = field(
        default=0.02,
        metadata=about("share of the documents that are held out of training and measured", within("(0, 1)")),
    )
    precision: str = field(
        default="as given",
        metadata=about(
            "auto: bf16 if the CPU or the GPU supports it; as given: --bf16 and --fp16 decide",
            one_of(*PRECISIONS),
        ),
    )
    license: str = field(default="other", metadata={"help": "license of the model"})
    overwrite: bool = field(default=False, metadata={"help": "replace the model of an earlier run in output_dir"})
    smoke: bool = field(default=False, metadata={"help": "two small steps, for tests"})


def main(argv: Sequence[str] | None = None) -> None:
    train(*read_settings((ExtendBERTArguments, TrainingArguments), argv))


def train(recipe: ExtendBERTArguments, training: TrainingArguments) -> None:
    """One run."""
    check(recipe, training)
    if recipe.smoke:
        training.max_steps, training.per_device_train_batch_size = 2, 2
    training = with_precision(training, recipe.precision)
    with output_folders(
        training, "extend_bert", recipe.overwrite, base_model=recipe.base_model, is_own=is_of_bert
    ) as folders:
        run(recipe, training, folders)


def check(recipe: ExtendBERTArguments, training: TrainingArguments) -> None:
    """Raise InputError if an argument is invalid, before anything is read.

    Raises:
        InputError: There is no corpus, ``push_to_hub`` is set, or the best weights are not to be kept by the loss.
    """
    if push_target(training) is not None:
        raise InputError("push_to_hub: a BERT with a new vocabulary is no release; publish what is trained from it")
    if not recipe.corpus:
        raise InputError("corpus: files or folders of raw text are needed")
    recipe.check_corpus()
    if training.eval_strategy != "no" and training.metric_for_best_model is not None:
        check_name("metric_for_best_model", training.metric_for_best_model.removeprefix("eval_"), ["loss"])


def run(recipe: ExtendBERTArguments, training: TrainingArguments, folders: OutputFolders) -> None:
    """One run, from the corpus to the model with the extended vocabulary."""
    set_seed(training.seed)

    # Model, with the vocabulary of the corpus.
    model, tokenizer = load_masked_model(
        recipe.base_model, trust_remote_code=recipe.trust_remote_code, new_head=recipe.new_head
    )
    results: dict[str, Any] = {}
    if recipe.vocabulary_size:
        pieces = train_pieces(
            lambda: (document.text for document in recipe.documents()), tokenizer, recipe.vocabulary_size
        )
        tokenizer, report = extend_vocabulary(model, pieces, tokenizer=tokenizer, seed=training.seed)
        results["vocabulary"] = report.to_dict()
        print(report)

    # Data; whole documents are held out.
    terminology = Terminology.open(recipe.terminology) if recipe.terminology else None
    matcher = None if terminology is None else TermMatcher(terminology, recipe.language or None)
    sequences, coverage = mention_windows(
        matcher,
        recipe.documents(),
        tokens=recipe.max_length - 2,
        tokenizer=tokenizer,
        without_mentions=True,
        processes=recipe.processes,
    )
    results["corpus"] = coverage.to_dict()
    print(coverage)
    train, test = split(sequences, recipe.held_out, training.seed)

    # Train.
    record = record_run(
        "extend_bert",
        recipe,
        training,
        {},
        terminologies=[] if terminology is None else [terminology],
        language=[recipe.language] if recipe.language else [],
        corpora=[corpus_data(recipe, coverage)],
        description="A BERT with a vocabulary extended from a corpus, trained on it further.",
    )
    training.remove_unused_columns = False
    trainer = MaskedLanguageTrainer(
        model=model,
        args=training,
        train_dataset=train,
        eval_dataset=test,
        data_collator=MentionMaskingCollator(
            tokenizer, probability=recipe.mlm_probability, max_length=recipe.max_length, seed=training.seed
        ),
        callbacks=with_complete_checkpoints(record.callback()),
    )
    before = measured(trainer)
    folders.begin_in_main(training, terminology)
    check_or_record_run(record, training)
    trainer.train(resume_from_checkpoint=resume_point(training))

    # Measure and release.
    def save(folder: Path) -> None:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)

    def release(folder: Path, after: dict[str, float]) -> None:
        record.add_training_arguments(training, changed_arguments(training))
        record.add_results("held-out documents", "before", before)
        record.add_results("held-out documents", "after", after)
        save(folder)
        (folder / CORPUS).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        record.save(folder)

    writes = trainer.is_world_process_zero()
    if writes:
        check_finite(model, folders)
    after = finish(folders, save=save, measure=lambda: measured(trainer), release=release, writes=writes)
    if writes:
        losses = f"{before['loss']:.3f} before, {after['loss']:.3f} after"
        print(f"loss on held-out documents: {losses}; saved to {folders.release}")


def is_of_bert(name: str) -> bool:
    """Whether a file is an output of this recipe."""
    return may_leave(name) or name == CORPUS


def split(sequences: Dataset, held_out: float, seed: int) -> tuple[Dataset, Dataset]:
    """Training and held-out sequences; all sequences of a document are in the same set.

    Raises:
        InputError: There are fewer than two documents.
    """
    names, document = np.unique(np.array(sequences["document"]), return_inverse=True)
    if len(names) < 2:
        raise InputError(f"corpus: two documents are needed, one of them to measure on, found {len(names)}")
    n_held_out = min(max(1, round(held_out * len(names))), len(names) - 1)
    chosen = np.isin(document, np.random.default_rng(seed).permutation(len(names))[:n_held_out])
    return sequences.select(np.flatnonzero(~chosen)), sequences.select(np.flatnonzero(chosen))


def measured(trainer: MaskedLanguageTrainer) -> dict[str, float]:
    """Loss on the held-out documents, with the same masked tokens in every call."""
    return {"loss": trainer.evaluate()["eval_loss"]}


if __name__ == "__main__":
    run_recipe(main)
