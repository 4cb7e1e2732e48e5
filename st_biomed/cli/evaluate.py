"""``st-biomed evaluate``: models by benchmarks, with intervals, tests and tables."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from st_biomed.cli._options import Device, TrustRemoteCode, check_used
from st_biomed.cli._scorecard import check_scorecard, show_scorecard
from st_biomed.errors import InputError, did_you_mean
from st_biomed.settings.checks import FOLDER, PATH, SEED

_TITLES = {False: "Results", True: "Results, scored as published"}

if TYPE_CHECKING:
    from collections.abc import Sequence

    from st_biomed.evaluators.benchmark import Benchmark
    from st_biomed.leaderboard.markdown_and_html import Table
    from st_biomed.leaderboard.results import Result, ResultsFolder
    from st_biomed.leaderboard.run import MeasuringReport


def run(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folders with encoders, ids on the Hub, names in evaluation/known_models.yaml, or .npz files with texts and "
            "vectors; NAME=MODEL gives a name for the tables. The first is what others are compared with."
        ),
    ] = None,
    benchmarks: Annotated[
        list[str] | None,
        typer.Option(
            "--benchmark",
            "-b",
            help="Name or file of a benchmark, or a folder of such files; several times. All that have their data by default.",
        ),
        PATH,
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the benchmarks' data; by default ST_BIOMED_DATA.")
    ] = None,
    terminology: Annotated[
        str | None,
        typer.Option("--terminology", "-t", help="Trees of this terminology: a folder, or a reader's name."),
    ] = None,
    pairs: Annotated[Path | None, typer.Option(help="Trees in a file of distance||term||term lines.")] = None,
    pairs_per_class: Annotated[
        int | None,
        typer.Option(help="Pairs to draw at each distance of the terminology; 800 by default.", min=1),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed of the draw; 0 by default.", min=0), SEED] = None,
    scorecard: Annotated[
        bool,
        typer.Option(
            "--scorecard",
            help="Count each benchmark as gained, kept or lost against a base, and print that in place of the tables.",
        ),
    ] = False,
    base: Annotated[
        str | None,
        typer.Option(
            "--base",
            help="What a scorecard compares with, written as a model; by default what the releases began from.",
        ),
        PATH,
    ] = None,
    as_published: Annotated[bool, typer.Option(help="Score, and cut names, as the papers' scripts do.")] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of results, tables and vectors."), FOLDER
    ] = Path("out/evaluation"),
    cache: Annotated[bool, typer.Option(help="Keep the vectors of texts for later runs.")] = True,
    batch_size: Annotated[int, typer.Option(help="Texts per forward pass.", min=1)] = 128,
    bf16: Annotated[
        bool, typer.Option(help="Embed under bfloat16 autocast, where the machine multiplies it in hardware.")
    ] = False,
    n_bootstrap: Annotated[int, typer.Option(help="Resamples of the intervals and tests; 0 for none.", min=0)] = 1000,
    bootstrap_seed: Annotated[int, typer.Option(help="Seed of these resamples.", min=0), SEED] = 0,
    device: Device = None,
    trust_remote_code: TrustRemoteCode = False,
    selection: Annotated[
        bool,
        typer.Option(
            "--selection",
            help="Write what this command asked for alone into the tables, not all that the folder of results holds.",
        ),
    ] = False,
    list_them: Annotated[
        bool, typer.Option("--list", help="List the benchmarks and the known models, and stop.")
    ] = False,
) -> None:
    """Measure models on benchmarks, print what was asked for, and write tables of all that the folder of results holds.

    An interrupted run goes on where it stopped; what was measured already is taken from the folder of results, to which
    several commands may write at once.
    """
    if pairs is not None:
        from st_biomed.files.delimited import check_file

        check_file(pairs)
    if data is not None:
        if not data.is_dir():
            raise InputError(f"--data {data}: no such folder")
        os.environ["ST_BIOMED_DATA"] = str(data)
    if list_them:
        _list()
        return
    drawn: dict[str, object] = {"--pairs-per-class": pairs_per_class, "--seed": seed}
    check_used(drawn, "with --terminology", used=terminology is not None)
    check_scorecard(scorecard, base, n_bootstrap)
    from st_biomed.evaluators.base import EvaluatorOptions
    from st_biomed.files import check_writable
    from st_biomed.leaderboard.markdown_and_html import markdown
    from st_biomed.leaderboard.models import named_models
    from st_biomed.leaderboard.provenance import benchmarks_of
    from st_biomed.leaderboard.recorded_runs import with_base
    from st_biomed.leaderboard.results import ResultsFolder
    from st_biomed.leaderboard.run import measure
    from st_biomed.leaderboard.select_results import in_order_of, one_of_each

    check_writable(output)
    measured_models = named_models(models or [])
    if scorecard:
        measured_models = with_base(measured_models, base)
    chosen = _chosen(benchmarks or [], terminology, pairs, pairs_per_class or 800, seed or 0)
    folder = ResultsFolder(output)
    options: EvaluatorOptions = {
        "batch_size": batch_size,
        "bf16": bf16 and _in_hardware(device),
        "n_bootstrap": n_bootstrap,
        "bootstrap_seed": bootstrap_seed,
        "cache_dir": output / "vectors" if cache else None,
        "show_progress_bar": sys.stderr.isatty(),
    }
    found = measure(
        measured_models,
        chosen,
        folder,
        as_published=as_published,
        device=device,
        trust_remote_code=trust_remote_code,
        progress=lambda line: typer.echo(line, err=True),
        signs_of_life=not sys.stderr.isatty(),  # a terminal has progress bars
        **options,
    )
    if found.results:
        known = {benchmark.name: benchmark for benchmark in chosen}
        reference = measured_models[0].name if n_bootstrap else None
        tables = _tables(found.results, known, folder, reference, n_bootstrap, bootstrap_seed)
        if scorecard:
            draws = {"n_resamples": n_bootstrap, "seed": bootstrap_seed}
            show_scorecard(measured_models, found.results, known, folder, as_published=as_published, **draws)
        else:
            typer.echo(markdown(_TITLES[as_published], tables))
        if not selection:
            every, notes = one_of_each(ResultsFolder(output).results, as_published=as_published)
            results = in_order_of(every, found.results)
            if notes or results != found.results:
                known = benchmarks_of(results, known)
                tables = _tables(results, known, folder, reference, n_bootstrap, bootstrap_seed, notes)
        _write(folder, tables, as_published=as_published)
    _complain(found, chosen, asked=bool(benchmarks))


def _tables(
    results: list[Result],
    benchmarks: dict[str, Benchmark],
    folder: ResultsFolder,
    reference: str | None,
    n_resamples: int,
    seed: int,
    notes: Sequence[str] = (),
) -> list[Table]:
    """Tables of results, with the tests against one model where there are several."""
    from st_biomed.leaderboard.comparison import compare
    from st_biomed.leaderboard.result_tables import comparison_table, tables_of

    tables = tables_of(results, benchmarks, notes)
    names = {result.model for result in results}
    if reference in names and len(names) > 1:
        tests = compare(results, reference, folder, n_resamples=n_resamples, seed=seed)
        if tests:
            tables.insert(1, comparison_table(reference, tests, n_resamples=n_resamples, seed=seed))
    return tables


def _write(folder: ResultsFolder, tables: list[Table], *, as_published: bool) -> None:
    from st_biomed.leaderboard.markdown_and_html import html_page, markdown

    title, stem = _TITLES[as_published], "results_as_published" if as_published else "results"
    folder.write(f"{stem}.html", html_page(title, tables))
    written = folder.write(f"{stem}.md", markdown(title, tables))
    typer.echo(f"written: {written}, {stem}.html and results.jsonl beside it", err=True)


def _chosen(
    names: list[str], terminology: str | None, pairs: Path | None, pairs_per_class: int, seed: int
) -> list[Benchmark]:
    """The benchmarks that were asked for; all of them where none was."""
    from st_biomed.evaluators.benchmark import Benchmark, benchmark_names

    chosen = _named(names)
    if terminology is not None:
        settings = {"sources": [terminology], "whole": True, "pairs_per_class": pairs_per_class, "seed": seed}
        chosen.append(Benchmark("tree", "tree", settings, f"Trees of {terminology}"))
    if pairs is not None:
        chosen.append(Benchmark("pairs", "tree", {"pairs": str(pairs)}, f"Trees of {pairs.name}"))
    for i, benchmark in enumerate(chosen):
        if benchmark.name in {other.name for other in chosen[:i]}:
            raise InputError(f"two benchmarks are called {benchmark.name!r}")
    return chosen or [Benchmark.read(name) for name in benchmark_names()]


def _named(names: list[str]) -> list[Benchmark]:
    """Benchmarks by name, file or folder; of a name that is none the nearest is said first."""
    from st_biomed.evaluators.benchmark import Benchmark, benchmark_files, benchmark_names

    known = benchmark_names()
    for name in names:
        if not Path(name).exists() and "/" not in name and not name.endswith(".yaml") and name not in known:
            near = did_you_mean(name, known)
            raise InputError(
                f"unknown benchmark {name!r}{near or ', no file either'} (`st-biomed evaluate --list` shows all)"
            )
    return [Benchmark.read(path) for path in benchmark_files(names)]


def _in_hardware(device: str | None) -> bool:
    """Whether the device multiplies bfloat16 in hardware, and a line if it does not."""
    from st_biomed.encoder import computes_bf16

    if found := computes_bf16(device):
        return found
    typer.echo("--bf16: this machine multiplies bfloat16 in software, many times slower; float32 is used", err=True)
    return False


def _complain(found: MeasuringReport, chosen: list[Benchmark], *, asked: bool) -> None:
    """Say what was not measured; an error where it was asked for, or where nothing was measured at all."""
    sources = {benchmark.name: benchmark.data.source for benchmark in chosen}
    for name, files in found.missing.items():
        typer.echo(
            f"not measured: {name} needs {', '.join(files)} in the folder of data ({sources[name] or 'no source given'})",
            err=True,
        )
    for (model, name), reason in found.failed.items():
        typer.echo(f"not measured: {model}{f' on {name}' if name else ''}: {reason}", err=True)
    if found.failed or (asked and found.missing) or not found.results:
        raise typer.Exit(2)


def _list() -> None:
    from st_biomed.evaluators.benchmark import Benchmark, benchmark_names
    from st_biomed.leaderboard.models import read_known_models

    for name in benchmark_names():
        benchmark = Benchmark.read(name)
        missing = benchmark.missing()
        needed = "" if not missing else f" [needs {', '.join(missing)}]"
        typer.echo(f"{name:32} {benchmark.evaluator:16} {benchmark.title}{needed}")
    typer.echo("")
    for name, model in read_known_models().items():
        typer.echo(f"{name:32} {model.pooling or 'own':16} {model.model}")
