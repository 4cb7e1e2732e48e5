"""``st-biomed kge``: train a graph embedding of a terminology, and measure one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from st_biomed.errors import InputError

if TYPE_CHECKING:
    from st_biomed.kge.trained import TrainedKGE

app = typer.Typer(
    help="Train a graph embedding on the relations and parents of a terminology, and measure its link prediction.",
    no_args_is_help=True,
)

FIGURES = "figures.json"
_Device = Annotated[str | None, typer.Option(help="Where to compute; by default the best there is.")]
_HEADLINE = ("mrr", "mr", "hits@1", "hits@3", "hits@10")


@app.command("train")
def train(
    source: Annotated[
        str, typer.Argument(help="A terminology (folder, reader's name or reader:path), or a saved graph.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of vectors, model, graph and figures.")],
    model: Annotated[str, typer.Option(help="transe, complex, rotate, simple or distmult.")] = "complex",
    relations: Annotated[bool, typer.Option(help="Take the terminology's relations.")] = True,
    parents: Annotated[bool, typer.Option(help="Take its parents, as relation isa.")] = True,
    inverse: Annotated[
        list[str] | None,
        typer.Option("--inverse", help="NAME=INVERSE: turn the triples of INVERSE round; several times."),
    ] = None,
    least_triples: Annotated[int, typer.Option(help="A relation with fewer triples is rare and goes.")] = 25,
    mirror_share: Annotated[
        float, typer.Option(help="Share of pairs that two relations have in common for one of them to go.")
    ] = 0.97,
    dimension: Annotated[int, typer.Option(help="Reals of a vector; two make a complex number.")] = 200,
    norm: Annotated[int, typer.Option(help="Of TransE: 1 or 2.")] = 1,
    reciprocal: Annotated[bool, typer.Option(help="Ask for heads through reciprocal relations.")] = False,
    loss: Annotated[str, typer.Option(help="self_adversarial or one_vs_all.")] = "self_adversarial",
    margin: Annotated[float | None, typer.Option(help="Of the loss; 9 for distances, 0 for products.")] = None,
    temperature: Annotated[float, typer.Option(help="Of the self-adversarial weights.")] = 1.0,
    negatives: Annotated[int, typer.Option(help="Negatives for each side of a triple.")] = 64,
    n3: Annotated[float, typer.Option(help="Weight of the N3 regulariser.")] = 0.0,
    batch_size: Annotated[int, typer.Option(help="Triples of a step.")] = 1024,
    learning_rate: Annotated[float, typer.Option(help="Of Adam.")] = 1e-3,
    epochs: Annotated[int, typer.Option(help="At most.")] = 500,
    evaluate_every: Annotated[int, typer.Option(help="Epochs between two measurements on validation triples.")] = 10,
    patience: Annotated[int, typer.Option(help="Measurements without a better one; 0 trains all epochs.")] = 5,
    seed: Annotated[int, typer.Option(help="Of the split, the initial values and the batches.", min=0)] = 0,
    device: _Device = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in the output folder.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model in the output folder.")] = False,
) -> None:
    """Split and filter the triples, train, and write what `kge evaluate` and the losses read."""
    from st_biomed.kge import KGESettings, KnowledgeGraph, train_kge
    from st_biomed.kge.triples import TripleOptions, parse_inverses

    settings = KGESettings(
        model=model,
        dimension=dimension,
        norm=norm,
        reciprocal=reciprocal,
        loss=loss,
        margin=margin,
        temperature=temperature,
        negatives=negatives,
        n3=n3,
        batch_size=batch_size,
        learning_rate=learning_rate,
        epochs=epochs,
        evaluate_every=evaluate_every,
        patience=patience,
        seed=seed,
    )
    options = TripleOptions(
        relations, parents, parse_inverses(inverse or [], "--inverse is"), mirror_share, least_triples
    )
    _check_output(output, overwrite=overwrite or resume)
    graph = KnowledgeGraph.open(source, options, seed=seed)
    typer.echo(f"{graph!r}{graph.report and chr(10)}{graph.report}")
    trained = train_kge(
        graph,
        settings,
        device=device,
        folder=output,
        resume=resume,
        progress=lambda line: typer.echo(line, err=True),
    )
    trained.save(output)
    if len(graph.test):
        _write(_measured(trained, "test"), output / FIGURES, output)
    typer.echo(f"{trained.table!r} saved to {output}")


@app.command("evaluate")
def evaluate(
    folder: Annotated[Path, typer.Argument(help="What `kge train` wrote.")],
    graph: Annotated[
        Path | None,
        typer.Option(help="Another saved graph whose triples are measured; its entities have to be known."),
    ] = None,
    split: Annotated[str, typer.Option(help="test or valid.")] = "test",
    per_relation: Annotated[bool, typer.Option(help="Also the figures of each relation, in --output.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="JSON file of the figures.")] = None,
    device: _Device = None,
) -> None:
    """Link prediction, filtered and raw, of heads and of tails."""
    from st_biomed.kge import KnowledgeGraph, TrainedKGE
    from st_biomed.store import check_parent

    if output is not None:
        check_parent(output)
    trained = TrainedKGE.load(folder, device)
    other = None if graph is None else KnowledgeGraph.load(graph)
    _write(_measured(trained, split, other, per_relation=per_relation), output, folder)


def _measured(
    trained: TrainedKGE, split: str, other: object = None, *, per_relation: bool = False
) -> dict[str, float]:
    """Figures of link prediction, on the model's own graph or on another one of its entities."""
    from st_biomed.evaluators import LinkPredictionEvaluator
    from st_biomed.kge.graph import PARTS, KnowledgeGraph

    graph = trained.graph
    parts = graph.parts
    if isinstance(other, KnowledgeGraph):
        parts = {part: graph.renumbered(other.parts[part], other) for part in PARTS}
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


def _write(figures: dict[str, float], path: Path | None, folder: Path) -> None:
    """Print the headline figures, and write all of them."""
    from st_biomed.evaluators import metrics_table

    settings = ("filtered", "filtered_head", "filtered_tail", "raw")
    runs = {of: {key: figures[f"{of}_{key}"] for key in _HEADLINE} for of in settings}
    typer.echo(f"{figures['n']:,.0f} triples of {folder}\n{metrics_table(runs, {key: key for key in _HEADLINE})}")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


def _check_output(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that is a file, or that holds a model already."""
    if (file := next((each for each in (folder, *folder.parents) if each.is_file()), None)) is not None:
        raise InputError(f"{file}: is a file, a folder for the model is needed")
    if (folder / "table.json").is_file() and not overwrite:
        raise InputError(f"{folder}: holds a model already; --overwrite replaces it")
