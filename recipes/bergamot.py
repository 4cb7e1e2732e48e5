"""BERGAMOT (Sakhovskiy et al. 2024): text and graph learn from each other, and a plain text encoder is what is released.

    python recipes/bergamot.py recipes/configs/bergamot_open.yaml --terminology out/open --graph gat
    accelerate launch recipes/bergamot.py recipes/configs/bergamot_paper.yaml --terminology data/umls --linking mantra_es quaero_emea

Every concept of a batch has two of its names and a neighborhood drawn from the terminology's parents and relations; a graph
encoder that lives in the loss reads the vectors of all their names. A weight of 0 leaves a loss out, ``--graph none`` all
three of the graph: what remains is SapBERT. Every argument of the trainer is an argument here too; ``--help`` lists them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from transformers import set_seed

from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import BENCHMARK, chosen_benchmarks, read_benchmark_settings
from st_biomed.evaluators.entity_linking.settings import LinkingSettings, LinkingSuite
from st_biomed.linking_data.held_out_translations import hold_out_translations
from st_biomed.losses import BergamotLoss, CachedBergamotLoss, LossParametersCallback, TerminologyDigestCallback
from st_biomed.losses.graph import CORRUPTIONS
from st_biomed.losses.relation_margin import SCORES, RelationMarginLoss
from st_biomed.modules.graph_encoder import GRAPH_ENCODERS, RGCN, GATv2, GraphSAGE
from st_biomed.modules.graph_layers import GraphEncoder
from st_biomed.release.run_record import RunRecord
from st_biomed.samplers import EpochCallback, GraphBatches, GraphCollator
from st_biomed.settings.checks import COUNT, DROPOUT, PATH, SEED, SIZE, WEIGHT, about, at_least, one_of
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training.arguments import EncoderArguments, decaying_all, measured_in_training, with_precision
from st_biomed.training.checkpoints import whole_checkpoints
from st_biomed.training.finish import measure_and_release
from st_biomed.training.output import OutputFolders, output_folders, resume_point
from st_biomed.training_data import names_dataset
from st_biomed.training_data.concept_graph import ConceptGraph

GRAPHS = (*GRAPH_ENCODERS, "none")
RELATION_LOSSES = ("none", *SCORES)


@dataclass
class BergamotArguments(EncoderArguments):
    """The paper's sentences as arguments; the section of the paper stands in the help."""

    base_model: str = field(
        default="FacebookAI/xlm-roberta-base", metadata=about("Hub id or folder to start from; any encoder", PATH)
    )
    max_length: int = field(default=32, metadata=about("tokens a name is cut at", at_least(3)))
    terminology: list[str] = field(
        default_factory=list,
        metadata=about(
            "a reader's name, reader:path, or a folder written by `st-biomed read`; several are merged", PATH
        ),
    )
    graph: str = field(default="gat", metadata=about(f"graph encoder: {', '.join(GRAPHS)} (3)", one_of(*GRAPHS)))
    graph_layers: int = field(default=3, metadata=about("convolutions over a neighborhood", COUNT))
    graph_hidden: int | None = field(
        default=None, metadata=about("width between them; the encoder's by default", COUNT)
    )
    graph_dropout: float = field(default=0.3, metadata=about("between them", DROPOUT))
    graph_residual: bool = field(default=True, metadata={"help": "whether a convolution adds to its input"})
    heads: int = field(default=2, metadata=about("of the attention (gat)", COUNT))
    relation_features: bool = field(
        default=True, metadata={"help": "whether the attention sees which relation an edge has (gat)"}
    )
    blocks: int | None = field(
        default=None, metadata=about("on the diagonal of RGCN's matrices; 64 by default", COUNT)
    )
    bases: int | None = field(default=None, metadata=about("of RGCN's matrices, in place of blocks", COUNT))
    max_neighbors: list[int] = field(
        default_factory=lambda: [3],
        metadata=about("most neighbors of a concept, for each hop from the targets", COUNT),
    )
    relations: bool = field(default=True, metadata={"help": "whether relations make edges"})
    parents: bool = field(default=True, metadata={"help": "whether parents make edges, both ways"})
    inverses: bool = field(
        default=True, metadata={"help": "whether a relation has an inverse edge; UMLS states both directions"}
    )
    text_weight: float = field(default=1.0, metadata=about("of the term-term loss (2); 0 for none", WEIGHT))
    node_weight: float = field(default=1.0, metadata=about("of the node-node loss (2); 0 for none", WEIGHT))
    intermodal_weight: float = field(default=1.0, metadata=about("of the intermodal loss (2); 0 for none", WEIGHT))
    dgi_weight: float = field(default=0.1, metadata=about("of deep graph infomax, lambda (2); 0 for none", WEIGHT))
    cross_view: bool = field(
        default=False, metadata={"help": "a text is paired with the graph of the other view (GEBERT), not its own (2)"}
    )
    corruption: str = field(
        default="trg", metadata=about("ends of edges that change places for DGI: trg or src", one_of(*CORRUPTIONS))
    )
    relation_loss: str = field(
        default="none", metadata=about(f"CODER's loss besides: {', '.join(RELATION_LOSSES)}", one_of(*RELATION_LOSSES))
    )
    relation_weight: float = field(default=1.0, metadata=about("of the relation loss", WEIGHT))
    max_pairs_per_concept: int = field(
        default=50,
        metadata=about("pairs of names of a concept, in each language and with the pivot, and epoch", COUNT),
    )
    decay_all: bool = field(
        default=False, metadata={"help": "weight decay for biases and layer norms too (the published code)"}
    )
    pivot_language: str = field(
        default="en",
        metadata={
            "help": "pairs within each language and of each language with this one; empty: languages do not matter"
        },
    )
    linking: list[str] = field(
        default_factory=list,
        metadata=about("benchmarks to link, before, in training and after: names or files", BENCHMARK),
    )
    benchmarks: list[str] = field(
        default_factory=list,
        metadata=about("measured before and after: names or files of evaluation/benchmarks; none for none", BENCHMARK),
    )
    held_out_translations: int = field(
        default=0,
        metadata=about(
            "so many concepts for dev and as many for test, whose translations are held out and linked to the pivot's names",
            SIZE,
        ),
    )
    translated: str = field(
        default="",
        metadata={"help": "what codes of these concepts begin with, and of those in the dictionary, e.g. HP:"},
    )
    languages: list[str] = field(
        default_factory=list, metadata={"help": "languages of the held-out translations; all by default"}
    )
    split_seed: int = field(default=0, metadata=about("seed of what is held out", SEED))


def main(argv: Sequence[str] | None = None) -> None:
    recipe, training = read_settings((BergamotArguments, SentenceTransformerTrainingArguments), argv)
    check(recipe)
    if recipe.smoke:
        training.max_steps, training.per_device_train_batch_size = 2, 8
    training = with_precision(training, recipe.precision)
    set_seed(training.seed)
    with output_folders(training, "bergamot", recipe.overwrite, base_model=recipe.base_model) as folders:
        run(recipe, training, folders)


def run(recipe: BergamotArguments, training: SentenceTransformerTrainingArguments, folders: OutputFolders) -> None:
    """From the terminologies to the release folder."""
    # Read, hold translations out, make the graph.
    whole = Terminology.merge(*(Terminology.open(source) for source in recipe.terminology))
    train, suite = measured(recipe, training, whole)
    graph = ConceptGraph(
        train,
        relations=recipe.relations,
        parents=recipe.parents,
        inverses=recipe.inverses,
        may_be_empty=recipe.graph == recipe.relation_loss == "none",
    )
    print(f"{train!r}\n{graph!r}\nedges: {graph.tally}\nmeasured: {suite}")

    # Train.
    model = recipe.encoder()
    loss = loss_of(recipe, model, graph, training.seed)
    before = suite.measure(model, "the base model" if training.should_log else "")
    with training.main_process_first(desc="terminology"):
        if training.should_save:
            folders.begin(train)
    training.batch_sampler = GraphBatches.of(
        train,
        folders.work / "terminology",
        max_pairs_per_concept=recipe.max_pairs_per_concept,
        pivot_language=recipe.pivot_language or None,
    )
    needs_graph = any(weight for name, weight in loss.weights.items() if name != "text")
    collator: Any = GraphCollator(
        graph,
        model.preprocess,
        max_neighbors=recipe.max_neighbors if needs_graph else (),  # no text is embedded for nothing
        seed=training.seed,
    )
    record = RunRecord(
        recipe="bergamot",
        base_model=recipe.base_model,
        configuration=asdict(recipe),
        seed=training.seed,
        terminologies=[whole],
        license=recipe.license,
        language=whole.languages,
        description="An encoder of biomedical terms, trained "
        + ("with a graph encoder beside it." if recipe.graph != "none" else "on names alone."),
        readings=readings(recipe),
        headline=suite.headline,
    )
    record.add_losses({"names": loss})
    optimizers: Any = (decaying_all(loss, training), None) if recipe.decay_all else (None, None)
    trainer = SentenceTransformerTrainer(
        model=model,
        args=training,
        train_dataset=names_dataset(train),
        loss=loss,
        evaluator=measured_in_training(training, suite.dev),
        optimizers=optimizers,
        data_collator=collator,
        callbacks=whole_checkpoints(
            record.callback(),
            LossParametersCallback(loss),
            TerminologyDigestCallback(loss),
            EpochCallback(),
        ),
    )
    trainer.train(resume_from_checkpoint=resume_point(training))
    measure_and_release(
        model,
        suite,
        folders,
        record,
        before=before,
        terminologies=[whole],
        trainer=trainer,
        beside={} if loss.graph_encoder is None else {"graph_encoder": loss.graph_encoder.save},
    )


def check(recipe: BergamotArguments) -> None:
    """Refuse what no other part would.

    Raises:
        InputError: No terminology, or a benchmark whose data are not there.
    """
    if not recipe.terminology:
        raise InputError("terminology: is needed, nothing was given")
    chosen_benchmarks(recipe.benchmarks)


def measured(
    recipe: BergamotArguments, training: SentenceTransformerTrainingArguments, whole: Terminology
) -> tuple[Terminology, LinkingSuite]:
    """What is trained on, and what is measured: linking in training, too, the other benchmarks before and after."""
    options: dict[str, Any] = {"bf16": training.bf16, "cache_dir": recipe.cache_dir or None}
    suite = LinkingSuite(
        [read_benchmark_settings(name, LinkingSettings) for name in recipe.linking],
        show_progress_bar=not training.disable_tqdm,
        **options,
    )
    train = whole
    if recipe.held_out_translations:
        train, datasets = hold_out_translations(
            whole,
            languages=recipe.languages,
            pivot=recipe.pivot_language or "en",
            n_dev=recipe.held_out_translations,
            n_test=recipe.held_out_translations,
            prefix=recipe.translated,
            seed=recipe.split_seed,
        )
        for dataset in datasets.values():
            suite.add(dataset, dataset.name)
    suite.take_benchmarks(recipe.benchmarks, **options)
    return train, suite


def loss_of(
    recipe: BergamotArguments, model: SentenceTransformer, graph: ConceptGraph, seed: int
) -> BergamotLoss | CachedBergamotLoss:
    """The loss with what it needs of the graph."""
    width: Any = model.get_embedding_dimension()
    relation = None
    if recipe.relation_loss != "none":
        relation = RelationMarginLoss(width, len(graph.relations), score=recipe.relation_loss)
    encoder = None if recipe.graph == "none" else graph_encoder(recipe, width, len(graph.relations))
    arguments: dict[str, Any] = {
        "text_weight": recipe.text_weight,
        "node_weight": recipe.node_weight if encoder else 0.0,
        "intermodal_weight": recipe.intermodal_weight if encoder else 0.0,
        "dgi_weight": recipe.dgi_weight if encoder else 0.0,
        "relation": relation,
        "relation_weight": recipe.relation_weight,
        "cross_view": recipe.cross_view,
        "corruption": recipe.corruption,
        "seed": seed,
        "gather_across_devices": recipe.gather_across_devices,
        "lookup": graph.terminology,
    }
    if recipe.mini_batch_size is not None:
        return CachedBergamotLoss(model, encoder, mini_batch_size=recipe.mini_batch_size, **arguments)
    return BergamotLoss(model, encoder, **arguments)


def graph_encoder(recipe: BergamotArguments, width: int, n_relations: int) -> GraphEncoder:
    """The graph encoder by its name."""
    shared: dict[str, Any] = {
        "layers": recipe.graph_layers,
        "hidden": recipe.graph_hidden,
        "dropout": recipe.graph_dropout,
        "residual": recipe.graph_residual,
    }
    if recipe.graph == "gat":
        return GATv2(width, n_relations if recipe.relation_features else None, heads=recipe.heads, **shared)
    if recipe.graph == "rgcn":
        return RGCN(width, n_relations, blocks=recipe.blocks, bases=recipe.bases, **shared)
    return GraphSAGE(width, **shared)


def readings(recipe: BergamotArguments) -> list[str]:
    """How this run reads what the paper leaves open, for the card."""
    said = ["the multi-similarity loss (2, 50, .5) with the triplet miner of SapBERT (.2), mined anew in every term"]
    if recipe.graph != "none":
        view = "the other view" if recipe.cross_view else "its own view"
        said += [
            f"a text is paired with the graph of {view}",
            "each view has a corruption of its own",
            f"lambda of deep graph infomax is {recipe.dgi_weight:g}",
        ]
    return said


if __name__ == "__main__":
    run_recipe(main)
