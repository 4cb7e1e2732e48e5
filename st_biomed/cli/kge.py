"""``st-biomed kge``: train a graph embedding of a terminology, and measure one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from st_biomed.cli._options import Device
from st_biomed.errors import InputError
from st_biomed.settings.checks import FILE, FOLDER, PATH, SEED, one_of, within

if TYPE_CHECKING:
    from st_biomed.kge.trained import TrainedKGE

app = typer.Typer(
    help="Train a graph embedding on the relations and parents of a terminology, and measure its link prediction.",
    no_args_is_help=True,
)

_HEADLINE = ("mrr", "mr", "hits@1", "hits@3", "hits@10")


@app.command("train")
def train(
    source: Annotated[
        str, typer.Argument(help="A terminology (folder, reader's name or reader:path), or a saved graph."), PATH
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of vectors, model, graph and figures."), FOLDER
    ],
    model: Annotated[str, typer.Option(help="transe, complex, rotate, simple or distmult.")] = "complex",
    relations: Annotated[bool, typer.Option(help="Take the terminology's relations.")] = True,
    parents: Annotated[bool, typer.Option(help="Take its parents, as relation isa.")] = True,
    inverse: Annotated[
        list[str] | None,
        typer.Option("--inverse", help="NAME=INVERSE: turn the triples of INVERSE round; several times."),
    ] = None,
    least_triples: Annotated[int, typer.Option(help="A relation with fewer triples is rare and goes.", min=1)] = 25,
    mirror_share: Annotated[
        float,
        typer.Option(help="Share of pairs that two relations have in common for one of them to go."),
        within("(0, 1]"),
    ] = 0.97,
    dimension: Annotated[int, typer.Option(help="Reals of a vector; two make a complex number.")] = 200,
    norm: Annotated[int, typer.Option(help="Of TransE: 1 or 2.")] = 1,
    reciprocal: Annotated[bool, typer.Option(help="Ask for heads through reciprocal relations.")] = False,
    loss: Annotated[str, typer.Option(help="self_adversarial or one_vs_all.")] = "self_adversarial",
    margin: Annotated[float | None, typer.Option(help="Of the loss; 9 for distances, 0 for products.")] = None,
    temperature: Annotated[float, typer.Option(help="Of the self-adversarial weights.")] = 1.0,
    negatives: Annotated[int, typer.Option(help="Negatives for each side of a triple.")] = 64,
    n3: Annotated[float, typer.Option(help="Weight of the N3 regularizer.")] = 0.0,
    batch_size: Annotated[int, typer.Option(help="Triples of a step.")] = 1024,
    learning_rate: Annotated[float, typer.Option(help="Of Adam.")] = 1e-3,
    epochs: Annotated[int, typer.Option(help="At most.")] = 500,
    evaluate_every: Annotated[int, typer.Option(help="Epochs between two measurements on validation triples.")] = 10,
    patience: Annotated[int, typer.Option(help="Measurements without a better one; 0 trains all epochs.")] = 5,
    seed: Annotated[int, typer.Option(help="Of the split, the initial values and the batches.", min=0), SEED] = 0,
    device: Device = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from where an interrupted training of this output came, or for longer."),
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model in the output folder.")] = False,
) -> None:
    """Split and filter the triples, train, and write what `kge evaluate` and the losses read."""
    from st_biomed.files import begun_in, lock
    from st_biomed.kge import KGESettings, KnowledgeGraph, train_into
    from st_biomed.kge.train import CHECKPOINT
    from st_biomed.kge.trained import FIGURES, check_folder
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
    options.check()
    with lock(output):
        check_folder(output, overwrite=overwrite or resume)
        if resume and not any((folder / CHECKPOINT).is_file() for folder in (begun_in(output), output)):
            raise InputError(f"--resume: {output} holds no training to go on from; leave it out to begin one")
        graph = KnowledgeGraph.open(source, options, seed=seed)
        typer.echo(f"{graph!r}{graph.report and chr(10)}{graph.report}")
        trained = train_into(
            output,
            graph,
            settings,
            device=device,
            resume=resume,
            overwrite=overwrite,
            progress=lambda line: typer.echo(line, err=True),
        )
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
    split: Annotated[str, typer.Option(help="test or valid."), one_of("test", "valid")] = "test",
    per_relation: Annotated[bool, typer.Option(help="Also the figures of each relation, in --output.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="JSON file of the figures."), FILE] = None,
    device: Device = None,
) -> None:
    """Link prediction, filtered and raw, of heads and of tails."""
    from st_biomed.files import check_writable
    from st_biomed.kge import KnowledgeGraph, TrainedKGE

    if output is not None:
        check_writable(output, file=True)
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
    from st_biomed.files import write_text

    settings = ("filtered", "filtered_head", "filtered_tail", "raw")
    runs = {of: {key: figures[f"{of}_{key}"] for key in _HEADLINE} for of in settings}
    typer.echo(f"{figures['n']:,.0f} triples of {folder}\n{metrics_table(runs, {key: key for key in _HEADLINE})}")
    if path is not None:
        write_text(path, json.dumps(figures, indent=1) + "\n")
