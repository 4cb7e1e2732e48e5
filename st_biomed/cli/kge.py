"""``st-biomed kge``: evaluate a graph embedding that the recipe ``kge`` has trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from st_biomed.cli._options import Device, check_used
from st_biomed.settings.checks import FILE, one_of

if TYPE_CHECKING:
    import numpy as np

    from st_biomed.kge.trained import TrainedKGE

app = typer.Typer(
    help="Measure link prediction with a graph embedding from `st-biomed train kge`.",
    no_args_is_help=True,
)

_HEADLINE = ("mrr", "mr", "hits@1", "hits@3", "hits@10")


@app.command("evaluate")
def evaluate(
    folder: Annotated[Path, typer.Argument(help="Folder of a model, written by `st-biomed train kge`.")],
    graph: Annotated[
        Path | None,
        typer.Option(help="Another saved graph to measure; the embedding must know its entities."),
    ] = None,
    split: Annotated[str, typer.Option(help="Split to measure: test or valid."), one_of("test", "valid")] = "test",
    per_relation: Annotated[bool, typer.Option(help="Also write the figures of each relation to --output.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="JSON file for the figures."), FILE] = None,
    device: Device = None,
) -> None:
    """Measure link prediction of heads and tails, filtered and raw."""
    from st_biomed.files import check_writable
    from st_biomed.kge import KnowledgeGraph, TrainedKGE

    check_used({"--per-relation": per_relation}, "with --output", used=output is not None)
    if output is not None:
        check_writable(output, file=True)
    trained = TrainedKGE.load(folder, device)
    other = None if graph is None else KnowledgeGraph.load(graph)
    _write(_measured(trained, split, other, per_relation=per_relation), output, folder)


def _measured(
    trained: TrainedKGE, split: str, other: object = None, *, per_relation: bool = False
) -> dict[str, float]:
    """Figures of link prediction, on the model's own graph or on another one of its entities."""
    import numpy as np

    from st_biomed.evaluators import LinkPredictionEvaluator
    from st_biomed.kge.knowledge_graph import PARTS, KnowledgeGraph

    graph = trained.graph
    parts = graph.parts
    if isinstance(other, KnowledgeGraph):
        parts = {part: graph.renumbered(other.parts[part], other) for part in PARTS}
        if n_trained := len(parts[split]) - len(_without(parts[split], graph.parts["train"])):
            typer.echo(
                f"warning: {n_trained:,} of {len(parts[split]):,} triples to measure were trained on: the figures are too high",
                err=True,
            )
        # what is known are the triples of both graphs; those to measure stay
        known = np.concatenate([parts["train"], *graph.parts.values()])
        parts["train"] = _without(known, np.concatenate([parts["valid"], parts["test"]]))
    evaluator = LinkPredictionEvaluator(
        graph.entities,
        train=parts["train"],
        valid=parts["valid"],
        test=parts["test"],
        relations=graph.relations,
        split=split,
        per_relation=per_relation,
    )
    return evaluator.measure_scorer(trained.model.scorer())


def _without(triples: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The distinct triples ``[T, 3]`` that the others do not have, in ascending order."""
    import numpy as np

    rows, place = np.unique(np.concatenate([triples, others]), axis=0, return_inverse=True)
    is_kept = np.zeros(len(rows), dtype=bool)
    is_kept[place[: len(triples)]] = True
    is_kept[place[len(triples) :]] = False
    return rows[is_kept]


def _write(figures: dict[str, float], path: Path | None, folder: Path) -> None:
    """Print the headline figures, and write all of them."""
    from st_biomed.evaluators import metrics_table
    from st_biomed.files import write_text

    settings = ("filtered", "filtered_head", "filtered_tail", "raw")
    runs = {setting: {key: figures[f"{setting}_{key}"] for key in _HEADLINE} for setting in settings}
    typer.echo(f"{figures['n']:,.0f} triples of {folder}\n{metrics_table(runs, {key: key for key in _HEADLINE})}")
    if path is not None:
        write_text(path, json.dumps(figures, indent=1) + "\n")
