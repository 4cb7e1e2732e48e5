"""Knowledge-graph embeddings of a terminology, as in the Italian paper's Table 2 (Amore Bondarenko et al. 2022).

    python recipes/kge.py recipes/configs/kge_open.yaml --models transe complex rotate simple
    python recipes/kge.py recipes/configs/kge_open.yaml --terminology data/merged --benchmarks mcsm_hpo mayosrs

The recipe filters and splits the relations and parents of terminologies, trains one or several models on the same
triples, and compares their link prediction and the similarity of their vectors in one table. The folder of each model
has the table of vectors that losses and modules read. ``--help-all`` lists all arguments.
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from st_biomed.errors import InputError
from st_biomed.evaluators import LinkPredictionEvaluator, metrics_table
from st_biomed.evaluators.base import EmbeddingEvaluator
from st_biomed.evaluators.benchmark import BENCHMARK, Benchmark, chosen_benchmarks
from st_biomed.evaluators.concept_vectors import graph_evaluator, measure_table
from st_biomed.files import (
    begin_anew,
    begun_in,
    check_output,
    copy_folder,
    finish_replacement,
    lock,
    replacing,
    write_text,
)
from st_biomed.kge import KGESettings, KnowledgeGraph, TrainedKGE, train_into
from st_biomed.kge.knowledge_graph import FILES, HEADER
from st_biomed.kge.settings import MODEL_NAMES
from st_biomed.kge.table import SETTINGS
from st_biomed.kge.trained import FIGURES, OWN
from st_biomed.kge.triples import LEAST_TRIPLES, MIRROR_SHARE, TripleOptions, parse_inverses
from st_biomed.settings.checks import COUNT, PATH, about, one_of, within
from st_biomed.settings.devices import DEVICE
from st_biomed.settings.origins import later
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training.encoder_run import read_terminology

RESULTS = "results.json"


@dataclass
class KGEArguments:
    """Arguments for the graph, the models and their benchmarks."""

    terminology: list[str] = field(
        default_factory=lambda: ["icd10cm"],
        metadata=about(
            "a reader's name, reader:path, or a folder written by `st-biomed read`; several are merged. A saved graph "
            "must be the only entry and is used unchanged",
            PATH,
        ),
    )
    models: list[str] = field(
        default_factory=list,
        metadata=about(
            f"one or several of {', '.join(MODEL_NAMES)}, trained on the same triples; only --model by default",
            one_of(*MODEL_NAMES, called="model"),
        ),
    )
    relations: bool = field(default=True, metadata={"help": "use the terminology's relations"})
    parents: bool = field(default=True, metadata={"help": "use its parents, as relation isa"})
    inverses: list[str] = field(
        default_factory=list, metadata={"help": "NAME=INVERSE: triples of INVERSE are reversed"}
    )
    least_triples: int = field(
        default=LEAST_TRIPLES, metadata=about("a relation with fewer triples is rare (3.1)", COUNT)
    )
    mirror_share: float = field(
        default=MIRROR_SHARE,
        metadata=about("minimum share of common pairs for a relation to count as an inverse (3.1)", within("(0, 1]")),
    )
    benchmarks: list[str] = field(
        default_factory=list,
        metadata=about("benchmarks of MCSM or relatedness, measured on the vectors (4, Table 2)", BENCHMARK),
    )
    device: str | None = field(default=None, metadata=about("device; by default the best available one", DEVICE))
    resume: bool = field(
        default=False, metadata={"help": "keep finished models, and continue from checkpoints, also with more epochs"}
    )
    overwrite: bool = field(default=False, metadata={"help": "replace the output of an earlier run in output_dir"})
    output_dir: str = field(default="out/kge", metadata={"help": "a folder for each model, and results.json"})
    smoke: bool = field(default=False, metadata={"help": "two epochs, for tests"})


def main(argv: Sequence[str] | None = None) -> None:
    train(*read_settings((KGEArguments, KGESettings), argv))


def train(recipe: KGEArguments, settings: KGESettings) -> None:
    """Train all models into one folder, which is replaced at the end; earlier models that are not trained again stay."""
    if recipe.smoke:
        settings = replace(settings, epochs=min(settings.epochs, 2))
    # a later --model replaces the models of a configuration
    models = [settings.model] if later(recipe, "models", ("model",)) else recipe.models or [settings.model]
    folder = Path(recipe.output_dir)
    benchmarks = chosen_benchmarks(recipe.benchmarks)
    for name in models:
        settings_of(settings, name)
    options = TripleOptions(
        recipe.relations, recipe.parents, parse_inverses(recipe.inverses), recipe.mirror_share, recipe.least_triples
    )
    options.check()
    with lock(folder):
        check_folder(folder, overwrite=recipe.overwrite or recipe.resume)
        if recipe.resume and not any((run_folder / "graph").is_dir() for run_folder in (begun_in(folder), folder)):
            raise InputError(f"resume: {folder} has no run to continue; omit it to start one")
        if not recipe.resume and begun_in(folder).exists():
            if not recipe.overwrite:
                raise InputError(
                    f"{begun_in(folder)}: contains an interrupted run; --resume true continues it, --overwrite true "
                    "starts again"
                )
            begin_anew(folder)
        with replacing(folder, resumable=True) as draft:
            keep_models(folder, draft, () if recipe.resume else models)
            shown = train_and_measure(recipe, settings, models, benchmarks, options, draft)
    print(f"\n{shown}\n\nSaved. Load vectors with KGETable.load({str(folder / models[0])!r})")


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Raise InputError if the output folder has other files, or an earlier run that must not be replaced."""

    def is_own(name: str) -> bool:
        folder, _, file = name.partition("/")
        if folder == "graph":
            return file in {HEADER, *FILES}
        return file in OWN if folder in MODEL_NAMES else name == RESULTS

    check_output(folder, what="a run of this recipe", is_own=is_own, marker=RESULTS, overwrite=overwrite)


def keep_models(folder: Path, draft: Path, anew: Sequence[str]) -> None:
    """Copy the existing models into the draft, except those that are trained again."""
    for name in MODEL_NAMES:
        if (folder / name).is_dir() and name not in anew and not (draft / name).exists():
            with replacing(draft / name) as copy:
                copy_folder(folder / name, copy, linked=True)


def train_and_measure(
    recipe: KGEArguments,
    settings: KGESettings,
    models: Sequence[str],
    benchmarks: Sequence[Benchmark],
    options: TripleOptions,
    folder: Path,
) -> str:
    """Write one graph and a folder for each model; return a table of all results."""
    # Read: the graph, once for all models.
    terminology, graph = graph_of(recipe.terminology, options, settings.seed)
    if benchmarks and terminology is None:
        raise InputError("benchmarks: a saved graph has no names to measure; give the terminology in its place")
    graph.save(folder / "graph")
    print(f"{graph!r}\n{graph.report}" if terminology is None else f"{terminology!r}\n{graph!r}\n{graph.report}")

    # Train and measure.
    links = None
    if len(graph.test):
        links = LinkPredictionEvaluator(
            graph.entities, train=graph.train, valid=graph.valid, test=graph.test, relations=graph.relations
        )
    similarity: list[EmbeddingEvaluator] = []
    results: dict[str, dict[str, float]] = {}
    records: dict[str, dict[str, Any]] = {}
    for name in models:
        trained = one_model(graph, settings_of(settings, name), folder / name, recipe)
        table, records[name] = trained.table, trained.record
        if terminology is not None:
            similarity = similarity or [graph_evaluator(benchmark, table, terminology) for benchmark in benchmarks]
        results[name] = {} if links is None else links.measure_scorer(trained.model.scorer())
        for evaluator in similarity:
            results[name] |= measure_table(evaluator, table)
        write_text(folder / name / FIGURES, json.dumps(results[name], indent=1) + "\n")

    # Side by side, as in Table 2.
    rows = {}
    if links is not None:
        rows = {key: links.headline[key] for key in ("hits@1", "hits@3", "hits@10", "mr", "mrr")}
        rows |= {f"raw {key}": f"raw_{key}" for key in ("mr", "mrr")}
    rows |= {evaluator.primary_metric: evaluator.primary_metric for evaluator in similarity}
    rows |= {f"n of {evaluator.name}": f"{evaluator.name}_n" for evaluator in similarity}
    shown = metrics_table(results, rows)
    about: Mapping[str, object] = {"graph": repr(graph), "digest": graph.digest, "terminology": graph.terminology}
    write_text(folder / RESULTS, json.dumps({**about, "models": records, "results": results}, indent=1) + "\n")
    return shown


def graph_of(sources: Sequence[str], options: TripleOptions, seed: int) -> tuple[Terminology | None, KnowledgeGraph]:
    """The merged terminologies and their graph; or a saved graph and no terminology."""
    for source in sources:
        finish_replacement(source)
        if (Path(source) / HEADER).is_file():
            if len(sources) > 1:
                raise InputError(f"terminology: {source} is a saved graph, with which nothing is merged")
            return None, KnowledgeGraph.load(source)
    terminology = read_terminology(sources)
    return terminology, KnowledgeGraph.from_terminology(terminology, options, seed=seed)


def one_model(graph: KnowledgeGraph, settings: KGESettings, folder: Path, recipe: KGEArguments) -> TrainedKGE:
    """Train and save a model; with ``--resume``, keep a finished model with the same settings and graph."""
    finish_replacement(folder)
    if recipe.resume and (folder / SETTINGS).is_file():
        earlier, n = TrainedKGE.load(folder, recipe.device), len(graph.entities)
        if earlier.settings.complete(n) == settings.complete(n) and earlier.graph.digest == graph.digest:
            print(f"{settings.model}: finished in an earlier run")
            return earlier
    print(described(settings, len(graph.entities)))
    return train_into(
        folder,
        graph,
        settings,
        device=recipe.device,
        resume=recipe.resume,
        overwrite=recipe.overwrite,
        progress=print,
    )


def settings_of(settings: KGESettings, model: str) -> KGESettings:
    """The settings for another model, without the N3 regularizer if its score is a distance."""
    of_model = replace(settings, model=model, n3=None)
    return of_model if of_model.is_distance else replace(of_model, n3=settings.n3)


def described(settings: KGESettings, n_entities: int) -> str:
    """The settings that depend on the model, and which of them are its defaults, in one line."""
    values = ", ".join(f"{name} {value}" for name, value in asdict(settings.objective(n_entities)).items())
    return f"{settings.model}: {values} (defaults of the model: {', '.join(settings.of_model) or 'none'})"


if __name__ == "__main__":
    run_recipe(main)
