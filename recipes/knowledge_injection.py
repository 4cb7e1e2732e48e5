"""KGE-injected BERT (Amore Bondarenko et al. 2022, section 3.2): an encoder that looks its mentions up in a knowledge graph.

    python recipes/knowledge_injection.py recipes/configs/knowledge_injection_paper.yaml \
        --base_model out/extend_bert --kge out/kge/complex --terminology data/umls_it --corpus texts/

Finds the mentions of a terminology in raw text, adds to their tokens, between two layers, a mixture of the graph's vectors
that lie nearest to them, and trains that by guessing masked tokens and by linking each mention to its concept. What it
writes carries its own code. Every argument of the trainer is an argument here too; ``--help`` lists them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from transformers import set_seed

from st_biomed.corpus.arguments import CorpusArguments
from st_biomed.corpus.linked_masking import LinkedMentionCollator
from st_biomed.corpus.matching import TermMatcher
from st_biomed.corpus.mentions import MentionContexts
from st_biomed.corpus.windows import mention_windows
from st_biomed.encoder.masked import load_masked_model
from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import BENCHMARK, chosen_benchmarks
from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.kge import KGETable
from st_biomed.losses import KnowledgeInjectionLoss, LossParametersCallback
from st_biomed.losses.knowledge_injection import KnowledgeInjectionCollator
from st_biomed.modules.inject import inject_knowledge
from st_biomed.modules.markers import add_markers, pool_mentions
from st_biomed.modules.masked_language_head import MaskedLanguageHead
from st_biomed.release.run_record import RunRecord, corpus_data
from st_biomed.samplers import EpochCallback
from st_biomed.settings.checks import COUNT, PATH, WEIGHT, about, above, at_least, one_of, within
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training.arguments import EncoderArguments, with_precision
from st_biomed.training.checkpoints import whole_checkpoints
from st_biomed.training.finish import measure_and_release
from st_biomed.training.output import OutputFolders, output_folders, resume_point


@dataclass
class InjectionArguments(CorpusArguments, EncoderArguments):
    """The paper's sentences as arguments; the section stands in the help."""

    base_model: str = field(default="out/extend_bert", metadata=about("ext-BERT (3): a folder or a Hub id", PATH))
    pooling: str = field(
        default="mean",
        metadata=about("mean: over the tokens of the mention (3.2); cls: the first token (4)", one_of("mean", "cls")),
    )
    max_length: int = field(default=128, metadata=about("tokens of a sequence; the paper does not say", at_least(3)))
    kge: str = field(default="out/kge/complex", metadata=about("folder of a table of graph embeddings (3.2)", PATH))
    terminology: list[str] = field(
        default_factory=list, metadata=about("whose mentions are looked for; several are merged", PATH)
    )
    layer: int = field(default=8, metadata=about("inject after that many layers (4)", COUNT))
    candidates: int = field(default=100, metadata=about("entities in the mixture; the paper does not say", COUNT))
    temperature: float = field(default=1.0, metadata=about("of their weights; the paper has none (3.2)", above(0)))
    masked_share: float = field(
        default=0.15, metadata=about("share of the tokens that is masked (3.2)", within("(0, 1]"))
    )
    masked_weight: float = field(default=1.0, metadata=about("of masked language modeling, Eq. 6; 0 for none", WEIGHT))
    linking_weight: float = field(default=1.0, metadata=about("of entity linking, Eq. 6", WEIGHT))
    benchmarks: list[str] = field(
        default_factory=list,
        metadata=about("measured before and after: names or files of evaluation/benchmarks; none for none", BENCHMARK),
    )


def main(argv: Sequence[str] | None = None) -> None:
    recipe, training = read_settings((InjectionArguments, SentenceTransformerTrainingArguments), argv)
    if not recipe.terminology or not recipe.corpus:
        raise InputError(f"{'corpus' if recipe.terminology else 'terminology'}: is needed, nothing was given")
    recipe.check_corpus()
    chosen_benchmarks(recipe.benchmarks)
    if recipe.smoke:
        training.max_steps, training.per_device_train_batch_size = 2, 2
    training = with_precision(training, recipe.precision)
    set_seed(training.seed)
    with output_folders(training, "knowledge_injection", recipe.overwrite, base_model=recipe.base_model) as folders:
        run(recipe, training, folders)


def run(recipe: InjectionArguments, training: SentenceTransformerTrainingArguments, folders: OutputFolders) -> None:
    """From the terminology, the graph and the corpus to the release folder."""
    # The encoder, the graph, the sequences with their mentions.
    table = KGETable.load(recipe.kge)
    terminology = Terminology.merge(*(Terminology.open(source) for source in recipe.terminology))
    model = recipe.encoder()
    suite = EvaluatorSuite.of_benchmarks(recipe.benchmarks, bf16=training.bf16, cache_dir=recipe.cache_dir or None)
    before = suite.measure(model, "the base model" if training.should_log else "")
    entities = table.rows_of_texts(terminology)
    prepared(model, recipe, table)
    sequences, coverage = sequences_of(terminology, model, recipe)
    masking = LinkedMentionCollator(
        model.tokenizer,
        entities,
        probability=recipe.masked_share,
        max_length=recipe.max_length,
        seed=training.seed,
    )

    # Train.
    head = None
    if recipe.masked_weight:
        masked, _ = load_masked_model(recipe.base_model, trust_remote_code=recipe.trust_remote_code)
        head = MaskedLanguageHead(masked, model)
    loss = KnowledgeInjectionLoss(
        model,
        head,
        masked_weight=recipe.masked_weight,
        linking_weight=recipe.linking_weight,
    )
    record = RunRecord(
        recipe="knowledge_injection",
        base_model=recipe.base_model,
        configuration=asdict(recipe),
        seed=training.seed,
        terminologies=[terminology],
        license=recipe.license,
        language=[recipe.language] if recipe.language else terminology.languages,
        corpora=[corpus_data(recipe, coverage)],
        description="An encoder of biomedical terms that looks mentions up in a knowledge graph between two of its layers.",
        readings=[
            "bare terms are one mention as a whole",
            f"the {recipe.candidates} nearest entities are mixed, their similarities unscaled",
            "mentions of ambiguous terms are injected but not linked",
        ],
        headline=suite.headline,
    )
    record.add_losses({"mentions": loss})
    with training.main_process_first(desc="terminology"):
        if training.should_save:
            folders.begin(terminology)
    collator: Any = KnowledgeInjectionCollator(masking)
    trainer = SentenceTransformerTrainer(
        model=model,
        args=training,
        train_dataset=sequences,
        loss=loss,
        data_collator=collator,
        callbacks=whole_checkpoints(record.callback(), LossParametersCallback(loss), EpochCallback()),
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
        needs_code=True,
    )


def prepared(model: SentenceTransformer, recipe: InjectionArguments, table: KGETable) -> None:
    """Give the encoder markers, a pooling of mentions, and the injection; in place."""
    if recipe.pooling == "mean":
        pool_mentions(model)
    else:
        add_markers(model)
    inject_knowledge(
        model,
        table,
        layer=recipe.layer,
        mention="marked",
        candidates=recipe.candidates,
        temperature=recipe.temperature,
    )


def sequences_of(terminology: Terminology, model: SentenceTransformer, recipe: InjectionArguments) -> MentionContexts:
    """Sequences with at least one mention each, and what was found."""
    found = mention_windows(
        TermMatcher(terminology, recipe.language or None),
        recipe.documents(),
        tokens=recipe.max_length - 2,
        tokenizer=model.tokenizer,
        processes=recipe.processes,
    )
    print(found.coverage)
    if not len(found.dataset):
        raise InputError("corpus: no term of the terminology was found in it")
    return found


if __name__ == "__main__":
    run_recipe(main)
