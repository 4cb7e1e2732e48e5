"""The Italian system (Amore Bondarenko, Ferrod, Di Caro 2022): a term encoder from few synonyms, a graph and raw text.

    python recipes/italian_kge.py recipes/configs/italian_kge_paper.yaml --terminology data/umls_it --corpus texts/
    python recipes/italian_kge.py recipes/configs/italian_kge_open.yaml --stage contrastive --loss v2 --output_dir out/v2

The five stages can also be run one at a time. A stage reads the output of earlier stages from output_dir:

    vocabulary    ext-BERT: word pieces of the corpus, masked-language training         recipes/extend_bert.py
    kge           embeddings of the terminology's graph                                 recipes/kge.py
    inject        the graph's vectors between two layers of ext-BERT                    recipes/knowledge_injection.py
    contrastive   MS loss v3 on mentions in context, with hard negatives updated during training; starts from ext-BERT
    pipelined     the same, starting from the injected model

The trainer's arguments (``--help-all`` lists them) and those that preserve the base model apply to the last two stages; the
settings of the others are in files: ``--inject_settings`` etc.
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformerTrainingArguments
from sentence_transformers.util import get_world_size
from transformers import TrainingArguments, set_seed

from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import BENCHMARK
from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.files import begun_in, check_writable, lock
from st_biomed.kge import KGESettings
from st_biomed.losses import TerminologyDigestCallback
from st_biomed.losses.italian_arguments import ItalianLossArguments
from st_biomed.modules.markers import add_markers, pool_mentions
from st_biomed.modules.mention_pooling import MentionPooling
from st_biomed.release.fold_modules import fold_modules
from st_biomed.release.push_target import push_target
from st_biomed.release.run_record import corpus_data
from st_biomed.samplers import HardNegativeBatches, HardNegativeCallback
from st_biomed.settings.bundled import bundled_recipe
from st_biomed.settings.checks import COUNT, PATH, about, at_least, one_of
from st_biomed.settings.recipe import read_settings, read_stage, run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training.arguments import EncoderArguments, HardNegativeArguments
from st_biomed.training.distillation import DistillationArguments
from st_biomed.training.encoder_run import evaluate_base_model, record_run, train_encoder
from st_biomed.training.finish import evaluate_and_release
from st_biomed.training.italian_stage_folders import STAGES, StageFolders, check_outputs, check_retention, check_stages
from st_biomed.training.output import OutputFolders, is_main, output_folders, resume_point
from st_biomed.training.readings import italian_readings
from st_biomed.training_data.context_arguments import ContextArguments

SHARED = (
    *("corpus", "corpus_license", "text_form", "text_field", "language", "processes"),
    *("overwrite", "smoke", "cache_dir"),
)
"""Arguments that every stage takes."""

CHOSEN = ("license", "precision", "trust_remote_code")
"""Arguments that every stage takes if they are not the defaults; otherwise its settings file decides."""


@dataclass
class ItalianArguments(
    DistillationArguments, ItalianLossArguments, ContextArguments, HardNegativeArguments, EncoderArguments
):
    """Arguments from the paper; the help names its sections."""

    stage: str = field(default="all", metadata=about(f"all, or one of {', '.join(STAGES)}", one_of("all", *STAGES)))
    earlier: str = field(default="", metadata={"help": "output_dir of the run of earlier stages; this run by default"})
    base_model: str = field(
        default="dbmdz/bert-base-italian-cased",
        metadata=about("model that the vocabulary stage starts from; without that stage, the later ones (3)", PATH),
    )
    pooling: str = field(
        default="mean",
        metadata=about("mean: over the tokens of the mention (3.2); cls: the first token (4)", one_of("mean", "cls")),
    )
    max_length: int = field(
        default=48, metadata=about("maximum number of tokens of a context in training, with its markers", at_least(3))
    )
    terminology: list[str] = field(
        default_factory=list,
        metadata=about("a folder written by `st-biomed read`, or reader:path; several are merged", PATH),
    )
    neighbors: int = field(default=30, metadata=about("possible negatives of a prototype, m (4)", COUNT))
    benchmarks: list[str] = field(
        default_factory=list,
        metadata=about("benchmarks measured before and after training: names or files; none for none", BENCHMARK),
    )
    vocabulary_settings: str = field(default="extend_bert_paper.yaml", metadata=about("settings of that stage", PATH))
    kge_settings: str = field(default="kge_paper.yaml", metadata=about("settings of that stage", PATH))
    inject_settings: str = field(
        default="knowledge_injection_paper.yaml", metadata=about("settings of that stage", PATH)
    )


def main(argv: Sequence[str] | None = None) -> None:
    train(*read_settings((ItalianArguments, SentenceTransformerTrainingArguments), argv))


def train(recipe: ItalianArguments, training: SentenceTransformerTrainingArguments) -> None:
    """Run one stage, or all stages one after the other."""
    stages = STAGES if recipe.stage == "all" else (recipe.stage,)
    folder = Path(training.output_dir or "out/italian")
    inputs = StageFolders(Path(recipe.earlier) if recipe.earlier else folder)
    check(recipe, training, inputs)
    for written in (folder, *(folder / stage for stage in stages)):
        check_writable(written)
    with lock(folder) if is_main(training) else nullcontext():
        check_stages(recipe, stages, inputs)
        if is_main(training):
            check_outputs(folder, stages, recipe.overwrite)
        terminology = inputs.keep_terminology(recipe, training)
        for stage in stages:
            print(f"\n== {stage}")
            if stage in ("contrastive", "pipelined"):
                contrastive(stage, recipe, replace(training, output_dir=str(folder / stage)), terminology, inputs)
            else:
                other_recipe(stage, recipe, training.seed, folder, inputs)


def check(recipe: ItalianArguments, training: SentenceTransformerTrainingArguments, inputs: StageFolders) -> None:
    """Raise InputError if the arguments do not fit together, or a stage cannot be published or resumed."""
    if recipe.stage == "all" and get_world_size() > 1:
        raise InputError("stage: with several processes run one stage after the other; kge takes one process")
    recipe.hard_negative_plan()
    check_retention(recipe)
    if recipe.adapter == "lora" and recipe.stage != "pipelined" and resume_point(training):
        raise InputError("adapter: checkpoints of lora lack the rows of the markers, so that no run goes on from them")
    if recipe.stage not in ("contrastive", "pipelined") and resume_point(training):
        raise InputError(f"resume_from_checkpoint: is for --stage contrastive or pipelined, found {recipe.stage}")
    if not recipe.terminology:
        raise InputError("terminology: is needed, nothing was given")
    if recipe.earlier and recipe.stage in ("all", "vocabulary"):
        raise InputError(f"earlier: is for --stage {', '.join(STAGES[1:])}, found --stage {recipe.stage}")
    if recipe.earlier and not inputs.terminology.is_dir():
        raise InputError(f"earlier: {recipe.earlier} is not the output_dir of a run; it has no folder terminology")
    if recipe.stage not in ("contrastive", "pipelined") and push_target(training) is not None:
        raise InputError(
            f"push_to_hub: a run of stage {recipe.stage} has not one release; give --stage contrastive or pipelined, or "
            "publish the folder that you choose: st-biomed release FOLDER owner/name"
        )


def other_recipe(stage: str, recipe: ItalianArguments, seed: int, folder: Path, inputs: StageFolders) -> None:
    """Run a stage that is a separate recipe, with its settings file and the arguments that both recipes share."""
    output = folder / ("injected" if stage == "inject" else stage)
    chosen = [name for name in CHOSEN if getattr(recipe, name) != getattr(ItalianArguments, name)]
    shared = {name: getattr(recipe, name) for name in (*SHARED, *chosen)} | {"seed": seed, "output_dir": str(output)}
    terminology = str(inputs.terminology)
    if stage == "vocabulary":
        module = bundled_recipe("extend_bert")
        kinds: tuple[Any, Any] = (module.ExtendBERTArguments, TrainingArguments)
        own: dict[str, Any] = {"terminology": terminology, "base_model": recipe.base_model}
    elif stage == "kge":
        module = bundled_recipe("kge")
        kinds = (module.KGEArguments, KGESettings)
        resume = (begun_in(output).exists() or (output / "graph").is_dir()) and not recipe.overwrite
        own = {"terminology": [terminology], "models": [recipe.kge_model], "resume": resume}
    else:
        module = bundled_recipe("knowledge_injection")
        kinds = (module.InjectionArguments, SentenceTransformerTrainingArguments)
        own = {"terminology": [terminology], "base_model": inputs.text_model(recipe.base_model)}
        own |= {"benchmarks": recipe.benchmarks, "pooling": recipe.pooling, "kge": str(inputs.graph(recipe.kge_model))}
    module.train(*read_stage(kinds, getattr(recipe, f"{stage}_settings"), **shared, **own))


def contrastive(
    stage: str,
    recipe: ItalianArguments,
    training: SentenceTransformerTrainingArguments,
    terminology: Terminology,
    inputs: StageFolders,
) -> None:
    """Train with MS loss on mentions in context, from ext-BERT or from the injected model."""
    if recipe.smoke:
        training.max_steps, recipe = 2, replace(recipe, prototypes=2, positives=2, neighbors=2)
    training = recipe.training_arguments(training)
    start = str(inputs.injected) if stage == "pipelined" else inputs.text_model(recipe.base_model)
    with output_folders(training, stage, recipe.overwrite, base_model=start) as folders:
        run(recipe, training, folders, terminology, inputs, start, pipelined=stage == "pipelined")


def run(
    recipe: ItalianArguments,
    training: SentenceTransformerTrainingArguments,
    folders: OutputFolders,
    terminology: Terminology,
    inputs: StageFolders,
    start: str,
    pipelined: bool,
) -> None:
    """One run of a contrastive stage, from its initial encoder to the release folder."""
    set_seed(training.seed)

    # Model. It is measured first, then gets markers.
    print(f"from {start}")
    model = replace(recipe, base_model=start, pooling="own" if pipelined else recipe.pooling).encoder()
    suite = EvaluatorSuite.of_benchmarks(recipe.benchmarks, **recipe.measuring(training))
    before = evaluate_base_model(suite, model, training, terminology)
    if not pipelined:
        (pool_mentions if recipe.pooling == "mean" else add_markers)(model)
    averaging = recipe.averaging(model, start, suite.dev, bf16=training.bf16)

    # Data.
    rows, coverage = recipe.rows(terminology, model.tokenizer)
    rows = rows.select(range(min(len(rows), 500))) if recipe.smoke else rows
    plan = recipe.hard_negative_plan()
    training.per_device_train_batch_size = plan.batch_size
    kept = folders.work / "terminology"
    training.batch_sampler = HardNegativeBatches.of(terminology, kept, dataset=rows, **vars(plan))

    # Loss.
    loss = recipe.italian_loss(model, terminology, inputs.graph, training.seed, **recipe.embedding())
    rows, loss = recipe.distill_rows(loss, model, rows, max_length=recipe.max_length, bf16=training.bf16)

    # Train.
    folders.begin_in_main(training, terminology)
    record = record_run(
        "italian_kge",
        recipe,
        training,
        {"mentions": loss},
        base_model=start,
        terminologies=[terminology],
        language=[recipe.language] if recipe.language else [],
        corpora=[] if coverage is None else [corpus_data(recipe, coverage)],
        description="An encoder of biomedical terms trained on mentions in context, with margins from a knowledge graph.",
        readings=italian_readings(recipe, pipelined, isinstance(model[1], MentionPooling)),
        headline=suite.headline,
    )
    refresh = HardNegativeCallback(recipe.refresh_steps or None, max_length=recipe.max_length)
    train_encoder(model, recipe, training, rows, loss, record, TerminologyDigestCallback(loss), refresh, dev=suite.dev)

    # Measure and release.
    form: dict[str, Any] = {"form": None if pipelined else fold_modules, "needs_code": pipelined}
    origin: dict[str, Any] = {"training": training, "base_model": recipe.base_model, "averaging": averaging}
    evaluate_and_release(model, suite, folders, record, before=before, terminologies=[terminology], **form, **origin)


if __name__ == "__main__":
    run_recipe(main)
