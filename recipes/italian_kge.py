"""The Italian system (Amore Bondarenko, Ferrod, Di Caro 2022): a term encoder from few synonyms, a graph and raw text.

    python recipes/italian_kge.py recipes/configs/italian_kge_paper.yaml --terminology data/umls_it --corpus texts/
    python recipes/italian_kge.py recipes/configs/italian_kge_open.yaml --stage contrastive --loss v2 --output_dir out/v2

Five stages, each of which also runs by itself; a later one takes what the earlier ones left in output_dir:

    vocabulary    ext-BERT: word pieces of the corpus, masked-language training         recipes/extend_bert.py
    kge           embeddings of the terminology's graph                                 recipes/kge.py
    inject        the graph's vectors between two layers of ext-BERT                    recipes/knowledge_injection.py
    contrastive   MS loss v3 on mentions in context, hard negatives found anew while training, from ext-BERT
    pipelined     the same from the injected model

Every argument of the trainer is an argument of the last two stages; ``--help`` lists them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from datasets import Dataset, concatenate_datasets
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.util import get_world_size
from torch import nn
from transformers import set_seed

from st_biomed.corpus.arguments import CorpusArguments
from st_biomed.corpus.caps import Caps
from st_biomed.corpus.matching import TermMatcher
from st_biomed.corpus.mentions import mention_contexts
from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import BENCHMARK, chosen_benchmarks
from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.files import begun_in, check_writable, lock, settle
from st_biomed.kge import KGETable
from st_biomed.kge.settings import MODEL_NAMES
from st_biomed.losses import KGEMarginMultiSimilarityLoss, MultiSimilarityLoss, TerminologyDigestCallback
from st_biomed.losses.kge_margin_multi_similarity import MISSING
from st_biomed.losses.miners import MultiSimilarityMiner
from st_biomed.losses.redundancy_reduction import BarlowTwinsLoss
from st_biomed.modules.markers import add_markers, pool_mentions
from st_biomed.release.bake import bake
from st_biomed.release.run_data import CorpusData
from st_biomed.release.run_record import RunRecord, corpus_data
from st_biomed.samplers import HardNegativeBatches, HardNegativeCallback
from st_biomed.settings.bundled import bundled, bundled_recipe
from st_biomed.settings.checks import COUNT, PATH, WEIGHT, about, above, at_least, one_of
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training.arguments import EncoderArguments, HardNegativeArguments, with_precision
from st_biomed.training.checkpoints import whole_checkpoints
from st_biomed.training.finish import measure_and_release
from st_biomed.training.output import OutputFolders, is_main, output_folders, resume_point
from st_biomed.training_data import names_dataset

STAGES = ("vocabulary", "kge", "inject", "contrastive", "pipelined")
SMOKE_ROWS = 500
LOSSES = ("v1", "v2", "v3", "barlow_twins")


@dataclass
class ItalianArguments(CorpusArguments, HardNegativeArguments, EncoderArguments):
    """The paper's sentences as arguments; the section stands in the help."""

    stage: str = field(default="all", metadata=about(f"all, or one of {', '.join(STAGES)}", one_of("all", *STAGES)))
    earlier: str = field(
        default="",
        metadata={"help": "output_dir of another run whose earlier stages are taken; this run's own by default"},
    )
    base_model: str = field(
        default="dbmdz/bert-base-italian-cased",
        metadata=about("where the vocabulary stage starts, and the others where there is no such stage (3)", PATH),
    )
    pooling: str = field(
        default="mean",
        metadata=about("mean: over the tokens of the mention (3.2); cls: the first token (4)", one_of("mean", "cls")),
    )
    max_length: int = field(
        default=48, metadata=about("tokens of a context, markers and special tokens included", at_least(3))
    )
    terminology: list[str] = field(
        default_factory=list,
        metadata=about("a folder written by `st-biomed read`, or reader:path; several are merged", PATH),
    )
    language: str = field(default="it", metadata={"help": "language of the terms that are looked for; empty for all"})
    window: int = field(default=32, metadata=about("tokens of a context (3.1)", COUNT))
    contexts_per_term: int = field(default=4, metadata=about("contexts of a term that are kept (4)", COUNT))
    bare_names: bool = field(
        default=False, metadata={"help": "train on the names themselves, too, most of which no text may mention"}
    )
    kge_model: str = field(
        default="complex",
        metadata=about("which graph embedding the loss and injection take (4)", one_of(*MODEL_NAMES)),
    )
    loss: str = field(default="v3", metadata=about(f"one of {', '.join(LOSSES)} (3.2, Table 3; 5)", one_of(*LOSSES)))
    alpha: float = field(default=2.0, metadata=about("of the MS loss (4)", above(0)))
    beta: float = field(default=50.0, metadata=about("of the MS loss (4)", above(0)))
    epsilon: float = field(default=0.1, metadata=about("of its miner (4)", WEIGHT))
    detach_margin: bool = field(default=False, metadata={"help": "no gradient through the margin of v3"})
    missing: str = field(
        default="v2", metadata=about("v1, v2 or skip: pairs of which the graph has no vector", one_of(*MISSING))
    )
    neighbors: int = field(default=30, metadata=about("possible negatives of a prototype, m (4)", COUNT))
    benchmarks: list[str] = field(
        default_factory=list,
        metadata=about("measured before and after: names or files of evaluation/benchmarks; none for none", BENCHMARK),
    )
    vocabulary_settings: str = field(default="extend_bert_paper.yaml", metadata=about("of the vocabulary stage", PATH))
    kge_settings: str = field(default="kge_paper.yaml", metadata=about("of the kge stage", PATH))
    inject_settings: str = field(default="knowledge_injection_paper.yaml", metadata=about("of the inject stage", PATH))


def main(argv: Sequence[str] | None = None) -> None:
    recipe, training = read_settings((ItalianArguments, SentenceTransformerTrainingArguments), argv)
    if recipe.stage == "all" and get_world_size() > 1:
        raise InputError("stage: with several processes run one stage after the other; kge takes one process")
    recipe.hard_negative_plan()  # refuses its numbers before anything is read
    if not recipe.terminology:
        raise InputError("terminology: is needed, nothing was given")
    folder = Path(training.output_dir or "out/italian")
    earlier = Path(recipe.earlier) if recipe.earlier else folder
    if recipe.earlier and recipe.stage in ("all", "vocabulary"):
        raise InputError(
            f"earlier: is for one of the later stages, --stage {', '.join(STAGES[1:])}, found --stage {recipe.stage}"
        )
    if recipe.earlier and not (earlier / "terminology").is_dir():
        raise InputError(f"earlier: {recipe.earlier} is not the output_dir of a run; it has no folder terminology")
    if training.push_to_hub and recipe.stage not in ("contrastive", "pipelined"):
        raise InputError(
            f"push_to_hub: a run of stage {recipe.stage} has not one release; give --stage contrastive or pipelined, or "
            "publish the folder that you choose: st-biomed release FOLDER owner/name"
        )
    stages = STAGES if recipe.stage == "all" else (recipe.stage,)
    check_writable(folder)
    with lock(folder) if is_main(training) else nullcontext():
        check_ready(stages, recipe, earlier)
        terminology = saved(recipe, training, earlier / "terminology")
        for stage in stages:
            print(f"\n== {stage}")
            if stage in ("contrastive", "pipelined"):
                contrastive(stage, recipe, replace(training, output_dir=str(folder / stage)), terminology, earlier)
            else:
                other_recipe(stage, recipe, training, folder, earlier)


def check_ready(stages: Sequence[str], recipe: ItalianArguments, earlier: Path) -> None:
    """Refuse what a later hour would refuse: a corpus that is not there, and stages that were not run.

    Raises:
        InputError: With what is missing, and which stage leaves it.
    """
    for left in ("terminology", "vocabulary", f"kge/{recipe.kge_model}", "injected"):
        settle(earlier / left)
    if recipe.corpus:
        recipe.check_corpus()
    elif {"vocabulary", "inject"} & {*stages}:
        raise InputError("corpus: is needed, nothing was given")
    elif {"contrastive", "pipelined"} & {*stages} and not recipe.bare_names:
        raise InputError("corpus: is needed, nothing was given; --bare_names true trains on the names alone")
    if {"inject", "contrastive", "pipelined"} & {*stages}:
        chosen_benchmarks(recipe.benchmarks)
    settings = {"vocabulary": recipe.vocabulary_settings, "kge": recipe.kge_settings, "inject": recipe.inject_settings}
    for stage in (stage for stage in stages if stage in settings):
        if not Path(settings[stage]).is_file() and bundled(f"recipes/configs/{settings[stage]}") is None:
            raise InputError(f"{stage}_settings: {settings[stage]}: no such file")
    of_v3 = recipe.loss == "v3" and {"contrastive", "pipelined"} & {*stages}
    table = earlier / "kge" / recipe.kge_model
    if "kge" not in stages and (of_v3 or "inject" in stages) and not table.is_dir():
        found = ", ".join(sorted(path.name for path in table.parent.glob("*") if path.is_dir())) or "none"
        raise InputError(
            f"{table}: no graph embeddings for {'loss v3' if of_v3 else 'stage inject'} (there: {found}); run --stage kge "
            f"--kge_model {recipe.kge_model} first, or take one that is there"
        )
    if "pipelined" in stages and "inject" not in stages and not (earlier / "injected").is_dir():
        raise InputError(f"{earlier / 'injected'}: no injected model for stage pipelined; run --stage inject first")


def saved(recipe: ItalianArguments, training: SentenceTransformerTrainingArguments, folder: Path) -> Terminology:
    """The terminology of all stages, kept for those that read it themselves.

    Raises:
        InputError: No term in the language, or the stages that were run had another terminology.
    """
    terminology = Terminology.merge(*(Terminology.open(source) for source in recipe.terminology))
    if recipe.language and recipe.language not in terminology.languages:
        raise InputError(
            f"language: no name of the terminology is in {recipe.language!r}, they are in {', '.join(terminology.languages)}; "
            "--language chooses one, and a reader takes that of its names by --option language="
        )
    with training.main_process_first(desc="terminology"):
        began = [name for name in ("vocabulary", "kge", "injected") if (folder.parent / name).exists()]
        anew = recipe.stage == "all" and recipe.overwrite
        if began and not anew and (folder / "terminology.json").is_file():
            if Terminology.load(folder).digest != terminology.digest:
                raise InputError(
                    f"{folder}: the earlier stages ({', '.join(began)}) had another terminology; choose another "
                    "output_dir, or run all stages anew: --stage all --overwrite true"
                )
        elif training.should_save:
            terminology.save(folder)
    return terminology


def other_recipe(
    stage: str,
    recipe: ItalianArguments,
    training: SentenceTransformerTrainingArguments,
    folder: Path,
    earlier: Path,
) -> None:
    """A stage that is a recipe of its own: its settings, and what this one knows."""
    shared = {"terminology": earlier / "terminology", "overwrite": recipe.overwrite, "seed": training.seed}
    text = {
        "corpus": recipe.corpus,
        "corpus_license": recipe.corpus_license,
        "form": recipe.form,
        "text_field": recipe.text_field,
        "language": recipe.language,
        "processes": recipe.processes,
        "smoke": recipe.smoke,
    }
    if stage == "vocabulary":
        name, settings = "extend_bert", recipe.vocabulary_settings
        given = {**shared, **text, "base_model": recipe.base_model, "output_dir": folder / "vocabulary"}
    elif stage == "kge":
        name, settings = "kge", recipe.kge_settings
        given = {**shared, "models": recipe.kge_model, "output_dir": folder / "kge"}
        given["resume"] = begun_in(folder / "kge").exists() and not recipe.overwrite
    else:
        name, settings = "knowledge_injection", recipe.inject_settings
        given = {**shared, **text, "base_model": extended(recipe, earlier), "kge": earlier / "kge" / recipe.kge_model}
        given |= {"benchmarks": recipe.benchmarks, "pooling": recipe.pooling, "output_dir": folder / "injected"}
    bundled_recipe(name).main(arguments(settings, given))


def arguments(settings: str, given: dict[str, Any]) -> list[str]:
    """A settings file and arguments as one would type them."""
    words = [str(settings if Path(settings).is_file() else bundled(f"recipes/configs/{settings}") or settings)]
    for name, value in given.items():
        several = [str(one) for one in (value if isinstance(value, list) else [value])]
        if several and several != [""]:
            words += [f"--{name}", *several]
    return words


def extended(recipe: ItalianArguments, earlier: Path) -> str:
    """ext-BERT, or the base model where the vocabulary stage was not run."""
    return str(earlier / "vocabulary") if (earlier / "vocabulary").is_dir() else recipe.base_model


# ---------------------------------------------------------------------- contrastive training


def contrastive(
    stage: str,
    recipe: ItalianArguments,
    training: SentenceTransformerTrainingArguments,
    terminology: Terminology,
    earlier: Path,
) -> None:
    """MS loss on mentions in context, from ext-BERT or from the injected model."""
    if recipe.smoke:
        training.max_steps, recipe = 2, replace(recipe, prototypes=2, positives=2, neighbors=2)
    training = with_precision(training, recipe.precision)
    set_seed(training.seed)
    start = str(earlier / "injected") if stage == "pipelined" else extended(recipe, earlier)
    with output_folders(training, stage, recipe.overwrite, base_model=start) as folders:
        train_contrastive(stage, recipe, training, terminology, earlier, start, folders)


def train_contrastive(
    stage: str,
    recipe: ItalianArguments,
    training: SentenceTransformerTrainingArguments,
    terminology: Terminology,
    earlier: Path,
    start: str,
    folders: OutputFolders,
) -> None:
    """From the encoder to start from to the release folder."""
    print(f"from {start}")
    model = replace(recipe, base_model=start, pooling="own" if stage == "pipelined" else recipe.pooling).encoder()
    suite = EvaluatorSuite.of_benchmarks(recipe.benchmarks, bf16=training.bf16, cache_dir=recipe.cache_dir or None)
    before = suite.measure(model, "the base model" if training.should_log else "")
    if stage == "contrastive":
        (pool_mentions if recipe.pooling == "mean" else add_markers)(model)

    rows, corpora = training_rows(recipe, terminology, model)
    if recipe.smoke:
        rows = rows.select(range(min(len(rows), SMOKE_ROWS)))
    plan = recipe.hard_negative_plan()
    training.per_device_train_batch_size = plan.batch_size
    loss = loss_of(recipe, model, terminology, earlier)
    with training.main_process_first(desc="terminology"):
        if training.should_save:
            folders.begin(terminology)
    training.batch_sampler = HardNegativeBatches.of(terminology, folders.work / "terminology", dataset=rows, plan=plan)
    record = RunRecord(
        recipe="italian_kge",
        base_model=start,
        configuration=asdict(recipe),
        seed=training.seed,
        terminologies=[terminology],
        license=recipe.license,
        language=[recipe.language] if recipe.language else terminology.languages,
        corpora=corpora,
        description="An encoder of biomedical terms trained on mentions in context, with margins from a knowledge graph.",
        readings=readings(recipe, stage),
        headline=suite.headline,
    )
    record.add_losses({"mentions": loss})
    trainer = SentenceTransformerTrainer(
        model=model,
        args=training,
        train_dataset=rows,
        loss=loss,
        callbacks=whole_checkpoints(
            record.callback(),
            TerminologyDigestCallback(loss),
            HardNegativeCallback(recipe.refresh_steps or None),
        ),
    )
    trainer.train(resume_from_checkpoint=resume_point(training))
    measure_and_release(
        model,
        suite,
        folders,
        record,
        before=before,
        terminologies=[terminology],
        trainer=trainer,
        base_model=recipe.base_model,
        form=None if stage == "pipelined" else bake,
        needs_code=stage == "pipelined",
    )


def training_rows(
    recipe: ItalianArguments, terminology: Terminology, model: SentenceTransformer
) -> tuple[Dataset, list[CorpusData]]:
    """Mentions in context, and bare names where they are asked for, and what was read; the label is the text id of the term."""
    parts, corpora = [], []
    if recipe.corpus:
        found = mention_contexts(
            TermMatcher(terminology, recipe.language or None),
            recipe.documents(),
            window=recipe.window,
            tokenizer=model.tokenizer,
            caps=Caps(per_term=recipe.contexts_per_term),
            processes=recipe.processes,
        )
        print(found.coverage)
        corpora.append(corpus_data(recipe, found.coverage))
        parts.append(found.dataset.select_columns(["text", "label"]))
    if recipe.bare_names:
        chosen = terminology.subset(languages=[recipe.language]) if recipe.language else terminology
        ids = pc.index_in(chosen.texts["text"], value_set=terminology.texts["text"].combine_chunks())
        parts.append(names_dataset(terminology).select(ids.to_numpy()))
    return concatenate_datasets(parts) if len(parts) > 1 else parts[0], corpora


def loss_of(
    recipe: ItalianArguments, model: SentenceTransformer, terminology: Terminology, earlier: Path
) -> nn.Module:
    """The loss by its name; contexts of one term are positives of each other."""
    shared: dict[str, Any] = {
        "lookup": terminology,
        "gather_across_devices": recipe.gather_across_devices,
        "mask_same_text": False,
    }
    if recipe.loss == "barlow_twins":
        return BarlowTwinsLoss(model, lookup=terminology, gather_across_devices=recipe.gather_across_devices)
    shared |= {"alpha": recipe.alpha, "beta": recipe.beta, "miner": MultiSimilarityMiner(recipe.epsilon)}
    if recipe.loss in ("v1", "v2"):
        return MultiSimilarityLoss.from_preset(model, f"italian_{recipe.loss}", **shared)
    table = KGETable.load(earlier / "kge" / recipe.kge_model)
    return KGEMarginMultiSimilarityLoss(
        model, table, detach_margin=recipe.detach_margin, missing=recipe.missing, **shared
    )


def readings(recipe: ItalianArguments, stage: str) -> list[str]:
    """How this run reads what the paper leaves open, for the card."""
    said = [
        f"at most {recipe.prototypes_per_concept} prototypes of a concept",
        "bare terms are pooled over all their tokens",
        "contexts of one and the same term are positives",
    ]
    if recipe.loss == "v3":
        how = "a number without a gradient" if recipe.detach_margin else "differentiated as it is printed"
        said.append(f"Eq. 3's margin is {how}; pairs without a vector have the thresholds of {recipe.missing}")
    if stage == "contrastive":
        said.append("the released model pools all tokens of a text: it is that of the training for bare terms")
    return said


if __name__ == "__main__":
    run_recipe(main)
