"""Knowledge-graph embeddings of a terminology, as in the Italian paper's Table 2 (Amore Bondarenko et al. 2022).

    python recipes/kge.py recipes/configs/kge_open.yaml --models transe complex rotate simple
    python recipes/kge.py recipes/configs/kge_open.yaml --terminology data/merged --benchmarks mcsm_hpo mayosrs

Takes the relations and parents of terminologies, filters and splits them, trains one model or several on the same
triples, and puts link prediction and the similarity of their vectors side by side. Every model's folder holds the table
that the losses and modules read; ``--help`` lists all arguments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from st_biomed.errors import InputError, unknown_name
from st_biomed.evaluators import LinkPredictionEvaluator, metrics_table
from st_biomed.evaluators.base import EmbeddingEvaluator
from st_biomed.evaluators.benchmark import chosen_benchmarks
from st_biomed.evaluators.graph_vectors import graph_evaluator, measure_table
from st_biomed.kge import KGESettings, KnowledgeGraph, TrainedKGE, train_kge
from st_biomed.kge.settings import MODEL_NAMES
from st_biomed.kge.triples import LEAST_TRIPLES, MIRROR_SHARE, TripleOptions, parse_inverses
from st_biomed.settings import read_settings, run_recipe
from st_biomed.terminology import Terminology


@dataclass
class KGEArguments:
    """Which graph, which models, and what they are measured on."""

    terminology: list[str] = field(
        default_factory=lambda: ["icd10cm"],
        metadata={"help": "a reader's name, reader:path, or a folder written by `st-biomed read`; several are merged"},
    )
    models: list[str] = field(
        default_factory=list,
        metadata={"help": f"of {', '.join(MODEL_NAMES)}, trained on the same triples; --model alone by default"},
    )
    relations: bool = field(default=True, metadata={"help": "take the terminology's relations"})
    parents: bool = field(default=True, metadata={"help": "take its parents, as relation isa"})
    inverses: list[str] = field(
        default_factory=list, metadata={"help": "NAME=INVERSE: triples of INVERSE are turned round"}
    )
    least_triples: int = field(default=LEAST_TRIPLES, metadata={"help": "a relation with fewer triples is rare (3.1)"})
    mirror_share: float = field(
        default=MIRROR_SHARE, metadata={"help": "share of pairs in common from which a relation is an inverse (3.1)"}
    )
    benchmarks: list[str] = field(
        default_factory=list, metadata={"help": "of MCSM or relatedness, measured on the vectors (4, Table 2)"}
    )
    device: str | None = field(default=None, metadata={"help": "where to compute; by default the best there is"})
    resume: bool = field(default=False, metadata={"help": "keep finished models, and go on from checkpoints"})
    overwrite: bool = field(default=False, metadata={"help": "replace what an earlier run left in output_dir"})
    output_dir: str = field(default="out/kge", metadata={"help": "a folder for each model, and results.json"})


def main(argv: Sequence[str] | None = None) -> None:
    recipe, settings = read_settings((KGEArguments, KGESettings), argv)
    models = recipe.models or [settings.model]
    for name in models:
        if name not in MODEL_NAMES:
            raise unknown_name("model", name, MODEL_NAMES)
    folder = Path(recipe.output_dir)
    if (folder / "results.json").is_file() and not (recipe.overwrite or recipe.resume):
        raise InputError(f"{folder}: holds the results of an earlier run; --overwrite true replaces them")
    benchmarks = chosen_benchmarks(recipe.benchmarks)

    # The graph, once for all models.
    terminology = Terminology.merge(*(Terminology.open(source) for source in recipe.terminology))
    options = TripleOptions(
        recipe.relations, recipe.parents, parse_inverses(recipe.inverses), recipe.mirror_share, recipe.least_triples
    )
    graph = KnowledgeGraph.from_terminology(terminology, options, seed=settings.seed)
    graph.save(folder / "graph")
    print(f"{terminology!r}\n{graph!r}\n{graph.report}")

    # Train and measure.
    links = LinkPredictionEvaluator(
        graph.entities, train=graph.train, valid=graph.valid, test=graph.test, relations=graph.relations
    )
    similarity: list[EmbeddingEvaluator] = []
    results: dict[str, dict[str, float]] = {}
    for name in models:
        trained = one_model(graph, settings_of(settings, name), folder / name, recipe)
        table = trained.table
        similarity = similarity or [graph_evaluator(benchmark, table, terminology) for benchmark in benchmarks]
        results[name] = links.measure_scorer(trained.model.scorer())
        for evaluator in similarity:
            results[name] |= measure_table(evaluator, table)
        (folder / name / "figures.json").write_text(json.dumps(results[name], indent=1) + "\n", "utf-8")

    # Side by side, as in Table 2.
    rows = {key: links.headline[key] for key in ("hits@1", "hits@3", "hits@10", "mr", "mrr")}
    rows |= {f"raw {key}": f"raw_{key}" for key in ("mr", "mrr")}
    rows |= {evaluator.primary_metric: evaluator.primary_metric for evaluator in similarity}
    rows |= {f"n of {evaluator.name}": f"{evaluator.name}_n" for evaluator in similarity}
    shown = metrics_table(results, rows)
    about: Mapping[str, object] = {"graph": repr(graph), "digest": graph.digest, "terminology": terminology.digest}
    (folder / "results.json").write_text(json.dumps({**about, "results": results}, indent=1) + "\n", "utf-8")
    print(f"\n{shown}\n\nSaved. Load vectors with KGETable.load({str(folder / models[0])!r})")


def one_model(graph: KnowledgeGraph, settings: KGESettings, folder: Path, recipe: KGEArguments) -> TrainedKGE:
    """Train a model and save it; a finished one of the same settings and graph is kept where runs are resumed."""
    if recipe.resume and (folder / "settings.json").is_file():
        earlier = TrainedKGE.load(folder, recipe.device)
        if earlier.settings == settings and earlier.graph.digest == graph.digest:
            print(f"{settings.model}: finished in an earlier run ({folder})")
            return earlier
    trained = train_kge(graph, settings, device=recipe.device, folder=folder, resume=recipe.resume, progress=print)
    trained.save(folder)
    return trained


def settings_of(settings: KGESettings, model: str) -> KGESettings:
    """The settings for another model; the N3 regulariser is left out where the score is a distance."""
    of_model = replace(settings, model=model, n3=0.0)
    return of_model if of_model.is_distance else replace(of_model, n3=settings.n3)


if __name__ == "__main__":
    run_recipe(main)
