"""KGE-injected BERT (Amore Bondarenko et al. 2022, section 3.2): an encoder with a lookup in a knowledge graph.

    python recipes/knowledge_injection.py recipes/configs/knowledge_injection_paper.yaml \
        --base_model out/extend_bert --kge out/kge/complex --terminology data/umls_it --corpus texts/

The recipe finds mentions of a terminology in raw text. Between two layers of the encoder it adds to the tokens of a
mention a mixture of the nearest vectors of the graph. The training objectives are masked-language modeling and linking
each mention to its concept. The released model includes its code. The trainer's arguments are accepted too;
``--help-all`` lists them.
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

from collections.abc import Sequence
from dataclasses import dataclass, field

from sentence_transformers import SentenceTransformerTrainingArguments
from transformers import set_seed

from st_biomed.corpus.arguments import CorpusArguments
from st_biomed.corpus.linked_masking import LinkedMentionCollator
from st_biomed.corpus.matching import TermMatcher
from st_biomed.corpus.windows import mention_windows
from st_biomed.encoder.masked import load_masked_model
from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import BENCHMARK, chosen_benchmarks
from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.kge import KGETable
from st_biomed.losses import KnowledgeInjectionLoss, LossParametersCallback
from st_biomed.losses.knowledge_injection import KnowledgeInjectionCollator
from st_biomed.modules.inject_knowledge import inject_knowledge
from st_biomed.modules.markers import add_markers, pool_mentions
from st_biomed.modules.masked_language_head import MaskedLanguageHead
from st_biomed.release.run_record import corpus_data
from st_biomed.samplers import EpochCallback
from st_biomed.settings.checks import COUNT, PATH, WEIGHT, about, above, at_least, check_unused, one_of, within
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.training.arguments import EncoderArguments
from st_biomed.training.encoder_run import evaluate_base_model, read_terminology, record_run, train_encoder
from st_biomed.training.finish import evaluate_and_release
from st_biomed.training.output import OutputFolders, output_folders
from st_biomed.training.readings import injection_readings


@dataclass
class InjectionArguments(CorpusArguments, EncoderArguments):
    """Arguments from the paper; the help names its sections."""

    base_model: str = field(default="out/extend_bert", metadata=about("ext-BERT (3): a folder or a Hub id", PATH))
    new_head: bool = field(
        default=False,
        metadata={
            "help": "train a random head for masked tokens if the base model has none, as in a sentence encoder"
        },
    )
    pooling: str = field(
        default="mean",
        metadata=about("mean: over the tokens of the mention (3.2); cls: the first token (4)", one_of("mean", "cls")),
    )
    max_length: int = field(
        default=128,
        metadata=about("maximum number of tokens of a training sequence; not stated in the paper", at_least(3)),
    )
    kge: str = field(default="out/kge/complex", metadata=about("folder of a table of graph embeddings (3.2)", PATH))
    terminology: list[str] = field(
        default_factory=list, metadata=about("terminologies whose mentions are searched for; several are merged", PATH)
    )
    layer: int = field(default=8, metadata=about("number of layers before the injection (4)", COUNT))
    candidates: int = field(
        default=100, metadata=about("number of entities in the mixture; not stated in the paper", COUNT)
    )
    temperature: float = field(
        default=1.0, metadata=about("temperature of their weights; the paper has none (3.2)", above(0))
    )
    mlm_probability: float = field(default=0.15, metadata=about("share of masked tokens (3.2)", within("(0, 1]")))
    masked_weight: float = field(
        default=1.0, metadata=about("weight of masked language modeling, Eq. 6; 0 for none", WEIGHT)
    )
    linking_weight: float = field(default=1.0, metadata=about("weight of entity linking, Eq. 6", WEIGHT))
    benchmarks: list[str] = field(
        default_factory=list,
        metadata=about(
            "benchmarks measured before and after training: names or files of evaluation/benchmarks; none for none",
            BENCHMARK,
        ),
    )


def main(argv: Sequence[str] | None = None) -> None:
    train(*read_settings((InjectionArguments, SentenceTransformerTrainingArguments), argv))


def train(recipe: InjectionArguments, training: SentenceTransformerTrainingArguments) -> None:
    """One run."""
    check(recipe)
    if recipe.smoke:
        training.max_steps, training.per_device_train_batch_size = 2, 2
    training = recipe.training_arguments(training)
    with output_folders(training, "knowledge_injection", recipe.overwrite, base_model=recipe.base_model) as folders:
        run(recipe, training, folders)


def check(recipe: InjectionArguments) -> None:
    """Raise InputError if an argument is invalid, before anything is read.

    Raises:
        InputError: There is no terminology or corpus, the data of a benchmark are missing, both weights are 0, or an
            average, low-rank updates, a cached loss or batches of all processes are requested.
    """
    for name in ("average", "adapter"):
        if getattr(recipe, name) != "none":
            raise InputError(
                f"{name}: the injection is new and trained as a whole, {getattr(recipe, name)} does not fit it"
            )
    check_unused(recipe, ("mini_batch_size",), "the loss of knowledge injection, which has no cached form")
    if not recipe.masked_weight and not recipe.linking_weight:
        raise InputError("masked_weight and linking_weight: at least one must be above 0, found only 0")
    alone = "the loss of knowledge injection, which compares each mention with the entities of the graph"
    check_unused(recipe, ("gather_across_devices",), alone)
    if not recipe.terminology or not recipe.corpus:
        raise InputError(f"{'corpus' if recipe.terminology else 'terminology'}: is needed, nothing was given")
    recipe.check_corpus()
    chosen_benchmarks(recipe.benchmarks)


def run(recipe: InjectionArguments, training: SentenceTransformerTrainingArguments, folders: OutputFolders) -> None:
    """One run, from the terminology, the graph and the corpus to the release folder."""
    set_seed(training.seed)

    # Read.
    table = KGETable.load(recipe.kge)
    terminology = read_terminology(recipe.terminology)
    entities = table.rows_of_texts(terminology)

    # Model. It is measured first, then gets markers, a pooling of mentions, and the injection.
    model = recipe.encoder()
    suite = EvaluatorSuite.of_benchmarks(recipe.benchmarks, **recipe.measuring(training))
    before = evaluate_base_model(suite, model, training)
    (pool_mentions if recipe.pooling == "mean" else add_markers)(model)
    inject_knowledge(
        model,
        table,
        layer=recipe.layer,
        mention="marked",
        candidates=recipe.candidates,
        temperature=recipe.temperature,
    )

    # Data: sequences with at least one mention each.
    sequences, coverage = mention_windows(
        TermMatcher(terminology, recipe.language or None),
        recipe.documents(),
        tokens=recipe.max_length - 2,
        tokenizer=model.tokenizer,
        processes=recipe.processes,
    )
    print(coverage)
    if not len(sequences):
        raise InputError("corpus: no term of the terminology was found in it")
    masking = LinkedMentionCollator(
        model.tokenizer,
        entities,
        probability=recipe.mlm_probability,
        max_length=recipe.max_length,
        seed=training.seed,
    )

    # Loss.
    head = None
    if recipe.masked_weight:
        masked, _ = load_masked_model(
            recipe.base_model, trust_remote_code=recipe.trust_remote_code, new_head=recipe.new_head
        )
        head = MaskedLanguageHead(masked, model)
    loss = KnowledgeInjectionLoss(
        model,
        head,
        masked_weight=recipe.masked_weight,
        linking_weight=recipe.linking_weight,
    )

    # Train.
    folders.begin_in_main(training, terminology)
    record = record_run(
        "knowledge_injection",
        recipe,
        training,
        {"mentions": loss},
        terminologies=[terminology],
        language=[recipe.language] if recipe.language else [],
        corpora=[corpus_data(recipe, coverage)],
        description="An encoder of biomedical terms that looks mentions up in a knowledge graph between two of its layers.",
        readings=injection_readings(recipe),
        headline=suite.headline,
    )
    train_encoder(
        model,
        recipe,
        training,
        sequences,
        loss,
        record,
        LossParametersCallback(loss),
        EpochCallback(),
        dev=suite.dev,
        collator=KnowledgeInjectionCollator(masking),
    )

    # Measure and release.
    evaluate_and_release(
        model,
        suite,
        folders,
        record,
        before=before,
        terminologies=[terminology],
        training=training,
        needs_code=True,
    )


if __name__ == "__main__":
    run_recipe(main)
