"""``st-biomed picture``: draw the papers' figures for any terminology and any encoder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from st_biomed.cli._options import Device, DrawSeed, TerminologyName, TrustRemoteCode
from st_biomed.errors import InputError, did_you_mean
from st_biomed.settings.checks import FILE, PATH, WEIGHT, one_of

if TYPE_CHECKING:
    from st_biomed.evaluators.embedders import Embed
    from st_biomed.leaderboard.results import Result
    from st_biomed.metrics.significance import Units

app = typer.Typer(
    help="Draw a map of names, the similarities of mined pairs, or evaluation results, as a PNG or SVG file.",
    no_args_is_help=True,
)

_Output = Annotated[Path, typer.Option("--output", "-o", help="PNG or SVG file to write."), FILE]


@app.command("concepts")
def concepts(
    terminology: TerminologyName,
    models: Annotated[list[str], typer.Argument(help="Encoders: folders, or ids on the Hub; each gets a panel.")],
    output: _Output,
    n_concepts: Annotated[int, typer.Option("--concepts", help="Number of concepts to draw.", min=2)] = 30,
    names: Annotated[int, typer.Option(help="Number of names per concept.", min=2)] = 10,
    seed: DrawSeed = 0,
    device: Device = None,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Draw a t-SNE map of the names of a few concepts for each encoder, e.g. before and after training."""
    from st_biomed.plots.canvas import check_picture
    from st_biomed.terminology import Terminology

    check_picture(output)
    if len(set(models)) < len(models):
        raise InputError(f"models: each model may be given once, found {' '.join(models)}")
    opened = Terminology.open(terminology)
    from st_biomed.plots.concept_map import concept_map, draw_names

    drawn = draw_names(opened, n_concepts=n_concepts, names_per_concept=names, seed=seed)
    encoders = {name: _embedder(name, device, trust_remote_code) for name in models}
    concept_map(output, opened, encoders, drawn, seed=seed)
    typer.echo(f"{len(drawn.texts):,} names of {n_concepts} concepts drawn to {output}")


@app.command("pairs")
def pairs(
    terminology: TerminologyName,
    model: Annotated[str, typer.Argument(help="The encoder: a folder, or an id on the Hub.")],
    output: _Output,
    margin: Annotated[
        float, typer.Option(help="Margin of the triplet miner; the default is SapBERT's."), WEIGHT
    ] = 0.2,
    batches: Annotated[int, typer.Option(help="Number of batches to draw.", min=1)] = 10,
    batch_size: Annotated[int, typer.Option(help="Number of names per batch.", min=4)] = 512,
    seed: DrawSeed = 0,
    device: Device = None,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Draw the cosines of positive and negative pairs, sampled and mined."""
    from st_biomed.losses.miners import TripletMarginMiner
    from st_biomed.plots.canvas import check_picture
    from st_biomed.plots.mined_pairs import mined_pairs, pair_cosines
    from st_biomed.terminology import Terminology

    check_picture(output)
    miner = TripletMarginMiner(margin)
    opened = Terminology.open(terminology)
    embed = _embedder(model, device, trust_remote_code)
    sampled, mined = pair_cosines(opened, embed, miner, n_batches=batches, batch_size=batch_size, seed=seed)
    mined_pairs(output, sampled, mined)
    typer.echo(
        f"overlap of positives and negatives: sampled {sampled.overlap:.3f}, mined {mined.overlap:.3f}; {output}"
    )


_Folder = Annotated[Path, typer.Argument(help="A folder of results, written by `st-biomed evaluate`.")]
_Evaluator = Annotated[
    str | None, typer.Option(help="Name of the evaluator, if the results contain several of this kind.")
]
_Models = Annotated[
    list[str] | None,
    typer.Option("--model", help="Name of a model in the results; may be repeated. All models by default."),
]
_AsPublished = Annotated[bool, typer.Option(help="Draw the results that were scored as published.")]
_Width = Annotated[float, typer.Option(help="Width of the picture in inches.", min=1, max=100)]
_Height = Annotated[
    float | None, typer.Option(help="Height of the picture in inches; by default from its rows.", min=1, max=100)
]


@app.command("results")
def results(
    folder: _Folder,
    output: _Output,
    benchmarks: Annotated[
        list[str] | None,
        typer.Option("--benchmark", "-b", help="Name of a benchmark or evaluator; may be repeated. All by default."),
    ] = None,
    models: _Models = None,
    as_published: _AsPublished = False,
    width: _Width = 8.0,
    height: _Height = None,
) -> None:
    """Draw the primary metric of every benchmark with its interval, a dot for each model."""
    from st_biomed.plots.dot_charts import dot_chart

    found = _results(folder, output, models, as_published=as_published, benchmarks=benchmarks)
    typer.echo(f"{len(found)} results drawn to {dot_chart(output, found, width=width, height=height)}")


@app.command("types")
def types(
    folder: _Folder,
    output: _Output,
    evaluator: _Evaluator = None,
    models: _Models = None,
    as_published: _AsPublished = False,
    width: _Width = 8.0,
    height: _Height = None,
) -> None:
    """Draw the MCSM of every semantic type, a dot for each model."""
    from st_biomed.plots.dot_charts import type_chart

    found = _results(folder, output, models, as_published=as_published, kind="mcsm")
    found = [result for result in found if evaluator in (None, result.evaluator)]
    typer.echo(f"drawn to {type_chart(output, found, width=width, height=height)}")


@app.command("scorecard")
def scorecard(
    folder: _Folder,
    output: _Output,
    models: _Models = None,
    as_published: _AsPublished = False,
    width: Annotated[
        float | None,
        typer.Option(help="Width of the picture in inches; by default what its panels need.", min=1, max=100),
    ] = None,
    height: _Height = None,
) -> None:
    """The difference of every benchmark from the base, and whether it was gained, kept or lost, a panel for each model."""
    from st_biomed.leaderboard.scorecard_file import read_scorecards
    from st_biomed.plots.canvas import check_picture
    from st_biomed.plots.difference_chart import difference_chart

    check_picture(output)
    found = read_scorecards(folder, as_published=as_published)
    cards, recipes = found["scorecards"], found["recipes"]
    names = [card["model"] for card in cards]
    for name in models or ():
        if name not in names:
            near = did_you_mean(name, names) or f"; there are {', '.join(names)}"
            raise InputError(f"--model: no scorecard of {name!r}{near}")
    if models:
        cards, recipes = [card for card in cards if card["model"] in models], []
    drawn = difference_chart(output, cards, recipes, width=width, height=height)
    typer.echo(f"{sum(len(card['benchmarks']) for card in cards)} differences drawn to {drawn}")


@app.command("curves")
def curves(
    folder: _Folder,
    output: _Output,
    curve: Annotated[
        str, typer.Option(help="Kind of curve: roc, or pr (precision and recall)."), one_of("roc", "pr")
    ] = "roc",
    evaluator: _Evaluator = None,
    models: _Models = None,
) -> None:
    """Draw ROC or precision-recall curves of a tree benchmark, a panel for each pair of distances."""
    from st_biomed.plots.measurements import tree_curves

    typer.echo(f"drawn to {tree_curves(output, _tree_units(folder, output, evaluator, models), curve=curve)}")


@app.command("distances")
def distances(folder: _Folder, output: _Output, evaluator: _Evaluator = None, models: _Models = None) -> None:
    """Draw the cosines of the pairs at each distance of a tree benchmark, a panel for each model."""
    from st_biomed.plots.measurements import distance_histograms

    typer.echo(f"drawn to {distance_histograms(output, _tree_units(folder, output, evaluator, models))}")


@app.command("average")
def average(
    run: Annotated[Path, typer.Argument(help="The run.json of a release, or its folder."), PATH],
    output: _Output,
) -> None:
    """The dev figures at each share of the trained weights, where a recipe measured them (--average dev, --average_curve)."""
    from st_biomed.plots.average_curves import average_curves
    from st_biomed.plots.canvas import check_picture
    from st_biomed.release.run_data import read_run

    check_picture(output)
    record = read_run(run / "run.json" if run.is_dir() else run)
    typer.echo(f"drawn to {average_curves(output, record['averaging'])}")


def _results(
    folder: Path,
    output: Path,
    models: list[str] | None,
    *,
    as_published: bool = False,
    benchmarks: list[str] | None = None,
    kind: str | None = None,
) -> list[Result]:
    """One result of each model and evaluator; omitted duplicates are reported on stderr.

    ``kind`` is the primary metric of the evaluators to select.
    """
    from st_biomed.leaderboard.results import ResultsFolder
    from st_biomed.leaderboard.select_results import named, one_of_each
    from st_biomed.plots.canvas import check_picture

    check_picture(output)
    found = ResultsFolder(folder).results
    if not found:
        raise InputError(f"{folder}: holds no results; `st-biomed evaluate --output {folder}` writes them")
    found = named(found, models=models, benchmarks=benchmarks)
    chosen, notes = one_of_each(
        [result for result in found if kind in (None, result.metric)], as_published=as_published
    )
    if not chosen and kind is None:
        scored = (
            "as published; `st-biomed evaluate --as-published` does"
            if as_published
            else "soundly; --as-published draws those"
        )
        raise InputError(f"{folder}: none of {len(found)} results was scored {scored}")
    for note in notes:
        typer.echo(note, err=True)
    return chosen


def _tree_units(folder: Path, output: Path, evaluator: str | None, models: list[str] | None) -> dict[str, Units]:
    """Model to the pairs of the only tree benchmark, or of the requested one."""
    from st_biomed.leaderboard.results import ResultsFolder

    found = _results(folder, output, models, kind="mean_auc")
    names = list(dict.fromkeys(result.evaluator for result in found))
    if evaluator is None and len(names) == 1:
        evaluator = names[0]
    if evaluator not in names:
        asked = "" if evaluator is None else f", found {evaluator!r}"
        raise InputError(f"--evaluator: one of {', '.join(names) or 'no tree benchmark'} is needed{asked}")
    opened = ResultsFolder(folder)
    return {result.model: opened.units(result)["mean_auc"] for result in found if result.evaluator == evaluator}


def _embedder(model: str, device: str | None, trust_remote_code: bool) -> Embed:
    from st_biomed.encoder import load_encoder
    from st_biomed.evaluators.embedders import model_embedder

    return model_embedder(load_encoder(model, device=device, trust_remote_code=trust_remote_code))
