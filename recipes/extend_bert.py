"""ext-BERT (Amore Bondarenko et al. 2022, section 3): a BERT with a vocabulary extended from a corpus, trained on it further.

    python recipes/extend_bert.py recipes/configs/extend_bert_paper.yaml --corpus texts/ --base_model dbmdz/bert-base-italian-cased

Trains word pieces on the corpus, adds them to the model as means of its own, goes on with masked-language training (whole
mentions, where a terminology is given), and writes a folder that transformers loads. Every argument of the trainer is an
argument here too; ``--help`` lists them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    PreTrainedTokenizerBase,
    TrainingArguments,
    set_seed,
)

from st_biomed.corpus.arguments import CorpusArguments
from st_biomed.corpus.masked_trainer import MaskedLanguageTrainer
from st_biomed.corpus.masking import MentionMaskingCollator
from st_biomed.corpus.matching import TermMatcher
from st_biomed.corpus.vocabulary import SIZE, extend_vocabulary, train_pieces
from st_biomed.corpus.windows import mention_windows
from st_biomed.encoder import model_folder, why_not_loaded
from st_biomed.errors import InputError
from st_biomed.release.push_target import push_target
from st_biomed.release.run_record import RunRecord, corpus_data
from st_biomed.settings import read_settings, run_recipe
from st_biomed.terminology import Terminology


@dataclass
class ExtendBERTArguments(CorpusArguments):
    """The paper's sentences as arguments."""

    base_model: str = field(
        default="dbmdz/bert-base-italian-cased",
        metadata={
            "help": "Hub id or folder of a BERT (the paper: an Italian one of 31,102 pieces, which it does not name)"
        },
    )
    vocabulary_size: int = field(default=SIZE, metadata={"help": "pieces trained on the corpus; 0 adds none"})
    terminology: str = field(
        default="", metadata={"help": "whose mentions are masked as a whole; a folder, a reader's name or reader:path"}
    )
    max_length: int = field(default=128, metadata={"help": "tokens of a sequence"})
    masked_share: float = field(default=0.15, metadata={"help": "share of the tokens that is masked"})
    held_out: float = field(
        default=0.02, metadata={"help": "share of the documents that is not trained on but measured"}
    )
    licence: str = field(default="other", metadata={"help": "licence of the model"})
    overwrite: bool = field(default=False, metadata={"help": "replace the model of an earlier run in output_dir"})
    smoke: bool = field(default=False, metadata={"help": "two small steps, for tests"})


def main(argv: Sequence[str] | None = None) -> None:
    recipe, training = read_settings((ExtendBERTArguments, TrainingArguments), argv)
    output = checked(recipe, training)
    set_seed(training.seed)
    base = str(model_folder(recipe.base_model) or recipe.base_model)

    # The vocabulary.
    try:
        model = AutoModelForMaskedLM.from_pretrained(base)
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(base)
    except (OSError, ValueError) as error:
        raise InputError(why_not_loaded(recipe.base_model, error)) from error
    results: dict[str, Any] = {}
    if recipe.vocabulary_size:
        pieces = train_pieces(lambda: (one.text for one in recipe.documents()), tokenizer, recipe.vocabulary_size)
        tokenizer, report = extend_vocabulary(model, pieces, tokenizer=tokenizer, seed=training.seed)
        results["vocabulary"] = report.to_dict()
        print(report)

    # Sequences, whole documents held out.
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

    # Masked-language training.
    record = RunRecord(
        recipe="extend_bert",
        base_model=recipe.base_model,
        configuration=asdict(recipe),
        seed=training.seed,
        terminologies=[] if terminology is None else [terminology],
        licence=recipe.licence,
        language=[recipe.language] if recipe.language else [] if terminology is None else terminology.languages,
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
            tokenizer, probability=recipe.masked_share, max_length=recipe.max_length, seed=training.seed
        ),
    )
    before = measured(trainer)
    trainer.train()
    after = measured(trainer)
    if trainer.is_world_process_zero():
        record.add_training_arguments(training)
        record.add_results("held-out documents", "before", before)
        record.add_results("held-out documents", "after", after)
        model.save_pretrained(output)
        tokenizer.save_pretrained(output)
        (output / "corpus.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        record.save(output)
        print(f"loss on held-out documents: {before['loss']:.3f} before, {after['loss']:.3f} after; saved to {output}")


def checked(recipe: ExtendBERTArguments, training: TrainingArguments) -> Path:
    """The output folder; checkpoints go beside it.

    Raises:
        InputError: No corpus, an argument out of range, or an output folder that holds something.
    """
    if push_target(training) is not None:
        raise InputError("push_to_hub: a BERT with a new vocabulary is no release; publish what is trained from it")
    if not recipe.corpus:
        raise InputError("corpus: files or folders of raw text are needed")
    if not 0 < recipe.held_out < 1:
        raise InputError(f"held_out is a share between 0 and 1, found {recipe.held_out}")
    if recipe.max_length < 3:
        raise InputError(f"max_length must leave room for a token between [CLS] and [SEP], found {recipe.max_length}")
    output = Path(training.output_dir or "out/extend_bert")
    if output.is_dir() and any(output.iterdir()) and not ((output / "run.json").is_file() and recipe.overwrite):
        raise InputError(
            f"{output}: holds something; choose an empty folder, or --overwrite true for an earlier run's"
        )
    training.output_dir = str(output.with_name(f"{output.name}-training"))
    if recipe.smoke:
        training.max_steps, training.per_device_train_batch_size = 2, 2
    return output


def split(sequences: Dataset, held_out: float, seed: int) -> tuple[Dataset, Dataset]:
    """Sequences to train on and to measure, those of a document on one side.

    Raises:
        InputError: Fewer than two documents.
    """
    names, document = np.unique(np.array(sequences["document"]), return_inverse=True)
    if len(names) < 2:
        raise InputError(f"corpus: two documents are needed, one of them to measure on, found {len(names)}")
    n_held_out = min(max(1, round(held_out * len(names))), len(names) - 1)
    chosen = np.isin(document, np.random.default_rng(seed).permutation(len(names))[:n_held_out])
    return sequences.select(np.flatnonzero(~chosen)), sequences.select(np.flatnonzero(chosen))


def measured(trainer: MaskedLanguageTrainer) -> dict[str, float]:
    """Loss on the held-out documents, with the same tokens masked each time."""
    collator = trainer.data_collator
    assert isinstance(collator, MentionMaskingCollator)
    collator.restart()
    loss = trainer.evaluate()["eval_loss"]
    collator.restart()
    return {"loss": loss}


if __name__ == "__main__":
    run_recipe(main)
